"""The committed baseline of one item, kept through syrupy.

It is written only by ``--snapshot-update``, from an evaluation that is complete; and deleted only
by ``--evalmetrics-delete-unused``. syrupy takes for unused whatever it discovers and no test
asserts, and deletes it when it updates. Under a selection, an error or a crash that would be good
baselines: so nothing is ever discovered here but baselines that no benchmark file on disk
declares, and nothing at all where a run updates.
"""
# ruff: noqa: ARG002, ARG003 - the signatures of syrupy

from __future__ import annotations

import os
import warnings
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from msgspec import structs
from syrupy.assertion import SnapshotAssertion
from syrupy.data import Snapshot, SnapshotCollection, SnapshotCollections
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from syrupy.location import PyTestLocation

from pytest_evalmetrics.baselines import declared, document
from pytest_evalmetrics.baselines.declared import Declared
from pytest_evalmetrics.errors import BaselineError
from pytest_evalmetrics.model.results import BenchmarkResult, Check, Verdict
from pytest_evalmetrics.run_folder import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_evalmetrics.baselines.document import BaselineDocument

# with these no baseline counts as unused: syrupy would delete it, or tests are selected
_NO_ORPHANS = ("update_snapshots", "keyword", "markexpr", "deselect", "lf", "stepwise")


class Store:
    """The baseline of one item: a benchmark's, or a test's that checks the benchmark `name`."""

    def __init__(self, item: pytest.Item, name: str = "") -> None:
        name, config = name or item.name, item.config
        self._session = getattr(config, "_syrupy", None)
        self._option = option = config.option
        self.path = declared.folder_of(item.path) / f"{declared.file_name(name)}.json"
        self.shown = declared.shown_below(self.path, config.rootpath)
        self.rows_path = self.path.with_name(f"{self.path.stem}.rows.jsonl.gz")
        self.keeps_runs = 1
        self._location = BaselineLocation(item, name, str(self.path))
        self._assertion: SnapshotAssertion | None = None
        conflict = Declared.of(config).conflict(item.path, name)
        self._unusable = BaselineError(conflict) if conflict else None
        self._is_asked_to_update = False
        if self._session is None:
            self._unusable = _without_syrupy(config)
        else:
            new_only = option.update_new_snapshots_only and not os.path.lexists(
                self.path
            )
            self._is_asked_to_update = bool(option.update_snapshots or new_only)
        marked = any(map(_may_hold, item.iter_markers("xfail")))
        is_known_to_fail = marked and not config.getoption("runxfail", default=False)
        # whether this run writes the baseline, if its evaluation is complete
        self.updates = (
            self._is_asked_to_update and not is_known_to_fail and not self._unusable
        )

    def watch(self) -> None:
        """Let syrupy look for orphans, whatever becomes of the evaluation."""
        if self._session is not None:
            self._assertion = SnapshotAssertion(
                session=self._session,
                extension_class=BaselineExtension,
                test_location=self._location,
                update_snapshots=self.updates,
            )

    def read(self) -> tuple[str, str] | None:
        """Return the baseline's text and how its file is called; None without a baseline."""
        if self._unusable is not None:
            raise self._unusable
        text = document.text_of(self.path, self.shown)
        return None if text is None else (text, self.shown)

    def renamed_from(self) -> str:
        """Guess a benchmark's former name from the unused baselines; empty if there is no guess."""
        unused = Declared.of(self._location.item.config).orphans(
            self.path.parent.parent
        )
        names = [path.stem for path in unused if path.parent == self.path.parent]
        close = get_close_matches(self.path.stem, names, n=1, cutoff=0.5)
        return (close or names)[0] if close or len(names) == 1 else ""

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
        """Let syrupy count the outcome, and write the baseline `new` if this run updates."""
        if self._assertion is None or self._unusable:
            return result
        if self.updates:
            return self._record(result, new, rows)
        if new is not None:
            judged = [c.verdict for c in result.checks if c.gate == "baseline"]
            self._compare("", holds=not any(verdict.fails for verdict in judged))
        if self._is_asked_to_update:
            note = "its baseline is as it was: what is known to fail (xfail) is not recorded"
            return structs.replace(result, notes=(*result.notes, note))
        return result

    def _record(
        self, result: BenchmarkResult, new: BaselineDocument | None, rows: bytes | None
    ) -> BenchmarkResult:
        """Write the baseline, or add a check with the reason why not."""
        if new is None:
            reasons = [
                c
                for c in result.checks
                if c.gate in ("data", "expect") and c.verdict.fails
            ]
            why = "no baseline was recorded, because this evaluation is not complete"
            why += f": {reasons[0].reason}" if reasons else ""
            hint = (
                "complete the run first; or say in `expect:` what is missing on purpose"
            )
            return _with_check(result, why, hint)
        before = old = None
        with suppress(BaselineError):  # a broken one is replaced
            before = document.text_of(self.path, self.shown)
            old = None if before is None else document.parse(before, file=self.shown)
        if not self._option.evalmetrics_accept_tasks and (
            dropped := _dropped_tasks(result, old)
        ):
            why = "no baseline was recorded, because it would drop tasks: " + "; ".join(
                dropped
            )
            hint = "run all tasks; or, if the change is intended, add --evalmetrics-accept-tasks"
            return _with_check(result, why, hint)
        recorded = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        new = {**new, "provenance": {"recorded": recorded, **new["provenance"]}}
        if self._option.evalmetrics_add_run and old is not None:
            if why := document.why_not_added(old, new):
                why = f"this run was not added to the baseline: {why}"
                hint = "drop --evalmetrics-add-run to record it in place of those runs"
                return _with_check(result, why, hint)
            new = document.add_run(old, new, keep=self.keeps_runs)
        new = document.stamped(new)
        has_reason = "reason" in new["provenance"]
        if old is not None and not has_reason and _but_when(old) == _but_when(new):
            new["provenance"] = old["provenance"]
        text = document.render(new)
        try:
            self._keep_rows(old, new, rows)
            failure = self._compare(text, holds=text == before)
        except OSError as error:
            failure = error
        if failure is not None:
            why = getattr(failure, "strerror", None) or str(failure)
            why = f"{self.shown}: this baseline can't be written: {why}"
            hint = (
                "give the right or the room to write there; what was there is as it was"
            )
            return _with_check(result, why, hint)
        changes = {
            "file": self.shown,
            "written": text != before,
            "metrics": _changes(old, new),
        }
        return structs.replace(result, recorded=changes)

    def _keep_rows(
        self, old: BaselineDocument | None, new: BaselineDocument, rows: bytes | None
    ) -> None:
        """Write the rows atomically; a file with the same rows keeps its bytes."""
        before = None if old is None else old["provenance"].get("rows")
        if rows is None:
            if before is not None:
                self.rows_path.unlink(missing_ok=True)
        elif before != new["provenance"]["rows"] or not self.rows_path.exists():
            write_whole(self.rows_path, [rows])

    def _compare(self, text: str, *, holds: bool) -> Exception | None:
        """Let syrupy compare, and write if this run updates; return why it could not."""
        assertion = cast("SnapshotAssertion", self._assertion)
        cast("BaselineExtension", assertion.extension).holds = holds
        with warnings.catch_warnings():
            # syrupy 7.0.0 expects the name of the test in the name of the file
            warnings.filterwarnings("ignore", message=r"\s*Can not relate snapshot")
            _ = assertion == text  # `assert` would explain two large texts
        execution = assertion.executions[assertion.num_executions - 1]
        execution.asserted_data = None  # syrupy would keep it until the end of the run
        return execution.exception


