"""Instances of HELM: ``per_instance_stats.json``."""

from __future__ import annotations

import math
from collections import defaultdict
from statistics import fmean
from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.model.rollout_notes import OtherInstancesLeftOut
from pytest_evalmetrics.rollouts import json_values
from pytest_evalmetrics.rollouts.documents import rows_of
from pytest_evalmetrics.rollouts.source import RolloutFile, open_source
from pytest_evalmetrics.rollouts.tool_loader import ChunkBuilder, Rollout, ToolLoader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_evalmetrics.json_types import JsonMapping, JsonObject
    from pytest_evalmetrics.rollouts.source import Source

_SPLIT: Final = "test"
_STATS: Final = "stats.json"
_INSTANCES: Final = "per_instance_stats.json"


class Helm(ToolLoader):
    """Reads the statistics of instances: an instance of the test split is a task.

    Perturbed instances and those of other splits are left out, as HELM's own headline leaves them
    out. A trial of the training examples is a sample.
    """

    def rollouts(self, source: Source, builder: ChunkBuilder) -> Iterator[Rollout]:
        """Yield the rollouts of one file."""
        values: dict[str, list[float]] = defaultdict(list)
        left_out = 0
        for place, instance in rows_of(source):
            if "stats" not in instance:
                message = (
                    "these are HELM's statistics over all instances, without rollouts"
                )
                raise source.error(message, hint=f"read {_INSTANCES} beside it")
            scores = _scores(instance)
            is_other = bool(instance.get("stats")) and not scores
            if is_other or instance.get("perturbation") is not None:
                left_out += 1
                continue
            for name, value in scores.items():
                values[name].append(value)
            yield Rollout(
                record=instance,
                name=source.at(place),
                task=instance.get("instance_id"),
                sample=instance.get("train_trial_index"),
                scores=scores,
            )
        if left_out:
            builder.notes.append(OtherInstancesLeftOut(source.shown, left_out))
        for name, stated in _stated(source).items():
            if name in values:
                builder.compare(f"{name} in {_STATS}", stated, fmean(values[name]))


def _scores(instance: JsonMapping) -> dict[str, float]:
    """Read the means of an instance's statistics on the test split."""
    scores = {}
    for stat in json_values.objects(instance.get("stats")):
        mean = json_values.number(stat.get("mean"))
        if _is_of_test(stat) and mean is not None and math.isfinite(mean):
            scores[str(json_values.lookup(stat, "name.name"))] = mean
    return scores


def _is_of_test(stat: JsonMapping) -> bool:
    name = json_values.mapping(stat.get("name"))
    return name.get("split") == _SPLIT and name.get("perturbation") is None


def _stated(source: Source) -> JsonObject:
    """Read the means that HELM states of the test split, in the file beside the instances'."""
    path = source.path.with_name(source.path.name.replace("per_instance_", ""))
    if path == source.path or not path.is_file():
        return {}
    stats = open_source(RolloutFile(path, source.shown.replace("per_instance_", "")))
    return {
        str(json_values.lookup(stat, "name.name")): stat.get("mean")
        for _, stat in rows_of(stats)
        if _is_of_test(stat)
    }
