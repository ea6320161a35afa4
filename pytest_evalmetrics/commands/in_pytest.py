"""Commands in the surroundings of a run: its configuration, conftest.py and plugins."""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING

import pytest

from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.layout import visible_lines
from pytest_evalmetrics.settings import COMMAND

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_ERROR = 2
# what a configuration may add to each run, and one process can't have
_ALONE = (("xdist", ("-n", "0")), ("pytest_cov", ("--no-cov",)))
# nothing but what is asked for
_QUIET = ("-qq", "--no-header")
# our package is there before pytest could rewrite it, which a project's filter of warnings may
# take for an error
_IMPORTED = ("-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning")


def _one_process() -> list[str]:
    """Return the options that undo what a configuration's `addopts` may ask for."""
    options: list[str] = []
    for package, undo in _ALONE:
        if importlib.util.find_spec(package) is not None:
            options += undo
    return options


class _Answer:
    """Answers in place of a run, with the names of conftest.py and plugins at hand."""

    def __init__(self, name: str, answer_with: Callable[[pytest.Config], int]) -> None:
        self._name = name
        self._answer = answer_with

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> int:
        """Carry out the command."""
        return answer_in(config, self._name, self._answer)


def answer(name: str, answer_with: Callable[[pytest.Config], int]) -> int:
    """Carry out a command that needs the names of a run, and no test."""
    plugins = [_Answer(name, answer_with)]
    return int(pytest.main([*_one_process(), *_IMPORTED], plugins=plugins))


def answer_in(
    config: pytest.Config, name: str, answer_with: Callable[[pytest.Config], int]
) -> int:
    """Carry out a command in a run; an error of ours is printed with the way out."""
    # what is built in is known by its import
    from pytest_evalmetrics import evaluate, gates, metrics, rollouts  # noqa: F401
    from pytest_evalmetrics.reports import reporters  # noqa: F401
    from pytest_evalmetrics.session.registration import let_register

    try:
        with let_register(config):
            return answer_with(config)
    except EvalMetricsError as error:
        return refused(name, error)


def refused(name: str, error: EvalMetricsError) -> int:
    """Print an error of a command, and return its status."""
    from pytest_evalmetrics.reports.paragraphs import fitted

    sys.stderr.write(fitted(f"evalmetrics {name}: {visible_lines(str(error))}\n"))
    return _ERROR


def run(arguments: Sequence[str], *paths: str) -> int:
    """Let pytest collect the benchmarks, and do what an option asks for in place of a run.

    Returns
    -------
    0 if all is well, 1 if something is not, 2 for a usage error or an interruption.
    """
    command = [*_one_process(), *_QUIET, *_IMPORTED, *arguments, *paths]
    status = pytest.main(command, plugins=[_AsCommand()])
    good = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    if status in good:
        return 0
    return 1 if status == pytest.ExitCode.TESTS_FAILED else _ERROR


class _AsCommand:
    """Tells the plugin that a command asks, and not an option of a run."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> None:
        """Leave a mark for what is printed."""
        config.stash[COMMAND] = True
