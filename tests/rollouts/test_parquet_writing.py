"""A run kept as Parquet columns is the same run."""

import sys

import numpy as np
import pytest
from rollouts.same import bits

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.reports.sentences.notes import note_text, note_texts
from pytest_evalmetrics.rollouts.parquet_writing import to_parquet

pq = pytest.importorskip("pyarrow.parquet")


def row(task, sample, reward, **more):
    return {
        "_ng_task_index": task,
        "_ng_rollout_index": sample,
        "reward": reward,
        **more,
    }


def assert_same(one, other):
    kept = (
        "agents",
        "tasks",
        "integers",
        "scores",
        "agent",
        "task",
        "sample",
        "read_as",
        "notes",
    )
    for name in (*kept, "categories"):
        assert bits(getattr(one, name)) == bits(getattr(other, name)), name
    assert [type(task) for task in one.tasks] == [type(task) for task in other.tasks]


@pytest.mark.parametrize("tasks", [(7, 0, 1 << 40), ("b", "a", "10"), (1, "a", 2)])
def test_json_lines(folder, tasks):
    usage = {"input_tokens": 5, "output_tokens": 0.5}
    rewards = [1.0, float("nan"), 0.1, None, 1 / 3, -0.0]
    folder.rows(
        row(
            task,
            sample,
            reward,
            turns=3,
            level=sample if task == tasks[0] else None,
            passed=sample == 1,
            **(
                {"agent_ref": {"name": agent}, "response": {"usage": usage}}
                if agent
                else {}
            ),
            meta={"kind": "hard" if sample else None},
            seconds=1e400 if task == tasks[1] else 0.1,
        )
        for agent in ("z", None, "b")
        for task, sample, reward in zip(
            tasks * 2, [1, 1, 1, 0, 0, 0], rewards, strict=True
        )
    )
    labels = ["meta.kind", "passed", "level"]
    summary = to_parquet(
        "runs.jsonl", "out/run.parquet", folder.path, labels, describe=note_text
    )
    assert "out/run.parquet: 18 rollouts of 3 tasks, reward, turns" in summary
    ours, theirs = (
        folder.load(name, scores=["reward"], categories=labels)
        for name in ("runs.jsonl", "out/run.parquet")
    )
    assert np.isnan(ours.scores["reward"]).any()
    assert any("NaN" in note for note in note_texts(ours.notes))
    assert_same(ours, theirs)
    assert [path.name for path in (folder.path / "out").iterdir()] == ["run.parquet"]


def test_a_foreign_format_with_an_only_score(folder):
    cases = [
        {"name": n, "scores": {"a: b": {"value": s}}, "task_duration": d}
        for n, s, d in [("x", 0.5, 1.0), ("y", None, 2.5), ("w", 1, 0)]
    ]
    failed = [
        {"name": "v", "error_message": "RuntimeError: no", "error_type": "RuntimeError"}
    ]
    report = {"name": "t", "cases": cases, "failures": failed, "analyses": []}
    folder.json(report, "report.json")
    to_parquet("report.json", "run.parquet", folder.path, describe=note_text)
    ours, theirs = (
        folder.load(n, scores=["reward"]) for n in ("report.json", "run.parquet")
    )
    assert ours.tasks == ("v", "w", "x", "y")
    assert note_texts(ours.notes)
    assert_same(ours, theirs)
    folder.rows(
        {"_ng_task_index": n, "b.c": n, "a": n / 2} for n in range(3)
    )  # and no reward
    to_parquet("runs.jsonl", "run.parquet", folder.path, describe=note_text)
    assert_same(folder.load("runs.jsonl"), folder.load("run.parquet"))


@pytest.mark.parametrize("name", ["level", "meta"])
def test_what_would_be_read_otherwise_is_refused(folder, name):
    folder.rows([row(0, 0, 1, level=2), row(0, 1, 0, level="hard")])
    folder.write("before", "run.parquet")
    message = (
        "the label 'level' would not be read back" if name == "level" else "in no row"
    )
    with pytest.raises(DataError, match=message):
        to_parquet("runs.jsonl", "run.parquet", folder.path, [name], describe=note_text)
    assert (folder.path / "run.parquet").read_text() == "before"
    assert len(list(folder.path.iterdir())) == 2


def test_a_write_that_fails_leaves_what_was_there(folder, monkeypatch):
    def full(_, file):
        file.write(b"PAR1")
        raise OSError(28, "No space left on device")

    folder.rows([row(0, 0, 1)])
    folder.write("before", "run.parquet")
    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(DataError, match="can't be written: No space left") as caught:
        to_parquet("runs.jsonl", "run.parquet", folder.path, describe=note_text)
    assert caught.value.file == "run.parquet"
    assert (folder.path / "run.parquet").read_text() == "before"
    assert len(list(folder.path.iterdir())) == 2


def test_without_pyarrow(folder, monkeypatch):
    folder.rows([row(0, 0, 1)])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match="takes pyarrow") as caught:
        to_parquet("runs.jsonl", "run.parquet", folder.path, describe=note_text)
    assert 'pip install "pytest-evalmetrics[parquet]"' in str(caught.value.hint)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ["--evalmetrics-to-parquet=a"],
            "--evalmetrics-to-parquet needs --evalmetrics-inspect",
        ),
        (["--evalmetrics-label=a"], "--evalmetrics-label needs --evalmetrics-inspect"),
        (
            ["--evalmetrics-inspect=b", "--evalmetrics-to-parquet=a"],
            "there is no file 'b'",
        ),
    ],
)
def test_errors_of_the_option(project, args, message):
    refused = project.run(*args)
    assert refused.ret != 0
    assert message in refused.stderr.str()
