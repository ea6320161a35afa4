"""First calls counted in the order of the rows, in whatever order they are heard of."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.transport import Occurrences

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

__all__ = ["UNSETTLED", "FirstOfJob", "InOrder"]

UNSETTLED = -1  # the count of a first call that is not known yet


class InOrder:
    """Counts the first calls of jobs, each when those of all jobs before it are known."""

    def __init__(self) -> None:
        self._occurrences = Occurrences()
        self._heard: dict[int, int | None] = {}
        self._next = 0

    def first(self, order: int, digest: int | None) -> Iterator[tuple[int, int]]:
        """Hear of a job's first call; None if it makes none.

        Parameters
        ----------
        order
            The job's place in the order of all, from 0; what is heard twice counts once.
        digest
            Of the call's content, see `Occurrences.digest`.

        Yields
        ------
        order, count
            The jobs whose count is settled by this.
        """
        if order >= self._next:
            self._heard.setdefault(order, digest)
        while self._next in self._heard:
            known = self._heard.pop(self._next)
            if known is not None:
                yield self._next, self._occurrences.count(known)
            self._next += 1


class FirstOfJob(Occurrences):
    """Lets the first call of a job be counted by somebody else.

    Parameters
    ----------
    known
        Its count, if that is known; else it is `UNSETTLED`.
    tell
        Hears of the call.
    """

    def __init__(self, known: int | None = None, tell: Callable[[int], None] | None = None) -> None:
        super().__init__()
        self._known = known
        self._tell = tell
        self._is_first = tell is not None

    def next(self, content: bytes | None, *of: Hashable) -> int:
        """Count a call; the later ones of a job are its own affair."""
        if not self._is_first or self._tell is None:
            return super().next(content, *of)
        self._is_first = False
        if self._known is not None:
            return self._known
        self._tell(self.digest(content, *of))
        return UNSETTLED
