"""The committed baseline of one item: read to compare with, written by an update.

It is written only from a complete evaluation, and never deleted here. Reading needs no
syrupy; its options ask for an update, and its assertion writes (see `snapshots`).
"""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from pytest_evalmetrics import settings
from pytest_evalmetrics.baselines import document, files
from pytest_evalmetrics.baselines.accepting import difference_from
from pytest_evalmetrics.baselines.declared import Declared
from pytest_evalmetrics.baselines.several_runs import add_run, why_not_added
from pytest_evalmetrics.baselines.unused import unused_in
from pytest_evalmetrics.errors import BaselineError
from pytest_evalmetrics.model.reasons import (
    NothingCanFail,
    NotRecorded,
    TaskListChanged,
)
from pytest_evalmetrics.model.results import (
    BenchmarkResult,
    Check,
    RecordedBaseline,
)
from pytest_evalmetrics.model.run_notes import NotRecordedXfail
from pytest_evalmetrics.model.verdicts import Acceptance, Gate, Verdict
from pytest_evalmetrics.whole_files import write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest

    from pytest_evalmetrics.model.baseline import BaselineDocument


class Store:
    """The baseline of one item: a benchmark's, or a test's that checks the benchmark `name`."""

    def __init__(self, item: pytest.Item, name: str = "") -> None:
        config = item.config
        self._item = item
        self._name = name or item.name
        self.path = files.path_of(item.path, self._name)
        self.shown = files.shown_below(self.path, config.rootpath)
        self.rows_path = files.rows_path_of(self.path)
        self.keeps_runs = 1
        self._conflict = Declared.of(config).conflict(item.path, self._name)
        self._is_asked_to_update = _asks_for_update(config, self.path)
        # whether this run writes the baseline, if its evaluation is complete
        self.updates = (
            self._is_asked_to_update
            and not self._conflict
            and not _is_known_to_fail(item)
        )

    def read(self) -> tuple[str, str] | None:
        """Return the baseline's text and the name of its file; None without a baseline."""
        if self._conflict:
            raise BaselineError(self._conflict)
        text = document.text_of(self.path, self.shown)
        if text is not None:
            return text, self.shown
        if not self._item.config.pluginmanager.has_plugin("syrupy"):
            raise _no_baseline_without_syrupy(self._item.config)
        return None

    def renamed_from(self) -> str:
        """Guess a benchmark's former name from the unused baselines; empty if there is no guess."""
        unused = unused_in(self.path.parent.parent, self._item.config)
        names = [path.stem for path in unused if path.parent == self.path.parent]
        if len(names) == 1:
            return names[0]
        close = get_close_matches(self.path.stem, names, n=1, cutoff=0.5)
        return close[0] if close else ""

    def read_rows(self) -> bytes | None:
        """Return the rows that the baseline keeps, compressed; None if there are none."""
        try:
            return self.rows_path.read_bytes()
        except OSError:
            return None

    def settle(
        self,
        result: BenchmarkResult,
        new: BaselineDocument | None,
        rows: bytes | None = None,
    ) -> BenchmarkResult:
        """Write the baseline `new` if this run updates; return the result with what came of it."""
        if self._conflict or not self._is_asked_to_update:
            return result
        if not self.updates:
            return structs.replace(result, notes=(*result.notes, NotRecordedXfail()))
        if new is None:
            return _refused_as_incomplete(result)
        return self._record(result, new, rows)

    def _record(
        self, result: BenchmarkResult, new: BaselineDocument, rows: bytes | None
    ) -> BenchmarkResult:
        """Write a baseline, or add a check with the reason why not."""
        old = self._recorded_before()
        refusal = self._refusal(result, old, new)
        if refusal is not None:
            return _with_check(result, refusal)
        new = self._completed(old, new)
        from pytest_evalmetrics.baselines.snapshots import accept  # loads syrupy

        try:
            self._keep_rows(old, new, rows)
            written = accept(self._item, self._name, document.render(new))
        except OSError as error:
            words = error.strerror or str(error)
            reason = NotRecorded(cause="not_written", words=words, file=self.shown)
            return _with_check(result, reason)
        recorded = RecordedBaseline(
            file=self.shown, written=written, metrics=_changes(old, new)
        )
        return structs.replace(result, recorded=recorded)

    def _refusal(
        self,
        result: BenchmarkResult,
        old: BaselineDocument | None,
        new: BaselineDocument,
    ) -> NotRecorded | None:
        """Say why a complete run does not become the baseline; None if it does."""
        option = self._item.config.option
        if option.evalmetrics_accept_report is not None:
            report = Path(option.evalmetrics_accept_report)
            differs = difference_from(report, result.id, new)
            if differs:
                return NotRecorded(cause="not_as_reported", words=differs)
        if not option.evalmetrics_accept_tasks:
            dropped = _dropped_tasks(result)
            lost_agents = _lost_agents(result, old)
            if dropped or lost_agents:
                return NotRecorded(
                    cause="drops_tasks", dropped=dropped, lost_agents=lost_agents
                )
        if option.evalmetrics_add_run and old is not None:
            obstacle = _why_not_added(old, new)
            if obstacle:
                return NotRecorded(cause="not_added", words=obstacle)
        return None

    def _completed(
        self, old: BaselineDocument | None, new: BaselineDocument
    ) -> BaselineDocument:
        """Add the time, the runs before it if it is one more, and the stamp."""
        recorded_at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        new = _with_provenance(new, recorded=recorded_at)
        if old is None:
            return document.stamped(new)
        if self._item.config.option.evalmetrics_add_run:
            new = add_run(old, new, keep=self.keeps_runs)
        new = document.stamped(new)
        if _is_same_run(old, new):
            new = structs.replace(new, provenance=old.provenance)
        return new

    def _recorded_before(self) -> BaselineDocument | None:
        """Read the baseline that an update replaces; a broken one counts as none."""
        with suppress(BaselineError):
            text = document.text_of(self.path, self.shown)
            if text is not None:
                return document.parse(text, file=self.shown)
        return None

    def _keep_rows(
        self, old: BaselineDocument | None, new: BaselineDocument, rows: bytes | None
    ) -> None:
        """Write the rows atomically; a file with the same rows keeps its bytes."""
        before = None if old is None else old.provenance.rows
        if rows is None:
            if before is not None:
                self.rows_path.unlink(missing_ok=True)
        elif before != new.provenance.rows or not self.rows_path.exists():
            write_whole(self.rows_path, [rows])


