"""As many rollouts as a user believes, and values against their bounds."""

import json

import pytest

TWO_AND_ONE = [[1, 1], [1]]


@pytest.fixture
def judged(project):
    """Judge a benchmark for each case (its rewards, its keys); return the checks of each."""

    def judge(*cases):
        benchmarks = []
        for number, (rewards, keys) in enumerate(cases):
            name = f"case {number:02}"
            project.rollouts(rewards, f"{name}.jsonl")
            benchmarks.append({"name": name, "rollouts": f"{name}.jsonl", **keys})
        project.write("all.bench.yaml", json.dumps({"benchmarks": benchmarks}, indent=1))
        project.run()
        entries = project.report()["benchmarks"]
        assert [entry["name"] for entry in entries] == [b["name"] for b in benchmarks]
        return [{check["name"]: check for check in entry["checks"]} for entry in entries]

    return judge


def test_too_few_or_too_many_tasks_and_rollouts(judged):
    cases = [
        # rewards, keys, check, verdict
        ([[1]] * 3, {"expect": {"tasks": 2}}, "tasks", "FAIL"),
        ([[1]] * 3, {"expect": {"tasks": ">= 4"}}, "tasks", "FAIL"),
        (TWO_AND_ONE, {"num_samples": 2}, "rollouts", "FAIL"),
        (TWO_AND_ONE, {"num_samples": 1}, "rollouts", "FAIL"),  # more than there should be
        (TWO_AND_ONE, {"expect": {"rollouts": "any"}}, "rollouts", None),
        (TWO_AND_ONE, {"expect": {"rollouts": ">= 2"}}, "rollouts", "FAIL"),
        (TWO_AND_ONE, {"num_samples": 2, "expect": {"max_missing": "25%"}}, "rollouts", "PASS"),
        (TWO_AND_ONE, {"num_samples": 2, "expect": {"max_missing": "24%"}}, "rollouts", "FAIL"),
    ]
    for case, checks in zip(cases, judged(*(case[:2] for case in cases)), strict=True):
        assert checks.get(case[2], {}).get("verdict") == case[3], case


def test_a_missing_reward_is_never_nothing(judged):
    cases = [
        ({"missing_reward": "error", "max_missing": "50%"}, "FAIL"),
        ({"missing_reward": "exclude"}, "PASS"),  # one in twenty
        ({"missing_reward": "exclude", "max_missing": "4%"}, "FAIL"),
        ({"max_missing": "5%"}, "PASS"),
        ({"missing_reward": 0.0}, "PASS"),
        ({"missing_reward": 0.0, "max_missing": "4%"}, "FAIL"),
    ]
    found = judged(*(([[None]] + [[1]] * 19, {"expect": expect}) for expect, _ in cases))
    for (expect, verdict), checks in zip(cases, found, strict=True):
        assert checks["missing"]["verdict"] == verdict, expect
        assert "one rollout has no finite reward (task 0)" in checks["missing"]["reason"]


def test_what_is_missing_is_counted_and_named(judged):
    tasks, more, rollouts, excluded, absent, filled = judged(
        ([[1]] * 3, {"expect": {"tasks": 10}}),
        ([[1]] * 3, {"expect": {"tasks": 1}}),
        ([[1, 1]] * 2 + [[1]] * 12, {"num_samples": 2}),
        ([[None]] * 2 + [[1]] * 37, {"expect": {"missing_reward": "exclude"}}),
        (TWO_AND_ONE, {"num_samples": 2, "expect": {"max_missing": "30%"}}),
        (TWO_AND_ONE, {"num_samples": 2, "expect": {"missing_reward": 0.0}}),
    )
    assert tasks["tasks"]["reason"] == "7 of 10 tasks are missing: 3 were found"
    assert tasks["tasks"]["hint"]
    assert "2 more than there should be" in more["tasks"]["reason"]
    reason = rollouts["rollouts"]["reason"]
    assert reason.startswith("12 of 14 tasks have fewer than 2 rollouts: task 2 has 1 of 2, ")
    assert reason.endswith(" and 2 more")
    assert (excluded["missing"]["verdict"], excluded["missing"]["value"]) == ("FAIL", 2 / 39)
    assert "5.13 % of 39 rollouts, more than 5 %" in excluded["missing"]["reason"]
    assert absent["missing"]["value"] == 0.25
    assert absent["missing"]["reason"] == "one rollout is absent, 25 % of 4 rollouts"
    assert filled["missing"]["verdict"] == "FAIL"  # an absent one has no reward to fill in


