"""The scores of a benchmark's rows as they come in, and why rows lack some."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.data import FailedRow
from pytest_evalmetrics.pipeline.exchanges import Exchanges
from pytest_evalmetrics.results import RowFailure, ScorerFailures

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.errors import RowError
    from pytest_evalmetrics.scorers import BoundScorer, Exchange, Row
    from pytest_evalmetrics.transport import Progress

__all__ = ["Board", "reading_order"]

_FIRST = 20  # failed rows of a scorer that the report holds; row_scores.jsonl holds all


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
        self.exchanges = Exchanges(len(order), len(self.names))

    def place(self, index: int) -> int | None:
        """Find a row of the files in the table."""
        return int(self._places[index]) if index < len(self._places) else None

    def scored(
        self, row: Row, scorer: BoundScorer, found: dict[str, float], *, from_journal: bool
    ) -> None:
        """Take a row's scores."""
        at = self._places[row.index]
        for name in scorer.scores:
            self._columns[name][at] = found[name]
        self.progress.succeeded(from_journal=from_journal)

    def lacks(self, row: Row, scorer: BoundScorer, error: RowError, reason: str) -> None:
        """Take why a row has no scores."""
        reason = self._texts.setdefault(reason, reason)
        failed = FailedRow(error.kind, reason, row.where, error.hint, scorer.scores)
        self.failed.setdefault(row.index, []).append(failed)
        self.progress.failed(error.kind, f"{row.where}: {reason}")

    def asked(self, row: Row, scorer: BoundScorer, found: Sequence[Exchange]) -> None:
        """Take what was asked for a row, and answered."""
        self.exchanges.add(row.index, self.names.index(scorer.scores[0]), found)

    def table(self) -> RolloutTable:
        """Give the table with the scores; they take the place of recorded ones."""
        recorded = {k: v for k, v in self.rows.scores.items() if k not in self._columns}
        return replace(
            self.rows,
            scores=recorded | self._columns,
            integers=self.rows.integers - set(self.names),
        )

    def failures(self, made: tuple[BoundScorer, ...]) -> Iterator[ScorerFailures]:
        """Group the rows that lack scores: by scorer, and by reason."""
        in_order = [(index, f) for index in sorted(self.failed) for f in self.failed[index]]
        for scorer in made:
            mine = [(index, f) for index, f in in_order if f.scores == scorer.scores]
            if mine:
                counts = Counter(f.kind for _, f in mine)
                yield ScorerFailures(
                    scorer.type,
                    scorer.scores,
                    len(mine),
                    dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))),
                    tuple(
                        RowFailure(index, f.where, f.kind, f.reason, f.hint or "")
                        for index, f in mine[:_FIRST]
                    ),
                )

    def notes(self, failures: Sequence[ScorerFailures]) -> Iterator[str]:
        """Tell the reasons: how many rows, and the first of them."""
        in_order = [f for index in sorted(self.failed) for f in self.failed[index]]
        for found in failures:
            for kind, count in found.kinds.items():
                first = next(f for f in in_order if f.scores == found.scores and f.kind == kind)
                rows = "row has" if count == 1 else "rows have"
                such = "at" if count == 1 else "such as"
                hint = f" ({first.hint})" if first.hint else ""
                yield (
                    f"{count} of {len(self.rows)} {rows} no {', '.join(found.scores)} ({kind}), "
                    f"{such} {first.where}: {first.reason}{hint}"
                )


def reading_order(table: RolloutTable) -> NDArray[np.int64]:
    """Tell which row of the files each row of a table was."""
    if table.read_as is None:
        raise ValueError("a table of no file has no rows to score")
    return table.read_as
