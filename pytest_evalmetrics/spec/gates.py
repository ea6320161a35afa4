"""``expect:`` and ``thresholds:``: the gates that need no other run."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, WithJsonSchema

from pytest_evalmetrics.spec.forms import (
    COUNT_SCHEMA,
    STRICT,
    Bound,
    Count,
    CountField,
    Name,
    Share,
    count,
    expected,
    is_number,
    no_duplicates,
    refuse,
)

__all__ = ["ExpectSpec", "QuarantineSpec", "Tasks", "Threshold", "ThresholdField"]


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """An absolute gate on one metric."""

    __pydantic_config__ = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={"anyOf": [{"required": ["min"]}, {"required": ["max"]}]},
    )

    min: Annotated[Bound | None, Field(description="the metric must be at least this")] = None
    max: Annotated[Bound | None, Field(description="the metric must be at most this")] = None
    bound: Annotated[
        Literal["point", "lower", "upper"],
        Field(description="what is compared: the value, or an end of its interval"),
    ] = "point"

    @property
    def told(self) -> str:
        """What is asked for, with the end of the interval that is meant."""
        return str(self) if self.bound == "point" else f"{self.bound} end {self}"

    def __str__(self) -> str:
        parts = []
        if self.min is not None:
            parts.append(f">= {self.min:.12g}")
        if self.max is not None:
            parts.append(f"<= {self.max:.12g}")
        return " and ".join(parts)


_COMPARISON = r"\s*(>=|<=)\s*([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)\s*(%?)\s*"


def _threshold(value: Any) -> Any:
    match = re.fullmatch(_COMPARISON, value) if isinstance(value, str) else None
    if match is not None:
        number = float(match[2]) / (100 if match[3] else 1)
        return {"min" if match[1] == ">=" else "max": number}
    if is_number(value) and math.isfinite(value):
        raise refuse(
            f"a bare number does not say which side is good: write '>= {value}' or '<= {value}'"
        )
    if not isinstance(value, dict):
        raise expected("'>= 0.7', '<= 2000' or {min: 0.7}")
    return value


def _has_a_side(value: Threshold) -> Threshold:
    if value.min is None and value.max is None:
        raise refuse("expected min, max or both")
    if value.min is not None and value.max is not None and value.min > value.max:
        raise refuse(f"min {value.min:.12g} is above max {value.max:.12g}: nothing can pass")
    return value


ThresholdField = Annotated[
    Threshold,
    BeforeValidator(
        _threshold,
        json_schema_input_type=Annotated[str, Field(pattern=f"^{_COMPARISON}$")] | Threshold,
    ),
    AfterValidator(_has_a_side),
]


def _task_id(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise expected("a task's id, or a glob such as smoke-*")
    return value


def _until(value: Any) -> Any:
    try:
        return date.fromisoformat(value).isoformat()
    except (TypeError, ValueError):
        raise expected("a day such as 2026-12-31") from None


TaskPattern = Annotated[
    Name, BeforeValidator(_task_id), WithJsonSchema({"type": ["string", "integer"]})
]
Tasks = Annotated[
    tuple[TaskPattern, ...],
    Field(strict=False),
    BeforeValidator(lambda value: value if isinstance(value, list) else [value]),
    AfterValidator(no_duplicates),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": ["string", "integer"]},
                {"type": "array", "items": {"type": ["string", "integer"]}},
            ]
        }
    ),
]


@dataclass(frozen=True, kw_only=True)
class QuarantineSpec:
    """A task that is measured and shown, and not gated, up to a day."""

    __pydantic_config__ = STRICT

    task: Annotated[TaskPattern, Field(description="a task's id, or a glob")]
    reason: Annotated[Name, Field(description="why it is not gated")]
    until: Annotated[
        str,
        BeforeValidator(_until),
        Field(description="the last day, such as 2026-12-31; after it the task fails"),
    ]


def _rollouts_per_task(value: Any) -> Any:
    if value is None or value == "any":
        return value
    return count(value, "a whole number from 1, '>= 2' or any")


def _missing_reward(value: Any) -> Any:
    if value in (None, "error", "exclude") or (is_number(value) and math.isfinite(value)):
        return value
    raise expected("error, exclude or a finite number such as 0.0")


@dataclass(frozen=True, kw_only=True)
class ExpectSpec:
    """What has to be there before any number is believed."""

    __pydantic_config__ = STRICT

    tasks: Annotated[CountField | None, Field(description="tasks: 164, or '>= 100'")] = None
    rollouts: Annotated[
        Literal["any"] | Count | None,
        BeforeValidator(_rollouts_per_task),
        WithJsonSchema({"anyOf": [*COUNT_SCHEMA["anyOf"], {"const": "any"}, {"type": "null"}]}),
        Field(description="rollouts of each task: 4, '>= 2', or any; default num_samples"),
    ] = None
    max_missing: Annotated[
        Share | None,
        Field(description="the share of rollouts that may be missing: 0.02 or 2%"),
    ] = None
    missing_reward: Annotated[
        Literal["error", "exclude"] | float | None,
        BeforeValidator(_missing_reward),
        Field(
            description="what a rollout without a finite reward means: error (default), "
            "exclude (default where max_missing is given), or the reward it gets"
        ),
    ] = None
