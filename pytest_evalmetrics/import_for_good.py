"""Import of the modules that only runs with benchmarks need.

docs/decisions.md has what each step gains.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from pytest_evalmetrics.gc_pause import collector_paused

if TYPE_CHECKING:
    from collections.abc import Callable

# Python 3.12 starts with 375 frozen objects, other versions with none
_FROZEN_BY_PYTHON = 1_000


def import_for_good(load: Callable[[], None]) -> None:
    """Import modules without collections meanwhile, and keep the collector off them.

    pytest collects at least twice when it ends, and would scan all their objects each time.
    """
    with collector_paused():
        modules = len(sys.modules)
        _on_new_stack(load)
        load()  # raises what went wrong there
        # Python counts the frozen objects one by one: 30 ms, in a process that has thousands
        if len(sys.modules) == modules:
            return
        # who froze objects too would not want them to be seen again
        if gc.get_freeze_count() < _FROZEN_BY_PYTHON:
            # before the pause ends: a collection of all of them follows it
            gc.freeze()
            atexit.register(_unfreeze_for_project)


def _on_new_stack(load: Callable[[], None]) -> None:
    """Import in a thread of its own, whose stack of frames is empty.

    Python keeps frames in chunks of 16 KB. A call that crosses the edge of one maps new
    memory, and its return unmaps it: a loop of calls at that depth does so each time.
    """

    def load_quietly() -> None:
        with suppress(Exception):
            load()

    thread = Thread(target=load_quietly)
    thread.start()
    thread.join()


def _unfreeze_for_project() -> None:
    """Let Python's last collections see all objects, if the project's own code ran.

    They may close a file that the project left open. What is installed leaves none open,
    and scanning and freeing it would be a fifth of a small run.
    """
    installed = _installed_folders()
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file is not None and not file.startswith(installed):
            gc.unfreeze()
            return


def _installed_folders() -> tuple[str, ...]:
    """Return the folders of Python, its commands, what stands beside pytest, and ourselves."""
    folders = (
        Path(os.__file__).parent,
        Path(sys.executable).parent,
        Path(pytest.__file__).parent.parent,
        Path(__file__).parent,
    )
    return tuple(f"{folder}{os.sep}" for folder in folders)
