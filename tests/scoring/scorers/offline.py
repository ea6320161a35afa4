"""What the tests of scorers without calls share: one made of its keys, and rows to score."""

import json
from functools import cache

import pytest
from pydantic import TypeAdapter

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.ext import BenchmarkSpec, Row, Terms
from pytest_evalmetrics.scoring.scorers import make_scorers


@cache
def _adapter():
    return TypeAdapter(BenchmarkSpec)


def entry(**keys):
    """Read one entry of `scorers:`."""
    whole = {"name": "x", "dataset": "d.jsonl", "scorers": [keys]}
    return _adapter().validate_json(json.dumps(whole)).scorers[0]


def make(spec):
    (scorer,) = make_scorers([spec], Terms(), lambda *_: 1)
    return scorer


def recorded(item):
    """Give the row of a recorded rollout."""
    return Row(0, "agent", "a", 0, item, item)


def row(item, sample=None):
    """Give the row of a data set, or what was generated for one."""
    return Row(0, "agent", "a", 0, item, sample or {})


def refusal(spec, item):
    """Score a row that can't be; give the error's kind and words."""
    with pytest.raises(RowError) as raised:
        make(spec).score(item)
    return f"{raised.value.kind}: {raised.value.message}"