# -- what a run is asked for -----------------------------------------------------------------


def _asks_for_update(config: pytest.Config, path: Path) -> bool:
    if settings.updates(config):
        return True
    new_only = config.getoption("update_new_snapshots_only", default=False)
    return bool(new_only) and not os.path.lexists(path)


def _is_known_to_fail(item: pytest.Item) -> bool:
    if item.config.getoption("runxfail", default=False):
        return False
    return any(_may_hold(mark) for mark in item.iter_markers("xfail"))


def _may_hold(mark: pytest.Mark) -> bool:
    """Check whether a mark may apply: it can't only if all its conditions are clearly false."""
    conditions = [*mark.args]
    if "condition" in mark.kwargs:
        conditions.append(mark.kwargs["condition"])
    if not conditions:
        return True
    return any(condition is not False for condition in conditions)


def _no_baseline_without_syrupy(config: pytest.Config) -> BaselineError:
    hint = "drop `-p no:syrupy`, or set `baseline: false` for this benchmark"
    if config.pluginmanager.has_plugin("snapshot"):
        hint = (
            "pytest-snapshot has an option --snapshot-update too: switch it off "
            "instead, with `-p no:snapshot`"
        )
    return BaselineError(
        "there is no baseline, and syrupy, which records them, is switched off",
        hint=hint,
    )


# -- what came of an update ------------------------------------------------------------------


def _refused_as_incomplete(result: BenchmarkResult) -> BenchmarkResult:
    """Name the first check that shows what is missing."""
    for check in result.checks:
        # it says itself that nothing is recorded
        if any(isinstance(reason, NothingCanFail) for reason in check.reasons):
            return result
        is_of_rows = check.gate in (Gate.DATA, Gate.EXPECT)
        if is_of_rows and check.verdict.fails:
            reason = NotRecorded(cause="incomplete", because=check.reasons)
            return _with_check(result, reason)
    return _with_check(result, NotRecorded(cause="incomplete"))


def _dropped_tasks(result: BenchmarkResult) -> tuple[tuple[str, TaskListChanged], ...]:
    """List by agent the tasks that a new baseline would drop or replace."""
    dropped: list[tuple[str, TaskListChanged]] = []
    for check in result.checks:
        dropped += [
            (check.agent, reason)
            for reason in check.reasons
            if isinstance(reason, TaskListChanged) and _drops(reason)
        ]
    return tuple(dropped)


def _drops(changed: TaskListChanged) -> bool:
    return bool(changed.lost_count or changed.edited_count)


def _lost_agents(
    result: BenchmarkResult, old: BaselineDocument | None
) -> tuple[str, ...]:
    """List the agents that a new baseline would drop."""
    agents = {agent.agent for agent in result.agents}
    # a renamed agent is a change of the system under test
    if old is None or len(old.agents) <= len(agents):
        return ()
    return tuple(sorted(old.agents.keys() - agents))


def _with_check(result: BenchmarkResult, reason: NotRecorded) -> BenchmarkResult:
    check = Check(
        gate=Gate.BASELINE,
        name="baseline",
        verdict=Verdict.INCONCLUSIVE,
        reasons=(reason,),
        acceptance=Acceptance.SNAPSHOT,
    )
    return structs.replace(result, checks=(*result.checks, check))


def _changes(
    old: BaselineDocument | None, new: BaselineDocument
) -> dict[str, tuple[float | None, float | None]]:
    """Map each metric to its old value, or None, and its new one."""
    before = {} if old is None else _values_by_agent(old)
    after = _values_by_agent(new)
    if len(before) == len(after) == 1:
        # it may have been renamed
        values = next(iter(before.values()))
        before = dict.fromkeys(after, values)
    agents = dict.fromkeys((*after, *before))
    changes: dict[str, tuple[float | None, float | None]] = {}
    for agent in agents:
        was = before.get(agent, {})
        now = after.get(agent, {})
        for name in dict.fromkeys((*now, *was)):
            label = f"{agent}: {name}" if len(agents) > 1 else name
            changes[label] = (was.get(name), now.get(name))
    return changes


def _values_by_agent(doc: BaselineDocument) -> Mapping[str, Mapping[str, float]]:
    return {agent: doc.values(agent) for agent in doc.agents}


def _why_not_added(old: BaselineDocument, new: BaselineDocument) -> str:
    if document.is_edited(old):
        return "its file was edited by hand, or by a merge, since it was recorded"
    return why_not_added(old, new)


def _is_same_run(old: BaselineDocument, new: BaselineDocument) -> bool:
    """Check whether only the time of the recording differs, and no reason is given."""
    if new.provenance.reason is not None:
        return False
    before = _with_provenance(old, recorded=None, reason=None)
    now = _with_provenance(new, recorded=None)
    return before == document.as_read(now)


def _with_provenance(doc: BaselineDocument, **changes: str | None) -> BaselineDocument:
    provenance = structs.replace(doc.provenance, **changes)
    return structs.replace(doc, provenance=provenance)
