"""``expect:``, ``thresholds:``, ``must_pass:``, ``quarantine:`` and ``baseline:``: the gates."""

import contextlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import date
from typing import Annotated, Literal, get_args

from pytest_evalmetrics.spec import field_types as types
from pytest_evalmetrics.spec.field_types import Bound, Checked, Name, Read, refuse
from pytest_evalmetrics.spec.sources import RunsSpec
from pytest_evalmetrics.spec.validation import (
    After,
    JsonForm,
    Keys,
    Limits,
    doc,
    validated,
)

# at half, an end of an interval is its middle
Confidence = Annotated[
    float,
    types.numeric("a confidence above 50 % and below 100 %, such as 95%", gt=0.5, lt=1),
]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Threshold(Keys):
    """An absolute gate on one metric."""

    __pydantic_config__ = types.any_of(["min"], ["max"], ["value", "rtol"])

    min: Annotated[Bound | None, doc("the metric must be at least this")] = None
    max: Annotated[Bound | None, doc("the metric must be at most this")] = None
    value: Annotated[
        Bound | None, doc("the metric must be near this: as near as rtol")
    ] = None
    rtol: Annotated[
        types.Share | None, doc("the share of value that it may be off: 5%")
    ] = None
    tier: Annotated[
        types.TierName | None, doc("whether it fails the build, or is advisory")
    ] = None
    bound: Annotated[
        Literal["point", "lower", "upper"],
        doc("whether the value or an end of its interval is compared"),
    ] = "point"
    confidence: Annotated[
        Confidence | None,
        doc("of that end alone, one-sided; default that of the 95 % interval: 97.5%"),
    ] = None

    @property
    def level(self) -> float:
        """The level of the two-sided interval that gives the bound."""
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
        sides = ((">=", self.min), ("<=", self.max))
        return " and ".join(
            f"{sign} {end:.12g}" for sign, end in sides if end is not None
        )


_COMPARISON = (
    r"\s*(>=|<=)\s*([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)\s*(%?)\s*"
)


def _threshold(value: object) -> object:
    match = None
    if isinstance(value, str):
        match = re.fullmatch(_COMPARISON, value)
    if match is not None:
        comparison, digits, percent = match.groups()
        number = float(digits)
        if percent:
            number /= 100
        if comparison == ">=":
            return {"min": number}
        return {"max": number}
    if types.is_number(value) and math.isfinite(value):
        raise refuse(
            f"a bare number does not say which side is good: write '>= {value}' or '<= {value}'"
        )
    if not isinstance(value, dict):
        raise types.expected("'>= 0.7', '<= 2000' or {min: 0.7}")
    return value


def _with_sides(value: Threshold) -> Threshold:
    """Write the range around a value as its ends, and refuse what can't be compared."""
    if (value.value is None) != (value.rtol is None):
        raise refuse("value and rtol belong together, such as {value: 0.72, rtol: 5%}")
    if value.value is not None and value.rtol is not None:
        if value.min is not None or value.max is not None:
            raise refuse("expected min and max, or value and rtol, not both")
        off = abs(value.value) * value.rtol
        value = replace(value, min=value.value - off, max=value.value + off)
    _check_ends(value.min, value.max)
    if value.confidence is not None and value.bound == "point":
        raise refuse(
            "a confidence is that of an interval's end: add bound: lower, or upper"
        )
    return value


def _check_ends(low: float | None, high: float | None) -> None:
    if low is None and high is None:
        raise refuse("expected min, max or both")
    if low is not None and high is not None and low > high:
        raise refuse(f"min {low:.12g} is above max {high:.12g}: nothing can pass")


_ThresholdText = Annotated[str, Limits(pattern=f"^{_COMPARISON}$")]
ThresholdField = Annotated[
    Threshold,
    Read(_threshold, lambda: _ThresholdText | Threshold),
    After(_with_sides),
]


def _task_pattern(value: object) -> object:
    if not isinstance(value, str) and not types.is_whole(value):
        raise types.expected("a task's id, or a glob such as smoke-*")
    return validated(Name, str(value))


def _until(value: object) -> str:
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            return date.fromisoformat(value).isoformat()
    raise types.expected("a day such as 2026-12-31")


_TaskForm = Annotated[object, JsonForm({"type": ["string", "integer"]})]
TaskPattern = Annotated[str, Checked(_task_pattern, lambda: _TaskForm)]
_as_list = types.Listed(
    TaskPattern, function=lambda v: v if isinstance(v, list) else [v]
)
Tasks = Annotated[tuple[TaskPattern, ...], _as_list]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class QuarantineSpec(Keys):
    """A task that is measured and not gated, until a day."""

    task: Annotated[TaskPattern, doc("a task's id, or a glob")]
    reason: Annotated[Name, doc("why it is not gated")]
    until: Annotated[
        str,
        Checked(_until, lambda: str),
        doc("the last day, such as 2026-12-31; after it the task fails"),
    ]


QuarantineField = Annotated[tuple[QuarantineSpec, ...], Limits(strict=False)]


def _rollouts_per_task(value: object) -> object:
    if value is None or value == "any":
        return value
    return types.count(value, "a whole number from 1, '>= 2' or any")


