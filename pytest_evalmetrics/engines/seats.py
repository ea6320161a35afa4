"""Seats for workers at a work that is done elsewhere: how many, and how many jobs each is given."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_evalmetrics.engines.jobs import Job
    from pytest_evalmetrics.engines.places import PlacesOfOne
    from pytest_evalmetrics.engines.protocol import Work

__all__ = ["Seat", "is_bounded", "most_jobs", "room_of_each", "seats_wanted"]

_EACH: Final = 8  # calls at once that are worth a worker of their own
_AHEAD: Final = 32  # jobs that a worker has where it makes no calls


@dataclass(eq=False)
class Seat:
    """Room for a worker: who dies there is replaced.

    Attributes
    ----------
    actor
        The worker; None where there is none now.
    is_ready
        It takes jobs.
    is_expected
        It does, or will soon.
    is_asked
        It was asked what it has to say: what goes there now goes by itself.
    deaths
        How many workers were lost here.
    jobs
        What it is at, by order.
    places
        What it has at endpoints.
    """

    places: PlacesOfOne
    actor: Any = None
    is_ready: bool = False
    is_expected: bool = True
    is_asked: bool = False
    deaths: int = 0
    jobs: dict[int, Job] = field(default_factory=dict)
    _outbox: list[Any] = field(default_factory=list)
    _sent: int = 0

    def say(self, message: Any) -> None:
        """Have something to say to the worker."""
        self._outbox.append(message)

    @property
    def has_post(self) -> bool:
        """Whether there is something to be said, and a worker that hears it."""
        return self.is_ready and bool(self._outbox)

    def post(self) -> tuple[int, list[Any]]:
        """Give what is to be said, and its number."""
        number, messages = self._sent, self._outbox
        self._sent, self._outbox = number + 1, []
        return number, messages

    def vacate(self) -> list[Job]:
        """Let the worker be gone; give what it was at."""
        self.places.give_back()
        self.actor, self.is_ready, self.is_asked = None, False, False
        jobs, self.jobs = list(self.jobs.values()), {}
        self._sent, self._outbox = 0, []
        return jobs


def seats_wanted(work: Work, cpus: int) -> int:
    """Choose how many workers there are.

    Parameters
    ----------
    work
        What is to be done.
    cpus
        The cores that there are.
    """
    parallelism = work.terms.parallelism
    # the user's own code may need a core
    own = work.spec.target is not None or any(scorer.foreign for scorer in work.scorers)
    if not _calls(work):
        return cpus
    return min(cpus, parallelism if own else ceil(parallelism / _EACH))


def most_jobs(work: Work, seats: int) -> int:
    """Choose how many jobs all workers have together.

    Of those that are not bounded some wait for what the journal has, and for a place at the
    endpoint, so that a way to the run and back keeps no place free.
    """
    if not _calls(work):
        return _AHEAD * seats
    return (work.stages if is_bounded(work) else work.stages + 2) * work.terms.parallelism


def is_bounded(work: Work) -> bool:
    """Whether there must be no more jobs, also while a worker that was given up comes at last.

    What the user's own scorers call is bounded by the jobs alone, and a budget by what is under
    way.
    """
    return work.meter is not None or any(s.calls and s.foreign for s in work.scorers)


def room_of_each(most: int, seats: Iterable[Seat]) -> int:
    """Choose how many of all jobs a worker has: as many as any other that is there or comes."""
    return ceil(most / max(1, sum(seat.is_expected for seat in seats)))


def _calls(work: Work) -> bool:
    return work.answering is not None or any(scorer.calls for scorer in work.scorers)
