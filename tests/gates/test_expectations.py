"""Completeness, and values against their bounds."""

from fnmatch import fnmatchcase

import pytest
from evaluated import evaluated


@pytest.fixture
def judged(project):
    """Judge a benchmark for each case (its rewards, its keys); return the checks of each."""

    def judge(*cases):
        lines = ["benchmarks:"]
        for number, (rewards, keys) in enumerate(cases):
            project.rollouts(rewards, f"case{number:02}.jsonl")
            lines.append(
                f"- {{name: case{number:02}, rollouts: case{number:02}.jsonl, {keys}}}"
            )
        project.write("all.bench.yaml", "\n".join(lines))
        evaluated(project)
        entries = project.report()["benchmarks"]
        assert len(entries) == len(cases)
        return [
            {check["name"]: check for check in entry["checks"]} for entry in entries
        ]

    return judge


THREE, TWO_AND_ONE, LATER_FEWER = [[1]] * 3, [[1, 1], [1]], [[1, 1]] * 2 + [[1]] * 12
ONE_OF_20, TWO_OF_39 = [[None]] + [[1]] * 19, [[None]] * 2 + [[1]] * 37
NO_REWARD = "one rollout has no finite reward (task 0)*"
FEWER = "12 of 14 tasks have fewer than 2 rollouts: task 2 has 1 of 2, * and 2 more"
COMPLETENESS = [
    # check, rewards, keys, verdict, reason
    (
        "tasks",
        THREE,
        "expect: {tasks: 10}",
        "FAIL",
        "7 of 10 tasks are missing: 3 were found",
    ),
    ("tasks", THREE, "expect: {tasks: 3}", "PASS", ""),
    ("tasks", THREE, "expect: {tasks: '>= 4'}", "FAIL", "*"),
    ("tasks", THREE, "expect: {tasks: 1}", "FAIL", "*2 too many*"),
    ("rollouts", TWO_AND_ONE, "num_samples: 2", "FAIL", "*"),
    (
        "rollouts",
        TWO_AND_ONE,
        "num_samples: 1",
        "FAIL",
        "*more than 1 rollout: task 0 has 2",
    ),
    ("rollouts", TWO_AND_ONE, "expect: {rollouts: any}", None, ""),
    ("rollouts", TWO_AND_ONE, "expect: {rollouts: '>= 2'}", "FAIL", "*"),
    (
        "rollouts",
        TWO_AND_ONE,
        "num_samples: 2, expect: {max_missing: 25%}",
        "PASS",
        "*",
    ),
    (
        "rollouts",
        TWO_AND_ONE,
        "num_samples: 2, expect: {max_missing: 24%}",
        "FAIL",
        "*",
    ),
    ("rollouts", LATER_FEWER, "num_samples: 2", "FAIL", FEWER),
    (
        "missing",
        ONE_OF_20,
        "expect: {missing_reward: error, max_missing: 50%}",
        "FAIL",
        NO_REWARD,
    ),
    ("missing", ONE_OF_20, "expect: {missing_reward: exclude}", "PASS", NO_REWARD),
    (
        "missing",
        ONE_OF_20,
        "expect: {missing_reward: exclude, max_missing: 4%}",
        "FAIL",
        NO_REWARD,
    ),
    ("missing", ONE_OF_20, "expect: {max_missing: 5%}", "PASS", NO_REWARD),
    ("missing", ONE_OF_20, "expect: {missing_reward: 0.0}", "PASS", NO_REWARD),
    (
        "missing",
        ONE_OF_20,
        "expect: {missing_reward: 0.0, max_missing: 4%}",
        "FAIL",
        NO_REWARD,
    ),
    # an absent one has no reward to fill in
    (
        "missing",
        TWO_AND_ONE,
        "num_samples: 2, expect: {missing_reward: 0.0}",
        "FAIL",
        "*",
    ),
    (
        "missing",
        TWO_OF_39,
        "expect: {missing_reward: exclude}",
        "FAIL",
        "*5.13 % of 39 rollouts, more than 5 %*",
    ),
    (
        "missing",
        TWO_AND_ONE,
        "num_samples: 2, expect: {max_missing: 30%}",
        "PASS",
        "one rollout is absent, 25 % of 4 rollouts",
    ),
]


