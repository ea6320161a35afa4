"""A work whose jobs are done by several processes at once, this one among them.

Whoever is free claims the next job. This process works too while it waits, so that it need
not wait for the others to start, and goes on alone where they can't start or break down.
"""

from __future__ import annotations

import pickle
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from pytest_evalmetrics.helpers.board import Board, Left
from pytest_evalmetrics.helpers.jobs import PAUSE, HandedIn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pytest_evalmetrics.helpers.processes import Helpers

__all__ = ["JobFailed", "Shared", "Work"]


class Work(Protocol):
    """How jobs are done; can be pickled, as can the jobs."""

    def worker(self) -> Callable[[Any], Any]:
        """Return what does a job, and may learn from one for the next."""
        ...


class JobFailed(Exception):  # noqa: N818 - no error that anybody sees
    """A helper could not do a job."""


class Shared:
    """A work that is under way.

    Parameters
    ----------
    work
        The work.
    helpers
        Who helps with it; they are ended with it.
    lead
        How many jobs they may be ahead of what was last asked for; None for no limit.

    Raises
    ------
    OSError
        If there is no room for what they tell each other.
    """

    def __init__(self, work: Work, helpers: Helpers, *, lead: int | None = None) -> None:
        self._work = work
        self._helpers = helpers
        try:
            self._temporary = tempfile.TemporaryDirectory(
                prefix="evalmetrics-", ignore_cleanup_errors=True
            )
            self._board = Board(Path(self._temporary.name), lead)
            self._jobs = HandedIn(self._board.jobs)
        except BaseException:
            helpers.close()
            raise
        self._do = work.worker()
        self._first = 0  # the first that may still be claimed
        self._ours: dict[int, Any] = {}
        self._longest = 0.0  # seconds that a job took here
        try:
            # not through their pipes, which would have this process wait until they read
            with self._board.work.open("wb") as file:
                pickle.dump(work, file, protocol=pickle.HIGHEST_PROTOCOL)
            helpers.help_with(self._board)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        """Close it at the end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def add(self, jobs: Iterable[Any]) -> None:
        """Hand in jobs; they are numbered from 0 on.

        Raises
        ------
        OSError
            If there is no room for them.
        """
        self._jobs.add(jobs)

    def complete(self) -> None:
        """Tell the helpers that these were all: they end when all are done."""
        self._jobs.complete()

    def withdraw(self) -> int:
        """Take back the jobs that nobody has claimed; give the number of the next one."""
        while self._claimed() is not None:
            pass
        return len(self._jobs)

    def get(self, number: int) -> Any:
        """Give what a job came to; ask for each once, in their order.

        Raises
        ------
        JobFailed
            If a helper could not do it.
        Exception
            What the worker raises where it was done here.
        """
        self._board.ask_for(number)
        patience = None
        while number not in self._ours:
            left = self._board.take(number)
            if left is None:
                claimed = self._claimed()
                if claimed is not None:
                    self._ours[claimed] = self._done(claimed)
                    continue
                patience = patience or time.monotonic() + self._longest
                if self._helpers.at_work() and time.monotonic() < patience:
                    time.sleep(PAUSE)
                    continue
                # a helper broke down, or has a core that is busy with something else: its job
                # is done here after all, by a worker that has not met any later one
                left = self._board.take(number) or Left(self._work.worker()(self._jobs[number]))
            if left.failed:
                raise JobFailed
            return left.value
        return self._ours.pop(number)

    def close(self) -> None:
        """End the helpers."""
        self._helpers.close()
        self._jobs.close()
        self._temporary.cleanup()

    def _claimed(self) -> int | None:
        while self._first < len(self._jobs):
            number = self._first
            self._first += 1
            if self._board.claim(number):
                return number
        return None

    def _done(self, number: int) -> Any:
        began = time.monotonic()
        found = self._do(self._jobs[number])
        self._longest = max(self._longest, time.monotonic() - began)
        return found
