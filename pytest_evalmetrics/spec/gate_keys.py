"""``expect:``, ``thresholds:``, ``must_pass:``, ``quarantine:`` and ``baseline:``: the gates."""

from __future__ import annotations

import math
import re
from dataclasses import field, fields, replace
from datetime import date
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from pytest_evalmetrics.spec.field_types import (
    COUNT_SCHEMA,
    Bound,
    Count,
    CountField,
    Name,
    Share,
    count,
    doc,
    expected,
    is_number,
    keys,
    no_duplicates,
    numeric,
    on_use,
    refuse,
)

if TYPE_CHECKING:
    from pytest_evalmetrics.spec.sources import RunsSpec

    RunsField = RunsSpec | None
else:
    RunsField = on_use("sources", "OptionalRuns")

_NEAR: Any = {"required": ["value", "rtol"]}
Confidence = Annotated[
    float,
    numeric(
        "a confidence above 50 % and below 100 %, such as 95%",
        lambda level: 0.5 < level < 1,  # noqa: PLR2004 - at half, an end of an interval is its middle
        Annotated[float, Field(gt=0.5, lt=1)],
    ),
]


@keys(json_schema_extra={"anyOf": [{"required": ["min"]}, {"required": ["max"]}, _NEAR]})
class Threshold:
    """An absolute gate on one metric."""

    min: Annotated[Bound | None, doc("the metric must be at least this")] = None
    max: Annotated[Bound | None, doc("the metric must be at most this")] = None
    value: Annotated[Bound | None, doc("the metric must be near this: as near as rtol")] = None
    rtol: Annotated[Share | None, doc("the share of value that it may be off: 5%")] = None
    bound: Annotated[
        Literal["point", "lower", "upper"],
        doc("what is compared: the value, or an end of its interval"),
    ] = "point"
    confidence: Annotated[
        Confidence | None,
        doc("of that end alone, one-sided; default that of the 95 % interval: 97.5%"),
    ] = None

    @property
    def level(self) -> float:
        """The level of the two-sided interval whose end is compared."""
        return 0.95 if self.confidence is None else 2 * self.confidence - 1

    @property
    def end(self) -> str:
        """Name the end of the interval that is compared: ``lower end``, ``lower 95 % bound``."""
        if self.confidence is None:
            return f"{self.bound} end"
        return f"{self.bound} {100 * self.confidence:.6g} % bound"

    @property
    def described(self) -> str:
        """The bounds, with the end of the interval that is compared."""
        return str(self) if self.bound == "point" else f"{self.end} {self}"

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


def _with_sides(value: Threshold) -> Threshold:
    if (value.value is None) != (value.rtol is None):
        raise refuse("value and rtol belong together, such as {value: 0.72, rtol: 5%}")
    if value.value is not None and value.rtol is not None:
        if value.min is not None or value.max is not None:
            raise refuse("expected min and max, or value and rtol, not both")
        off = abs(value.value) * value.rtol
        value = replace(value, min=value.value - off, max=value.value + off)
    if value.min is None and value.max is None:
        raise refuse("expected min, max or both")
    if value.min is not None and value.max is not None and value.min > value.max:
        raise refuse(f"min {value.min:.12g} is above max {value.max:.12g}: nothing can pass")
    if value.confidence is not None and value.bound == "point":
        raise refuse("a confidence is that of an interval's end: add bound: lower, or upper")
    return value


