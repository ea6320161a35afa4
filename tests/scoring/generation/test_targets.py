"""A Python function in place of a model."""

import sys

import pytest
from scoring.generation.running import rows, run

from pytest_evalmetrics.reports.sentences import reason_of

BENCH = """\
benchmark:
  name: a
  dataset: data.jsonl
  num_samples: 2
  target: {target}
  params: {{parallelism: 4}}
  scorers: [{{type: exact_match, reference: "{{{{ answer }}}}"}}]
  metrics: [mean_reward]
{rest}"""
EXCLUDE = "  expect: {missing_reward: exclude, max_missing: 1}\n"
AGENT = """\
import asyncio
import sys
import threading
import time

CALLS = []
ALL_THERE = threading.Barrier(4, timeout=60)


def plain(row):
    CALLS.append(row["id"])
    row["answer"] = "changed"  # its own copy
    return str(row["id"] + 1)


async def asks(row, sample):
    await asyncio.sleep(0)
    return {"output": str(row["id"] + 1), "usage": {"input_tokens": 3, "output_tokens": sample},
            "steps": ["thought"]}


def side_by_side(row):
    ALL_THERE.wait()  # nobody gets through alone
    return str(row["id"] + 1)


def ends(row):
    if row["id"] == 1:
        sys.exit("no such flag")
    if row["id"] == 2:
        raise KeyboardInterrupt
    return str(row["id"] + 1)


async def ends_too(row):
    if row["id"] == 1:
        sys.exit("no such flag")
    if row["id"] == 2:
        task = asyncio.ensure_future(asyncio.sleep(60))
        task.cancel()
        await task
    return str(row["id"] + 1)


def stops(row):
    raise StopIteration("no more")


def fails(row):
    if row["id"] == 1:
        raise KeyError("no such tool")
    if row["id"] == 2:
        return object()
    if row["id"] == 3:
        time.sleep(0.5)
    return str(row["id"] + 1)


def dumps(row):
    return Dumped(row)


class Dumped:  # as pydantic's models do
    def __init__(self, row):
        self.text = str(row["id"] + 1)

    def model_dump(self, mode):
        return {"output": self.text}


class Agent:
    def __call__(self, row):
        return {"role": "assistant", "content": str(row["id"] + 1)}


def two(row, tools):
    return ""


def gives(row):
    return row["gives"]
"""


@pytest.fixture
def agent(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "an_agent", raising=False)
    (tmp_path / "an_agent.py").write_text(AGENT)
    rows(tmp_path / "data.jsonl", [{"id": i, "answer": str(i + 1)} for i in range(4)])
    yield tmp_path
    sys.modules.pop("an_agent", None)


def bench(target, rest=""):
    return BENCH.format(target=target, rest=rest)


def mean(evaluated):
    return float(evaluated.result.agents[0].estimates["mean_reward"].value)


@pytest.mark.parametrize("name", ["plain", "asks", "side_by_side", "Agent", "dumps"])
def test_all_forms_of_a_target(agent, name):
    evaluated, lines = run(agent, bench(f"an_agent:{name}"))
    assert mean(evaluated) == 1.0
    responses = [line["response"] for line in lines]
    assert responses == ["1", "1", "2", "2", "3", "3", "4", "4"]
    assert [line["_ng_rollout_index"] for line in lines] == [0, 1] * 4


def test_a_target_gives_its_tokens_and_keys_of_its_own(agent):
    _, lines = run(agent, bench("an_agent:asks"))
    assert [line["usage"]["output_tokens"] for line in lines] == [0, 1] * 4
    assert lines[0]["_evalmetrics"]["sample"]["steps"] == ["thought"]


@pytest.fixture
def calls(agent):
    """The ids of the rows with which the target was called."""
    del agent
    import an_agent  # it was just written

    return an_agent.CALLS


VERSIONED = '{function: "an_agent:plain", version: "1"}'


def test_a_target_without_a_version_is_called_in_each_run(agent, calls):
    run(agent, bench("an_agent:plain"))
    assert len(calls) == 8
    run(agent, bench("an_agent:plain"))
    assert len(calls) == 16


def test_a_target_with_a_version_is_called_once(agent, calls):
    _, lines = run(agent, bench(VERSIONED))
    _, again = run(agent, bench(VERSIONED))
    evaluated, _ = run(agent, bench(VERSIONED), "replay")
    assert len(calls) == 8
    assert again == lines
    assert mean(evaluated) == 1.0


def test_a_target_with_another_version_is_called_again(agent, calls):
    run(agent, bench(VERSIONED))
    run(agent, bench(VERSIONED.replace('"1"', '"2"')))
    assert len(calls) == 16


