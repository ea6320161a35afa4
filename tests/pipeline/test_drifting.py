"""Metrics that drift over a history: by a shift of their level, or by accepted steps."""

import msgspec
import pytest
from comparison.making import rule
from msgspec import structs

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.model.bounds import RuleBound, ThresholdBound
from pytest_evalmetrics.model.estimates import Estimate
from pytest_evalmetrics.model.history import (
    HistoryPoint,
    HistoryRun,
    LevelShift,
    Ratchet,
)
from pytest_evalmetrics.model.reasons import DriftedMetric, Failed
from pytest_evalmetrics.model.results import AgentResult, BenchmarkResult, Check
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.pipeline.drifting import drift_checks, drifts_of

UP = RuleBound(rule())
DOWN = RuleBound(rule(direction="lower"))


def result_of(bound=UP, agents=("a",)):
    check = Check(gate=Gate.BASELINE, name="m", verdict=Verdict.PASS, bound=bound)
    return BenchmarkResult(
        id="b.bench.yaml::b",
        name="b",
        description="",
        file="b.bench.yaml",
        line=1,
        agents=tuple(AgentResult(name, 100, 100, 0, {}, {}) for name in agents),
        checks=(check,),
    )


def runs_of(*values, starts=(), width=0.02, tasks=100, agents=("a",)):
    """Make a history of one metric, each value within an interval of some width."""
    runs = []
    for day, value in enumerate(values):
        low, high = (None, None) if width is None else (value - width, value + width)
        point = HistoryPoint(value, tasks, tasks, low, high)
        runs.append(
            HistoryRun(
                schema_version=1,
                benchmark="b.bench.yaml::b",
                time=f"2026-01-{day + 1:02}",
                commit=f"c{day}",
                branch=None,
                url=None,
                verdict="PASS",
                usable=True,
                starts=day in starts,
                agents={agent: {"m": point} for agent in agents},
                reason=f"step {day}" if day in starts else "",
            )
        )
    return runs


def kinds(drifts):
    return [type(drift) for drift in drifts]


FALL = [0.80, 0.81, 0.79, 0.80, 0.81, 0.80, 0.79, 0.70, 0.71, 0.69, 0.70, 0.71, 0.70]


def test_a_level_that_fell_is_a_drift_with_both_of_its_ends():
    (shift,) = drifts_of(result_of(), runs_of(*FALL))
    assert isinstance(shift, LevelShift)
    assert (shift.benchmark, shift.agent, shift.metric) == ("b", "", "m")
    assert shift.before == pytest.approx(0.80, abs=0.001)
    assert shift.after == pytest.approx(0.70, abs=0.002)
    assert (shift.runs_before, shift.runs_after) == (7, 6)
    assert shift.first.commit == "c6"
    assert shift.last.commit == "c7"


def test_a_level_that_rose_is_none_of_a_metric_that_should_rise():
    rise = FALL[::-1]
    assert list(drifts_of(result_of(), runs_of(*rise))) == []
    assert kinds(drifts_of(result_of(DOWN), runs_of(*rise))) == [LevelShift]


@pytest.mark.parametrize(
    ("bound", "drifts"),
    [
        (ThresholdBound(least=0.5, most=None), [LevelShift]),
        (ThresholdBound(least=None, most=0.9), []),
        (None, [LevelShift]),
    ],
)
def test_a_threshold_says_which_way_is_better(bound, drifts):
    assert kinds(drifts_of(result_of(bound), runs_of(*FALL))) == drifts


def test_a_metric_that_nothing_gates_drifts_either_way():
    rise = FALL[::-1]
    assert kinds(drifts_of(result_of(None), runs_of(*rise))) == [LevelShift]


def test_runs_before_the_last_accepted_change_do_not_count():
    assert list(drifts_of(result_of(), runs_of(*FALL, starts=[7]))) == []


def test_runs_of_another_number_of_tasks_do_not_count():
    runs = runs_of(*FALL[:7], tasks=50) + runs_of(*FALL[7:])
    assert list(drifts_of(result_of(), runs)) == []


def test_each_of_several_agents_is_named():
    agents = ("a", "x")
    drifts = drifts_of(result_of(agents=agents), runs_of(*FALL, agents=agents))
    assert [drift.agent for drift in drifts] == ["a", "x"]


def test_without_runs_there_is_no_drift():
    assert list(drifts_of(result_of(), [])) == []


# -- accepted step by step -------------------------------------------------------------------


def test_accepted_steps_that_add_up_are_a_drift_since_the_first_baseline():
    runs = runs_of(0.80, 0.78, 0.76, 0.74, starts=[0, 1, 3])
    (ratchet,) = drifts_of(result_of(), runs)
    assert ratchet == Ratchet(
        benchmark="b",
        agent="",
        metric="m",
        before=0.80,
        after=0.74,
        first=ratchet.first,
        accepted=2,
        reasons=("step 1", "step 3"),
    )
    assert ratchet.first.commit == "c0"


