"""A folder with rollouts in it, and the ways to read them."""

import json

import pytest

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.ext import FieldMap
from pytest_evalmetrics.rollouts import load
from pytest_evalmetrics.rollouts.recorded import records
from pytest_evalmetrics.spec import RolloutsSpec


class Folder:
    """The folder of a benchmark file."""

    def __init__(self, path):
        self.path = path

    def write(self, content, name="runs.jsonl"):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def rows(self, rows, name="runs.jsonl"):
        return self.write("".join(json.dumps(row) + "\n" for row in rows), name)

    def load(
        self,
        *path,
        scores=(),
        categories=(),
        format=None,  # noqa: A002 - as in a benchmark file
        fields=None,
    ):
        spec = RolloutsSpec(
            path=path or ("runs.jsonl",), format=format, fields=FieldMap(**(fields or {}))
        )
        return load(spec, self.path, scores=scores, categories=categories)

    def whole(self, *path):
        """Give the table, and its rows as scorers see them, in the table's order."""
        table = self.load(*path)
        found = list(records(RolloutsSpec(path=path), self.path))
        assert table.read_as is not None
        assert len(found) == len(table)
        return table, [found[index] for index in table.read_as.tolist()]

    def refused(self, *path, **options):
        with pytest.raises(DataError) as caught:
            self.load(*path, **options)
        return caught.value


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


@pytest.fixture
def real(acceptance):
    """What the tools themselves wrote."""
    return Folder(acceptance)
