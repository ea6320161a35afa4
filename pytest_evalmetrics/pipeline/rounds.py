"""Rounds over all tasks: a run stops at the look at which its gates are sure."""

from __future__ import annotations

from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec import structs

from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.gates.sequential import (
    Look,
    bounds_of,
    fractions_of,
    looks_between,
    stopping,
)
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.pipeline.attempts import budget_of
from pytest_evalmetrics.pipeline.regressions import rule_of
from pytest_evalmetrics.results import BenchmarkResult, Check, Power, Verdict
from pytest_evalmetrics.spec import Benchmark, BenchmarkSpec, Count
from pytest_evalmetrics.spec.metric_names import parse, rollouts_needed
from pytest_evalmetrics.spec.sources import Rounds
from pytest_evalmetrics.stats import normal_ppf

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_evalmetrics.pipeline.evaluation import Evaluated, Evaluation
    from pytest_evalmetrics.transport import Budget

_SEEN = 0.8
_PARTS = 4  # of the rollouts, of which the first look has one, unless a metric needs more


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
        if not any(rollouts_needed(first, name) for name in names):
            return replace(spec, num_samples=Rounds.at(most, least, most))
    return spec


def _at(spec: BenchmarkSpec, rounds: Rounds) -> BenchmarkSpec:
    counted = isinstance(spec.expect.rollouts, Count)
    expect = replace(spec.expect, rollouts=None) if counted else spec.expect
    return replace(spec, num_samples=rounds, expect=expect)


def expected_rollouts(benchmark: Benchmark, powers: Sequence[Power]) -> Iterator[str]:
    """Forecast at how many rollouts of each task a benchmark with rounds stops."""
    rounds = benchmark.spec.num_samples
    if benchmark.spec.baseline is None or not isinstance(rounds, Rounds):
        return
    looks = looks_between(rounds.least, rounds.most)
    for power in powers[:1]:
        alpha = rule_of(benchmark, benchmark.spec.gated[0], bounded=True).alpha
        baseline = power.rollouts if power.source.startswith("baseline") else rounds.most
        fractions = fractions_of(looks, max(baseline, 1))
        bounds = bounds_of(fractions, alpha)
        unchanged, seen = (
            sum(k * sum(ends) for k, ends in zip(looks, chances, strict=True))
            for chances in (
                stopping(fractions, bounds, drift)
                for drift in (0.0, normal_ppf(1 - alpha) + normal_ppf(_SEEN))
            )
        )
        yield (
            f"stops early, for one gate: after about {unchanged:.1f} of {rounds.most} rollouts of "
            f"each task if nothing changed, {seen:.1f} at a drop seen with 80 % power"
        )


def looks_at(evaluation: Evaluation) -> Iterator[tuple[int, tuple[int, ...], Evaluated]]:
    """Evaluate a benchmark at one look after another, until its gates are sure.

    Each look evaluates all rollouts up to it; the journal answers those of the looks before. So
    nothing but the rows and answers decides where a run stops.
    """
    benchmark, spec = evaluation.benchmark, evaluation.benchmark.spec
    asked = spec.num_samples
    assert isinstance(asked, Rounds)  # noqa: S101 - the caller's condition
    looks = looks_between(asked.least, asked.most)
    if _pays_again(evaluation):
        looks = looks[-1:]
    budget = evaluation.budget
    if budget is None and spec.budget is not None:
        budget = budget_of(spec.budget)
    for at, rollouts in enumerate(looks):
        one = _at(spec, Rounds.at(rollouts, asked.least, asked.most))
        look = Look(looks, at)
        evaluated = replace(
            evaluation, benchmark=replace(benchmark, spec=one), look=look, budget=budget
        ).run()
        yield at, looks, evaluated
        if _is_sure(evaluated.result):
            return


def _pays_again(evaluation: Evaluation) -> bool:
    runtime = evaluation.runtime
    return evaluation.benchmark.spec.runs and runtime is not None and runtime.asks_anew


def in_rounds(evaluation: Evaluation) -> Evaluated:
    """Evaluate a benchmark up to the look at which its gates are sure, and say which."""
    *_, (at, looks, evaluated) = looks_at(evaluation)
    rollouts, asked = looks[at], evaluation.benchmark.spec.num_samples
    assert isinstance(asked, Rounds)  # noqa: S101 - the caller's condition
    note = ""
    if _pays_again(evaluation):
        note = "all, because without the journal every round would pay again for those before"
    taken = f"look {at + 1} of {len(looks)}"
    tasks = sum(agent.tasks for agent in evaluated.result.agents)
    if rollouts < asked.most:
        note = f"stopped early, at {taken}: {many(rollouts * tasks, 'rollout')} in place of "
        note += f"{asked.most * tasks}, {100 * (1 - rollouts / asked.most):.3g} % saved"
    elif not note:
        note = f"stopped at the last look, {taken}: no gate was sure before"
    result = replace(evaluated.result, notes=(f"num_samples: {note}", *evaluated.result.notes))
    return structs.replace(evaluated, result=result)


def in_turns(
    evaluations: Iterable[tuple[Evaluation, AbstractContextManager[object]]], budget: Budget
) -> None:
    """Take the looks of several benchmarks in turns, as far as a budget of them all goes.

    So it is spent on those that are not sure yet, whatever their order in the run. The answers stay
    in the journal, from where each benchmark takes them when it is evaluated. Each evaluation comes
    with the scope of its names.
    """
    turns = [(looks_at(evaluation), scope) for evaluation, scope in evaluations]
    while turns:
        going = []
        for turn, scope in turns:
            with suppress(Exception), scope:  # raised again where it is evaluated
                if not budget.used_up() and next(turn, None) is not None:
                    going.append((turn, scope))
        turns = going


def _is_sure(result: BenchmarkResult) -> bool:
    """Check whether more rollouts would change nothing: a gate fails for good, or all are sure."""
    settled = [_settled(check) for check in result.checks]
    if "fail" in settled:
        return True
    gated = any(check.gate in ("baseline", "threshold") for check in result.checks)
    return gated and all(settled)


def _settled(check: Check) -> str:
    look = check.evidence.get("look")
    if look is not None:
        return look["settled"] or ""
    if check.gate == "threshold" or check.evidence.get("why") in ("blind", "require_mde", "run"):
        return ""
    if check.verdict in (Verdict.FAIL, Verdict.INCONCLUSIVE):
        lasts = check.name != "max_broken" and "rule" not in check.evidence
        return "fail" if lasts or check.verdict is Verdict.INCONCLUSIVE else ""
    # fewer rollouts pass all and none more easily; a number without a test may yet change
    changes = check.name == "must_pass" or "rule" in check.evidence
    return "" if changes else "pass"
