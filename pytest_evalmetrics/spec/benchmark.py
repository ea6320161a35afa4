"""One benchmark, and where it is written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.records import record
from pytest_evalmetrics.spec.field_types import (
    FREE_NAMES,
    Fields,
    Name,
    Names,
    doc,
    expected,
    keys,
    no_duplicates,
    on_use,
    one_or_many,
    refuse,
)
from pytest_evalmetrics.spec.gate_keys import (
    BaselineField,
    ExpectSpec,
    QuarantineSpec,
    Tasks,
    ThresholdField,
)
from pytest_evalmetrics.spec.metric_names import parse
from pytest_evalmetrics.spec.sources import (
    DatasetSpec,
    NumSamples,
    ParamsSpec,
    RolloutsField,
    RolloutsSpec,
    SampleSpec,
)

__all__ = ["Benchmark", "BenchmarkSpec", "ScorerSpec", "XFail", "rename_hint"]


class ScorerSpec(Protocol):
    """One entry of ``scorers:``."""

    @property
    def type(self) -> str:
        """Its type, as written."""
        ...

    @property
    def score_names(self) -> tuple[str, ...]:
        """Names of its scores; empty if unknown before it is made."""
        ...


def rename_hint(spec: ScorerSpec) -> str:
    """Return how a scorer gets other names for its scores."""
    if hasattr(spec, "name"):
        return "give this one a name, such as `name: second`"
    if spec.type == "python":
        return "give this one's another name, such as `scores: [another_name]`"
    if hasattr(spec, "scores"):
        return "give this one's another `name` under scores"
    return "give this one's another name in its class"


if TYPE_CHECKING:
    from pytest_evalmetrics.spec.metric_keys import MetricKeys
    from pytest_evalmetrics.spec.model_keys import BudgetSpec, LabelsSpec, ModelSpec, TargetSpec

    MetricsField = tuple[str, ...]
    ScorersField = tuple[ScorerSpec, ...]
    ModelField = ModelSpec | None
    TargetField = TargetSpec | None
    BudgetField = BudgetSpec | None
    LabelsField = LabelsSpec | None
    PromptField = Any
    ToolsField = Any
    ResponseFormatField = Any
    DatasetField = DatasetSpec | None
    ParamsField = ParamsSpec
    ReferenceField: TypeAlias = "ReferenceSpec | None"
else:
    DatasetField = on_use("sources", "OptionalDataset")
    ParamsField = on_use("sources", "ParamsSpec")
    ReferenceField = on_use("benchmark", "OptionalReference")
    MetricsField = on_use("metric_keys", "MetricsField")
    ScorersField = on_use("scorer_keys", "ScorersField")
    ModelField = on_use("model_keys", "ModelField")
    TargetField = on_use("model_keys", "OptionalTarget")
    BudgetField = on_use("model_keys", "BudgetField")
    LabelsField = on_use("model_keys", "OptionalLabels")
    PromptField = on_use("model_keys", "OptionalPrompt")
    ToolsField = on_use("model_keys", "OptionalTools")
    ResponseFormatField = on_use("model_keys", "OptionalResponseFormat")


@keys
class XFail:
    """A benchmark that is known to fail its gate."""

    reason: Annotated[str, doc("why it is known to fail")] = ""
    strict: Annotated[
        bool | None, doc("whether passing is a failure; default as pytest's xfail_strict says")
    ] = None


_BOOLEANS_OF_YAML_1_1 = ("yes", "no", "on", "off")


def _is_reason(value: Any) -> bool:
    """Whether this is the reason for a mark: ``skip: no`` would skip for the reason "no"."""
    return isinstance(value, str) and value.strip().lower() not in _BOOLEANS_OF_YAML_1_1


def _skip(value: Any) -> Any:
    if not isinstance(value, bool) and not _is_reason(value):
        raise expected("true, false or the reason")
    return value


def _xfail(value: Any) -> Any:
    if isinstance(value, bool):
        return {} if value else None
    if _is_reason(value):
        return {"reason": value}
    if value is not None and not isinstance(value, dict):
        raise expected("true, false, the reason, or a mapping with reason and strict")
    return value


_BAD_IN_A_NAME = re.compile(r"::|[\x00-\x1f\x7f]")


def _benchmark_name(value: str) -> str:
    if _BAD_IN_A_NAME.search(value) or value != value.strip():
        raise expected(
            "a name without '::', control characters and spaces around it, because it becomes "
            "a pytest id"
        )
    return value


_TAG = r"[A-Za-z_][\w.:+\-\[\]/\\]*"
_MARKS_OF_PYTEST = ("skip", "skipif", "xfail", "parametrize", "usefixtures", "filterwarnings")


def _tag(value: str) -> str:
    if not re.fullmatch(_TAG, value):
        raise expected(
            "a word that can be a pytest marker: a letter, then letters, digits and _ - . : /"
        )
    if value in _MARKS_OF_PYTEST:
        raise refuse(
            f"{value!r} is a marker of pytest's own"
            + (f": write '{value}:' as a key instead" if value in ("skip", "xfail") else "")
        )
    return value


Tags = Annotated[
    tuple[Annotated[Name, AfterValidator(_tag)], ...],
    Field(strict=False),
    BeforeValidator(one_or_many),
    AfterValidator(no_duplicates),
    WithJsonSchema(FREE_NAMES),
]


@keys(json_schema_extra={"oneOf": [{"required": ["rollouts"]}, {"required": ["model"]}]})
class ReferenceSpec:
    """A pinned system, measured beside each run: its rollouts, or a model that is asked anew."""

    rollouts: Annotated[RolloutsField | None, doc("its rollouts of the same tasks")] = None
    model: Annotated[ModelField, doc("answers the rows of the dataset in the same run")] = None


OptionalReference = ReferenceSpec | None


@keys(json_schema_extra={"oneOf": [{"required": ["rollouts"]}, {"required": ["dataset"]}]})
class BenchmarkSpec:
    """One named benchmark; one pytest item."""

    name: Annotated[Name, AfterValidator(_benchmark_name), doc("becomes the pytest item's name")]
    description: Annotated[str, doc("for people")] = ""
    tags: Annotated[Tags, doc("become pytest markers")] = ()
    skip: Annotated[bool | str, BeforeValidator(_skip), doc("true, or the reason")] = False
    xfail: Annotated[
        XFail | None,
        BeforeValidator(_xfail, json_schema_input_type=bool | str | XFail | None),
        doc("true, the reason, or {reason, strict}"),
    ] = None

    rollouts: Annotated[RolloutsField | None, doc("the recorded rollouts")] = None
    dataset: Annotated[
        DatasetField, doc("rows to be scored, each one task, where nothing was recorded")
    ] = None
    model: Annotated[ModelField, doc("answers each row of the dataset, num_samples times")] = None
    prompt_template: Annotated[
        PromptField,
        doc("what the model is asked: a text, a list of messages, {messages: ...}"),
    ] = None
    tools: Annotated[ToolsField, doc("what the model may call")] = None
    response_format: Annotated[
        ResponseFormatField, doc("the form that the model has to answer in")
    ] = None
    target: Annotated[
        TargetField, doc("in place of a model: a Python function that answers each row")
    ] = None
    budget: Annotated[BudgetField, doc("what one run may use")] = None
    scorers: Annotated[ScorersField, doc("what gives each row its scores")] = ()
    params: Annotated[ParamsField, doc("on what terms rows are scored")] = field(
        default_factory=ParamsSpec
    )
    reference: Annotated[
        ReferenceField,
        doc("a pinned system measured in the same run, for metrics such as mean/over_reference"),
    ] = None
    sample: Annotated[
        SampleSpec | None,
        doc("a subset of the tasks, the same in every run; --evalmetrics-all-tasks takes all"),
    ] = None
    labels: Annotated[
        LabelsField, doc("people's scores of some rollouts, which correct ppi/mean_reward")
    ] = None
    num_samples: Annotated[
        NumSamples | None, doc("rollouts of each task; or {min, max, stop: early}")
    ] = None

    reward: Annotated[Name, doc("the score that the metrics reduce")] = "reward"
    metrics: Annotated[
        MetricsField,
        doc(
            "names, name/score for another score, package.module:attribute, or "
            "name: {type: ..., ...}"
        ),
    ] = ("mean_reward", "pass_rate")
    key_metrics: Annotated[Names | None, doc("the headline metrics: these are gated")] = None
    pass_threshold: Annotated[
        float,
        Field(allow_inf_nan=False, description="a rollout passes where its reward is at least"),
    ] = 1.0
    pass_estimator: Annotated[
        Literal["unbiased", "first_k"],
        doc("how pass@k, pass^k and max@k use the samples of a task"),
    ] = "unbiased"  # noqa: S105 - the "pass" of pass@k
    breakdown: Annotated[
        Fields, doc("the metrics again for each value of these fields of a row")
    ] = ()
    cluster: Annotated[Name | None, doc("the field whose equal values are not independent")] = None

    expect: Annotated[ExpectSpec, doc("what has to be there")] = field(default_factory=ExpectSpec)
    must_pass: Annotated[Tasks, doc("tasks all of whose rollouts have to pass: ids, or globs")] = ()
    quarantine: Annotated[
        tuple[QuarantineSpec, ...],
        Field(strict=False, description="tasks that are measured and shown, and not gated"),
    ] = ()
    thresholds: Annotated[dict[Name, ThresholdField], doc("metric -> bound")] = field(
        default_factory=dict
    )
    baseline: Annotated[
        BaselineField, doc("compare the key metrics with a committed snapshot, or another run")
    ] = None

    @property
    def answers(self) -> ModelSpec | TargetSpec | None:
        """Who answers the rows; None where nothing is generated."""
        return self.model or self.target

    @property
    def runs(self) -> bool:
        """Whether evaluating it takes more than reading: rows are generated or scored."""
        return bool(self.scorers) or self.answers is not None

    @property
    def defined(self) -> Mapping[str, MetricKeys]:
        """The metrics that the file defines, by name."""
        return getattr(self.metrics, "defined", {})

    def listing(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return other listed metrics, with the same definitions."""
        if not self.defined:
            return tuple(names)
        listed: Any = type(self.metrics)(names)
        listed.defined = self.defined
        return listed  # type: ignore[no-any-return]

    @property
    def needs_reward(self) -> bool:
        """Whether a rollout needs a reward whatever the metrics read."""
        broken = None if self.baseline is None else self.baseline.max_broken
        own = any(keys.of_reward for keys in self.defined.values())
        return own or broken is not None or bool(self.must_pass or self.quarantine)

    @cached_property
    def row_columns(self) -> tuple[str, ...]:
        """The columns that its metrics read, other than the reward."""
        names = [n for keys in self.defined.values() for n in (*keys.labels, *keys.numbers)]
        for text in self.metrics:
            with suppress(MetricError):  # raised where it is looked up
                names += [score] if (score := parse(text).score) is not None else []
        return tuple(dict.fromkeys(names))

    @property
    def gated(self) -> tuple[str, ...]:
        """The metrics that a baseline gates.

        The key metrics that the benchmark names, else its listed metrics, and those that have
        settings of their own. A ``mean/*`` that is a key metric only by default is told and
        not gated: where each recorded number can fail the build, chance soon does.
        """
        own = self.baseline.metrics if self.baseline is not None else ()
        return tuple(dict.fromkeys((*(self.key_metrics or self.metrics), *own)))

    @property
    def rows(self) -> RolloutsSpec | DatasetSpec:
        """Where its rows come from: recorded rollouts, or a data set to be scored."""
        found = self.rollouts or self.dataset
        if found is None:  # no benchmark file with neither is ever accepted
            raise ValueError(f"the benchmark {self.name} has neither rollouts nor a dataset")
        return found


