"""What anything that asks endpoints for a row asks them with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from pytest_evalmetrics.transport import Endpoint

__all__ = ["Calls", "Ticket"]


@dataclass(slots=True)
class Ticket:
    """A call's place among the calls of its row, and how it went.

    Attributes
    ----------
    place
        Position among the row's calls, from 0; halves are second tries.
    identity
        What the journal knows it by: the body it was taken for, as it is sent.
    occurrence
        How many calls with the same content came before it.
    versions
        What else the answer depends on.
    told
        What is shown as asked, where it is sent in several forms; None for what is sent.
    attempts, latency_s, from_journal
        Requests it took when it was paid for, seconds of the one that succeeded, and whether
        the journal answered; set by `Calls.post`.
    """

    place: float
    identity: bytes
    occurrence: int
    versions: Mapping[str, str]
    told: Any = None
    attempts: int = 0
    latency_s: float = 0.0
    from_journal: bool = False


class Calls(Protocol):
    """What a row's endpoints are called with."""

    @property
    def memory(self) -> dict[Hashable, Any]:
        """What is known of endpoints, shared by all calls of a run."""
        ...

    def ticket(
        self,
        endpoint: Endpoint,
        body: Any,
        *,
        kind: str,
        versions: Mapping[str, str] | None = None,
    ) -> Ticket:
        """Take a place for a call before anything is awaited, see `post`.

        Calls are counted in the order of the rows, so that a run that is started again finds
        its answers. Needed where something is awaited before the row's first `post`, or
        where one question may be sent in several forms.
        """
        ...

    async def post(
        self,
        endpoint: Endpoint,
        body: Any,
        *,
        kind: str,
        check: Callable[[Any], object] | None = None,
        versions: Mapping[str, str] | None = None,
        ticket: Ticket | None = None,
    ) -> Any:
        """POST a body, and give the parsed JSON of the answer.

        Parameters
        ----------
        endpoint
            Where to, see `Terms.endpoint`.
        body
            Anything that JSON can write.
        kind
            What asks, and in which version: ``remote/1``. A change of it asks anew.
        check
            Looks at an answer and raises a `RowError` where it is none: such an answer is
            not kept, and asked for again by the next run.
        versions
            What else an answer depends on, such as a prompt's version.
        ticket
            Its place, where it was taken earlier; then `versions` are the ticket's.

        Raises
        ------
        RowError, CallError
            This row failed.
        EndpointError
            All would fail.
        """
        ...
