"""Thresholds on other scores than the reward: as many rollouts as a user believes."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from pydantic import TypeAdapter

from pytest_evalmetrics.ext import BenchmarkSpec, Estimate, RolloutTable, Verdict
from pytest_evalmetrics.gates import check_completeness, check_thresholds
from pytest_evalmetrics.results import Interval
from pytest_evalmetrics.spec import Benchmark
from pytest_evalmetrics.spec.gate_keys import Threshold

PASS, FAIL = Verdict.PASS, Verdict.FAIL


def table(rewards):
    counts = [len(task) for task in rewards]
    flat = [np.nan if v is None else v for task in rewards for v in task]
    return RolloutTable(
        agents=("agent",),
        agent=np.zeros(sum(counts), dtype=np.int32),
        tasks=tuple(range(len(rewards))),
        task=np.repeat(np.arange(len(rewards)), counts),
        sample=np.concatenate([np.arange(n) for n in counts]) if counts else np.zeros(0, int),
        scores={"reward": np.array(flat, dtype=np.float64)},
    )


def check(rewards, **keys):
    text = json.dumps({"name": "b", "rollouts": "runs.jsonl", **keys})
    lines = {(): 1, ("expect",): 5, ("expect", "tasks"): 6, ("num_samples",): 4}
    spec = TypeAdapter(BenchmarkSpec).validate_json(text)
    return check_completeness(Benchmark(spec, Path("b.bench.yaml"), lines), "new", table(rewards))


def verdicts(found):
    assert {c.gate for c in found.checks} == {"expect"}
    assert {c.agent for c in found.checks} == {"new"}
    return {c.name: c.verdict for c in found.checks}


def of(found, name):
    return next(c for c in found.checks if c.name == name)


def test_a_complete_run_passes():
    found = check([[1.0, 0.0]] * 3, num_samples=2, expect={"tasks": 3})
    assert verdicts(found) == {"tasks": PASS, "rollouts": PASS, "missing": PASS}
    assert found.missing == 0
    assert found.notes == ()
    assert found.expected.tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    ("wanted", "tasks", "verdict"),
    [(3, 3, PASS), (4, 3, FAIL), (2, 3, FAIL), (">= 2", 3, PASS), (">= 4", 3, FAIL)],
)
def test_the_number_of_tasks(wanted, tasks, verdict):
    found = of(check([[1.0]] * tasks, expect={"tasks": wanted}), "tasks")
    assert found.verdict is verdict
    assert found.line == 6
    assert bool(found.hint) == (verdict is FAIL)


def test_missing_tasks_are_counted():
    assert of(check([[1.0]] * 3, expect={"tasks": 10}), "tasks").reason == (
        "7 of 10 tasks are missing: 3 were found"
    )
    assert (
        "2 more than there should be" in of(check([[1.0]] * 3, expect={"tasks": 1}), "tasks").reason
    )


def test_without_a_number_of_tasks_the_line_to_add_is_told():
    (note,) = check([[1.0, 0.0]] * 3).notes
    assert "add `expect: {tasks: 3}` and `num_samples: 2` below line 1" in note
    assert "num_samples" not in check([[1.0]], num_samples=1).notes[0]


@pytest.mark.parametrize(
    ("rewards", "keys", "verdict"),
    [
        ([[1.0, 1.0], [1.0]], {}, FAIL),  # fewer than the others
        ([[1.0, 1.0], [1.0]], {"num_samples": 2}, FAIL),
        ([[1.0], [1.0]], {"num_samples": 2}, FAIL),
        ([[1.0, 1.0], [1.0]], {"num_samples": 1}, FAIL),  # more than there should be
        ([[1.0, 1.0], [1.0]], {"expect": {"rollouts": "any"}}, None),
        ([[1.0, 1.0], [1.0]], {"expect": {"rollouts": ">= 1"}}, PASS),
        ([[1.0, 1.0], [1.0]], {"expect": {"rollouts": ">= 2"}}, FAIL),
        ([[1.0, 1.0], [1.0]], {"num_samples": 2, "expect": {"max_missing": "25%"}}, PASS),
        ([[1.0, 1.0], [1.0]], {"num_samples": 2, "expect": {"max_missing": "24%"}}, FAIL),
    ],
)
def test_the_number_of_rollouts_of_each_task(rewards, keys, verdict):
    assert verdicts(check(rewards, **keys)).get("rollouts") is verdict


def test_tasks_with_too_few_rollouts_are_named():
    reason = of(check([[1.0, 1.0]] * 2 + [[1.0]] * 12, num_samples=2), "rollouts").reason
    assert reason.startswith("12 of 14 tasks have fewer than 2 rollouts: task 2 has 1 of 2, ")
    assert reason.endswith(" and 2 more")


@pytest.mark.parametrize(
    ("expect", "verdict"),
    [
        ({}, FAIL),
        ({"missing_reward": "error"}, FAIL),
        ({"missing_reward": "error", "max_missing": "50%"}, FAIL),
        ({"missing_reward": "exclude"}, PASS),  # one in twenty
        ({"missing_reward": "exclude", "max_missing": "4%"}, FAIL),
        ({"max_missing": "5%"}, PASS),
        ({"missing_reward": 0.0}, PASS),
        ({"missing_reward": 0.0, "max_missing": "4%"}, FAIL),
    ],
)
def test_a_missing_reward_is_never_nothing(expect, verdict):
    found = check([[None]] + [[1.0]] * 19, expect={"tasks": 20, **expect})
    missing = of(found, "missing")
    assert missing.verdict is verdict
    assert found.missing == 1
    assert "one rollout has no finite reward (task 0)" in missing.reason


def test_more_than_five_percent_left_out_fails():
    expect = {"missing_reward": "exclude"}
    found = of(check([[None]] * 2 + [[1.0]] * 37, expect=expect), "missing")
    assert found.verdict is FAIL
    assert found.value == 2 / 39
    assert "5.13 % of 39 rollouts, more than 5 %" in found.reason


def test_absent_rollouts_are_missing_too():
    found = check([[1.0, 1.0], [1.0]], num_samples=2, expect={"max_missing": "30%"})
    assert (found.missing, of(found, "missing").value) == (1, 0.25)
    assert of(found, "missing").reason == "one rollout is absent, 25 % of 4 rollouts"
    filled = check([[1.0, 1.0], [1.0]], num_samples=2, expect={"missing_reward": 0.0})
    assert of(filled, "missing").verdict is FAIL  # an absent one has no reward to fill in


def rows(project, *, told, of=200, name="runs.jsonl"):
    """Write rollouts, of which so many say how many tokens they took."""
    project.rows(
        name,
        [
            {
                "_ng_task_index": i // 4,
                "_ng_rollout_index": i % 4,
                "reward": 1,
                "kind": "hard" if i % 4 else "easy",
                **({"output_tokens": 100} if i < told else {}),
            }
            for i in range(of)
        ],
    )


def test_a_threshold_on_a_few_of_the_rollouts_is_red(project):
    rows(project, told=4)
    project.bench("thresholds: {mean/output_tokens: '<= 2000', pass@1/output_tokens: '>= 0.1'}")
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "FAIL * missing/output_tokens *0.9800 * <= 0",
            "FAIL  math.bench.yaml:4: 196 of 200 rollouts have no finite output_tokens, 98 %: *",
            "  -> complete the run; or say how many may lack it: expect: {max_missing: 2%}",
        ]
    )
    assert result.stdout.str().count("have no finite output_tokens, 98 %: mean") == 1
    project.bench("expect: {max_missing: 2%}\nthresholds: {mean/output_tokens: '<= 2000'}")
    project.run().stdout.fnmatch_lines(["*no finite output_tokens, 98 %, more than 2 %: mean*"])
    rows(project, told=197)
    assert "more than" not in project.run("-v").stdout.str()


def test_what_may_be_missing_is_what_expect_says(project):
    for told, expect, verdict in (
        (200, "", "PASS"),
        (199, "", "FAIL"),
        (196, "expect: {max_missing: 2%}", "PASS"),
        (195, "expect: {max_missing: 2%}", "FAIL"),
        (190, "expect: {missing_reward: exclude}", "PASS"),
        (189, "expect: {missing_reward: exclude}", "FAIL"),
        (199, "expect: {missing_reward: 0.0}", "FAIL"),  # says nothing of tokens
    ):
        folder = f"{told}-{len(expect)}-{verdict}"
        rows(project, told=told, name=f"{folder}/runs.jsonl")
        bench = f"{expect}\nthresholds: {{mean/output_tokens: '<= 2000'}}"
        project.bench(bench, name=f"{folder}/a.bench.yaml")
    project.run()
    entries = project.report()["benchmarks"]
    assert len(entries) == 7
    assert all(f"-{entry['verdict']}/" in entry["id"] for entry in entries)


@pytest.mark.parametrize("metric", ["tokens_per_task", "mean/output_tokens[kind=hard]"])
def test_so_it_is_of_what_is_made_of_several_and_of_a_part(project, metric):
    project.rows(
        "runs.jsonl",
        [
            {
                "_ng_task_index": i // 4,
                "_ng_rollout_index": i % 4,
                "reward": 1,
                "kind": "hard" if i % 4 else "easy",
                **({"input_tokens": 1, "output_tokens": 2} if i % 4 < 3 else {}),
            }
            for i in range(40)
        ],
    )
    project.bench(f"thresholds: {{'{metric}': '<= 2000'}}")
    result = project.run()
    result.assert_outcomes(failed=1)
    of = "10 of 40" if metric == "tokens_per_task" else "10 of 30"
    what = (
        "nothing that tokens_per_task reads" if "per_task" in metric else "no finite output_tokens"
    )
    result.stdout.fnmatch_lines([f"FAIL *: {of} rollouts have {what}, *"])


def test_what_no_threshold_rests_on_is_told(project):
    rows(project, told=4)
    project.bench("metrics: [pass@1, mean/output_tokens]\nthresholds: {pass@1: '>= 0.5'}")
    result = project.run("-v")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["*note: *mean/output_tokens is of 4 rollouts: 196 of 200 rollouts have no finite output_*"]
    )


SCORERS = """
import pytest_evalmetrics as em

