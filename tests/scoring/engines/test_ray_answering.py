"""Rows answered, and their answers scored, by workers of a real cluster."""

import os

import pytest
from scoring.engines.conftest import shown
from scoring.generation.running import online

from pytest_evalmetrics.reports.sentences import reason_of

pytestmark = pytest.mark.ray

MODES = {
    3: "mode=500 ",
    7: "mode=refuse ",
    11: "mode=length ",
    13: "mode=cut ",
    17: "mode=nousage ",
    19: "mode=apart ",
}
AGENT = """\
import asyncio
import os
import threading

from words import as_answer

LOCK = threading.Lock()  # can't be pickled


def plain(row, sample):
    with LOCK:
        if row["id"] == "q5":
            raise KeyError("no such tool")
        row["answer"] = "changed"  # its own copy
        return {"output": as_answer(row), "pid": os.getpid()}


async def asks(row, sample):
    await asyncio.sleep(0)
    return {"output": as_answer(row), "usage": {"input_tokens": 3, "output_tokens": sample},
            "steps": ["thought"], "pid": os.getpid()}
"""
WORDS = """\
def as_answer(row):
    first, second = row["question"].split(" + ")
    return str(int(first) + int(second))
"""


def sums(count):
    return [
        {
            "id": f"q{n}",
            "question": f"{MODES.get(n, '')}{n % 9} + 1",
            "answer": str(n % 9 + 1),
        }
        for n in range(count)
    ]


@pytest.fixture
def both(both):
    both.write(sums(24))
    return both


JUDGED = """\
benchmark:
  name: a
  dataset: data.jsonl
  num_samples: 2
  model: {{url: "{url}?latency=0.01", name: m, max_retries: 0, price: {{input: 1, output: 2}}}}
  prompt_template: "{{{{ question }}}}"
  scorers:
    - {{type: exact_match, reference: "{{{{ answer }}}}"}}
    - type: llm-judge
      model: {{url: "{url}", name: judge}}
      prompt_template: "{{{{ item.response }}}} is what it gets"
      scores: [{{name: rated, parser: {{type: regex, pattern: '(\\d+)'}}}}]
  metrics: [mean_reward, pass@2, mean_reward/rated]
  reward: exact-match
  breakdown: [answer]
  params: {{parallelism: 16}}
  expect: {{max_missing: 90%}}
"""


def test_what_one_engine_was_answered_the_other_makes_the_same_of(both, model):
    text = JUDGED.format(url=model.url)
    here = both.here(text)
    paid = model.posts
    there = both.there(text)
    # two samples of 24 rows: one is asked in vain, one refused, and of the answer to one the
    # judge is asked twice in vain
    failing, anew = 2 + 2 * 2, 2 + 2
    assert model.posts == 2 * paid == 2 * (2 * 21 * 2 + 2 + 2 + failing)
    assert there[0].result.failed_rows == here[0].result.failed_rows
    kinds = {
        kind for failures in there[0].result.failed_rows for kind in failures.kinds
    }
    assert kinds == {"http-500", "refusal", "no-score"}
    # each has its own answers to equal questions, and seconds: each reads the other's journal
    assert shown(both.here(text, "there")) == shown(there)
    assert shown(both.there(text, "here")) == shown(here)
    assert model.posts == 2 * paid + 2 * anew  # a judge's first try is kept
    assert shown(there) != shown(here)
    assert model.seen()["most_in_flight"] <= 16  # model and judge are one endpoint


def test_a_budget_of_requests_takes_the_same_rows(both, model):
    text = online(
        model.url, "  budget: {requests: 7}\n  expect: {max_missing: 1}\n", samples=2
    )
    here, there = both.here(text), both.there(text)
    failed = [evaluated.row_scores.failed for evaluated, _ in (here, there)]
    assert failed[0] == failed[1]
    assert sorted(failed[0]) == [6, *range(7, 48)]
    (check,) = [c for c in there[0].result.checks if c.name == "budget"]
    assert (
        "7 requests was used up, and 41 of 48 rollouts were not asked for"
        in reason_of(check)
    )


def test_a_budget_holds_across_workers_and_the_next_run_goes_on(both, model):
    rest = "  budget: {tokens: 60}\n  params: {parallelism: 2}\n  expect: {max_missing: 1}\n"
    text = online(model.url + "?latency=0.02", rest, prompt='"1 + 1"')
    evaluated, _ = both.there(text)
    (check,) = [c for c in evaluated.result.checks if c.name == "budget"]
    assert "the budget of 60 tokens was used up" in reason_of(check)
    assert 6 <= model.posts <= 7  # 11 tokens each: one more was under way
    both.there(text)
    assert 12 <= model.posts <= 14


@pytest.mark.parametrize("function", ["plain", "asks"])
def test_targets_answer_in_the_workers(both, monkeypatch, function):
    monkeypatch.syspath_prepend(both.path)
    module = f"far_agents_{function}"
    (both.path / f"{module}.py").write_text(AGENT)
    (both.path / "words.py").write_text(WORDS)
    text = f"""\
benchmark:
  name: a
  dataset: data.jsonl
  num_samples: 2
  target: {{function: "{module}:{function}", version: one}}
  params: {{parallelism: 4}}
  scorers: [{{type: exact_match, reference: "{{{{ answer }}}}"}}]
  metrics: [mean_reward]
  expect: {{max_missing: 90%}}
"""
    there = both.there(text)
    assert there[0].result.agents[0].estimates["mean_reward"].value == 1.0
    assert shown(both.here(text, "there")) == shown(there)
    samples = [line["_evalmetrics"].get("sample", {}) for line in there[1]]
    pids = {sample["pid"] for sample in samples if sample}
    assert pids  # of the workers: how many of them had a turn is chance
    assert os.getpid() not in pids
