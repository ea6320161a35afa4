"""The scores and answers of a benchmark's rows, as they come in."""

from __future__ import annotations

import tempfile
import weakref
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import IO, TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.data import FailedRow, RolloutTable, Row
from pytest_evalmetrics.errors import ArtifactError, RowError
from pytest_evalmetrics.layout import compact, of_many
from pytest_evalmetrics.pipeline.row_choice import reading_order
from pytest_evalmetrics.records import record
from pytest_evalmetrics.results import RowFailure, ScorerFailures
from pytest_evalmetrics.spec.metric_names import GENERATED_SCORES, MARK
from pytest_evalmetrics.transport import CallError, Progress

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from pytest_evalmetrics.generators import Generated, Generator
    from pytest_evalmetrics.scorers import BoundScorer, Calls, Exchange
    from pytest_evalmetrics.spec import BenchmarkSpec

USED_UP = "budget"  # the kind of a call that was not made because a budget was used up
# these say nothing of the endpoint: whatever the user thinks of failed requests, they count
_NEVER_IGNORED = frozenset({USED_UP, "not-in-journal", "bad-request"})
_FIRST = 20  # failed rows of a scorer that the report holds; row_scores.jsonl holds all


class RowTexts:
    """JSON texts of each row, in a temporary file; all are written before the first is read."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._file: IO[bytes] | None = None
        self._places: dict[int, list[tuple[int, int, int]]] = {}  # row -> rank, start, length
        self._end = 0

    def add(self, row: int, rank: int, items: bytes) -> None:
        """Keep JSON values with commas between them; those of a row are ordered by rank."""
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the object
                weakref.finalize(self, _close, self._file)
            self._file.write(items)
            self._file.flush()  # a full disk is part of the benchmark's result
        except OSError as error:
            raise ArtifactError(
                f"the {self._what} of the rows can't be kept for row_scores.jsonl in "
                f"{tempfile.gettempdir()}: {error.strerror or error}",
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
    with suppress(OSError):  # a full disk refuses what waits; that is reported by then
        file.close()


@record
class Stage:
    """Generation, as the board sees it: one of those that give scores."""

    type: str  # ``model`` or ``target``
    scores: tuple[str, ...]

    @classmethod
    def of(cls, spec: BenchmarkSpec) -> Stage:
        """Describe what is measured of each answer."""
        priced = spec.model is not None and spec.model.price is not None
        names = tuple(name for name in GENERATED_SCORES if name != "cost" or priced)
        return cls("model" if spec.model is not None else "target", names)

    @property
    def failing(self) -> Stage:
        """The same, for what a rollout without an answer lacks."""
        return replace(self, scores=("output_text",))


@dataclass
class Board:
    """The scores and answers as they come in, in any order, by row of the files."""

    rows: RolloutTable
    names: tuple[str, ...]
    generator: Generator | None = None  # who answers
    stage: Stage | None = None  # what is measured of each answer
    progress: Progress = field(default_factory=Progress)

    def __post_init__(self) -> None:
        order = reading_order(self.rows)
        self._places = np.empty(len(order), np.int64)
        self._places[order] = np.arange(len(order))
        self.columns = {name: np.full(len(order), np.nan) for name in self.names}
        self.failed: dict[int, list[FailedRow]] = {}
        self._reasons: dict[str, str] = {}
        self._ranks = {name: i for i, name in enumerate(self.names)}
        self.requests, self.reasons = RowTexts("requests"), RowTexts("reasons")
        self.answers = RowTexts("answers")
        self._answered = self._cut = 0
        self._requests_failed: list[int] = []
        self._counted = self.progress
        if self.stage is not None:  # then the progress counts rollouts, not their scores
            self.progress.unit, self._counted = "rollouts", Progress()

    def scored(
        self,
        row: Row,
        scorer: BoundScorer | Stage,
        scores: Mapping[str, float],
        *,
        from_journal: bool,
    ) -> None:
        """Take a row's scores."""
        at = self._places[row.index]
        for name in scorer.scores:
            self.columns[name][at] = scores[name]
        self._counted.succeeded(from_journal=from_journal)

    def lacks(
        self, row: Row, scorer: BoundScorer | Stage, error: RowError | CallError, reason: str
    ) -> None:
        """Take the reason why a row has no scores."""
        reason = self._reasons.setdefault(reason, reason)
        failed = FailedRow(error.kind, reason, row.where, error.hint, scorer.scores)
        self.failed.setdefault(row.index, []).append(failed)
        self._counted.failed(error.kind)

    def asked(self, row: Row, scorer: BoundScorer | Stage, exchanges: Sequence[Exchange]) -> None:
        """Take the requests of a row, and their answers."""
        if exchanges:
            items = compact(exchanges)[1:-1].encode()
            self.requests.add(row.index, self._ranks[scorer.scores[0]], items)

    def explained(self, row: Row, scorer: BoundScorer | Stage, reason: str) -> None:
        """Take the reason of a row's scores."""
        item = compact({"scores": scorer.scores, "reason": reason}).encode()
        self.reasons.add(row.index, self._ranks[scorer.scores[0]], item)

    def attempted(
        self,
        row: Row,
        calls: Calls,
        generated: Generated | None,
        failure: RowError | CallError | None,
        *,
        reason: str,
        text: bytes,
    ) -> None:
        """Take the outcome of generating a row's answer; `text` is the row with it."""
        assert self.stage is not None  # noqa: S101 - else nothing is generated
        if generated is not None:
            self.scored(row, self.stage, generated.measured, from_journal=calls.from_journal)
            self._cut += generated.reply.finish_reason == "length"
            self._answered += 1
        self.asked(row, self.stage, calls.exchanges)
        self.answers.add(row.index, 0, text)
        if failure is not None:
            self.lacks(row, self.stage.failing, failure, reason)
            if isinstance(failure, CallError) and failure.kind not in _NEVER_IGNORED:
                self._requests_failed.append(row.index)
        if failed := self.failed.get(row.index):
            self.progress.failed(failed[0].kind)
        else:
            self.progress.succeeded(from_journal=calls.from_journal)

    # -- the outcome -------------------------------------------------------------------------

    def table(self, *, without: Collection[str] = ()) -> RolloutTable:
        """Return the table with the scores; they take the place of recorded ones."""
        recorded = {k: v for k, v in self.rows.scores.items() if k not in self.columns}
        scored = {k: v for k, v in self.columns.items() if k not in without}
        integers = self.rows.integers - set(self.names)
        return replace(self.rows, scores=recorded | scored, integers=integers)

    def failures(self, givers: Sequence[BoundScorer | Stage]) -> Iterator[ScorerFailures]:
        """Group the rows that lack scores: by scorer, and by reason."""
        in_order = [(index, f) for index in sorted(self.failed) for f in self.failed[index]]
        for scorer in givers:
            failed = [
                RowFailure(index, f.where, f.kind, f.reason, f.hint or "")
                for index, f in in_order
                if f.scores == scorer.scores
            ]
            counts = Counter(f.kind for f in failed)
            kinds = dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
            first = {f.kind: f for f in reversed(failed)}
            examples = {kind: first[kind] for kind in kinds}
            shown, of = tuple(failed[:_FIRST]), (scorer.type, scorer.scores)
            if failed:
                yield ScorerFailures(*of, len(failed), kinds, shown, len(self.rows), examples)

    def without_failed_requests(self, table: RolloutTable) -> tuple[RolloutTable, tuple[str, ...]]:
        """Leave out the rollouts whose request failed, and say so; where all did, they stay."""
        failed = np.isin(reading_order(table), self._requests_failed)
        if not failed.any() or failed.all():
            return table, ()
        kept = table.where(~failed)
        gone = len(table.tasks) - len(kept.tasks)
        note = f"left out of every metric: {of_many(int(failed.sum()), len(table), 'rollout')}, "
        note += "whose request failed, because params.ignore_request_failure says so"
        note += f"; {of_many(gone, len(table.tasks), 'task', 'has')} none left" if gone else ""
        return kept, (note,)

    def answer_notes(self) -> Iterator[str]:
        """Describe what a reader should know of the answers."""
        if self._cut:
            yield (
                f"{of_many(self._cut, self._answered, 'answer', 'was')} cut off at the most tokens "
                "that the model may write (finish_reason: length): raise max_tokens; the score "
                "truncated says which"
            )
        unknown = int(np.isnan(self.columns["total_tokens"]).sum())
        silent = unknown - (len(self.rows) - self._answered)
        if silent > 0 and self.stage is not None and self.stage.type == "model":
            yield f"{silent} of {self._answered} answers don't say how many tokens they took"


def recorded_row(row: Row) -> tuple[Row, RowError | None]:
    """Return a row of ``rollouts.jsonl``, or another tool's failed attempt, as it was generated."""
    mark = row.item.get(MARK)
    if not isinstance(mark, dict):
        return row, None
    added = {MARK, *mark.get("added", ())}
    item = {key: value for key, value in row.item.items() if key not in added}
    item |= mark.get("row", {})
    failed = mark.get("failed")
    failure = RowError(str(failed[0]), str(failed[1])) if failed else None
    return replace(row, item=item, sample_data=mark.get("sample", {})), failure
