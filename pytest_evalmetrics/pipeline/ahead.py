"""One benchmark, evaluated without the pytest item that it belongs to."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.baselines.reading import text_of
from pytest_evalmetrics.collector import collector_paused
from pytest_evalmetrics.pipeline.evaluating import evaluate
from pytest_evalmetrics.reports import payload_of
from pytest_evalmetrics.rollouts.digest import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pytest_evalmetrics.reports import Payload
    from pytest_evalmetrics.results import BenchmarkResult
    from pytest_evalmetrics.spec import Benchmark

__all__ = ["AT_A_TIME", "Evaluations", "Outcome", "Task"]

AT_A_TIME: Final = 8  # a helper's message takes as long as a tenth of a small benchmark


@dataclass(frozen=True, slots=True)
class Task:
    """A benchmark that is to be evaluated.

    Attributes
    ----------
    label
        What its result is called.
    benchmark
        The benchmark.
    baseline
        Where its committed baseline lies and how messages call it; None where it has none.
    """

    label: str
    benchmark: Benchmark
    baseline: tuple[Path, str] | None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it, and what that rests on.

    Attributes
    ----------
    result
        The result; without the aggregate metrics, which are in `payload`.
    payload
        What the artifacts are made of.
    complete
        The evaluation could be recorded as a baseline.
    baseline
        The text of the baseline that it was compared with, and how messages call it.
    files
        The digest of its rollouts.
    """

    result: BenchmarkResult
    payload: Payload
    complete: bool
    baseline: tuple[str, str] | None
    files: bytes


@dataclass(frozen=True)
class Evaluations:
    """Benchmarks that several processes evaluate, some at a time."""

    tasks: Sequence[Task]

    def __len__(self) -> int:
        return math.ceil(len(self.tasks) / AT_A_TIME)

    def worker(self) -> Callable[[int], list[Outcome | None]]:
        """Return what evaluates some; it gives None for one that has to wait for its turn."""

        def some(number: int) -> list[Outcome | None]:
            first = number * AT_A_TIME
            with collector_paused():
                return [_outcome(task) for task in self.tasks[first : first + AT_A_TIME]]

        return some


def _outcome(task: Task) -> Outcome | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # whoever reads them should see them in their place
            return _evaluated(task)
    except Exception:  # noqa: BLE001 - it happens again where somebody sees it
        return None


def _evaluated(task: Task) -> Outcome | None:
    files = digest(task.benchmark.spec.rows, task.benchmark.file.parent)
    if files is None:
        return None
    baseline = None
    if task.baseline is not None:
        path, shown = task.baseline
        text = text_of(path, shown)
        baseline = None if text is None else (text, shown)
    found = evaluate(task.benchmark, item_id=task.label, snapshot=lambda: baseline)
    if any(check.gate == "data" for check in found.result.checks):
        return None
    payload = payload_of(found.result, found.task_scores, pictures=found.pictures)
    agents = tuple(replace(agent, aggregate={}) for agent in found.result.agents)
    return Outcome(
        replace(found.result, agents=agents),
        payload,
        found.baseline is not None,
        baseline,
        files,
    )
