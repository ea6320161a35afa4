"""A whole run as people read it: counts, lost results, headline metrics, trends."""

from __future__ import annotations

import math
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING

import msgspec

from pytest_evalmetrics.layout import listed, many
from pytest_evalmetrics.model.bounds import (
    MoveBound,
    OrderBound,
    SingleTasksBound,
    SlicesBound,
)
from pytest_evalmetrics.model.comparison import NoiseSource
from pytest_evalmetrics.model.reasons import SingleTasksUnseen
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.reports import triage
from pytest_evalmetrics.reports.check_wording import (
    ADVISORY,
    blindness_of,
    is_tested,
    is_unproven_drop,
    rule_of,
    unmet,
    word_of_result,
)
from pytest_evalmetrics.reports.sentences import blind_text, stale_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from pytest_evalmetrics.model.history import HistoryPoint
    from pytest_evalmetrics.model.results import BenchmarkResult, Check, RunReport

_WORDS = (
    Verdict.PASS,
    Verdict.WARN,
    ADVISORY,
    Verdict.INCONCLUSIVE,
    Verdict.FAIL,
)
# the order of benchmarks
_FAILING = 0
_WARNING = 1
_UNPROVEN = 2
_PASSING = 3
_EXPECTED_TO_FAIL = 4
_BLIND_NAMED = 5
_UNGATED = {Gate.DATA, Gate.EXPECT}  # these judge no metric


def verdict_counts(report: RunReport) -> str:
    """Count the benchmarks by verdict, and those without one."""
    results = report.benchmarks
    words = Counter(map(word_of_result, results))
    parts = [f"{words[word]} {word}" for word in _WORDS if word in words]
    ungated = sum(_gates_nothing(result) for result in results)
    if ungated:  # PASS is the first
        parts[0] += f" ({ungated} with nothing gated)"
    known = sum(result.xfail and result.verdict.fails for result in results)
    if known:
        parts[-1] += f" ({known} known, by xfail)"
    without_result = {
        "not evaluated": len(report.not_evaluated),
        "skipped": len(report.skipped),
        "deselected": len(report.deselected),
    }
    parts += [f"{count} {what}" for what, count in without_result.items() if count]
    return ", ".join(parts)


def _gates_nothing(result: BenchmarkResult) -> bool:
    gates = {check.gate for check in result.checks}
    ungated = result.recorded is None and gates <= _UNGATED
    return result.verdict is Verdict.PASS and ungated


def false_alarms(results: Sequence[BenchmarkResult]) -> str:
    """Say how often benchmarks fail by chance; empty if none is tested."""
    levels = []
    for result in results:
        own = list(_levels(result))
        if own:
            levels.append(max(own) + math.fsum(_levels_beside(result)))
    if not levels:
        return ""
    expected = math.fsum(levels)
    rate = f"1 in {1 / expected:.0f} runs"
    if expected >= 1:
        rate = f"{expected:.2g} a run"
    tested = many(len(levels), "benchmark", "is")
    return f"false alarms where nothing changed: at most {rate} ({tested} tested)"


def unknown_noise(results: Sequence[BenchmarkResult]) -> str:
    """Say that tests rest on one run of the baseline, once for all; empty if none does."""
    unknown = [result for result in results if _has_unknown_noise(result)]
    if not unknown:
        return ""
    text = "the noise between runs is unknown"
    if len(results) > 1:
        text += f" for {many(len(unknown), 'benchmark')}"
    return (
        f"{text} (one run in the baseline, no neighbours, "
        "no history): record more runs, or declare `run_noise:`"
    )


def unseen_tasks(results: Sequence[BenchmarkResult]) -> str:
    """Say from how many rollouts on single tasks are gated, once for all; empty if they are."""
    needed = []
    for result in results:
        own = [_rollouts_needed(check) for check in result.checks]
        if any(own):
            needed.append(max(own))
    if not needed:
        return ""
    text = "the break of a single task is never seen"
    if len(results) > 1:
        text += f" in {many(len(needed), 'benchmark')}"
    return f"{text}: {max(needed)} rollouts of each are needed on both sides"


def blind_gates(results: Iterable[BenchmarkResult]) -> Iterator[str]:
    """Name the gates that pass, and could not have failed for want of tasks, by reason."""
    blind: dict[str, list[str]] = {}
    for result in results:
        for check in result.checks:
            cause = blindness_of(check)
            passes = check.verdict is Verdict.PASS
            if passes and cause is not None and is_tested(check):
                gate = f"{result.name} {check.name}"
                blind.setdefault(blind_text(cause), []).append(gate)
    for reason, gates in blind.items():
        yield f"blind: {listed(gates, _BLIND_NAMED)}: {reason}"


def _has_unknown_noise(result: BenchmarkResult) -> bool:
    for check in result.checks:
        facts = check.comparison
        if facts is not None and facts.run_noise is NoiseSource.UNKNOWN:
            return True
    return False


def _levels(result: BenchmarkResult) -> Iterator[float]:
    """Yield the level of each tested metric."""
    for check in result.checks:
        rule = rule_of(check)
        has_p = check.comparison is not None and check.comparison.p is not None
        if rule is not None and has_p and is_tested(check):
            yield rule.alpha / rule.benchmarks


