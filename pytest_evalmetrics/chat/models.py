"""Models that can be asked: their endpoint, the form of their requests, and what they used."""

from __future__ import annotations

import math
from array import array
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.transport import Endpoint, Terms, Tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_evalmetrics.chat.prompts import Message
    from pytest_evalmetrics.spec import ParamsSpec
    from pytest_evalmetrics.spec.model_keys import ModelSpec, PriceSpec


class Spending:
    """Sums over a model's answers, the same in any order and where the journal gave them."""

    def __init__(self) -> None:
        self._answers = array("d")  # five numbers of each, NaN for unknown tokens
        self.names = set[str]()  # names of the models in the endpoint's answers

    def add(self, attempts: int, latency_s: float, tokens: Tokens | None) -> None:
        """Count an answer."""
        counts = (math.nan,) * 3 if tokens is None else structs.astuple(tokens)
        self._answers.extend([attempts, latency_s, *counts])

    def as_dict(self, price: PriceSpec | None) -> dict[str, Any]:
        """Return calls, requests, tokens, cost and latency as builtins."""
        answers = np.array(self._answers).reshape(-1, 5)
        requests, _, *counts = map(int, np.nansum(answers, axis=0))
        tokens = Tokens(*counts)
        without, seconds = int(np.isnan(answers[:, 2]).sum()), np.sort(answers[:, 1])
        latency: dict[str, float] = {}
        if len(seconds):
            p50, p95 = np.quantile(seconds, [0.5, 0.95])
            latency = {
                "mean": seconds.mean(),
                "p50": p50,
                "p95": p95,
                "max": seconds[-1],
            }
        return {
            "calls": len(answers),
            "requests": requests,
            "prompt_tokens": tokens.prompt,
            "completion_tokens": tokens.completion,
            "total_tokens": tokens.total,
            "without_tokens": without,
            "cost": None if price is None or without else tokens.cost(price),
            "latency_s": {
                name: round(float(value), 6) for name, value in latency.items()
            },
        }


class ChatModel(msgspec.Struct, frozen=True):
    """A model that is ready to be asked."""

    endpoint: Endpoint
    name: str  # as its endpoint calls it
    plain: bool = (
        False  # the endpoint completes a text: of completions, not of chat completions
    )
    inference: Mapping[str, Any] = msgspec.field(
        default_factory=dict
    )  # parameters, sent as they are
    system_prompt: str | None = (
        None  # the first message, if there is no other system message
    )
    end_token: str | None = None  # the end of its reasoning
    price: PriceSpec | None = None  # of its tokens
    spending: Spending = msgspec.field(default_factory=Spending)

    def request(self, messages: Sequence[Message], **more: Any) -> dict[str, Any]:
        """Make the body of a request."""
        messages = [dict(message) for message in messages]
        if self.system_prompt is not None and not any(
            m.get("role") == "system" for m in messages
        ):
            messages.insert(0, {"role": "system", "content": self.system_prompt})
        prompt: Any = {"messages": messages}
        if self.plain:
            prompt = {
                "prompt": "\n\n".join(str(message["content"]) for message in messages)
            }
        given = {key: value for key, value in more.items() if value is not None}
        return {"model": self.name, **prompt, **self.inference, **given}


_PATHS = {"chat": "/chat/completions", "completions": "/completions"}


def chat_model(
    spec: ModelSpec, terms: Terms, params: ParamsSpec | None = None
) -> ChatModel:
    """Make a model of its entry in a benchmark file."""
    parts = urlsplit(spec.url)
    path = parts.path.rstrip("/")
    in_path = next((kind for kind, end in _PATHS.items() if path.endswith(end)), None)
    kind, url = spec.format or in_path or "chat", spec.url
    if in_path is None and path.endswith(
        "/v1"
    ):  # the base, as the clients of OpenAI want it
        url = urlunsplit(parts._replace(path=path + _PATHS[kind]))
    reasoning, system_prompt = spec.reasoning, spec.system_prompt
    inference = dict(spec.inference)
    if params is not None:
        reasoning = reasoning or params.reasoning
        system_prompt = params.system_prompt if system_prompt is None else system_prompt
        inference = {**params.inference, **inference}
    if reasoning and reasoning.effort:
        inference = {"reasoning_effort": reasoning.effort, **inference}
    price = spec.price
    limits: Any = {"timeout_s": spec.timeout_seconds, "max_retries": spec.max_retries}
    endpoint = structs.replace(
        terms.endpoint(url, secret=spec.api_key_secret, **limits), price=price
    )
    is_plain = kind == "completions"
    end_token = reasoning.end_token if reasoning else None
    return ChatModel(
        endpoint, spec.name, is_plain, inference, system_prompt, end_token, price
    )
