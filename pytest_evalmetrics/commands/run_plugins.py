"""What commands add to the run of pytest in which they are carried out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_evalmetrics.settings import COMMAND

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class Answer:
    """Answers in place of a run, with the names of conftest.py and plugins at hand."""

    def __init__(self, answer_with: Callable[[pytest.Config], int]) -> None:
        self._answer = answer_with

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> int:
        """Carry out the command."""
        return self._answer(config)


class AsCommand:
    """Tells the plugin that a command asks, and not an option of a run."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> None:
        """Leave a mark for what is printed."""
        config.stash[COMMAND] = True


def status_of_run(arguments: Sequence[str], plugin: Answer | AsCommand) -> int:
    """Run pytest with a plugin, and return its status."""
    return int(pytest.main([*arguments], plugins=[plugin]))
