"""The history of runs: a line per benchmark and run, and the numbers a run is compared with."""

from __future__ import annotations

import os
import time
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from pytest_evalmetrics.errors import ArtifactError, BaselineError
from pytest_evalmetrics.file_locks import lock_byte
from pytest_evalmetrics.layout import compact
from pytest_evalmetrics.model.history import HistoryPoint, HistoryRun
from pytest_evalmetrics.model.run_notes import (
    BrokenHistoryLine,
    FurtherBrokenLines,
    OtherHistorySchema,
)
from pytest_evalmetrics.model.tiers import Tier
from pytest_evalmetrics.model.verdicts import Gate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.model.results import AgentResult, BenchmarkResult
    from pytest_evalmetrics.run_origin import RunOrigin

SCHEMA_VERSION = 1
_NAMED_LINES = 3  # broken ones that notes name
_AGAIN_S = 0.01  # between two tries to lock the file


def run_of(
    result: BenchmarkResult,
    origin: RunOrigin,
    *,
    starts: bool,
    reason: str = "",
    baseline: Mapping[str, object] | None = None,
) -> HistoryRun:
    """Make the line of one benchmark; `baseline` is the run as one, where asked to."""
    usable = _holds(result) and not result.xfail and not result.partial
    starts = starts and usable
    reason_of_start = ""
    if starts:
        reason_of_start = reason
    kept: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    if baseline is not None:
        kept = msgspec.Raw(msgspec.json.encode(baseline))
    return HistoryRun(
        schema_version=SCHEMA_VERSION,
        benchmark=result.id,
        time=origin.time,
        commit=origin.commit,
        branch=origin.branch,
        url=origin.url,
        verdict=str(result.verdict),
        usable=usable,
        starts=starts,
        agents={agent.agent: _points(result, agent) for agent in result.agents},
        reason=reason_of_start,
        ruler=result.ruler,
        accepted_levels=result.accepted_levels,
        baseline=kept,
    )


def _holds(result: BenchmarkResult) -> bool:
    """Whether no gate fails; a run that fails for its drift alone is one of those that show it."""
    failing = {
        check.gate
        for check in result.checks
        if check.verdict.fails or check.tier is Tier.ADVISORY
    }
    return failing <= {Gate.DRIFT}


def failed_attempt(run: HistoryRun, earlier: Sequence[HistoryRun]) -> HistoryRun | None:
    """Find an earlier run of the same commit and baseline that failed, of other rollouts.

    None for a run that fails itself, and outside of CI, where files may have changed
    since the commit.
    """
    is_of_ci = run.commit is not None and run.url is not None
    if not is_of_ci or not run.usable or run.starts:
        return None
    for other in reversed(earlier):
        # what was accepted since then is another baseline
        if other.starts:
            return None
        is_same = other.commit == run.commit
        if is_same and not other.usable and other.agents != run.agents:
            return other
    return None


def usable_runs(runs: Iterable[HistoryRun]) -> list[HistoryRun]:
    """Choose the runs that count: passed, complete, and none before the last accepted change."""
    usable: list[HistoryRun] = []
    for run in runs:
        if run.usable:
            usable = [] if run.starts else usable
            usable.append(run)
    return usable


def _points(result: BenchmarkResult, agent: AgentResult) -> dict[str, HistoryPoint]:
    """Return the key metrics, and those that a baseline gates."""
    gated = [check.name for check in result.checks if check.gate is Gate.BASELINE]
    points = {}
    for name in dict.fromkeys((*agent.key_metrics, *gated)):
        estimate = agent.estimates.get(name)
        if estimate is not None:
            point = HistoryPoint(
                value=estimate.value,
                tasks=estimate.tasks,
                rollouts=estimate.rollouts,
            )
            interval = estimate.interval
            if interval is not None:
                point = structs.replace(point, low=interval.low, high=interval.high)
            points[name] = point
    return points


def read_history(
    path: Path, shown: str
) -> tuple[Mapping[str, Sequence[HistoryRun]], list[Note]]:
    """Read the runs of each benchmark, the oldest first, and notes on lines that are none."""
    try:
        stat = path.stat()
        runs, notes = _read(os.fspath(path), shown, stat.st_mtime_ns, stat.st_size)
        further = len(notes) - _NAMED_LINES
        if further > 0:
            return runs, [*notes[:_NAMED_LINES], FurtherBrokenLines(further)]
        return runs, list(notes)
    except FileNotFoundError:
        return {}, []
    except OSError as error:
        message = f"this history can't be read: {error.strerror or error}"
        hint = "name a file that --evalmetrics-history writes"
        raise BaselineError(message, file=shown, hint=hint) from error


