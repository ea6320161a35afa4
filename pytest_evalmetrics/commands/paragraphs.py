"""Text that fits the terminal of a command."""

from __future__ import annotations

import os
import shutil
import sys

from pytest_evalmetrics.reports.console import broken


def fitted(text: str) -> str:
    """Break lines that are wider than the terminal; those of a log stay as they are."""
    if not sys.stdout.isatty() and "COLUMNS" not in os.environ:
        return text
    width = shutil.get_terminal_size().columns
    lines = [part for line in text.splitlines() for part in broken(line, width)]
    return "".join(f"{line}\n" for line in lines)
