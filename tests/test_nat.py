"""Scoring against a real server of the NeMo Agent Toolkit.

EVALMETRICS_NAT_PYTHON names the interpreter of an environment with the extra `nat-server`.
"""

import json
import os
import socket
import subprocess
from pathlib import Path

import pytest

PYTHON = os.environ.get("EVALMETRICS_NAT_PYTHON")
pytestmark = [
    pytest.mark.nat,
    pytest.mark.skipif(
        not PYTHON, reason="EVALMETRICS_NAT_PYTHON names no interpreter"
    ),
]


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("nat") / "log"
    with log.open("wb") as out:
        server = subprocess.Popen(
            [
                str(PYTHON),
                str(Path(__file__).parent / "scoring" / "scorers" / "nat_server.py"),
                str(port),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert server.stdout
        for line in server.stdout:  # it ends with the server
            out.write(line.encode())
            if "Uvicorn running" in line:
                break
        else:
            pytest.fail(f"the server did not start: {log}")
    yield f"http://127.0.0.1:{port}/evaluate/item"
    server.kill()
    server.communicate()


def bench(project, url, evaluator):
    rows = [
        {
            "id": str(n),
            "input_obj": "?",
            "expected_output_obj": "a b",
            "output_obj": text,
            "trajectory": [],
            "expected_trajectory": [],
            "full_dataset_entry": {},
        }
        for n, text in enumerate(["a b", "a c", "c", "crash", "nan"])
    ]
    project.rows("data.jsonl", rows)
    project.write(
        "a.bench.yaml",
        f"""\
benchmark:
  name: nat
  dataset: data.jsonl
  scorers:
    - {{type: nemo-agent-toolkit-remote, url: "{url}", evaluator_name: {evaluator}}}
  metrics: mean_reward
  expect: {{max_missing: 50%}}
""",
    )


def test_scores_and_failures_of_a_real_server(project, url):
    bench(project, url, "overlap")
    project.run().assert_outcomes(passed=1)
    text = (project.path / "evalmetrics/row_scores.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    assert [row["scores"]["overlap"] for row in rows] == [1.0, 0.5, 0.0, None, None]
    errors = [row["errors"][0] for row in rows[3:]]
    assert [e["kind"] for e in errors] == ["evaluator-crashed", "no-score"]
    assert "no judge" in errors[0]["reason"]


def test_an_unknown_evaluator_stops_with_the_servers_words(project, url):
    bench(project, url, "nope")
    result = project.run()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*INCONCLUSIVE*404*Evaluator 'nope' not found*overlap*"]
    )


def test_trajectory_scores_are_those_of_the_toolkits_evaluator(project, judge_server):
    model = {
        "event_type": "LLM_END",
        "name": "m",
        "data": {"input": "?", "output": "Act"},
    }
    tool = {
        "event_type": "TOOL_END",
        "name": "search",
        "data": {"input": "q", "output": "hits"},
    }
    rows = [
        {
            "question": f'[[grade: {n}]] [[say: {{"reasoning": "so", "score": {n}}}]]',
            "generated_answer": "That.",
            "intermediate_steps": [{"payload": payload} for payload in (model, tool)],
        }
        for n in ("1", "2", "3", "4", "5", "3.5", "10")
    ]
    peer = Path(__file__).parent / "scoring" / "scorers" / "nat_trajectory.py"
    process = subprocess.run(
        [str(PYTHON), str(peer)],
        input=json.dumps(rows),
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    theirs = json.loads(process.stdout)
    assert [each["error"] for each in theirs] == [None] * 7
    project.rows("data.jsonl", rows)
    project.write(
        "a.bench.yaml",
        f"""\
benchmark:
  name: trajectories
  dataset: data.jsonl
  scorers:
    - type: system/trajectory-evaluation
      judge: {{model: {{url: "{judge_server.url()}", name: judge}}}}
      trajectory_used_tools: search
  metrics: mean_reward
  expect: {{max_missing: 50%}}
""",
    )
    project.run().assert_outcomes(passed=1)
    text = (project.path / "evalmetrics/row_scores.jsonl").read_text(encoding="utf-8")
    ours = [
        json.loads(line)["scores"]["trajectory_evaluation"]
        for line in text.splitlines()
    ]
    assert ours[:5] == [each["score"] for each in theirs[:5]]
    # no grades: the toolkit passes them on, here the row fails
    assert [each["score"] for each in theirs[5:]] == [3.5, 10.0]
    assert ours[5:] == [None, None]
