"""Text that fits the terminal of a command."""

from __future__ import annotations

import os
import re
import shutil
import sys
from typing import Final

from pytest_evalmetrics.reports.console import broken

_DEEPER: Final = 4
_COLUMN: Final = re.compile(r" *\S+ {2,}(?=\S)")


def fitted(text: str) -> str:
    """Break lines that are wider than the terminal; those of a log stay as they are."""
    if not sys.stdout.isatty() and "COLUMNS" not in os.environ:
        return text
    width = shutil.get_terminal_size().columns
    lines = [
        part
        for line in text.splitlines()
        for part in broken(line, width, indent=_indent(line, width))
    ]
    return "".join(f"{line}\n" for line in lines)


def _indent(line: str, width: int) -> int:
    """Return where a line goes on: below its last column, if it has any."""
    columns = _COLUMN.match(line)
    if columns is not None and columns.end() <= width // 2:
        return columns.end()
    return len(line) - len(line.lstrip(" ")) + _DEEPER
