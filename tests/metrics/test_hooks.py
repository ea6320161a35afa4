"""The two hooks: what they see, what they add, and what they are refused."""

import json

import pytest

CONFTEST = """
import numpy as np

def fails():
    raise LookupError("no such thing")

ANSWERS = [{answers}]

def pytest_evalmetrics_{hook}(benchmark, {given}):
    return ANSWERS[int(benchmark.name[1:])]({given})
"""
GIVEN = {"compute_metrics": "tasks", "key_metrics": "agent_metrics"}


@pytest.fixture
def hooked(project):
    """Run a benchmark for each answer of a hook: Python, in which `given` is what the hook gets."""
    tasks = [
        ("a", 1.0, 3, "x"),
        ("a", 0.0, 4, "y"),
        ("b", 1.0, 5, "y"),
        ("b", None, 6, "y"),
    ]
    names = ("_ng_task_index", "reward", "tokens", "kind")
    project.rows("runs.jsonl", (dict(zip(names, row, strict=True)) for row in tasks))
    expect = {"max_missing": "50%"}
    defaults = {"rollouts": "runs.jsonl", "metrics": ["mean_reward"], "expect": expect}

    def run(hook, *answers, **keys):
        lambdas = ", ".join(f"lambda given: {answer}" for answer in answers)
        text = CONFTEST.format(hook=hook, given=GIVEN[hook], answers=lambdas)
        project.write("conftest.py", text)
        benchmarks = [{"name": f"b{i:02}", **keys} for i in range(len(answers))]
        text = json.dumps({"defaults": defaults, "benchmarks": benchmarks}, indent=1)
        project.write("a.bench.yaml", text)
        return project.run()

    return run


@pytest.fixture
def key_metrics(project):
    """Return the key metrics of each benchmark."""
    return lambda: [
        each["agents"][0]["key_metrics"] for each in project.report()["benchmarks"]
    ]


def test_it_sees_one_list_per_task_with_one_mapping_per_rollout(project, hooked):
    hooked("compute_metrics", "{'seen': given}", breakdown=["kind"])
    seen = project.aggregate()[0]["agent_metrics"]["seen"]
    names = ("_ng_task_index", "_ng_rollout_index", "kind", "reward", "tokens")
    assert seen == [
        [dict(zip(names, row, strict=True)) for row in task]
        for task in (
            [("a", 0, "x", 1.0, 3), ("a", 1, "y", 0.0, 4)],
            [("b", 0, "y", 1.0, 5), ("b", 1, "y", None, 6)],
        )
    ]
    assert type(seen[0][0]["tokens"]) is int


def test_what_it_gives_is_added_and_its_numbers_can_be_gated(
    project, hooked, key_metrics
):
    hooked(
        "compute_metrics",
        "{'pass@k': np.float64(0.25), 'solved': 1, 'curve': [0.1, {'k': None}], 'ok': True}",
        key_metrics=["pass@k", "mean_reward"],
        thresholds={"solved": ">= 1"},
    ).assert_outcomes(passed=1)
    metrics = project.aggregate()[0]["agent_metrics"]
    assert list(metrics)[-4:] == ["pass@k", "solved", "curve", "ok"]
    assert metrics["curve"] == [0.1, {"k": None}]
    assert metrics["ok"] is True
    assert type(metrics["solved"]) is int
    assert key_metrics() == [{"pass@k": 0.25, "mean_reward": 0.75}]
    ((agent,),) = (each["agents"] for each in project.report()["benchmarks"])
    assert agent["estimates"]["pass@k"]["interval"] is None


def test_what_can_not_be_a_metric_is_an_error_naming_the_hook(hooked):
    messages = {
        "{'x': float('nan')}": "gave 'x' = nan, where a finite number is expected",
        "{'x': float('inf')}": "gave 'x' = inf, where a finite number is expected",
        "{'x': [0, {'y': float('nan')}]}": "gave 'x[[]1].y' = nan",
        "{'x': object()}": "gave 'x' as object, which JSON can't hold",
        "{'x': np.array([1.0])}": "gave 'x' as ndarray, which JSON can't hold",
        "{3: 1.0}": "gave a name that is not text: 3",
        "{'mean_reward': 0.5}": "gave 'mean_reward', which there is already",
        "{'mean/reward': 0.5}": "gave 'mean/reward', which there is already",
        "0.5": "returned float, where a mapping or None is expected",
        "fails()": "failed in its call: LookupError: no such thing",
    }
    result = hooked("compute_metrics", *messages)
    result.assert_outcomes(failed=len(messages))
    lines = [
        f"*hook pytest_evalmetrics_compute_metrics {m}*" for m in messages.values()
    ]
    result.stdout.fnmatch_lines_random(
        [*lines, "INCONCLUSIVE  conftest.py:5:*no such thing*"]
    )


