"""``type: llm-judge``: a judge with a prompt and scores of the user's own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag

from pytest_evalmetrics.spec.endpoints import json_path
from pytest_evalmetrics.spec.forms import STRICT, Name, refuse
from pytest_evalmetrics.spec.generation import PromptField
from pytest_evalmetrics.spec.judges import JudgeCheckSpec
from pytest_evalmetrics.spec.models import ModelSpec
from pytest_evalmetrics.spec.scorers.scores import (
    Better,
    Maximum,
    Minimum,
    ScoreName,
    in_order,
    names_once,
)

__all__ = [
    "JsonParserSpec",
    "JudgeScoreSpec",
    "LlmJudgeSpec",
    "RegexParserSpec",
    "RubricSpec",
]


@dataclass(frozen=True, kw_only=True)
class RubricSpec:
    """One level of a rubric."""

    __pydantic_config__ = STRICT

    label: Annotated[Name, Field(description="what the judge says")]
    value: Annotated[float, Field(allow_inf_nan=False, description="the score that it stands for")]
    description: Annotated[str, Field(description="when it is to be chosen")] = ""


def _key_or_path(value: str) -> str:
    if value.startswith("$"):
        return json_path(value)
    return value


@dataclass(frozen=True, kw_only=True)
class JsonParserSpec:
    """A score in a JSON object."""

    __pydantic_config__ = STRICT

    type: Annotated[Literal["json"], Field(description="the answer is JSON")] = "json"
    json_path: Annotated[
        Name,
        AfterValidator(_key_or_path),
        Field(description="a key of the judge's JSON object, or a JSONPath"),
    ]


def _pattern(value: str) -> str:
    try:
        groups = re.compile(value).groups
    except re.error as error:
        raise refuse(f"this is no regular expression: {error}") from None
    if not groups:
        raise refuse(r"it has no group that holds the score, such as SCORE: (\d)")
    return value


@dataclass(frozen=True, kw_only=True)
class RegexParserSpec:
    """A score in any text."""

    __pydantic_config__ = STRICT

    type: Annotated[Literal["regex"], Field(description="the answer is any text")] = "regex"
    pattern: Annotated[
        Name, AfterValidator(_pattern), Field(description="a regular expression with a group")
    ]
    method: Annotated[
        Literal["match", "search"],
        Field(description="match from the text's beginning, or search anywhere"),
    ] = "match"
    group: Annotated[
        Annotated[int, Field(ge=1)] | Name, Field(description="which group holds the score")
    ] = 1

    def __post_init__(self) -> None:
        """Refuse a group that the pattern doesn't have."""
        found = re.compile(self.pattern)
        known = (
            self.group <= found.groups
            if isinstance(self.group, int)
            else (self.group in found.groupindex)
        )
        if not known:
            raise refuse(f"the pattern has no group {self.group!r}")


def _parser_kind(value: Any) -> str:
    if not isinstance(value, dict):
        return str(getattr(value, "type", "json"))
    default = "regex" if "pattern" in value else "json"
    found = value.get("type", default)
    return found if found in ("json", "regex") else default


ParserField = Annotated[
    Annotated[JsonParserSpec, Tag("json")] | Annotated[RegexParserSpec, Tag("regex")],
    Discriminator(_parser_kind),
]


@dataclass(frozen=True, kw_only=True)
class JudgeScoreSpec:
    """One score that the judge gives."""

    __pydantic_config__ = STRICT

    name: ScoreName
    description: Annotated[str, Field(description="{{ scores }} in the prompt has it")] = ""
    parser: Annotated[
        ParserField | None, Field(description="where the answer holds it; default the key `name`")
    ] = None
    rubric: Annotated[
        tuple[RubricSpec, ...] | None,
        Field(min_length=2, strict=False, description="the labels that the judge may say"),
    ] = None
    minimum: Minimum = None
    maximum: Maximum = None
    direction: Better = None

    def __post_init__(self) -> None:
        """Refuse what contradicts itself."""
        low, high = self.minimum, self.maximum
        in_order(low, high)
        if self.rubric is None:
            return
        if low is not None or high is not None:
            raise refuse("a rubric has labels, no minimum and maximum")
        for what, found in (
            ("labels", [one.label for one in self.rubric]),
            ("values", [one.value for one in self.rubric]),
        ):
            if len(set(found)) < len(found):
                raise refuse(f"two {what} of the rubric are the same: {found}")

    @property
    def found_by(self) -> JsonParserSpec | RegexParserSpec:
        """How it is found in an answer."""
        return self.parser or JsonParserSpec(json_path=self.name)


@dataclass(frozen=True, kw_only=True)
class LlmJudgeSpec:
    """A judge, or several of them, with a prompt and scores of the user's own."""

    __pydantic_config__ = STRICT

    type: Annotated[
        Literal["llm-judge", "llm_judge"],
        Field(description="a judge with a prompt and scores of your own"),
    ]
    model: Annotated[ModelSpec | None, Field(description="the model that judges")] = None
    judge_model: Annotated[ModelSpec | None, Field(description="another name for model")] = None
    judges: Annotated[
        tuple[ModelSpec, ...] | None,
        Field(min_length=2, strict=False, description="several models, each of which judges"),
    ] = None
    combine: Annotated[
        Literal["mean", "majority"], Field(description="what several judges' scores come to")
    ] = "mean"
    prompt_template: Annotated[
        PromptField | None,
        Field(description="what a judge is asked: a text, a list of messages, {messages: ...}"),
    ] = None
    scores: Annotated[
        tuple[JudgeScoreSpec, ...],
        Field(min_length=1, strict=False, description="what a judge's answer holds"),
        AfterValidator(names_once),
    ]
    structured_output: Annotated[
        bool | dict[str, Any],
        Field(description="whether the form of the answer is asked for; or {schema: ...} of it"),
    ] = True
    judge_check: Annotated[
        JudgeCheckSpec | None, Field(description="compare the judge with people's labels")
    ] = None

    def __post_init__(self) -> None:
        """Refuse a scorer without a judge, or with two ways to say it."""
        said = [
            name for name in ("model", "judge_model", "judges") if getattr(self, name) is not None
        ]
        if len(said) != 1:
            raise refuse(
                f"{' and '.join(said)} say the same: write one of them"
                if said
                else "model is missing: {url, name, api_key_secret}; or judges, a list of them"
            )
        if isinstance(self.structured_output, dict) and (
            set(self.structured_output) != {"schema"}
            or not isinstance(self.structured_output["schema"], dict)
        ):
            raise refuse("structured_output has to be true, false or {schema: a JSON Schema}")

    @property
    def models(self) -> tuple[ModelSpec, ...]:
        """Who judges."""
        return self.judges or tuple(m for m in (self.model, self.judge_model) if m is not None)

    @property
    def columns(self) -> dict[str, tuple[str, ...]]:
        """Of each score the columns of the several judges; none where there is one judge."""
        if self.judges is None:
            return {score.name: () for score in self.scores}
        names: list[str] = []
        for model in self.judges:
            short = name = re.sub(r"[^\w.-]+", "_", model.name)
            number = 1
            while name in names:
                number += 1
                name = f"{short}_{number}"
            names.append(name)
        return {
            score.name: tuple(f"{score.name}@{name}" for name in names) for score in self.scores
        }

    @property
    def judges_own(self) -> tuple[str, ...]:
        """What each of several judges says alone: no reward unless it is named."""
        return tuple(name for each in self.columns.values() for name in each)

    @property
    def score_names(self) -> tuple[str, ...]:
        """What it scores: each score, and of several judges what each one said."""
        return tuple(name for score, each in self.columns.items() for name in (score, *each))
