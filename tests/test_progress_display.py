"""The progress of a benchmark's calls on a terminal and in a log, in this process."""

import os
import re
import struct
import sys
from contextlib import contextmanager

import pytest

from pytest_evalmetrics.progress_display import (
    BAR_S,
    LOG_S,
    display_of,
    uncaptured,
)
from pytest_evalmetrics.scoring.door import Progress

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs a pseudo terminal")

# pytest's plugin collects garbage five times at the end of each configuration
FAST = ("-p", "no:unraisableexception")


class Terminal:
    """A pseudo terminal of so many columns in the place of a stream."""

    def __init__(self, columns):
        import fcntl  # these are not on Windows
        import pty
        import termios

        self._ours, theirs = pty.openpty()
        size = struct.pack("HHHH", 24, columns, 0, 0)
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, size)
        self.stream = os.fdopen(theirs, "w", encoding="utf-8")

    def sent(self):
        """Return what it was sent, and close it."""
        self.stream.close()
        seen = b""
        while True:
            try:
                piece = os.read(self._ours, 4096)
            except OSError:  # how Linux says that the other side is closed
                break
            if not piece:
                break
            seen += piece
        os.close(self._ours)
        return seen.decode().replace("\r\n", "\n")


@pytest.fixture
def config(pytester):
    return lambda *arguments: pytester.parseconfigure(*FAST, *arguments)


@pytest.fixture
def logged(tmp_path, monkeypatch):
    """Report states to a log; give how often it asks for one, and its text."""

    def report(config, *states):
        path = tmp_path / "log.txt"
        with path.open("w", encoding="utf-8") as stream:
            monkeypatch.setattr(sys, "stderr", stream)
            with display_of(config) as display:
                for state in states:
                    display.report(state)
            monkeypatch.undo()
        return display.every_s, path.read_text(encoding="utf-8")

    return report


def progress(label="sums", done=3, total=12):
    counted = Progress(label, total)
    counted.done = done
    return counted


# -- a log -----------------------------------------------------------------------------------


def test_a_log_gets_a_line_every_thirty_seconds(config, logged):
    every_s, text = logged(config(), progress(), progress(done=6))
    assert every_s == LOG_S == 30
    first, second = text.splitlines()
    assert first.startswith("sums: 3/12 rows (25%), ")
    assert second.startswith("sums: 6/12 rows (50%), ")


def test_a_log_shows_no_control_character_of_a_name(config, logged):
    _, text = logged(config(), progress(label="a\x1b[31m"))
    assert text.startswith(r"a\x1b[31m: 3/12 rows")


def test_a_worker_of_xdist_gets_lines(config, logged):
    worker = config()
    worker.workerinput = {}
    _, text = logged(worker, progress())
    assert text.startswith("sums: 3/12 rows")


@pytest.mark.parametrize("arguments", [("-q",), ("-p", "no:terminal")])
def test_a_quiet_run_and_one_without_a_reporter_get_lines(config, logged, arguments):
    _, text = logged(config(*arguments), progress())
    assert text.startswith("sums: 3/12 rows")


def test_a_long_line_of_a_log_is_not_cut(config, logged):
    _, text = logged(config(), progress(label="x" * 200))
    assert text.startswith("x" * 200)


def test_a_run_without_an_output_shows_nothing(config, monkeypatch):
    given = config()
    monkeypatch.setattr(sys, "stderr", None)
    with display_of(given) as display:
        assert display.report is None


# -- a terminal ------------------------------------------------------------------------------


def shown_on(terminal, config, monkeypatch, *states, stream="stdout"):
    monkeypatch.setattr(sys, stream, terminal.stream)
    with display_of(config) as display:
        for state in states:
            display.report(state)
    return display, terminal.sent()


def states_of(sent):
    plain = re.sub(r"\x1b\[[\d;]*m", "", sent)
    return re.findall(r"\r\x1b\[2K([^\r\n\x1b]+)", plain)


def test_a_terminal_gets_a_bar_over_and_over(config, monkeypatch):
    display, sent = shown_on(
        Terminal(80), config(), monkeypatch, progress(), progress(done=12)
    )
    assert display.every_s == BAR_S == 0.5
    first, second = states_of(sent)
    assert re.fullmatch(r"sums \S+ +3/12 rows \(25%\), .*", first)
    assert "12/12 rows (100%)" in second


def test_the_cursor_is_put_back_where_pytest_left_it(config, monkeypatch):
    given = config()
    reporter = given.pluginmanager.get_plugin("terminalreporter")
    monkeypatch.setattr(reporter._tw, "_current_line", "....")
    _, sent = shown_on(Terminal(80), given, monkeypatch, progress())
    assert sent.startswith("\n\r\x1b[2K")
    # the line is erased; then up to pytest's line, behind its four dots
    assert sent.endswith("\r\x1b[2K\x1b[1A\x1b[5G")


@pytest.mark.parametrize("columns", [40, 120])
def test_a_bar_fits_the_terminal(config, monkeypatch, columns):
    name = "a benchmark of a very long name, longer than the terminal " * 3
    _, sent = shown_on(Terminal(columns), config(), monkeypatch, progress(name))
    (state,) = states_of(sent)
    label = state.partition("...")[0]
    assert name.startswith(label)
    assert len(label) < columns / 3
    assert len(state) < columns


def test_without_rich_the_bar_is_of_ascii(config, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    _, sent = shown_on(Terminal(80), config(), monkeypatch, progress())
    assert "sums [#####...............] 3/12 rows (25%), " in sent


def test_an_unknown_number_of_rows_has_no_bar(config, monkeypatch):
    _, sent = shown_on(Terminal(80), config(), monkeypatch, progress(total=None))
    (state,) = states_of(sent)
    assert re.match(r"sums +3 rows, ", state)


def test_a_quiet_terminal_gets_lines_that_fit(config, monkeypatch):
    name = "a long name " * 20
    _, sent = shown_on(
        Terminal(60), config("-q"), monkeypatch, progress(name), stream="stderr"
    )
    (line,) = sent.splitlines()
    assert line.startswith("a long name a long name")
    assert len(line) < 60


def test_the_first_line_on_a_terminal_ends_pytests_line_of_dots(config, monkeypatch):
    given = config("-q")
    reporter = given.pluginmanager.get_plugin("terminalreporter")
    monkeypatch.setattr(reporter._tw, "_current_line", "....")
    _, sent = shown_on(
        Terminal(80), given, monkeypatch, progress(), progress(), stream="stderr"
    )
    assert sent.startswith("\nsums: ")
    assert sent.count("\n") == 3


# -- the streams that pytest captures --------------------------------------------------------


class Capturing:
    """A capture that puts another stream in place, and takes it back when it is disabled."""

    def __init__(self, real, other):
        self._real = real
        self._other = other
        sys.stderr = other

    @contextmanager
    def global_and_fixture_disabled(self):
        sys.stderr = self._real
        yield
        sys.stderr = self._other


def test_the_stream_is_the_one_that_capture_has_replaced(config, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stderr", sys.stderr)
    configured = config("-p", "no:capture")
    with (
        (tmp_path / "real.txt").open("w") as real,
        (tmp_path / "captured.txt").open("w") as other,
    ):
        plugins = configured.pluginmanager
        plugins.unregister(name="capturemanager")
        plugins.register(Capturing(real, other), "capturemanager")
        with uncaptured(configured, "stderr") as stream:
            stream.write("seen")
    assert (tmp_path / "real.txt").read_text() == "seen"
    assert (tmp_path / "captured.txt").read_text() == ""
