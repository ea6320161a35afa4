"""The committed baseline of one item, kept through syrupy.

It is written only by ``--snapshot-update``, from an evaluation that is complete; and deleted only
by ``--evalmetrics-delete-unused``. syrupy takes for unused whatever it discovers and no test
asserts, and deletes it when it updates. Under a selection, an error or a crash that would be good
baselines: so nothing is ever discovered here but baselines that no benchmark file on disk
declares, and nothing at all where a run updates.
"""

from __future__ import annotations

import os
import warnings
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.data import Snapshot, SnapshotCollection, SnapshotCollections
from syrupy.extensions.json import JSONSnapshotExtension
from syrupy.location import PyTestLocation

from pytest_evalmetrics.baselines.declared import (
    FOLDER,
    Declared,
    baseline_file,
    collected_tests,
    file_name,
    folder_of,
    shown_below,
)
from pytest_evalmetrics.baselines.document import (
    add_run,
    parse,
    render,
    stamped,
    text_of,
    values,
    why_not_added,
)
from pytest_evalmetrics.errors import BaselineError
from pytest_evalmetrics.results import Check, Verdict
from pytest_evalmetrics.run_folder import temporary_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pytest_evalmetrics.baselines.document import BaselineDocument
    from pytest_evalmetrics.results import BenchmarkResult

_SELECTIONS = ("keyword", "markexpr", "deselect", "lf", "stepwise")


