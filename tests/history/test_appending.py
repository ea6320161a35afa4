"""Lines are added whole, whoever else adds some, and nothing that is there is lost."""

import os
import subprocess
import sys

import pytest
from history.test_anchors import run

from pytest_evalmetrics.errors import ArtifactError, BaselineError
from pytest_evalmetrics.history import append, read_history

WRITER = """
import sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from history.test_anchors import run
from pytest_evalmetrics.history import append

print("ready", flush=True)
sys.stdin.readline()
for i in range(50):
    append(Path("h.jsonl"), [run(i, agent=sys.argv[1] * 2000), run(i)], "h.jsonl")
"""


def test_two_processes_lose_nothing(tmp_path):
    tests = os.fspath(__import__("pathlib").Path(__file__).parents[1])
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER.format(tests=tests), name],
            cwd=tmp_path,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for name in ("a", "b")
    ]
    for writer in writers:
        assert writer.stdout
        assert writer.stdout.readline() == b"ready\n"
    for writer in writers:
        writer.communicate(b"go\n")
        assert writer.returncode == 0
    found = read_history(tmp_path / "h.jsonl", "h")
    assert found.broken == ()
    assert len(found.runs["x.bench.yaml::x"]) == 200


def test_half_a_line_is_told_and_swallows_nothing(tmp_path):
    path = tmp_path / "h.jsonl"
    append(path, [run(0.5)], "h")
    with path.open("a") as file:
        file.write('{"schema_version": 1, "bench')
    append(path, [run(0.7)], "h")
    found = read_history(path, "h")
    assert len(found.runs["x.bench.yaml::x"]) == 2
    assert found.broken == ("h:2: this is no run: Input data was truncated",)
    assert path.read_text().count("\n") == 3


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("nonsense", "h:1: this is no run: "),
        ('{"schema_version": 1}', "h:1: this is no run: "),
        ("[]", "h:1: this is no run: "),
        ("[" * 100_000, "h:1: this is no run: "),
        ("\x00", "h:1: this is no run: "),
    ],
)
def test_a_broken_line_is_told_by_its_place(tmp_path, line, told):
    path = tmp_path / "h.jsonl"
    path.write_text(f"{line}\n\n  \n")
    append(path, [run(0.5)], "h")
    found = read_history(path, "h")
    (broken,) = found.broken
    assert broken.startswith(told)
    assert len(found.runs["x.bench.yaml::x"]) == 1
    assert path.read_text().startswith(line)


def test_a_version_that_is_not_known_is_told(tmp_path):
    path = tmp_path / "h.jsonl"
    append(path, [run(0.5) | {"schema_version": 2}] * 5, "h")
    found = read_history(path, "h")
    assert found.broken[0] == "h:1: this run has the schema version 2, and 1 is known"
    assert len(found.notes()) == 4
    assert found.notes()[-1] == "history: and 2 more broken lines"


def test_what_can_t_be_written_or_read_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ArtifactError, match="the history can't be written"):
        append(tmp_path / "file" / "h.jsonl", [run(0.5)], "h")
    with pytest.raises(ArtifactError, match="the history can't be written"):
        append(tmp_path, [run(0.5)], "h")
    with pytest.raises(BaselineError, match="can't be read"):
        read_history(tmp_path, "h")


def test_a_full_disk_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "h.jsonl"
    append(path, [run(0.5)], "h")
    before = path.read_bytes()
    write, calls = os.write, []

    def full(handle, data):
        calls.append(data)
        if len(calls) > 1:
            raise OSError(28, "No space left on device")
        return write(handle, data[:10])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(ArtifactError, match="No space left"):
        append(path, [run(0.7)], "h")
    assert path.read_bytes() == before
