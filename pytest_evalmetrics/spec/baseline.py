"""``baseline:``: what a run is compared with, and by which rule."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from pytest_evalmetrics.spec.forms import (
    STRICT,
    Name,
    PercentText,
    Share,
    expected,
    is_number,
    percent,
    refuse,
)
from pytest_evalmetrics.spec.rollouts import RolloutsField

__all__ = ["BaselineField", "BaselineSpec", "GateSpec", "RuleName"]

_AGAINST = r"snapshot|best|median-of-last-[1-9][0-9]{0,3}"
_WITHOUT_TASKS = ("exact", "absolute", "relative", "noninferior")
RuleName = Literal["exact", "absolute", "relative", "statistical", "practical", "noninferior"]


def _level(value: Any) -> Any:
    if value is not None and (not is_number(value) or not 0 < value < 1):
        raise expected("a level between 0 and 1, such as 0.01")
    return value


_LevelNumber = Annotated[float, Field(gt=0, lt=1)]
Level = Annotated[float | None, BeforeValidator(_level, json_schema_input_type=_LevelNumber | None)]


def _drop(value: Any) -> Any:
    drop = percent(value)
    if drop is not None and (not is_number(drop) or drop < 0):
        raise expected("a number from 0, or a share such as 10% with the rule relative")
    return drop


_DropNumber = Annotated[float, Field(ge=0)]
Drop = Annotated[
    float | None,
    Field(allow_inf_nan=False),
    BeforeValidator(_drop, json_schema_input_type=_DropNumber | PercentText | None),
]


@dataclass(frozen=True, kw_only=True)
class GateSpec:
    """How a metric is held against its baseline; what is left out has a default."""

    __pydantic_config__ = STRICT

    rule: Annotated[
        RuleName | None, Field(description="how a drop is judged; default practical")
    ] = None
    direction: Annotated[
        Literal["higher", "lower"] | None,
        Field(description="which way is better; default what the metric's name tells"),
    ] = None
    alpha: Annotated[Level, Field(description="a p value below it fails; default 0.01")] = None
    warn_alpha: Annotated[Level, Field(description="a p value below it warns; default 0.05")] = None
    max_drop: Annotated[
        Drop,
        Field(
            description="the drop that matters, in the metric's unit, or for the rule relative "
            "a share of the baseline; default 0.01 for rates, else 0"
        ),
    ] = None
    require_mde: Annotated[
        Drop,
        Field(description="fail where a drop of this size would not be seen with 80 % power"),
    ] = None

    def over(self, other: GateSpec) -> GateSpec:
        """Return these settings, and those of another where nothing is said."""
        said = {
            f.name: mine if (mine := getattr(self, f.name)) is not None else getattr(other, f.name)
            for f in fields(GateSpec)
        }
        return GateSpec(**said)


def _against(value: Any) -> Any:
    if not isinstance(value, str) or not re.fullmatch(_AGAINST, value):
        raise expected("snapshot, best, or median-of-last-5")
    return value


@dataclass(frozen=True, kw_only=True)
class BaselineSpec(GateSpec):
    """What a run is compared with, and how its metrics are judged."""

    __pydantic_config__ = STRICT

    rollouts: Annotated[
        RolloutsField | None, Field(description="compare with another run's rollouts")
    ] = None
    report: Annotated[
        Name | None, Field(description="compare with an earlier run's report.json")
    ] = None
    against: Annotated[
        str,
        BeforeValidator(_against),
        Field(
            description="snapshot, or a number of the history: best, median-of-last-5",
            pattern=f"^({_AGAINST})$",
        ),
    ] = "snapshot"
    history: Annotated[
        Name | None,
        Field(
            description="the history that best and median-of-last-5 are taken from; default "
            "that of --evalmetrics-history"
        ),
    ] = None
    min_coverage: Annotated[
        Share, Field(description="the share of the baseline's tasks that must be compared")
    ] = 1.0
    max_broken: Annotated[
        Annotated[int, Field(ge=0)] | None,
        Field(description="tasks that may go from all of their rollouts passing to none"),
    ] = None
    rescore: Annotated[
        bool | Name,
        Field(
            description="keep the baseline's rows beside it, or in this file, and score them with "
            "today's scorers where these have changed"
        ),
    ] = False
    metrics: Annotated[dict[Name, GateSpec], Field(description="metric -> settings of its own")] = (
        field(default_factory=dict)
    )

    @property
    def committed(self) -> bool:
        """Whether it is the snapshot beside the benchmark file, and no other run."""
        return self.rollouts is None and self.report is None and self.against == "snapshot"


def _baseline(value: Any) -> Any:
    if isinstance(value, bool):
        return {} if value else None
    if value is not None and not isinstance(value, dict):
        raise expected("true, false, or a mapping with rule, max_drop, ...")
    return value


def _history_is_possible(spec: BaselineSpec) -> None:
    if spec.against == "snapshot":
        if spec.history is not None:
            raise refuse("a history is for `against: best` or `against: median-of-last-5`")
        return
    if spec.rollouts is not None or spec.report is not None:
        raise refuse(f"against: {spec.against} takes the history: drop rollouts, or report")
    if spec.max_broken is not None:
        raise refuse("max_broken needs the baseline's tasks, and a history has none")
    for name, own in (("", spec), *spec.metrics.items()):
        asked = own.over(spec)
        rule = asked.rule or "practical"
        of = f"metrics.{name}: " if name else ""
        if rule not in _WITHOUT_TASKS:
            default = "" if asked.rule else ", the default,"
            raise refuse(
                f"{of}the rule {rule}{default} compares task by task, and a history holds numbers "
                f"alone: with against: {spec.against} use one of {', '.join(_WITHOUT_TASKS)}"
            )
        if asked.require_mde is not None:
            raise refuse(f"{of}require_mde needs a test task by task, and a history has no tasks")


def _is_possible(spec: BaselineSpec | None) -> BaselineSpec | None:
    if spec is None:
        return None
    if spec.rollouts is not None and spec.report is not None:
        raise refuse("a baseline is either rollouts or a report, not both")
    if spec.rescore and not spec.committed:
        raise refuse("rescore is for a baseline of its own: another run's has no rows")
    _history_is_possible(spec)
    for name, own in (("", spec), *spec.metrics.items()):
        asked = own.over(spec)
        of = f"metrics.{name}: " if name else ""
        if asked.rule in ("absolute", "relative", "noninferior") and asked.max_drop is None:
            raise refuse(f"{of}the rule {asked.rule} needs a max_drop")
        if (asked.alpha or 0.01) > (asked.warn_alpha or 1.0):
            raise refuse(f"{of}alpha is above warn_alpha: what fails would not warn")
    return spec


BaselineField = Annotated[
    BaselineSpec | None,
    BeforeValidator(_baseline, json_schema_input_type=bool | BaselineSpec | None),
    AfterValidator(_is_possible),
]
