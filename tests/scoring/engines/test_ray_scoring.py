"""Rows scored by workers of a real cluster: the same scores, the same journal."""

import os
import sys
import threading
from pathlib import Path
from types import ModuleType

import pytest
from scoring.engines.conftest import shown

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.ext import register_scorer
from pytest_evalmetrics.reports.sentences import hint_of, reason_of

pytestmark = pytest.mark.ray

BENCH = "benchmark:\n  name: a\n  dataset: data.jsonl\n  scorers: {}"
REMOTE = BENCH.format("""
    - type: remote
      url: {url}
      body: {{score: "{{{{ item.score }}}}", mode: "{{{{ item.mode | default(none) }}}}"}}
      scores: [{{name: accuracy, parser: {{type: json, json_path: $.result.score}}}}]
      max_retries: 0
{more}
  reward: accuracy
  params: {{parallelism: 16}}
  expect: {{max_missing: 90%}}
""")


@register_scorer("far-length")
class Length:
    """A scorer of the user's own, that has no module which a worker could import."""

    scores = ("length", "is_short")

    def __init__(self, *, short):
        self.short = short

    def score(self, row):
        if row.index == 7:
            raise RowError("no-output", "there is no output", hint="write some")
        return {"length": row.index, "is_short": row.index < self.short}


@register_scorer("far-asking")
class Asking:
    """One that asks, and says why."""

    scores = ("asked",)

    def __init__(self, terms, *, url):
        self.endpoint = terms.endpoint(url)

    async def score(self, row, calls):
        first = await calls.post(self.endpoint, {"score": 1}, kind="asking/1")
        later = await calls.post(
            self.endpoint, {"score": row.index % 3}, kind="asking/1"
        )
        return float(first["result"]["score"] + later["result"]["score"])


@register_scorer("far-unsendable")
class Unsendable:
    """One that holds what no other process can have."""

    scores = ("x",)
    lock = threading.Lock()

    def score(self, row):
        return float(row.index)


LOST = """
import threading

LOCK = threading.Lock()

def score(item):
    with LOCK:
        return 1.0
"""


@register_scorer("far-deadly")
class Deadly:
    """One that takes its process down, as a broken extension would."""

    scores = ("x",)

    def score(self, row):
        os._exit(row.index)


@pytest.fixture
def both(both, monkeypatch, request):
    """Let these tests be the project whose modules go along."""
    monkeypatch.setattr(both.engine, "_root", request.path.parent)
    return both


def why(outcome):
    """Give the check that says why there are no numbers."""
    (check,) = [check for check in outcome[0].result.checks if check.gate == "data"]
    return check


def test_scores_failures_and_requests_are_those_of_a_local_run(both, endpoint):
    modes = {3: {"mode": "500"}, 11: {"score": None}}
    both.write([{"id": n, "score": n % 5, **modes.get(n, {})} for n in range(60)])
    more = "    - {type: far-length, short: 9}\n"
    more += f"    - {{type: far-asking, url: '{endpoint.url('/score')}'}}"
    text = REMOTE.format(url=endpoint.url("/score"), more=more)
    here = both.here(text)
    assert endpoint.posts == 60 * 3
    there = both.there(text)
    assert endpoint.posts == 2 * 60 * 3
    assert shown(there) == shown(here)
    assert [sum(f.kinds.values()) for f in there[0].result.failed_rows] == [2, 1]


def test_a_replay_fails_as_the_run_did_wherever_it_was(both, endpoint):
    modes = {2: {"mode": "422"}, 3: {"mode": "500"}, 5: {"score": None}}
    both.write([{"id": n, "score": n % 5, **modes.get(n, {})} for n in range(12)])
    text = REMOTE.format(url=endpoint.url("/score"), more="")
    there, here = both.there(text), both.here(text)
    assert [sum(f.kinds.values()) for f in there[0].result.failed_rows] == [3]
    assert shown(there) == shown(here)
    asked = endpoint.posts
    for replay in (both.there, both.here):
        for journal in ("there", "here"):
            assert shown(replay(text, journal, mode="replay")) == shown(there)
    assert endpoint.posts == asked


def test_a_scorer_that_can_not_be_sent_is_imported_by_the_workers(both):
    both.write([{"id": n} for n in range(3)])
    evaluated, _ = both.there(BENCH.format("[{type: far-unsendable}]\n  reward: x"))
    assert evaluated.row_scores.table.scores["x"].tolist() == [0.0, 1.0, 2.0]


def test_a_scorer_that_can_neither_be_sent_nor_imported_is_reported(both, monkeypatch):
    lost = ModuleType("far_and_nowhere")
    lost.__file__ = str(Path(__file__).with_name("far_and_nowhere.py"))
    monkeypatch.setitem(sys.modules, lost.__name__, lost)
    exec(LOST, vars(lost))  # noqa: S102 - a module that no worker can import
    both.write([{"id": 1}])
    check = why(both.there(BENCH.format("[{type: 'far_and_nowhere:score'}]")))
    assert (
        "the project's code can't be sent to the cluster: TypeError: cannot pickle"
        in reason_of(check)
    )
    assert "could not import it" in reason_of(check)
    assert "No module named 'far_and_nowhere'" in reason_of(check)
    assert "create what can't be pickled" in hint_of(check)


def test_workers_that_die_again_and_again_end_the_benchmark(both, monkeypatch):
    monkeypatch.setattr("pytest_evalmetrics.scoring.engines.ray_scoring._DEATHS", 2)
    both.write([{"id": n} for n in range(9)])
    check = why(both.there(BENCH.format("[{type: far-deadly}]")))
    assert "the Ray cluster lost the work again and again: The actor died" in reason_of(
        check
    )
    assert "--evalmetrics-engine local does without" in hint_of(check)


def test_a_cluster_without_a_free_core_is_reported(both, monkeypatch):
    class Holder:
        def ready(self):
            return True

    ray = both.engine.ray
    holders = [ray.remote(num_cpus=1)(Holder).remote() for _ in range(2)]
    try:
        assert ray.get([holder.ready.remote() for holder in holders]) == [True, True]
        monkeypatch.setattr(both.engine, "patience_s", 1.0)
        both.write([{"id": 1}])
        text = BENCH.format("[{type: far-length, short: 3}]\n  reward: length")
        for always in (True, False):  # who reads notices first, or who scores
            monkeypatch.setattr(both.engine, "_always", always)
            reason = reason_of(why(both.there(text)))
            assert reason == "no node of the Ray cluster had a free core within 1 s"
    finally:
        for holder in holders:
            ray.kill(holder)
