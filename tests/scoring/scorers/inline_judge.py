"""A judge in this process: what it is asked is kept, and what it answers is a script."""

import json

from scoring.scorers import offline
from scoring.transport.fakes import ok

from pytest_evalmetrics.ext import Calls, Row
from pytest_evalmetrics.scoring.transport import Occurrences

MODEL = {"url": "http://judge.example/v1", "name": "judge", "max_retries": 1}


def said(value):
    """Write the answer of a judge's endpoint: a text, or a value as JSON."""
    content = value if isinstance(value, str) else json.dumps(value)
    return ok({"choices": [{"message": {"content": content}}]})


def scorer_of(**keys):
    """Make the scorer of an entry of a benchmark file."""
    return offline.make(offline.entry(**keys))


def make(kind, **keys):
    """Make a scorer with a prompt of ours."""
    return scorer_of(type=kind, judge_model=MODEL, **keys)


def judged(client, scorer, item, sample=None):
    """Score one row; the client has the judge's answers."""
    scored = Row(0, "agent", 0, 0, item, sample or {})
    calls = Calls(client.transport, 0, Occurrences(), "test")
    return client.run(scorer.score_with(scored, calls))


def prompts(client):
    """Return what the judge was asked, in the order of the questions."""
    bodies = [json.loads(body) for body in client.sender.bodies]
    return [body["messages"][-1]["content"] for body in bodies]
