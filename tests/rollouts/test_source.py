"""Whatever a file is wrapped in: compressed, marked, cut short, or no text at all."""

import gzip
import json
import os
import random
import sys

import pytest
from rollouts.small import BLOCKS, Blocks

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.ext import RolloutFile, open_source

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


random_text = random.Random(1)  # noqa: S311 - what compresses badly
ROWS = "".join(
    json.dumps(
        {"_ng_task_index": i, "reward": 1, "text": f"{random_text.getrandbits(800):x}"}
    )
    + "\n"
    for i in range(3000)
).encode()
pack = pytest.mark.parametrize(
    "pack", [gzip.compress, zstd.compress], ids=["gzip", "zstd"]
)


@pack
@pytest.mark.parametrize("name", ["runs.jsonl", "runs.jsonl.gz", "runs.bin"])
def test_compressed_files_whatever_they_are_called(folder, pack, name):
    path = folder.write(pack(ROWS), name)
    table = folder.load(name)
    assert len(table) == 3000
    assert table.sources[0].size == path.stat().st_size
    rows = [json.loads(line) for line in ROWS.splitlines()]
    half = ROWS.index(b"\n", len(ROWS) // 2) + 1
    for packed in (
        pack(json.dumps(rows, indent=1).encode()),
        pack(ROWS[:half]) + pack(ROWS[half:]),
    ):
        folder.write(packed, name)
        assert len(folder.load(name)) == 3000


@pack
def test_a_compressed_file_that_is_cut_short_or_damaged(folder, pack):
    packed = pack(ROWS)
    for kept in (0.001, 0.3, 0.99):
        folder.write(packed[: int(len(packed) * kept)])
        error = folder.refused()
        assert error.file == "runs.jsonl"
        assert error.message == "the compressed file ends too early"
    folder.write(packed[:20] + bytes(380) + packed[400:])
    assert "damaged" in folder.refused().message


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n\n", "\n  \t\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("start", ["", "\n \n"])
def test_line_ends_blank_lines_and_marks(folder, end, mark, start):
    rows = [f'{{"_ng_task_index": {i}, "_ng_rollout_index": 0}}' for i in range(300)]
    folder.write(mark + start.encode() + end.join([*rows, ""]).encode(), "whole.jsonl")
    folder.write(mark + start.encode() + end.join(rows).encode(), "open.jsonl")
    # the last row once more: the message has to name its line all the same
    folder.write(
        mark + start.encode() + end.join([*rows, rows[0]]).encode(), "twice.jsonl"
    )
    lines = start.count("\n") + 1, start.count("\n") + 300 * end.count("\n") + 1
    for form in (None, BLOCKS):
        assert folder.load("whole.jsonl", format=form).tasks == tuple(range(300))
        assert folder.load("open.jsonl", format=form).tasks == tuple(range(300))
        error = folder.refused("twice.jsonl", format=form)
        assert error.line == lines[1]
        assert f"twice.jsonl:{lines[0]}: task 0" in error.message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"\n \n", "the file holds no row"),
        (b"\xef\xbb\xbf", "the file holds no row"),
        (gzip.compress(b""), "the file holds no row"),
        (b"[]", "the file holds no row"),
        (b" [\n ]\n", "the file holds no row"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\n",
            "Git LFS pointer",
        ),
        ('{"a": 1}'.encode("utf-16"), "this is UTF-16 text"),
        ('{"a": 1}'.encode("utf-16-le"), "this is UTF-16 text"),
        (b"PK\x03\x04rest", "this is a zip archive"),
        (b"PAR1rest", "this is a Parquet file"),
        (b"BZh91AY", "compressed with bzip2"),
        (b"\xfd7zXZ\x00", "compressed with xz"),
        (bytes(range(256)), "this is a binary file"),
    ],
)
def test_what_is_no_rollouts(folder, content, message):
    folder.write(content)
    error = folder.refused()
    assert message in error.message
    assert error.file == "runs.jsonl"
    assert error.hint
    assert "LFS" not in message or error.hint == "run: git lfs pull"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_not_waited_for(folder):
    os.mkfifo(folder.path / "pipe")
    error = folder.refused("pipe")
    assert error.message == "this is not a regular file"
    assert error.hint == "copy it into a file"


@pytest.mark.parametrize(
    ("raised", "message"),
    [
        (PermissionError(13, "Permission denied"), "no permission to read this file"),
        (
            OSError(5, "Input/output error"),
            "the file can't be read: Input/output error",
        ),
        (FileNotFoundError(2, "No such file"), "there is no such file"),
    ],
)
def test_system_errors_are_put_into_words(folder, monkeypatch, raised, message):
    def denied(*_, **__):
        raise raised

    path = folder.write(ROWS)
    monkeypatch.setattr(type(path), "open", denied)  # whoever runs the test
    with pytest.raises(DataError) as caught:
        open_source(RolloutFile(path, "runs/a.jsonl"))
    assert (caught.value.where, caught.value.message) == ("runs/a.jsonl", message)


class Raising(Blocks):
    """Breaks as a loader of a user's own may."""

    def read(self, source):
        raise ValueError(f"nothing in {source.shown}")


def test_a_loader_that_raises_is_named(folder):
    folder.write(ROWS)
    refused = folder.refused(format="rollouts.test_source:Raising")
    assert (
        refused.message
        == "its loader can't read this: ValueError: nothing in runs.jsonl"
    )
    assert refused.file == "runs.jsonl"


class Meanwhile(Blocks):
    """Reads a file that another process writes to."""

    def read(self, source):
        yield from super().read(source)
        source.path.write_bytes(ROWS + ROWS)


def test_a_file_that_is_written_to_while_it_is_read_is_refused(folder):
    folder.write(ROWS)
    refused = folder.refused(format="rollouts.test_source:Meanwhile")
    assert refused.message == "this file was changed while it was read"
    assert refused.file == "runs.jsonl"