@em.register_scorer("sound")
class Sound:
    scores = ("sound",)

    def score(self, row):
        return 1.0

@em.register_scorer("fluent")
class Fluent:
    scores = ("fluent",)

    def score(self, row):
        if row.item["_ng_task_index"]:
            raise em.RowError("no-words", "there is nothing to read")
        return 1.0
"""


def test_a_scorer_that_fails_on_most_rows_is_red_where_it_is_gated(project):
    project.write("conftest.py", SCORERS)
    project.rollouts([[1]] * 10)
    project.bench(
        "scorers: [{type: sound}, {type: fluent}]\nreward: sound\n"
        "thresholds: {mean/fluent: '>= 0.9', mean/sound: '>= 0.9'}"
    )
    result = project.run()
    result.assert_outcomes(failed=1)
    cause = "9 of 10 rows have no fluent (no-words), such as runs.jsonl:2: there is nothing to read"
    result.stdout.fnmatch_lines(
        [f"FAIL * {cause}; 9 of 10 rollouts have no finite fluent, 90 %: *"]
    )


def test_the_rewards_own_missing_ones_are_told_once(project):
    project.rollouts([[1, None], [1, 1]])
    project.bench("thresholds: {mean/reward: '>= 0.5', pass@1: '>= 0.5'}")
    result = project.run()
    result.assert_outcomes(failed=1)
    assert result.stdout.str().count("no finite reward (task 0)") == 2  # the error, the last line


PASS, FAIL, INCONCLUSIVE = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE


def check_one(threshold, value, interval=None):
    estimate = Estimate("pass@1", value, 10, 40, interval, "" if interval else "there is no spread")
    benchmark = SimpleNamespace(
        spec=SimpleNamespace(thresholds={"pass@1": threshold}), line_of=lambda *path: len(path)
    )
    result = SimpleNamespace(estimates={"pass@1": estimate})
    (found,) = check_thresholds(benchmark, "new", result, {})
    assert (found.gate, found.name, found.agent, found.line) == ("threshold", "pass@1", "new", 2)
    assert found.estimate is estimate
    return found


@pytest.mark.parametrize(
    ("threshold", "value", "verdict"),
    [
        (Threshold(min=0.7), 0.7, PASS),
        (Threshold(min=0.7), 0.71, PASS),
        (Threshold(min=0.7), 0.6999, FAIL),
        (Threshold(min=0.7), 0.7 - 5e-10, PASS),
        (Threshold(min=0.7), 0.7 - 2e-9, FAIL),
        (Threshold(max=2000), 2000, PASS),
        (Threshold(max=2000), 2000.001, FAIL),
        (Threshold(max=2000), 2000 + 1e-6, PASS),  # a slack of a billionth of the bound
        (Threshold(min=0.2, max=0.3), 0.1 + 0.2, PASS),
        (Threshold(min=0.2, max=0.3), 0.1, FAIL),
        (Threshold(min=0.2, max=0.3), 0.4, FAIL),
        (Threshold(min=-1.0), -1.1, FAIL),
        (Threshold(min=0.0), 0.0, PASS),
    ],
)
def test_a_value_against_its_bounds(threshold, value, verdict):
    found = check_one(threshold, value)
    assert found.verdict is verdict
    assert found.value == value
    assert bool(found.reason) == (verdict is FAIL)


@pytest.mark.parametrize(
    ("bound", "minimum", "verdict"),
    [("lower", 0.6, PASS), ("lower", 0.61, FAIL), ("upper", 0.8, PASS), ("upper", 0.81, FAIL)],
)
def test_an_end_of_the_interval_against_a_bound(bound, minimum, verdict):
    found = check_one(Threshold(min=minimum, bound=bound), 0.7, Interval(0.6, 0.8, 0.95, "t"))
    assert found.verdict is verdict
    assert found.value == (0.6 if bound == "lower" else 0.8)
    assert found.bound == f"{bound} end >= {minimum}"
    if verdict is FAIL:
        assert found.reason.startswith(f"the {bound} end of pass@1 is 0.")


def test_without_an_interval_its_end_can_not_be_judged():
    found = check_one(Threshold(min=0.6, bound="lower"), 0.7)
    assert found.verdict is INCONCLUSIVE
    assert found.reason == "pass@1 has no interval: there is no spread"
    assert found.hint


@pytest.mark.parametrize("value", [0.69996, 0.699999998])
def test_a_value_is_never_rounded_into_its_bound(value):
    assert check_one(Threshold(min=0.7), value).reason == f"pass@1 is {value}, below 0.7"