class Store:
    """The baseline of one item: a benchmark's, or a test's that checks the benchmark `name`."""

    def __init__(self, item: pytest.Item, name: str = "") -> None:
        self._session = getattr(item.config, "_syrupy", None)
        self._option = item.config.option
        self.path = baseline_file(item.path, name or item.name)
        self._location = BaselineLocation(item, name, str(self.path))
        self._assertion: SnapshotAssertion | None = None
        self._unusable = (
            _no_syrupy(item.config)
            if self._session is None
            else (Declared.of(item.config).conflict(item.path, name or item.name), None)
        )
        marked = any(map(_may_hold, item.iter_markers("xfail")))
        self._is_known_to_fail = marked and not item.config.getoption("runxfail", default=False)
        self.shown = shown_below(self.path, item.config.rootpath)
        self.rows_path = self.path.with_name(f"{self.path.stem}.rows.jsonl.gz")
        self.keeps_runs = 1

    @property
    def is_asked_to_update(self) -> bool:
        """Whether the user asks this run to write the baseline."""
        if self._session is None:
            return False
        new_only = self._option.update_new_snapshots_only and not os.path.lexists(self.path)
        return bool(self._option.update_snapshots or new_only)

    @property
    def updates(self) -> bool:
        """Whether this run writes the baseline, if its evaluation is complete."""
        return self.is_asked_to_update and not self._is_known_to_fail and not self._unusable[0]

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
        what, hint = self._unusable
        if what:
            raise BaselineError(what, hint=hint)
        text = text_of(self.path, self.shown)
        return None if text is None else (text, self.shown)

    def renamed_from(self) -> str:
        """Guess the former name of a benchmark without a baseline: one of an unused baseline."""
        config = self._location.item.config
        declared, beside = Declared.of(config), self.path.parent
        unused = declared.orphans(beside.parent, collected_tests(config))
        names = [path.stem for path in unused if path.parent == beside]
        close = get_close_matches(self.path.stem, names, n=1, cutoff=0.5)
        return (close or names)[0] if close or len(names) == 1 else ""

    def read_rows(self) -> bytes | None:
        """Return the rows that the baseline keeps, compressed; None where there are none."""
        try:
            return self.rows_path.read_bytes()
        except OSError:
            return None

    def settle(
        self, result: BenchmarkResult, new: BaselineDocument | None, rows: bytes | None = None
    ) -> BenchmarkResult:
        """Let syrupy count the outcome, and write the baseline where this run updates.

        `new` is the baseline that this run would record, None where it must not, and `rows` the
        rows that it keeps, compressed. Returns the result with what was recorded, or why not.
        """
        if self._assertion is None or self._unusable[0]:
            return result
        if self.updates:
            if new is None:
                return self._refuse(result)
            changed = self._dropped(result)
            return changed if changed is not None else self._record(result, new, rows)
        if new is not None:
            judged = [c.verdict for c in result.checks if c.gate == "baseline"]
            self._compare("", holds=not any(verdict.fails for verdict in judged))
        if self.is_asked_to_update:
            note = "its baseline is as it was: what is known to fail (xfail) is not recorded"
            return replace(result, notes=(*result.notes, note))
        return result

    def _record(
        self, result: BenchmarkResult, new: BaselineDocument, rows: bytes | None
    ) -> BenchmarkResult:
        before, old = self._old()
        new = {**new, "provenance": {"recorded": _now(), **new["provenance"]}}
        if self._option.evalmetrics_add_run and old is not None:
            if why := why_not_added(old, new):
                return _with_check(
                    result,
                    f"this run was not added to the baseline: {why}",
                    "drop --evalmetrics-add-run to record it in place of those runs",
                )
            new = add_run(old, new, keep=self.keeps_runs)
        new = stamped(new)
        unchanged = old is not None and _but_when(old) == _but_when(new)
        if unchanged and old is not None and "reason" not in new["provenance"]:
            since = {key: old["provenance"].get(key) for key in _WHEN if key in old["provenance"]}
            new["provenance"] = {**since, **_but_when(new)["provenance"]}
        text = render(new)
        failure = self._keep_rows(old, new, rows) or self._assert(text, holds=text == before)
        if failure is not None:
            return _with_check(
                result,
                f"{self.shown}: this baseline can't be written: {_why(failure)}",
                "give the right or the room to write there; what was there is as it was",
            )
        recorded = {
            "file": self.shown,
            "written": text != before,
            "metrics": _changes(old, new),
        }
        return replace(result, recorded=recorded)

    def _keep_rows(
        self, old: BaselineDocument | None, new: BaselineDocument, rows: bytes | None
    ) -> OSError | None:
        """Write the rows whole or not at all; those that are there already keep their bytes."""
        try:
            if rows is None:
                if old is not None and "rows" in old["provenance"]:
                    self.rows_path.unlink(missing_ok=True)
                return None
            same = old is not None and old["provenance"].get("rows") == new["provenance"]["rows"]
            if same and self.rows_path.exists():
                return None
            self.rows_path.parent.mkdir(parents=True, exist_ok=True)
            temporary = self.rows_path.with_name(f".{temporary_name()}.tmp")
            temporary.write_bytes(rows)
            temporary.replace(self.rows_path)
        except OSError as error:
            return error
        return None

    def _dropped(self, result: BenchmarkResult) -> BenchmarkResult | None:
        """Refuse to drop or replace tasks of the old baseline, unless the user accepts it."""
        if self._option.evalmetrics_accept_tasks:
            return None
        _, old = self._old()
        agents = {agent.agent for agent in result.agents}
        lost = sorted(set() if old is None else old["agents"].keys() - agents)
        # an agent in place of another is what is under test
        lost = lost if old is not None and len(old["agents"]) > len(agents) else []
        reasons = [
            f"{check.agent}: {check.reason}" if check.agent else check.reason
            for check in result.checks
            if check.evidence.get("task_list")
            and (check.evidence["lost"]["count"] or check.evidence["edited"]["count"])
        ]
        reasons += [f"this run has no agent {agent!r}" for agent in lost]
        if not reasons:
            return None
        return _with_check(
            result,
            "no baseline was recorded, because it would drop tasks: " + "; ".join(reasons),
            "run all tasks; or, if the change is intended, add --evalmetrics-accept-tasks",
        )

    def _refuse(self, result: BenchmarkResult) -> BenchmarkResult:
        reasons = [
            check.reason
            for check in result.checks
            if check.gate in ("data", "expect") and check.verdict.fails
        ]
        return _with_check(
            result,
            "no baseline was recorded, because this evaluation is not complete"
            + (f": {reasons[0]}" if reasons else ""),
            "complete the run first; or say in `expect:` what is missing on purpose",
        )

    def _old(self) -> tuple[str | None, BaselineDocument | None]:
        """Return what is there, as text and as a baseline: what is broken is replaced."""
        text = None
        try:
            read = self.read()
            text = None if read is None else read[0]
            return text, None if text is None else parse(text, file=self.shown)
        except BaselineError:
            return text, None

    def _assert(self, text: str, *, holds: bool) -> Exception | None:
        with warnings.catch_warnings():
            # syrupy 7.0.0 looks for the name of the test in that of the file that it writes
            warnings.filterwarnings("ignore", message=r"\s*Can not relate snapshot")
            return self._compare(text, holds=holds)

    def _compare(self, text: str, *, holds: bool) -> Exception | None:
        assertion = cast("SnapshotAssertion", self._assertion)
        cast("BaselineExtension", assertion.extension).holds = holds
        _ = assertion == text  # compares, and writes; `assert` would explain two large texts
        told = assertion.executions[assertion.num_executions - 1]
        told.asserted_data = None  # which syrupy would keep until the end of the run
        return told.exception