@lru_cache(maxsize=2)  # the benchmarks of a run mostly share one
def _read(
    path: str, shown: str, _changed: int, _size: int
) -> tuple[dict[str, list[HistoryRun]], list[Note]]:
    decoder = msgspec.json.Decoder(HistoryRun)
    runs: dict[str, list[HistoryRun]] = {}
    notes: list[Note] = []
    for number, line in enumerate(Path(path).read_bytes().split(b"\n"), 1):
        if not line.strip():
            continue
        place = f"{shown}:{number}"
        try:
            run = decoder.decode(line)
        except (msgspec.DecodeError, RecursionError) as error:
            notes.append(BrokenHistoryLine(place, str(error)))
            continue
        if run.schema_version == SCHEMA_VERSION:
            runs.setdefault(run.benchmark, []).append(run)
        else:
            notes.append(OtherHistorySchema(place, run.schema_version, SCHEMA_VERSION))
    return runs, notes


def append(path: Path, runs: Sequence[HistoryRun], shown: str) -> None:
    """Add runs to a history, one line each, under a lock; an unfinished line is not continued."""
    data = "".join(compact(run) + "\n" for run in runs).encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab+", buffering=0) as file:
            while not lock_byte(file.fileno(), 0):  # another process appends
                time.sleep(_AGAIN_S)
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 1))
            if file.read(1) not in (b"", b"\n"):
                data = b"\n" + data
            try:
                while data:
                    data = data[os.write(file.fileno(), data) :]
            except OSError:  # the disk is full
                file.truncate(size)
                raise
    except OSError as error:
        message = f"the history can't be written: {error.strerror or error}"
        hint = "choose another file with --evalmetrics-history, or free some room"
        raise ArtifactError(message, file=shown, hint=hint) from error


_MEDIAN = "median-of-last-"


class Anchor(msgspec.Struct, frozen=True):
    """The number to compare a metric with."""

    value: float | None  # None if no earlier run has one
    origin: str  # ``the best of 7 runs, of 2026-05-04 (1a2b3c4)``, or the reason why there is none
    runs: int = 0  # runs of the history behind it


class Anchors(msgspec.Struct, frozen=True):
    """The earlier runs of one benchmark."""

    against: str  # ``best`` or ``median-of-last-5``
    runs: Sequence[HistoryRun]  # its runs, the oldest first
    file: str  # the history as messages name it
    # the least ratio of the numbers of tasks: a value over half of the tasks is not comparable
    min_coverage: float

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents of the last run."""
        usable = usable_runs(self.runs)
        return tuple(usable[-1].agents) if usable else ()

    def anchor(
        self, agent: str, metric: str, tasks: int, *, higher_is_better: bool
    ) -> Anchor:
        """Find the number for one metric."""
        usable = usable_runs(self.runs)
        points = _points_over(usable, agent, metric)
        if not points:
            lacking = "that counts"
            if usable:
                lacking = f"that counts and has {metric}"
            return Anchor(
                None, f"{self.file} holds no run of this benchmark {lacking} yet"
            )
        alike = [each for each in points if self._is_alike(each.point.tasks, tasks)]
        if not alike:
            counts = f"{points[-1].point.tasks}, and now {tasks}"
            reason = (
                f"the runs in {self.file} rest on another number of tasks: {counts}"
            )
            return Anchor(None, reason)
        if self.against == "best":
            return _best(alike, higher_is_better=higher_is_better)
        return _median(alike[-int(self.against.removeprefix(_MEDIAN)) :])

    def _is_alike(self, then: int, now: int) -> bool:
        return min(then, now) >= self.min_coverage * max(then, now)


class _RunPoint(msgspec.Struct, frozen=True):
    """A metric in one run."""

    run: HistoryRun
    point: HistoryPoint


def _points_over(
    runs: Iterable[HistoryRun], agent: str, metric: str
) -> list[_RunPoint]:
    points = []
    for run in runs:
        point = _point(run, agent, metric)
        if point is not None:
            points.append(_RunPoint(run, point))
    return points


def _best(points: Sequence[_RunPoint], *, higher_is_better: bool) -> Anchor:
    choose = max if higher_is_better else min
    best = choose(points, key=lambda each: each.point.value)
    words = (
        f"{_runs(points, f'the best of {len(points)} runs')}, of {best.run.time[:10]}"
    )
    if best.run.commit:
        words += f" ({best.run.commit[:7]})"
    return Anchor(best.point.value, words, len(points))


def _median(points: Sequence[_RunPoint]) -> Anchor:
    value = median(each.point.value for each in points)
    words = _runs(points, f"the median of the last {len(points)} runs")
    return Anchor(value, words, len(points))


def _runs(points: Sequence[_RunPoint], several: str) -> str:
    return "the only run" if len(points) == 1 else several


def _point(run: HistoryRun, agent: str, metric: str) -> HistoryPoint | None:
    if agent not in run.agents and len(run.agents) == 1:  # it may have been renamed
        agent = next(iter(run.agents))
    return run.agents.get(agent, {}).get(metric)