def _missing_reward(value: object) -> object:
    if value in (None, "error", "exclude"):
        return value
    if not types.is_number(value) or not math.isfinite(value):
        raise types.expected("error, exclude or a finite number such as 0.0")
    return float(value)


_Any = Annotated[object, JsonForm({"const": "any"})]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ExpectSpec(Keys):
    """The tasks and rollouts that must be present before a number is trusted."""

    tasks: Annotated[types.CountField | None, doc("tasks: 164, or '>= 100'")] = None
    rollouts: Annotated[
        Literal["any"] | types.Count | None,
        Checked(_rollouts_per_task, lambda: types.CountForm | _Any | None),
        doc("rollouts of each task: 4, '>= 2', or any; default num_samples"),
    ] = None
    max_missing: Annotated[
        types.Share | None, doc("the share of rollouts that may be missing: 0.02 or 2%")
    ] = None
    missing_reward: Annotated[
        Literal["error", "exclude"] | float | None,
        Checked(_missing_reward, lambda: Literal["error", "exclude"] | float | None),
        doc(
            "what a rollout without a finite reward means: error (default), "
            "exclude (default where max_missing is given), or the reward it gets"
        ),
    ] = None


# -- baseline ------------------------------------------------------------------------------

RuleName = Literal[
    "exact", "absolute", "relative", "statistical", "practical", "noninferior"
]
RULES: tuple[str, ...] = get_args(RuleName)
_WITHOUT_TASKS = ("exact", "absolute", "relative", "noninferior")


@dataclass(frozen=True, kw_only=True)
class OwnRule:
    """A gate rule that is not built in; its options are checked when it is made."""

    name: str
    options: Mapping[str, object] = types.empty()

    def __str__(self) -> str:
        return self.name


def _rule(value: object) -> object:
    if value is None or value in RULES:
        return value
    options = dict(value) if isinstance(value, dict) else {"name": value}
    name = options.pop("name", None)
    if not isinstance(name, str) or not name:
        raise types.expected(
            f"{', '.join(RULES)}, or a gate rule of your own: its name, or {{name: ...}}"
        )
    if name in RULES:
        raise refuse(f"the rule {name} has no options: write rule: {name}")
    return OwnRule(name=name, options=options)


_RuleForm = Annotated[object, JsonForm({"enum": [*RULES]})]
_OwnRuleForm = types.open_mapping(
    "name",
    description="the name of a rule of your own, or package.module:name",
    minLength=1,
)
RuleField = Annotated[
    RuleName | OwnRule | None,
    Checked(_rule, lambda: _RuleForm | Name | _OwnRuleForm | None),
]
Level = (
    Annotated[float, types.numeric("a level between 0 and 1, such as 0.01", gt=0, lt=1)]
    | None
)
_DROP = "a number from 0, or a share such as 10% with the rule relative"
Drop = Annotated[float, types.numeric(_DROP, ge=0)] | None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GateSpec(Keys):
    """The comparison of a metric with its baseline; None is the default."""

    rule: Annotated[
        RuleField, doc("how a drop is judged, by one of these or a rule of your own")
    ] = None
    direction: Annotated[
        Literal["higher", "lower"] | None,
        doc("which way is better; needed where nothing declares it"),
    ] = None
    alpha: Annotated[Level, doc("a p value below it fails; default 0.01")] = None
    warn_alpha: Annotated[Level, doc("a p value below it warns; default 0.05")] = None
    max_drop: Annotated[
        Drop,
        doc(
            "the drop that matters, in the metric's unit, or for the rule relative "
            "a share of the baseline; default 0.01 for rates, or a tenth of what there is to "
            "lose if that is less, else 0"
        ),
    ] = None
    require_mde: Annotated[
        Drop, doc("fail if a drop of this size can't be detected with 80 % power")
    ] = None
    run_noise: Annotated[
        types.Share | None,
        doc(
            "how much runs of an unchanged system differ as a whole, a standard "
            "deviation: 1% is one point of a rate, and of other metrics a share of the "
            "baseline's value; default what several runs of the baseline show"
        ),
    ] = None

    tier: Annotated[
        types.TierName | None, doc("whether a failure fails, or is advisory")
    ] = None

    def over(self, other: "GateSpec") -> "GateSpec":
        """Return these settings, completed by those of another."""
        values = {}
        for field in fields(GateSpec):
            value = getattr(self, field.name)
            if value is None:
                value = getattr(other, field.name)
            values[field.name] = value
        return GateSpec(**values)


_AGAINST = "snapshot, best, or median-of-last-5"


