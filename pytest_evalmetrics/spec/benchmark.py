"""One benchmark, and where it is written."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, Self

import msgspec
from msgspec import structs

from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.model.metric_facts import ScoreFacts
from pytest_evalmetrics.spec import field_types as types
from pytest_evalmetrics.spec import gate_keys, sources
from pytest_evalmetrics.spec.field_types import (
    Checked,
    Name,
    Read,
    expected,
    on_use,
    one_of,
)
from pytest_evalmetrics.spec.metric_names import parse
from pytest_evalmetrics.spec.validation import After, Keys, Limits, doc

if TYPE_CHECKING:
    from pytest_evalmetrics.spec.behaviour_keys import BehaviourSpec
    from pytest_evalmetrics.spec.metric_keys import MetricKeys
    from pytest_evalmetrics.spec.model_keys import (
        AnchorsSpec,
        BudgetSpec,
        LabelsSpec,
        ModelSpec,
        TargetSpec,
    )
else:  # loaded where a file uses them
    AnchorsSpec = BehaviourSpec = BudgetSpec = LabelsSpec = Any
    MetricKeys = ModelSpec = TargetSpec = Any


class ScorerSpec(Protocol):
    """One entry of ``scorers:``."""

    @property
    def type(self) -> str:
        """Its type, as written."""

    @property
    def score_names(self) -> tuple[str, ...]:
        """Names of its scores; empty if unknown before it is made."""

    def facts_of(self, score: str) -> ScoreFacts:
        """Return what it states of one of its scores."""


def rename_hint(spec: ScorerSpec) -> str:
    """Return how a scorer gets other names for its scores."""
    if hasattr(spec, "name"):
        return "give this one a name, such as `name: second`"
    if spec.type == "python":
        return "give this one's another name, such as `scores: [another_name]`"
    if hasattr(spec, "scores"):
        return "give this one's another `name` under scores"
    return "give this one's another name in its class"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class XFail(Keys):
    """The settings of a benchmark that is expected to fail its gates."""

    reason: Annotated[str, doc("the reason")] = ""
    strict: Annotated[
        bool | None,
        doc("whether passing is a failure; default as pytest's xfail_strict says"),
    ] = None


_BOOLEANS_OF_YAML_1_1 = ("yes", "no", "on", "off")


def _is_reason(value: object) -> bool:
    """Whether this is the reason for a mark: ``skip: no`` would skip for the reason "no"."""
    return isinstance(value, str) and value.strip().lower() not in _BOOLEANS_OF_YAML_1_1


def _skip(value: object) -> object:
    if not isinstance(value, bool) and not _is_reason(value):
        raise expected("true, false or the reason")
    return value


def _xfail(value: object) -> object:
    if isinstance(value, bool):
        return {} if value else None
    if _is_reason(value):
        return {"reason": value}
    if value is not None and not isinstance(value, dict):
        raise expected("true, false, the reason, or a mapping with reason and strict")
    return value


_MARKS_OF_PYTEST = (
    "skip",
    "skipif",
    "xfail",
    "parametrize",
    "usefixtures",
    "filterwarnings",
)


def _not_of_pytest(value: str) -> str:
    if value in _MARKS_OF_PYTEST:
        message = f"{value!r} is a marker of pytest's own"
        if value in ("skip", "xfail"):
            message += f": write '{value}:' as a key instead"
        raise types.refuse(message)
    return value


Tag = Annotated[
    Name,
    types.matching(
        r"[A-Za-z_][\w.:+\-\[\]/\\]*",
        "a word that can be a pytest marker: a letter, then letters, digits and _ - . : /",
    ),
    After(_not_of_pytest),
]
Tags = Annotated[tuple[Tag, ...], types.Listed(Tag)]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReferenceSpec(Keys):
    """A pinned system, measured beside each run: its rollouts, or a model that is asked anew."""

    __pydantic_config__ = one_of("rollouts", "model")

    rollouts: Annotated[
        sources.RolloutsField | None, doc("its rollouts of the same tasks")
    ] = None
    model: Annotated[
        ModelSpec | None,
        on_use("model_keys", "ModelSpec"),
        doc("answers the rows of the dataset in the same run"),
    ] = None


_benchmark_name = types.matching(
    r"(?!\s)((?!::)[^\x00-\x1f\x7f])*(?<!\s)",
    "a name without '::', control characters and spaces around it, because it becomes a pytest id",
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class BenchmarkSpec(Keys):
    """One named benchmark; one pytest item."""

    __pydantic_config__ = one_of("rollouts", "dataset")

    name: Annotated[Name, _benchmark_name, doc("becomes the pytest item's name")]
    description: Annotated[str, doc("a description shown in reports")] = ""
    tags: Annotated[Tags, doc("become pytest markers")] = ()
    tier: Annotated[
        types.TierName,
        doc("whether its failures fail the build, or are shown alone"),
    ] = "required"
    skip: Annotated[
        bool | str, Checked(_skip, lambda: bool | str), doc("true, or the reason")
    ] = False
    xfail: Annotated[
        XFail | None,
        Read(_xfail, lambda: bool | str | XFail | None),
        doc("true, the reason, or {reason, strict}"),
    ] = None

    rollouts: Annotated[
        sources.RolloutsSpec | None,
        on_use(
            "sources",
            "RolloutsField",
            plain=lambda paths: sources.RolloutsSpec(path=paths),
        ),
        doc("the recorded rollouts"),
    ] = None
    dataset: Annotated[
        sources.DatasetSpec | None,
        on_use("sources", "DatasetField"),
        doc("rows to score, each one task, in place of recorded rollouts"),
    ] = None
    model: Annotated[
        ModelSpec | None,
        on_use("model_keys", "ModelSpec"),
        doc("answers each row of the dataset, num_samples times"),
    ] = None
    prompt_template: Annotated[
        Any,
        on_use("model_keys", "PromptField"),
        doc("the prompt: a text, a list of messages, {messages: ...}"),
    ] = None
    tools: Annotated[
        Any, on_use("model_keys", "ToolsField"), doc("tools of the model")
    ] = None
    response_format: Annotated[
        Any,
        on_use("model_keys", "ResponseFormatField"),
        doc("the form that the model has to answer in"),
    ] = None
    target: Annotated[
        TargetSpec | None,
        on_use("model_keys", "TargetField"),
        doc("in place of a model: a Python function that answers each row"),
    ] = None
    budget: Annotated[
        BudgetSpec | None,
        on_use("model_keys", "BudgetSpec"),
        doc("limits on the usage of a run"),
    ] = None
    scorers: Annotated[
        tuple[ScorerSpec, ...],
        on_use("scorer_keys", "ScorersField", optional=False),
        doc("the scorers of each row"),
    ] = ()
    params: Annotated[
        sources.ParamsSpec,
        on_use("sources", "ParamsSpec", optional=False),
        doc("the settings of calls"),
    ] = field(default_factory=sources.ParamsSpec)
    reference: Annotated[
        ReferenceSpec | None,
        on_use("benchmark", "ReferenceSpec"),
        doc(
            "a pinned system measured in the same run, for metrics such as mean/over_reference"
        ),
    ] = None
    sample: Annotated[
        sources.SampleSpec | None,
        on_use("sources", "SampleSpec"),
        doc(
            "a subset of the tasks, the same in every run; --evalmetrics-all-tasks takes all"
        ),
    ] = None
    labels: Annotated[
        LabelsSpec | None,
        on_use("model_keys", "LabelsField"),
        doc("people's scores of some rollouts, which correct ppi/mean_reward"),
    ] = None
    anchors: Annotated[
        AnchorsSpec | None,
        on_use("model_keys", "AnchorsField"),
        doc(
            "rows with recorded answers and people's labels, which tell whether the judge or the "
            "system moved"
        ),
    ] = None
    num_samples: Annotated[
        sources.NumSamples | None,
        doc("rollouts of each task; or {min, max, stop: early}"),
    ] = None

    depends: Annotated[
        types.Names,
        doc(
            "files that its answers depend on, as globs: answers are reused while these are "
            "unchanged, and --evalmetrics-affected leaves the benchmark out"
        ),
    ] = ()

    reward: Annotated[Name, doc("the score that the metrics reduce")] = "reward"
    metrics: Annotated[
        tuple[str, ...],
        on_use("metric_keys", "MetricsField", optional=False, plain=tuple),
        doc(
            "names, name/score for another score, package.module:attribute, or "
            "name: {type: ..., ...}"
        ),
    ] = ("mean_reward", "pass_rate")
    key_metrics: Annotated[
        types.Names | None, doc("the headline metrics: these are gated")
    ] = None
    pass_threshold: Annotated[
        float,
        Limits(allow_inf_nan=False),
        doc("the least reward of a rollout that passes"),
    ] = 1.0
    pass_estimator: Annotated[
        Literal["unbiased", "first_k"],
        doc("how pass@k, pass^k and max@k use the samples of a task"),
    ] = "unbiased"  # noqa: S105 - the "pass" of pass@k
    breakdown: Annotated[
        types.Fields, doc("the metrics again for each value of these fields of a row")
    ] = ()
    cluster: Annotated[
        Name | None, doc("a field: tasks with equal values are dependent")
    ] = None
    independent: Annotated[
        bool | None,
        doc(
            "whether the rollouts of a task are independent: false at temperature 0 or of "
            "one seed; default by whether they differ"
        ),
    ] = None

    expect: Annotated[gate_keys.ExpectSpec, doc("the expected tasks and rollouts")] = (
        field(default_factory=gate_keys.ExpectSpec)
    )
    must_pass: Annotated[
        gate_keys.Tasks, doc("tasks whose rollouts must all pass: ids or globs")
    ] = ()
    quarantine: Annotated[
        tuple[gate_keys.QuarantineSpec, ...],
        on_use("gate_keys", "QuarantineField", optional=False),
        doc("tasks that are measured and shown, and not gated"),
    ] = ()
    thresholds: Annotated[
        dict[Name, gate_keys.ThresholdField], doc("metric -> bound")
    ] = types.empty()
    baseline: Annotated[
        gate_keys.BaselineField,
        doc("compare the key metrics with a committed snapshot, or another run"),
    ] = None

    behaviour: Annotated[
        BehaviourSpec | None,
        on_use("behaviour_keys", "BehaviourField"),
        doc(
            "report what rollouts do beside what they score, and gate it: tools, steps, "
            "answers"
        ),
    ] = None

    @property
    def answers(self) -> ModelSpec | TargetSpec | None:
        """The model or target that answers the rows; None if nothing is generated."""
        return self.model or self.target

    @property
    def forgets(self) -> bool:
        """Whether the journal keeps none of its answers: of a target that says no version."""
        if self.target is None or self.depends:
            return False
        return self.target.version is None

    @property
    def runs(self) -> bool:
        """Whether its rows are generated or scored, rather than only read."""
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
        """Whether every rollout needs a reward, even if no metric reads it."""
        broken = None if self.baseline is None else self.baseline.max_broken
        own = any(keys.of_reward for keys in self.defined.values())
        return own or broken is not None or bool(self.must_pass or self.quarantine)

    @cached_property
    def row_columns(self) -> tuple[str, ...]:
        """The columns that its metrics read, other than the reward."""
        names = [
            n for keys in self.defined.values() for n in (*keys.labels, *keys.numbers)
        ]
        for text in self.metrics:
            with suppress(MetricError):  # raised where it is looked up
                score = parse(text).score
                if score is not None:
                    names.append(score)
        return tuple(dict.fromkeys(names))

    @property
    def gated(self) -> tuple[str, ...]:
        """The metrics that a baseline gates: the named key metrics, else the listed ones."""
        # not a ``mean/*`` that is a key metric only by default: where each recorded number can
        # fail the build, chance soon does
        own = self.baseline.metrics if self.baseline is not None else ()
        return tuple(dict.fromkeys((*(self.key_metrics or self.metrics), *own)))

    @property
    def rows(self) -> sources.RolloutsSpec | sources.DatasetSpec:
        """The source of its rows: recorded rollouts, or a data set to be scored."""
        source = self.rollouts or self.dataset
        if source is None:  # no benchmark file with neither is ever accepted
            raise ValueError(
                f"the benchmark {self.name} has neither rollouts nor a dataset"
            )
        return source


def _below(value: object, part: str | int) -> object:
    if isinstance(part, int):
        return value[part] if isinstance(value, tuple) else None
    return getattr(value, part, None)


class Benchmark(msgspec.Struct, frozen=True):
    """A benchmark and where it is written.

    Attributes
    ----------
    spec
        Its keys.
    file
        The benchmark file, or the test's file.
    lines
        The line of each key, from 1: ``("thresholds", "pass@1") -> 12``; that of ``()`` is
        the benchmark's own.
    in_python
        Whether it is a call in a test, with keys as keyword arguments.
    path
        Its path within the file: ``("benchmarks", 2)``.
    """

    spec: BenchmarkSpec
    file: Path
    lines: Mapping[tuple[str | int, ...], int]
    in_python: bool = False
    path: tuple[str | int, ...] = ()

    def but(self, **changes: Any) -> Self:
        """Return the benchmark with other values of some keys."""
        return structs.replace(self, spec=replace(self.spec, **changes))

    def with_spec(self, spec: BenchmarkSpec) -> Self:
        """Return the benchmark with other keys."""
        return structs.replace(self, spec=spec)

    def line_of(self, *path: str | int) -> int:
        """Line of the key at `path`, or of the nearest one above it that is written."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def line_of_endpoint(self, value: str) -> int | None:
        """Line of the first endpoint with a URL, or a secret of this name; None for none."""
        for path, line in self.lines.items():
            if path and path[-1] in ("url", "api_key_secret"):
                written: object = self.spec
                for part in path:
                    written = _below(written, part)
                if written == value:
                    return line
        return None
