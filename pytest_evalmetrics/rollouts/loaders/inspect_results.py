"""Means that a log of inspect_ai states, compared with those of its samples or in place of them."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from itertools import chain
from statistics import fmean, median
from typing import TYPE_CHECKING, Final

import msgspec

from pytest_evalmetrics.model.rollout_notes import OtherReducers
from pytest_evalmetrics.rollouts import json_values
from pytest_evalmetrics.rollouts.tool_loader import ChunkBuilder, Rollout, aggregate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pytest_evalmetrics.json_types import JsonMapping, JsonObject, JsonValue
    from pytest_evalmetrics.rollouts.source import Source

# reducers whose number is the mean of all epochs
_MEANS: Final = (None, "mean")
_counting = re.compile(r"(?P<kind>pass_at|at_least)_(?P<k>[1-9]\d*)").fullmatch


# -- logs without samples ----------------------------------------------------------------------


def rollout_of_means(
    spec: JsonMapping, results: JsonMapping, source: Source
) -> Rollout | None:
    """Take the means of a log without samples as one rollout; None if it states none."""
    scores: JsonObject = {}
    names: list[str] = []
    for score in json_values.objects(results.get("scores")):
        metrics = json_values.mapping(score.get("metrics"))
        mean = json_values.first(metrics, "accuracy.value", "mean.value")
        if mean is None:
            continue
        name = _column(score)
        if score.get("reducer") not in _MEANS:
            name = f"{name},{score['reducer']}"
        names.append(name)
        coverage = _coverage(score, spec, results)
        scores |= aggregate(
            name,
            mean,
            error=json_values.lookup(metrics, "stderr.value"),
            samples=coverage.scored,
            documents=coverage.total,
        )
    if not names:
        return None
    return Rollout(
        record={"task": spec.get("task")},
        name=source.shown,
        task=str(spec.get("task")),
        sample=0,
        agent=spec.get("model"),
        scores=scores,
        rewards=names,
    )


class Coverage(msgspec.Struct, frozen=True):
    """How many samples a stated mean is over, and how many the data set has."""

    scored: float | None
    total: float | None


def _coverage(
    score: JsonMapping,
    spec: JsonMapping,
    results: JsonMapping,
) -> Coverage:
    """Read how many samples a mean is over."""
    planned = json_values.number(results.get("total_samples"))
    scored = json_values.number(score.get("scored_samples"))
    if scored is None:
        completed = json_values.number(results.get("completed_samples"))
        return Coverage(scored=completed, total=planned)
    epochs = json_values.number(json_values.lookup(spec, "config.epochs"))
    if planned is None or not epochs or epochs < 1:
        return Coverage(scored=scored, total=planned)
    # a mean over reduced epochs counts a sample once, and the plan counts each of its epochs
    unscored = json_values.number(score.get("unscored_samples")) or 0
    samples = planned / epochs
    if scored + unscored <= samples:
        planned = samples
    return Coverage(scored=scored, total=planned)


def _column(score: JsonMapping) -> str:
    """Name a score of the results as the scores of samples are named."""
    name = str(score.get("name"))
    scorer = score.get("scorer")
    if scorer is None or scorer == name:
        return name
    return f"{scorer}.{name}"


# -- the means of samples ----------------------------------------------------------------------


def compare_means(
    rollouts: Sequence[Rollout],
    results: JsonMapping,
    builder: ChunkBuilder,
) -> None:
    """Compare the means and accuracies of a log with those of its samples' scores."""
    values = _values_of_tasks(rollouts)
    reducers: dict[str, set[JsonValue]] = defaultdict(set)
    for score in _stated_scores(results):
        column = _column(score)
        tasks = list(values[column].values())
        if any(len(epochs) > 1 for epochs in tasks):
            reducers[column].add(score.get("reducer") or "mean")
        ours = _means(score.get("reducer"), tasks)
        for metric, stated in json_values.mapping(score.get("metrics")).items():
            if metric.rpartition("/")[2] in ("accuracy", "mean"):
                claim = f"{metric} of {column} in the log"
                builder.compare(claim, json_values.lookup(stated, "value"), *ours)
    builder.notes += _other_reducers(reducers)


def _values_of_tasks(
    rollouts: Sequence[Rollout],
) -> defaultdict[str, defaultdict[JsonValue, list[float]]]:
    """List the finite scores of each task's epochs, by score and task."""
    values: defaultdict[str, defaultdict[JsonValue, list[float]]]
    values = defaultdict(lambda: defaultdict(list))
    for rollout in rollouts:
        for column, value in rollout.scores.items():
            amount = json_values.number(value)
            if amount is not None and math.isfinite(amount):
                values[column][rollout.task].append(amount)
    return values


def _stated_scores(results: JsonMapping) -> list[JsonObject]:
    """List the scores of the results; early versions have one."""
    if results.get("scores") is None and isinstance(results.get("scorer"), dict):
        only = json_values.mapping(results["scorer"])
        return [{**only, "metrics": results.get("metrics")}]
    return json_values.objects(results.get("scores"))


def _means(reducer: JsonValue, tasks: list[list[float]]) -> list[float]:
    """Compute the means that a log may state of reduced epochs."""
    reduced = _reduced(reducer, tasks)
    if not reduced:
        return []
    means = [fmean(reduced)]
    if reducer is None:  # it may be that of the samples as they are
        means.append(fmean(chain(*tasks)))
    return means


def _reduced(reducer: JsonValue, tasks: list[list[float]]) -> list[float]:
    """Reduce each task's epochs as inspect does; an unknown reducer gives nothing."""
    simple: dict[JsonValue, Callable[[list[float]], float]]
    simple = {None: fmean, "mean": fmean, "median": median, "max": max}
    if reducer in simple:
        return list(map(simple[reducer], tasks))
    counted = _counting(str(reducer))
    if counted is None:
        return []
    k = int(counted["k"])
    passes = [(len(values), sum(value >= 1 for value in values)) for values in tasks]
    if counted["kind"] == "at_least":
        return [float(passed >= k) for _, passed in passes]
    # inspect leaves out tasks with fewer
    return [_pass_at(k, epochs, passed) for epochs, passed in passes if epochs >= k]


def _pass_at(k: int, epochs: int, passed: int) -> float:
    """Estimate how likely one of k epochs passes, without bias."""
    return 1 - math.comb(epochs - passed, k) / math.comb(epochs, k)


def _other_reducers(
    reducers: Mapping[str, set[JsonValue]],
) -> Iterator[OtherReducers]:
    """Note the scores whose epochs the log does not reduce by the mean."""
    for column, names in reducers.items():
        if "mean" not in names:
            yield OtherReducers(column, tuple(sorted(map(str, names))))