ThresholdField = Annotated[
    Threshold,
    BeforeValidator(
        _threshold,
        json_schema_input_type=Annotated[str, Field(pattern=f"^{_COMPARISON}$")] | Threshold,
    ),
    AfterValidator(_with_sides),
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


@keys
class QuarantineSpec:
    """A task that is measured and not gated, until a day."""

    task: Annotated[TaskPattern, doc("a task's id, or a glob")]
    reason: Annotated[Name, doc("why it is not gated")]
    until: Annotated[
        str,
        BeforeValidator(_until),
        doc("the last day, such as 2026-12-31; after it the task fails"),
    ]


def _rollouts_per_task(value: Any) -> Any:
    if value is None or value == "any":
        return value
    return count(value, "a whole number from 1, '>= 2' or any")


def _missing_reward(value: Any) -> Any:
    if value in (None, "error", "exclude") or (is_number(value) and math.isfinite(value)):
        return value
    raise expected("error, exclude or a finite number such as 0.0")


@keys
class ExpectSpec:
    """What must be there before a number is trusted."""

    tasks: Annotated[CountField | None, doc("tasks: 164, or '>= 100'")] = None
    rollouts: Annotated[
        Literal["any"] | Count | None,
        BeforeValidator(_rollouts_per_task),
        WithJsonSchema({"anyOf": [*COUNT_SCHEMA["anyOf"], {"const": "any"}, {"type": "null"}]}),
        doc("rollouts of each task: 4, '>= 2', or any; default num_samples"),
    ] = None
    max_missing: Annotated[
        Share | None, doc("the share of rollouts that may be missing: 0.02 or 2%")
    ] = None
    missing_reward: Annotated[
        Literal["error", "exclude"] | float | None,
        BeforeValidator(_missing_reward),
        doc(
            "what a rollout without a finite reward means: error (default), "
            "exclude (default where max_missing is given), or the reward it gets"
        ),
    ] = None


# -- baseline ------------------------------------------------------------------------------


_AGAINST = r"snapshot|best|median-of-last-[1-9][0-9]{0,3}"
_WITHOUT_TASKS = ("exact", "absolute", "relative", "noninferior")
RuleName = Literal["exact", "absolute", "relative", "statistical", "practical", "noninferior"]


@keys
class OwnRule:
    """A gate rule that is not built in; its options are checked when it is made."""

    name: Annotated[Name, doc("the name of a gate rule of your own, or package.module:name")]
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name


def _rule(value: Any) -> Any:
    if value is None or value in RULES:
        return value
    if isinstance(value, str) and value:
        return {"name": value}
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        raise expected(
            f"{', '.join(RULES)}, or a gate rule of your own: its name, or {{name: ...}}"
        )
    if value["name"] in RULES:
        raise refuse(f"the rule {value['name']} has no options: write rule: {value['name']}")
    return {"name": value["name"], "options": {k: v for k, v in value.items() if k != "name"}}


RULES: tuple[str, ...] = get_args(RuleName)
RuleField = Annotated[
    RuleName | OwnRule | None,
    BeforeValidator(_rule),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": [*RULES]},
                {"type": "string", "minLength": 1},
                {
                    "type": "object",
                    "properties": {
                        "name": {
                            "description": "the name of a rule of your own, or package.module:name",
                            "type": "string",
                            "minLength": 1,
                        }
                    },
                    "required": ["name"],
                    "additionalProperties": True,  # the rule's options
                },
                {"type": "null"},
            ]
        }
    ),
]


Level = Annotated[
    float | None,
    numeric(
        "a level between 0 and 1, such as 0.01",
        lambda level: 0 < level < 1,
        Annotated[float, Field(gt=0, lt=1)],
        optional=True,
    ),
]
Drop = Annotated[
    float | None,
    Field(allow_inf_nan=False),
    numeric(
        "a number from 0, or a share such as 10% with the rule relative",
        lambda drop: drop >= 0,
        Annotated[float, Field(ge=0)],
        optional=True,
    ),
]


@keys
class GateSpec:
    """The comparison of a metric with its baseline; None is the default."""

    rule: Annotated[
        RuleField, doc("how a drop is judged, by one of these or a rule of your own")
    ] = None
    direction: Annotated[
        Literal["higher", "lower"] | None,
        doc("which way is better; default what the metric's name tells"),
    ] = None
    alpha: Annotated[Level, doc("a p value below it fails; default 0.01")] = None
    warn_alpha: Annotated[Level, doc("a p value below it warns; default 0.05")] = None
    max_drop: Annotated[
        Drop,
        doc(
            "the drop that matters, in the metric's unit, or for the rule relative "
            "a share of the baseline; default 0.01 for rates, else 0"
        ),
    ] = None
    require_mde: Annotated[
        Drop, doc("fail where a drop of this size would not be seen with 80 % power")
    ] = None

    def over(self, other: GateSpec) -> GateSpec:
        """Return these settings, completed by those of another."""
        both = {f.name: (getattr(self, f.name), getattr(other, f.name)) for f in fields(GateSpec)}
        return GateSpec(**{key: a if a is not None else b for key, (a, b) in both.items()})


