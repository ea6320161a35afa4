"""pytest in a pseudo terminal: what a person sees, and what the terminal is sent."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
from typing import TYPE_CHECKING

from forked import Run, can_fork

if TYPE_CHECKING:
    from pathlib import Path

_COLOURS = re.compile(r"\x1b\[[\d;]*m")
LINK = re.compile(r"\x1b\]8;;(.*?)\x1b\\")


def sent_to_terminal(
    folder: Path, *flags: str, columns: int = 80, **environ: str
) -> str:
    """Run pytest in a terminal of so many columns; return all that it is sent."""
    import fcntl  # these are not on Windows
    import pty
    import termios

    ours, theirs = pty.openpty()
    size = struct.pack("HHHH", 24, columns, 0, 0)
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, size)
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("COLUMNS", "LINES", "NO_COLOR", "PY_COLORS")
    }
    environment = {**kept, "TERM": "xterm", **environ}
    command = [sys.executable, "-mpytest", *flags]
    run: Run | subprocess.Popen[bytes]
    with os.fdopen(theirs, "wb") as terminal:
        if can_fork(command, environment):
            run = Run(command, folder, environment, terminal, terminal)
        else:
            run = subprocess.Popen(
                command, cwd=folder, env=environment, stdout=terminal, stderr=terminal
            )
    seen = b""
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # how Linux says that the other side is closed
            break
        if not piece:
            break
        seen += piece
    os.close(ours)
    run.wait()
    return seen.decode()


def lines_of(sent: str) -> list[str]:
    """Return the lines that a person reads: without colours and addresses of links."""
    text = LINK.sub("", _COLOURS.sub("", sent))
    return [line.rpartition("\r")[2] for line in text.replace("\r\n", "\n").split("\n")]
