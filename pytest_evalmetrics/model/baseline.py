"""A recorded run that later ones are compared with: one benchmark's, as its file keeps it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

import msgspec

SCHEMA_VERSION: Final = 1

# a score or a label of one rollout; None where it is missing
Cell = float | str | None
# one column of one task: a cell per rollout, or of several runs one tuple of cells per run
Cells = tuple[float | str | tuple[Cell, ...] | None, ...]
# task -> column -> cells
Tasks = Mapping[str, Mapping[str, Cells]]


class MetricDocument(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A key metric, in its own unit; None where a number is undefined."""

    # of several runs the mean of those that have a value
    value: float | None
    tasks: int | None = None
    rollouts: int | None = None
    # the lower and the upper end, of one run alone
    interval: tuple[float | None, float | None] | None = None
    # the value of each run, the newest last
    runs: tuple[float | None, ...] | None = None


class BehaviourDocument(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an agent's rollouts do, of the newest run."""

    # the mean of each number over all rollouts, and the share that calls each tool
    summary: Mapping[str, float]
    # a call's name in `tasks` -> the tool and the shape of its arguments
    shapes: Mapping[str, str]
    # the names of a row's cells
    columns: tuple[str, ...]
    # whether its answers are texts, and not sketches
    texts: bool = False
    # numbers that are 0 in all rollouts, and have no cell
    zeros: tuple[str, ...] = ()
    # task -> a row of cells for each rollout
    tasks: Mapping[str, tuple[tuple[Cell, ...], ...]]
    # the same of the runs before, the newest last
    earlier: tuple[BehaviourDocument, ...] = ()


class AgentDocument(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One agent's runs: its key metrics, and each task's scores and labels."""

    key_metrics: Mapping[str, MetricDocument]
    tasks: Tasks
    # `positions` where the ids of tasks are numbers of rows
    ids: Literal["names", "positions"] | None = None
    # a hash of each task's content, where the files hold some
    content: Mapping[str, str] | None = None
    # what its rollouts do, where the benchmark asks for it
    behaviour: BehaviourDocument | None = None


class Provenance(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a baseline came from, and what measured it."""

    # the time in UTC
    recorded: str | None = None
    # why the change was accepted
    reason: str | None = None
    # counts over all agents
    tasks: int | None = None
    rollouts: int | None = None
    files: Sequence[Mapping[str, object]] | None = None
    gates: Mapping[str, object] | None = None
    # the count and the digest of the rows that are kept beside it
    rows: Mapping[str, object] | None = None
    under_test: Mapping[str, object] | None = None
    # the judge's scores of rows with people's labels
    anchors: Mapping[str, object] | None = None
    ruler: Mapping[str, Mapping[str, object]] | None = None
    # changes that a file of the repository accepts, and that were honoured
    accepted_levels: Sequence[str] | None = None
    # `recorded` and `files` of each of several runs
    runs: Sequence[Mapping[str, object]] | None = None
    digest: str | None = None


class BaselineDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A whole baseline: one benchmark's agents by name."""

    schema_version: Literal[1] = SCHEMA_VERSION
    benchmark: str
    agents: Mapping[str, AgentDocument]
    provenance: Provenance

    def values(self, agent: str) -> dict[str, float]:
        """Return an agent's recorded key metrics that are defined, by name."""
        described = self.agents.get(agent)
        if described is None:
            return {}
        return {
            name: metric.value
            for name, metric in described.key_metrics.items()
            if metric.value is not None
        }
