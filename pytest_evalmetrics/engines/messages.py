"""What a worker and its run say to each other, and the order in which it is taken."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from pytest_evalmetrics.transport import Occurrences

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping

    from pytest_evalmetrics.engines.local import Attempted
    from pytest_evalmetrics.errors import EvalMetricsError
    from pytest_evalmetrics.scorers import Row, Terms
    from pytest_evalmetrics.spec import BenchmarkSpec
    from pytest_evalmetrics.transport import Answer, CallError, JournalMode, Price, Tokens

__all__ = [
    "UNSETTLED",
    "Admitted",
    "Asked",
    "Broken",
    "Counted",
    "Done",
    "First",
    "FirstOfJob",
    "Found",
    "Given",
    "Granted",
    "InOrder",
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

UNSETTLED = -1  # the count of a first call that is not known yet

_What = TypeVar("_What")


class InOrder(Generic[_What]):
    """Holds back what is heard of a job until all jobs before it were heard of."""

    def __init__(self) -> None:
        self._heard: dict[int, _What | None] = {}
        self._next = 0

    def is_past(self, order: int) -> bool:
        """Whether a job's turn has come and gone."""
        return order < self._next

    def hear(self, order: int, what: _What | None) -> Iterator[tuple[int, _What]]:
        """Hear of a job."""
        if order >= self._next and self._heard.get(order) is None:
            self._heard[order] = what
        while self._next in self._heard:
            settled, found = self._next, self._heard.pop(self._next)
            self._next += 1
            if found is not None:
                yield settled, found


class FirstOfJob(Occurrences):
    """Lets the first call of a job be counted by somebody else."""

    def __init__(self, known: int | None = None, tell: Callable[[int], None] | None = None) -> None:
        super().__init__()
        self._known = known
        self._tell = tell
        self._is_first = tell is not None

    def next(self, content: bytes | None, *of: Hashable) -> int:
        """Count a call; the later ones of a job are its own affair."""
        if not self._is_first or self._tell is None:
            return super().next(content, *of)
        self._is_first = False
        if self._known is not None:
            return self._known
        self._tell(self.digest(content, *of))
        return UNSETTLED


@dataclass(frozen=True, slots=True)
class Kit:
    """What a worker needs before its first row; no secrets."""

    version: str  # of this package, which has to be the same everywhere
    # those that are the user's own, by the names that the spec has for them
    scorers: Mapping[str, Any]
    targets: Mapping[str, Any]
    # what scorers, and who answers rows, are made of; the terms hold no secrets
    spec: BenchmarkSpec
    terms: Terms
    label: str  # what calls are counted under
    mode: JournalMode | None  # how the run's journal is used; None where there is none
    metered: bool  # each job has to be let make its first call


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
    """Places at an endpoint: how many more are wanted, and what became of others."""

    origin: str  # the endpoint
    wanted: int = 0  # how many are asked for, and given back
    left: int = 0
    succeeded: int = 0  # what came meanwhile, see `AdaptiveLimit`
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
    """A job came to its end."""

    order: int
    # what its sink was told: by which method, of which scorer, and what
    told: list[tuple[str, int, tuple[Any, ...], dict[str, Any]]]
    spent: list[Spent]  # what its judges took
    attempted: Attempted | None  # what came of it, if the row was to be answered


class Broken(NamedTuple):
    """No job can come to a good end."""

    error: EvalMetricsError
