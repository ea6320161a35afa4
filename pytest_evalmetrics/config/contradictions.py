"""Keys of a benchmark that can't hold together, and gates that can't do their work."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

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
    yield from _rows(spec)
    yield from _answers(spec)
    yield from _budget(spec)
    yield from _labels(spec)
    yield from _scores(spec)
    expected = spec.expect.rollouts
    samples = spec.num_samples
    if (
        samples is not None
        and isinstance(expected, Count)
        and not expected.allows(samples)
    ):
        message = f"{expected} rollouts of each task contradict num_samples: {samples}"
        yield ("expect", "rollouts"), message
    texts = (*spec.metrics, *(spec.key_metrics or ()), *spec.thresholds, *spec.gated)
    if spec.reference is not None and not any(OVER_REFERENCE in name for name in texts):
        message = f"no metric is of it: list one of {OVER_REFERENCE}, such as "
        yield ("reference",), f"{message}mean_reward/{OVER_REFERENCE}"
    pinned = None if spec.reference is None else spec.reference.model
    if spec.reference is not None and (pinned is None) == (
        spec.reference.rollouts is None
    ):
        yield (
            ("reference",),
            "it is measured by its rollouts or by a model: give one of them",
        )
    elif pinned is not None and spec.model is None:
        yield ("reference", "model"), "it answers in place of model:, and there is none"
    elif pinned is not None and pinned == spec.model:
        yield ("reference", "model"), "it is the model under test: nothing would differ"
    for name in spec.thresholds:
        if not name.strip():
            yield ("thresholds", name), "expected the name of a metric before the ':'"
    yield from _too_few_rollouts(spec)
    yield from _thresholds_out_of_range(spec)
    yield from _drops_out_of_range(spec)


# -- where rows, answers and scores come from ----------------------------------------------


def _rows(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    rollouts = spec.rollouts
    dataset = spec.dataset
    model = spec.model
    target = spec.target
    if rollouts is not None and dataset is not None:
        yield ("dataset",), "rows come from rollouts or from a dataset, not from both"
    elif dataset is not None and not spec.runs:
        yield (
            ("dataset",),
            "a dataset has no rewards yet: say under scorers: what gives them",
        )
    elif rollouts is None and dataset is None:
        message = "'rollouts' is missing"
        if spec.answers is not None:
            message = "'dataset' is missing: rows to answer"
        elif spec.runs:
            message = "'dataset' is missing: rows to score"
        yield (), message
    if dataset is not None and dataset.seed is not None and dataset.chosen_with is None:
        yield ("dataset", "seed"), "a seed is for shuffle: write shuffle: true"
    for key, answers in (("model", model), ("target", target)):
        if answers is not None and rollouts is not None:
            yield (
                (key,),
                f"rows are read from rollouts, or answered by a {key}, not both",
            )


def _answers(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    model = spec.model
    target = spec.target
    if model is not None and target is not None:
        yield ("target",), "rows are answered by a model or by a target, not by both"
    if spec.params.ignore_request_failure and spec.answers is None:
        message = (
            "ignore_request_failure is for the requests of a model, and there is none"
        )
        yield ("params", "ignore_request_failure"), message
    if model is not None and spec.prompt_template is None:
        message = "'prompt_template' is missing: what the model is asked, such as "
        yield ("model",), message + 'prompt_template: "{{ question }}"'
    for key in ("prompt_template", "tools", "response_format"):
        if model is None and getattr(spec, key) is not None:
            instead = ""
            if target is not None:
                instead = ": a target is given the row itself"
            yield (key,), f"{key} is for a model, and there is none{instead}"
    if spec.baseline is not None and spec.baseline.confirm and spec.answers is None:
        message = (
            "confirm draws rollouts again from a model or target, and there is none: "
            "to score recorded answers again would show the noise of the scorer alone"
        )
        yield ("baseline", "confirm"), message


def _budget(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    model = spec.model
    if spec.budget is None:
        return
    if not spec.runs:
        yield ("budget",), "a budget is for what asks endpoints, and nothing does"
    if spec.budget.cost is not None and model is not None and model.price is None:
        message = "what it costs is not known: say price: {input: ..., output: ...} under model"
        yield ("budget", "cost"), message


def _labels(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    if spec.labels is not None and spec.answers is not None:
        yield (
            ("labels",),
            "labels are of recorded answers, and these are generated by each run",
        )
    for name in spec.thresholds:
        if name.startswith("ppi/") and name != PPI_MEAN:
            yield (
                ("thresholds", name),
                f"labels correct the mean reward alone: {PPI_MEAN}",
            )
        elif name == PPI_MEAN and spec.labels is None:
            message = (
                "it needs labels: the column with people's scores of some rollouts"
            )
            yield ("thresholds", name), message


def _scores(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    if not spec.runs and spec.params != ParamsSpec():
        yield ("params",), "params are for scorers, and there are none"
    generated = spec.answers is not None
    if generated and not spec.scorers and spec.reward not in GENERATED_SCORES:
        message = f"nothing gives the answers a {spec.reward}: say under scorers: what does; or "
        message += f"name one of {', '.join(GENERATED_SCORES)} as the reward"
        what_answers = "target"
        if spec.model is not None:
            what_answers = "model"
        yield (what_answers,), message
    first: dict[str, int] = {}
    for index, scorer in enumerate(spec.scorers):
        for name in scorer.score_names:
            if generated and name in GENERATED_SCORES:
                message = f"the score {name!r} is measured when an answer is generated"
                yield ("scorers", index), message
            if first.setdefault(name, index) != index:
                message = (
                    f"the score {name!r} is given by scorer {first[name] + 1} already: "
                )
                yield ("scorers", index), message + rename_hint(scorer)


# -- gates that can't fail, or can't be judged ---------------------------------------------


def _parsed(text: str) -> MetricName | None:
    try:
        return parse(text)
    except MetricError:  # reported where it is looked up, or a hook's
        return None


def _too_few_rollouts(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    own = () if spec.baseline is None else spec.baseline.metrics
    places: list[tuple[tuple[str | int, ...], str]] = [
        *((("metrics", at), text) for at, text in enumerate(spec.metrics)),
        *(
            (("key_metrics", at), text)
            for at, text in enumerate(spec.key_metrics or ())
        ),
        *((("thresholds", text), text) for text in spec.thresholds),
        *((("baseline", "metrics", text), text) for text in own),
    ]
    for path, text in places:
        name = _parsed(text)
        shortage = None if name is None else shortage_of(spec, name)
        if shortage is not None:
            needs = f"{text} needs {many(shortage.needed, 'rollout')} of each task"
            has = f"a task has {shortage.given} ({shortage.setting})"
            way = (
                f"choose a k of at most {shortage.given}, "
                f"or num_samples: {shortage.needed}"
            )
            yield path, f"{needs}, and {has}: {way}"


def _thresholds_out_of_range(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    for text, threshold in spec.thresholds.items():
        name = _parsed(text)
        if name is None:
            continue
        limits = range_of(spec, name)
        sides: tuple[str, ...] = ("min", "max")
        if threshold.value is not None:
            sides = ("value",)
        for side in sides:
            bound = getattr(threshold, side)
            if bound is None or limits.low <= bound <= limits.high:
                continue
            fails = side != "value" and (bound > limits.high) == (side == "max")
            can = "fail" if fails else "pass"
            message = f"{text} is {limits.why}: {side} {bound:.12g} can never {can}"
            yield (
                ("thresholds", text, side),
                message + _percent_meant(bound, limits, bare=True),
            )
        if threshold.bound != "point" and not has_interval(spec, name):
            message = f"{text} has no interval, and so no {threshold.bound} end: drop `bound:`"
            yield ("thresholds", text, "bound"), message


def _drops_out_of_range(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    """Refuse each `max_drop` that is larger than the range of its metric."""
    baseline = spec.baseline
    if baseline is None:
        return
    faults: dict[tuple[str, ...], list[tuple[str, float, Range]]] = {}
    for text in spec.gated:
        name = _parsed(text)
        if name is None:
            continue
        gate = baseline.gate_of(text)
        limits = range_of(spec, name)
        for key in ("max_drop", "require_mde"):
            drop = getattr(gate, key)
            if drop is not None and _is_impossible(spec, text, key, gate, limits):
                path = ("baseline", *baseline.path_of(text, key))
                faults.setdefault(path, []).append((text, drop, limits))
        against_number = baseline.against != "snapshot"
        if (
            against_number
            and gate.rule == "noninferior"
            and not has_interval(spec, name)
        ):
            message = f"{text} has no interval, and the rule noninferior can't judge it"
            yield ("baseline", *baseline.path_of(text, "rule")), message
    for path, gates in faults.items():
        names = ", ".join(each for each, _, _ in gates)
        _, drop, limits = gates[0]
        message = f"{path[-1]} {drop:.12g} can never fail: {names} is {limits.why}"
        message += _percent_meant(drop, limits)
        if path == ("baseline", path[-1]) and len(gates) < len(spec.gated):
            message += "; what it is meant for can have it below `baseline: metrics:`"
        yield path, message


def _is_impossible(
    spec: BenchmarkSpec, text: str, key: str, gate: GateSpec, limits: Range
) -> bool:
    drop: float = getattr(gate, key)
    rule = gate.rule or "practical"
    if key == "max_drop" and rule == "relative":  # all of the baseline, or more
        higher = (gate.direction or direction_when_read(spec, text)) == "higher"
        return higher and limits.low >= 0 and drop >= 1
    judged = key == "require_mde" or rule in ("absolute", "practical", "noninferior")
    return judged and drop >= limits.width


def _percent_meant(value: float, limits: Range, *, bare: bool = False) -> str:
    if not (limits.low >= 0 and limits.high <= 1 and 1 <= value <= 100):  # percent
        return ""
    share = f"{value / 100:.12g} or " if bare else ""
    return f"; did you mean {share}{value:.12g}%?"
