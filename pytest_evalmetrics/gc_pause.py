"""Pauses of Python's cyclic garbage collector while many small objects are created."""

from __future__ import annotations

import atexit
import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def collector_paused() -> Iterator[None]:
    """Switch the collector off while objects are created that form no cycles."""
    was_running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_running:
            gc.enable()


@contextmanager
def imported_for_good() -> Iterator[None]:
    """Pause the collector while modules are imported, and never let it scan them.

    pytest collects twice when it ends, and would scan them each time. Python's last
    collection sees all objects again.
    """
    with collector_paused():
        yield
        # who froze objects too would not want them to be seen again
        if not gc.get_freeze_count():
            gc.freeze()
            atexit.register(gc.unfreeze)
