"""What a scorer is given, and what it has to be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from pytest_evalmetrics.transport import Endpoint, SecretError, find_secret

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_evalmetrics.data import TaskId
    from pytest_evalmetrics.scorers.calls import Calls
    from pytest_evalmetrics.transport import Secret

__all__ = ["AsyncScorer", "Explained", "Row", "Scorer", "Terms"]

_TIMEOUT_S, _RETRIES = 30.0, 3


@dataclass(frozen=True, slots=True)
class Row:
    """One row to be scored.

    Attributes
    ----------
    index
        Its position in what was read, from 0.
    agent, task, sample
        Whose attempt it is at what, and which one.
    item
        The row as it is written.
    sample_data
        What was generated for it; of recorded rollouts the row itself, of a data set nothing.
    where
        ``file:line``, for messages.
    """

    index: int
    agent: str
    task: TaskId
    sample: int
    item: Mapping[str, Any]
    sample_data: Mapping[str, Any] = field(default_factory=dict)
    where: str = ""

    @property
    def context(self) -> dict[str, Any]:
        """What templates may name: the row's columns, ``item`` and ``sample``."""
        return {**self.item, "item": self.item, "sample": self.sample_data}


@dataclass(frozen=True, slots=True)
class Explained:
    """Scores, and why they are what they are: for people, in ``row_scores.jsonl``.

    Attributes
    ----------
    scores
        What a scorer gives otherwise.
    reason
        A judge's reasoning, or what a number rests on.
    """

    scores: Mapping[str, float] | float
    reason: str


class Scorer(Protocol):
    """Scores a row with what the row holds.

    Attributes
    ----------
    scores
        The names of what it gives.
    """

    scores: tuple[str, ...]

    def score(self, row: Row) -> Mapping[str, float] | float | Explained:
        """Score one row: a number by name, or the number where there is one score.

        Raises
        ------
        RowError
            This row can't be scored; the others go on.
        """
        ...


class AsyncScorer(Protocol):
    """Scores a row by asking an endpoint.

    The first call of a row is made before anything is awaited: so calls are counted in the
    order of the rows, and a run that is started again finds its answers.

    Attributes
    ----------
    scores
        The names of what it gives.
    """

    scores: tuple[str, ...]

    async def score(self, row: Row, calls: Calls) -> Mapping[str, float] | float | Explained:
        """Score one row, see `Scorer`; `calls` is the way to endpoints."""
        ...


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms endpoints are called: what ``params:`` says, and defaults.

    Attributes
    ----------
    parallelism
        Calls in flight at once.
    timeout_s, max_retries
        Where a scorer says nothing of its own.
    replays
        Nothing is called: what a key is needed for can do without one.
    """

    parallelism: int = 16
    timeout_s: float | None = None
    max_retries: int | None = None
    replays: bool = False

    def endpoint(
        self,
        url: str,
        *,
        secret: str | None = None,
        timeout_s: float | None = None,
        max_retries: int | None = None,
    ) -> Endpoint:
        """Make an endpoint on these terms.

        Raises
        ------
        SecretError
            The named secret is not in the environment.
        """
        return Endpoint(
            url,
            secret=self._secret(secret),
            timeout_s=timeout_s or self.timeout_s or _TIMEOUT_S,
            max_retries=next(
                (n for n in (max_retries, self.max_retries) if n is not None), _RETRIES
            ),
            parallelism=self.parallelism,
        )

    def _secret(self, name: str | None) -> Secret | None:
        if name is None:
            return None
        try:
            return find_secret(name)
        except SecretError:
            if self.replays:
                return None
            raise
