"""Ids that hold keys, notes of a data set's numbers, and the noise of points of a history."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from msgspec import structs

from pytest_evalmetrics.model.history import HistoryPoint
from pytest_evalmetrics.model.rollout_table import RolloutTable
from pytest_evalmetrics.pipeline import recorded_columns
from pytest_evalmetrics.pipeline.benchmark_rows import Chosen, with_hidden_ids
from pytest_evalmetrics.pipeline.drifting import _noise


def chosen_of(*tasks):
    """Choose a row of each task."""
    count = len(tasks)
    table = RolloutTable(
        agents=("a",),
        agent=np.zeros(count, np.int32),
        tasks=tasks,
        task=np.arange(count),
        sample=np.zeros(count, np.int64),
        scores={},
    )
    return Chosen(
        table=table, rows=np.arange(count), samples=1, notes=(), partial=False
    )


def test_ids_are_searched_for_keys_one_a_line():
    seen = []

    def hide(text):
        seen.append(text)
        return text

    chosen = chosen_of("a", "b")
    assert with_hidden_ids(chosen, hide) is chosen
    assert seen == ["a\nb"]


def point(value, low, high):
    return HistoryPoint(value=value, tasks=9, rollouts=9, low=low, high=high)


@pytest.mark.parametrize(("sign", "noise"), [(1, 5.0), (-1, 13.0)])
def test_two_points_are_as_far_apart_by_noise_as_the_ends_that_face_each_other(
    sign, noise
):
    before = point(10, 7, 15)
    now = point(20, 8, 24)
    # by hand: 3 and 4, or 5 and 12
    assert _noise(before, now, sign) == noise


@pytest.mark.parametrize("end", ["low", "high"])
def test_a_point_without_an_interval_has_no_known_noise(end):
    whole = point(10, 7, 15)
    part = structs.replace(whole, **{end: None})
    assert _noise(part, whole, 1) is None
    assert _noise(whole, part, 1) is None


# -- a data set ------------------------------------------------------------------------------


def test_of_the_numbers_of_a_data_set_those_that_metrics_name_are_read_with_their_notes(
    monkeypatch,
):
    whole = structs.replace(
        chosen_of("a", "b").table,
        scores={"level": np.array([1.0, 2.0]), "length": np.array([3.0, 4.0])},
        notes=("of level", "of length", "of the file"),
        score_notes={"level": ("of level",), "length": ("of length",)},
    )
    asked = []

    def load_dataset(files, base, **keywords):
        asked.append((files, base, keywords["scores"]))
        return whole

    monkeypatch.setattr(recorded_columns.rollouts, "load_dataset", load_dataset)
    benchmark = SimpleNamespace(
        spec=SimpleNamespace(dataset="data.jsonl", rows="rows"),
        file=Path("/evals/a.bench.yaml"),
    )
    plan = SimpleNamespace(scores=["level", "judged"], categories=[])
    table = recorded_columns.rollouts_of(benchmark, plan, given=["judged"])
    assert asked == [("rows", Path("/evals"), ["level"])]
    assert list(table.scores) == ["level"]
    assert table.notes == ("of level",)
