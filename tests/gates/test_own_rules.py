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
    return (Verdict.FAIL, "worse", "far") if verdict == "long" else verdict
"""


BENCH = """
benchmark: {{name: {name}, rollouts: new.jsonl, metrics: [mean_reward],
  baseline: {{rollouts: old.jsonl, alpha: 0.02, rule: {rule}}}}}
"""


@pytest.fixture
def run(project):
    """Run a benchmark for each of some rules."""
    project.write("conftest.py", CONFTEST)
    for name, lost in (("old", 0), ("new", 4)):
        rows = [{"_ng_task_index": t, "reward": int(t >= lost)} for t in range(12)]
        project.rows(f"{name}.jsonl", rows)

    def run(*rules, args=()):
        for number, rule in enumerate(rules):
            name = f"b{number}"
            project.write(f"{name}.bench.yaml", BENCH.format(name=name, rule=rule))
        return project.run(*args)

    return run


def gated(project):
    """The checks of the baseline gate, in the order of the benchmarks."""
    checks = []
    for benchmark in project.report()["benchmarks"]:
        checks += benchmark["checks"]
    return [check for check in checks if check["gate"] == "baseline"]


def test_it_receives_the_change(run):
    result = run("steps", args=["-s"])
    result.stdout.fnmatch_lines(['*"mean_reward", "higher", 1.0, 0.666*'])


def test_it_decides_with_its_options(project, run):
    run("steps", "{name: steps, most: 0.5}")
    assert [check["verdict"] for check in gated(project)] == ["FAIL", "WARN"]


def test_its_bound_and_its_reason_are_shown(run):
    result = run("steps")
    result.stdout.fnmatch_lines(["*gate: drop <= 0.25"])
    # 4 of 4 worse by sign flips, mid-p: .5 ** 5
    result.stdout.fnmatch_lines(["*p is 0.031*"])


def test_one_that_does_not_work_fails_the_benchmark(run):
    messages = {
        "{name: odd, verdict: raise}": "*gate rule odd*mean_reward*raised ValueError: no such*",
        "odd": "*gate rule odd*mean_reward*returned 'fail': expected a Verdict*",
        "{name: odd, verdict: long}": "*gate rule odd*returned (*'far'): expected a Verdict*",
        "{name: odd, verdit: x}": "INCONCLUSIVE  b3.bench.yaml:3: *odd can't be made: *verdit*",
        "{name: steps, least: 1}": "*gate rule steps can't be made: *least*",
        "nowhere:rule": "*nowhere*",
    }
    result = run(*messages)
    result.assert_outcomes(failed=len(messages))
    result.stdout.fnmatch_lines_random(
        [*messages.values(), "  -> check its options under rule:"]
    )
    result.stdout.no_fnmatch_line("*was not evaluated*")
    result.stdout.no_fnmatch_line("*Traceback*")


def test_a_file_that_names_none_is_refused(run):
    messages = {
        "stops": "*b0.bench.yaml:3*there is no gate rule 'stops'*did you mean 'steps'*",
        "{name: practicle}": "*there is no gate rule 'practicle'*did you mean 'practical'*",
        "{name: exact, digits: 2}": "*the rule exact has no options: write rule: exact*",
        "[exact]": "*exact, absolute*or a gate rule of your own*",
        "steps, against: best": "*rollouts*",
    }
    result = run(*messages)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.assert_outcomes(errors=len(messages))
    result.stdout.fnmatch_lines_random(list(messages.values()))


def test_it_is_listed_and_explained_and_takes_no_built_in_name(project, run):
    listed = run(args=["--evalmetrics-list"])
    listed.stdout.fnmatch_lines(["gate rules (8)", "  odd*", "  steps*"])
    explained = run(args=["--evalmetrics-explain", "odd"])
    explained.stdout.fnmatch_lines(["odd: gate rule", "*from*"])
    project.write("conftest.py", CONFTEST.replace('"odd"', '"exact"'))
    run().stderr.fnmatch_lines(["*the gate rule 'exact' is built in*"])