def test_completeness(judged):
    checks = judged(*(case[1:3] for case in COMPLETENESS))
    for (name, *case, verdict, reason), of_case in zip(
        COMPLETENESS, checks, strict=True
    ):
        check = of_case.get(name, {"verdict": None, "reason": ""})
        assert check["verdict"] == verdict, case
        assert fnmatchcase(check["reason"], reason), case
    assert checks[0]["tasks"]["hint"]
    assert [each["missing"]["value"] for each in checks[-2:]] == [2 / 39, 0.25]


BOUNDS = [
    # the mean reward, its bounds, verdict
    (0.7, "{min: 0.7}", "PASS"),
    (0.7 - 5e-10, "{min: 0.7}", "PASS"),
    (0.7 - 2e-9, "{min: 0.7}", "FAIL"),
    (2000.001, "{max: 2000}", "FAIL"),
    (2000 + 1e-6, "{max: 2000}", "PASS"),  # a billionth of the bound
    (0.1, "{min: 0.2, max: 0.3}", "FAIL"),
    (0.4, "{min: 0.2, max: 0.3}", "FAIL"),
    (-1.1, "{min: -1.0}", "FAIL"),
    (0.0, "{min: 0.0}", "PASS"),
    (0.7, "{min: 0.6, bound: lower}", "INCONCLUSIVE"),  # there is no interval
]


def test_a_value_against_its_bounds(judged):
    cases = [
        ([[mean]], f"thresholds: {{mean_reward: {bounds}}}")
        for mean, bounds, _ in BOUNDS
    ]
    checks = [by_name["mean_reward"] for by_name in judged(*cases)]
    assert [check["value"] for check in checks] == [mean for mean, _, _ in BOUNDS]
    verdicts = [verdict for _, _, verdict in BOUNDS]
    assert [check["verdict"] for check in checks] == verdicts
    has_reason = [bool(check["reason"]) for check in checks]
    assert has_reason == [verdict != "PASS" for verdict in verdicts]


def test_a_value_just_below_its_bound_is_not_rounded_to_it(judged):
    case = ([[0.7 - 2e-9]], "thresholds: {mean_reward: {min: 0.7}}")
    (checks,) = judged(case)
    reason = checks["mean_reward"]["reason"]
    assert reason == "mean_reward is 0.699999998, below 0.7"


def test_a_bound_of_an_interval_that_is_not_there_has_a_way_out(judged):
    case = ([[0.7]], "thresholds: {mean_reward: {min: 0.6, bound: lower}}")
    (checks,) = judged(case)
    check = checks["mean_reward"]
    assert check["reason"].startswith("mean_reward has no interval: a single task says")
    assert check["hint"]


def test_an_end_of_the_interval_against_its_bound(judged):
    ends = [
        # the end of the interval, its value as scipy computes it, its bound, verdict
        ("lower", 0.4439045, 0.44, "PASS"),
        ("lower", 0.4439045, 0.444, "FAIL"),
        ("upper", 0.9747893, 0.974, "PASS"),
        ("upper", 0.9747893, 0.975, "FAIL"),
    ]
    eight_of_ten = [[1]] * 8 + [[0]] * 2
    cases = [
        (eight_of_ten, f"thresholds: {{pass@1: {{min: {bound}, bound: {end}}}}}")
        for end, _, bound, _ in ends
    ]
    checks = [by_name["pass@1"] for by_name in judged(*cases)]
    for (end, value, bound, verdict), check in zip(ends, checks, strict=True):
        assert check["value"] == pytest.approx(value, abs=1e-7)
        assert check["bound"] == f"{end} end >= {bound}"
        assert check["verdict"] == verdict


def test_the_reason_names_the_end_that_is_out_of_bounds(judged):
    case = (
        [[1]] * 8 + [[0]] * 2,
        "thresholds: {pass@1: {min: 0.444, bound: lower}}",
    )
    (checks,) = judged(case)
    assert checks["pass@1"]["reason"].startswith("the lower end of pass@1 is 0.")


# -- thresholds on other scores than the reward ------------------------------------------------


