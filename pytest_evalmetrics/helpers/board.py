"""Where processes that share a work claim its jobs, and leave what came of them."""

from __future__ import annotations

import os
import pickle
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import msgspec

from pytest_evalmetrics.helpers.jobs import PAUSE

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["Board", "Left"]

_OFTEN: Final = 8  # times while the helpers get from their place to as far as they may


class Left(msgspec.Struct, frozen=True):
    """What came of a job: what it gave, if it did not fail."""

    value: Any = None
    failed: bool = False


class Board(msgspec.Struct, frozen=True):
    """A folder that the processes have in common; the jobs are numbered as they are handed in.

    Attributes
    ----------
    folder
        The folder.
    lead
        How many jobs helpers may be ahead of what was last asked for; None for no limit.
    """

    folder: Path
    lead: int | None = None

    def claim(self, number: int) -> bool:
        """Claim a job, if nobody has claimed it yet."""
        try:
            os.close(os.open(self.folder / f"{number}.claim", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True

    def not_too_early(self, number: int) -> None:
        """Wait until what was last asked for is near enough to a job."""
        if self.lead is None:
            return
        while number - self._asked_for() > self.lead:
            time.sleep(PAUSE)

    def ask_for(self, number: int) -> None:
        """Tell the helpers how far the work is, now and then: writing a file takes its time."""
        if self.lead is not None and number % max(1, self.lead // _OFTEN) == 0:
            self._position.write_bytes(b"%d\n" % number)

    def leave(self, number: int, left: Left) -> None:
        """Leave what came of a job for the others."""
        name = self.folder / f"{number}.new"
        with name.open("wb") as file:
            pickle.dump(left, file, protocol=pickle.HIGHEST_PROTOCOL)
        name.replace(self._left(number))

    def take(self, number: int) -> Left | None:
        """Take what another process left; None if there is nothing yet."""
        try:
            with self._left(number).open("rb") as file:
                left: Left = pickle.load(file)  # noqa: S301 - our own helper wrote it
        except FileNotFoundError:
            return None
        self._left(number).unlink()
        return left

    def _asked_for(self) -> int:
        with suppress(OSError, ValueError):  # it is just being written
            return int(self._position.read_bytes())
        return 0

    @property
    def work(self) -> Path:
        """The file that the work is in."""
        return self.folder / "work"

    @property
    def jobs(self) -> Path:
        """The file that its jobs are handed in by."""
        return self.folder / "jobs"

    @property
    def _position(self) -> Path:
        return self.folder / "position"

    def _left(self, number: int) -> Path:
        return self.folder / f"{number}.left"
