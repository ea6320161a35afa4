"""``scorers:`` and ``params:``: what gives the rows their scores, and on what terms.

A built-in type has a dataclass here, so that what is wrong with it is found with its line
before anything runs. The keys of other types are judged when their scorer is made.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
)

from pytest_evalmetrics.spec.endpoints import (
    JsonPathText,
    MaxRetries,
    Retries,
    Seconds,
    SecretName,
    TemplateValue,
    TimeoutSeconds,
    Url,
)
from pytest_evalmetrics.spec.forms import STRICT, Name, expected, refuse

__all__ = [
    "CustomScorerSpec",
    "NatScorerSpec",
    "ParamsSpec",
    "ParserSpec",
    "RemoteScoreSpec",
    "RemoteScorerSpec",
    "ScorerSpec",
    "ScorersField",
]

# -- remote -----------------------------------------------------------------------------------


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


# -- NeMo Agent Toolkit -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class NatScorerSpec:
    """An evaluator that a server of the NeMo Agent Toolkit offers."""

    __pydantic_config__ = STRICT

    type: Annotated[
        Literal["nemo-agent-toolkit-remote"],
        Field(description="a server of the NeMo Agent Toolkit"),
    ]
    url: Url
    evaluator_name: Annotated[
        Name, Field(description="the evaluator's name on the server; names the score too")
    ]
    api_key_secret: SecretName = None
    timeout_seconds: TimeoutSeconds = None
    max_retries: MaxRetries = None

    @property
    def score_names(self) -> tuple[str, ...]:
        """What it scores: the evaluator's name, without what names of scores can't hold."""
        return (re.sub(r"[^\w.-]+", "_", self.evaluator_name),)


# -- other people's ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomScorerSpec:
    """A type that is registered elsewhere; its keys are judged when it is made."""

    __pydantic_config__ = STRICT

    type: Name
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def score_names(self) -> tuple[str, ...]:
        """Not known before it is made."""
        return ()


def _options_apart(value: Any) -> Any:
    rest = {key: item for key, item in value.items() if key != "type"}
    return {"type": value["type"], "options": rest}


# -- all of them ------------------------------------------------------------------------------

BUILTIN = ("remote", "nemo-agent-toolkit-remote")
_OTHER = "other"


def _is_mapping(value: Any) -> Any:
    if not isinstance(value, dict):
        raise expected("a mapping with type")
    if "type" not in value:
        raise refuse(f"'type' is missing: {', '.join(BUILTIN)}, or one of your own")
    if not isinstance(value["type"], str) or not value["type"]:
        raise refuse("type has to be the name of a scorer")
    return value


def _kind(value: Any) -> str:
    found = value["type"] if isinstance(value, Mapping) else value.type
    return found if found in BUILTIN else _OTHER


ScorerSpec = RemoteScorerSpec | NatScorerSpec | CustomScorerSpec
_AnyScorer = Annotated[
    Annotated[RemoteScorerSpec, Tag("remote")]
    | Annotated[NatScorerSpec, Tag("nemo-agent-toolkit-remote")]
    | Annotated[
        CustomScorerSpec,
        BeforeValidator(_options_apart),
        WithJsonSchema(
            {
                "type": "object",
                "properties": {
                    "type": {
                        "description": "the name of a scorer of your own, or package.module:name",
                        "type": "string",
                        "not": {"enum": list(BUILTIN)},
                    }
                },
                "required": ["type"],
                "additionalProperties": True,  # judged when the scorer is made
            }
        ),
        Tag(_OTHER),
    ],
    Discriminator(_kind),
]
ScorersField = Annotated[
    tuple[Annotated[_AnyScorer, BeforeValidator(_is_mapping)], ...],
    Field(min_length=1, strict=False),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParamsSpec:
    """On what terms rows are scored."""

    __pydantic_config__ = STRICT

    parallelism: Annotated[int, Field(ge=1, le=4096, description="calls in flight at once")] = 16
    limit_samples: Annotated[
        Annotated[int, Field(ge=1)] | None,
        Field(description="score the first rows only, to try things out; records no baseline"),
    ] = None
    request_timeout: Annotated[
        Seconds, Field(description="seconds for one attempt in all, where a scorer says none")
    ] = None
    max_retries: Annotated[
        Retries, Field(description="attempts after the first, where a scorer says none")
    ] = None
