"""What other tools wrote of an attempt, whole, to be scored again."""

import pytest
from rollouts.small import CHUNKS, Chunks, chunk, load_chunks

from pytest_evalmetrics.errors import DataError

MARK = "_evalmetrics"


def failures(rows):
    return [row.get(MARK, {}).get("failed") for _, row in rows]


ANSWERS = ["0", "98", "4", "17", "6"]  # of the questions of verifiers, in their order


def content_of_inspect(row):
    return row["output"]["choices"][0]["message"]["content"]


# files, the key of a task in a record, and what an attempt holds
WRITTEN = [
    (
        "formats/inspect_ai/generated_0.3.285/*.eval",
        lambda row: row["id"],
        content_of_inspect,
    ),
    ("formats/inspect_ai/*.json", lambda row: row["id"], content_of_inspect),
    (
        "formats/lm_eval/qdpv68r5/samples_*.jsonl",
        lambda row: f"{row['task']}/{row['doc_id']}",
        lambda row: row["resps"][0][0],
    ),
    (
        "formats/verifiers/legacy_2025-09/*.jsonl",
        lambda row: ANSWERS.index(
            row["answer"]
        ),  # its ids are those of other questions
        lambda row: row["completion"],
    ),
    (
        "formats/deepeval/*.json",
        lambda row: row["name"],
        lambda row: row["actualOutput"],
    ),
    (
        "harbor/job_reward0",
        lambda row: row["task_name"],
        lambda row: row["agent_result"],
    ),
]


@pytest.mark.parametrize(
    ("path", "task", "content"), WRITTEN, ids=[path for path, *_ in WRITTEN]
)
def test_what_the_tools_wrote(real, path, task, content):
    table, rows = real.whole(path)
    assert [table.tasks[t] for t in table.task] == [task(row) for _, row in rows]
    assert all(content(row) for _, row in rows)
    assert failures(rows) == [None] * len(rows)
    assert len({where for where, _ in rows}) == len(rows)


def test_errors_are_no_answers(real):
    for name in ("results.json", "results.jsonl"):
        table, rows = real.whole(f"formats/promptfoo/{name}")
        for at, (_, row) in enumerate(rows):
            wrong = table.tasks[table.task[at]] == "boom"
            assert row.get(MARK) == (
                {"failed": ["error", "model down"]} if wrong else None
            )
            assert wrong or row["response"]["output"]
    for where, row in real.whole("formats/pydantic_evals/report.json")[1]:
        assert (MARK in row) == ("failures[" in where)
        assert MARK in row or "output" in row
    ((kind, message),) = failures(real.whole("harbor/job_errored")[1])
    assert kind.endswith("Error")
    assert message


def test_who_failed_in_the_grading_alone_can_be_graded_again(folder):
    def sample(task, value, **more):
        score = {"value": value, "answer": "x"}
        return {
            "id": task,
            "epoch": 1,
            "scores": {"match": score},
            "output": task,
            **more,
        }

    log = {
        "version": 2,
        "status": "cancelled",
        "eval": {"task": "t", "model": "m/x", "dataset": {"sample_ids": list("abcde")}},
        "samples": [
            sample("b", None),
            sample("a", None, error={"message": "RuntimeError('the sandbox is gone')"}),
            sample(
                "c", "I", error={"message": "RuntimeError('too late')"}
            ),  # and graded
            sample("d", "C", invalidation={"reason": "leaked answer"}),
        ],
    }
    folder.json(log, "log.json")
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
    asked = {
        "id": "a",
        "epoch": 1,
        "input": "attachment://1",
        "target": "attachment://2",
    }
    message = {"role": "user", "content": [{"type": "text", "text": "attachment://1"}]}
    texts = {"messages": [message], "attachments": {"1": "a long text"}}
    sample = {**asked, **texts, "scores": {"match": {"value": 1}}}
    log = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}}
    folder.json({**log, "samples": [sample]}, "log.json")
    _, ((_, row),) = folder.whole("log.json")
    assert row["input"] == "a long text"
    assert row["messages"][0]["content"][0]["text"] == "a long text"
    assert row["target"] == "attachment://2"  # which is not there


class WithRecords(Chunks):
    """A loader that gives whole rows where it is asked for them."""

    def __init__(self, request):
        records = [{"said": "x"}] if request.whole else []
        self.chunks = [chunk(["a"], scores={"reward": [0.5]}, records=records)]


def test_a_loader_without_records_is_refused_and_one_with_them_is_not(folder):
    load_chunks(folder, chunk(["a"], scores={"reward": [0.5]}))
    with pytest.raises(DataError, match="can't be scored: only its numbers are read"):
        list(folder.records("a", format=CHUNKS))
    records = list(
        folder.records("a", format="rollouts.test_whole_records:WithRecords")
    )
    assert records == [("a:1", {"said": "x"})]
