"""Whether another process of this machine is there, and since when."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def is_running(process: int) -> bool:
    """Whether a process is there, another user's too."""
    if not 0 < process < 2**31:  # 0 and less are groups of processes
        return False
    if sys.platform == "win32":  # there os.kill(process, 0) would end it
        return _is_running_on_windows(process)
    try:
        os.kill(process, 0)
    except OSError as error:  # of another user's process: not permitted
        return not isinstance(error, ProcessLookupError)
    return True


if sys.platform == "win32":

    def _is_running_on_windows(process: int) -> bool:
        """Whether a process can be waited for, and has not ended."""
        import ctypes  # there alone

        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        handle = kernel.OpenProcess(0x100000, False, process)  # SYNCHRONIZE
        if not handle:
            return ctypes.get_last_error() == 5  # ERROR_ACCESS_DENIED: another user's
        runs: bool = kernel.WaitForSingleObject(handle, 0) == 0x102  # WAIT_TIMEOUT
        kernel.CloseHandle(handle)
        return runs


def start_of(process: int) -> str:
    """Return the start time of a process in any unit, or an empty text if unknown."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
        return stat.rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
