"""Several reports of one tool over one task list, which are attempts at its tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.layout import many
from pytest_evalmetrics.model.rollout_notes import FurtherAttempts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.rollouts.source import Source

_APART: Final = "give each its own benchmark, or name the files of one run"


class RepeatedReports:
    """The reports that a benchmark has read so far."""

    def __init__(self) -> None:
        self._first: tuple[Source, frozenset[str]] | None = None
        self._samples: dict[str, int] = {}  # task -> its attempts so far

    def add(self, source: Source, tasks: Iterable[str]) -> None:
        """Take a further report, of the same tasks as the first one.

        Raises
        ------
        DataError
            If its tasks are others.
        """
        given = frozenset(tasks)
        if self._first is None:
            self._first = (source, given)
            return
        first, expected = self._first
        others = given ^ expected
        if others:
            raise source.error(
                f"this report has other tasks than {first.shown}: "
                f"{many(len(others), 'task')} are in one of them, such as {min(others)!r}; "
                "reports of the same tasks are attempts",
                hint=_APART,
            )

    def sample(self, task: str) -> int:
        """Return the number of the next attempt at a task, from 0."""
        number = self._samples.get(task, 0)
        self._samples[task] = number + 1
        return number

    def note(self, source: Source) -> Note | None:
        """Say that a report is read as further attempts; None for the first one."""
        if self._first is None or source is self._first[0]:
            return None
        return FurtherAttempts(file=source.shown, first=self._first[0].shown)