def write_rows(project, reporting, *, name="runs.jsonl"):
    """Write 200 rollouts, the first of which report how many tokens they took."""
    project.rows(
        name,
        (
            {"_ng_task_index": i // 4, "_ng_rollout_index": i % 4, "reward": 1}
            | ({"output_tokens": 100} if i < reporting else {})
            for i in range(200)
        ),
    )


def test_a_threshold_on_a_few_of_the_rollouts_is_red(project):
    write_rows(project, 4)
    project.bench(
        "thresholds: {mean/output_tokens: '<= 2000', pass@1/output_tokens: '>= 0.1'}"
    )
    result = evaluated(project)
    assert not result.passed
    result.says(
        "FAIL  math.bench.yaml:4: 196 of 200 rollouts have no finite output_tokens, 98 %: *",
        "  -> complete the run; or say how many may lack it: expect: {max_missing: 2%}",
    )
    assert result.text.count("have no finite output_tokens, 98 %: mean") == 1
    project.bench(
        "metrics: [pass@1, mean/output_tokens]\nthresholds: {pass@1: '>= 0.5'}"
    )
    ungated = evaluated(project, verbosity=1)
    assert ungated.passed
    ungated.says(
        "*add `expect: {tasks: 50}` and `num_samples: 4` below line 1*",
        "*note: *mean/output_tokens is of 4 rollouts: 196 of 200 rollouts have no finite out*",
    )


def test_expect_limits_how_many_rows_may_lack_a_score(project):
    for expect, passing in (
        ("", 200),
        ("expect: {max_missing: 2%}", 196),
        ("expect: {missing_reward: exclude}", 190),
        ("expect: {missing_reward: 0.0}", 200),  # says nothing of tokens
    ):
        for reporting, verdict in ((passing, "PASS"), (passing - 1, "FAIL")):
            folder = f"{len(expect)}-{verdict}"
            write_rows(project, reporting, name=f"{folder}/runs.jsonl")
            bench = f"{expect}\nthresholds: {{mean/output_tokens: '<= 2000'}}"
            project.bench(bench, name=f"{folder}/a.bench.yaml")
    evaluated(project)
    entries = project.report()["benchmarks"]
    assert len(entries) == 8
    assert all(f"-{entry['verdict']}/" in entry["id"] for entry in entries)


def test_a_metric_of_several_scores_and_one_of_a_part(project):
    tokens = {"input_tokens": 1, "output_tokens": 2}
    rows = [
        {"_ng_task_index": i // 4, "reward": 1, "kind": "hard"} | tokens
        for i in range(40)
    ]
    for easy, lacking in zip(rows[::4], rows[3::4], strict=True):
        easy["kind"] = "easy"
        del lacking["input_tokens"], lacking["output_tokens"]
    project.rows("runs.jsonl", rows)
    gates = "{tokens_per_task: '<= 2000', 'mean/output_tokens[kind=hard]': '<= 2000'}"
    project.bench(f"thresholds: {gates}")
    result = evaluated(project)
    assert not result.passed
    result.says("FAIL *: 10 of 40 rollouts have nothing that tokens_per_task reads, *")
    result.says("FAIL *: 10 of 30 rollouts have no finite output_tokens, *")


FLUENT = """
import pytest_evalmetrics as em

def sound(row):
    return 1.0

def fluent(row):
    if row["_ng_task_index"]:
        raise em.RowError("no-words", "there is nothing to read")
    return 1.0
"""


def test_a_scorer_that_fails_on_most_rows_is_red_where_it_is_gated(project):
    project.write("pytest.ini", "[pytest]\npythonpath = .\n")
    project.write("mine.py", FLUENT)
    project.rollouts([[1]] * 10)
    project.bench(
        "scorers: [{python: 'mine:sound'}, {python: 'mine:fluent'}]\nreward: sound\n"
        "thresholds: {mean/fluent: '>= 0.9', mean/sound: '>= 0.9'}"
    )
    result = project.run()
    result.assert_outcomes(failed=1)
    cause = "9 of 10 rows have no fluent (no-words), such as runs.jsonl:2: there is nothing to read"
    result.stdout.fnmatch_lines(
        [f"FAIL * {cause}; 9 of 10 rollouts have no finite fluent, 90 %: *"]
    )