def _against(value: Any) -> Any:
    if not isinstance(value, str) or not re.fullmatch(_AGAINST, value):
        raise expected("snapshot, best, or median-of-last-5")
    return value


def _history(value: Any) -> Any:
    if value is None or (isinstance(value, str) and value):
        return value
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 50:  # noqa: PLR2004
        raise expected("a number of runs from 1 to 50, or the history's file")
    return value


@keys
class BaselineSpec(GateSpec):
    """The other side of the comparison, and the settings of all metrics."""

    rollouts: Annotated[
        RunsField,
        doc("compare with another run's rollouts, or with several runs: [[run1/*], [run2/*]]"),
    ] = None
    report: Annotated[Name | None, doc("compare with an earlier run's report.json")] = None
    against: Annotated[
        str,
        BeforeValidator(_against),
        Field(
            description="snapshot, or a number of the history: best, median-of-last-5",
            pattern=f"^({_AGAINST})$",
        ),
    ] = "snapshot"
    history: Annotated[
        Name | int | None,
        BeforeValidator(_history),
        doc(
            "compare task by task with the last runs of the history, so many of them; or the "
            "history's file, default that of --evalmetrics-history"
        ),
    ] = None
    min_coverage: Annotated[
        Share, doc("the share of the baseline's tasks that must be compared")
    ] = 1.0
    max_broken: Annotated[
        Annotated[int, Field(ge=0)] | None,
        doc("tasks that may go from all of their rollouts passing to none"),
    ] = None
    drift: Annotated[
        Literal["warn", "fail"], doc("what a drift over the history does; it is a warning")
    ] = "warn"
    runs: Annotated[
        int,
        Field(ge=2, le=50),
        doc("how many runs it keeps that --evalmetrics-add-run adds, or takes from its history"),
    ] = 10
    answers: Annotated[
        bool,
        doc(
            "keep the texts of each attempt beside the committed baseline, so that a regression's "
            "report shows what was answered before"
        ),
    ] = False
    rescore: Annotated[
        bool | Name,
        doc(
            "keep the baseline's rows beside it, or in this file, and score them with "
            "today's scorers where these have changed"
        ),
    ] = False
    metrics: Annotated[dict[Name, GateSpec], doc("metric -> settings of its own")] = field(
        default_factory=dict
    )

    @property
    def committed(self) -> bool:
        """Whether it is the snapshot beside the benchmark file."""
        return self.rollouts is None and self.report is None and not self.of_history

    @property
    def of_history(self) -> bool:
        """Whether it is taken from the history."""
        return self.against != "snapshot" or self.history is not None

    @property
    def history_runs(self) -> int | None:
        """How many runs of the history it is made of, task by task; None for none."""
        if self.against != "snapshot" or self.history is None:
            return None
        return self.history if isinstance(self.history, int) else self.runs


def _baseline(value: Any) -> Any:
    if isinstance(value, bool):
        return {} if value else None
    if value is not None and not isinstance(value, dict):
        raise expected("true, false, or a mapping with rule, max_drop, ...")
    return value


def _check_history(spec: BaselineSpec) -> None:
    if spec.of_history and (spec.rollouts is not None or spec.report is not None):
        key = "history:" if spec.against == "snapshot" else f"against: {spec.against}"
        raise refuse(f"{key} takes the history: drop rollouts, or report")
    if spec.against == "snapshot":
        return
    if isinstance(spec.history, int):
        raise refuse(f"against: {spec.against} takes the history's file here, or nothing")
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


def _check_baseline(spec: BaselineSpec | None) -> BaselineSpec | None:
    if spec is None:
        return None
    if spec.rollouts is not None and spec.report is not None:
        raise refuse("a baseline is either rollouts or a report, not both")
    if spec.rescore and not spec.committed:
        raise refuse("rescore is for a baseline of its own: another run's has no rows")
    _check_history(spec)
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
    AfterValidator(_check_baseline),
]
