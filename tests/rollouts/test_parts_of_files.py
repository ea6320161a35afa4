"""Parts of files: shards that other processes read, ranges of remote files, rows by number."""

import gzip
import io
import pickle
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from rollouts.conftest import spec_of

from pytest_evalmetrics.errors import ArtifactError, DataError
from pytest_evalmetrics.rollouts import large, remote, remote_access
from pytest_evalmetrics.rollouts.recorded import records_at
from pytest_evalmetrics.rollouts.source import Source

# -- shards ----------------------------------------------------------------------------------


class ShardReader:
    """Reads a shard into its name, twice; none is called bad."""

    def __init__(self, request):
        self.request = request

    def read(self, shard):
        if shard == "bad":
            raise DataError("broken")
        return f"{self.request}: {shard}"


def test_a_process_answers_each_shard_and_none_for_one_that_it_can_t_read(monkeypatch):
    monkeypatch.setattr(large, "ShardReader", ShardReader)
    asked = io.BytesIO(pickle.dumps(("request", ["a", "bad", "b"])))
    answers = io.BytesIO()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=asked))
    out = SimpleNamespace(buffer=answers, flush=lambda: None)
    monkeypatch.setattr(sys, "stdout", out)
    large.serve()
    answers.seek(0)
    parts = [pickle.load(answers) for _ in range(3)]  # noqa: S301 - our own
    assert parts == ["request: a", None, "request: b"]
    assert not answers.read()


# -- remote files ----------------------------------------------------------------------------

URL = "s3://bucket/runs.jsonl"


class FileSystem:
    """A place elsewhere that holds one text, and gives parts of it."""

    def __init__(self, text, errors=()):
        self.text = text
        self.errors = set(errors)

    def cat_ranges(self, paths, starts, stops, on_error):
        assert set(paths) == {"runs.jsonl"}
        if self.errors and on_error == "raise":
            raise PermissionError("no")
        return [self.text[a:b] for a, b in zip(starts, stops, strict=True)]

    def cat_file(self, path, start, end):
        assert path == "runs.jsonl"
        return self.text[start:end]


@pytest.fixture
def elsewhere(monkeypatch):
    """Put a text elsewhere; give its source."""

    def put(text, **settings):
        system = FileSystem(text, **settings)
        for module in (remote, remote_access):
            monkeypatch.setattr(
                module, "cached_system", lambda _: (system, "runs.jsonl")
            )
        return Source(Path("runs.jsonl"), "runs.jsonl", len(text), b"", url=URL)

    return put


def test_lines_end_where_a_part_may_begin(elsewhere):
    source = elsewhere(b"1234\n12\n123456\n1\n")
    # one in about each five bytes, and where the file does
    assert remote.line_ends(source, 5) == [5, 15, 17]


def test_an_error_in_any_part_is_one_of_the_file(elsewhere):
    source = elsewhere(b"1234\n1234\n", errors=["denied"])
    with pytest.raises(DataError, match="access is denied"):
        remote.line_ends(source, 5)


def test_a_range_is_read_from_its_start_to_its_stop(elsewhere):
    elsewhere(b"0123456789")
    assert remote_access.read_range(URL, "runs.jsonl", 3, 7) == b"3456"


def test_a_range_that_arrives_in_part_is_refused(elsewhere):
    elsewhere(b"0123456789")
    with pytest.raises(DataError) as refused:
        remote_access.read_range(URL, "runs.jsonl", 8, 12)
    assert refused.value.message == "only 2 of 4 bytes arrived"


# -- rows by number --------------------------------------------------------------------------


def test_rows_are_read_by_their_numbers_over_all_files(folder):
    folder.rows([{"n": 0}, {"n": 1}], "a.jsonl")
    folder.rows([{"n": 2}, {"n": 3}], "b.jsonl")
    spec = spec_of(("a.jsonl", "b.jsonl"))
    assert list(records_at(spec, folder.path, {1, 3})) == [
        (1, "a.jsonl:2", {"n": 1}),
        (3, "b.jsonl:2", {"n": 3}),
    ]


# -- errors at a place -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "where", "message"),
    [("line", "runs.jsonl:7", "broken"), ("row", "runs.jsonl", "row 7: broken")],
)
def test_an_error_at_a_row_has_its_place_its_hint_and_its_kind(unit, where, message):
    source = Source(Path("runs.jsonl"), "runs.jsonl", 9, b"", counts=unit)
    error = source.error_at(7, "broken", "fix it", kind=ArtifactError)
    assert type(error) is ArtifactError
    assert error.where == where
    assert error.message == message
    assert error.hint == "fix it"


def test_a_limit_of_expansion_that_is_no_number_is_refused_with_its_meaning(
    folder, monkeypatch
):

    monkeypatch.setenv("EVALMETRICS_MAX_EXPANSION", "many")
    folder.write(gzip.compress(b'{"reward": 1}\n'), "runs.jsonl.gz")
    error = folder.refused("runs.jsonl.gz")
    assert (
        "how many times its size a file may expand to" in f"{error.message}{error.hint}"
    )
