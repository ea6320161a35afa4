"""Python processes that wait for a work to help with.

They are started as plain Python, not by `multiprocessing`: neither a fork of a process that
has threads nor a second run of the user's main module can do harm.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.helpers.board import Board

__all__ = ["Helpers"]

# what the package is found by here may not be what a fresh interpreter finds it by
_HELPER: Final = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from pytest_evalmetrics.helpers.helper import main; main()"
)


class Helpers:
    """Processes of this machine.

    Parameters
    ----------
    count
        How many; there are fewer, or none, where they can't be started.
    modules
        What they import while they wait.
    """

    def __init__(self, count: int, modules: Sequence[str] = ()) -> None:
        self.processes: list[subprocess.Popen[bytes]] = []
        self._owner = os.getpid()
        try:
            for _ in range(count if sys.executable else 0):
                self.processes.append(_started())
                self._tell(self.processes[-1], sys.path, tuple(modules))
        except OSError:
            pass
        except BaseException:
            self.close()
            raise

    def help_with(self, board: Board) -> None:
        """Let them do the jobs of a board until there are no more, and then end."""
        for process in self.processes:
            self._tell(process, board)

    def at_work(self) -> bool:
        """Whether there is still one."""
        return any(process.poll() is None for process in self.processes)

    def close(self) -> None:
        """End them; a fork of the process that started them leaves them alone."""
        if os.getpid() != self._owner:
            return
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()
            with suppress(OSError):  # what it did not read any more
                cast("IO[bytes]", process.stdin).close()
        self.processes.clear()

    @staticmethod
    def _tell(process: subprocess.Popen[bytes], *said: Any) -> None:
        with suppress(OSError):  # it died
            stdin = cast("IO[bytes]", process.stdin)  # stays open: its end tells that we are gone
            stdin.write(b"".join(pickle.dumps(what) for what in said))
            stdin.flush()


def _started() -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - this very Python
        [sys.executable, "-P", "-c", _HELPER],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # they multiply no matrices
    )
