"""Lines are added whole, whoever else adds some, and nothing that is there is lost."""

import json
import os
import subprocess
import sys

import pytest

KEEP = ("--evalmetrics-history", "h.jsonl")
WRITER = """
import sys
from pathlib import Path
from pytest_evalmetrics.history import append

print("ready", flush=True)
sys.stdin.readline()
for i in range(50):
    append(Path("h.jsonl"), [{"run": sys.argv[1] * 2000}, {"run": i}], "h.jsonl")
"""
BROKEN = ["nonsense", '{"schema_version": 1}', "[]", "[" * 100_000, "\x00"]


def test_two_processes_lose_nothing(tmp_path):
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, name],
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
    runs = [
        json.loads(line)["run"]
        for line in (tmp_path / "h.jsonl").read_text().splitlines()
    ]
    assert len(runs) == 200
    assert (runs.count("a" * 2000), runs.count("b" * 2000)) == (50, 50)


@pytest.fixture
def kept(project, passing):
    """A benchmark with one run in its history."""
    passing(7)
    project.bench()
    assert project.run(*KEEP).ret == 0
    return project


def test_broken_lines_are_reported_by_their_place_and_kept(kept):
    path = kept.path / "h.jsonl"
    good = path.read_text()
    newer = json.dumps(json.loads(good) | {"schema_version": 2})
    # the last one is unfinished, and swallows nothing
    broken = "\n".join([newer, *BROKEN, '\n  \n{"schema_version": 1, "bench'])
    path.write_text(good + broken)
    result = kept.run(*KEEP)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "warning: history: h.jsonl:2: this run has the schema version 2, and 1 is known; *",
            "warning: history: h.jsonl:3: this is not a run: *",
            "warning: history: h.jsonl:4: this is not a run: *",
            "warning: history: and 4 more broken lines",
        ]
    )
    assert path.read_text().startswith(f"{good}{broken}\n")
    assert json.loads(path.read_text().splitlines()[-1])["usable"]
    assert len(kept.report()["history"]["math.bench.yaml::math"]) == 2


@pytest.mark.parametrize("name", [".", "math.bench.yaml/h.jsonl"])
def test_what_can_t_be_written_or_read_fails_the_run_and_keeps_the_reports(kept, name):
    result = kept.run("--evalmetrics-history", name)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*this history can't be read: *"])
    assert kept.report()["benchmarks"]


def test_a_full_disk_leaves_what_was_there(kept, monkeypatch):
    before = (kept.path / "h.jsonl").read_bytes()
    write, calls = os.write, []

    def full(handle, data):
        calls.append(data)
        if len(calls) > 1:
            raise OSError(28, "No space left on device")
        return write(handle, data[:10])

    monkeypatch.setattr(os, "write", full)
    result = kept.run_here(*KEEP)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["*the history can't be written: No space left on device*"]
    )
    assert calls[1] == calls[0][10:]
    assert (kept.path / "h.jsonl").read_bytes() == before