@pytest.mark.parametrize(
    ("answer", "threshold", "message"),
    [
        (
            "{'note': 'fine'}",
            "note",
            "*'note' is computed by a hook and is not a number*",
        ),
        (
            "{'flag': True}",
            "flag",
            "*'flag' is computed by a hook and is not a number*",
        ),
        ("{'solved': 1}", "solvde", "*did you mean 'solved'[?] hooks compute: solved*"),
    ],
)
def test_a_threshold_on_what_no_hook_computes_as_a_number(
    hooked, answer, threshold, message
):
    result = hooked("compute_metrics", answer, thresholds={threshold: ">= 1"})
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([message])


# -- key metrics ---------------------------------------------------------------------------


def test_the_hook_chooses_by_names_or_by_entries(project, hooked, key_metrics):
    hooked(
        "key_metrics",
        "['max/tokens', 'mean_reward']",
        "{'max/tokens': 6.0, 'mean_reward': 0.75}",
        "'mean_reward'",  # a name, and not its letters
        # as NeMo Gym's servers do: corpus_wer@k=1 becomes wer
        "{'share': given['mean_reward'] * 100, 'share/2': given['mean/reward'] * 3}",
        "given.update(mean_reward=1.0)",  # what was computed can't be changed
    )
    assert key_metrics() == [
        {"max/tokens": 6.0, "mean_reward": 0.75},
        {"max/tokens": 6.0, "mean_reward": 0.75},
        {"mean_reward": 0.75},
        {"share": 75.0, "share/2": 2.0},
        {"mean/reward": pytest.approx(2 / 3), "mean/tokens": 4.5, "mean_reward": 0.75},
    ]
    metrics = [entry["agent_metrics"] for entry in project.aggregate()]
    assert [each["mean_reward"] for each in metrics] == [0.75] * 5
    assert "share" not in metrics[3]


def test_the_benchmarks_own_choice_comes_first(hooked, key_metrics):
    hooked("key_metrics", "['max/tokens']", key_metrics=["mean/tokens"])
    assert key_metrics() == [{"mean/tokens": 4.5}]


def test_a_choice_that_makes_numbers_up_is_an_error(hooked):
    messages = {
        "{'mean_reward': 0.9}": "gave 'mean_reward' = 0.9, which is 0.75",
        "{'mine': float('nan')}": "gave 'mine' = nan, where a finite number is expected",
        "{'mine': 'much'}": "gave 'mine' = 'much', where a finite number is expected",
        "7": "returned int, where a mapping or names are expected",
        "[1, 2]": "returned list, where a mapping or names are expected",
        "fails()": "failed in its call: LookupError: no such thing",
    }
    result = hooked("key_metrics", *messages)
    result.assert_outcomes(failed=len(messages))
    lines = [f"*hook pytest_evalmetrics_key_metrics {m}*" for m in messages.values()]
    result.stdout.fnmatch_lines_random(lines)


def test_a_hook_for_finished_benchmarks_that_raises_makes_its_benchmark_inconclusive(
    project,
):
    project.rollouts([[1.0], [0.0]])
    project.bench("metrics: [pass_rate]\nxfail: known")
    hook = "pytest_evalmetrics_benchmark_finished"
    project.write(
        "conftest.py", f"def {hook}(result):\n    raise OSError('no database')\n"
    )
    for workers in ((), ("-n", "1")):
        text = project.run(*workers).stdout.str()
        assert f"conftest.py:2: the hook {hook} failed: OSError: no database" in text
        assert "\nINCONCLUSIVE  math.bench.yaml::math  hook" in text
        assert "not evaluated" not in text
        assert "Traceback" not in text
    assert [check["gate"] for check in project.report()["benchmarks"][0]["checks"]][
        -1
    ] == "data"
