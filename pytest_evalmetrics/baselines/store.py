"""Baselines as syrupy's snapshots: where they lie, when they are written, which are orphans.

A baseline is written only by ``--snapshot-update``, and deleted only by it, and only where no
benchmark file on disk declares its benchmark: a selection, an error, a crash or an ignored
file never makes an orphan.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from syrupy.assertion import SnapshotAssertion
from syrupy.data import Snapshot, SnapshotCollection, SnapshotCollections
from syrupy.extensions.json import JSONSnapshotExtension
from syrupy.location import PyTestLocation

from pytest_evalmetrics.baselines.document import parse, render, values
from pytest_evalmetrics.baselines.naming import file_name
from pytest_evalmetrics.baselines.orphans import orphans
from pytest_evalmetrics.errors import BaselineError
from pytest_evalmetrics.results import Check, Verdict

if TYPE_CHECKING:
    import pytest

    from pytest_evalmetrics.results import BenchmarkResult

__all__ = ["FOLDER", "BaselineExtension", "Store"]

FOLDER = "__baselines__"


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
        """Compare: the gates have judged, and an update compares the texts."""
        return self.holds or serialized_data == snapshot_data

    @classmethod
    def get_snapshot_name(cls, *, test_location: PyTestLocation, index: Any = 0) -> str:
        """Name the snapshot as the benchmark."""
        del index
        return str(test_location.snapshot_name)

    @classmethod
    def get_file_basename(cls, *, test_location: PyTestLocation, index: Any) -> str:
        """Name the file, so that no two benchmarks share one."""
        del index
        return file_name(test_location.item.name)

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        """Keep the baselines of a benchmark file in a folder of their own beside it."""
        file = Path(test_location.filepath)
        return str(file.parent / FOLDER / file.stem)

    @classmethod
    def discovery_dirname(cls, *, test_location: PyTestLocation) -> str:
        """Look for orphans among all baselines beside the benchmark file."""
        return str(Path(test_location.filepath).parent / FOLDER)

    @classmethod
    def matches_test_location(
        cls, *, test_location: PyTestLocation, snapshot_location: str
    ) -> bool:
        """Tell whose baseline a file is."""
        return Path(snapshot_location) == Path(
            cls.get_location(test_location=test_location, index=0)
        )

    def discover_snapshots(
        self, *, test_location: PyTestLocation, ignore_extensions: list[str] | None = None
    ) -> SnapshotCollections:
        """Find the orphans: nothing else may ever look unused to syrupy."""
        del ignore_extensions
        found = SnapshotCollections()
        for orphan in orphans(Path(self.discovery_dirname(test_location=test_location))):
            collection = SnapshotCollection(location=str(orphan))
            collection.add(Snapshot(name=orphan.stem))
            found.add(collection)
        return found

    def delete_snapshots(self, *, snapshot_location: str, snapshot_names: set[str]) -> None:
        """Delete a baseline that is an orphan still."""
        del snapshot_names
        path = Path(snapshot_location)
        if path in orphans(path.parents[1]):
            path.unlink()

    @classmethod
    def write_snapshot_collection(
        cls, *, snapshot_collection: SnapshotCollection, name_order: dict[str, int] | None = None
    ) -> None:
        """Write a baseline whole or not at all."""
        del name_order
        (snapshot,) = snapshot_collection
        path = Path(snapshot_collection.location)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                file.write(str(snapshot.data))
            umask = os.umask(0)
            os.umask(umask)
            Path(temporary).chmod(0o666 & ~umask)  # mkstemp's is for its owner alone
            Path(temporary).replace(path)
        except OSError:
            with suppress(OSError):
                Path(temporary).unlink()
            raise


class Store:
    """The baseline of one item.

    Parameters
    ----------
    item
        The benchmark's item; has an ``obj``, as syrupy expects.
    """

    def __init__(self, item: pytest.Item) -> None:
        self._session = getattr(item.config, "_syrupy", None)
        self._item = item
        location = PyTestLocation(item)
        self.path = Path(BaselineExtension.get_location(test_location=location, index=0))
        self.shown = _shown(self.path, item.config.rootpath)

    @property
    def updates(self) -> bool:
        """Whether this run writes the baseline."""
        if self._session is None:
            return False
        option = self._item.config.option
        new_only = option.update_new_snapshots_only and not self.path.exists()
        return bool(option.update_snapshots or new_only)

    def read(self) -> tuple[str, str] | None:
        """Return the baseline's text and how its file is called; None without a baseline.

        Raises
        ------
        BaselineError
            If it can't be read, or syrupy is switched off.
        """
        if self._session is None:
            raise BaselineError(
                "baselines are kept through syrupy, which is switched off",
                hint="drop `-p no:syrupy`, or set `baseline: false` for this benchmark",
            )
        try:
            return self.path.read_text(encoding="utf-8"), self.shown
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise BaselineError(
                f"this baseline can't be read: {error}",
                file=self.shown,
                hint="take it from version control again; or delete it and record a new one "
                "with --snapshot-update",
            ) from error

    def settle(self, result: BenchmarkResult, found: dict[str, Any] | None) -> BenchmarkResult:
        """Let syrupy count the outcome, and write the baseline where this run updates.

        Parameters
        ----------
        result
            What came out.
        found
            The baseline that this run would record; None where it must not.

        Returns
        -------
        BenchmarkResult
            It, told what was recorded, or why not.
        """
        if self._session is None:
            return result
        if found is None:
            return _with_check(result, *_REFUSED) if self.updates else result
        old = self._old()
        new = {**found, "provenance": {"recorded": _now(), **found["provenance"]}}
        if old is not None and _but_when(old) == _but_when(new):
            new["provenance"]["recorded"] = old["provenance"].get("recorded")
        failure = self._assert(self._session, render(new), holds=not result.verdict.fails)
        if failure is not None:
            return _with_check(
                result,
                f"{self.shown}: this baseline can't be written: {failure}",
                "the one that was there, if any, is as it was",
            )
        if not self.updates:
            return result
        return replace(result, recorded={"file": self.shown, "metrics": _changes(old, new)})

    def _old(self) -> dict[str, Any] | None:
        try:
            read = self.read()
            return None if read is None else parse(read[0], file=read[1])
        except BaselineError:  # broken: whatever is recorded now is new
            return None

    def _assert(self, session: Any, text: str, *, holds: bool) -> Exception | None:
        updates = self.updates
        assertion = SnapshotAssertion(
            session=session,
            extension_class=BaselineExtension,
            test_location=PyTestLocation(self._item),
            update_snapshots=self._item.config.option.update_snapshots,
            update_new_snapshots_only=self._item.config.option.update_new_snapshots_only,
        )
        extension = cast("BaselineExtension", assertion.extension)
        extension.holds = holds and not updates
        with suppress(AssertionError):  # the gates have told what is wrong
            assertion.assert_match(text)
        return assertion.executions[assertion.num_executions - 1].exception


_REFUSED = (
    "no baseline was recorded: this evaluation is not complete",
    "complete the run first; or say in `expect:` what is missing on purpose",
)


def _with_check(result: BenchmarkResult, reason: str, hint: str) -> BenchmarkResult:
    check = Check("baseline", "baseline", Verdict.INCONCLUSIVE, reason=reason, hint=hint)
    return replace(result, checks=(*result.checks, check))


def _changes(old: dict[str, Any] | None, new: dict[str, Any]) -> dict[str, list[Any]]:
    """Say of each metric what it was and what it is."""
    several = len(new["agents"]) > 1
    changes = {}
    for agent, found in new["agents"].items():
        before = values(old, agent) if old is not None else {}
        for name, metric in found["key_metrics"].items():
            shown = f"{agent}: {name}" if several else name
            changes[shown] = [before.get(name), metric["value"]]
    return changes


def _but_when(doc: dict[str, Any]) -> dict[str, Any]:
    provenance = {k: v for k, v in doc.get("provenance", {}).items() if k != "recorded"}
    return {**doc, "provenance": provenance}


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _shown(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