def _dropped_tasks(result: BenchmarkResult, old: BaselineDocument | None) -> list[str]:
    """List the tasks of the old baseline that a new one would drop or replace."""
    reasons = [
        f"{check.agent}: {check.reason}" if check.agent else check.reason
        for check in result.checks
        if check.evidence.get("task_list")
        and (check.evidence["lost"]["count"] or check.evidence["edited"]["count"])
    ]
    agents = {agent.agent for agent in result.agents}
    # a renamed agent is a change of the system under test
    if old is not None and len(old["agents"]) > len(agents):
        lost = sorted(old["agents"].keys() - agents)
        reasons += [f"this run has no agent {agent!r}" for agent in lost]
    return reasons


def _may_hold(mark: pytest.Mark) -> bool:
    """Whether a mark may apply: it can't only if all its conditions are clearly false."""
    conditions = [
        *mark.args,
        *([mark.kwargs["condition"]] if "condition" in mark.kwargs else []),
    ]
    return not conditions or any(c is not False for c in conditions)


def _without_syrupy(config: pytest.Config) -> BaselineError:
    hint = "drop `-p no:syrupy`, or set `baseline: false` for this benchmark"
    if config.pluginmanager.has_plugin("snapshot"):
        other = "pytest-snapshot has an option --snapshot-update too"
        hint = f"{other}: switch it off instead, with `-p no:snapshot`"
    return BaselineError(
        "baselines are kept through syrupy, which is switched off", hint=hint
    )


def _with_check(result: BenchmarkResult, reason: str, hint: str) -> BenchmarkResult:
    check = Check(
        "baseline", "baseline", Verdict.INCONCLUSIVE, reason=reason, hint=hint
    )
    return structs.replace(result, checks=(*result.checks, check))


