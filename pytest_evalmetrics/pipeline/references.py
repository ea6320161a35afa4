"""The run, or the runs, that another one is compared with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial, reduce
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from pytest_evalmetrics import baselines
from pytest_evalmetrics.errors import BaselineError
from pytest_evalmetrics.model.baseline import Provenance
from pytest_evalmetrics.model.rollout_table import RolloutTable, pool
from pytest_evalmetrics.model.run_notes import RunsNotCompared
from pytest_evalmetrics.model.verdicts import Acceptance
from pytest_evalmetrics.pipeline.gate_settings import settings_of
from pytest_evalmetrics.pipeline.recorded_columns import rollouts_of

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_evalmetrics import metrics
    from pytest_evalmetrics.history import Anchors
    from pytest_evalmetrics.model.baseline import BaselineDocument, BehaviourDocument
    from pytest_evalmetrics.model.history import HistoryRun
    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.scoring.door import Engine
    from pytest_evalmetrics.spec import Benchmark

Snapshot = Callable[[], "tuple[str, str] | None"]  # the baseline's text and its file


class Reference(msgspec.Struct, frozen=True, dict=True, kw_only=True):
    """The run, or the runs, that another one is compared with."""

    acceptance: Acceptance = Acceptance.SNAPSHOT
    # by agent, the newest last; empty if there are numbers of earlier runs alone
    runs: Mapping[str, Sequence[RolloutTable]] = {}
    # its key metrics by agent and name, among them those of hooks
    values: Mapping[str, Mapping[str, float]] = {}
    # by agent: what its newest run does, where it is recorded
    behaviour: Mapping[str, BehaviourDocument] = {}
    notes: tuple[Note, ...] = ()
    # recorded with it: what measured it, its thresholds and its metrics
    provenance: Provenance = Provenance()
    anchors: Anchors | None = None  # numbers of earlier runs, in place of tables
    origin: str = ""  # its place and date in words

    @cached_property
    def tables(self) -> dict[str, RolloutTable]:
        """The rollouts of all runs, by agent."""
        return {agent: pool(runs) for agent, runs in self.runs.items()}

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents that it has rollouts, or numbers, of."""
        if self.anchors is None:
            return tuple(self.runs)
        return self.anchors.agents

    def agent_for(self, name: str, *, alone: bool) -> str | None:
        """Find an agent; where both sides have one agent, it may have been renamed."""
        if name in self.agents:
            return name
        return self.agents[0] if alone and len(self.agents) == 1 else None


def reference_of(
    benchmark: Benchmark,
    plan: metrics.Plan,
    snapshot: Snapshot | None,
    *,
    label: str = "",
    history: Path | None = None,
    engine: Engine | None = None,
) -> Reference | None:
    """Find the reference of a benchmark; None if it is to be recorded first."""
    settings = settings_of(benchmark)
    if settings.rollouts is not None:
        return _of_rollouts(benchmark, plan, engine)
    if settings.report is not None:
        return _of_report(benchmark, settings.report)
    if settings.of_history:
        return _of_history(benchmark, label, history)
    return None if snapshot is None else _of_snapshot(benchmark, snapshot)


def _of_rollouts(
    benchmark: Benchmark, plan: metrics.Plan, engine: Engine | None
) -> Reference:
    """Read another run's files."""
    files = settings_of(benchmark).rollouts
    if files is None:
        raise ValueError("a reference of rollouts has files")
    each_run = [replace(files, path=paths) for paths in files.runs] or [files]
    tables = [rollouts_of(benchmark, plan, run, engine) for run in each_run]
    runs: dict[str, list[RolloutTable]] = {}
    for table in tables:
        for agent, part in table.by_agent():
            runs.setdefault(agent, []).append(part)
    paths = [source.path for table in tables for source in table.sources]
    return Reference(
        acceptance=Acceptance.OTHER_RUN, runs=runs, origin=", ".join(paths)
    )


def _of_report(benchmark: Benchmark, shown: str) -> Reference:
    """Read another run's report."""
    path = benchmark.file.parent / shown
    report = baselines.from_report(
        path, benchmark.spec.name, file=benchmark.file, shown=shown
    )
    return _recorded(report, shown, Acceptance.REPORT)


def _of_snapshot(benchmark: Benchmark, snapshot: Snapshot) -> Reference | None:
    """Read the committed baseline; None without one."""
    recorded = snapshot()
    if recorded is None:
        return None
    text, shown = recorded
    document = baselines.parse(text, file=shown, benchmark=benchmark.spec.name)
    reference = _recorded(document, shown, Acceptance.SNAPSHOT)
    if baselines.is_edited(document):
        lacks = "" if document.provenance.digest else ": its digest is gone"
        message = (
            "this baseline was edited by hand, or by a merge, since it was recorded"
            f"{lacks}"
        )
        hint = (
            f"restore it with `git checkout -- {shown}`, or record a new one with "
            "`pytest --evalmetrics-update`"
        )
        raise BaselineError(message, file=shown, hint=hint)
    return reference


