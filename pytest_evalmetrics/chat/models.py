"""Models that answer: their endpoint and terms, their calls, what they took."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias
from urllib.parse import urlsplit, urlunsplit

import numpy as np

from pytest_evalmetrics.transport import Price, Tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from pytest_evalmetrics.spec import ModelSpec, ParamsSpec
    from pytest_evalmetrics.transport import Endpoint, Terms

__all__ = ["Calls", "ChatModel", "Message", "Spending", "Ticket", "chat_model"]


class Spending:
    """Adds up what answers took.

    All of it is known of an answer for good, and nothing depends on the order in which they
    come: so a run that was interrupted and went on, and one that is replayed, tell the same.
    """

    def __init__(self) -> None:
        self.calls = self.requests = self.without_tokens = 0
        self.prompt_tokens = self.completion_tokens = self.total_tokens = 0
        self._latencies = array("d")

    def add(self, attempts: int, latency_s: float, tokens: Tokens | None) -> None:
        """Count an answer."""
        self.calls += 1
        self.requests += attempts
        self._latencies.append(latency_s)
        if tokens is None:
            self.without_tokens += 1
            return
        self.prompt_tokens += tokens.prompt
        self.completion_tokens += tokens.completion
        self.total_tokens += tokens.total

    def as_dict(self, price: Price | None) -> dict[str, Any]:
        """Sum it up: calls, requests, tokens, cost, latency."""
        tokens = Tokens(self.prompt_tokens, self.completion_tokens, self.total_tokens)
        known = price is not None and not self.without_tokens
        return {
            "calls": self.calls,
            "requests": self.requests,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "total_tokens": self.total_tokens,
            "without_tokens": self.without_tokens,
            "cost": price.of(tokens) if known and price is not None else None,
            "latency_s": self._latency(),
        }

    def _latency(self) -> dict[str, float]:
        if not self._latencies:
            return {}
        sorted_ones = np.sort(np.frombuffer(self._latencies))
        p50, p95 = np.quantile(sorted_ones, [0.5, 0.95]).tolist()
        found = {"mean": sorted_ones.mean(), "p50": p50, "p95": p95, "max": sorted_ones[-1]}
        return {name: round(float(value), 6) for name, value in found.items()}


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


Message: TypeAlias = "Mapping[str, Any]"
_PATHS = {"chat": "/chat/completions", "completions": "/completions"}


@dataclass(frozen=True, slots=True)
class ChatModel:
    """A model that is ready to be asked."""

    endpoint: Endpoint  # where it is
    name: str  # what its endpoint calls it
    # it completes a text: the endpoint is one of completions, not of chat completions
    plain: bool = False
    # parameters, sent as they are; nothing that the user did not ask for
    inference: Mapping[str, Any] = field(default_factory=dict)
    # the first message, where the messages begin with no other one of that role
    system_prompt: str | None = None
    end_token: str | None = None  # what ends its reasoning
    price: Price | None = None  # of its tokens
    # what its answers took
    spending: Spending = field(default_factory=Spending, compare=False, repr=False)

    def request(self, messages: Sequence[Message], **more: Any) -> dict[str, Any]:
        """Make the body of a request."""
        asked = [dict(message) for message in messages]
        if self.system_prompt is not None and not any(m.get("role") == "system" for m in asked):
            asked.insert(0, {"role": "system", "content": self.system_prompt})
        said: dict[str, Any] = {"model": self.name}
        if self.plain:
            said["prompt"] = "\n\n".join(str(message["content"]) for message in asked)
        else:
            said["messages"] = asked
        return {
            **said,
            **self.inference,
            **{key: value for key, value in more.items() if value is not None},
        }


def chat_model(spec: ModelSpec, terms: Terms, params: ParamsSpec | None = None) -> ChatModel:
    """Make a model of what a benchmark file says."""
    url, plain = _place(spec)
    reasoning = spec.reasoning or (params.reasoning if params else None)
    effort = reasoning.effort if reasoning else None
    prompt = spec.system_prompt
    if prompt is None and params is not None:
        prompt = params.system_prompt
    price = Price(spec.price.input, spec.price.output) if spec.price else None
    endpoint = terms.endpoint(
        url,
        secret=spec.api_key_secret,
        timeout_s=spec.timeout_seconds,
        max_retries=spec.max_retries,
    )
    return ChatModel(
        replace(endpoint, price=price),
        spec.name,
        plain,
        {
            **({"reasoning_effort": effort} if effort else {}),
            **(params.inference if params else {}),
            **spec.inference,
        },
        prompt,
        reasoning.end_token if reasoning else None,
        price,
    )


def _place(spec: ModelSpec) -> tuple[str, bool]:
    """Tell the whole URL, and whether it is one of plain completions."""
    parts = urlsplit(spec.url)
    path = parts.path.rstrip("/")
    if path.endswith(_PATHS["chat"]):
        found = "chat"
    elif path.endswith(_PATHS["completions"]):
        found = "completions"
    else:
        found = ""
    kind = spec.format or found or "chat"
    if not found and path.endswith("/v1"):  # the base, as the clients of OpenAI want it
        return urlunsplit(parts._replace(path=path + _PATHS[kind])), kind == "completions"
    return spec.url, kind == "completions"
