"""Commands in the surroundings of a run: its configuration, conftest.py and plugins.

pytest is loaded for a run: help on a command does without it.
"""

from __future__ import annotations

import importlib.util
import sys
from functools import partial
from typing import TYPE_CHECKING

from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.layout import visible_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pytest

# as pytest's ExitCode has them, and as commands do
_PASSED = 0
_FAILED = 1
_ERROR = 2
_NOTHING_COLLECTED = 5
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


def answer(name: str, answer_with: Callable[[pytest.Config], int]) -> int:
    """Carry out a command that needs the names of a run, and no test."""
    from pytest_evalmetrics.commands.run_plugins import Answer, status_of_run

    plugin = Answer(partial(answer_in, name=name, answer_with=answer_with))
    return status_of_run([*_one_process(), *_IMPORTED], plugin)


def answer_in(
    config: pytest.Config, name: str, answer_with: Callable[[pytest.Config], int]
) -> int:
    """Carry out a command in a run; an error of ours is printed with the way out."""
    from pytest_evalmetrics.import_for_good import import_for_good  # loads pytest

    import_for_good(_import_what_is_built_in)
    from pytest_evalmetrics.session.registration import let_register

    try:
        with let_register(config):
            return answer_with(config)
    except EvalMetricsError as error:
        return refused(name, error)


def _import_what_is_built_in() -> None:
    """Make known what is known by its import."""
    from pytest_evalmetrics import evaluate, gates, metrics, rollouts  # noqa: F401
    from pytest_evalmetrics.reports import reporters  # noqa: F401


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
    from pytest_evalmetrics.commands.run_plugins import AsCommand, status_of_run

    command = [*_one_process(), *_QUIET, *_IMPORTED, *arguments, *paths]
    status = status_of_run(command, AsCommand())
    if status in (_PASSED, _NOTHING_COLLECTED):
        return _PASSED
    if status == _FAILED:
        return _FAILED
    return _ERROR