def test_one_accepted_step_is_what_its_gate_tested():
    assert list(drifts_of(result_of(), runs_of(0.80, 0.74, starts=[0, 1]))) == []


@pytest.mark.parametrize(("last", "drifts"), [(0.772, []), (0.771, [Ratchet])])
def test_steps_within_the_noise_of_two_runs_are_no_drift(last, drifts):
    # 0.02 on both sides: the root of the sum of their squares is 0.0283
    runs = runs_of(0.80, 0.79, last, starts=[0, 1, 2])
    assert kinds(drifts_of(result_of(), runs)) == drifts


def test_steps_for_the_better_are_no_drift():
    runs = runs_of(0.70, 0.75, 0.80, starts=[0, 1, 2])
    assert list(drifts_of(result_of(), runs)) == []
    assert kinds(drifts_of(result_of(DOWN), runs)) == [Ratchet]


def test_steps_of_a_metric_without_a_direction_are_none():
    runs = runs_of(0.80, 0.75, 0.70, starts=[0, 1, 2])
    assert list(drifts_of(result_of(None), runs)) == []


def test_without_intervals_nothing_is_said_of_steps():
    runs = runs_of(0.80, 0.75, 0.70, starts=[0, 1, 2], width=None)
    assert list(drifts_of(result_of(), runs)) == []


# -- the gate ---------------------------------------------------------------------------------


def checks_of(folder, history, value=0.5, bound=UP):
    """Check whether a run drifts beside a history."""
    text = """\
benchmark:
  name: b
  rollouts: x.jsonl
  baseline:
    drift: fail
"""
    path = folder / "b.bench.yaml"
    path.write_text(text, encoding="utf-8")
    (asked,) = load_benchmarks(path, shown="b.bench.yaml")
    estimate = Estimate("m", value, 100, 100)
    agent = AgentResult("a", 100, 100, 0, {"m": estimate}, {"m": value})
    result = structs.replace(result_of(bound), agents=(agent,))
    return list(drift_checks(asked, result, history))


def write_history(folder, runs):
    path = folder / "history.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(run) + b"\n" for run in runs))
    return path


def test_a_gate_of_drift_needs_a_history(tmp_path):
    (check,) = checks_of(tmp_path, None)
    hint = "name it: --evalmetrics-history FILE, or the setting evalmetrics_history"
    assert check.verdict is Verdict.INCONCLUSIVE
    assert check.reasons == (
        Failed("drift: fail needs a history, and none is named", hint),
    )
    assert (check.gate, check.name, check.line) == (Gate.DRIFT, "drift", 5)


def test_a_history_that_cannot_be_read_is_not_judged(tmp_path):
    (check,) = checks_of(tmp_path, tmp_path)
    assert check.verdict is Verdict.INCONCLUSIVE


def test_a_history_that_stays_where_it_is_does_not_drift(tmp_path):
    path = write_history(tmp_path, runs_of(*[0.5, 0.51] * 10))
    assert checks_of(tmp_path, path) == []


def test_a_fall_of_the_last_runs_fails(tmp_path):
    path = write_history(tmp_path, runs_of(*[0.8, 0.81] * 10, *[0.5, 0.51] * 5))
    (check,) = checks_of(tmp_path, path)
    assert check.verdict is Verdict.FAIL
    assert check.line == 5
    (reason,) = check.reasons
    assert isinstance(reason, DriftedMetric)
    assert reason.drift.before == pytest.approx(0.805)
    assert reason.drift.after == pytest.approx(0.505, abs=0.005)
    # this run is one of them
    assert reason.drift.runs_after == 11


def test_a_rise_of_the_last_runs_is_no_drift(tmp_path):
    path = write_history(tmp_path, runs_of(*[0.2, 0.21] * 10, *[0.5, 0.51] * 5))
    assert checks_of(tmp_path, path) == []


def test_runs_of_other_benchmarks_do_not_drift(tmp_path):
    runs = runs_of(*[0.8, 0.81] * 10, *[0.5, 0.51] * 5)
    others = [structs.replace(run, benchmark="other") for run in runs]
    assert checks_of(tmp_path, write_history(tmp_path, others)) == []


def test_runs_that_are_not_usable_do_not_drift(tmp_path):
    runs = runs_of(*[0.8, 0.81] * 10, *[0.5, 0.51] * 5)
    lost = [structs.replace(run, usable=False) for run in runs]
    assert checks_of(tmp_path, write_history(tmp_path, lost)) == []
