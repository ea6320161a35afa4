"""The places at a work that is done elsewhere: how many, and how much each is given."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pytest_evalmetrics.engines.jobs import Job
    from pytest_evalmetrics.engines.protocol import Work

__all__ = ["Seat", "seats_for"]

_EACH: Final = 8  # calls at once that are worth a worker of their own
_AHEAD: Final = 32  # jobs that a worker has where it makes no calls


@dataclass(eq=False)
class Seat:
    """A place at work: who dies there is replaced.

    Attributes
    ----------
    share
        Of the parallelism.
    window
        The most jobs at a time.
    """

    share: int
    window: int
    actor: Any = None
    ready: bool = False
    deaths: int = 0
    jobs: dict[int, Job] = field(default_factory=dict)
    outbox: list[Any] = field(default_factory=list)


def seats_for(work: Work, cpus: int) -> list[Seat]:
    """Split the parallelism: nobody has more than a share, so all together have no more.

    Parameters
    ----------
    work
        What is to be done.
    cpus
        The cores that there are.
    """
    parallelism = work.terms.parallelism
    calls = work.answering is not None or any(scorer.calls for scorer in work.scorers)
    # the user's own code may need a core
    own = work.spec.target is not None or any(scorer.foreign for scorer in work.scorers)
    wanted = cpus
    if calls:
        wanted = min(cpus, parallelism if own else ceil(parallelism / _EACH))
    share, more = divmod(parallelism, wanted)
    shares = [max(1, share + (n < more)) for n in range(wanted)]
    return [Seat(share, _window(work, share) if calls else _AHEAD) for share in shares]


def _window(work: Work, share: int) -> int:
    """Choose how many jobs a worker has.

    The user's own functions are bounded by the jobs alone, and a budget by what is under way.
    Of others some wait at the endpoint's limit, so that a way to the run and back costs no call.
    """
    bounded = work.meter is not None or any(s.calls and s.foreign for s in work.scorers)
    return (work.stages if bounded else work.stages + 1) * share
