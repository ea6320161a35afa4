"""What a format may tell of its rows beyond their numbers."""

from pathlib import Path

import numpy as np
import pytest

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.ext import Chunk, Failure, FieldMap, NotFinite, Request, Source
from pytest_evalmetrics.rollouts.table import TableBuilder

SOURCE = Source(Path("a"), "a", 1, b"{")


def chunk(tasks, scores=None, **more):
    return Chunk(
        places=np.arange(1, len(tasks) + 1),
        task=tasks,
        sample=[None] * len(tasks),
        agent=[None] * len(tasks),
        scores={name: np.array(column, np.float64) for name, column in (scores or {}).items()},
        **more,
    )


def build(*chunks, scores=("reward",), **fields):
    table = TableBuilder(Request(FieldMap(**fields), scores))
    for each in chunks:
        table.add(SOURCE, each)
    return table.build()


def test_names_stand_in_messages():
    bad = [NotFinite("reward", "NaN", 2)]
    rows = chunk(["x", "y"], {"reward": [1, np.nan]}, names=["x.json", "y.json"], not_finite=bad)
    assert build(rows).notes == ("reward: 1 value is NaN and counts as missing (y.json)",)
    twice = Chunk(
        places=np.array([1, 2]),
        task=["x", "x"],
        sample=[0, 0],
        agent=[None, None],
        scores={},
        names=["one.json", "two.json"],
    )
    with pytest.raises(DataError) as caught:
        build(twice, scores=())
    assert caught.value.file == "two.json"
    assert "the same attempt as one.json" in caught.value.message


def test_the_only_score_of_a_format_is_the_reward():
    table = build(chunk(["x"], {"acc": [1.0], "n": [3.0]}, rewards=["acc"]))
    assert table.scores["reward"].tolist() == [1]
    assert table.integers == {"acc", "n", "reward"}
    half = build(chunk(["x"], {"acc": [0.5]}, rewards=["acc"], fractional=frozenset({"acc"})))
    assert half.integers == frozenset()
    with pytest.raises(DataError, match="several scores could be the reward: acc, f1"):
        build(
            chunk(["x"], {"acc": [1.0]}, rewards=["acc"]),
            chunk(["y"], {"f1": [1.0]}, rewards=["f1"]),
        )
    assert "reward" not in build(chunk(["x"], {"acc": [1.0]}, rewards=["acc"]), scores=()).scores


def test_where_all_failed_every_score_is_missing():
    failed = [Failure(0, "Error")]
    table = build(chunk(["x"], failures=failed, rewards=[]), scores=("reward", "acc"))
    assert np.isnan([table.scores["reward"], table.scores["acc"]]).all()
    with pytest.raises(DataError, match="'acc' is in no row"):
        build(chunk(["x"], {"reward": [1.0]}, failures=failed, rewards=[]), scores=("acc",))
