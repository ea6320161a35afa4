"""How far a run is: counts, a rate, the time left; printing is somebody else's."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_evalmetrics.transport.wire import Clock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

__all__ = ["Progress", "ProgressState"]

_WINDOW_S = 30.0  # the rate is that of the last half minute
_SAMPLES = 60


@dataclass(frozen=True, slots=True)
class ProgressState:
    """How far a run is.

    Attributes
    ----------
    label
        What runs.
    done
        Rows that have ended, well or not.
    total
        All rows; None where nobody knows yet.
    failed
        Rows that ended in an error, per category.
    examples
        The first message of each category.
    from_journal
        Rows that were answered without a call.
    elapsed_s
        Seconds since the start.
    rate
        Rows per second that were called for, lately; None before there is one.
    left_s
        Seconds that are left at this rate; None where it can't be told.
    cost
        What it has cost so far; None where it is not known.
    unit
        What is counted.
    """

    label: str
    done: int
    total: int | None
    failed: Mapping[str, int]
    examples: Mapping[str, str]
    from_journal: int
    elapsed_s: float
    rate: float | None
    left_s: float | None
    cost: float | None
    unit: str = "rows"

    @property
    def text(self) -> str:
        """One line for a log."""
        whole = f"/{self.total} ({self.done / self.total:.0%})" if self.total else ""
        one = (self.total or self.done) == 1
        parts = [f"{self.done}{whole} {self.unit.removesuffix('s') if one else self.unit}"]
        if self.from_journal:
            parts.append(f"{self.from_journal} from the journal")
        if self.failed:
            kinds = ", ".join(f"{kind} {count}" for kind, count in self.failed.items())
            parts.append(f"{sum(self.failed.values())} failed ({kinds})")
        if self.rate is not None:
            parts.append(f"{self.rate:.3g} {self.unit}/s")
        if self.left_s is not None and self.done != self.total:
            parts.append(f"{_duration(self.left_s)} left")
        else:
            parts.append(_duration(self.elapsed_s))
        if self.cost is not None:
            parts.append(f"cost {self.cost:.4g}")
        return f"{self.label}: {', '.join(parts)}" if self.label else ", ".join(parts)


class Progress:
    """Counts rows, and says now and then how far the run is.

    Parameters
    ----------
    label
        What runs.
    total
        All rows, if known.
    emit
        Takes a line for the log, at most one every `every_s` seconds.
    on_change
        Takes each new state, at most one every `frame_s` seconds, for a live bar.
    cost
        Gives what it has cost so far.
    every_s, frame_s
        Seconds.
    clock
        Its `monotonic` alone is used here.
    """

    def __init__(
        self,
        label: str = "",
        total: int | None = None,
        *,
        emit: Callable[[str], None] | None = None,
        on_change: Callable[[ProgressState], None] | None = None,
        cost: Callable[[], float | None] | None = None,
        every_s: float = 5.0,
        frame_s: float = 0.1,
        clock: Clock | None = None,
    ) -> None:
        self.label = label
        self.total = total
        self.unit = "rows"
        self._emit, self._on_change, self._cost = emit, on_change, cost
        self._every_s, self._frame_s = every_s, frame_s
        self._now = (clock or Clock()).monotonic
        self._start = self._emitted = self._now()
        self._shown = float("-inf")
        self._done = self._from_journal = 0
        self._failed: dict[str, int] = {}
        self._examples: dict[str, str] = {}
        # (when, rows called for until then), some of the last half minute
        self._called: deque[tuple[float, int]] = deque([(self._start, 0)])

    def succeeded(self, *, from_journal: bool = False) -> None:
        """Count a row that has its scores."""
        self._done += 1
        self._from_journal += from_journal
        self.tick()

    def failed(self, kind: str, example: str = "") -> None:
        """Count a row that ended in an error."""
        self._done += 1
        self._failed[kind] = self._failed.get(kind, 0) + 1
        self._examples.setdefault(kind, example)
        self.tick()

    def tick(self) -> None:
        """Say how far the run is, if it is time."""
        now = self._now()
        if now - self._called[-1][0] >= _WINDOW_S / _SAMPLES:
            self._called.append((now, self._done - self._from_journal))
            # one sample older than the window stays: the rate is always over all of it
            while len(self._called) > 2 and now - self._called[1][0] > _WINDOW_S:  # noqa: PLR2004
                self._called.popleft()
        if self._on_change is not None and now - self._shown >= self._frame_s:
            self._shown = now
            self._on_change(self.state())
        if self._emit is not None and now - self._emitted >= self._every_s:
            self._emitted = now
            self._emit(self.state().text)

    def finish(self) -> None:
        """Show the last state, whenever the last one was; and log it if any was logged."""
        state = self.state()
        if self._on_change is not None:
            self._on_change(state)
        if self._emit is not None and self._emitted > self._start:
            self._emit(state.text)

    def state(self) -> ProgressState:
        """Give the counts as they are now."""
        now = self._now()
        then, called = self._called[0]
        recent = self._done - self._from_journal - called
        rate = recent / (now - then) if recent > 0 and now > then else None
        left = None
        if self.total is not None and rate is not None:
            left = max(0, self.total - self._done) / rate
        return ProgressState(
            label=self.label,
            done=self._done,
            total=self.total,
            failed=dict(self._failed),
            examples=dict(self._examples),
            from_journal=self._from_journal,
            elapsed_s=now - self._start,
            rate=rate,
            left_s=left,
            cost=self._cost() if self._cost is not None else None,
            unit=self.unit,
        )

    @asynccontextmanager
    async def ticking(self, clock: Clock | None = None) -> AsyncIterator[None]:
        """Tick while something runs, so that a run that hangs says so too."""
        sleep = (clock or Clock()).sleep

        async def tick_on() -> None:
            while True:
                await sleep(min(self._every_s, 1.0))
                self.tick()

        task = asyncio.ensure_future(tick_on())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            self.finish()


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:  # noqa: PLR2004 - a minute
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    hours, over = divmod(minutes, 60)
    return f"{hours} h {over:02} min" if hours else f"{minutes} min {rest:02} s"
