"""``type: remote``: an endpoint of the user's own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from pytest_evalmetrics.spec.endpoints import (
    JsonPathText,
    MaxRetries,
    SecretName,
    TemplateValue,
    TimeoutSeconds,
    Url,
)
from pytest_evalmetrics.spec.forms import STRICT, Name, expected, refuse

__all__ = ["ParserSpec", "RemoteScoreSpec", "RemoteScorerSpec"]


def _score_name(value: str) -> str:
    if not re.fullmatch(r"[a-z0-9_]+", value):
        raise expected("lower-case letters, digits and _")
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class ParserSpec:
    """How a score is found in an answer."""

    __pydantic_config__ = STRICT

    type: Annotated[Literal["json"], Field(description="the answer is JSON")] = "json"
    json_path: Annotated[JsonPathText, Field(description="JSONPath; the first match counts")]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteScoreSpec:
    """One score of an answer."""

    __pydantic_config__ = STRICT

    name: Annotated[
        Name,
        AfterValidator(_score_name),
        Field(description="lower-case letters, digits and _", pattern=r"^[a-z0-9_]+$"),
    ]
    parser: Annotated[ParserSpec, Field(description="where the answer holds it")]
    description: Annotated[str, Field(description="for people")] = ""
    minimum: Annotated[
        float | None, Field(allow_inf_nan=False, description="below it is the row's error")
    ] = None
    maximum: Annotated[
        float | None, Field(allow_inf_nan=False, description="above it is the row's error")
    ] = None


def _possible(score: RemoteScoreSpec) -> RemoteScoreSpec:
    if score.minimum is not None and score.maximum is not None and score.minimum > score.maximum:
        raise refuse(
            f"minimum {score.minimum:.12g} is above maximum {score.maximum:.12g}: nothing can pass"
        )
    return score


def _names_once(scores: tuple[RemoteScoreSpec, ...]) -> tuple[RemoteScoreSpec, ...]:
    names = [score.name for score in scores]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise refuse(f"two scores are named {twice[0]!r}")
    return scores


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteScorerSpec:
    """An endpoint of the user's own: any request, any answer that is JSON."""

    __pydantic_config__ = STRICT

    type: Annotated[Literal["remote"], Field(description="an endpoint of your own")]
    url: Url
    body: Annotated[
        TemplateValue,
        Field(description="the request; {{ item.column }} in it is filled in for each row"),
    ]
    scores: Annotated[
        tuple[Annotated[RemoteScoreSpec, AfterValidator(_possible)], ...],
        Field(min_length=1, strict=False, description="what the answer holds"),
        AfterValidator(_names_once),
    ]
    api_key_secret: SecretName = None
    timeout_seconds: TimeoutSeconds = None
    max_retries: MaxRetries = None

    @property
    def score_names(self) -> tuple[str, ...]:
        """What it scores."""
        return tuple(score.name for score in self.scores)
