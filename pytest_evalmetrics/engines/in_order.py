"""What is heard of jobs in any order, taken in the order of the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from pytest_evalmetrics.transport import Occurrences

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator

__all__ = ["UNSETTLED", "FirstOfJob", "InOrder"]

UNSETTLED = -1  # the count of a first call that is not known yet

_What = TypeVar("_What")


class InOrder(Generic[_What]):
    """Holds back what is heard of a job until all jobs before it were heard of."""

    def __init__(self) -> None:
        self._heard: dict[int, _What | None] = {}
        self._next = 0

    def is_past(self, order: int) -> bool:
        """Whether a job's turn has come and gone."""
        return order < self._next

    def hear(self, order: int, what: _What | None) -> Iterator[tuple[int, _What]]:
        """Hear of a job.

        Parameters
        ----------
        order
            The job's place in the order of all, from 0; what is heard twice counts once.
        what
            What there is to take in its turn; None for nothing, as far as is known.

        Yields
        ------
        order, what
            What has its turn by this.
        """
        if order >= self._next and self._heard.get(order) is None:
            self._heard[order] = what
        while self._next in self._heard:
            settled, found = self._next, self._heard.pop(self._next)
            self._next += 1
            if found is not None:
                yield settled, found


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
