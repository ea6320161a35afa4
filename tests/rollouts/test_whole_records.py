"""What other tools wrote of an attempt, whole, to be scored again."""

import json
from dataclasses import replace

import numpy as np
import pytest

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.ext import Chunk
from pytest_evalmetrics.rollouts.recorded import records
from pytest_evalmetrics.spec import RolloutsSpec
from pytest_evalmetrics.spec.metric_names import MARK


def failures(rows):
    return [row.get(MARK, {}).get("failed") for _, row in rows]


ANSWERS = ["0", "98", "4", "17", "6"]  # of the questions of verifiers, in their order

# format, files, the key of a task in a record, and what an attempt holds
WRITTEN = [
    (
        "formats/inspect_ai/generated_0.3.285/*.eval",
        lambda row: row["id"],
        lambda row: row["output"]["choices"][0]["message"]["content"],
    ),
    (
        "formats/inspect_ai/*.json",
        lambda row: row["id"],
        lambda row: row["output"]["choices"][0]["message"]["content"],
    ),
    (
        "formats/lm_eval/qdpv68r5/samples_*.jsonl",
        lambda row: f"{row['task']}/{row['doc_id']}",
        lambda row: row["resps"][0][0],
    ),
    (
        "formats/verifiers/legacy_2025-09/*.jsonl",
        lambda row: ANSWERS.index(row["answer"]),  # its ids are those of other questions
        lambda row: row["completion"],
    ),
    ("formats/deepeval/*.json", lambda row: row["name"], lambda row: row["actualOutput"]),
    ("harbor/job_reward0", lambda row: row["task_name"], lambda row: row["agent_result"]),
]


@pytest.mark.parametrize(("path", "task", "said"), WRITTEN, ids=[path for path, *_ in WRITTEN])
def test_what_the_tools_wrote(real, path, task, said):
    table, rows = real.whole(path)
    assert [table.tasks[t] for t in table.task] == [task(row) for _, row in rows]
    assert all(said(row) for _, row in rows)
    assert failures(rows) == [None] * len(rows)
    assert len({where for where, _ in rows}) == len(rows)


@pytest.mark.parametrize("name", ["results.json", "results.jsonl"])
def test_promptfoo_s_errors_are_no_answers(real, name):
    table, rows = real.whole(f"formats/promptfoo/{name}")
    for at, (_, row) in enumerate(rows):
        wrong = table.tasks[table.task[at]] == "boom"
        assert row.get(MARK) == ({"failed": ["error", "model down"]} if wrong else None)
        assert wrong or row["response"]["output"]


def test_pydantic_evals_failures_are_no_answers(real):
    _, rows = real.whole("formats/pydantic_evals/report.json")
    for where, row in rows:
        assert (MARK in row) == ("failures[" in where)
        assert MARK in row or "output" in row


def test_a_trial_of_harbor_that_crashed(real):
    _, rows = real.whole("harbor/job_errored")
    ((kind, said),) = failures(rows)
    assert kind.endswith("Error")
    assert said


def test_who_failed_in_the_grading_alone_can_be_graded_again(folder):
    def sample(task, value, **more):
        score = {"value": value, "answer": "x"}
        return {"id": task, "epoch": 1, "scores": {"match": score}, "output": task, **more}

    log = {
        "version": 2,
        "status": "cancelled",
        "eval": {"task": "t", "model": "m/x", "dataset": {"sample_ids": list("abcde")}},
        "samples": [
            sample("b", None),
            sample("a", None, error={"message": "RuntimeError('the sandbox is gone')"}),
            sample("c", "I", error={"message": "RuntimeError('too late')"}),  # and graded
            sample("d", "C", invalidation={"reason": "leaked answer"}),
        ],
    }
    folder.write(json.dumps(log), "log.json")
    table, rows = folder.whole("log.json")
    assert table.tasks == tuple("abcde")
    assert failures(rows) == [
        ["RuntimeError", "RuntimeError('the sandbox is gone')"],
        None,
        None,
        ["invalidated", "leaked answer"],
        ["planned and not in the log", "the eval's status is 'cancelled'"],
    ]
    assert [row.get("output") for _, row in rows] == ["a", "b", "c", "d", None]


def test_attachments_stand_where_they_belong(folder):
    message = {"role": "user", "content": [{"type": "text", "text": "attachment://1"}]}
    sample = {
        "id": "a",
        "epoch": 1,
        "input": "attachment://1",
        "messages": [message],
        "target": "attachment://2",
        "scores": {"match": {"value": 1}},
        "attachments": {"1": "a long text"},
    }
    log = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}}
    folder.write(json.dumps({**log, "samples": [sample]}), "log.json")
    _, ((_, row),) = folder.whole("log.json")
    assert row["input"] == "a long text"
    assert row["messages"][0]["content"][0]["text"] == "a long text"
    assert row["target"] == "attachment://2"  # which is not there


class Numbers:
    """A loader of a user's, which knows nothing of whole rows."""

    def __init__(self, request):
        pass

    def read(self, source):
        del source
        scores = {"reward": np.array([0.5])}
        yield Chunk(np.array([1]), task=["a"], sample=[None], agent=[None], scores=scores)


class Told(Numbers):
    """One that gives them where it is asked for them."""

    def __init__(self, request):
        self.whole = request.whole

    def read(self, source):
        for chunk in super().read(source):
            yield replace(chunk, records=[{"said": "x"}] if self.whole else [])


def test_a_loader_without_records_is_refused_and_one_with_them_is_not(folder):
    folder.write("a 0.5\n", "runs.txt")

    def read(name):
        format_ = f"rollouts.test_whole_records:{name}"
        return list(records(RolloutsSpec(path=("runs.txt",), format=format_), folder.path))

    with pytest.raises(DataError, match="can't be scored: only its numbers are read"):
        read("Numbers")
    assert read("Told") == [("runs.txt:1", {"said": "x"})]
