"""Where a format of recorded rollouts plugs in: columns out of each file.

A loader turns one file into chunks; what chunks are for (order, duplicates, numbering,
the table) is known to `table` alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from pytest_evalmetrics.data import TaskId
    from pytest_evalmetrics.rollouts.source import Source, SourceRow
    from pytest_evalmetrics.spec import FieldMap


@dataclass(frozen=True, slots=True)
class Request:
    """What a benchmark wants of its rollouts.

    Attributes
    ----------
    fields
        Where a row keeps what we need, as far as the benchmark file says it.
    scores
        The scores that the benchmark needs: in these nothing but a number is accepted.
    categories
        The fields that are kept as labels.
    by_position
        Each row is a task of its own, whose id is the row's position: rows need no id.
    whole
        Rows are wanted whole, see `Chunk.records`.
    """

    fields: FieldMap
    scores: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    by_position: bool = False
    whole: bool = False


@dataclass(frozen=True, slots=True)
class NotFinite:
    """A value that is a number in the file and yet none that can be reckoned with.

    Attributes
    ----------
    score
        The score's name.
    what
        ``NaN``, or an infinite or too large number.
    place
        The line or the row that holds it.
    """

    score: str
    what: str
    place: int


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong in one rollout, as its tool recorded it.

    Attributes
    ----------
    row
        The rollout's index in its chunk.
    kind
        What it is counted under: the exception's name, say.
    message
        What it said.
    graded
        Whether the rollout has its scores all the same; else they are missing.
    """

    row: int
    kind: str
    message: str = ""
    graded: bool = False


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some consecutive rows of one file, as columns.

    Attributes
    ----------
    places
        Line (or number, see `Source.unit`) of each row in its file, from 1, shape (rows,).
    task
        Task ids.
    sample
        The attempts' numbers, from 0; None where a row has none.
    agent
        The agents' names; None where a row has none.
    scores
        Name -> float64 column, shape (rows,), NaN where missing. The order of the names
        is that of their first appearance in all the files so far.
    usage
        What the rows say of tokens and the like, in the same form; it wins over a score
        of the same name.
    labels
        Category -> text; None where a row has none.
    fractional
        The names of which some value is written with a fraction or an exponent.
    not_finite
        What counts as missing although it is a number in the file.
    not_numbers
        Score -> where text, a list or an object was first met under its name.
    other_kinds
        The same as a place in this file, of whatever may yet turn out to be a score: by its
        name, and by whether it is one of the usage.
    keys
        What a row can hold, for messages.
    names
        What each row is called in messages, where its file and its place say too little.
    started
        When each rollout began, in seconds, shape (rows,): rows without a sample are numbered
        in this order, those of the same time (or NaN) as they come.
    failures
        The rollouts in which something went wrong.
    notes
        What a reader should know of the file.
    rewards
        The scores that a format has in place of a reward. Where it is the only one and no
        row has a score named ``reward``, that is what it becomes. None: there is no such rule.
    records
        All that there is of each row, where that is asked for, to be scored; one whose attempt
        failed says so under `spec.metric_names.MARK`. Empty of a format whose rows can't be scored.
    content
        Agent and task id -> the hash of what the task is, see `data.content_hash`, for tasks that
        have not been hashed before.
    versioned
        Whether a hash is that of a task's version, and a task may have rollouts of several.
    positional
        Whether task ids are positions in a data set rather than names.
    ruler
        What scored, as the file says it: its name, the name of a setting, and its value; under
        ``scores`` the scores that it gave.
    """

    places: NDArray[np.int64]
    task: Sequence[TaskId]
    sample: Sequence[int | None]
    agent: Sequence[str | None]
    scores: Mapping[str, NDArray[np.float64]]
    usage: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    labels: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    fractional: frozenset[str] = frozenset()
    not_finite: Sequence[NotFinite] = ()
    not_numbers: Mapping[str, str] = field(default_factory=dict)
    other_kinds: Mapping[tuple[str, bool], int] = field(default_factory=dict)
    keys: Sequence[str] = ()
    names: Sequence[str] = ()
    started: NDArray[np.float64] | None = None
    failures: Sequence[Failure] = ()
    notes: Sequence[str] = ()
    rewards: Sequence[str] | None = None
    records: Sequence[Mapping[str, Any]] = ()
    content: Mapping[tuple[str | None, TaskId], str] = field(default_factory=dict)
    versioned: bool = False
    dealt: bool = False  # an environment may deal each rollout of a task another question
    positional: bool = False
    ruler: Sequence[tuple[str, str, str]] = ()


class Loader(Protocol):
    """Reads files of one format, for one benchmark."""

    def read(self, source: Source) -> Iterator[Chunk]:
        """Read one file.

        Raises
        ------
        DataError
            If the file is broken, or a row lacks what it needs.
        """
        ...


@runtime_checkable
class TextLoader(Loader, Protocol):
    """One whose rows can also be had whole, to be scored."""

    def texts(self, source: Source) -> Iterator[SourceRow]:
        """Go through the rows of one file in the order of `read`.

        Raises
        ------
        DataError
            If the file is broken.
        """
        ...


@runtime_checkable
class RowLoader(Loader, Protocol):
    """The same of a format that is no JSON."""

    def rows(self, source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
        """Go through the rows of one file in the order of `read`: their places, and builtins."""
        ...


class LoaderFactory(Protocol):
    """What is registered: a class, or anything that makes a `Loader` for a benchmark."""

    def __call__(self, request: Request) -> Loader:
        """Make one, which reads all the files of its format."""
        ...
