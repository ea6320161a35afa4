"""Time-outs of many attempts with one timer: most of them are over long before."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["Deadlines"]

_SPARE = 64  # of those that are over, how many may wait behind one that is not


class Deadlines:
    """What `asyncio.timeout` gives, at a tenth of its price; one for each length of time.

    That makes, moves and takes back a timer of the loop for each attempt. Attempts that may
    take equally long end in the order in which they began: one timer, for the first, is enough.

    Parameters
    ----------
    seconds
        How long each of them may take.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._waiting: deque[_Deadline] = deque()
        self._over = 0  # of those that wait
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        """How many are held, over or not."""
        return len(self._waiting)

    def start(self) -> _Deadline:
        """Give a deadline for what the current task does in a ``with`` block."""
        loop = asyncio.get_running_loop()
        deadline = _Deadline(self, loop.time() + self._seconds)
        self._waiting.append(deadline)
        if self._timer is None:
            self._timer = loop.call_at(deadline.at, self._expire, loop)
        return deadline

    def ended(self) -> None:
        """Let go of what is over."""
        self._over += 1
        waiting = self._waiting
        while waiting and waiting[0].task is None:
            waiting.popleft()
            self._over -= 1
        if self._over > _SPARE + len(waiting) // 2:
            self._waiting = deque(each for each in waiting if each.task is not None)
            self._over = 0

    def _expire(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        now = loop.time()
        for deadline in self._waiting:
            if deadline.task is None or deadline.passed:
                continue
            if deadline.at > now:
                self._timer = loop.call_at(deadline.at, self._expire, loop)
                return
            deadline.passed = True
            deadline.task.cancel()


class _Deadline:
    """Raises `TimeoutError` out of its block when its time has come, as `asyncio.timeout` does."""

    __slots__ = ("_cancelling", "_of", "at", "passed", "task")

    def __init__(self, of: Deadlines, at: float) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a deadline is a task's")
        self._of = of
        self._cancelling = task.cancelling()
        self.at = at
        self.task: asyncio.Task[object] | None = task
        self.passed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        task, self.task = self.task, None
        self._of.ended()
        if self.passed and task is not None:
            # where somebody else cancelled the task as well, that goes before
            ours_alone = task.uncancel() <= self._cancelling
            if ours_alone and kind is not None and issubclass(kind, asyncio.CancelledError):
                raise TimeoutError from error
