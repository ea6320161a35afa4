"""Rollouts that do not fit into memory are refused before it is full."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.rollouts import Chunk, Request, memory
from pytest_evalmetrics.rollouts.memory import Room, available
from pytest_evalmetrics.rollouts.part import Part
from pytest_evalmetrics.rollouts.source import Source
from pytest_evalmetrics.spec import FieldMap

if TYPE_CHECKING:
    from pathlib import Path

ROWS = 1_000_000


def part(path: Path) -> Part:
    made = Part(Request(FieldMap()))
    scores = {f"s{i}": np.zeros(ROWS) for i in range(4)}
    nothing = [None] * ROWS
    tasks = [0] * ROWS
    chunk = Chunk(np.arange(ROWS), task=tasks, sample=nothing, agent=nothing, scores=scores)
    made.add(chunk, Source(path, "a", 1, b"{"))
    return made


def test_columns_without_room_are_refused(tmp_path: Path) -> None:
    made = part(tmp_path)
    held = made.nbytes()
    assert held == ROWS * (7 * 8 + 4)
    Room(lambda: held).check(made)
    with pytest.raises(DataError) as caught:
        Room(lambda: held - 1).check(made)
    assert caught.value.message == (
        "these rollouts do not fit into memory: 1,000,000 rows with 4 columns of numbers need "
        "120,000,000 bytes, and 119,999,999 are free"
    )


def test_what_is_still_to_come_counts(tmp_path: Path) -> None:
    made = part(tmp_path)
    Room(lambda: 19 * made.nbytes()).check(made, 0.1)
    with pytest.raises(DataError, match="10,000,000 rows"):
        Room(lambda: 18 * made.nbytes()).check(made, 0.1)


def test_where_nobody_tells_nothing_is_refused(tmp_path: Path) -> None:
    Room(lambda: None).check(part(tmp_path))


def test_it_looks_now_and_then(tmp_path: Path) -> None:
    looks = []
    room = Room(lambda: looks.append(1))
    made = part(tmp_path)
    for _ in range(3):
        room.check(made)
    assert len(looks) == 1


@pytest.mark.parametrize(
    ("limit", "expected"),
    [("max", 5000 * 1024), ("4000000", 4000000 - 1000000 + 300), ("900000", 300 - 100000)],
)
def test_the_machine_and_the_container_both_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, expected: int
) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal:  9000 kB\nMemAvailable:  5000 kB\n", encoding="ascii")
    tmp_path.joinpath("memory.max").write_text(limit, encoding="ascii")
    tmp_path.joinpath("memory.current").write_text("1000000\n", encoding="ascii")
    tmp_path.joinpath("memory.stat").write_text("anon 5\ninactive_file 300\n", encoding="ascii")
    monkeypatch.setattr(memory, "_MEMORY", meminfo)
    monkeypatch.setattr(memory, "_GROUP", tmp_path)
    assert available() == max(0, expected)
    meminfo.unlink()
    assert available() is None
