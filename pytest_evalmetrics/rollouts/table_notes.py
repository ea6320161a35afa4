"""What a reader should know of a table's files: failures, and values that count as missing."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING

import msgspec

from pytest_evalmetrics.model.notes import Remark
from pytest_evalmetrics.model.rollout_notes import (
    FailedRollouts,
    NumbersCountAsMissing,
    TextsCountAsMissing,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.rollouts.loader import Chunk, Failure
    from pytest_evalmetrics.rollouts.source import Source


class _Occurrences(msgspec.Struct):
    """How often something occurs, and where first."""

    first: str
    count: int = 0


class TableNotes:
    """Notes on the rows of a table, collected while they are read."""

    def __init__(self) -> None:
        # by the score's name and what its values are
        self._not_finite: dict[tuple[str, str], _Occurrences] = {}
        # by the score's name and whether it is of the usage: where its first text is
        self._not_numbers: dict[tuple[str, bool], str] = {}
        # by the kind of failure and whether the rollout has its scores
        self._failures: dict[tuple[str, bool], _Occurrences] = {}
        self._of_files: dict[Note, None] = {}

    def add(self, source: Source, chunk: Chunk, before: int) -> None:
        """Add what a chunk says of its values and of its file, but for failures."""
        for bad in chunk.not_finite:
            key = (bad.score, bad.what)
            if key not in self._not_finite:
                first = source.at(before + bad.place)
                if chunk.names:
                    first = chunk.names[bad.place - 1]
                self._not_finite[key] = _Occurrences(first)
            self._not_finite[key].count += 1
        for name, first in chunk.not_numbers.items():
            self._not_numbers.setdefault((name, False), first)
        for score, place in sorted(chunk.other_kinds.items(), key=itemgetter(1)):
            self._not_numbers.setdefault(score, source.at(before + place))
        for note in chunk.notes:
            remark = Remark(note) if isinstance(note, str) else note
            self._of_files.setdefault(remark)

    def add_failure(self, failure: Failure, at: str) -> None:
        """Count a failure by its kind; the first one is shown."""
        key = (failure.kind, failure.graded)
        if key not in self._failures:
            shown = f"{at}: {failure.message}" if failure.message else at
            self._failures[key] = _Occurrences(shown)
        self._failures[key].count += 1

    @property
    def has_failures(self) -> bool:
        """Whether something went wrong in any rollout."""
        return bool(self._failures)

    def of_files(self) -> Iterator[Note]:
        """Yield what files say of themselves."""
        yield from self._of_files

    def of_failures(self) -> Iterator[Note]:
        """Yield the kinds of failures."""
        for (kind, is_graded), failures in self._failures.items():
            yield FailedRollouts(
                kind=kind,
                is_graded=is_graded,
                rollouts=failures.count,
                first=failures.first,
            )

    def of_score(
        self, name: str, columns: Collection[tuple[str, bool]]
    ) -> Iterator[Note]:
        """Yield which values of a score count as missing.

        `columns` are the scores with numbers: by name, and whether they are of the usage.
        """
        for (score, what), values in self._not_finite.items():
            if score == name:
                yield NumbersCountAsMissing(
                    score=name, what=what, values=values.count, first=values.first
                )
        # texts of a score that is a number elsewhere
        for (score, is_usage), first in self._not_numbers.items():
            if score == name and (name, is_usage) in columns:
                yield TextsCountAsMissing(score=name, first=first)
                return
