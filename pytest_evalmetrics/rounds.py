"""Runs that take rollouts in rounds, and stop as soon as their gates are sure."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from pytest_evalmetrics import stats
from pytest_evalmetrics.config.declarations import shortage_of
from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.evaluate import evaluate
from pytest_evalmetrics.gates import sequential
from pytest_evalmetrics.model.bounds import (
    AllBound,
    MostBound,
    RuleBound,
    SingleTasksBound,
    SlicesBound,
)
from pytest_evalmetrics.model.reasons import (
    BlindGate,
    CannotFail,
    LowPower,
    SharedLevel,
    UnequalSums,
)
from pytest_evalmetrics.model.results import PowerSource, StopForecast
from pytest_evalmetrics.model.run_notes import (
    AllAtOnce,
    StoppedAtLastLook,
    StoppedEarly,
)
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.pipeline.gate_settings import rule_of
from pytest_evalmetrics.spec import Benchmark, BenchmarkSpec, Count
from pytest_evalmetrics.spec.metric_names import parse
from pytest_evalmetrics.spec.sources import Rounds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_evalmetrics.evaluation import Evaluated, EvaluationInput
    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.model.results import BenchmarkResult, Check, Power
    from pytest_evalmetrics.registry import Scope
    from pytest_evalmetrics.scoring.door import Budget

_PARTS = 4  # looks at the rollouts; the first has a quarter, unless a metric needs more
_SEEN = 0.8  # the power for the drop of a forecast


def with_rounds(spec: BenchmarkSpec) -> BenchmarkSpec:
    """Let the rollouts of a benchmark come in rounds."""
    most = spec.num_samples
    if most is None or isinstance(most, Rounds):
        return spec
    names = []
    for text in (*spec.metrics, *spec.gated, *spec.thresholds):
        with suppress(MetricError):  # raised where it is looked up
            names.append(parse(text))
    for least in range(-(-most // _PARTS), most):
        first = _at(spec, Rounds.at(least, least, most))
        if not any(shortage_of(first, name) for name in names):
            return replace(spec, num_samples=Rounds.at(most, least, most))
    return spec


def _at(spec: BenchmarkSpec, rounds: Rounds) -> BenchmarkSpec:
    counted = isinstance(spec.expect.rollouts, Count)
    expect = replace(spec.expect, rollouts=None) if counted else spec.expect
    return replace(spec, num_samples=rounds, expect=expect)


_OF_BASELINE = (PowerSource.BASELINE, PowerSource.BASELINE_AND_ROLLOUTS)


def stop_forecast(benchmark: Benchmark, powers: Sequence[Power]) -> StopForecast | None:
    """Forecast when the first gate of a benchmark with rounds stops; None without rounds."""
    rounds = benchmark.spec.num_samples
    if benchmark.spec.baseline is None or not isinstance(rounds, Rounds) or not powers:
        return None
    looks = sequential.looks_between(rounds.least, rounds.most)
    alpha = rule_of(benchmark, benchmark.spec.gated[0], bounded=True).alpha
    baseline = rounds.most
    if powers[0].source in _OF_BASELINE:
        baseline = powers[0].rollouts
    fractions = sequential.fractions_of(looks, max(baseline, 1))
    bounds = sequential.bounds_of(fractions, alpha)
    drift = stats.normal_ppf(1 - alpha) + stats.normal_ppf(_SEEN)
    return StopForecast(
        most=rounds.most,
        unchanged=_expected_rollouts(looks, bounds, drift=0.0),
        dropped=_expected_rollouts(looks, bounds, drift=drift),
    )


def _expected_rollouts(
    looks: Sequence[int], bounds: sequential.StopBounds, *, drift: float
) -> float:
    """Return the mean number of rollouts of each task after which a gate is sure."""
    chances = np.sum(sequential.stopping(bounds, drift), axis=1)
    return float(np.dot(looks, chances))


def looks_at(given: EvaluationInput) -> Iterator[tuple[sequential.Look, Evaluated]]:
    """Evaluate a benchmark at one look after another, until its gates are sure."""
    # Each look evaluates all rollouts so far, through the journal, so that the stop
    # depends on rows and answers alone.
    rounds = given.benchmark.spec.num_samples
    if not isinstance(rounds, Rounds):
        raise TypeError("the benchmark takes all its rollouts at once")
    looks = sequential.looks_between(rounds.least, rounds.most)
    if _pays_again(given):
        looks = looks[-1:]
    for at, rollouts in enumerate(looks):
        so_far = _at(
            given.benchmark.spec, Rounds.at(rollouts, rounds.least, rounds.most)
        )
        benchmark = structs.replace(given.benchmark, spec=so_far)
        look = sequential.Look(looks, at)
        evaluated = evaluate(structs.replace(given, benchmark=benchmark, look=look))
        yield look, evaluated
        if _is_settled(evaluated.result.checks):
            return


def _pays_again(given: EvaluationInput) -> bool:
    """Whether a further round would pay again for those before."""
    spec = given.benchmark.spec
    asks_anew = given.runtime is not None and given.runtime.asks_anew
    return spec.runs and (spec.forgets or asks_anew)


def in_rounds(given: EvaluationInput) -> Evaluated:
    """Evaluate a benchmark round by round until its gates are sure."""
    *_, (look, evaluated) = looks_at(given)
    note = _stop_note(given, look, evaluated.result)
    result = structs.replace(evaluated.result, notes=(note, *evaluated.result.notes))
    return structs.replace(evaluated, result=result)


def _stop_note(
    given: EvaluationInput, look: sequential.Look, result: BenchmarkResult
) -> Note:
    """Note when a run stopped, and what that saved."""
    rollouts = look.rollouts[look.at]
    most = look.rollouts[-1]
    looks = len(look.rollouts)
    if looks == 1:
        return AllAtOnce(forgets=given.benchmark.spec.forgets)
    if rollouts == most:
        return StoppedAtLastLook(looks)
    tasks = sum(agent.tasks for agent in result.agents)
    return StoppedEarly(
        look=look.at + 1,
        looks=looks,
        rollouts=rollouts,
        most=most,
        tasks=tasks,
    )


def in_turns(inputs: Iterable[tuple[EvaluationInput, Scope]], budget: Budget) -> None:
    """Take the looks of several benchmarks in turns, as far as their budget goes."""
    # Their answers are in the journal, from where each benchmark takes them when it is
    # evaluated.
    turns = [(looks_at(given), scope) for given, scope in inputs]
    while turns:
        going = []
        for turn, scope in turns:
            with suppress(Exception), scope:  # raised again where it is evaluated
                if not budget.used_up() and next(turn, None) is not None:
                    going.append((turn, scope))
        turns = going


# -- what more rollouts would change ---------------------------------------------------------


class _State(Enum):
    """What more rollouts can make of a check."""

    OPEN = "open"
    PASSES = "passes"  # for good
    FAILS = "fails"  # for good


# more rollouts may resolve what these stand for
_UNSETTLED = (BlindGate, LowPower, SharedLevel, UnequalSums, CannotFail)
# what more rollouts may pass
_RECOVERABLE = (RuleBound, MostBound, SingleTasksBound, SlicesBound)
# what more rollouts may fail: fewer tasks pass all, and a number without a test changes
_LOSABLE = (RuleBound, AllBound)


def _is_settled(checks: Sequence[Check]) -> bool:
    """Whether more rollouts would change nothing: one gate fails, or all are sure."""
    states = [_state_of(check) for check in checks]
    if _State.FAILS in states:
        return True
    is_gated = any(check.gate in (Gate.BASELINE, Gate.THRESHOLD) for check in checks)
    return is_gated and _State.OPEN not in states


def _state_of(check: Check) -> _State:
    if check.look is not None:
        return {"fail": _State.FAILS, "pass": _State.PASSES, None: _State.OPEN}[
            check.look.settled
        ]
    if check.gate is Gate.THRESHOLD:
        return _State.OPEN
    if any(isinstance(reason, _UNSETTLED) for reason in check.reasons):
        return _State.OPEN
    if check.verdict is Verdict.INCONCLUSIVE:
        return _State.FAILS
    if check.verdict is Verdict.FAIL:
        may_recover = isinstance(check.bound, _RECOVERABLE)
        return _State.OPEN if may_recover else _State.FAILS
    may_fail = isinstance(check.bound, _LOSABLE)
    return _State.OPEN if may_fail else _State.PASSES
