"""``type: remote``: an endpoint of the user's own."""

from __future__ import annotations

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
from pytest_evalmetrics.spec.forms import STRICT
from pytest_evalmetrics.spec.scorers.scores import (
    Better,
    Maximum,
    Minimum,
    ScoreName,
    in_order,
    names_once,
)

__all__ = ["ParserSpec", "RemoteScoreSpec", "RemoteScorerSpec"]


@dataclass(frozen=True, kw_only=True)
class ParserSpec:
    """How a score is found in an answer."""

    __pydantic_config__ = STRICT

    type: Annotated[Literal["json"], Field(description="the answer is JSON")] = "json"
    json_path: Annotated[JsonPathText, Field(description="JSONPath; the first match counts")]


@dataclass(frozen=True, kw_only=True)
class RemoteScoreSpec:
    """One score of an answer."""

    __pydantic_config__ = STRICT

    name: ScoreName
    parser: Annotated[ParserSpec, Field(description="where the answer holds it")]
    description: Annotated[str, Field(description="for people")] = ""
    minimum: Minimum = None
    maximum: Maximum = None
    direction: Better = None

    def __post_init__(self) -> None:
        """Refuse a range that nothing is in."""
        in_order(self.minimum, self.maximum)


@dataclass(frozen=True, kw_only=True)
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
        tuple[RemoteScoreSpec, ...],
        Field(min_length=1, strict=False, description="what the answer holds"),
        AfterValidator(names_once),
    ]
    api_key_secret: SecretName = None
    timeout_seconds: TimeoutSeconds = None
    max_retries: MaxRetries = None

    @property
    def score_names(self) -> tuple[str, ...]:
        """What it scores."""
        return tuple(score.name for score in self.scores)
