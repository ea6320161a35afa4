"""A folder with rollouts in it, and the ways to read them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.ext import FieldMap
from pytest_evalmetrics.rollouts import load
from pytest_evalmetrics.rollouts.recorded import records
from pytest_evalmetrics.spec import RolloutsSpec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from pytest_evalmetrics.ext import RolloutTable


class Folder:
    """The folder of a benchmark file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, content: str | bytes, name: str = "runs.jsonl") -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def rows(self, rows: Iterable[Mapping[str, Any]], name: str = "runs.jsonl") -> Path:
        return self.write("".join(json.dumps(row) + "\n" for row in rows), name)

    def load(
        self,
        *path: str,
        scores: Sequence[str] = (),
        categories: Sequence[str] = (),
        format: str | None = None,  # noqa: A002 - as in a benchmark file
        fields: Mapping[str, Any] | None = None,
    ) -> RolloutTable:
        spec = RolloutsSpec(
            path=path or ("runs.jsonl",), format=format, fields=FieldMap(**(fields or {}))
        )
        return load(spec, self.path, scores=scores, categories=categories)

    def whole(self, *path: str) -> tuple[RolloutTable, list[tuple[str, dict[str, Any]]]]:
        """Give the table, and its rows as scorers see them, in the table's order."""
        table = self.load(*path)
        found = list(records(RolloutsSpec(path=path), self.path))
        assert table.read_as is not None
        assert len(found) == len(table)
        return table, [found[index] for index in table.read_as.tolist()]

    def refused(self, *path: str, **options: Any) -> DataError:
        with pytest.raises(DataError) as caught:
            self.load(*path, **options)
        return caught.value


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


@pytest.fixture
def real(acceptance: Path) -> Folder:
    """What the tools themselves wrote."""
    return Folder(acceptance)
