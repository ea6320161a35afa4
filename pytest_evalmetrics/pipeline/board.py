"""The scores of a benchmark's rows as they come in, and why rows lack some."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from pytest_evalmetrics.data import FailedRow
from pytest_evalmetrics.layout import compact
from pytest_evalmetrics.pipeline.choosing import reading_order
from pytest_evalmetrics.pipeline.row_texts import RowTexts
from pytest_evalmetrics.results import RowFailure, ScorerFailures

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.errors import RowError
    from pytest_evalmetrics.scorers import Exchange, Row
    from pytest_evalmetrics.transport import Progress

__all__ = ["Board", "Giver"]

_FIRST = 20  # failed rows of a scorer that the report holds; row_scores.jsonl holds all


class Giver(Protocol):
    """What gives scores: a scorer, or what answers rows and is measured."""

    @property
    def type(self) -> str:
        """What it is."""
        ...

    @property
    def scores(self) -> tuple[str, ...]:
        """What it gives."""
        ...


@dataclass
class Board:
    """The scores as they come in, by row of the files."""

    rows: RolloutTable
    names: tuple[str, ...]
    failed: dict[int, list[FailedRow]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.progress: Progress
        order = reading_order(self.rows)
        self._places = np.empty(len(order), np.int64)
        self._places[order] = np.arange(len(order))
        self._columns = {name: np.full(len(order), np.nan) for name in self.names}
        self._texts: dict[str, str] = {}
        self._numbers = {name: i for i, name in enumerate(self.names)}
        self.requests = RowTexts(len(order), len(self.names), "requests")
        self.reasons = RowTexts(len(order), len(self.names), "reasons")

    def scored(
        self, row: Row, scorer: Giver, found: Mapping[str, float], *, from_journal: bool
    ) -> None:
        """Take a row's scores."""
        at = self._places[row.index]
        for name in scorer.scores:
            self._columns[name][at] = found[name]
        self.progress.succeeded(from_journal=from_journal)

    def lacks(self, row: Row, scorer: Giver, error: RowError, reason: str) -> None:
        """Take why a row has no scores."""
        reason = self._texts.setdefault(reason, reason)
        failed = FailedRow(error.kind, reason, row.where, error.hint, scorer.scores)
        self.failed.setdefault(row.index, []).append(failed)
        self.progress.failed(error.kind, f"{row.where}: {reason}")

    def asked(self, row: Row, scorer: Giver, found: Sequence[Exchange]) -> None:
        """Take what was asked for a row, and answered."""
        if found:
            items = compact(found)[1:-1].encode()
            self.requests.add(row.index, self._numbers[scorer.scores[0]], items)

    def explained(self, row: Row, scorer: Giver, reason: str) -> None:
        """Take why a row's scores are what they are."""
        item = compact({"scores": scorer.scores, "reason": reason}).encode()
        self.reasons.add(row.index, self._numbers[scorer.scores[0]], item)

    def column(self, name: str) -> NDArray[np.float64]:
        """Give a score of all rows, NaN where it is missing."""
        return self._columns[name]

    def flush(self) -> None:
        """Write what waits: what there is no room for is told as what the benchmark came to."""
        self.requests.flush()
        self.reasons.flush()

    def table(self) -> RolloutTable:
        """Give the table with the scores; they take the place of recorded ones."""
        recorded = {k: v for k, v in self.rows.scores.items() if k not in self._columns}
        return replace(
            self.rows,
            scores=recorded | self._columns,
            integers=self.rows.integers - set(self.names),
        )

    def failures(self, made: Sequence[Giver]) -> Iterator[ScorerFailures]:
        """Group the rows that lack scores: by scorer, and by reason."""
        in_order = [(index, f) for index in sorted(self.failed) for f in self.failed[index]]
        for scorer in made:
            mine = [(index, f) for index, f in in_order if f.scores == scorer.scores]
            if mine:
                counts = Counter(f.kind for _, f in mine)
                kinds = dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
                examples = {f.kind: (index, f) for index, f in reversed(mine)}
                yield ScorerFailures(
                    scorer.type,
                    scorer.scores,
                    len(mine),
                    kinds,
                    tuple(_failure(*found) for found in mine[:_FIRST]),
                    len(self.rows),
                    {kind: _failure(*examples[kind]) for kind in kinds},
                )


def _failure(index: int, found: FailedRow) -> RowFailure:
    return RowFailure(index, found.where, found.kind, found.reason, found.hint or "")
