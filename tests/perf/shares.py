"""A pytest plugin that tells what a run's CPU seconds go to, for `many.py`.

    PYTHONPATH=tests/perf pytest -p shares

It looks at the stack every few milliseconds of CPU time. A look counts for the innermost frame that
is pytest's (or pluggy's, whoever called it), of one of our rooms, or an import; what has no
room, such as numpy or the standard library, counts for its caller.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import time
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

    import pytest

SHARES = "EVALMETRICS_SHARES"  # the file that they are written to
PYTEST, IMPORTS, OTHER = "pytest itself", "imports", "other plugins"
EVERY = 0.001  # the kernel's clock may be slower
ROOMS = {
    "config/": "collecting",
    "items.py": "collecting",
    "rollouts/": "reading",
    "metrics/": "reducing",
    "gates/": "gating",
    "baselines/": "gating",
    "pipeline/regressions.py": "gating",
    "reports/": "reporting",
    "heard.py": "reporting",
    "publishing.py": "reporting",
    "session.py": "reporting",
    "roster.py": "collecting",
    "pipeline/": "the rest of an item",
    "running.py": "the rest of an item",
    "plugin.py": "the rest of an item",
}
_seen: Counter[str] = Counter()
_start = 0.0


@cache
def _room(file: str) -> str | None:
    if "importlib" in file:
        return IMPORTS
    if "/_pytest/" in file or "/pluggy/" in file:
        return PYTEST
    if "/syrupy/" in file:
        return "gating"
    _, package, below = file.rpartition("/pytest_evalmetrics/")
    if package:
        return next((room for part, room in ROOMS.items() if below.startswith(part)), None)
    return None


def _look(_signal: int, frame: FrameType | None) -> None:
    while frame is not None:
        room = _room(frame.f_code.co_filename)
        if room is not None:
            _seen[room] += 1
            return
        frame = frame.f_back
    _seen[OTHER] += 1


def pytest_configure(config: pytest.Config) -> None:
    """Begin to look; what there was before is pytest's own start."""
    global _start  # noqa: PLW0603 - a plugin that is a module
    del config
    _start = time.process_time()
    atexit.register(_report)
    signal.signal(signal.SIGPROF, _look)
    signal.setitimer(signal.ITIMER_PROF, EVERY, EVERY)


def _report() -> None:
    """Stop, and tell: by now pytest has cleaned up after itself, which takes it a while."""
    signal.setitimer(signal.ITIMER_PROF, 0)
    whole, looks = time.process_time(), max(1, _seen.total())
    seconds = {room: (whole - _start) * n / looks for room, n in _seen.items()}
    seconds = {"whole": whole, **seconds, PYTEST: _start + seconds.get(PYTEST, 0.0)}
    if SHARES in os.environ:
        Path(os.environ[SHARES]).write_text(json.dumps(seconds), encoding="utf-8")
