"""Python's cyclic garbage collector, out of the way of millions of small objects."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_YOUNG = 20_000  # objects that are made before it looks at them; 700 are usual


@contextmanager
def collector_paused() -> Iterator[None]:
    """Keep it from going through them again and again: none of them is in a cycle."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


@contextmanager
def collector_eased() -> Iterator[None]:
    """Let it look less often, and only at new objects: for work that goes on long."""
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(_YOUNG, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