def _changes(
    old: BaselineDocument | None, new: BaselineDocument
) -> dict[str, list[Any]]:
    """Map each metric to its old value, or None, and its new one."""
    before = (
        {}
        if old is None
        else {agent: document.values(old, agent) for agent in old["agents"]}
    )
    after = {agent: document.values(new, agent) for agent in new["agents"]}
    if len(before) == len(after) == 1:  # it may have been renamed
        before = dict(zip(after, before.values(), strict=True))
    agents = dict.fromkeys((*after, *before))
    changes = {}
    for agent in agents:
        was, now = before.get(agent, {}), after.get(agent, {})
        for name in dict.fromkeys((*now, *was)):
            shown = f"{agent}: {name}" if len(agents) > 1 else name
            changes[shown] = [was.get(name), now.get(name)]
    return changes


def _but_when(doc: BaselineDocument) -> dict[str, Any]:
    recorded = doc["provenance"].items()
    return {
        **doc,
        "provenance": {k: v for k, v in recorded if k not in ("recorded", "reason")},
    }


@dataclass(frozen=True)
class BaselineLocation(PyTestLocation):
    """An item, which of its benchmarks is meant, and the file of its baseline."""

    benchmark: str
    file: str


class BaselineExtension(SingleFileSnapshotExtension):
    """Keeps one benchmark's baseline in one file; the store sets what syrupy can't pass on."""

    _write_mode = WriteMode.TEXT
    snapshot_dirname = declared.FOLDER
    holds: bool = False

    def matches(self, *, serialized_data: Any, snapshot_data: Any) -> bool:
        """Return the verdict of the gates, or of the store."""
        return self.holds

    def read_snapshot_data_from_location(
        self, *, snapshot_location: str, snapshot_name: str, session_id: str
    ) -> str | None:
        """Return an empty text for an existing baseline: syrupy would keep its text in memory."""
        return "" if os.path.lexists(snapshot_location) else None

    @classmethod
    def get_snapshot_name(cls, *, test_location: PyTestLocation, index: Any = 0) -> str:
        """Name the snapshot as the benchmark."""
        return cast("BaselineLocation", test_location).benchmark

    @classmethod
    def get_location(cls, *, test_location: PyTestLocation, index: Any = 0) -> str:
        """Return the baseline's file."""
        return cast("BaselineLocation", test_location).file

    @classmethod
    def discovery_dirname(cls, *, test_location: PyTestLocation) -> str:
        """Return the folder whose baselines are searched for orphans."""
        return os.path.join(os.path.dirname(test_location.filepath), declared.FOLDER)  # noqa: PTH118, PTH120 - for each

    @classmethod
    def matches_test_location(
        cls, *, test_location: PyTestLocation, snapshot_location: str
    ) -> bool:
        """Check whether a baseline belongs to the same benchmark file."""
        return Path(snapshot_location).parent == declared.folder_of(
            Path(test_location.filepath)
        )

    def discover_snapshots(
        self,
        *,
        test_location: PyTestLocation,
        ignore_extensions: list[str] | None = None,
    ) -> SnapshotCollections:
        """Find the orphans: nothing else may ever look unused to syrupy."""
        orphans = SnapshotCollections()
        item = test_location.item
        if not hasattr(item, "config") or not _is_whole(item.session):
            return orphans
        folder = Path(self.discovery_dirname(test_location=test_location))
        for orphan in Declared.of(item.config).orphans(folder):
            collection = SnapshotCollection(location=str(orphan))
            collection.add(Snapshot(name=orphan.stem))
            orphans.add(collection)
        return orphans

    def delete_snapshots(
        self, *, snapshot_location: str, snapshot_names: set[str]
    ) -> None:
        """Delete nothing; that is left to --evalmetrics-delete-unused."""

    @classmethod
    def write_snapshot_collection(
        cls,
        *,
        snapshot_collection: SnapshotCollection,
        name_order: dict[str, int] | None = None,
    ) -> None:
        """Write a baseline whole or not at all."""
        (snapshot,) = snapshot_collection
        write_whole(Path(snapshot_collection.location), [str(snapshot.data).encode()])


def admit(config: pytest.Config, keeps_baseline: Callable[[pytest.Item], bool]) -> None:
    """Let syrupy count items that are no functions: it looks for orphans only beside those."""
    session: Any = getattr(config, "_syrupy", None)
    if session is None or hasattr(session, "_counts_benchmarks"):
        return
    functions = session.filter_valid_items

    def valid(items: list[pytest.Item]) -> list[pytest.Item]:
        admitted = set(map(id, functions(items)))
        return [item for item in items if id(item) in admitted or keeps_baseline(item)]

    session.filter_valid_items = valid
    session._counts_benchmarks = True  # noqa: SLF001 - syrupy's session has no other place


def _is_whole(session: pytest.Session) -> bool:
    """Check that whole files are run to their end; a partial run can't find orphans."""
    option = session.config.option
    return (
        not any(getattr(option, name, None) for name in _NO_ORPHANS)
        and not any("::" in str(arg) for arg in session.config.args)
        and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
    )
