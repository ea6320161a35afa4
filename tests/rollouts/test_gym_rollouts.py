"""Real rollouts of NeMo Gym, read as they are."""

import json
from pathlib import Path

import pytest
from rollouts.conftest import Folder
from rollouts.reference import plain, read

from pytest_evalmetrics.ext import FieldMap

GYM = Path(__file__).parents[3] / "shared" / "acceptance" / "gym"
FILES = sorted(GYM.glob("*/*rollouts.jsonl"))

pytestmark = pytest.mark.skipif(not FILES, reason="the acceptance inputs are not at hand")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name)
def test_rows_tasks_and_sums(path):
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    table = Folder(path.parent).load(path.name, scores=["reward"])
    assert len(table) == table.sources[0].rows == len(rows)
    assert set(table.tasks) == {row["_ng_task_index"] for row in rows}
    assert table.scores["reward"].sum() == sum(row["reward"] for row in rows)
    tokens = [row["response"]["usage"]["output_tokens"] for row in rows]
    assert table.scores["output_tokens"].sum() == sum(tokens)
    assert plain(table) == read(rows, FieldMap(), [])
