"""The progress of a benchmark's calls: a bar on a terminal, lines on stderr elsewhere."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, nullcontext, suppress
from io import StringIO
from typing import IO, TYPE_CHECKING, TextIO

import msgspec

from pytest_evalmetrics import settings
from pytest_evalmetrics.layout import visible
from pytest_evalmetrics.reports.console import beginning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pytest

    from pytest_evalmetrics.scoring.door import Progress

LOG_S = 30.0  # between two lines of a log
BAR_S = 0.5  # between two states of a bar
_BAR = 20  # columns
_ERASE = "\r\x1b[2K"
_COLUMNS = 80  # of a terminal that does not say


class Display(msgspec.Struct, frozen=True):
    """How often a progress is reported, and by what."""

    report: Callable[[Progress], None] | None = None
    every_s: float = LOG_S


@contextmanager
def display_of(config: pytest.Config) -> Iterator[Display]:
    """Show a benchmark's progress while it is evaluated.

    pytest's terminal gets a bar. A log, a run with ``-q`` and the workers of pytest-xdist
    get a line on stderr every 30 seconds, so that a run that costs money is never silent.
    """
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    column = int(getattr(getattr(reporter, "_tw", None), "width_of_current_line", 0))
    in_worker = settings.is_worker(config)
    if reporter is not None and config.option.verbose >= 0 and not in_worker:
        out = uncaptured(config, "stdout")
        if out is not None and out.isatty():
            with out, _bar(out, column) as display:
                yield display
            return
        if out is not None:
            out.close()
    errors = uncaptured(config, "stderr")
    if errors is None:
        yield Display()
        return
    with errors:
        # pytest's line of dots is not finished
        lead = "\n" if column and errors.isatty() else ""
        yield Display(_log(errors, lead), LOG_S)


def uncaptured(config: pytest.Config, name: str) -> IO[str] | None:
    """Open pytest's own output, which capture has replaced; None without one."""
    capture = config.pluginmanager.get_plugin("capturemanager")
    released = (
        nullcontext() if capture is None else capture.global_and_fixture_disabled()
    )
    with released, suppress(OSError, ValueError, AttributeError):
        stream: TextIO = getattr(sys, name)
        stream.flush()
        # a copy of the descriptor: it stays the same when capture goes on
        copy = os.dup(stream.fileno())
        return os.fdopen(copy, "w", encoding=stream.encoding, errors="replace")
    return None


def _log(out: IO[str], lead: str) -> Callable[[Progress], None]:
    leads = iter([lead])

    def report(progress: Progress) -> None:
        text = visible(progress.text)
        if out.isatty():
            text = beginning(text, _width(out) - 1)
        _write(out, f"{next(leads, '')}{text}\n")

    return report


@contextmanager
def _bar(out: IO[str], column: int) -> Iterator[Display]:
    """Draw one line over and over; then the cursor is where pytest left it."""

    def report(progress: Progress) -> None:
        width = _width(out)
        details = visible(progress.details)
        drawn, columns = _drawn(progress.share)
        label = beginning(visible(progress.label), width // 3)
        text = beginning(f"{label} {' ' * columns} {details}", width - 1)
        begins = len(label) + 1
        _write(out, f"{_ERASE}{text[:begins]}{drawn}{text[begins + columns :]}")

    _write(out, "\n")
    try:
        yield Display(report, BAR_S)
    finally:
        _write(out, f"{_ERASE}\x1b[1A\x1b[{column + 1}G")


def _width(out: IO[str]) -> int:
    with suppress(OSError):
        return os.get_terminal_size(out.fileno()).columns or _COLUMNS
    return _COLUMNS


def _drawn(share: float | None) -> tuple[str, int]:
    """Draw a bar, and return its columns; rich's where it is installed."""
    if share is None:
        return "", 0
    try:
        from rich.console import Console
        from rich.progress_bar import ProgressBar
    except ImportError:
        done = round(share * _BAR)
        return f"[{'#' * done}{'.' * (_BAR - done)}]", _BAR + 2
    page = StringIO()
    console = Console(file=page, force_terminal=True, width=_BAR, legacy_windows=False)
    console.print(ProgressBar(total=1.0, completed=share, width=_BAR), end="")
    return page.getvalue(), _BAR


def _write(out: IO[str], text: str) -> None:
    with suppress(OSError):
        out.write(text)
        out.flush()
