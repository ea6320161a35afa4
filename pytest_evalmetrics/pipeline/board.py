"""The scores and answers of a benchmark's rows as they come in, in any order."""

from __future__ import annotations

import tempfile
import weakref
from collections import Counter
from contextlib import suppress
from typing import IO, TYPE_CHECKING, TypeAlias

import numpy as np
from msgspec import structs

from pytest_evalmetrics.errors import ArtifactError, RowError
from pytest_evalmetrics.layout import compact
from pytest_evalmetrics.model.scores import RowFailure, ScorerFailures
from pytest_evalmetrics.model.scoring_notes import (
    CutAnswers,
    FailedRequestsLeftOut,
    UncountedTokens,
)
from pytest_evalmetrics.pipeline import benchmark_rows
from pytest_evalmetrics.pipeline.budgets import UNRECORDED, USED_UP
from pytest_evalmetrics.scoring.door import BoundScorer, CallError, Generator, Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.model.rollout_table import RolloutTable, Row
    from pytest_evalmetrics.scoring.door import AnswerAttempt, Exchange

# the column that a rollout without an answer lacks
ANSWER = ("output_text",)
# failures that are not the endpoint's count, even if failed requests are ignored
_NEVER_IGNORED = frozenset({USED_UP, UNRECORDED, "bad-request"})
# failed rows of a scorer that the report holds; row_scores.jsonl holds all
_FIRST = 20


