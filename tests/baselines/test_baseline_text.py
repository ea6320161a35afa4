"""The text of a baseline's file: what it holds, and what is said of one that is damaged."""

import numpy as np
import pytest
from msgspec import structs

from pytest_evalmetrics.baselines.document import (
    agent_document,
    as_written,
    baseline_document,
    parse,
    render,
    text_of,
)
from pytest_evalmetrics.baselines.run_tables import tables
from pytest_evalmetrics.errors import BaselineError
from pytest_evalmetrics.model.baseline import (
    AgentDocument,
    BaselineDocument,
    BehaviourDocument,
    MetricDocument,
    Provenance,
)
from pytest_evalmetrics.model.estimates import Estimate, Interval
from pytest_evalmetrics.model.results import AgentResult
from pytest_evalmetrics.model.rollout_table import MISSING, Category, RolloutTable

AGENT = AgentDocument(
    key_metrics={
        "mean_reward": MetricDocument(value=0.5, tasks=2, interval=(0.1, 0.9))
    },
    tasks={"t0": {"reward": (1.0, 0.0)}, "t1": {"reward": (None, 0.5)}},
)


def kept(agents=None, **provenance):
    if agents is None:
        agents = {"a": AGENT}
    return baseline_document("sums", agents, Provenance(**provenance))


# -- what is written -------------------------------------------------------------------------


def test_a_metric_and_a_task_are_a_line_each():
    assert (
        render(kept(recorded="now"))
        == """\
{
  "schema_version": 1,
  "benchmark": "sums",
  "agents": {
    "a": {
      "key_metrics": {
        "mean_reward": {"value": 0.5, "tasks": 2, "interval": [0.1, 0.9]}
      },
      "tasks": {
        "t0": {"reward": [1.0, 0.0]},
        "t1": {"reward": [null, 0.5]}
      }
    }
  },
  "provenance": {
    "recorded": "now"
  }
}
"""
    )


def did(tasks, earlier=()):
    return BehaviourDocument(
        summary={"refusal": 0.5},
        shapes={},
        columns=("refusal",),
        tasks=tasks,
        earlier=earlier,
    )


def test_what_earlier_runs_did_is_written_two_columns_further_in():
    behaviour = did({"t0": ((1,),)}, earlier=(did({"t0": ((0,),)}),))
    agent = structs.replace(AGENT, behaviour=behaviour)
    assert """\
      "behaviour": {
        "summary": {
          "refusal": 0.5
        },
        "shapes": {},
        "columns": ["refusal"],
        "tasks": {
          "t0": [[1]]
        },
        "earlier": [{
          "summary": {
            "refusal": 0.5
          },
          "shapes": {},
          "columns": ["refusal"],
          "tasks": {
            "t0": [[0]]
          }
        }]
      }
""" in render(kept({"a": agent}))


def test_agents_are_written_by_name():
    agents = list(kept({"b": AGENT, "a": AGENT}).agents)
    assert agents == ["a", "b"]


TABLE = RolloutTable(
    agents=("a",),
    agent=np.zeros(3, dtype=np.int32),
    tasks=("t0", "t1"),
    task=np.array([0, 0, 1]),
    sample=np.array([0, 1, 0]),
    scores={"reward": np.array([1.0, 0.25, np.nan])},
    categories={"level": Category(np.array([0, 0, 1], np.int32), ("easy", "hard"))},
)


def estimate(name, value, score="reward", interval=None):
    return Estimate(name, value, 2, 3, interval, score=score)


def described(estimates, key_metrics, columns=("reward",), gated=()):
    by_name = {entry.name: entry for entry in estimates}
    result = AgentResult("a", 2, 3, 0, by_name, key_metrics, {})
    return agent_document(result, TABLE, columns, gated=gated)


def test_gated_metrics_come_first_and_the_others_by_name():
    metrics = [estimate("zeta", 0.3), estimate("pass@1", 0.5)]
    key_metrics = {"zeta": 0.3, "alpha": 0.1, "pass@1": 0.5}
    document = described(metrics, key_metrics, gated=["zeta"])
    assert list(document.key_metrics) == ["zeta", "alpha", "pass@1"]


def test_a_metric_keeps_its_counts_and_its_interval_in_six_digits():
    interval = Interval(0.123456789, 2.0, 0.95, "t")
    document = described([estimate("zeta", 0.3, interval=interval)], {"zeta": 0.3})
    assert document.key_metrics["zeta"] == MetricDocument(
        value=0.3, tasks=2, rollouts=3, interval=(0.123457, 2)
    )


def test_a_metric_that_a_hook_computed_keeps_its_value_alone():
    document = described([], {"hooked": 4.0})
    assert document.key_metrics["hooked"] == MetricDocument(value=4)


def test_an_undefined_metric_has_no_number():
    assert described([], {"hooked": float("nan")}).key_metrics["hooked"].value is None


def test_each_task_keeps_the_cells_of_its_rollouts():
    document = described([], {}, columns=("reward", "level"))
    assert document.tasks == {
        "t0": {"reward": (1, 0.25), "level": ("easy", "easy")},
        "t1": {"reward": (None,), "level": ("hard",)},
    }


def test_tasks_with_names_say_nothing_of_their_ids():
    assert described([], {}).ids is None


