"""Rows scored by workers of a real cluster: the same scores, the same journal."""

import os
import re
import sys
import threading
from pathlib import Path
from types import ModuleType

import pytest

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.ext import register_scorer

pytestmark = pytest.mark.ray

REMOTE = """
scorers:
  - type: remote
    url: {url}
    body: {{score: "{{{{ item.score }}}}", mode: "{{{{ item.mode | default(none) }}}}"}}
    scores: [{{name: accuracy, parser: {{type: json, json_path: $.result.score}}}}]
    max_retries: 0
{more}
reward: accuracy
params: {{parallelism: 16}}
expect: {{max_missing: 90%}}
"""


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
        later = await calls.post(self.endpoint, {"score": row.index % 3}, kind="asking/1")
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
def engine(ray_engine, monkeypatch, request):
    """Let these tests be the project whose modules go along."""
    monkeypatch.setattr(ray_engine, "_root", request.path.parent)
    return ray_engine


def test_scores_failures_and_requests_are_those_of_a_local_run(bench, endpoint, engine):
    modes = {3: {"mode": "500"}, 11: {"score": None}}
    rows = [{"id": n, "score": n % 5, **modes.get(n, {})} for n in range(60)]
    more = "  - {type: far-length, short: 9}\n"
    more += f"  - {{type: far-asking, url: '{endpoint.url('/score')}'}}"
    bench.write(rows, REMOTE.format(url=endpoint.url("/score"), more=more))
    here = bench.run(None, "here")
    assert endpoint.posts == 60 * 3
    there = bench.run(engine, "there")
    assert endpoint.posts == 2 * 60 * 3
    assert there.rows == here.rows
    assert shown(there) == shown(here)
    assert [sum(f.kinds.values()) for f in there.result.failed_rows] == [2, 1]


def test_a_replay_tells_of_failed_rows_what_the_run_told_wherever_it_was(bench, endpoint, engine):
    modes = {2: {"mode": "422"}, 3: {"mode": "500"}, 5: {"score": None}}
    rows = [{"id": n, "score": n % 5, **modes.get(n, {})} for n in range(12)]
    bench.write(rows, REMOTE.format(url=endpoint.url("/score"), more=""))
    there = bench.run(engine, "there")
    here = bench.run(None, "here")
    assert [sum(f.kinds.values()) for f in there.result.failed_rows] == [3]
    asked = endpoint.posts
    for where in (engine, None):
        for journal in ("there", "here"):
            again = bench.run(where, journal, "replay")
            assert again.rows == there.rows == here.rows
            assert shown(again) == shown(there)
    assert endpoint.posts == asked


def shown(ran):
    """Write a result; in this form NaN is NaN."""
    return re.sub(r" at 0x\w+", "", repr(ran.result))


def test_a_scorer_that_can_not_be_sent_is_imported_by_the_workers(bench, engine):
    bench.write([{"id": n} for n in range(3)], "scorers: [{type: far-unsendable}]\nreward: x")
    assert [scores for _, scores, _, _ in bench.run(engine).rows] == [
        {"x": "0.0"},
        {"x": "1.0"},
        {"x": "2.0"},
    ]


def test_one_that_can_neither_be_sent_nor_imported_says_so(bench, engine, monkeypatch):
    lost = ModuleType("far_and_nowhere")
    lost.__file__ = str(Path(__file__).with_name("far_and_nowhere.py"))
    monkeypatch.setitem(sys.modules, lost.__name__, lost)
    exec(LOST, vars(lost))  # noqa: S102 - a module that no worker can import
    bench.write([{"id": 1}], "scorers: [{type: 'far_and_nowhere:score'}]\nmetrics: mean_reward")
    (check,) = [c for c in bench.run(engine).result.checks if c.gate == "data"]
    assert (
        "the project's code can't be sent to the cluster: TypeError: cannot pickle" in check.reason
    )
    assert "could not import it" in check.reason
    assert "No module named 'far_and_nowhere'" in check.reason
    assert "create what can't be pickled" in check.hint


def test_workers_that_die_again_and_again_end_the_benchmark(bench, engine, monkeypatch):
    monkeypatch.setattr("pytest_evalmetrics.engines.ray_scoring._DEATHS", 2)
    rows = [{"id": n} for n in range(9)]
    bench.write(rows, "scorers: [{type: far-deadly}]\nmetrics: mean_reward")
    (check,) = [c for c in bench.run(engine).result.checks if c.gate == "data"]
    assert "the Ray cluster lost the work again and again: The actor died" in check.reason
    assert "--evalmetrics-engine local does without" in check.hint


def test_a_cluster_without_a_free_core_is_said(bench, engine, monkeypatch):
    class Holder:
        def ready(self):
            return True

    ray = engine.ray
    holders = [ray.remote(num_cpus=1)(Holder).remote() for _ in range(2)]
    try:
        assert ray.get([holder.ready.remote() for holder in holders]) == [True, True]
        monkeypatch.setattr(engine, "patience_s", 1.0)
        bench.write([{"id": 1}], "scorers: [{type: far-length, short: 3}]\nreward: length")
        for always in (True, False):  # who reads notices first, or who scores
            monkeypatch.setattr(engine, "_always", always)
            (check,) = [c for c in bench.run(engine).result.checks if c.gate == "data"]
            assert check.reason == "no node of the Ray cluster had a free core within 1 s"
    finally:
        for holder in holders:
            ray.kill(holder)
