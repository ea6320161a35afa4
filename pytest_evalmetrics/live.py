"""How far a benchmark is, while it runs: a bar on a terminal, else a line now and then.

It writes past pytest's capture, to the terminal itself, and leaves pytest's own line as it
found it.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, nullcontext, suppress
from typing import IO, TYPE_CHECKING, Any

from pytest_evalmetrics.transport import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pytest

    from pytest_evalmetrics.transport import ProgressState

__all__ = ["shown_live"]

_ERASE = "\r\x1b[2K"


@contextmanager
def shown_live(
    config: pytest.Config,
    label: str,
    total: int,
    cost: Callable[[], float | None] | None = None,
) -> Iterator[Progress]:
    """Show the progress of one benchmark; nothing under -q, and nothing in xdist's workers."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or config.option.verbose < 0 or hasattr(config, "workerinput"):
        yield Progress(label, total, cost=cost)
        return
    with _terminal(config) as out:
        if out is None:
            yield Progress(label, total, cost=cost)
        elif out.isatty():
            with _below(out, _column(reporter)), _bar(out, total) as show:
                yield Progress(label, total, on_change=show, cost=cost)
        else:
            yield Progress(label, total, emit=_Lines(out, reporter), cost=cost)


@contextmanager
def _terminal(config: pytest.Config) -> Iterator[IO[str] | None]:
    """Open what pytest's output goes to, which capture has put something else in place of."""
    capture = config.pluginmanager.get_plugin("capturemanager")
    out = None
    uncaptured = capture.global_and_fixture_disabled() if capture is not None else nullcontext()
    with uncaptured, suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
        # a copy of the descriptor: it stays the terminal when capture goes on
        copy = os.dup(sys.stdout.fileno())
        out = os.fdopen(copy, "w", encoding=sys.stdout.encoding, errors="replace")
    try:
        yield out
    finally:
        if out is not None:
            with suppress(OSError):
                out.close()


def _column(reporter: Any) -> int:
    """Tell where pytest's cursor is: it goes on there when the bar is gone."""
    return int(getattr(getattr(reporter, "_tw", None), "width_of_current_line", 0))


@contextmanager
def _below(out: IO[str], column: int) -> Iterator[None]:
    """Work on the line below the cursor, and bring the cursor back."""
    out.write("\n")
    out.flush()
    try:
        yield
    finally:
        out.write(f"{_ERASE}\x1b[1A\x1b[{column + 1}G")
        out.flush()


@contextmanager
def _bar(out: IO[str], total: int) -> Iterator[Callable[[ProgressState], None]]:
    try:
        from rich.console import Console  # noqa: PLC0415 - optional, 40 ms
        from rich.progress import BarColumn, TextColumn  # noqa: PLC0415 - the same
        from rich.progress import Progress as Bar  # noqa: PLC0415 - the same
    except ImportError:
        yield _Line(out)
        return
    columns = (BarColumn(bar_width=20), TextColumn("{task.description}", markup=False))
    with Bar(*columns, console=Console(file=out), transient=True, auto_refresh=False) as bar:
        task = bar.add_task("", total=total)

        def show(state: ProgressState) -> None:
            bar.update(task, completed=state.done, description=state.text, refresh=True)

        yield show


class _Line:
    """One line that is written over and over."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out

    def __call__(self, state: ProgressState) -> None:
        with suppress(OSError):
            width = os.get_terminal_size(self._out.fileno()).columns or 80  # 0: nobody knows
            self._out.write(_ERASE + state.text[: width - 1])
            self._out.flush()


class _Lines:
    """Whole lines, for logs."""

    def __init__(self, out: IO[str], reporter: Any) -> None:
        self._out = out
        self._starts = "\n" if _column(reporter) else ""

    def __call__(self, text: str) -> None:
        with suppress(OSError):
            self._out.write(f"{self._starts}{text}\n")
            self._out.flush()
        self._starts = ""
