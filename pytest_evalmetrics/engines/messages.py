"""What a worker and the run that it works for say to each other: plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_evalmetrics.errors import EvalMetricsError
    from pytest_evalmetrics.scorers import Row, Terms
    from pytest_evalmetrics.spec import ScorerSpec
    from pytest_evalmetrics.transport import Answer, JournalMode, Price, Tokens

__all__ = [
    "Asked",
    "Broken",
    "Counted",
    "Done",
    "First",
    "Found",
    "Given",
    "Kept",
    "Kit",
    "Spent",
    "Unanswered",
    "Used",
    "Warned",
]


@dataclass(frozen=True, slots=True)
class Kit:
    """What a worker needs before its first row; no secrets.

    Attributes
    ----------
    version
        Of this package, which has to be the same everywhere.
    targets
        The scorers that are the user's own, by the names that the specs have for them.
    specs, terms
        What scorers are made of; the terms hold this worker's share of the parallelism.
    label
        What calls are counted under.
    mode
        How the run's journal is used; None where there is none.
    """

    version: str
    targets: Mapping[str, Any]
    specs: tuple[ScorerSpec, ...]
    terms: Terms
    label: str
    mode: JournalMode | None


# -- to a worker --------------------------------------------------------------------------------


class Given(NamedTuple):
    """A job; its first call's count, if known, and whether another worker has begun it."""

    order: int
    row: Row
    scorer: int
    before: int | None
    again: bool


class Counted(NamedTuple):
    """How many first calls with the same content came before this job's."""

    order: int
    before: int


class Found(NamedTuple):
    """What the journal has; the fields of its `Entry`, or None."""

    question: int
    entry: Any


# -- from a worker ------------------------------------------------------------------------------


class First(NamedTuple):
    """A job makes its first call, with a content of this digest."""

    order: int
    digest: int


class Asked(NamedTuple):
    """A question: has the journal an answer."""

    order: int
    question: int
    key: bytes


class Kept(NamedTuple):
    """An answer, to be kept."""

    order: int
    key: bytes
    status: int
    text: str
    latency_s: float
    attempts: int


class Used(NamedTuple):
    """An answer, to be counted: of its body only what it says of tokens."""

    order: int
    label: str
    answer: Answer
    price: Price | None


class Unanswered(NamedTuple):
    """A call that ended in an error, after so many requests."""

    label: str
    requests: int


class Spent(NamedTuple):
    """What an answer of a judge took: of which scorer, and which of its judges."""

    scorer: int
    judge: int
    attempts: int
    latency_s: float
    tokens: Tokens | None


class Warned(NamedTuple):
    """What the user should know."""

    text: str


class Done(NamedTuple):
    """A job came to its end: what its sink was told, and what its judges took."""

    order: int
    told: list[tuple[str, tuple[Any, ...], dict[str, Any]]]
    spent: list[Spent]


class Broken(NamedTuple):
    """No job can come to a good end."""

    error: EvalMetricsError
