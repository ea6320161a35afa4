"""Keys of a benchmark that can't hold together, and gates that can't do their work."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec

from pytest_evalmetrics.config.declarations import (
    direction_when_read,
    has_interval,
    range_of,
    shortage_of,
)
from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.spec import (
    BenchmarkSpec,
    Count,
    GateSpec,
    ParamsSpec,
)
from pytest_evalmetrics.spec.benchmark import rename_hint
from pytest_evalmetrics.spec.metric_names import (
    GENERATED_SCORES,
    OVER_REFERENCE,
    PPI_MEAN,
    MetricName,
    parse,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_evalmetrics.model.metric_facts import Range

# the path within the benchmark, and the message
Contradiction: TypeAlias = tuple[tuple[str | int, ...], str]


def contradictions(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    """Yield the contradictions between keys that are valid on their own."""
    yield from _source_of_rows(spec)
    yield from _shuffling(spec)
    yield from _source_of_answers(spec)
    yield from _keys_of_a_model(spec)
    yield from _confirmation(spec)
    yield from _budget(spec)
    yield from _labels(spec)
    yield from _source_of_rewards(spec)
    yield from _names_of_scores(spec)
    yield from _expected_rollouts(spec)
    yield from _reference(spec)
    yield from _thresholds_without_name(spec)
    yield from _too_few_rollouts(spec)
    yield from _thresholds_out_of_range(spec)
    yield from _bounds_without_interval(spec)
    yield from _rules_without_interval(spec)
    yield from _drops_out_of_range(spec)


# -- where rows, answers and scores come from ----------------------------------------------


def _source_of_rows(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    if spec.rollouts is not None and spec.dataset is not None:
        yield ("dataset",), "rows come from rollouts or from a dataset, not from both"
    elif spec.dataset is not None and not spec.runs:
        message = "a dataset has no rewards yet: say under scorers: what gives them"
        yield ("dataset",), message
    elif spec.rollouts is None and spec.dataset is None:
        yield (), _missing_source(spec)
    if spec.rollouts is None:
        return
    for key, answers in (("model", spec.model), ("target", spec.target)):
        if answers is not None:
            message = f"rows are read from rollouts, or answered by a {key}, not both"
            yield (key,), message


def _missing_source(spec: BenchmarkSpec) -> str:
    if spec.answers is not None:
        return "'dataset' is missing: rows to answer"
    if spec.runs:
        return "'dataset' is missing: rows to score"
    return "'rollouts' is missing"


def _shuffling(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    dataset = spec.dataset
    if dataset is not None and dataset.seed is not None and dataset.chosen_with is None:
        yield ("dataset", "seed"), "a seed is for shuffle: write shuffle: true"


def _source_of_answers(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    if spec.model is not None and spec.target is not None:
        yield ("target",), "rows are answered by a model or by a target, not by both"


def _keys_of_a_model(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    """Yield what only a model can use where there is none, and the prompt that it lacks."""
    if spec.params.ignore_request_failure and spec.answers is None:
        message = (
            "ignore_request_failure is for the requests of a model, and there is none"
        )
        yield ("params", "ignore_request_failure"), message
    if spec.model is not None:
        if spec.prompt_template is None:
            message = (
                "'prompt_template' is missing: what the model is asked, "
                'such as prompt_template: "{{ question }}"'
            )
            yield ("model",), message
        return
    instead = ""
    if spec.target is not None:
        instead = ": a target is given the row itself"
    for key in ("prompt_template", "tools", "response_format"):
        if getattr(spec, key) is not None:
            yield (key,), f"{key} is for a model, and there is none{instead}"


def _confirmation(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    if spec.baseline is not None and spec.baseline.confirm and spec.answers is None:
        message = (
            "confirm draws rollouts again from a model or target, and there is none: "
            "to score recorded answers again would show the noise of the scorer alone"
        )
        yield ("baseline", "confirm"), message


def _budget(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    if spec.budget is None:
        return
    if not spec.runs:
        yield ("budget",), "a budget is for what asks endpoints, and nothing does"
    model = spec.model
    if spec.budget.cost is not None and model is not None and model.price is None:
        message = (
            "what it costs is not known: "
            "say price: {input: ..., output: ...} under model"
        )
        yield ("budget", "cost"), message


def _labels(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    if spec.labels is not None and spec.answers is not None:
        message = "labels are of recorded answers, and these are generated by each run"
        yield ("labels",), message
    for name in spec.thresholds:
        if name == PPI_MEAN and spec.labels is None:
            message = (
                "it needs labels: the column with people's scores of some rollouts"
            )
            yield ("thresholds", name), message
        elif name.startswith("ppi/") and name != PPI_MEAN:
            message = f"labels correct the mean reward alone: {PPI_MEAN}"
            yield ("thresholds", name), message


def _source_of_rewards(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    if not spec.runs and spec.params != ParamsSpec():
        yield ("params",), "params are for scorers, and there are none"
    if spec.answers is None or spec.scorers or spec.reward in GENERATED_SCORES:
        return
    what_answers = "target"
    if spec.model is not None:
        what_answers = "model"
    message = (
        f"nothing gives the answers a {spec.reward}: say under scorers: what does; "
        f"or name one of {', '.join(GENERATED_SCORES)} as the reward"
    )
    yield (what_answers,), message


def _names_of_scores(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    """Yield the scores that two scorers give, or a scorer beside the generation of answers."""
    generated: tuple[str, ...] = ()
    if spec.answers is not None:
        generated = GENERATED_SCORES
    givers: dict[str, int] = {}  # the first scorer that gives a score
    for index, scorer in enumerate(spec.scorers):
        for name in scorer.score_names:
            if name in generated:
                message = f"the score {name!r} is measured when an answer is generated"
                yield ("scorers", index), message
            giver = givers.setdefault(name, index)
            if giver != index:
                message = (
                    f"the score {name!r} is given by scorer {giver + 1} already: "
                    f"{rename_hint(scorer)}"
                )
                yield ("scorers", index), message


def _expected_rollouts(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    expected = spec.expect.rollouts
    samples = spec.num_samples
    if samples is None or not isinstance(expected, Count):
        return
    if not expected.allows(samples):
        message = f"{expected} rollouts of each task contradict num_samples: {samples}"
        yield ("expect", "rollouts"), message


def _reference(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    """Yield what is wrong with a reference that metrics are measured over."""
    reference = spec.reference
    if reference is None:
        return
    names = [*spec.metrics, *(spec.key_metrics or ()), *spec.thresholds, *spec.gated]
    if not any(OVER_REFERENCE in name for name in names):
        message = (
            f"no metric is of it: list one of {OVER_REFERENCE}, "
            f"such as mean_reward/{OVER_REFERENCE}"
        )
        yield ("reference",), message
    has_model = reference.model is not None
    has_rollouts = reference.rollouts is not None
    if has_model == has_rollouts:
        message = "it is measured by its rollouts or by a model: give one of them"
        yield ("reference",), message
    elif has_model and spec.model is None:
        yield ("reference", "model"), "it answers in place of model:, and there is none"
    elif has_model and reference.model == spec.model:
        yield ("reference", "model"), "it is the model under test: nothing would differ"


# -- gates that can't fail, or can't be judged ---------------------------------------------


def _thresholds_without_name(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    for text in spec.thresholds:
        if not text.strip():
            yield ("thresholds", text), "expected the name of a metric before the ':'"


def _parsed(text: str) -> MetricName | None:
    try:
        return parse(text)
    except MetricError:  # reported where it is looked up, or a hook's
        return None


def _too_few_rollouts(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    for path, text in _metrics_with_paths(spec):
        name = _parsed(text)
        if name is None:
            continue
        shortage = shortage_of(spec, name)
        if shortage is None:
            continue
        needed = many(shortage.needed, "rollout")
        message = (
            f"{text} needs {needed} of each task, "
            f"and a task has {shortage.given} ({shortage.setting}): "
            f"choose a k of at most {shortage.given}, "
            f"or num_samples: {shortage.needed}"
        )
        yield path, message


def _metrics_with_paths(
    spec: BenchmarkSpec,
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the names of metrics that a benchmark has, each with its path."""
    for at, text in enumerate(spec.metrics):
        yield ("metrics", at), text
    for at, text in enumerate(spec.key_metrics or ()):
        yield ("key_metrics", at), text
    for text in spec.thresholds:
        yield ("thresholds", text), text
    if spec.baseline is not None:
        for text in spec.baseline.metrics:
            yield ("baseline", "metrics", text), text


