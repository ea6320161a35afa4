"""What a generator is given, what it gives, and what it has to be."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from pytest_evalmetrics.chat import Calls

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from pytest_evalmetrics.chat import Reply
    from pytest_evalmetrics.errors import RowError
    from pytest_evalmetrics.transport import Answer, Tokens

__all__ = ["Generated", "Generator", "SampleCalls"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Generated:
    """One answer to one row.

    Attributes
    ----------
    output_text
        The answer, without the reasoning; empty where it only calls tools.
    response
        The body that the model answered, as OpenAI's API words it.
    reasoning
        What it said before its answer.
    tool_calls
        As it wrote them.
    finish_reason
        ``stop``, ``length``, ``tool_calls`` ...; empty where nobody says.
    tokens
        None where nobody says.
    cost
        Of the tokens; NaN without a price, or without tokens.
    latency_s
        Seconds that it took when it was paid for.
    more
        What a target gave beside all that.
    failure
        Why it is no answer although it was paid for: a refusal, nothing but reasoning.
    """

    output_text: str = ""
    response: Mapping[str, Any] = field(default_factory=dict)
    reasoning: str = ""
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    finish_reason: str = ""
    tokens: Tokens | None = None
    cost: float = math.nan
    latency_s: float = math.nan
    more: Mapping[str, Any] = field(default_factory=dict)
    failure: RowError | None = None

    @classmethod
    def of(cls, reply: Reply, response: Mapping[str, Any], **more: Any) -> Generated:
        """Take what was read of a model's answer, with the body and what else is known."""
        return cls(
            output_text=reply.text,
            response=response,
            reasoning=reply.reasoning,
            tool_calls=reply.tool_calls,
            finish_reason=reply.finish_reason,
            **more,
        )

    @property
    def sample_data(self) -> dict[str, Any]:
        """What templates know as ``sample``."""
        return {
            **self.more,
            "output_text": self.output_text,
            "response": self.response,
            "reasoning": self.reasoning,
            "tool_calls": list(self.tool_calls),
            "finish_reason": self.finish_reason,
        }

    @property
    def measured(self) -> dict[str, float]:
        """Its columns, by the names of `GENERATED_SCORES`; NaN where nobody says."""
        tokens = self.tokens
        return {
            "input_tokens": math.nan if tokens is None else float(tokens.prompt),
            "output_tokens": math.nan if tokens is None else float(tokens.completion),
            "total_tokens": math.nan if tokens is None else float(tokens.total),
            "latency_s": self.latency_s,
            "cost": self.cost,
            "truncated": float(self.finish_reason == "length"),
        }


class SampleCalls(Calls, Protocol):
    """What one attempt at a row is made with.

    Attributes
    ----------
    latency_s
        Seconds that the last answer took when it was paid for.
    """

    latency_s: float

    async def perform(
        self,
        name: str,
        given: Mapping[str, Any],
        make: Callable[[], Awaitable[str]],
        *,
        version: str | None,
    ) -> Answer:
        """Do something in this process in place of a request, see `transport.perform`.

        Parameters
        ----------
        name, given, version
            What it depends on. Its place is taken before anything is awaited.
        make
            Does it, and gives JSON.
        """
        ...


class Generator(Protocol):
    """Attempts rows."""

    async def generate(self, row: Mapping[str, Any], sample: int, calls: SampleCalls) -> Generated:
        """Attempt one row.

        The first call is made before anything is awaited: calls are counted in the order of
        the rows, so that a run that is started again finds its answers.

        Parameters
        ----------
        row
            The row as it is written.
        sample
            The attempt's number, from 0.
        calls
            The way to endpoints.

        Raises
        ------
        CallError
            The request failed.
        RowError
            The row can't be asked about, or what came is no answer.
        EndpointError
            All would fail.
        """
        ...

    def close(self) -> None:
        """Let go of what it holds."""
        ...
