"""A pytest plugin that tells what a run's CPU seconds go to, for `gating.py`.

    PYTHONPATH=tests/perf pytest -p shares

A step that another one calls counts for itself alone. What is left of the process is pytest
itself, the imports and what belongs to no step.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

SHARES = "EVALMETRICS_SHARES"  # the file that they are written to
_spent: Counter[str] = Counter()
_inside: list[float] = []  # what steps that others call took


def _timed(step: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def timed(*args: Any, **kwargs: Any) -> Any:
        started = time.process_time()
        _inside.append(0.0)
        try:
            return function(*args, **kwargs)
        finally:
            took = time.process_time() - started
            _spent[step] += took - _inside.pop()
            if _inside:
                _inside[-1] += took

    return timed


def pytest_configure(config: pytest.Config) -> None:
    """Put a clock around every step."""
    from pytest_evalmetrics import (  # noqa: PLC0415 - as late as a run does
        gates,
        items,
        metrics,
        rollouts,
        running,
    )
    from pytest_evalmetrics.baselines.store import Store  # noqa: PLC0415
    from pytest_evalmetrics.pipeline import evaluating, judging  # noqa: PLC0415
    from pytest_evalmetrics.session import EvaluationSession  # noqa: PLC0415

    del config
    collect = items.BenchmarkFile.collect
    steps: list[tuple[str, Any, str]] = [
        ("reading", rollouts, "load"),
        ("reducing", metrics, "plan"),
        ("reducing", metrics, "reduce_agent"),
        ("gating", gates, "check_completeness"),
        ("gating", gates, "check_thresholds"),
        ("gating", evaluating, "reference_of"),
        ("gating", judging.Judging, "add"),
        ("gating", judging.Judging, "checks"),
        ("gating", Store, "settle"),
        ("reporting", evaluating, "picture"),
        ("reporting", running, "payload_of"),
        ("reporting", EvaluationSession, "_keep"),
        ("reporting", EvaluationSession, "_write_artifacts"),
        ("the rest of an item", items, "run_benchmark"),
    ]
    for step, owner, name in steps:
        setattr(owner, name, _timed(step, getattr(owner, name)))
    listed = _timed("collecting", lambda file: list(collect(file)))
    items.BenchmarkFile.collect = listed  # type: ignore[method-assign]


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave what was found."""
    del config
    found = {"whole": time.process_time(), **_spent}
    if SHARES in os.environ:
        Path(os.environ[SHARES]).write_text(json.dumps(found), encoding="utf-8")
