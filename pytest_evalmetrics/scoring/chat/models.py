"""Models that can be asked: their endpoint, the form of their requests, and what they used."""

from __future__ import annotations

import math
import re
from array import array
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit, urlunsplit

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.scoring.chat.requests import Api, body_for
from pytest_evalmetrics.scoring.transport import Endpoint, Terms, Tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_evalmetrics.scoring.chat.prompts import Message
    from pytest_evalmetrics.spec import ParamsSpec
    from pytest_evalmetrics.spec.model_keys import ModelSpec, PriceSpec


_UNKNOWN_TOKENS = (math.nan,) * len(Tokens.__struct_fields__)


class Spending:
    """Sums over a model's answers, the same in any order and where the journal gave them."""

    def __init__(self) -> None:
        # seven numbers of each answer, NaN for unknown tokens
        self._answers = array("d")
        # names of the models in the endpoint's answers
        self.names = set[str]()

    def add(self, attempts: int, latency_s: float, tokens: Tokens | None) -> None:
        """Count an answer."""
        counts: tuple[float, ...] = _UNKNOWN_TOKENS
        if tokens is not None:
            counts = structs.astuple(tokens)
        self._answers.extend([attempts, latency_s, *counts])

    def as_dict(self, price: PriceSpec | None) -> dict[str, Any]:
        """Return calls, requests, tokens, cost and latency as builtins."""
        # columns: requests, seconds, and the fields of Tokens
        answers = np.array(self._answers).reshape(-1, 7)
        sums = [int(value) for value in np.nansum(answers, axis=0)]
        tokens = Tokens(*sums[2:])
        without = int(np.isnan(answers[:, 2]).sum())
        seconds = np.sort(answers[:, 1])
        latency: dict[str, float] = {}
        if len(seconds):
            p50, p95 = np.quantile(seconds, [0.5, 0.95])
            latency = {
                "mean": seconds.mean(),
                "p50": p50,
                "p95": p95,
                "max": seconds[-1],
            }
        cost: float | None = None
        if price is not None and not without:
            cost = tokens.cost(price)
        return {
            "calls": len(answers),
            "requests": sums[0],
            "prompt_tokens": tokens.prompt,
            "completion_tokens": tokens.completion,
            "total_tokens": tokens.total,
            "without_tokens": without,
            "cost": cost,
            "latency_s": {
                name: round(float(value), 6) for name, value in latency.items()
            },
        }


class ChatModel(msgspec.Struct, frozen=True):
    """A model that is ready to be asked."""

    endpoint: Endpoint
    # as its endpoint calls it
    name: str
    # the API that its endpoint speaks
    api: Api = "chat"
    # parameters, sent as they are
    inference: Mapping[str, object] = msgspec.field(default_factory=dict)
    # the first message, if there is no other system message
    system_prompt: str | None = None
    # the end of its reasoning
    end_token: str | None = None
    # of its tokens
    price: PriceSpec | None = None
    spending: Spending = msgspec.field(default_factory=Spending)

    @property
    def takes_schema(self) -> bool:
        """Whether its API has a ``response_format``, as chat completions have."""
        return self.api in ("chat", "responses")

    def request(self, messages: Sequence[Message], **more: object) -> dict[str, object]:
        """Make the body of a request."""
        roles = [message.get("role") for message in messages]
        whole: list[Message] = list(messages)
        if self.system_prompt is not None and "system" not in roles:
            whole.insert(0, {"role": "system", "content": self.system_prompt})
        given = {key: value for key, value in more.items() if value is not None}
        keys = {**self.inference, **given}
        return {"model": self.name, **body_for(self.api, whole, keys)}


# the ends of the URLs of each API
_PATHS: dict[Api, str] = {
    "chat": "/chat/completions",
    "completions": "/completions",
    "responses": "/responses",
    "messages": "/messages",
}
_ANTHROPIC = {
    "headers": (("anthropic-version", "2023-06-01"),),
    "key_header": "x-api-key",
}


def chat_model(
    spec: ModelSpec, terms: Terms, params: ParamsSpec | None = None
) -> ChatModel:
    """Make a model of its entry in a benchmark file."""
    api, endpoint = _endpoint_of(spec, terms)
    reasoning = spec.reasoning
    system_prompt = spec.system_prompt
    inference = dict(spec.inference)
    if params is not None:
        reasoning = reasoning or params.reasoning
        if system_prompt is None:
            system_prompt = params.system_prompt
        inference = {**params.inference, **inference}
    if reasoning and reasoning.effort:
        if api == "messages":
            raise DataError(
                "Anthropic's messages have no reasoning effort",
                hint="write inference: {thinking: {type: enabled, budget_tokens: ...}}",
            )
        inference = {"reasoning_effort": reasoning.effort, **inference}
    return ChatModel(
        endpoint=endpoint,
        name=spec.name,
        api=api,
        inference=inference,
        system_prompt=system_prompt,
        end_token=reasoning.end_token if reasoning else None,
        price=endpoint.price,
    )


def _endpoint_of(spec: ModelSpec, terms: Terms) -> tuple[Api, Endpoint]:
    """Return the API that a model speaks, and its endpoint."""
    price = spec.price
    api: Api = "chat"
    more: dict[str, object] = {}
    if spec.type == "litellm":
        # loads LiteLLM, which takes seconds
        from pytest_evalmetrics.scoring.chat.litellm_sender import (
            LiteLlmSender,
            price_of,
        )

        # the provider is the scope of limits
        provider, slash, _ = spec.name.partition("/")
        host = "default"
        if slash:
            host = re.sub(r"[^\w-]", "-", provider)
        url = f"litellm://{host}/{quote(spec.name)}"
        more["sender"] = LiteLlmSender(spec.url, must_send=not terms.replays)
        price = price or price_of(spec.name)
    else:
        api, url = _api_of(spec)
    if api == "messages":
        more |= _ANTHROPIC
    endpoint = terms.endpoint(
        url,
        secret=spec.api_key_secret,
        timeout_s=spec.timeout_seconds,
        max_retries=spec.max_retries,
        written=spec.url,
    )
    return api, structs.replace(endpoint, price=price, **more)


def _api_of(spec: ModelSpec) -> tuple[Api, str]:
    """Return the API of a URL, and the URL with the path of the API."""
    url = spec.url or ""
    parts = urlsplit(url)
    path = parts.path.rstrip("/")
    in_path = next((api for api, end in _PATHS.items() if path.endswith(end)), None)
    api = spec.format or in_path or "chat"
    if in_path is None and path.endswith("/v1"):
        # the base, as the clients of OpenAI and Anthropic want it
        url = urlunsplit(parts._replace(path=path + _PATHS[api]))
    return api, url