def _may_hold(mark: pytest.Mark) -> bool:
    """Whether a mark may apply: only where each of its conditions is plainly false it does not."""
    conditions = [*mark.args, *([mark.kwargs["condition"]] if "condition" in mark.kwargs else [])]
    return not conditions or any(c is not False for c in conditions)


def _no_syrupy(config: pytest.Config) -> tuple[str, str]:
    hint = "drop `-p no:syrupy`, or set `baseline: false` for this benchmark"
    if config.pluginmanager.has_plugin("snapshot"):
        hint = (
            "pytest-snapshot has an option --snapshot-update too: switch it off instead, with "
            "`-p no:snapshot`"
        )
    return "baselines are kept through syrupy, which is switched off", hint


def _with_check(result: BenchmarkResult, reason: str, hint: str) -> BenchmarkResult:
    check = Check("baseline", "baseline", Verdict.INCONCLUSIVE, reason=reason, hint=hint)
    return replace(result, checks=(*result.checks, check))


def _changes(old: BaselineDocument | None, new: BaselineDocument) -> dict[str, list[Any]]:
    """Say of each metric what it was and what it is; None where there is none."""
    before = {} if old is None else {agent: values(old, agent) for agent in old["agents"]}
    after = {agent: values(new, agent) for agent in new["agents"]}
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


_WHEN = ("recorded", "reason")


def _but_when(doc: BaselineDocument) -> dict[str, Any]:
    provenance = {k: v for k, v in doc["provenance"].items() if k not in _WHEN}
    return {**doc, "provenance": provenance}


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class BaselineLocation(PyTestLocation):
    """A test, and which of its benchmarks is meant; its baseline, where that is known."""

    benchmark: str = ""  # an item that is a benchmark itself has its own name
    file: str = ""


def _name_of(location: PyTestLocation) -> str:
    return getattr(location, "benchmark", "") or str(location.item.name)


