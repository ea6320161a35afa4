"""A judge in a process of its own, and rows that are judged without a pytest run."""

import json
from contextlib import closing
from pathlib import Path

from pydantic import TypeAdapter
from scoring.transport.conftest import Server

from pytest_evalmetrics.ext import BenchmarkSpec, Calls, Row, Terms
from pytest_evalmetrics.scoring.scorers import make_scorers
from pytest_evalmetrics.scoring.transport import Journal, Occurrences, Transport
from pytest_evalmetrics.scoring.transport.origin_state import RetryPolicy
from pytest_evalmetrics.spec.model_keys import ModelSpec

CHAT = "/v1/chat/completions"


class JudgeProcess(Server):
    """A process of scorers/judge.py; what it saw is counted from `forget` on."""

    script = Path(__file__).parent / "scoring" / "scorers" / "judge.py"

    def url(self, query=""):
        return self.at(CHAT) + (f"?{query}" if query else "")

    def model(self, query="", **more):
        return ModelSpec(url=self.url(query), name="judge", **more)

    def entry(self, query="", **more):
        """Write the model as a benchmark file does."""
        return {"url": self.url(query), "name": "judge", **more}

    def forget(self):
        self.seen("?reset")

    @property
    def posts(self):
        return int(self.seen()["posts"])

    @property
    def bodies(self):
        return list(self.seen()["bodies"])


def row(**item):
    return Row(0, "agent", 0, 0, item, {}, "data.jsonl:1")


def run(work, path=None, of=None):
    """Do something with a row's calls; return its result, and the calls."""
    journal = None if path is None else Journal(path)
    # a row that failed is asked again at once: chance would let it wait for up to a second
    policy = RetryPolicy(base_s=0.01)
    with closing(Transport(journal, policy=policy)) as transport:
        calls = Calls(transport, (of or row()).sample, Occurrences(), "x")
        return transport.run(work(calls)), calls


TERMS = Terms(timeout_s=10)


def scorer_of(terms=TERMS, **keys):
    """Make the scorer of an entry of a benchmark file."""
    whole = {"name": "x", "dataset": "d.jsonl", "scorers": [keys]}
    (scorer,) = make_scorers(
        TypeAdapter(BenchmarkSpec).validate_json(json.dumps(whole)).scorers,
        terms,
        lambda *_: 1,
    )
    return scorer


def judged(scorer, scored, path=None):
    """Score one row."""
    return run(lambda calls: scorer.score_with(scored, calls), path, scored)[0]
