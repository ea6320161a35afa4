"""Our agentic metrics beside those of RAGAS, with one judge that says the same to both.

EVALMETRICS_RAGAS_PYTHON names the interpreter of an environment with the extra `ragas`.
"""

import json
import os
import random
import subprocess
from pathlib import Path

import pytest
from judge_process import CHAT

PYTHON = os.environ.get("EVALMETRICS_RAGAS_PYTHON")
pytestmark = [
    pytest.mark.ragas,
    pytest.mark.skipif(
        not PYTHON, reason="EVALMETRICS_RAGAS_PYTHON names no interpreter"
    ),
]
ROWS = 100
TOPICS = ("health", "food", "cars", "sport", "tax", "music")


def conversations(rng):
    """Make rows for the metrics that need a judge."""
    topics = rng.sample(TOPICS, rng.randint(1, 6))
    refused = rng.sample(TOPICS, rng.randint(0, 4)) or ["none"]
    goal, end = rng.choice("abc"), rng.choice("abc")
    text = (
        f"[[topics: {', '.join(topics)}]] [[refused: {', '.join(refused)}]] "
        f"[[goal: {goal}]] [[end: {end}]]"
    )
    messages = [
        {"type": "human", "content": text},
        {
            "type": "ai",
            "content": "Well.",
            "tool_calls": [{"name": "f", "args": {"a": 1}}],
        },
        {"type": "tool", "content": "ü <done>"},
        {"type": "ai", "content": "Done."},
    ]
    ratings = [f"[[rating: {rng.choice([0, 2, 4])}]] {rng.random()}" for _ in range(2)]
    return {
        "topic": {
            "user_input": messages,
            "reference_topics": rng.sample(TOPICS, rng.randint(1, 5)),
        },
        "goal": {"user_input": messages, "reference": rng.choice("abc")},
        "goal-without": {"user_input": messages},
        "answer": {"user_input": "?", "response": ratings[0], "reference": ratings[1]},
    }


def tool_calls(rng):
    """Make a row with calls, and a reference that is often nearly the same."""

    def call():
        keys = rng.sample("xyz", rng.randint(0, 3))
        return {
            "name": rng.choice("fg"),
            "args": {k: rng.choice([1, "1", 2.0]) for k in keys},
        }

    wanted = [call() for _ in range(rng.randint(0, 3))]
    calls = [c if rng.random() < 0.7 else call() for c in wanted]
    if rng.random() < 0.3:
        rng.shuffle(calls)
    if rng.random() < 0.1:
        calls.append(call())
    messages = [{"type": "human", "content": "go"}]
    messages += [{"type": "ai", "content": "", "tool_calls": [c]} for c in calls]
    messages += [{"type": "ai", "content": "done"}]
    return {"user_input": messages, "reference_tool_calls": wanted}


def all_rows():
    rng = random.Random(20)  # noqa: S311 - the same rows each time
    rows = [conversations(rng) for _ in range(ROWS)]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    topics = columns.pop("topic")
    calls = [tool_calls(rng) for _ in range(ROWS)]
    return {
        "precision": topics,
        "recall": topics,
        "f1": topics,
        **columns,
        "tools": calls,
        "tools-flexible": calls,
    }


SCORERS = {
    "precision": {"type": "topic_adherence", "metric_mode": "precision"},
    "recall": {"type": "topic_adherence", "metric_mode": "recall"},
    "f1": {"type": "topic_adherence", "metric_mode": "f1"},
    "goal": {"type": "agent_goal_accuracy"},
    "goal-without": {"type": "agent_goal_accuracy", "use_reference": False},
    "answer": {"type": "answer_accuracy"},
    "tools": {"type": "tool_call_accuracy"},
    "tools-flexible": {"type": "tool_call_accuracy", "strict_order": False},
}


def scores(project):
    """The only score of each row, by benchmark."""
    text = (project.path / "evalmetrics/row_scores.jsonl").read_text(encoding="utf-8")
    scores = {}
    for row in map(json.loads, text.splitlines()):
        scores.setdefault(row["benchmark"].rpartition("::")[2], []).extend(
            row["scores"].values()
        )
    return scores


def bench(project, scorers, url):
    """Write a benchmark for each of some scorers, over rows of the same name."""
    model = {"judge_model": {"url": url, "name": "judge"}}
    benchmarks = [
        {
            "name": name,
            "dataset": f"{name}.jsonl",
            "scorers": [scorer | ({} if name.startswith("tools") else model)],
            "metrics": "mean_reward",
        }
        for name, scorer in scorers.items()
    ]
    project.write("a.bench.yaml", json.dumps({"benchmarks": benchmarks}))


def ours(project, rows, judge_server):
    for name, each in rows.items():
        project.rows(f"{name}.jsonl", each)
    bench(project, {name: SCORERS[name] for name in rows}, judge_server.url())
    project.run().assert_outcomes(passed=len(rows))
    return scores(project)


def test_scores_are_those_of_ragas(project, judge_server):
    rows = all_rows()
    peer = Path(__file__).parent / "scoring" / "scorers" / "ragas_peer.py"
    url = judge_server.url().removesuffix(CHAT) + "/v1"
    process = subprocess.run(
        [str(PYTHON), str(peer), url],
        input=json.dumps(rows),
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    theirs = json.loads(process.stdout)["scores"]
    mine = ours(project, rows, judge_server)
    for name in rows:
        assert mine[name] == pytest.approx(theirs[name], abs=1e-9), name
        assert len(set(mine[name])) > 1, name


def run(project, *args):
    process = subprocess.run(
        [str(PYTHON), "-m", "pytest", *args],
        cwd=project.path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in process.stdout, process.stdout
    return process.stdout


def test_a_metric_by_the_package_itself_goes_over_our_journal(project, judge_server):
    rows = all_rows()["f1"][:20]
    mine = ours(project, {"f1": rows}, judge_server)
    by_ragas = {"f1": {"type": "ragas", "metric": "TopicAdherence"}}
    bench(project, by_ragas, judge_server.url("bad=first"))
    assert "1 passed" in run(project)
    assert scores(project)["f1"] == pytest.approx(mine["f1"], abs=1e-9)
    (use,) = project.report()["benchmarks"][0]["judges"]
    assert use["versions"] == {"ragas": "0.4.3"}
    judge_server.forget()
    assert "1 passed" in run(project, "--evalmetrics-replay")
    assert judge_server.posts == 0


ANSWER = {"user_input": "?", "response": "a", "reference": "b"}


def test_a_refusing_judge_is_no_nan_and_an_unknown_metric_lists_the_known_ones(
    project, judge_server
):
    metrics = {"a": "answer_accuracy", "b": "Faithfullness"}
    for name in metrics:
        project.rows(f"{name}.jsonl", [ANSWER] * 20)
    scorers = {
        name: {"type": "ragas", "metric": metric} for name, metric in metrics.items()
    }
    bench(project, scorers, judge_server.url("status=401"))
    # lines are as wide as the terminal
    text = " ".join(run(project).split())
    assert "2 failed" in text
    assert "this judge answers nobody" in text
    assert "did you mean 'Faithfulness'?" in text
    assert judge_server.posts <= 16


def test_an_unusable_answer_is_asked_for_once_more(project, judge_server):
    project.rows("a.jsonl", [ANSWER])
    scorers = {"a": {"type": "ragas", "metric": "AnswerAccuracy"}}
    bench(project, scorers, judge_server.url("bad=always"))
    assert "holds no JSON object" in run(project)
    assert judge_server.posts == 2  # ten by RAGAS alone