def _levels_beside(result: BenchmarkResult) -> Iterator[float]:
    """Yield the levels beside that of the metrics: of single tasks, slices and behaviour."""
    bounds: dict[type, float] = {}
    for check in result.checks:
        if isinstance(check.bound, SingleTasksBound | SlicesBound):
            if not _rollouts_needed(check):
                bounds[type(check.bound)] = check.bound.alpha
        elif isinstance(check.bound, MoveBound | OrderBound):
            # the limits of an agent share one level
            agents = max(len(result.agents), 1)
            bounds[MoveBound] = check.bound.alpha * agents
    yield from bounds.values()


def _rollouts_needed(check: Check) -> int:
    """Return from how many rollouts on a single task can fail; 0 where it can."""
    for reason in check.reasons:
        if isinstance(reason, SingleTasksUnseen) and not reason.sees_some:
            return reason.needed
    return 0


def by_evidence(results: Iterable[BenchmarkResult]) -> list[BenchmarkResult]:
    """Order benchmarks: failing ones by their evidence, warnings, unproven drops, the others."""
    return sorted(results, key=_turn)


def _turn(result: BenchmarkResult) -> tuple[float, ...]:
    if result.xfail:
        return (_EXPECTED_TO_FAIL,)
    if result.verdict is Verdict.PASS:
        if has_unproven_drop(result):
            return (_UNPROVEN,)
        return (_PASSING,)
    surest = min(map(triage.evidence, unmet(result.checks)))
    if result.verdict is Verdict.WARN:
        return (_WARNING, *surest)
    return (_FAILING, *surest)


def has_unproven_drop(result: BenchmarkResult) -> bool:
    """Whether a benchmark passes over a drop that would matter if it were real."""
    return any(map(is_unproven_drop, result.checks))


def drifts_of(report: RunReport) -> list[str]:
    """Say which metrics drift over the history, with their sizes and directions."""
    return list(chain.from_iterable(drifts_by_benchmark(report).values()))


def drifts_by_benchmark(report: RunReport) -> dict[str, tuple[str, ...]]:
    """Return by id what drifts in each benchmark that drifts."""
    last = {name: runs[-1].drift for name, runs in report.history.items() if runs}
    return {name: drift for name, drift in last.items() if drift}


def stale_baselines(results: Iterable[BenchmarkResult]) -> list[str]:
    """Say which baselines are too old, the oldest first."""
    stale = [
        (result.name, result.stale) for result in results if result.stale is not None
    ]
    stale.sort(key=lambda named: named[1].days, reverse=True)
    return [f"{name}: {stale_text(baseline)}" for name, baseline in stale]


def lost_ones(report: RunReport) -> list[tuple[str, str]]:
    """List the benchmarks and tests without a complete result, each with the reason."""
    ended = broken_off(report)
    lost = []
    for item in report.not_evaluated:
        reason = "was not evaluated"
        if item in ended:
            reason = "was not evaluated to its end"
        lost.append((item, reason))
    return lost


def broken_off(report: RunReport) -> set[str]:
    """Find the tests that ended by themselves after a check, which has a result."""
    tests = {result.id for result in report.benchmarks}
    # a check may have a name of its own
    tests |= {result.id.rpartition("::")[0] for result in report.benchmarks}
    return tests.intersection(report.not_evaluated)


# -- metrics over several runs ---------------------------------------------------------------


def gated_names(result: BenchmarkResult) -> set[str]:
    """Name what a benchmark gates, apart from its completeness."""
    return {check.name for check in result.checks if check.gate is not Gate.EXPECT}


def headline_metrics(
    gated: Collection[str], key_metrics: Mapping[str, float]
) -> dict[str, float]:
    """Choose key metrics: without means that nothing gates, if there are others."""
    chosen = {
        name: value
        for name, value in key_metrics.items()
        if name in gated or not name.startswith("mean/")
    }
    metrics = chosen or key_metrics
    first = {name: value for name, value in metrics.items() if name in gated}
    return {**first, **metrics}


class Trend(msgspec.Struct, frozen=True):
    """A metric that has values in several runs."""

    agent: str
    metric: str
    values: tuple[float, ...]  # the oldest first


def trends(
    gated: Collection[str],
    key_metrics: Mapping[str, Mapping[str, float]],
    runs: Sequence[Mapping[str, Mapping[str, HistoryPoint]]],
) -> Iterator[Trend]:
    """Yield the headline metrics, by agent, that have values in several runs.

    Each run has its points by agent and metric.
    """
    for agent, metrics in key_metrics.items():
        headline = headline_metrics(gated, metrics)
        for name in metrics:
            if name not in headline:
                continue
            points = [run.get(agent, {}).get(name) for run in runs]
            values = tuple(point.value for point in points if point is not None)
            if len(values) > 1:
                yield Trend(agent, name, values)


def trends_of(report: RunReport) -> Iterator[tuple[BenchmarkResult, Trend]]:
    """Yield each benchmark's trends."""
    for result in report.benchmarks:
        metrics = {agent.agent: agent.key_metrics for agent in result.agents}
        runs = [run.agents for run in report.history.get(result.id, ())]
        for trend in trends(gated_names(result), metrics, runs):
            yield result, trend
