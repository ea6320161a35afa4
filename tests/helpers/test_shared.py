"""Work that real processes share."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from typing import TYPE_CHECKING

import pytest
from helpers.squares import Squares

from pytest_evalmetrics.helpers import board as board_module
from pytest_evalmetrics.helpers import processes as processes_module
from pytest_evalmetrics.helpers.board import Board, Left
from pytest_evalmetrics.helpers.processes import Helpers
from pytest_evalmetrics.helpers.shared import JobFailed, Shared

if TYPE_CHECKING:
    from pathlib import Path


def squares_of(count: int, helpers: Helpers, work: Squares | None = None) -> Shared:
    """Begin with the squares of the first numbers."""
    shared = Shared(work or Squares(), helpers)
    shared.add(range(count))
    shared.complete()
    return shared


def ended(shared: Shared) -> list[int]:
    return [helper.wait(60) for helper in shared._helpers.processes]


def test_every_job_is_done_once_by_whoever_is_free() -> None:
    with squares_of(20, Helpers(2)) as shared:
        assert ended(shared) == [0, 0]  # they have done it all
        found = [shared.get(number) for number in range(20)]
    assert [square for square, _ in found] == [n**2 for n in range(20)]
    assert os.getpid() not in {who for _, who in found}


def test_this_process_works_while_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes_module, "_HELPER", "import time; time.sleep(60)")
    with squares_of(20, Helpers(2)) as shared:
        found = [shared.get(number) for number in range(20)]
    assert found == [(n**2, os.getpid()) for n in range(20)]


def test_without_helpers_this_process_does_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    for interpreter in (sys.executable, "", "/none"):
        monkeypatch.setattr(sys, "executable", interpreter)
        with squares_of(3, Helpers(0 if interpreter == sys.executable else 2)) as shared:
            assert [shared.get(number)[0] for number in range(3)] == [0, 1, 4]


def test_a_job_that_a_helper_can_not_do_is_told() -> None:
    with squares_of(5, Helpers(1), Squares(os.getpid(), only_at_home=(2,))) as shared:
        assert ended(shared) == [0]
        assert shared.get(0)[0] == 0
        assert shared.get(1)[0] == 1
        with pytest.raises(JobFailed):
            shared.get(2)
        assert shared.get(3) == (9, os.getpid())  # it went no further


def test_what_a_helper_claimed_and_never_did_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    dies = (
        "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer)\n"
        "pickle.load(sys.stdin.buffer); board = pickle.load(sys.stdin.buffer)\n"
        "board.claim(0) or board.claim(1); raise SystemExit(7)"
    )
    monkeypatch.setattr(processes_module, "_HELPER", dies)
    with squares_of(5, Helpers(2)) as shared:
        assert ended(shared) == [7, 7]
        assert [shared.get(number) for number in range(5)] == [
            (n**2, os.getpid()) for n in range(5)
        ]


def test_helpers_begin_before_all_jobs_are_known() -> None:
    with Shared(Squares(), Helpers(1)) as shared:
        for number in (7, 8, 9):
            shared.add([number])
            left = shared._board._left(number - 7)
            until = time.monotonic() + 60  # it would wait for ever for all of them
            while not left.exists() and time.monotonic() < until:
                assert shared._helpers.at_work()
                time.sleep(0.001)
            assert left.exists()
        shared.complete()
        assert ended(shared) == [0]
        assert [shared.get(number)[0] for number in range(3)] == [49, 64, 81]


def test_what_nobody_has_claimed_can_be_taken_back() -> None:
    helpers = Helpers(0)
    with Shared(Squares(), helpers) as shared:
        shared.add(range(5))
        assert shared.get(0) == (0, os.getpid())
        assert shared.withdraw() == 5
        shared.add([9])
        shared.complete()
        assert shared.get(5) == (81, os.getpid())
        assert not shared._ours  # 1 to 4 were not done


def test_nothing_is_left_behind() -> None:
    with squares_of(5, Helpers(2)) as shared:
        folder, helpers = shared._board.folder, list(shared._helpers.processes)
        assert folder.is_dir()
    assert not folder.exists()
    assert all(helper.poll() is not None for helper in helpers)


def test_helpers_do_not_run_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board = Board(tmp_path, lead=16)
    paused: list[int] = []

    def pause(_: float) -> None:
        paused.append(len(paused))
        board.ask_for(len(paused))

    monkeypatch.setattr(board_module.time, "sleep", pause)
    board.not_too_early(16)
    assert not paused
    board.not_too_early(20)
    assert len(paused) == 4
    Board(tmp_path).not_too_early(99)
    assert len(paused) == 4


def test_a_position_that_is_just_being_written_is_the_first(tmp_path: Path) -> None:
    board = Board(tmp_path, lead=2)
    (tmp_path / "position").write_bytes(b"")
    board.not_too_early(2)


def test_a_board_holds_what_was_left_until_it_is_taken(tmp_path: Path) -> None:
    board = Board(tmp_path)
    assert board.claim(1)
    assert not board.claim(1)
    assert board.take(1) is None
    board.leave(1, Left(None))
    assert board.take(1) == Left(None)
    assert board.take(1) is None


def test_without_room_there_are_no_helpers(monkeypatch: pytest.MonkeyPatch) -> None:
    helpers = Helpers(1)
    process = helpers.processes[0]
    monkeypatch.setattr(tempfile, "tempdir", "/none")
    with pytest.raises(OSError, match="/none"):
        Shared(Squares(), helpers)
    assert process.poll() is not None


def test_helpers_import_while_they_wait() -> None:
    helpers = Helpers(1, ["no_such_module"])
    assert helpers.processes[0].wait(60) == 1
    assert not helpers.at_work()
    with squares_of(3, helpers) as shared:
        assert [shared.get(number)[0] for number in range(3)] == [0, 1, 4]
