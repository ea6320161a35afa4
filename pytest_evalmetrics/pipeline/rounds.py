"""Runs that take rollouts in rounds, and stop as soon as their gates are sure."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from pytest_evalmetrics import stats
from pytest_evalmetrics.config.declarations import shortage_of
from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.gates import sequential
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.model.results import Check, Power, Verdict
from pytest_evalmetrics.pipeline import regressions
from pytest_evalmetrics.spec import Benchmark, BenchmarkSpec, Count
from pytest_evalmetrics.spec.metric_names import parse
from pytest_evalmetrics.spec.sources import Rounds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_evalmetrics.pipeline.evaluation import Evaluated, Evaluation
    from pytest_evalmetrics.registry import Scope
    from pytest_evalmetrics.transport import Budget

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


def expected_rollouts(benchmark: Benchmark, powers: Sequence[Power]) -> Iterator[str]:
    """Forecast at how many rollouts of each task a benchmark with rounds stops."""
    rounds = benchmark.spec.num_samples
    if benchmark.spec.baseline is None or not isinstance(rounds, Rounds):
        return
    looks = sequential.looks_between(rounds.least, rounds.most)
    for power in powers[:1]:
        alpha = regressions.rule_of(
            benchmark, benchmark.spec.gated[0], bounded=True
        ).alpha
        baseline = (
            power.rollouts if power.source.startswith("baseline") else rounds.most
        )
        bounds = sequential.bounds_of(
            sequential.fractions_of(looks, max(baseline, 1)), alpha
        )
        unchanged, seen = (
            np.dot(looks, np.sum(sequential.stopping(bounds, drift), axis=1))
            for drift in (0.0, stats.normal_ppf(1 - alpha) + stats.normal_ppf(_SEEN))
        )
        yield (
            f"stops early, for one gate: after about {unchanged:.1f} of {rounds.most} rollouts of "
            f"each task if nothing changed, {seen:.1f} at a drop seen with 80 % power"
        )


def looks_at(evaluation: Evaluation) -> Iterator[tuple[sequential.Look, Evaluated]]:
    """Evaluate a benchmark at one look after another, until its gates are sure."""
    # Each look evaluates all rollouts so far, through the journal, so that the stop depends on rows
    # and answers alone.
    benchmark, rounds = evaluation.benchmark, evaluation.benchmark.spec.num_samples
    assert isinstance(rounds, Rounds)  # noqa: S101 - the caller's condition
    looks = sequential.looks_between(rounds.least, rounds.most)
    if benchmark.spec.runs and (benchmark.spec.forgets or evaluation.runtime.asks_anew):
        looks = looks[-1:]
    for at, rollouts in enumerate(looks):
        spec, look = benchmark.spec, sequential.Look(looks, at)
        own_spec = _at(spec, Rounds.at(rollouts, rounds.least, rounds.most))
        own = structs.replace(benchmark, spec=own_spec)
        evaluated = replace(evaluation, benchmark=own, look=look).run()
        yield look, evaluated
        # more rollouts would change nothing: a gate fails for good, or all are sure
        checks = evaluated.result.checks
        settled, kinds = [*map(_settled, checks)], {check.gate for check in checks}
        if "fail" in settled or (kinds & {"baseline", "threshold"} and all(settled)):
            return


def in_rounds(evaluation: Evaluation) -> Evaluated:
    """Evaluate a benchmark round by round until its gates are sure."""
    *_, (look, evaluated) = looks_at(evaluation)
    rollouts, most, looks = (
        look.rollouts[look.at],
        look.rollouts[-1],
        len(look.rollouts),
    )
    tasks = sum(agent.tasks for agent in evaluated.result.agents)
    note = f"stopped at the last look, look {looks} of {looks}: no gate was sure before"
    if looks == 1:
        note = "all, because without the journal every round would pay again for those before"
        if evaluation.benchmark.spec.forgets:
            note += "; it keeps a target's answers only if the target has a version"
    elif rollouts < most:
        note = f"stopped early, at look {look.at + 1} of {looks}: "
        note += f"{many(rollouts * tasks, 'rollout')} in place of {most * tasks}, "
        note += f"{100 * (1 - rollouts / most):.3g} % saved"
    result = structs.replace(
        evaluated.result, notes=(f"num_samples: {note}", *evaluated.result.notes)
    )
    return structs.replace(evaluated, result=result)


def in_turns(evaluations: Iterable[tuple[Evaluation, Scope]], budget: Budget) -> None:
    """Take the looks of several benchmarks in turns, as far as a budget of them all goes."""
    # Their answers are in the journal, from where each benchmark takes them when it is evaluated.
    turns = [(looks_at(evaluation), scope) for evaluation, scope in evaluations]
    while turns:
        going = []
        for turn, scope in turns:
            with suppress(Exception), scope:  # raised again where it is evaluated
                if not budget.used_up() and next(turn, None) is not None:
                    going.append((turn, scope))
        turns = going


def _settled(check: Check) -> str:
    if (look := check.evidence.get("look")) is not None:
        return look["settled"] or ""
    by_rule = "rule" in check.evidence
    why = check.evidence.get(
        "why"
    )  # the kind of an INCONCLUSIVE, which more rollouts may resolve
    if check.gate == "threshold" or why in ("blind", "require_mde", "run", "unequal"):
        return ""
    if check.verdict is Verdict.INCONCLUSIVE:
        return "fail"
    if check.verdict is Verdict.FAIL:
        return "" if by_rule or check.name == "max_broken" else "fail"
    # fewer rollouts pass all and none more easily; a number without a test may yet change
    return "" if by_rule or check.name == "must_pass" else "pass"
