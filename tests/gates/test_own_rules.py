"""Gate rules of a project: what they receive, what they decide, and how they are refused."""

import pytest

CONFTEST = """
import json
from pytest_evalmetrics.ext import Verdict, register_gate_rule

@register_gate_rule("steps")
class Steps:
    tests = True

    def __init__(self, *, most=0.25):
        self.most, self.bound = most, f"drop <= {most}"

    def decide(self, change):
        low, high = change.interval
        assert low <= change.drop <= high and 0 < change.p < 1
        assert list(change.differences) == sorted(change.differences, reverse=True)
        assert (change.max_drop, change.alpha, change.warn_alpha) == (0.01, 0.02, 0.05)
        print(json.dumps([change.metric, change.direction, change.baseline, change.current]))
        return (Verdict.FAIL if change.drop > self.most else Verdict.WARN), f"p is {change.p:.3f}"

@register_gate_rule("odd")
def odd(change, *, verdict="fail"):
    if verdict == "raise":
        raise ValueError("no such verdict")
    return verdict
"""


@pytest.fixture
def bench(project):
    project.write("conftest.py", CONFTEST)
    for name, lost in (("old", 0), ("new", 4)):
        rows = [{"_ng_task_index": t, "reward": int(t >= lost)} for t in range(12)]
        project.rows(f"{name}.jsonl", rows)

    def run(rule, *args):
        baseline = f"{{rollouts: old.jsonl, alpha: 0.02, rule: {rule}}}"
        project.write(
            "a.bench.yaml",
            "benchmark: {name: a, rollouts: new.jsonl, metrics: [mean_reward],\n"
            f"  baseline: {baseline}}}\n",
        )
        return project.run(*args)

    return run


@pytest.mark.parametrize(
    ("rule", "verdict", "bound"),
    [
        ("steps", "FAIL", "drop <= 0.25 (steps)"),
        ("{name: steps, most: 0.5}", "WARN", "drop <= 0.5 (steps)"),
    ],
)
def test_it_decides_from_the_change_with_its_options(project, bench, rule, verdict, bound):
    result = bench(rule, "-s")
    check = project.checks()["mean_reward"]
    assert (check["verdict"], check["bound"]) == (verdict, bound)
    assert check["evidence"]["rule"] == "steps"
    assert "p is 0.031" in check["reason"]  # 4 of 4 worse by sign flips, mid-p: .5 ** 5
    result.stdout.fnmatch_lines(['*"mean_reward", "higher", 1.0, 0.666*'])


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("{name: odd, verdict: raise}", "*gate rule odd*mean_reward*raised ValueError: no such*"),
        ("odd", "*gate rule odd*mean_reward*returned 'fail': expected a Verdict*"),
        ("{name: odd, verdit: x}", "*gate rule odd can't be made: *verdit*"),
        ("{name: steps, least: 1}", "*gate rule steps can't be made: *least*"),
        ("nowhere:rule", "*nowhere*"),
    ],
)
def test_one_that_does_not_work_fails_the_benchmark(bench, rule, message):
    result = bench(rule)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines([message])
    result.stdout.no_fnmatch_line("*Traceback*")


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("stops", "*:2*there is no gate rule 'stops'*did you mean 'steps'*"),
        ("{name: practicle}", "*there is no gate rule 'practicle'*did you mean 'practical'*"),
        ("{name: exact, digits: 2}", "*the rule exact has no options: write rule: exact*"),
        ("[exact]", "*exact, absolute*or a gate rule of your own*"),
        ("steps, against: best", "*rollouts*"),
    ],
)
def test_a_file_that_names_none_is_refused(bench, rule, message):
    result = bench(rule)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines([message])


def test_it_is_listed_and_explained(bench):
    bench("steps", "--evalmetrics-list").stdout.fnmatch_lines(
        ["gate rules (2)", "  odd*", "  steps*"]
    )
    bench("steps", "--evalmetrics-explain", "odd").stdout.fnmatch_lines(
        ["odd: gate rule", "*from*"]
    )


def test_a_built_in_name_is_taken(project, bench):
    project.write("conftest.py", CONFTEST.replace('"odd"', '"exact"'))
    result = bench("steps")
    result.stderr.fnmatch_lines(["*the gate rule 'exact' is built in*"])
