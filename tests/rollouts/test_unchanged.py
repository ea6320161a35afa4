"""Whether a second look at files finds what the first did."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from pytest_evalmetrics.rollouts import unchanged
from pytest_evalmetrics.rollouts.unchanged import are_unchanged, look_at_rollouts
from pytest_evalmetrics.spec import RolloutsSpec

if TYPE_CHECKING:
    from pathlib import Path

HOUR = 3600 * 10**9  # ns


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "run.jsonl"
    path.write_text('{"reward": 1}\n', encoding="utf-8")
    return path


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at files that were written long ago."""
    now = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now() + HOUR)


def as_if_at_once(path: Path, text: str) -> None:
    """Write a file anew, and give it the time that it had."""
    told = path.stat()
    path.write_text(text, encoding="utf-8")
    os.utime(path, ns=(told.st_atime_ns, told.st_mtime_ns))


@pytest.mark.parametrize("pattern", ["run.jsonl", "*.jsonl", "r[u]n.jsonl"])
def test_what_nobody_touches_is_unchanged(run: Path, pattern: str) -> None:
    spec = RolloutsSpec(path=(pattern,))
    looks = look_at_rollouts(spec, run.parent)
    assert looks is not None
    assert are_unchanged(looks, spec, run.parent)
    assert [look.path for look in looks] == [str(run)]


@pytest.mark.parametrize("pattern", ["run.jsonl", "*.jsonl"])
def test_a_write_is_seen_though_size_and_time_are_as_before(run: Path, pattern: str) -> None:
    spec = RolloutsSpec(path=(pattern,))
    looks = look_at_rollouts(spec, run.parent)
    assert looks is not None
    # not even the file system need tell the two apart: the clock may stand still between them
    (look,) = looks
    as_if_at_once(run, '{"reward": 0}\n')
    told = run.stat()
    same = (told.st_dev, told.st_ino, told.st_size, told.st_mtime_ns, told.st_ctime_ns)
    assert not are_unchanged([look._replace(stamp=same)], spec, run.parent)


@pytest.mark.usefixtures("later")
@pytest.mark.skipif(os.name == "nt", reason="there no time tells of a write whose own was set back")
def test_an_old_file_is_known_by_its_stamp(run: Path) -> None:
    spec = RolloutsSpec(path=("run.jsonl",))
    looks = look_at_rollouts(spec, run.parent)
    assert looks is not None
    assert looks[0].digest == b""  # its bytes need not be read again
    assert are_unchanged(looks, spec, run.parent)
    while run.stat().st_ctime_ns == looks[0].stamp[-1]:  # until the clock has gone on
        as_if_at_once(run, '{"reward": 0}\n')
    assert not are_unchanged(looks, spec, run.parent)


def test_another_file_under_the_name_is_a_change(run: Path) -> None:
    spec = RolloutsSpec(path=("run.jsonl",))
    looks = look_at_rollouts(spec, run.parent)
    assert looks is not None
    other = run.with_name("other")
    other.write_text('{"reward": 1}\n', encoding="utf-8")
    other.replace(run)
    assert not are_unchanged(looks, spec, run.parent)


def test_one_more_file_that_a_glob_matches_is_a_change(run: Path) -> None:
    spec = RolloutsSpec(path=("*.jsonl",))
    looks = look_at_rollouts(spec, run.parent)
    assert looks is not None
    run.with_name("more.jsonl").write_text('{"reward": 1}\n', encoding="utf-8")
    assert not are_unchanged(looks, spec, run.parent)


@pytest.mark.parametrize("pattern", ["run.jsonl", "*.jsonl"])
def test_a_file_that_is_gone_is_a_change(run: Path, pattern: str) -> None:
    spec = RolloutsSpec(path=(pattern,))
    looks = look_at_rollouts(spec, run.parent)
    assert looks is not None
    run.unlink()
    assert not are_unchanged(looks, spec, run.parent)


def test_nothing_is_seen_of_what_is_no_plain_file(run: Path) -> None:
    base = run.parent
    assert look_at_rollouts(RolloutsSpec(path=("none.jsonl",)), base) is None
    assert look_at_rollouts(RolloutsSpec(path=(".",)), base) is None
    if hasattr(os, "mkfifo"):
        os.mkfifo(base / "pipe.jsonl")
        assert look_at_rollouts(RolloutsSpec(path=("pipe.jsonl",)), base) is None


def test_nothing_is_seen_of_what_is_large(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with run.open("r+b") as file:
        file.truncate(3 << 20)
    assert look_at_rollouts(RolloutsSpec(path=("run.jsonl",)), run.parent) is not None
    run.with_name("second.jsonl").write_bytes(run.read_bytes())
    monkeypatch.setattr(unchanged, "look_at", None)  # not a byte of it is read
    assert look_at_rollouts(RolloutsSpec(path=("*.jsonl",)), run.parent) is None
