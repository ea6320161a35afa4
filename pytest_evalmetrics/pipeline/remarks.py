"""What is told of an evaluation beside its numbers: the words of its notes and checks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_evalmetrics.reports import failed_row_cause
from pytest_evalmetrics.results import Check, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from pytest_evalmetrics.errors import EvalMetricsError
    from pytest_evalmetrics.pipeline.judging import Reference
    from pytest_evalmetrics.results import ScorerFailures
    from pytest_evalmetrics.spec import Benchmark

__all__ = ["better", "changed_gates", "no_baseline", "not_evaluated", "nothing_gated", "with_cause"]


def nothing_gated(benchmark: Benchmark) -> str:
    """Say that no number of a benchmark can fail."""
    metric = benchmark.spec.metrics[0]
    if benchmark.in_python:
        return (
            "nothing is gated: give thresholds= or baseline=, such as "
            f'thresholds={{"{metric}": ">= 0.9"}}'
        )
    return (
        f"nothing is gated: add `thresholds:` or `baseline:` below line {benchmark.line_of()}, "
        f'such as `thresholds: {{{metric}: ">= 0.9"}}`'
    )


def better(check: Check, benchmark: Benchmark) -> str:
    """Say that a metric got better, and how to keep that."""
    found, spec = check.evidence, benchmark.spec.baseline
    of = f"{check.agent}: " if check.agent else ""
    kept = spec is not None and spec.committed
    return (
        f"better than the baseline: {of}{check.name} went from {found['baseline']:.4g} to "
        f"{found['current']:.4g}" + ("; record it with `pytest --snapshot-update`" if kept else "")
    )


def no_baseline(benchmark: Benchmark) -> Check:
    """Make the check of a benchmark that has nothing yet to be compared with."""
    return Check(
        "baseline",
        "baseline",
        Verdict.INCONCLUSIVE,
        reason="there is no baseline yet to compare with",
        hint="record one with `pytest --snapshot-update` and commit it",
        line=benchmark.line_of("baseline"),
    )


def not_evaluated(error: EvalMetricsError, benchmark: Benchmark) -> Check:
    """Make the check of what could not be read, or reduced."""
    where = error.where if error.file else ""
    return Check(
        "data",
        "evaluation",
        Verdict.INCONCLUSIVE,
        reason=f"{where}: {error.message}" if where else error.message,
        hint=error.hint or "",
        line=None if error.file else error.line or benchmark.line_of(),
    )


def changed_gates(
    now: Mapping[str, Any], before: Mapping[str, Any], reference: Reference
) -> Iterator[str]:
    """Tell which thresholds and gated metrics are not those that the baseline was recorded with."""
    if not before:
        return
    old, new = before.get("thresholds", {}), now["thresholds"]
    for name in dict.fromkeys((*old, *new)):
        if old.get(name) != new.get(name):
            yield (
                f"threshold {name} was {old.get(name, 'none')}, and is {new.get(name, 'none')} now"
            )
    for name in before.get("metrics", ()):
        if name not in now["metrics"]:
            values = [of[name] for of in reference.values.values() if name in of]
            was = f" (it was {', '.join(f'{value:.4g}' for value in values)})" if values else ""
            yield f"metric {name} is in {reference.where}, and is no longer gated{was}"


def with_cause(check: Check, failed: Sequence[ScorerFailures], reward: str) -> Check:
    """Let a check of what is missing begin with why it is."""
    what, _, score = check.name.partition("/")
    cause = failed_row_cause(failed, score or reward)
    if what != "missing" or not check.verdict.fails or not cause:
        return check
    return replace(check, reason=f"{cause}; {check.reason}")