def test_a_value_against_its_bounds(judged):
    cases = [
        # the mean reward, its bounds, verdict
        (0.7, {"min": 0.7}, "PASS"),
        (0.7 - 5e-10, {"min": 0.7}, "PASS"),
        (0.7 - 2e-9, {"min": 0.7}, "FAIL"),
        (2000.001, {"max": 2000}, "FAIL"),
        (2000 + 1e-6, {"max": 2000}, "PASS"),  # a billionth of the bound
        (0.1, {"min": 0.2, "max": 0.3}, "FAIL"),
        (0.4, {"min": 0.2, "max": 0.3}, "FAIL"),
        (-1.1, {"min": -1.0}, "FAIL"),
        (0.0, {"min": 0.0}, "PASS"),
        (0.7, {"min": 0.6, "bound": "lower"}, "INCONCLUSIVE"),  # there is no interval
    ]
    found = judged(*([[[mean]], {"thresholds": {"mean_reward": t}}] for mean, t, _ in cases))
    checks = [each["mean_reward"] for each in found]
    for case, check in zip(cases, checks, strict=True):
        assert (check["value"], check["verdict"]) == (case[0], case[2]), case
        assert bool(check["reason"]) == (case[2] != "PASS"), case
    assert checks[2]["reason"] == "mean_reward is 0.699999998, below 0.7"  # it is not rounded
    assert checks[-1]["reason"].startswith("mean_reward has no interval: a single task says")
    assert checks[-1]["hint"]


def test_an_end_of_the_interval_against_a_bound(judged):
    cases = [
        (0.49, "lower", "PASS"),
        (0.4902, "lower", "FAIL"),
        (0.943, "upper", "PASS"),
        (0.944, "upper", "FAIL"),
    ]
    rewards = [[1]] * 8 + [[0]] * 2
    bounds = [{"thresholds": {"pass@1": {"min": low, "bound": end}}} for low, end, _ in cases]
    ends = {"lower": 0.4901625, "upper": 0.9433178}  # Wilson's, as statsmodels computes them
    found = judged(*((rewards, keys) for keys in bounds))
    for (low, end, verdict), checks in zip(cases, found, strict=True):
        check = checks["pass@1"]
        assert (check["verdict"], check["bound"]) == (verdict, f"{end} end >= {low}")
        assert check["value"] == pytest.approx(ends[end], abs=1e-7)
        assert check["reason"].startswith(f"the {end} end of pass@1 is 0.") or verdict == "PASS"


# -- thresholds on other scores than the reward ------------------------------------------------


def rows(project, *, told, of=200, name="runs.jsonl", **tokens):
    """Write rollouts, of which those that are `told` say how many tokens they took."""
    tokens = tokens or {"output_tokens": 100}
    made = []
    for i in range(of):
        known = {"_ng_task_index": i // 4, "_ng_rollout_index": i % 4, "reward": 1}
        made.append(known | {"kind": "hard" if i % 4 else "easy"} | (tokens if told(i) else {}))
    project.rows(name, made)


def test_a_threshold_on_a_few_of_the_rollouts_is_red(project):
    rows(project, told=lambda i: i < 4)
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
    project.bench("metrics: [pass@1, mean/output_tokens]\nthresholds: {pass@1: '>= 0.5'}")
    ungated = project.run("-v")
    ungated.assert_outcomes(passed=1)
    ungated.stdout.fnmatch_lines(
        [
            "*add `expect: {tasks: 50}` and `num_samples: 4` below line 1*",
            "*note: *mean/output_tokens is of 4 rollouts: 196 of 200 rollouts have no finite out*",
        ]
    )


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
        rows(project, told=lambda i, told=told: i < told, name=f"{folder}/runs.jsonl")
        bench = f"{expect}\nthresholds: {{mean/output_tokens: '<= 2000'}}"
        project.bench(bench, name=f"{folder}/a.bench.yaml")
    project.run()
    entries = project.report()["benchmarks"]
    assert len(entries) == 7
    assert all(f"-{entry['verdict']}/" in entry["id"] for entry in entries)


def test_so_it_is_of_what_is_made_of_several_and_of_a_part(project):
    rows(project, told=lambda i: i % 4 < 3, of=40, input_tokens=1, output_tokens=2)
    gates = "{tokens_per_task: '<= 2000', 'mean/output_tokens[kind=hard]': '<= 2000'}"
    project.bench(f"thresholds: {gates}")
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines_random(
        [
            "FAIL *: 10 of 40 rollouts have nothing that tokens_per_task reads, *",
            "FAIL *: 10 of 30 rollouts have no finite output_tokens, *",
        ]
    )


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
