"""Whether metrics drift over the history, this run included."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

import msgspec

from pytest_evalmetrics.errors import BaselineError, EvalMetricsError
from pytest_evalmetrics.model.bounds import RuleBound, ThresholdBound
from pytest_evalmetrics.model.history import LevelShift, Ratchet, RunMark
from pytest_evalmetrics.model.reasons import DriftedMetric, Failed, Reason
from pytest_evalmetrics.model.results import Check
from pytest_evalmetrics.model.verdicts import Gate, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pytest_evalmetrics.model.history import HistoryPoint, HistoryRun, MetricDrift
    from pytest_evalmetrics.model.results import BenchmarkResult
    from pytest_evalmetrics.spec import Benchmark


_MOST = 200  # the last runs


def drift_checks(
    benchmark: Benchmark, result: BenchmarkResult, history: Path | None
) -> Iterator[Check]:
    """Fail where a metric drifts over the history, this run included.

    A shift that runs which resemble each other could make warns.
    """
    from pytest_evalmetrics.history import run_of  # rare
    from pytest_evalmetrics.run_origin import origin_of  # rare

    line = benchmark.line_of("baseline", "drift")
    try:
        earlier = _earlier_runs(result.id, history)
    except EvalMetricsError as error:
        reason = Failed(error.message, error.hint or "")
        yield _check(Verdict.INCONCLUSIVE, reason, line)
        return
    run = run_of(result, origin_of(os.environ, benchmark.file.parent), starts=False)
    if not run.usable:
        return
    usable = [other for other in (*earlier, run) if other.usable]
    for drift in drifts_of(result, usable):
        is_sure = not isinstance(drift, LevelShift) or drift.is_sure
        verdict = Verdict.FAIL if is_sure else Verdict.WARN
        yield _check(verdict, DriftedMetric(drift), line)


def _earlier_runs(benchmark: str, history: Path | None) -> Sequence[HistoryRun]:
    from pytest_evalmetrics.history import read_history  # rare

    if history is None:
        hint = "name it: --evalmetrics-history FILE, or the setting evalmetrics_history"
        raise BaselineError("drift: fail needs a history, and none is named", hint=hint)
    runs, _ = read_history(history, history.name)
    return runs.get(benchmark, ())


def _check(verdict: Verdict, reason: Reason, line: int) -> Check:
    return Check(
        gate=Gate.DRIFT, name="drift", verdict=verdict, reasons=(reason,), line=line
    )


# -- the metrics of a benchmark --------------------------------------------------------------


def drifts_of(
    result: BenchmarkResult, runs: Sequence[HistoryRun]
) -> Iterator[MetricDrift]:
    """Find the metrics that drift over usable runs; of gated ones only for the worse."""
    if not runs:
        return
    several = len(result.agents) > 1
    metrics = sum(len(points) for points in runs[-1].agents.values())
    for agent, points in runs[-1].agents.items():
        for metric, now in points.items():
            course = _Course(
                benchmark=result.name,
                agent=agent if several else "",
                metric=metric,
                sign=_sign(result, agent, metric),
                points=tuple(_series(runs, agent, metric, now.tasks)),
                metrics=metrics,
            )
            yield from filter(None, (_shifted(course), _ratchet(course)))


class _RunPoint(msgspec.Struct, frozen=True):
    """A metric in one run."""

    run: HistoryRun
    point: HistoryPoint
    counts: bool  # whether it is of the last accepted change, or since

    @property
    def mark(self) -> RunMark:
        """The run as people find it."""
        return RunMark(self.run.time, self.run.commit)


class _Course(msgspec.Struct, frozen=True, kw_only=True):
    """A metric over the runs with as many tasks as the last one."""

    benchmark: str
    agent: str  # empty for the only one
    metric: str
    sign: float  # 1 if higher values are better, -1 if lower ones are, 0 if unknown
    points: tuple[_RunPoint, ...]  # the oldest first
    metrics: int  # of the benchmark, among which a shift by chance may be


def _series(
    runs: Sequence[HistoryRun], agent: str, metric: str, tasks: int
) -> Iterator[_RunPoint]:
    starts = [at for at, run in enumerate(runs) if run.starts]
    since = max(starts, default=0)
    for at, run in enumerate(runs):
        point = run.agents.get(agent, {}).get(metric)
        if point is not None and point.tasks == tasks:
            yield _RunPoint(run, point, at >= since)


def _sign(result: BenchmarkResult, agent: str, metric: str) -> float:
    """Return 1 if higher values are better, -1 if lower ones are, and 0 if unknown."""
    for check in result.checks:
        if check.name != metric or check.agent not in ("", agent):
            continue
        if isinstance(check.bound, RuleBound):
            return check.bound.settings.sign
        if isinstance(check.bound, ThresholdBound):
            return 1.0 if check.bound.least is not None else -1.0
    return 0.0


def _shifted(course: _Course) -> LevelShift | None:
    points = [each for each in course.points if each.counts][-_MOST:]
    values = [each.point.value for each in points]
    from pytest_evalmetrics.stats.drift import last_shift  # of a history

    shift = last_shift(values, course.metrics)
    if shift is None:
        return None
    earlier = values[shift.start : shift.at]
    later = values[shift.at :]
    before = math.fsum(earlier) / len(earlier)
    after = math.fsum(later) / len(later)
    if course.sign * (after - before) > 0:
        return None
    return LevelShift(
        benchmark=course.benchmark,
        agent=course.agent,
        metric=course.metric,
        before=before,
        after=after,
        runs_before=len(earlier),
        runs_after=len(later),
        first=points[shift.first - 1].mark,
        last=points[shift.last].mark,
        is_sure=shift.is_sure,
    )


def _ratchet(course: _Course) -> Ratchet | None:
    """Compare with the first baseline, where others have been accepted since, one by one."""
    accepted = [each for each in course.points if each.run.starts]
    if len(accepted) <= 2 or not course.sign:  # one step is what its gate tests
        return None
    first = accepted[0]
    before = first.point
    now = course.points[-1].point
    noise = _noise(before, now, course.sign)
    if noise is None or course.sign * (before.value - now.value) <= noise:
        return None
    return Ratchet(
        benchmark=course.benchmark,
        agent=course.agent,
        metric=course.metric,
        before=before.value,
        after=now.value,
        first=first.mark,
        accepted=len(accepted) - 1,
        reasons=tuple(each.run.reason for each in accepted[1:] if each.run.reason),
    )


def _noise(before: HistoryPoint, now: HistoryPoint, sign: float) -> float | None:
    """Return how far two points may be apart by their intervals; None without any."""
    if before.low is None or before.high is None:
        return None
    if now.low is None or now.high is None:
        return None
    if sign > 0:
        return math.hypot(before.value - before.low, now.high - now.value)
    return math.hypot(before.value - before.high, now.low - now.value)
