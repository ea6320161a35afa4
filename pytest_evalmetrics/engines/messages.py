"""What a worker and the run that it works for say to each other: plain values."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_evalmetrics.engines.answering import Attempted
    from pytest_evalmetrics.errors import EvalMetricsError
    from pytest_evalmetrics.scorers import Row, Terms
    from pytest_evalmetrics.spec import BenchmarkSpec
    from pytest_evalmetrics.transport import Answer, CallError, JournalMode, Price, Tokens

__all__ = [
    "Admitted",
    "Asked",
    "Broken",
    "Counted",
    "Done",
    "First",
    "Found",
    "Given",
    "Granted",
    "Kept",
    "Kit",
    "Paid",
    "Places",
    "Spent",
    "Unanswered",
    "Used",
    "Warned",
    "Wished",
]


@dataclass(frozen=True, slots=True)
class Kit:
    """What a worker needs before its first row; no secrets.

    Attributes
    ----------
    version
        Of this package, which has to be the same everywhere.
    scorers, targets
        Those that are the user's own, by the names that the spec has for them.
    spec, terms
        What scorers, and who answers rows, are made of; the terms hold no secrets.
    label
        What calls are counted under.
    mode
        How the run's journal is used; None where there is none.
    metered
        Each job has to be let make its first call.
    """

    version: str
    scorers: Mapping[str, Any]
    targets: Mapping[str, Any]
    spec: BenchmarkSpec
    terms: Terms
    label: str
    mode: JournalMode | None
    metered: bool


# -- to a worker --------------------------------------------------------------------------------


class Given(NamedTuple):
    """A job; its first call's count, if known, and whether another worker has begun it.

    Without a scorer the row is to be answered, and scored by all of them.
    """

    order: int
    row: Row
    scorer: int | None
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


class Admitted(NamedTuple):
    """A job may make its calls, or why not."""

    order: int
    refusal: CallError | None


class Granted(NamedTuple):
    """A place at an endpoint, and the round of its limit, see `AdaptiveLimit`."""

    origin: str
    sent_in: int


# -- from a worker ------------------------------------------------------------------------------


@dataclass(slots=True)
class Places:
    """Places at an endpoint: how many more are wanted, and what became of others.

    Attributes
    ----------
    origin
        The endpoint.
    wanted, left
        How many are asked for, and given back.
    succeeded, overloaded
        What came meanwhile, see `AdaptiveLimit`.
    """

    origin: str
    wanted: int = 0
    left: int = 0
    succeeded: int = 0
    overloaded: list[tuple[int, float]] = field(default_factory=list)


class First(NamedTuple):
    """A job makes its first call, with a content of this digest."""

    order: int
    digest: int


class Asked(NamedTuple):
    """A question: has the journal an answer."""

    order: int
    question: int
    key: bytes


class Wished(NamedTuple):
    """A job is to make its first call that costs something."""

    order: int


class Paid(NamedTuple):
    """A call that a job has made, whatever came of it."""

    order: int
    requests: int
    tokens: Tokens | None
    price: Price | None


class Kept(NamedTuple):
    """An answer, to be kept: for good, or until its job is done."""

    order: int
    key: bytes
    status: int
    text: str
    latency_s: float
    attempts: int
    for_good: bool


class KeptFailure(NamedTuple):
    """How a call failed, and what came: for the run's journal, should somebody replay it."""

    key: bytes
    error: CallError
    body: str | None


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
    """A job came to its end.

    Attributes
    ----------
    told
        What its sink was told: by which method, of which scorer, and what.
    spent
        What its judges took.
    attempted
        What came of it, if the row was to be answered.
    """

    order: int
    told: list[tuple[str, int, tuple[Any, ...], dict[str, Any]]]
    spent: list[Spent]
    attempted: Attempted | None


class Broken(NamedTuple):
    """No job can come to a good end."""

    error: EvalMetricsError
