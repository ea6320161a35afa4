"""Benchmarks that are evaluated by helpers, without the pytest items that they belong to."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from pytest_evalmetrics.baselines.reading import text_of
from pytest_evalmetrics.collector import collector_paused
from pytest_evalmetrics.looking import look_at
from pytest_evalmetrics.pipeline.evaluating import evaluate
from pytest_evalmetrics.reports import failure_text, payload_of
from pytest_evalmetrics.rollouts.unchanged import are_unchanged, look_at_rollouts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pytest_evalmetrics.helpers.processes import Helpers
    from pytest_evalmetrics.looking import Look
    from pytest_evalmetrics.reports import Payload
    from pytest_evalmetrics.spec import Benchmark

__all__ = ["Outcome", "Queue", "Task"]

_AT_A_TIME: Final = 8  # a helper's message takes as long as a tenth of a small benchmark
_LEAD: Final = 64  # times some benchmarks


class Task(msgspec.Struct, frozen=True):
    """A benchmark that is to be evaluated.

    Attributes
    ----------
    label
        What its result is called.
    benchmark
        The benchmark.
    baseline
        Where its committed baseline lies and how messages call it; None where it has none.
    detailed
        Whether its tasks are pictured even if it passes.
    """

    label: str
    benchmark: Benchmark
    baseline: tuple[Path, str] | None
    detailed: bool


class Outcome(msgspec.Struct, frozen=True):
    """What came of it, and what that rests on.

    Attributes
    ----------
    payload
        The result as it travels.
    failure
        What is said of a benchmark that does not hold; else empty.
    holds
        Whether its baseline does; None where the evaluation could not be recorded as one.
    baseline
        What was seen of the baseline that it was compared with; None where there was none.
    files
        What was seen of the files of its rollouts.
    """

    payload: Payload
    failure: str
    holds: bool | None
    baseline: Look | None
    files: list[Look]


class Queue:
    """Benchmarks on their way through helpers.

    Parameters
    ----------
    helpers
        Processes that have imported this module; they are ended with it.

    Raises
    ------
    OSError
        If there is no room for what the processes tell each other.
    """

    def __init__(self, helpers: Helpers) -> None:
        from pytest_evalmetrics.helpers.shared import Shared  # noqa: PLC0415 - there are many

        self._shared = Shared(_Evaluations(), helpers, lead=_LEAD)
        self._rest: list[Task] = []  # too few for a job
        self._jobs = 0
        self._places: dict[str, tuple[int, int, Task]] = {}
        self._ready: tuple[int, list[Outcome | None]] = (-1, [])

    def add(self, tasks: Sequence[Task]) -> None:
        """Add some."""
        self._rest += tasks
        full = len(self._rest) // _AT_A_TIME * _AT_A_TIME
        self._hand_in([self._rest[at : at + _AT_A_TIME] for at in range(0, full, _AT_A_TIME)])
        del self._rest[:full]

    def holds(self, tasks: Sequence[tuple[str, bool]]) -> bool:
        """Whether these labels are all, come in this order, and are as detailed."""
        handed_in = [*(task for _, _, task in self._places.values()), *self._rest]
        return [(task.label, task.detailed) for task in handed_in] == tasks

    def replace(self, tasks: Sequence[Task]) -> None:
        """Take others instead, or in another order; what is done by now is lost."""
        self._places.clear()
        self._rest.clear()
        self._jobs = self._shared.withdraw()
        self.add(tasks)

    def complete(self) -> None:
        """Settle that these were all."""
        self._hand_in([self._rest] if self._rest else [])
        with suppress(OSError):
            self._shared.complete()

    def take(self, label: str) -> Outcome | None:
        """Give what came of one; None if it has to be evaluated in its place."""
        if label not in self._places:
            return None
        job, at, task = self._places.pop(label)
        benchmark = task.benchmark
        try:
            if job != self._ready[0]:
                with collector_paused():  # of a thousand objects none is garbage
                    self._ready = job, self._shared.get(job)
            found = self._ready[1][at]
        except Exception:  # noqa: BLE001 - then it is evaluated in its place
            return None
        if found is None:
            return None
        still = are_unchanged(found.files, benchmark.spec.rows, benchmark.file.parent)
        return found if still else None

    def close(self) -> None:
        """End the helpers."""
        self._places.clear()
        self._shared.close()

    def _hand_in(self, jobs: Sequence[Sequence[Task]]) -> None:
        with suppress(OSError):  # no room: these are evaluated in their places
            self._shared.add(jobs)
            for job in jobs:
                places = ((self._jobs, at, task) for at, task in enumerate(job))
                self._places.update(zip((task.label for task in job), places, strict=True))
                self._jobs += 1


class _Evaluations:
    """Benchmarks that several processes evaluate, some at a time."""

    def worker(self) -> Callable[[Sequence[Task]], list[Outcome | None]]:
        """Return what evaluates some; it gives None for one that has to wait for its turn."""
        return _outcomes


def _outcomes(tasks: Sequence[Task]) -> list[Outcome | None]:
    with collector_paused(), warnings.catch_warnings():
        warnings.simplefilter("error")  # whoever reads them should see them in their place
        return [_outcome(task) for task in tasks]


def _outcome(task: Task) -> Outcome | None:
    try:
        return _evaluated(task)
    except Exception:  # noqa: BLE001 - it happens again where somebody sees it
        return None


def _evaluated(task: Task) -> Outcome | None:
    files = look_at_rollouts(task.benchmark.spec.rows, task.benchmark.file.parent)
    if files is None:
        return None
    baseline, snapshot = (None, None) if task.baseline is None else _read(*task.baseline)
    found = evaluate(
        task.benchmark, item_id=task.label, snapshot=lambda: snapshot, detailed=task.detailed
    )
    if any(check.gate == "data" for check in found.result.checks):
        return None
    result = found.result
    failing = any(check.gate == "baseline" and check.verdict.fails for check in result.checks)
    return Outcome(
        payload_of(result, found.task_scores, pictures=found.pictures),
        "" if result.passed else failure_text(result),
        None if found.baseline is None else not failing,
        baseline,
        files,
    )


def _read(path: Path, shown: str) -> tuple[Look | None, tuple[str, str] | None]:
    """Look at a baseline, and read it; nothing where there is none."""
    try:
        look = look_at(path)
    except FileNotFoundError:
        return None, None
    text = text_of(path, shown)
    return look, None if text is None else (text, shown)
