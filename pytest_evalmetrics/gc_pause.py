"""Pauses of Python's cyclic garbage collector, while millions of small objects are made."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def collector_paused(*, lasting: bool = False) -> Iterator[None]:
    """Switch the collector off while objects are made of which none is in a cycle.

    Those that are `lasting` count as old at once, instead of being scanned young.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if lasting and not gc.get_freeze_count():  # else it would thaw what the user froze
            gc.freeze()
            gc.unfreeze()
        if running:
            gc.enable()