class RowTexts:
    """JSON texts of each row, in a temporary file; all are written before the first is read."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._file: IO[bytes] | None = None
        # row -> rank, start, length
        self._places: dict[int, list[tuple[int, int, int]]] = {}
        self._end = 0

    def add(self, row: int, rank: int, items: bytes) -> None:
        """Keep JSON values with commas between them; those of a row are ordered by rank."""
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the object
                weakref.finalize(self, _close, self._file)
            self._file.write(items)
            # a full disk is part of the benchmark's result
            self._file.flush()
        except OSError as error:
            folder = tempfile.gettempdir()
            raise ArtifactError(
                f"the {self._what} of the rows can't be kept for row_scores.jsonl in {folder}: "
                f"{error.strerror or error}",
                hint="free some room, or name another folder in the environment as TMPDIR",
            ) from error
        self._places.setdefault(row, []).append((rank, self._end, len(items)))
        self._end += len(items)

    def of(self, row: int) -> bytes:
        """Return all that is kept of a row, as a JSON array."""
        texts = []
        for _, start, length in sorted(self._places.get(row, ())):
            if self._file is not None:
                self._file.seek(start)
                texts.append(self._file.read(length))
        return b"[" + b",".join(texts) + b"]"


def _close(file: IO[bytes]) -> None:
    # on a full disk the buffer can't be written; that was reported before
    with suppress(OSError):
        file.close()


# gives scores
_Giver: TypeAlias = "BoundScorer | Generator"


class Board:
    """The scores and answers as they come in, in any order, by row of the files."""

    def __init__(
        self,
        rows: RolloutTable,
        names: tuple[str, ...],
        generator: Generator | None,
        progress: Progress,
        hide: Callable[[str], str] = lambda text: text,
    ) -> None:
        self.rows = rows
        self.generator = generator
        self.progress = progress
        self._hide = hide
        self._places = np.argsort(benchmark_rows.reading_order(rows), kind="stable")
        self.columns = {name: np.full(len(rows), np.nan) for name in names}
        # by row, and by the scores that it lacks
        self.failed: dict[int, dict[tuple[str, ...], RowFailure]] = {}
        self._reasons: dict[str, str] = {}
        self._ranks = {name: rank for rank, name in enumerate(names)}
        self.requests = RowTexts("requests")
        self.reasons = RowTexts("reasons")
        self.answers = RowTexts("answers")
        self._answered = 0
        self._cut = 0
        self._requests_failed: list[int] = []
        # counts the scores
        self._counted = progress
        if generator is not None:
            # then the progress counts rollouts
            progress.unit = "rollouts"
            self._counted = Progress()

    def scored(
        self,
        row: Row,
        giver: _Giver,
        scores: Mapping[str, float],
        why: str,
        *,
        from_journal: bool,
    ) -> None:
        """Take the scores of a row."""
        at = self._places[row.index]
        for name in giver.scores:
            self.columns[name][at] = scores[name]
        if why:
            item = compact({"scores": giver.scores, "reason": why}).encode()
            self.reasons.add(row.index, self._ranks[giver.scores[0]], item)
        self._counted.succeeded(from_journal=from_journal)

    def lacks(
        self, row: Row, scores: tuple[str, ...], error: RowError, reason: str
    ) -> None:
        """Record why a row lacks scores."""
        reason = self._reasons.setdefault(reason, reason)
        # a scorer's own hint may hold a secret as well as its message
        hint = self._hide(error.hint or "")
        failure = RowFailure(row.index, row.where, error.kind, reason, hint)
        self.failed.setdefault(row.index, {})[scores] = failure
        self._counted.failed(error.kind)

    def asked(self, row: Row, scorer: _Giver, exchanges: Sequence[Exchange]) -> None:
        """Keep what was asked and answered for a row."""
        if exchanges:
            items = compact(exchanges)[1:-1].encode()
            self.requests.add(row.index, self._ranks[scorer.scores[0]], items)

    def attempted(self, attempt: AnswerAttempt) -> None:
        """Take the outcome of generating a row's answer."""
        row = attempt.row
        calls = attempt.calls
        generated = attempt.generated
        failure = attempt.failure
        assert self.generator is not None  # noqa: S101 - else nothing is generated
        if generated is not None:
            scores = generated.measured
            self.scored(
                row, self.generator, scores, "", from_journal=calls.from_journal
            )
            self._cut += generated.reply.finish_reason == "length"
            self._answered += 1
        self.asked(row, self.generator, calls.exchanges)
        self.answers.add(row.index, 0, attempt.text)
        if failure is not None:
            self.lacks(row, ANSWER, failure, attempt.reason)
            is_call = isinstance(failure, CallError)
            if is_call and failure.kind not in _NEVER_IGNORED:
                self._requests_failed.append(row.index)
        failed = self.failed.get(row.index)
        if failed:
            first = next(iter(failed.values()))
            self.progress.failed(first.kind)
        else:
            self.progress.succeeded(from_journal=calls.from_journal)

    def mean_so_far(self, name: str) -> tuple[str, float] | None:
        """Return a score's name and its mean over the rows that have it; None without any."""
        column = self.columns.get(name)
        if column is None:
            return None
        values = column[~np.isnan(column)]
        return (name, float(values.mean())) if len(values) else None

    # -- the outcome -------------------------------------------------------------------------

    def failed_rows(self, kind: str) -> int:
        """Count the rows that lack a score for a reason of a kind."""
        count = 0
        for failures in self.failed.values():
            count += any(failure.kind == kind for failure in failures.values())
        return count

    def table(self, *, without: Collection[str] = ()) -> RolloutTable:
        """Return the table with the scores; they take the place of recorded ones."""
        scores = dict(self.rows.scores)
        for name, column in self.columns.items():
            scores.pop(name, None)
            if name not in without:
                scores[name] = column
        integers = self.rows.integers - self.columns.keys()
        return structs.replace(self.rows, scores=scores, integers=integers)

    def failures(self, bound: Sequence[BoundScorer]) -> Iterator[ScorerFailures]:
        """Group the rows that lack scores: by scorer, and by reason."""
        if self.generator is not None:
            yield from self._failures_of(self.generator.type, ANSWER)
        for scorer in bound:
            yield from self._failures_of(scorer.type, scorer.scores)

    def _failures_of(
        self, kind: str, scores: tuple[str, ...]
    ) -> Iterator[ScorerFailures]:
        """Group the rows that lack some scores by the kind of reason, the most frequent first."""
        failed: list[RowFailure] = []
        for index in sorted(self.failed):
            failures = self.failed[index]
            if scores in failures:
                failed.append(failures[scores])
        if not failed:
            return
        counts = Counter(failure.kind for failure in failed)
        by_count = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        first = {failure.kind: failure for failure in reversed(failed)}
        yield ScorerFailures(
            scorer=kind,
            scores=scores,
            count=len(failed),
            kinds=dict(by_count),
            first=tuple(failed[:_FIRST]),
            rows=len(self.rows),
            examples={name: first[name] for name, _ in by_count},
        )

    def without_failed_requests(
        self, table: RolloutTable
    ) -> tuple[RolloutTable, tuple[Note, ...]]:
        """Drop the rollouts whose request failed, with a note; keep them if all failed."""
        failed = np.isin(benchmark_rows.reading_order(table), self._requests_failed)
        if not failed.any() or failed.all():
            return table, ()
        kept = table.where(~failed)
        note = FailedRequestsLeftOut(
            failed=int(failed.sum()),
            rollouts=len(table),
            lost_tasks=len(table.tasks) - len(kept.tasks),
            tasks=len(table.tasks),
        )
        return kept, (note,)

    def answer_notes(self) -> Iterator[Note]:
        """Note the answers that were cut off, or lack their tokens."""
        if self._cut:
            yield CutAnswers(self._cut, self._answered)
        unknown = int(np.isnan(self.columns["total_tokens"]).sum())
        silent = unknown - (len(self.rows) - self._answered)
        if silent > 0 and self.generator is not None and self.generator.type == "model":
            yield UncountedTokens(silent, self._answered)