def _history(value: object) -> object:
    if value is None or (isinstance(value, str) and value):
        return value
    if not types.is_whole(value) or not 1 <= value <= 50:
        raise types.expected("a number of runs from 1 to 50, or the history's file")
    return value


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BaselineSpec(GateSpec):
    """The other side of the comparison, and the settings of all metrics."""

    rollouts: Annotated[
        RunsSpec | None,
        types.on_use("sources", "RunsField", plain=lambda paths: RunsSpec(path=paths)),
        doc(
            "compare with another run's rollouts, or with several runs: [[run1/*], [run2/*]]"
        ),
    ] = None
    report: Annotated[Name | None, doc("compare with an earlier run's report.json")] = (
        None
    )
    against: Annotated[
        str,
        types.matching("snapshot|best|median-of-last-[1-9][0-9]{0,3}", _AGAINST),
        doc("snapshot, or a number of the history: best, median-of-last-5"),
    ] = "snapshot"
    history: Annotated[
        str | int | None,
        Checked(_history, lambda: Name | int | None),
        doc(
            "compare task by task with the last runs of the history, so many of them; or the "
            "history's file, default that of --evalmetrics-history"
        ),
    ] = None
    min_coverage: Annotated[
        types.Share, doc("the share of the baseline's tasks that must be compared")
    ] = 1.0
    max_broken: Annotated[
        Annotated[int, Limits(ge=0)] | None,
        doc("tasks that may go from all of their rollouts passing to none"),
    ] = None
    single_tasks: Annotated[
        bool,
        doc(
            "whether a task fails the benchmark that got worse beyond what its own rollouts explain"
        ),
    ] = True
    slices_tier: Annotated[
        types.TierName | None,
        doc("whether slices of `breakdown:` fail the build, or are advisory"),
    ] = None
    confirm: Annotated[
        bool,
        doc(
            "whether a failure that may be by chance draws one more round of rollouts, and "
            "stands only if both rounds together fail; for benchmarks with a model or target"
        ),
    ] = False
    drift: Annotated[
        Literal["warn", "fail"], doc("whether a drift over the history warns or fails")
    ] = "warn"
    runs: Annotated[
        int,
        Limits(ge=2, le=50),
        doc(
            "how many runs it keeps that --evalmetrics-add-run adds, or takes from its history"
        ),
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
    metrics: Annotated[dict[Name, GateSpec], doc("metric -> settings of its own")] = (
        types.empty()
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
        """The number of the history's runs that it is made of, task by task; None for none."""
        if self.against != "snapshot" or self.history is None:
            return None
        return self.history if isinstance(self.history, int) else self.runs

    def gate_of(self, name: str) -> GateSpec:
        """Return the settings of one metric."""
        if name in self.metrics:
            return self.metrics[name].over(self)
        return self

    def path_of(self, name: str, key: str) -> tuple[str, ...]:
        """Return the path of a setting of one metric: of its own, or of all."""
        own = self.metrics.get(name)
        if getattr(own, key, None) is not None:
            return ("metrics", name, key)
        return (key,)

    def __post_init__(self) -> None:
        """Refuse settings that contradict each other."""
        if self.rollouts is not None and self.report is not None:
            raise refuse("a baseline is either rollouts or a report, not both")
        if self.rescore and not self.committed:
            raise refuse(
                "rescore is for a baseline of its own: another run's has no rows"
            )
        if self.of_history and (self.rollouts is not None or self.report is not None):
            taker = "history:"
            if self.against != "snapshot":
                taker = f"against: {self.against}"
            raise refuse(f"{taker} takes the history: drop rollouts, or report")
        if self.against != "snapshot":
            self._check_history_of_numbers()
        self._check_gate(self.gate_of(""), "")
        for name in self.metrics:
            self._check_gate(self.gate_of(name), f"metrics.{name}: ")

    def _check_history_of_numbers(self) -> None:
        if isinstance(self.history, int):
            raise refuse(
                f"against: {self.against} takes the history's file here, or nothing"
            )
        if self.max_broken is not None:
            raise refuse(
                "max_broken needs the baseline's tasks, and a history has none"
            )

    def _check_gate(self, gate: GateSpec, where: str) -> None:
        if self.against != "snapshot":
            self._check_gate_of_numbers(gate, where)
        needs_drop = gate.rule in ("absolute", "relative", "noninferior")
        if needs_drop and gate.max_drop is None:
            raise refuse(f"{where}the rule {gate.rule} needs a max_drop")
        if (gate.alpha or 0.01) > (gate.warn_alpha or 1.0):
            raise refuse(f"{where}alpha is above warn_alpha: a failure would not warn")

    def _check_gate_of_numbers(self, gate: GateSpec, where: str) -> None:
        """Refuse what compares task by task, where a history holds numbers alone."""
        rule = gate.rule or "practical"
        if rule not in _WITHOUT_TASKS:
            default = ""
            if gate.rule is None:
                default = ", the default,"
            raise refuse(
                f"{where}the rule {rule}{default} compares task by task, and a history "
                f"holds numbers alone: with against: {self.against} use one of "
                f"{', '.join(_WITHOUT_TASKS)}"
            )
        if gate.require_mde is not None:
            raise refuse(
                f"{where}require_mde needs a test task by task, and a history has no tasks"
            )


def _baseline(value: object) -> object:
    if isinstance(value, bool):
        return {} if value else None
    if not isinstance(value, dict):
        raise types.expected("true, false, or a mapping with rule, max_drop, ...")
    return value


BaselineField = Annotated[
    BaselineSpec | None, Read(_baseline, lambda: bool | BaselineSpec)
]
