"""Rows that people have labelled: read, scored by a judge, and compared."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_evalmetrics import scorers, stats
from pytest_evalmetrics.errors import DataError, RowError, did_you_mean
from pytest_evalmetrics.results import Disagreement, JudgeCheck
from pytest_evalmetrics.rollouts.recorded import records
from pytest_evalmetrics.transport import Occurrences, run_bounded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pytest_evalmetrics.scorers import BoundScorer, Row
    from pytest_evalmetrics.spec import Benchmark
    from pytest_evalmetrics.transport import Transport

    MakeCalls = Callable[[Row, Occurrences], scorers.Calls]

__all__ = ["LabelledRows", "MakeCalls", "labelled_rows"]

_FIRST = 20
_SAME = 1e-9


@dataclass(frozen=True, slots=True)
class LabelledRows:
    """Rows with a person's label, for one scorer."""

    scorer: BoundScorer
    score: str
    rows: tuple[Row, ...]
    labels: tuple[float, ...]

    async def check(
        self, transport: Transport, make_calls: MakeCalls, parallelism: int
    ) -> JudgeCheck:
        """Score them, and compare."""
        occurrences = Occurrences()
        found = np.full(len(self.rows), np.nan)
        failed: dict[int, str] = {}

        async def score(row: Row) -> None:
            calls = make_calls(row, occurrences)
            try:
                found[row.index] = (await self.scorer.score_with(row, calls))[self.score]
            except RowError as error:
                failed[row.index] = f"{row.where}: {transport.hide(error.message)}"

        await run_bounded(score, iter(self.rows), parallelism, lambda _row, _none: None)
        return self._compared(found, failed)

    def _compared(self, found: np.ndarray, failed: Mapping[int, str]) -> JudgeCheck:
        n, labels = len(self.rows), np.array(self.labels)
        if failed:
            reason = (
                f"{len(failed)} of {n} labelled rows have no {self.score}, such as "
                f"{failed[min(failed)]}"
            )
            return JudgeCheck(self.score, n, len(failed), None, None, None, reason)
        found = np.where(np.abs(found - labels) <= _SAME, labels, found)
        kappa = _defined(stats.cohen_kappa(found, labels))
        differ = np.flatnonzero(found != labels)[:_FIRST].tolist()
        return JudgeCheck(
            self.score,
            n,
            0,
            float((found == labels).mean()),
            kappa,
            _defined(stats.cohen_kappa(found, labels, "quadratic")),
            "" if kappa is not None else "all scores and labels are the same",
            tuple(
                Disagreement(self.rows[i].where, float(found[i]), float(labels[i])) for i in differ
            ),
        )


def labelled_rows(benchmark: Benchmark, made: Sequence[BoundScorer]) -> Iterator[LabelledRows]:
    """Read the labels of every scorer that has some."""
    for index, (spec, scorer) in enumerate(zip(benchmark.spec.scorers, made, strict=True)):
        asked = getattr(spec, "judge_check", None)
        if asked is None:
            continue
        line = benchmark.line_of("scorers", index, "judge_check")
        score = asked.score or scorer.scores[0]
        if score not in scorer.scores:
            raise DataError(
                f"judge_check: the scorer gives no {score!r}; "
                + did_you_mean(score, scorer.scores, what="it gives"),
                line=line,
            )
        about = scorer.about.get(score)
        meant = dict(about.labels) if about is not None else {}
        rows, labels = [], []
        for at, (where, item) in enumerate(records(asked.rows, benchmark.file.parent)):
            labels.append(_label(item, asked.label, meant, where))
            rows.append(scorers.Row(at, "", at, 0, item, item, where))
        if not rows:
            raise DataError("judge_check: there are no labelled rows", line=line)
        yield LabelledRows(scorer, score, tuple(rows), tuple(labels))


def _label(item: Mapping[str, Any], key: str, meant: Mapping[str, float], where: str) -> float:
    value = item.get(key)
    if isinstance(value, str) and value in meant:
        return meant[value]
    if isinstance(value, bool | int | float) and math.isfinite(value):
        return float(value)
    expected = f"a number or one of {', '.join(meant)}" if meant else "a number"
    raise DataError(
        f"judge_check: the label {key!r} is {scorers.shown(value)}, expected {expected}", file=where
    )


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else value
