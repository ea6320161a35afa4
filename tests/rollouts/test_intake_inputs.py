"""Inputs of public reports: what init makes of them."""

import shutil

import pytest
import yaml

from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.rollouts.survey import write_benchmark


@pytest.fixture
def intake(acceptance, tmp_path):
    """Copy one of the inputs, and let init write a benchmark file beside it."""

    def written(folder, path):
        shutil.copytree(acceptance / "intake" / folder, tmp_path, dirs_exist_ok=True)
        benchmark = write_benchmark(path, tmp_path)
        text = benchmark.path.read_text(encoding="utf-8")
        return text, benchmark.open_lines

    return written


def rollouts(text):
    return yaml.safe_load(text)["benchmark"]["rollouts"]


@pytest.mark.parametrize(
    "name", ["rows_with_messages.jsonl", "list_with_messages.json"]
)
def test_messages_are_no_attempts(intake, name):
    text, _ = intake("chat-rows", name)
    fields = {"task": "question_id", "reward": "score", "content": ["prompt"]}
    assert rollouts(text) == {"path": name, "fields": fields}


def test_tool_calls_are_no_attempts(intake):
    text, _ = intake("chat-rows", "results_with_tool_calls.json")
    assert rollouts(text)["rows"] == "results"
    assert yaml.safe_load(text)["benchmark"]["num_samples"] == 1


@pytest.mark.parametrize(
    ("name", "reward"),
    [("status_first.jsonl", "metrics.f1_macro"), ("deep.jsonl", "r.a.b.acc")],
)
def test_a_status_is_no_reward_and_deep_numbers_are_seen(intake, name, reward):
    text, _ = intake("deep-reward", name)
    assert rollouts(text)["fields"] == {"task": "item_id", "reward": reward}


def test_the_index_of_pandas(intake):
    text, _ = intake("csv-index", "min.csv")
    assert rollouts(text)["fields"] == {"task": "id", "reward": "score"}


def test_a_list_of_verdicts(intake):
    text, _ = intake("list-of-verdicts", "eval_all.json")
    assert rollouts(text)["fields"]["reward"] == "graded_list"
    assert yaml.safe_load(text)["benchmark"]["num_samples"] == 3


def test_ids_of_several_fields(intake):
    text, open_lines = intake("composite-ids", "runs")
    assert "task: [suite_name, user_task_id, injection_task_id]" in text
    (line,) = open_lines
    assert "utility" in line
    assert "security" in line


def test_ids_that_are_unique_within_a_subset(intake):
    text, _ = intake("ids-unique-within-subset", "live_bench")
    assert set(rollouts(text)["fields"]["task"]) == {"question_id", "task"}
    assert yaml.safe_load(text)["benchmark"]["expect"] == {"tasks": 94}


def test_a_sentinel_is_asked_about(intake):
    _, open_lines = intake("sentinel-minus-one", "new.jsonl")
    assert any("missing: ?" in line for line in open_lines)


@pytest.mark.parametrize(
    "name", ["inspect_no_samples.json", "inspect_v4.json", "helm_mmlu_stats.json"]
)
def test_what_a_loader_refuses_is_not_guessed(intake, name, tmp_path):
    with pytest.raises(EvalMetricsError, match=r"no samples|version 4|all instances"):
        intake("real", name)
    assert not list(tmp_path.glob("*.bench.yaml"))


def test_nemo_gyms_own_folder(acceptance, tmp_path):
    folder = acceptance / "gym" / "ether0"
    shutil.copytree(folder, tmp_path / "run")
    text = write_benchmark("run", tmp_path).path.read_text(encoding="utf-8")
    assert yaml.safe_load(text)["benchmark"]["expect"] == {"tasks": 5}