_NAMED_IN_ERRORS = ("url", "api_key_secret")
_named_value = re.compile(r"(?:url|api_key_secret)[\"']?\s*:\s*[\"']?([^\s\"',}]+)")


@record
class Benchmark:
    """A benchmark and where it is written."""

    spec: BenchmarkSpec
    file: Path
    # of each key, from 1: ``("thresholds", "pass@1") -> 12``; ``()`` is the benchmark itself
    lines: Mapping[tuple[str | int, ...], int]
    in_python: bool = False  # a call in a test, whose keys are keyword arguments
    path: tuple[str | int, ...] = ()  # within its file: ``("benchmarks", 2)``

    def but(self, **changes: Any) -> Benchmark:
        """Return the benchmark with other values of some keys."""
        return replace(self, spec=replace(self.spec, **changes))

    def line_of(self, *path: str | int) -> int:
        """Line of the key at `path`, or of the nearest one above it that is written."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def line_about(self, message: str, otherwise: int | None) -> int:
        """Line of the endpoint or secret that a message names, else another, or the benchmark's."""
        named = {line for path, line in self.lines.items() if path and path[-1] in _NAMED_IN_ERRORS}
        found: list[tuple[int, int]] = []
        if named and not self.in_python:
            with suppress(OSError, UnicodeDecodeError):
                texts = self.file.read_text(encoding="utf-8").splitlines()
                found = [
                    (len(value), -line)  # the longest: a URL may begin as another does
                    for line in named
                    for value in _named_value.findall(texts[line - 1])
                    if value in message
                ]
        if found:
            return -max(found)[1]
        return otherwise or self.line_of()
