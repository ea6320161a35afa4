"""Baselines as syrupy's snapshots: where they lie, how they are written, which are unused.

syrupy takes for unused whatever it discovers and no test asserts, and deletes it when it
updates. Under a selection, an error or a crash that would be good baselines: so nothing is
ever discovered here but baselines that no benchmark file on disk declares, and nothing at all
where a run updates.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from syrupy.data import Snapshot, SnapshotCollection, SnapshotCollections
from syrupy.extensions.json import JSONSnapshotExtension
from syrupy.location import PyTestLocation

from pytest_evalmetrics.baselines.declared import Declared
from pytest_evalmetrics.baselines.in_tests import collected_tests
from pytest_evalmetrics.baselines.naming import FOLDER, baseline_file, file_name, folder_of
from pytest_evalmetrics.run_folder import temporary_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["BaselineExtension", "BaselineLocation", "admit"]

_SELECTIONS = ("keyword", "markexpr", "deselect", "lf", "stepwise")


@dataclass(frozen=True)
class BaselineLocation(PyTestLocation):
    """A test, and which of its benchmarks is meant.

    Attributes
    ----------
    benchmark
        Its name; an item that is a benchmark itself has its own.
    file
        Its baseline, where that has been found out.
    """

    benchmark: str = ""
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
        found = SnapshotCollections()
        item = test_location.item
        if not hasattr(item, "config") or not _is_whole(item.session):
            return found
        if item.config.option.update_snapshots:  # syrupy would delete them
            return found
        folder = Path(self.discovery_dirname(test_location=test_location))
        declared = Declared.of(item.config)
        for orphan in declared.orphans(folder, collected_tests(item.config)):
            collection = SnapshotCollection(location=str(orphan))
            collection.add(Snapshot(name=orphan.stem))
            found.add(collection)
        return found

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
