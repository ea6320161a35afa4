"""``model:`` and ``judge_model:``: an OpenAI-compatible endpoint, and how it is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from pytest_evalmetrics.spec.endpoints import (
    FromEnvironment,
    MaxRetries,
    SecretName,
    TimeoutSeconds,
    Url,
)
from pytest_evalmetrics.spec.forms import STRICT, Name, is_number, refuse

__all__ = ["InferenceField", "ModelSpec", "PriceSpec", "ReasoningSpec", "SystemPrompt"]

_OURS = {
    "model": "name",
    "messages": "prompt_template",
    "prompt": "prompt_template",
    "stream": "nothing: one whole answer is asked for",
    "n": "num_samples",
    "tools": "tools",
    "response_format": "response_format",
}


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_KNOWN: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "temperature": ("a number from 0", lambda v: is_number(v) and v >= 0),
    "top_p": ("a number from 0 to 1", lambda v: is_number(v) and 0 <= v <= 1),
    "max_tokens": ("a whole number from 1", lambda v: _whole(v) and v >= 1),
    "max_completion_tokens": ("a whole number from 1", lambda v: _whole(v) and v >= 1),
    "seed": ("a whole number", _whole),
    "frequency_penalty": ("a number", is_number),
    "presence_penalty": ("a number", is_number),
    "stop": (
        "a text or a list of texts",
        lambda v: (
            isinstance(v, str) or (isinstance(v, list) and all(isinstance(s, str) for s in v))
        ),
    ),
}


def _inference(value: dict[str, Any]) -> dict[str, Any]:
    for key, found in value.items():
        if key in _OURS:
            raise refuse(f"{key!r} is no inference parameter: say it with {_OURS[key]}")
        what, fits = _KNOWN.get(key, ("", lambda _: True))
        if not fits(found):
            raise refuse(f"{key} is {found!r:.60}, expected {what}")
    return value


InferenceField = Annotated[
    dict[Name, Any],
    AfterValidator(_inference),
    Field(
        description="temperature, max_tokens, top_p, seed, stop ...: sent as they are; nothing "
        "else is sent"
    ),
]
SystemPrompt = Annotated[str | None, Field(description="the first message, of the role system")]


@dataclass(frozen=True, kw_only=True)
class ReasoningSpec:
    """What a model does before it answers."""

    __pydantic_config__ = STRICT

    end_token: Annotated[
        Name | None,
        Field(description="what ends the reasoning, such as </think>: the answer is what follows"),
    ] = None
    effort: Annotated[Name | None, Field(description="sent as reasoning_effort")] = None


@dataclass(frozen=True, kw_only=True)
class PriceSpec:
    """What a million tokens cost, in any currency."""

    __pydantic_config__ = STRICT

    input: Annotated[float, Field(ge=0, allow_inf_nan=False, description="of a prompt")]
    output: Annotated[float, Field(ge=0, allow_inf_nan=False, description="of an answer")]


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
    """A model behind an OpenAI-compatible endpoint."""

    __pydantic_config__ = STRICT

    url: Annotated[
        Url,
        Field(description="of chat completions, or its base: http://localhost:8000/v1"),
    ]
    name: Annotated[
        Name, FromEnvironment, Field(description="the model's name, as its endpoint knows it")
    ]
    api_key_secret: SecretName = None
    format: Annotated[
        Literal["chat", "completions"] | None,
        Field(description="default: what the URL ends with, else chat"),
    ] = None
    inference: InferenceField = field(default_factory=dict)
    system_prompt: SystemPrompt = None
    reasoning: Annotated[ReasoningSpec | None, Field(description="of a reasoning model")] = None
    price: Annotated[PriceSpec | None, Field(description="per million tokens")] = None
    timeout_seconds: TimeoutSeconds = None
    max_retries: MaxRetries = None