@pytest.mark.parametrize(
    ("cell", "written"), [(1.0, 1), (0.5, 0.5), ("yes", "yes"), (None, None)]
)
def test_a_cell_that_was_read_is_written_as_a_run_writes_it(cell, written):
    assert as_written(cell) == written
    assert type(as_written(cell)) is type(written)


# -- what is read ----------------------------------------------------------------------------


def refusal_of(text):
    with pytest.raises(BaselineError) as refused:
        parse(text, file="sums.json")
    return refused.value


def test_the_line_of_a_merge_conflict_is_named():
    error = refusal_of('{\n  "a": 1,\n<<<<<<< HEAD\n=======\n>>>>>>> main\n}\n')
    assert error.line == 3
    assert error.message == "this baseline holds the marks of a merge conflict"
    assert error.hint == (
        "take one side of it from version control, or record a new one with `pytest "
        "--evalmetrics-update`"
    )


def test_a_merge_conflict_behind_an_empty_line_is_in_the_second():
    assert refusal_of("\n<<<<<<< HEAD\n").line == 2


def test_the_line_of_what_is_not_json_is_named():
    error = refusal_of('{\n  "a": oops\n}\n')
    assert error.line == 2
    assert error.message.startswith("this baseline is not JSON: ")


def test_json_that_is_nested_too_deeply_is_refused():
    error = refusal_of("[" * 100_000)
    assert error.message.startswith("this baseline is not JSON: ")
    assert error.hint.startswith("take it from version control again, or record a new")


def test_a_later_version_of_the_schema_is_named():
    error = refusal_of('{"schema_version": 99}')
    assert error.message == ("this baseline has the schema version 99, and 1 is known")
    assert error.hint.endswith("or use the version of pytest-evalmetrics that wrote it")


@pytest.mark.parametrize("text", ["[]", '{"schema_version": 1}', '{"a": 1}'])
def test_other_json_is_no_baseline(text):
    assert refusal_of(text).message.startswith("this is not a baseline: ")


def test_the_baseline_of_another_benchmark_is_refused_with_both_names():
    with pytest.raises(BaselineError) as refused:
        parse(render(kept()), file="sums.json", benchmark="words")
    assert refused.value.message == (
        "this is the baseline of 'sums', expected that of 'words'"
    )
    assert "rename it in this file too" in refused.value.hint


def test_a_file_that_is_not_there_has_no_text(tmp_path):
    assert text_of(tmp_path / "sums.json", "sums.json") is None


def test_a_file_that_is_not_utf_8_is_refused_with_the_place(tmp_path):
    (tmp_path / "sums.json").write_bytes(b'{"a": "\xff"}')
    with pytest.raises(BaselineError) as refused:
        text_of(tmp_path / "sums.json", "sums.json")
    assert refused.value.message == (
        "this baseline is not UTF-8: invalid start byte at byte 7"
    )


def test_a_folder_in_its_place_is_refused(tmp_path):
    with pytest.raises(BaselineError) as refused:
        text_of(tmp_path, "sums.json")
    assert refused.value.message == "this baseline can't be read: Is a directory"


# -- its tables ------------------------------------------------------------------------------


def tables_of(**fields):
    agent = AgentDocument(key_metrics={}, **fields)
    baseline = BaselineDocument(
        benchmark="sums", agents={"a": agent}, provenance=Provenance()
    )
    return tables(baseline, file="sums.json")["a"]


def test_the_rollouts_of_a_task_are_numbered():
    tasks = {"t0": {"reward": (1.0, 0.0)}, "t1": {"reward": (0.5, None, 0.25)}}
    (table,) = tables_of(tasks=tasks)
    assert table.task.tolist() == [0, 0, 1, 1, 1]
    assert table.sample.tolist() == [0, 1, 0, 1, 2]
    np.testing.assert_array_equal(table.scores["reward"], [1, 0, 0.5, np.nan, 0.25])


def test_a_column_with_a_label_is_one_of_labels():
    (table,) = tables_of(tasks={"t0": {"level": ("easy", None, "hard", "easy")}})
    category = table.categories["level"]
    labels = [category.labels[code] for code in category.codes]
    assert labels == ["easy", MISSING, "hard", "easy"]
    assert table.scores == {}


def test_a_column_of_labels_and_numbers_is_refused():
    with pytest.raises(BaselineError) as refused:
        tables_of(tasks={"t0": {"level": ("easy", 1.0)}})
    assert refused.value.message == "'level' of a holds labels and numbers"


@pytest.mark.parametrize(
    ("ids", "positional"), [("positions", True), ("names", False), (None, False)]
)
def test_tasks_are_positions_where_the_file_says_so(ids, positional):
    (table,) = tables_of(tasks={"0": {"reward": (1.0,)}}, ids=ids)
    assert table.positional is positional


def test_every_rollout_has_the_hash_of_its_tasks_content():
    tasks = {"t0": {"reward": (1.0, 0.0)}, "t1": {"reward": (1.0,)}}
    (table,) = tables_of(tasks=tasks, content={"t0": "abc"})
    assert table.content.tolist() == [b"abc", b"abc", b""]


def test_a_baseline_without_hashes_has_tables_without_content():
    (table,) = tables_of(tasks={"t0": {"reward": (1.0,)}})
    assert table.content is None


def test_a_baseline_without_a_task_has_an_empty_table():
    (table,) = tables_of(tasks={})
    assert table.tasks == ()
    assert len(table.task) == 0
