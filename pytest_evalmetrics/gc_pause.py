"""Pauses of Python's cyclic garbage collector, while millions of small objects are made."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def collector_paused() -> Iterator[None]:
    """Switch the collector off while objects are made of which none is in a cycle.

    They join the oldest generation unvisited: the next collection of young ones skips them.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            if not gc.get_freeze_count():  # otherwise other code wants its objects to stay frozen
                gc.freeze()
                gc.unfreeze()
            gc.enable()