class BaselineExtension(JSONSnapshotExtension):
    """Keeps one benchmark's baseline in one file.

    syrupy builds extensions without arguments; the store sets what an item needs.
    """

    snapshot_dirname = FOLDER
    holds: bool = False

    def serialize(self, data: Any, **_: Any) -> str:
        """Take the text as it is: it is rendered for reading already."""
        return str(data)

    def matches(self, *, serialized_data: Any, snapshot_data: Any) -> bool:
        """Say what the gates, or the store, have found."""
        del serialized_data, snapshot_data
        return self.holds

    def read_snapshot_data_from_location(
        self, *, snapshot_location: str, snapshot_name: str, session_id: str
    ) -> str | None:
        """Say whether there is one: it has been read, and syrupy would keep it until the end."""
        del snapshot_name, session_id
        return "" if os.path.lexists(snapshot_location) else None

    @classmethod
    def get_snapshot_name(cls, *, test_location: PyTestLocation, index: Any = 0) -> str:
        """Name the snapshot as the benchmark."""
        del index
        return getattr(test_location, "benchmark", "") or str(test_location.snapshot_name)

    @classmethod
    def get_file_basename(cls, *, test_location: PyTestLocation, index: Any) -> str:
        """Name the file, so that no two benchmarks share one."""
        del index
        return file_name(_name_of(test_location))

    @classmethod
    def get_location(cls, *, test_location: PyTestLocation, index: Any = 0) -> str:
        """Say where a baseline lies."""
        del index
        known = getattr(test_location, "file", "")  # syrupy asks several times for each
        return known or str(baseline_file(Path(test_location.filepath), _name_of(test_location)))

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        """Keep the baselines of a benchmark file in a folder of their own beside it."""
        return str(folder_of(Path(test_location.filepath)))

    @classmethod
    def discovery_dirname(cls, *, test_location: PyTestLocation) -> str:
        """Look for orphans among all baselines beside the benchmark file."""
        return os.path.join(os.path.dirname(test_location.filepath), FOLDER)  # noqa: PTH118, PTH120 - for each

    @classmethod
    def matches_test_location(
        cls, *, test_location: PyTestLocation, snapshot_location: str
    ) -> bool:
        """Tell whether a baseline is one of the same benchmark file."""
        return Path(snapshot_location).parent == folder_of(Path(test_location.filepath))

    def discover_snapshots(
        self, *, test_location: PyTestLocation, ignore_extensions: list[str] | None = None
    ) -> SnapshotCollections:
        """Find the orphans: nothing else may ever look unused to syrupy."""
        del ignore_extensions
        orphans = SnapshotCollections()
        item = test_location.item
        if not hasattr(item, "config") or not _is_whole(item.session):
            return orphans
        if item.config.option.update_snapshots:  # syrupy would delete them
            return orphans
        folder = Path(self.discovery_dirname(test_location=test_location))
        declared = Declared.of(item.config)
        for orphan in declared.orphans(folder, collected_tests(item.config)):
            collection = SnapshotCollection(location=str(orphan))
            collection.add(Snapshot(name=orphan.stem))
            orphans.add(collection)
        return orphans

    def delete_snapshots(self, *, snapshot_location: str, snapshot_names: set[str]) -> None:
        """Delete nothing: --evalmetrics-delete-unused does, and looks at the whole project."""

    @classmethod
    def write_snapshot_collection(
        cls, *, snapshot_collection: SnapshotCollection, name_order: dict[str, int] | None = None
    ) -> None:
        """Write a baseline whole or not at all."""
        del name_order
        (snapshot,) = snapshot_collection
        path = Path(snapshot_collection.location)
        temporary = path.parent / f".{temporary_name()}.tmp"
        try:
            with temporary.open("x", encoding="utf-8", newline="\n") as file:
                file.write(str(snapshot.data))
            temporary.replace(path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise


def admit(config: pytest.Config, keeps_baseline: Callable[[pytest.Item], bool]) -> None:
    """Let syrupy count items that are no functions.

    It looks for orphans beside the files that were named on the command line only where an
    item of theirs has run, and counts functions alone.
    """
    session: Any = getattr(config, "_syrupy", None)
    if session is None or hasattr(session, "_counts_benchmarks"):
        return
    functions = session.filter_valid_items

    def valid(items: list[pytest.Item]) -> Iterable[pytest.Item]:
        admitted = {id(item) for item in functions(items)}
        return [item for item in items if id(item) in admitted or keeps_baseline(item)]

    session.filter_valid_items = valid
    session._counts_benchmarks = True  # noqa: SLF001 - syrupy's session has no other place


def _is_whole(session: pytest.Session) -> bool:
    """Whether whole files are run, and to their end: a part of them has no say in orphans."""
    option = session.config.option
    return (
        not any(getattr(option, name, None) for name in _SELECTIONS)
        and not any("::" in str(arg) for arg in session.config.args)
        and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
    )
