"""Real rollouts of NeMo Gym, read as they are."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from rollouts.reference import plain, read

from pytest_evalmetrics.ext import FieldMap
from pytest_evalmetrics.rollouts import load
from pytest_evalmetrics.spec import RolloutsSpec

GYM = Path(__file__).parents[3] / "shared" / "acceptance" / "gym"
FILES = sorted(GYM.glob("*/*rollouts.jsonl"))

pytestmark = pytest.mark.skipif(not FILES, reason="the acceptance inputs are not at hand")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_rows_tasks_and_sums(path):
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    table = load(RolloutsSpec(path=(path.name,)), path.parent, scores=["reward"])
    assert len(table) == table.sources[0].rows == len(rows)
    assert set(table.tasks) == {row["_ng_task_index"] for row in rows}
    assert table.scores["reward"].sum() == sum(row["reward"] for row in rows)
    tokens = [row["response"]["usage"]["output_tokens"] for row in rows]
    assert table.scores["output_tokens"].sum() == sum(tokens)
    assert plain(table) == read(rows, FieldMap(), [])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_the_means_are_those_that_gym_computed(path):
    computed = path.with_name(path.name.replace(".jsonl", "_aggregate_metrics.json"))
    if not computed.exists():
        pytest.skip("these rollouts came without Gym's metrics")
    table = load(RolloutsSpec(path=(path.name,)), path.parent, scores=["reward"])
    compared = 0
    for entry in json.loads(computed.read_text(encoding="utf-8")):
        for key, value in entry["agent_metrics"].items():
            kind, _, name = key.partition("/")
            if kind == "mean" and name in table.scores:
                assert math.isclose(np.nanmean(table.scores[name]), value), key
                compared += 1
    assert compared >= 4
