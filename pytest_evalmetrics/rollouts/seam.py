"""Where a format of recorded rollouts plugs in: columns out of each file.

A loader turns one file into chunks; what chunks are for (order, duplicates, numbering,
the table) is known to `table` alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from pytest_evalmetrics.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from pytest_evalmetrics.data import TaskId
    from pytest_evalmetrics.rollouts.source import Source
    from pytest_evalmetrics.spec import FieldMap

__all__ = [
    "Chunk",
    "Loader",
    "LoaderFactory",
    "NotFinite",
    "RecognisingFactory",
    "Request",
    "loaders",
    "register_loader",
]


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
    """

    fields: FieldMap
    scores: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()


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
    keys
        What a row can hold, for messages.
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
    keys: Sequence[str] = ()


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


class LoaderFactory(Protocol):
    """What is registered: a class, or anything that makes a `Loader` for a benchmark."""

    def __call__(self, request: Request) -> Loader:
        """Make one, which reads all the files of its format."""
        ...


class RecognisingFactory(LoaderFactory, Protocol):
    """One that can be found by a file's content."""

    def recognises(self, source: Source) -> bool:
        """Whether a file looks like one of this format."""
        ...


loaders = Registry("loader", "pytest_evalmetrics.loaders", "pytest_evalmetrics.rollouts.builtin")
register_loader = loaders.register