def _thresholds_out_of_range(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    for text, threshold in spec.thresholds.items():
        name = _parsed(text)
        if name is None:
            continue
        limits = range_of(spec, name)
        sides = {"min": threshold.min, "max": threshold.max}
        if threshold.value is not None:
            sides = {"value": threshold.value}
        for side, bound in sides.items():
            if bound is None or limits.low <= bound <= limits.high:
                continue
            never = "pass"
            if side != "value" and (bound > limits.high) == (side == "max"):
                never = "fail"
            message = f"{text} is {limits.why}: {side} {bound:.12g} can never {never}"
            meant = _percent_meant(bound, limits, bare=True)
            yield ("thresholds", text, side), message + meant


def _bounds_without_interval(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    for text, threshold in spec.thresholds.items():
        name = _parsed(text)
        if name is None or threshold.bound == "point" or has_interval(spec, name):
            continue
        message = (
            f"{text} has no interval, and so no {threshold.bound} end: drop `bound:`"
        )
        yield ("thresholds", text, "bound"), message


def _rules_without_interval(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    """Refuse ``noninferior`` against a number, for a metric that has no interval."""
    baseline = spec.baseline
    if baseline is None or baseline.against == "snapshot":
        return
    for text in spec.gated:
        name = _parsed(text)
        if name is None or has_interval(spec, name):
            continue
        if baseline.gate_of(text).rule == "noninferior":
            message = f"{text} has no interval, and the rule noninferior can't judge it"
            yield ("baseline", *baseline.path_of(text, "rule")), message


class _ImpossibleDrop(msgspec.Struct, frozen=True):
    """A drop that one metric can never show."""

    metric: str
    drop: float
    limits: Range


def _drops_out_of_range(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    """Refuse each `max_drop` and `require_mde` that is larger than the range of its metric."""
    for path, drops in _impossible_drops(spec).items():
        key = path[-1]
        names = ", ".join(drop.metric for drop in drops)
        first = drops[0]
        message = (
            f"{key} {first.drop:.12g} can never fail: {names} is {first.limits.why}"
        )
        message += _percent_meant(first.drop, first.limits)
        is_of_all = path == ("baseline", key)
        if is_of_all and len(drops) < len(spec.gated):
            message += "; what it is meant for can have it below `baseline: metrics:`"
        yield path, message


def _impossible_drops(
    spec: BenchmarkSpec,
) -> dict[tuple[str, ...], list[_ImpossibleDrop]]:
    """Collect the drops that can't be seen, by where they are written."""
    drops: dict[tuple[str, ...], list[_ImpossibleDrop]] = {}
    baseline = spec.baseline
    if baseline is None:
        return drops
    for text in spec.gated:
        name = _parsed(text)
        if name is None:
            continue
        gate = baseline.gate_of(text)
        limits = range_of(spec, name)
        if gate.max_drop is not None and _loses_everything(spec, text, gate, limits):
            path = ("baseline", *baseline.path_of(text, "max_drop"))
            drop = _ImpossibleDrop(text, gate.max_drop, limits)
            drops.setdefault(path, []).append(drop)
        if gate.require_mde is not None and gate.require_mde >= limits.width:
            path = ("baseline", *baseline.path_of(text, "require_mde"))
            drop = _ImpossibleDrop(text, gate.require_mde, limits)
            drops.setdefault(path, []).append(drop)
    return drops


def _loses_everything(
    spec: BenchmarkSpec, text: str, gate: GateSpec, limits: Range
) -> bool:
    """Say whether the `max_drop` of a metric is all that it has to lose, or more."""
    max_drop = gate.max_drop
    if max_drop is None:
        return False
    rule = gate.rule or "practical"
    if rule == "relative":
        direction = gate.direction or direction_when_read(spec, text)
        return direction == "higher" and limits.low >= 0 and max_drop >= 1
    if rule in ("absolute", "practical", "noninferior"):
        return max_drop >= limits.width
    return False


def _percent_meant(value: float, limits: Range, *, bare: bool = False) -> str:
    """Ask whether a percentage was meant, where a rate is bounded by 1 to 100."""
    is_rate = limits.low >= 0 and limits.high <= 1
    if not is_rate or not 1 <= value <= 100:
        return ""
    share = ""
    if bare:
        share = f"{value / 100:.12g} or "
    return f"; did you mean {share}{value:.12g}%?"
