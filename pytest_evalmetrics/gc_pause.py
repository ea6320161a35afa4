"""Pauses of Python's cyclic garbage collector while many small objects are created."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def collector_paused(*, lasting: bool = False) -> Iterator[None]:
    """Switch the collector off while objects are created that form no cycles."""
    # `lasting` ones join the oldest generation without being scanned first
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if (
            lasting and not gc.get_freeze_count()
        ):  # unfreezing affects objects frozen by the user
            gc.freeze()
            gc.unfreeze()
        if running:
            gc.enable()
