"""The history of runs: a line per benchmark and run, and the numbers a run is compared with."""

from __future__ import annotations

import os
import time
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

import msgspec

from pytest_evalmetrics.errors import ArtifactError, BaselineError
from pytest_evalmetrics.layout import capped, compact
from pytest_evalmetrics.model.results import Verdict
from pytest_evalmetrics.run_folder import lock_byte

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SCHEMA_VERSION = 1
_AGAIN_S = 0.01  # between two tries to lock the file


class Point(TypedDict):
    """A key metric in one run, with its interval if it has one."""

    value: float
    low: NotRequired[float]
    high: NotRequired[float]
    tasks: int
    rollouts: int


class Run(TypedDict):
    """One benchmark in one run."""

    schema_version: int  # of this form
    benchmark: str  # the pytest item
    time: str  # when it ended, in UTC
    # of the judged commit, and the CI job's page; None if unknown
    commit: str | None
    branch: str | None
    url: str | None
    verdict: str  # of the run
    usable: bool  # whether a later run may be compared with it: every gate held, over all rows
    starts: bool  # a change was accepted with ``--snapshot-update``: older runs no longer count
    agents: dict[str, dict[str, Point]]  # by agent and name: the key metrics
    reason: NotRequired[str]  # why the change was accepted
    ruler: NotRequired[dict[str, dict[str, Any]]]
    drift: NotRequired[
        list[str]
    ]  # its metrics that drift, each with the start of the drift
    # the run as a baseline, with the numbers of each task, where the benchmark asks for it: JSON
    baseline: NotRequired[msgspec.Raw]


def run_of(
    entry: Mapping[str, Any],
    origin: Mapping[str, Any],
    *,
    starts: bool,
    reason: str = "",
    baseline: Mapping[str, Any] | None = None,
) -> Run:
    """Make the line of one benchmark."""
    # a run that fails for its drift alone is one of those that show it
    failing = {
        check["gate"] for check in entry["checks"] if Verdict(check["verdict"]).fails
    }
    holds = not Verdict(entry["verdict"]).fails or failing == {"drift"}
    usable = holds and not entry["xfail"] and not entry["partial"]
    run: Run = {
        "schema_version": SCHEMA_VERSION,
        "benchmark": entry["id"],
        "time": origin["time"],
        "commit": origin["commit"],
        "branch": origin["branch"],
        "url": origin["url"],
        "verdict": entry["verdict"],
        "usable": usable,
        "starts": starts and usable,
        "agents": {
            agent["agent"]: dict(_points(entry, agent)) for agent in entry["agents"]
        },
        "ruler": entry["ruler"],
    }
    if reason and run["starts"]:
        run["reason"] = reason
    if baseline is not None:
        run["baseline"] = msgspec.Raw(msgspec.json.encode(baseline))
    return run


def usable_runs(runs: Sequence[Run]) -> list[Run]:
    """Choose the runs that count: passed, complete, and none before the last accepted change."""
    usable: list[Run] = []
    for run in runs:
        if run["usable"]:
            usable = [] if run["starts"] else usable
            usable.append(run)
    return usable


def _points(entry: Mapping[str, Any], agent: Mapping[str, Any]) -> Any:
    """Yield the key metrics, and those that a baseline gates."""
    gated = [check["name"] for check in entry["checks"] if check["gate"] == "baseline"]
    for name in dict.fromkeys((*agent["key_metrics"], *gated)):
        estimate = agent["estimates"].get(name)
        if estimate is not None:
            interval = estimate["interval"] or {}
            point = {key: estimate[key] for key in ("value", "tasks", "rollouts")}
            yield (
                name,
                point | {key: interval[key] for key in ("low", "high") if interval},
            )


def read_history(
    path: Path, shown: str
) -> tuple[Mapping[str, Sequence[Run]], list[str]]:
    """Read the runs of each benchmark, the oldest first, and notes on lines that are none."""
    try:
        stat = path.stat()
        runs, notes = _read(os.fspath(path), shown, stat.st_mtime_ns, stat.st_size)
        return runs, capped(notes, 3, "history: and {} more broken lines")
    except FileNotFoundError:
        return {}, []
    except OSError as error:
        message = f"this history can't be read: {error.strerror or error}"
        hint = "name a file that --evalmetrics-history writes"
        raise BaselineError(message, file=shown, hint=hint) from error


@lru_cache(maxsize=2)  # the benchmarks of a run mostly share one
def _read(
    path: str, shown: str, _changed: int, _size: int
) -> tuple[dict[str, Any], list[str]]:
    decoder = msgspec.json.Decoder(Run)
    runs: dict[str, list[Run]] = {}
    notes = []
    for number, line in enumerate(Path(path).read_bytes().split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            run = decoder.decode(line)
        except (msgspec.DecodeError, RecursionError) as error:
            problem = f"this is not a run: {error}"
        else:
            if (version := run["schema_version"]) == SCHEMA_VERSION:
                runs.setdefault(run["benchmark"], []).append(run)
                continue
            problem = f"this run has the schema version {version}, and {SCHEMA_VERSION} is known"
        notes.append(f"history: {shown}:{number}: {problem}; the line is left out")
    return runs, notes


def append(path: Path, runs: Sequence[Run], shown: str) -> None:
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
    runs: Sequence[Run]  # its runs, the oldest first
    file: str  # the history as messages name it
    # the least ratio of the numbers of tasks: a value over half of the tasks is not comparable
    min_coverage: float

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents of the last run."""
        usable = usable_runs(self.runs)
        return tuple(usable[-1]["agents"]) if usable else ()

    def anchor(
        self, agent: str, metric: str, tasks: int, *, higher_is_better: bool
    ) -> Anchor:
        """Find the number for one metric."""
        usable = usable_runs(self.runs)
        points = [
            (run, point) for run in usable if (point := _point(run, agent, metric))
        ]
        if not points:
            lacking = f"that counts and has {metric}" if usable else "that counts"
            return Anchor(
                None, f"{self.file} holds no run of this benchmark {lacking} yet"
            )
        alike = [
            (run, point["value"])
            for run, point in points
            if min(point["tasks"], tasks)
            >= self.min_coverage * max(point["tasks"], tasks)
        ]
        if not alike:
            counts = f"{points[-1][1]['tasks']}, and now {tasks}"
            reason = (
                f"the runs in {self.file} rest on another number of tasks: {counts}"
            )
            return Anchor(None, reason)
        if self.against == "best":
            choose = max if higher_is_better else min
            run, value = choose(alike, key=lambda pair: pair[1])
            label, day = f"the best of {len(alike)} runs", f", of {run['time'][:10]}"
            day += f" ({run['commit'][:7]})" if run["commit"] else ""
        else:
            alike = alike[-int(self.against.removeprefix(_MEDIAN)) :]
            value, day = median(value for _, value in alike), ""
            label = f"the median of the last {len(alike)} runs"
        label = "the only run" if len(alike) == 1 else label
        return Anchor(value, label + day, len(alike))


def _point(run: Run, agent: str, metric: str) -> Point | None:
    agents = run["agents"]
    if agent not in agents and len(agents) == 1:  # it may have been renamed
        agent = next(iter(agents))
    return agents.get(agent, {}).get(metric)
