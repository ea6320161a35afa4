"""Load: files to the table that is evaluated."""

import json

import numpy as np
import pytest
from stages.making import benchmark, load, read, write_rows

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.reports.sentences.notes import note_texts


def test_a_reward_is_a_number_of_the_table_at_its_task(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1, 0], [1, 1]])
    rows = read(benchmark(tmp_path))
    assert rows.table.tasks == ("t0", "t1")
    assert rows.table.scores["reward"].tolist() == [1, 0, 1, 1]
    assert rows.table.task.tolist() == [0, 0, 1, 1]


def test_a_missing_reward_is_nan(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1, None]])
    rows = read(benchmark(tmp_path))
    assert np.isnan(rows.table.scores["reward"]).tolist() == [False, True]


def test_recorded_rollouts_have_no_scores_of_scorers(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1]])
    rows = read(benchmark(tmp_path))
    assert rows.scored is None
    assert rows.checks == ()


def test_a_missing_file_is_an_error_at_the_line_that_names_it(tmp_path):
    with pytest.raises(DataError) as caught:
        read(benchmark(tmp_path))
    assert caught.value.line == 3


def test_an_error_of_a_file_keeps_the_files_own_line(tmp_path):
    (tmp_path / "new.jsonl").write_text('{"task": "t0", "sample": 0, "reward": 1}\n{\n')
    with pytest.raises(DataError) as caught:
        read(benchmark(tmp_path))
    assert caught.value.file.endswith("new.jsonl:2") or caught.value.line == 2


def test_a_sample_draws_tasks_and_keeps_all_of_them_as_its_frame(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1]] * 10)
    _, loaded = load(benchmark(tmp_path, "sample: {tasks: 4, seed: 1}"))
    assert len(loaded.table.tasks) == 4
    assert len(loaded.frame.tasks) == 10


def test_a_sample_expects_as_many_tasks_as_it_draws(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1]] * 10)
    asked = benchmark(tmp_path, "expect: {tasks: 10}\nsample: {tasks: 4, seed: 1}")
    _, loaded = load(asked)
    assert loaded.benchmark.spec.expect.tasks.min == 4
    assert loaded.benchmark.spec.expect.tasks.max == 4


def test_a_sample_of_an_incomplete_run_is_an_error_at_the_line_of_expect(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1]] * 9)
    asked = benchmark(tmp_path, "expect: {tasks: 10}\nsample: {tasks: 4, seed: 1}")
    with pytest.raises(DataError) as caught:
        load(asked)
    assert "9 tasks to sample from, expected 10" in caught.value.message
    assert caught.value.line == 4


def test_a_sample_larger_than_the_run_draws_all_tasks(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1]] * 3)
    _, loaded = load(benchmark(tmp_path, "sample: {tasks: 4, seed: 1}"))
    assert loaded.benchmark.spec.expect.tasks.min == 3


def lm_eval_aggregates(folder):
    """Write a results file of lm-eval, which holds a mean and its standard error."""
    results = {
        "results": {"toy": {"alias": "toy", "acc,none": 0.5, "acc_stderr,none": 0.1}},
        "group_subtasks": {"toy": []},
        "configs": {"toy": {"task": "toy"}},
        "versions": {"toy": 1},
        "n-shot": {"toy": 0},
        "higher_is_better": {"toy": {"acc": True}},
        "n-samples": {"toy": {"original": 25, "effective": 25}},
        "config": {"model": "m"},
    }
    (folder / "results_2026-01-01T00-00-00.json").write_text(json.dumps(results))


def aggregate_benchmark(folder, keys):
    text = f"""benchmark:
  name: math
  rollouts: {{path: results_*.json, format: lm_eval}}
  reward: acc
  {keys}
"""
    (folder / "math.bench.yaml").write_text(text)
    from pytest_evalmetrics.config import load_benchmarks

    (asked,) = load_benchmarks(folder / "math.bench.yaml", shown="math.bench.yaml")
    return asked


def test_metrics_of_rollouts_are_left_out_of_aggregates_and_named(tmp_path):
    lm_eval_aggregates(tmp_path)
    asked = aggregate_benchmark(tmp_path, "metrics: [mean_reward, pass@1]")
    _, loaded = load(asked)
    assert loaded.benchmark.spec.metrics == ("mean_reward",)
    assert note_texts(loaded.notes) == (
        "left out, because there are no rollouts: pass@1",
    )


def test_a_threshold_on_rollouts_of_aggregates_is_an_error_at_its_line(tmp_path):
    lm_eval_aggregates(tmp_path)
    keys = "metrics: [mean_reward, pass@1]\n  thresholds: {pass@1: '>= 0.2'}"
    with pytest.raises(DataError) as caught:
        load(aggregate_benchmark(tmp_path, keys))
    assert "pass@1 is of rollouts" in caught.value.message
    assert caught.value.line == 6


def test_the_way_out_of_a_gated_metric_of_rollouts_is_said(tmp_path):
    lm_eval_aggregates(tmp_path)
    keys = "metrics: [pass@1]\n  key_metrics: [pass@1]"
    with pytest.raises(DataError) as caught:
        load(aggregate_benchmark(tmp_path, keys))
    assert caught.value.line == 5
    assert caught.value.hint == (
        "gate mean_reward, or keep samples (--log_samples) and name their files"
    )


def test_the_mean_of_a_named_score_of_aggregates_is_kept(tmp_path):
    lm_eval_aggregates(tmp_path)
    asked = aggregate_benchmark(tmp_path, "metrics: [mean/acc, pass@1, pass@2]")
    _, loaded = load(asked)
    assert loaded.benchmark.spec.metrics == ("mean/acc",)
    assert note_texts(loaded.notes) == (
        "left out, because there are no rollouts: pass@1, pass@2",
    )


def test_the_way_out_of_a_sample_of_an_incomplete_run_is_said(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1]] * 9)
    asked = benchmark(tmp_path, "expect: {tasks: 10}\nsample: {tasks: 4, seed: 1}")
    with pytest.raises(DataError) as caught:
        load(asked)
    assert caught.value.hint == (
        "complete the rows; or, if the change is intended, say so in expect: tasks"
    )


def test_a_sample_is_told(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1]] * 10)
    _, loaded = load(benchmark(tmp_path, "sample: {tasks: 4, seed: 1}"))
    (note,) = note_texts(loaded.notes)
    assert "4 of 10 tasks" in note


def test_recorded_rollouts_of_the_reference_are_added_to_each_task(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1], [0]])
    write_rows(tmp_path, "pinned.jsonl", [[1], [1]])
    fields = "{task: task, sample: sample, agent: agent}"
    keys = f"reference: {{rollouts: {{path: pinned.jsonl, fields: {fields}}}}}"
    keys += "\nmetrics: [mean/over_reference]"
    _, loaded = load(benchmark(tmp_path, keys))
    assert loaded.table.scores["reference"].tolist() == [1, 1]
    assert loaded.table.scores["over_reference"].tolist() == [0, -1]