def _recorded(
    document: BaselineDocument, file: str, acceptance: Acceptance
) -> Reference:
    runs = baselines.tables(document, file=file)
    behaviour = {
        agent: described.behaviour
        for agent, described in document.agents.items()
        if described.behaviour is not None
    }
    when = document.provenance.recorded
    why = document.provenance.reason
    date = f", recorded {when}" if when else ""
    reason = f": {why}" if why else ""
    return Reference(
        acceptance=acceptance,
        runs=runs,
        values={agent: document.values(agent) for agent in runs},
        behaviour=behaviour,
        provenance=document.provenance,
        origin=f"{file}{date}{reason}",
    )


class _EarlierRuns(msgspec.Struct, frozen=True):
    """A benchmark's runs in a history, the oldest first."""

    shown: str  # the history, as messages name it
    every: Sequence[HistoryRun]
    usable: Sequence[HistoryRun]  # those that count
    notes: tuple[Note, ...]  # on lines that are no runs

    @property
    def accepted_levels(self) -> tuple[str, ...] | None:
        """The levels that any of them accepted; None if none did."""
        levels = [level for run in self.every for level in run.accepted_levels]
        return tuple(levels) or None


def _of_history(
    benchmark: Benchmark, label: str, history: Path | None
) -> Reference | None:
    """Read earlier runs: their rollouts, or numbers to compare with."""
    settings = settings_of(benchmark)
    earlier = _earlier_runs(benchmark, label, history)
    if settings.history_runs is None:
        return _numbers_of(earlier, settings.against, settings.min_coverage)
    return _rollouts_of(earlier, settings.history_runs)


def _earlier_runs(
    benchmark: Benchmark, label: str, history: Path | None
) -> _EarlierRuns:
    """Read a benchmark's runs from the history that its file names, or else the run."""
    from pytest_evalmetrics import history as runs_of_history  # if there is one

    named = settings_of(benchmark).history
    if isinstance(named, str):
        file = benchmark.file.parent / named
        shown = named
    elif history is not None:
        file = history
        shown = history.name
    else:
        raise _no_history(benchmark)
    of_benchmarks, broken_lines = runs_of_history.read_history(file, shown)
    runs = of_benchmarks.get(label, ())
    return _EarlierRuns(
        shown=shown,
        every=runs,
        usable=runs_of_history.usable_runs(runs),
        notes=tuple(broken_lines),
    )


def _no_history(benchmark: Benchmark) -> BaselineError:
    """Refuse a baseline of a history where none is named."""
    settings = settings_of(benchmark)
    key = "history" if settings.history_runs else "against"
    return BaselineError(
        f"{key}: {getattr(settings, key)} needs a history, and none is named",
        line=benchmark.line_of("baseline", key),
        hint=(
            "name it: --evalmetrics-history FILE, evalmetrics_history or baseline: "
            "history:"
        ),
    )


def _numbers_of(earlier: _EarlierRuns, against: str, min_coverage: float) -> Reference:
    """Make a reference of the numbers of earlier runs."""
    from pytest_evalmetrics.history import Anchors

    rulers = [run.ruler for run in earlier.usable if run.ruler]
    return Reference(
        acceptance=Acceptance.HISTORY,
        anchors=Anchors(against, earlier.every, earlier.shown, min_coverage),
        notes=earlier.notes,
        provenance=Provenance(
            ruler=rulers[-1] if rulers else None,
            accepted_levels=earlier.accepted_levels,
        ),
    )


def _rollouts_of(earlier: _EarlierRuns, most: int) -> Reference | None:
    """Make a reference of the rollouts of the last runs; None if the history keeps none."""
    texts = [
        bytes(run.baseline)
        for run in earlier.usable
        if run.baseline is not msgspec.UNSET
    ]
    texts = texts[-most:]
    if not texts:
        return None
    documents = [baselines.parse(text.decode(), file=earlier.shown) for text in texts]
    merged, why_others_differ = _merged(documents, keep=most)
    notes = earlier.notes
    if why_others_differ:
        not_compared = RunsNotCompared(
            len(why_others_differ), len(documents), words=why_others_differ[-1]
        )
        notes = (*notes, not_compared)
    count = len(documents) - len(why_others_differ)
    last = "the last run" if count == 1 else f"the last {count} runs"
    reference = _recorded(merged, earlier.shown, Acceptance.HISTORY)
    provenance = reference.provenance
    if earlier.accepted_levels is not None:
        provenance = structs.replace(
            provenance, accepted_levels=earlier.accepted_levels
        )
    return structs.replace(
        reference,
        notes=notes,
        provenance=provenance,
        origin=f"{earlier.shown}, {last}",
    )


def _merged(
    documents: Sequence[BaselineDocument], *, keep: int
) -> tuple[BaselineDocument, list[str]]:
    """Merge runs into one baseline; return it, and why others don't fit the newest."""
    newest = documents[-1]
    alike = []
    why_others_differ = []
    for document in documents:
        difference = baselines.why_not_added(document, newest)
        if difference:
            why_others_differ.append(difference)
        else:
            alike.append(document)
    return reduce(partial(baselines.add_run, keep=keep), alike), why_others_differ
