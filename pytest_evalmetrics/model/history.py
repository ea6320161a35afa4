"""The runs of a history, and what a metric's course over them shows."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class HistoryPoint(msgspec.Struct, frozen=True, omit_defaults=True):
    """A key metric in one run, in the metric's unit, with its interval if it has one."""

    value: float
    tasks: int
    rollouts: int
    low: float | None = None
    high: float | None = None


class HistoryRun(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One benchmark in one run: a line of the history's file."""

    schema_version: int  # of this form
    benchmark: str  # the pytest item
    time: str  # when it ended, in UTC
    # of the judged commit, and the CI job's page; None if unknown
    commit: str | None
    branch: str | None
    url: str | None
    verdict: str  # of the run
    # whether a later run may be compared with it: every gate held, over all rows
    usable: bool
    # a change was accepted with `--evalmetrics-update`: older runs no longer count
    starts: bool
    agents: Mapping[
        str, Mapping[str, HistoryPoint]
    ]  # by agent and name: the key metrics
    reason: str = ""  # why the change was accepted
    ruler: Mapping[str, Mapping[str, object]] = {}
    drift: tuple[str, ...] = ()  # its metrics that drift, for people
    # changes that a file of the repository accepts, and that were honoured
    accepted_levels: tuple[str, ...] = ()
    # the run as a baseline, with the numbers of each task, where the benchmark asks
    # for it: JSON
    baseline: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class RunMark(msgspec.Struct, frozen=True):
    """A run as people find it again."""

    time: str
    commit: str | None


class LevelShift(msgspec.Struct, frozen=True, kw_only=True, tag="level_shift"):
    """A metric that has another level since some run."""

    benchmark: str
    agent: str  # empty for the only one
    metric: str
    before: float  # the mean of the runs before
    after: float  # the mean since
    runs_before: int
    runs_after: int
    # it began between these
    first: RunMark
    last: RunMark
    # whether runs that resemble their predecessors could not make it, too
    is_sure: bool = True


class Ratchet(msgspec.Struct, frozen=True, kw_only=True, tag="ratchet"):
    """A metric that got worse since its first baseline, by accepted changes together."""

    benchmark: str
    agent: str  # empty for the only one
    metric: str
    before: float  # in the first baseline
    after: float  # now
    first: RunMark  # that of the first baseline
    accepted: int  # changes since
    reasons: tuple[str, ...]  # that were given for them


MetricDrift = LevelShift | Ratchet
