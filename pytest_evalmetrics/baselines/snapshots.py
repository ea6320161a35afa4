"""syrupy's part of a baseline: to compare a new one with the file, and to write it.

Only an update comes here, through syrupy's public API: an extension, and an assertion in
a session of our own. syrupy counts, and searches for unused snapshots, in the session of
its `snapshot` fixture, which therefore reports ordinary snapshots alone: it knows only
items that are functions, and would delete what looks unused to it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from syrupy.assertion import SnapshotAssertion
from syrupy.data import SnapshotCollection, SnapshotCollections
from syrupy.extensions.base import AbstractSyrupyExtension
from syrupy.location import PyTestLocation
from syrupy.session import SnapshotSession

from pytest_evalmetrics.baselines import files
from pytest_evalmetrics.whole_files import write_whole

if TYPE_CHECKING:
    import pytest
    from syrupy.types import SerializedData, SnapshotIndex


def accept(item: pytest.Item, benchmark: str, text: str) -> bool:
    """Write a baseline unless its file already holds this text; return whether it was written."""
    assertion = SnapshotAssertion(
        session=SnapshotSession(pytest_session=item.session),
        extension_class=BaselineExtension,
        test_location=PyTestLocation(item),
        update_snapshots=True,
    )
    accepted = assertion(name=benchmark) == text
    (execution,) = assertion.executions.values()
    if not accepted and execution.exception is not None:
        raise execution.exception
    return execution.created or execution.updated


class BaselineExtension(AbstractSyrupyExtension):
    """Keeps each benchmark's baseline in a JSON file of its own; the index is its name."""

    file_extension = "json"
    snapshot_dirname = files.FOLDER
    write_immediately = True

    def serialize(self, data: str, **_options: Any) -> str:
        """Return the text of a baseline, which is already JSON."""
        return data

    @classmethod
    def get_location(
        cls, *, test_location: PyTestLocation, index: SnapshotIndex
    ) -> str:
        """Return the file of a benchmark's baseline."""
        return str(files.path_of(Path(test_location.filepath), str(index)))

    @classmethod
    def get_snapshot_name(
        cls,
        *,
        test_location: PyTestLocation,
        index: SnapshotIndex = 0,  # noqa: ARG003 - syrupy's signature
    ) -> str:
        """Name the only snapshot of a file as its item, to which syrupy relates it."""
        return test_location.snapshot_name

    @classmethod
    def matches_test_location(
        cls, *, test_location: PyTestLocation, snapshot_location: str
    ) -> bool:
        """Check whether a baseline belongs to this benchmark file or test file."""
        folder = files.folder_of(Path(test_location.filepath))
        return Path(snapshot_location).parent == folder

    def discover_snapshots(self, **_options: Any) -> SnapshotCollections:
        """Find nothing: `unused` knows which baselines are unused."""
        return SnapshotCollections()

    def read_snapshot_collection(self, *, snapshot_location: str) -> SnapshotCollection:
        """Return an empty collection: nothing is discovered."""
        return SnapshotCollection(location=snapshot_location)

    def read_snapshot_data_from_location(
        self,
        *,
        snapshot_location: str,
        snapshot_name: str,  # noqa: ARG002 - syrupy's signature
        session_id: str,  # noqa: ARG002 - the same
    ) -> SerializedData | None:
        """Return a baseline's text; one that is not UTF-8 reads as empty and is replaced."""
        try:
            return Path(snapshot_location).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except UnicodeDecodeError:
            return ""

    @classmethod
    def write_snapshot_collection(
        cls,
        *,
        snapshot_collection: SnapshotCollection,
        name_order: dict[str, int] | None = None,  # noqa: ARG003 - syrupy's signature
    ) -> None:
        """Write a baseline completely or not at all."""
        path = Path(snapshot_collection.location)
        (snapshot,) = snapshot_collection
        write_whole(path, [str(snapshot.data).encode()])

    def delete_snapshots(
        self, *, snapshot_location: str, snapshot_names: set[str]
    ) -> None:
        """Delete nothing: only ``--evalmetrics-delete-unused`` deletes baselines."""
