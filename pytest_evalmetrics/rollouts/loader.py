"""The interface of a format: a loader turns one file of rollouts into chunks of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from pytest_evalmetrics.json_types import JsonObject, JsonValue
    from pytest_evalmetrics.model.metric_facts import DirectionName
    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.model.rollout_table import TaskId
    from pytest_evalmetrics.rollouts.derived_scores import DerivedScore
    from pytest_evalmetrics.rollouts.source import Source, SourceRow
    from pytest_evalmetrics.spec import FieldMap
    from pytest_evalmetrics.spec.sources import JointField


class FieldPaths(msgspec.Struct, frozen=True):
    """The paths of a `FieldMap`, for processes that do without the validation of YAML."""

    task: str | tuple[str, ...] | None
    sample: str | None
    reward: str | JointField | None
    agent: str | None
    content: tuple[str, ...] | None
    scores: Mapping[str, str | JointField]

    @classmethod
    def of(cls, fields: FieldMap | FieldPaths) -> FieldPaths:
        """Copy the paths of a benchmark file's fields."""
        return cls(
            task=fields.task,
            sample=fields.sample,
            reward=fields.reward,
            agent=fields.agent,
            content=fields.content,
            scores=dict(fields.scores),
        )


class Request(msgspec.Struct, frozen=True):
    """The columns and records that a benchmark reads from its rollouts."""

    #: The paths within a row that the benchmark file gives.
    fields: FieldMap | FieldPaths
    #: The scores that it needs: these have to be numbers.
    scores: tuple[str, ...] = ()
    #: The fields that are kept as labels.
    categories: tuple[str, ...] = ()
    #: Whether each row is a task of its own, whose id is its position.
    by_position: bool = False
    whole: bool = False  #: Whether rows are wanted whole, see `Chunk.records`.
    #: The scores of ``map:``, ``missing:``, ``all:`` and ``any:``, for the loaders of tools.
    derived: tuple[DerivedScore, ...] = ()
    #: The decimal sign of numbers that are text, if declared.
    decimal: str | None = None


class NotFinite(msgspec.Struct, frozen=True):
    """A number of a file that counts as missing: NaN, infinite or too large."""

    score: str  #: The score's name.
    what: str  #: ``NaN``, or ``infinite or too large``.
    place: int  #: The line or the row that holds it.


class Failure(msgspec.Struct, frozen=True):
    """An error of one rollout, as its tool recorded it."""

    row: int  #: The rollout's index in its chunk.
    kind: str  #: The kind of failure, such as the exception's name.
    message: str = ""  #: The exception's message.
    graded: bool = False  #: Whether the rollout has its scores all the same.


class Chunk(msgspec.Struct, frozen=True):
    """Some consecutive rows of one file, as columns."""

    #: Line (or number, see `Source.unit`) of each row in its file, from 1, shape (rows,).
    places: NDArray[np.int64]
    #: Task ids; none where each row is a task of its own.
    task: Sequence[TaskId]
    #: The attempts' numbers, from 0; None if a row has none.
    sample: Sequence[int | None]
    #: The agents' names; None if a row has none.
    agent: Sequence[str | None]
    #: Name -> float64 column, shape (rows,), NaN where missing, in the order in which the names
    #: first appear in all the files so far.
    scores: Mapping[str, NDArray[np.float64]]
    #: Tokens and the like in the same form; they win over a score of the same name.
    usage: Mapping[str, NDArray[np.float64]] = msgspec.field(default_factory=dict)
    #: Category -> text; None if a row has none.
    labels: Mapping[str, Sequence[str | None]] = msgspec.field(default_factory=dict)
    #: Names with at least one value written with a fraction or an exponent.
    fractional: frozenset[str] = frozenset()
    not_finite: Sequence[NotFinite] = ()  #: The numbers that count as missing.
    #: Score -> where text, a list or an object was first met under its name.
    not_numbers: Mapping[str, str] = msgspec.field(default_factory=dict)
    #: The same as a place in this file, of whatever may yet turn out to be a score: by its name,
    #: and by whether it is one of the usage.
    other_kinds: Mapping[tuple[str, bool], int] = msgspec.field(default_factory=dict)
    #: The keys that a row can have, for messages.
    keys: Sequence[str] = ()
    #: A number for each row as it is written, shape (rows,): rows with other numbers are no
    #: copies of each other. None if that is not known, and where rows have a sample.
    marks: NDArray[np.int64] | None = None
    #: The rows' names in messages, if file and place do not suffice.
    names: Sequence[str] = ()
    #: When each rollout began, in seconds, shape (rows,): rows without a sample are numbered in
    #: this order, those of the same time (or NaN) as they come.
    started: NDArray[np.float64] | None = None
    failures: Sequence[Failure] = ()  #: The rollouts in which something went wrong.
    notes: Sequence[str | Note] = ()  #: What a reader should know of the file.
    #: The scores that a format has in place of a reward: the only one becomes the reward where no
    #: row has a score named ``reward``. None: there is no such rule.
    rewards: Sequence[str] | None = None
    #: The whole rows for scoring, if `Request.whole` is set. Failed attempts are marked under
    #: `spec.metric_names.MARK`. Empty if rows of this format can't be scored.
    records: Sequence[Mapping[str, JsonValue]] = ()
    #: Agent and task id -> the task's `content_hash`, for tasks that were not hashed before.
    content: Mapping[tuple[str | None, TaskId], str] = msgspec.field(
        default_factory=dict
    )
    #: Whether hashes are of tasks' versions, of which a task may have many.
    versioned: bool = False
    #: The ids that a tool gave to single records, which no two rollouts share.
    record_ids: Sequence[str | None] = ()
    #: Whether the tool records each row as an attempt at its task, also in several files.
    attempts: bool = False
    #: The rows that count only where no other row is of the same attempt, by index.
    retried: Sequence[int] = ()
    #: Whether an environment may deal each rollout of a task another question.
    dealt: bool = False
    #: Whether task ids are positions in a data set rather than names.
    positional: bool = False
    #: The scorers as the file describes them: name, setting and value; the scores that one gave
    #: are its setting ``scores``.
    ruler: Sequence[tuple[str, str, str]] = ()
    #: Score -> which way is better, where the file declares it.
    directions: Mapping[str, DirectionName] = msgspec.field(default_factory=dict)


class Loader(Protocol):
    """Reads files of one format, for one benchmark."""

    def read(self, source: Source) -> Iterator[Chunk]:
        """Read one file.

        Raises
        ------
        DataError
            If the file is broken, or a row lacks what it needs.
        """


class RowVisitor(Protocol):
    """Sees the whole rows of files while their columns are read."""

    def visit(self, source: Source, chunk: Chunk) -> None:
        """See the next rows of a file, which are the chunk's `records`."""


@runtime_checkable
class TextLoader(Loader, Protocol):
    """A loader that can also yield whole rows as JSON text, for scoring."""

    def texts(self, source: Source) -> Iterator[SourceRow]:
        """Yield the rows of one file in the order of `read`; raises as `read` does."""


@runtime_checkable
class RowLoader(Loader, Protocol):
    """The same of a format that is not JSON."""

    def rows(self, source: Source) -> Iterator[tuple[int, JsonObject]]:
        """Yield the rows of one file in the order of `read`: their places, and builtins."""


class LoaderFactory(Protocol):
    """A registered loader: a class, or anything that makes a `Loader` for a benchmark."""

    def __call__(self, request: Request) -> Loader:
        """Make one, which reads all the files of its format."""
