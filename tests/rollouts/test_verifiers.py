"""Rows of verifiers up to version 0.3."""

import json

import numpy as np
import pytest

from pytest_evalmetrics.reports.sentences.notes import note_texts


def row(example, reward, **more):
    asked = {"example_id": example, "prompt": [], "completion": [], "answer": ""}
    return {**asked, "reward": reward, **more}


FOLDER = "formats/verifiers/legacy_2025-09"


@pytest.fixture
def written(real):
    """The table of what the tool wrote: five examples, three rollouts each."""
    return real.load(f"{FOLDER}/results.jsonl", scores=["reward"])


@pytest.fixture
def metadata(real):
    return json.loads((real.path / FOLDER / "metadata.json").read_text())


def test_questions_are_tasks_though_the_tool_numbered_rows_otherwise(real, written):
    lines = (real.path / FOLDER / "results.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    # the tool numbered rows 0 0 0 1 1 1 ..., and their questions are a b c d e a b c ...
    assert [row["id"] for row in rows] == [task for task in range(5) for _ in range(3)]
    assert all(rows[i]["prompt"] == rows[i % 5]["prompt"] for i in range(15))
    assert written.tasks == (0, 1, 2, 3, 4)
    assert written.sample.tolist() == [0, 1, 2] * 5
    of_tasks = [rows[i + 5 * k] for i in range(5) for k in range(3)]
    seconds = [row["generation_ms"] / 1000 for row in of_tasks]
    assert written.scores["latency_s"].tolist() == pytest.approx(seconds)
    assert "generation_ms" not in written.scores


@pytest.mark.parametrize(
    "name",
    ["reward", "total_tool_calls", "python_calls", "correct_answer_reward_func"],
)
def test_the_mean_of_a_score_is_that_of_the_tool(written, metadata, name):
    assert written.scores[name].mean() == pytest.approx(metadata[f"avg_{name}"])


def test_the_model_is_the_agent_and_there_is_nothing_to_note(written, metadata):
    assert written.agents == (metadata["model"],)
    assert note_texts(written.notes) == ()


def test_rows_of_later_versions(folder):
    usage = {"input_tokens": 100, "output_tokens": 20}
    timing = {"generation_ms": 1500.0, "total_ms": 9000.0}
    folder.rows([row(3, 0.5, metrics={"exact": 1.0}, timing=timing, token_usage=usage)])
    table = folder.load(scores=["reward"])
    assert {name: column.tolist() for name, column in table.scores.items()} == {
        "reward": [0.5],
        "exact": [1],
        "latency_s": [1.5],
        "prompt_tokens": [100],
        "completion_tokens": [20],
    }


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"error": "SandboxError", "error_chain_str": "a -> b"}, "SandboxError"),
        ("ToolError('no')", "ToolError"),
        ("it all went wrong", "error"),
    ],
)
def test_errors_are_missing_unless_they_were_graded(folder, error, kind):
    rows = [row(0, 0.0, error=error), row(1, 0.25, error=error)]
    folder.rows([*rows, row(2, 0.0, error=None), row(3, None)])
    table = folder.load(scores=["reward"])
    np.testing.assert_equal(table.scores["reward"], [np.nan, 0.25, 0, np.nan])
    missing, graded, unscored = note_texts(table.notes)
    assert unscored.startswith("not scored: 1 rollout")
    assert missing.startswith(
        f"{kind}: 1 rollout without a score, which is missing (first runs"
    )
    assert graded.startswith(
        f"{kind}: 1 rollout graded all the same (first runs.jsonl:2"
    )


def test_its_metadata_is_compared(folder):
    folder.rows([row(0, 1.0), row(1, 0.0)], "results.jsonl")
    metadata = {
        "avg_reward": 0.75,
        "num_examples": 2,
        "rollouts_per_example": 2,
        "model": "m",
    }
    folder.json(metadata, "metadata.json")
    table = folder.load("results.jsonl", scores=["reward"])
    assert table.agents == ("m",)
    assert (
        "counts as 0, is 0.75, and the rollouts give 0.5" in note_texts(table.notes)[0]
    )
    assert "json is 4, and the rollouts give 2" in note_texts(table.notes)[1]
    folder.write("{", "metadata.json")
    assert folder.refused("results.jsonl").file == "metadata.json"


def test_rows_of_others_are_left_to_them(folder):
    own = {"prompt": "", "completion": "", "reward": 1, "problem": 7}
    folder.rows([own])
    table = folder.load(scores=["reward"], fields={"task": "problem"})
    assert table.tasks == (7,)
    folder.rows([{**own, "id": 3, "task": "t", "_ng_task_index": 5}])
    assert folder.load(scores=["reward"]).tasks == (5,)


def test_broken_rows(folder):
    folder.rows([row(0, 1.0), row(None, 1.0)])
    refused = folder.refused()
    assert (refused.line, refused.message) == (2, "this row's example_id is None")


def test_metadata_that_is_broken_is_named(folder):
    folder.write(b"{broken", "metadata.json")
    folder.rows([row(0, 1.0)], "results.jsonl")
    refused = folder.refused("results.jsonl")
    assert "metadata of verifiers" in str(refused)
