"""Results of benchmarks and of runs: verdicts, and the values that a test asks for."""

import pytest

from pytest_evalmetrics.ext import AgentResult, Estimate
from pytest_evalmetrics.model.results import BenchmarkResult, Check, RunReport
from pytest_evalmetrics.model.verdicts import Direction, Gate, Verdict, worst

PASS = Verdict.PASS
WARN = Verdict.WARN
INCONCLUSIVE = Verdict.INCONCLUSIVE
FAIL = Verdict.FAIL


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ((), PASS),
        ((PASS, WARN), WARN),
        ((WARN, INCONCLUSIVE, PASS), INCONCLUSIVE),
        ((INCONCLUSIVE, FAIL), FAIL),
    ],
)
def test_the_worst_verdict_counts(verdicts, expected):
    assert worst(verdicts) is expected


@pytest.mark.parametrize(
    ("verdict", "fails"),
    [(PASS, False), (WARN, False), (INCONCLUSIVE, True), (FAIL, True)],
)
def test_what_can_not_be_judged_fails_the_build(verdict, fails):
    assert verdict.fails is fails


def test_a_fall_is_damage_where_more_is_better():
    assert Direction.HIGHER.sign == 1
    assert Direction.LOWER.sign == -1


def agent(name, **values):
    estimates = {
        metric: Estimate(metric, value, 3, 6, None) for metric, value in values.items()
    }
    return AgentResult(name, 3, 6, 0, estimates, values, {})


def result(*agents, verdicts=(), **fields):
    checks = [Check(gate=Gate.EXPECT, name="n", verdict=each) for each in verdicts]
    return BenchmarkResult(
        id="a.bench.yaml::a",
        name="a",
        description="",
        file="a.bench.yaml",
        line=1,
        agents=agents,
        checks=tuple(checks),
        **fields,
    )


def test_a_result_has_the_verdict_of_its_worst_check():
    made = result(verdicts=(PASS, WARN))
    assert made.verdict is WARN
    assert made.passed
    assert bool(made)


def test_a_result_that_fails_is_false():
    assert not result(verdicts=(PASS, FAIL))


def test_the_value_of_the_only_agent_is_found():
    assert result(agent("x", mean_reward=0.5)).value("mean_reward") == 0.5


def test_the_value_of_a_named_agent_is_found():
    both = result(agent("x", mean_reward=0.5), agent("y", mean_reward=0.75))
    assert both.value("mean_reward", agent="y") == 0.75


@pytest.mark.parametrize("name", ["", "z"])
def test_an_agent_that_is_not_clear_is_asked_for(name):
    both = result(agent("x", mean_reward=0.5), agent("y", mean_reward=0.75))
    with pytest.raises(KeyError, match=r"which agent\? there is 'x', 'y'"):
        both.value("mean_reward", agent=name)


def test_without_agents_there_is_none():
    with pytest.raises(KeyError, match=r"which agent\? there is none"):
        result().value("mean_reward")


def test_a_metric_that_is_not_there_is_refused_with_those_that_are():
    made = result(agent("x", mean_reward=0.5, cost=2.0))
    with pytest.raises(
        KeyError, match="no metric 'pass@1': there is cost, mean_reward"
    ):
        made.value("pass@1")


def test_a_run_has_the_verdict_of_its_worst_benchmark():
    run = RunReport(benchmarks=(result(verdicts=(PASS,)), result(verdicts=(FAIL,))))
    assert run.verdict is FAIL


def test_what_is_expected_to_fail_fails_no_run():
    run = RunReport(benchmarks=(result(verdicts=(FAIL,), xfail=True),))
    assert run.verdict is PASS


def test_a_run_without_all_of_its_results_is_inconclusive():
    run = RunReport(benchmarks=(result(verdicts=(WARN,)),), not_evaluated=("b",))
    assert run.verdict is INCONCLUSIVE
