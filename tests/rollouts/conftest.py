"""A folder with rollouts in it, and the ways to read them."""

import json
import threading
from contextlib import contextmanager
from http.server import ThreadingHTTPServer

import pytest

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.ext import FieldMap, Request
from pytest_evalmetrics.rollouts import load, load_dataset
from pytest_evalmetrics.rollouts.file_search import find_files
from pytest_evalmetrics.rollouts.large import read_large
from pytest_evalmetrics.rollouts.recorded import records
from pytest_evalmetrics.spec import RolloutsSpec


def spec_of(path, fields=None, **keys):
    return RolloutsSpec(
        path=path or ("runs.jsonl",), fields=FieldMap(**(fields or {})), **keys
    )


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

    def json(self, value, name):
        return self.write(json.dumps(value), name)

    def load(self, *path, scores=(), categories=(), spec=None, **more):
        return load(
            spec or spec_of(path, **more),
            self.path,
            scores=scores,
            categories=categories,
        )

    def shared(self, *path, count=3, size=5000):
        """Read as several processes do that share parts of `size` bytes; None if they can't."""
        files = find_files(path, self.path, fetch=False)
        return read_large(
            files, None, Request(FieldMap(), ("reward",)), count=count, size=size
        )

    def dataset(self, *path, **wanted):
        return load_dataset(spec_of(path), self.path, **wanted)

    def records(self, *path, spec=None, **more):
        return records(spec or spec_of(path, **more), self.path)

    def whole(self, *path):
        """Give the table, and its rows as scorers see them, in the table's order."""
        table = self.load(*path)
        rows = list(self.records(*path))
        assert table.read_as is not None
        assert len(rows) == len(table)
        return table, [rows[index] for index in table.read_as.tolist()]

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


@contextmanager
def serving(handler):
    """Answer requests on this machine's loopback: gives the host and port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(
            target=server.serve_forever, args=(0.01,), daemon=True
        )
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
