"""A failure that may be by chance draws one more round of rollouts."""

import http.server
import json
import threading
from collections import Counter

import pytest
from scoring.generation.running import Run, online, rows

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.confirming import with_confirmation
from pytest_evalmetrics.evaluate import EvaluationInput
from pytest_evalmetrics.model.reasons import Confirmation

TASKS = 40
SAMPLES = 4


class Model(http.server.ThreadingHTTPServer):
    """Answers each question by a rule of the question and of how often it was asked."""

    is_right = staticmethod(lambda _question, _time: True)

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked = Counter()
        self.lock = threading.Lock()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/v1"

    def answer(self, question):
        with self.lock:
            time = self.asked[question]
            self.asked[question] += 1
        return "yes" if self.is_right(int(question), time) else f"no {time}"


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        size = int(self.headers["Content-Length"])
        body = json.loads(self.rfile.read(size))
        text = self.server.answer(body["messages"][-1]["content"])
        message = {"role": "assistant", "content": text}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        reply = json.dumps({"choices": choices, "model": "m"}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_args):
        """Keep the test's output clean."""


@pytest.fixture
def answering():
    server = Model()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def evaluated(folder, server, keys="confirm: true"):
    """Evaluate 40 questions x 4 against a recorded run in which nearly all pass."""
    questions = [{"question": str(task), "answer": "yes"} for task in range(TASKS)]
    rows(folder / "data.jsonl", questions)
    recorded = [
        {"task": row, "sample": sample, "exact-match": float(sample > 0 or row < 30)}
        for row in range(TASKS)
        for sample in range(SAMPLES)
    ]
    rows(folder / "old.jsonl", recorded)
    fields = "{path: old.jsonl, fields: {task: task, sample: sample}}"
    rest = f"  baseline: {{rollouts: {fields}, {keys}}}\n"
    path = folder / "a.bench.yaml"
    path.write_text(online(server.url, rest, samples=SAMPLES), encoding="utf-8")
    (benchmark,) = load_benchmarks(path, shown="a.bench.yaml")
    runtime = Run(folder, "normal")
    given = EvaluationInput(
        benchmark=benchmark, item_id="a.bench.yaml::a", runtime=runtime
    )
    try:
        return with_confirmation(given).result
    finally:
        runtime.transport().close()


def twice_asked(server):
    """Return the questions that were asked in both rounds."""
    return {int(q) for q, times in server.asked.items() if times == 2 * SAMPLES}


def mean_reward(result):
    (check,) = [check for check in result.checks if check.name == "mean_reward"]
    return check


def confirmation(check):
    (reason,) = [one for one in check.reasons if isinstance(one, Confirmation)]
    return reason


def test_a_run_that_passes_draws_no_second_round(tmp_path, answering):
    result = evaluated(tmp_path, answering)
    assert mean_reward(result).verdict == "PASS"
    assert set(answering.asked.values()) == {SAMPLES}


def test_a_drop_that_both_rounds_show_fails(tmp_path, answering):
    answering.is_right = lambda question, time: question >= 20 or time % 4 == 0
    result = evaluated(tmp_path, answering)
    check = mean_reward(result)
    assert check.verdict == "FAIL"
    assert confirmation(check).is_confirmed


def test_the_worse_tasks_and_as_many_others_are_asked_again(tmp_path, answering):
    answering.is_right = lambda question, time: question >= 15 or time % 4 == 0
    evaluated(tmp_path, answering)
    again = twice_asked(answering)
    assert again >= set(range(15))
    assert len(again) == 30


def test_a_drop_that_is_gone_in_the_second_round_warns(tmp_path, answering):
    answering.is_right = lambda question, time: question >= 20 or time >= SAMPLES
    result = evaluated(tmp_path, answering)
    check = mean_reward(result)
    assert check.verdict == "WARN"
    assert not confirmation(check).is_confirmed


def test_both_rounds_are_in_the_report(tmp_path, answering):
    answering.is_right = lambda question, time: question >= 20 or time >= SAMPLES
    reason = confirmation(mean_reward(evaluated(tmp_path, answering)))
    assert reason.tasks == 20
    assert reason.controls == 20
    assert reason.rollouts == SAMPLES
    assert reason.drop_first == pytest.approx(0.4375)
    assert reason.drop_second == pytest.approx(-0.0625)