def test_what_a_target_raises_is_the_failure_of_that_rollout(agent):
    def failed(version="", mode="normal"):
        target = f'{{function: "an_agent:fails", timeout_seconds: 0.1{version}}}'
        evaluated, _ = run(agent, bench(target, EXCLUDE), mode)
        (failures,) = evaluated.result.failed_rows
        return evaluated, failures

    evaluated, failures = failed()
    assert dict(failures.kinds) == {"raised-KeyError": 2, "no-answer": 2, "timeout": 2}
    reasons = {row.kind: row.reason for row in failures.first}
    assert reasons["raised-KeyError"] == "the target raised KeyError: 'no such tool'"
    assert "object that can't be written as JSON" in reasons["no-answer"]
    assert reasons["timeout"] == "the target gave no answer within 0.1 s"
    assert mean(evaluated) == 1.0
    # a replay tells the same of one with a version, and of another that nothing is kept
    assert dict(failed(mode="replay")[1].kinds) == {"not-in-journal": 8}
    versioned = ', version: "1"'
    assert failed(versioned)[1] == failed(versioned, "replay")[1]


def test_a_target_that_raises_stop_iteration_is_not_waited_for_forever(agent):
    evaluated, _ = run(agent, bench("an_agent:stops"))
    (failures,) = evaluated.result.failed_rows
    assert (
        failures.first[0].reason
        == "the target raised RuntimeError: StopIteration: no more"
    )


@pytest.mark.parametrize(
    ("name", "other"), [("ends", "KeyboardInterrupt"), ("ends_too", "CancelledError")]
)
def test_a_target_that_would_end_the_run_ends_its_rollout(agent, name, other):
    evaluated, _ = run(agent, bench(f"an_agent:{name}", EXCLUDE))
    (failures,) = evaluated.result.failed_rows
    assert dict(failures.kinds) == {"raised-SystemExit": 2, f"raised-{other}": 2}
    assert failures.first[0].reason == "the target raised SystemExit: no such flag"
    assert mean(evaluated) == 1.0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "no_such_module_x:f",
            "can't be imported: there is no module 'no_such_module_x'",
        ),
        ("an_agent:gone", "an_agent has no 'gone'; "),
        ("an_agent:CALLS", "is not a function"),
        ("an_agent:two", "can't be called with a row: two(row, tools)"),
    ],
)
def test_an_invalid_target_is_reported_with_its_line(agent, name, message):
    evaluated, _ = run(agent, bench(name))
    (check,) = evaluated.result.checks
    assert message in reason_of(check)
    assert check.line == 5


def test_a_target_gives_its_reasoning_and_why_it_stopped(agent):
    gives = {"output": "hi", "reasoning": "why", "finish_reason": "length"}
    rows(agent / "data.jsonl", [{"gives": gives, "answer": "hi"}])
    _, (line, _) = run(agent, bench("an_agent:gives"))
    sample = line["_evalmetrics"]["sample"]
    assert (sample["reasoning"], sample["finish_reason"]) == ("why", "length")


BODY = {"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}
USAGE = {"prompt_tokens": 2, "completion_tokens": 7}


@pytest.mark.parametrize(
    "gives",
    [
        {"output": "hi", "usage": USAGE},
        {"response": BODY, "usage": USAGE},
        {"response": {**BODY, "usage": USAGE}},
        {**BODY, "usage": USAGE},
    ],
    ids=["beside a text", "beside a body", "in a body", "a body"],
)
def test_what_a_target_took_is_a_score(agent, gives):
    rows(agent / "data.jsonl", [{"gives": gives, "answer": "hi"}])
    evaluated, lines = run(agent, bench("an_agent:gives"))
    scores = evaluated.row_scores.table.scores
    assert scores["output_tokens"].tolist() == [7, 7]
    assert all(0 <= seconds < 30 for seconds in scores["latency_s"].tolist())
    kept = [line["_evalmetrics"]["sample"]["response"] for line in lines]
    assert [body["usage"] for body in kept] == [USAGE, USAGE]


def test_all_forms_of_an_answer(agent):
    body = {
        "choices": [
            {"message": {"content": "hi", "tool_calls": []}, "finish_reason": "stop"}
        ],
        "usage": {"prompt_tokens": 2, "completion_tokens": 1},
    }
    hi = [
        "hi",
        {"content": "hi"},
        {"output": "hi"},
        {"response": body, "steps": 1},
        body,
        {"output_text": "hi", "response": None},
    ]
    calls = [{"function": {"name": "f", "arguments": "{}"}}]
    called = {"tool_calls": calls, "usage": {"input_tokens": 2}, "x": 1}
    bad = [5, None, {}, {"output": 5}, {"usage": {}}]
    rows(
        agent / "data.jsonl",
        [{"gives": g, "answer": "hi"} for g in (*hi, called, *bad)],
    )
    text = bench("an_agent:gives", EXCLUDE).replace("num_samples: 2", "num_samples: 1")
    evaluated, lines = run(agent, text)
    assert [line["response"] for line in lines[:7]] == ["hi"] * 6 + [""]
    samples = [line["_evalmetrics"]["sample"] for line in lines[:7]]
    assert samples[3]["steps"] == samples[6]["x"] == 1
    assert samples[6]["tool_calls"] == calls
    assert lines[6]["usage"]["input_tokens"] == 2
    assert dict(evaluated.result.failed_rows[0].kinds) == {"no-answer": len(bad)}
