"""A process that helps another one: what `processes` starts."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING

from pytest_evalmetrics.helpers.board import Left
from pytest_evalmetrics.helpers.jobs import jobs_of

if TYPE_CHECKING:
    from pytest_evalmetrics.helpers.board import Board
    from pytest_evalmetrics.helpers.shared import Work

__all__ = ["main"]

_SELDOM = (100_000, 50, 100)  # the numbers that jobs give are no garbage


def main() -> None:
    """Do jobs until there are no more, or the process that asked for them is gone."""
    _help()
    os._exit(0)  # all is written: to take everything apart would keep a core busy for a while


def _help() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for that process to end this one
    gc.disable()  # of what modules are made of, nothing is garbage
    for module in pickle.load(sys.stdin.buffer):  # noqa: S301 - from the process that started this
        import_module(module)
    board: Board = pickle.load(sys.stdin.buffer)  # noqa: S301 - the same
    Thread(target=_end_with_the_other, daemon=True).start()
    with board.work.open("rb") as file:
        work: Work = pickle.load(file)  # noqa: S301 - the same
    do = work.worker()
    gc.freeze()
    gc.set_threshold(*_SELDOM)
    gc.enable()
    for number, job in enumerate(jobs_of(board.jobs)):
        if not board.claim(number):
            continue
        try:
            value = do(pickle.loads(job))  # noqa: S301 - the same
        except Exception:  # noqa: BLE001 - the other one does it again, and says what is wrong
            board.leave(number, Left(failed=True))
            return
        board.leave(number, Left(value))
        board.not_too_early(number)


def _end_with_the_other() -> None:
    stdin = sys.stdin.fileno()  # not by its buffer, whose lock would abort this process's end
    while os.read(stdin, 1):
        pass
    os._exit(1)
