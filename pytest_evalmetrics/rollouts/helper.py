"""A process that helps another one to read: what `sharing` starts."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
from threading import Thread
from typing import TYPE_CHECKING

from pytest_evalmetrics.rollouts.shards import ShardReader

if TYPE_CHECKING:
    from pytest_evalmetrics.rollouts.sharing import Job

__all__ = ["main"]


def main() -> None:
    """Read shards until all are claimed, or the process that asked for them is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for that process to end this one
    job: Job = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the process that started this
    Thread(target=_end_with_the_other, daemon=True).start()
    gc.disable()
    reader = ShardReader(job.request)
    for number in job.claims():
        try:
            part = reader.read(job.shards[number])
        except Exception:  # noqa: BLE001 - the other one reads it again, and says what is wrong
            job.leave(number, None)
            return
        job.leave(number, part)


def _end_with_the_other() -> None:
    stdin = sys.stdin.fileno()  # not by its buffer, whose lock would abort this process's end
    while os.read(stdin, 1):
        pass
    os._exit(1)
