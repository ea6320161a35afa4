"""What two keys of a benchmark say that can't both hold, and gates that can't do their work."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeAlias

from pytest_evalmetrics.config.generation import contradictions_of_generation
from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.spec import Count, ParamsSpec
from pytest_evalmetrics.spec.benchmark import rename_hint
from pytest_evalmetrics.spec.metric_facts import (
    direction_of,
    has_no_interval,
    range_of,
    rollouts_needed,
)
from pytest_evalmetrics.spec.metric_names import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_evalmetrics.spec import BenchmarkSpec, GateSpec
    from pytest_evalmetrics.spec.metric_facts import Range
    from pytest_evalmetrics.spec.metric_names import MetricName

__all__ = ["contradictions"]

Contradiction: TypeAlias = tuple[tuple[str | int, ...], str]


def contradictions(spec: BenchmarkSpec, *, named: bool = True) -> Iterator[Contradiction]:
    """Yield the path within the benchmark, and what is wrong there."""
    yield from _one_source(spec)
    yield from contradictions_of_generation(spec)
    yield from _scores(spec)
    yield from _rollouts_of_a_task(spec)
    yield from _blank_thresholds(spec)
    yield from _too_few_rollouts(spec)
    yield from _thresholds_out_of_range(spec)
    yield from _drops_out_of_range(spec)
    if named:
        yield from _unknown_directions(spec)


def _one_source(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    if spec.rollouts is None and spec.dataset is None:
        yield (), _no_rows(spec)
    elif spec.rollouts is not None and spec.dataset is not None:
        yield ("dataset",), "rows come from rollouts or from a dataset, not from both"
    elif spec.dataset is not None and not spec.runs:
        yield ("dataset",), "a dataset has no rewards yet: say under scorers: what gives them"


def _no_rows(spec: BenchmarkSpec) -> str:
    if spec.answers is not None:
        return "'dataset' is missing: rows to answer"
    return "'dataset' is missing: rows to score" if spec.scorers else "'rollouts' is missing"


def _scores(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    if not spec.scorers:
        if spec.params != ParamsSpec() and not spec.runs:
            yield ("params",), "params are for scorers, and there are none"
        return
    first: dict[str, int] = {}
    for index, scorer in enumerate(spec.scorers):
        for name in scorer.score_names:
            if first.setdefault(name, index) != index:
                yield (
                    ("scorers", index),
                    f"the score {name!r} is given by scorer {first[name] + 1} already: "
                    + rename_hint(scorer),
                )


def _rollouts_of_a_task(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    expected = spec.expect.rollouts
    if (
        spec.num_samples is not None
        and isinstance(expected, Count)
        and not expected.allows(spec.num_samples)
    ):
        yield (
            ("expect", "rollouts"),
            f"{expected} rollouts of each task contradict num_samples: {spec.num_samples}",
        )


def _blank_thresholds(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    for name in spec.thresholds:
        if not name.strip():
            yield ("thresholds", name), "expected the name of a metric before the ':'"


# -- gates that can't fail, or can't be judged ---------------------------------------------


def _parsed(text: str) -> MetricName | None:
    try:
        return parse(text)
    except MetricError:  # said where it is looked up, or a hook's
        return None


def _too_few_rollouts(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    own = () if spec.baseline is None else spec.baseline.metrics
    asked: list[tuple[tuple[str | int, ...], str]] = [
        *((("metrics", at), text) for at, text in enumerate(spec.metrics)),
        *((("key_metrics", at), text) for at, text in enumerate(spec.key_metrics or ())),
        *((("thresholds", text), text) for text in spec.thresholds),
        *((("baseline", "metrics", text), text) for text in own),
    ]
    for path, text in asked:
        name = _parsed(text)
        needs = None if name is None else rollouts_needed(spec, name)
        if needs is not None:
            k, there, why = needs
            message = f"{text} needs {many(k, 'rollout')} of each task, and a task has {there} "
            yield path, f"{message}({why}): choose a k of at most {there}, or num_samples: {k}"


def _thresholds_out_of_range(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    for text, threshold in spec.thresholds.items():
        name = _parsed(text)
        if name is None:
            continue
        known = range_of(spec, name)
        for side in ("min", "max"):
            bound = getattr(threshold, side)
            if bound is None or known.low <= bound <= known.high:
                continue
            can = "fail" if (bound > known.high) == (side == "max") else "pass"
            message = f"{text} is {known.why}: {side} {bound:.12g} can never {can}"
            yield ("thresholds", text, side), message + _percent_meant(bound, known, bare=True)
        if threshold.bound != "point" and has_no_interval(name):
            message = f"{text} has no interval, and so no {threshold.bound} end: drop `bound:`"
            yield ("thresholds", text, "bound"), message


def _drops_out_of_range(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    """Refuse a drop that no run can show, once for each key that says one."""
    found: dict[tuple[str, ...], list[tuple[str, float, Range]]] = {}
    for text, asked in _gates_of(spec):
        name = _parsed(text)
        if name is None or spec.baseline is None:
            continue
        known, own = range_of(spec, name), spec.baseline.metrics.get(text)
        for key in ("max_drop", "require_mde"):
            drop = getattr(asked, key)
            if drop is not None and _never(spec, text, key, asked, known):
                here = own is not None and getattr(own, key) is not None
                path = ("baseline", *(("metrics", text) if here else ()), key)
                found.setdefault(path, []).append((text, drop, known))
        against_number = spec.baseline.against != "snapshot"
        if against_number and asked.rule == "noninferior" and has_no_interval(name):
            here = own is not None and own.rule is not None
            path = ("baseline", *(("metrics", text) if here else ()), "rule")
            yield path, f"{text} has no interval, and the rule noninferior can't judge it"
    for path, gates in found.items():
        names, (_, drop, known) = ", ".join(each for each, _, _ in gates), gates[0]
        message = f"{path[-1]} {drop:.12g} can never fail: {names} is {known.why}"
        message += _percent_meant(drop, known)
        if path == ("baseline", path[-1]) and len(gates) < len(spec.gated):
            message += "; what it is meant for can have it below `baseline: metrics:`"
        yield path, message


def _gates_of(spec: BenchmarkSpec) -> Iterator[tuple[str, GateSpec]]:
    """Yield each metric that a baseline gates, and what is asked of it."""
    if spec.baseline is not None:
        for text in spec.gated:
            own = spec.baseline.metrics.get(text)
            yield text, spec.baseline if own is None else own.over(spec.baseline)


def _never(spec: BenchmarkSpec, text: str, key: str, asked: GateSpec, known: Range) -> bool:
    """Whether no run can drop by so much."""
    drop: float = getattr(asked, key)
    rule = asked.rule or "practical"
    if key == "max_drop" and rule == "relative":  # all of the baseline, or more
        higher = (asked.direction or direction_of(spec, text)) == "higher"
        return higher and known.low >= 0 and drop >= 1
    judged = key == "require_mde" or rule in ("absolute", "practical", "noninferior")
    return judged and drop >= known.width


def _percent_meant(value: float, known: Range, *, bare: bool = False) -> str:
    if not (known.low >= 0 and known.high <= 1 and 1 <= value <= 100):  # noqa: PLR2004 - percent
        return ""
    share = f"{value / 100:.12g} or " if bare else ""
    return f"; did you mean {share}{value:.12g}%?"


_BARE = re.compile(r"[\w./@^+-]+")


def _unknown_directions(spec: BenchmarkSpec) -> Iterator[Contradiction]:
    unknown = [
        text
        for text, asked in _gates_of(spec)
        if asked.direction is None and direction_of(spec, text) is None
    ]
    if not unknown or spec.baseline is None:
        return
    keys = (text if _BARE.fullmatch(text) else f'"{text}"' for text in unknown)
    paste = ", ".join(f"{key}: {{direction: higher}}" for key in keys)
    alone = len(unknown) == 1 and unknown[0] in spec.baseline.metrics
    message = f"nothing says which way is better for {', '.join(unknown)}: write `baseline: "
    message += f"{{metrics: {{{paste}}}}}`, or lower where less is better"
    yield ("baseline", "metrics", unknown[0]) if alone else ("baseline",), message
