"""A target by itself: which functions are taken, how they are called, what their errors become."""

import asyncio
import json
import threading

import pytest

from pytest_evalmetrics.errors import RegistryError
from pytest_evalmetrics.ext import CallError, Terms
from pytest_evalmetrics.scoring.generation import TargetGenerator
from pytest_evalmetrics.spec.model_keys import TargetSpec

AGENT = """\
import asyncio
import threading


class Echo:
    def __call__(self, row):
        return row["said"]


class Needs:
    def __init__(self, key):
        self.key = key


def changes(row):
    row["said"] = "changed"
    return row["said"]


def counts(row, sample):
    return str(sample)


async def waits(row):
    await asyncio.sleep(60)


def where(row):
    return threading.current_thread().name


async def where_async(row):
    return threading.current_thread().name


class Later:
    async def __call__(self, row):
        return row["said"]


def fails(row):
    raise ValueError("no such tool")


def two(row, tools):
    return "x"


WORD = "x"
"""


@pytest.fixture
def target(tmp_path, monkeypatch):
    """Make the target of a name in a module of the user's."""
    (tmp_path / "targets_of_a_test.py").write_text(AGENT, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    def make(name, terms=None, **keys):
        spec = TargetSpec(function=f"targets_of_a_test:{name}", **keys)
        return TargetGenerator(spec, terms or Terms())

    return make


def answer(generator, row, sample=0):
    return json.loads(asyncio.run(generator.answer(row, sample)))


def test_a_class_is_made_and_called(target):
    assert answer(target("Echo"), {"said": "hi"}) == "hi"


def test_a_target_gets_a_row_of_its_own(target):
    row = {"said": "hi"}
    assert answer(target("changes"), row) == "changed"
    assert row == {"said": "hi"}


def test_a_target_that_asks_for_it_gets_the_number_of_the_attempt(target):
    assert answer(target("counts"), {}, sample=3) == "3"


@pytest.mark.parametrize(
    ("terms", "keys"),
    [(Terms(timeout_s=9.0), {"timeout_seconds": 0.01}), (Terms(timeout_s=0.01), {})],
)
def test_a_target_that_takes_too_long_fails_its_rollout(target, terms, keys):
    with pytest.raises(CallError, match=r"no answer within 0\.01 s") as raised:
        answer(target("waits", terms, **keys), {})
    assert raised.value.kind == "timeout"


def test_an_async_target_is_called_on_the_loop_and_a_plain_one_in_a_thread(target):
    here = threading.current_thread().name
    assert answer(target("where_async"), {}) == here
    assert answer(target("where"), {}) == "evalmetrics-target"
    assert answer(target("Later"), {"said": "hi"}) == "hi"


def test_what_a_target_raises_is_named(target):
    with pytest.raises(CallError) as raised:
        answer(target("fails"), {})
    assert raised.value.kind == "raised-ValueError"
    assert raised.value.message == "the target raised ValueError: no such tool"


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        (
            "Needs",
            "can't be made: TypeError",
            "name a function, or a class that is made without arguments and called",
        ),
        (
            "WORD",
            "is not a function",
            "name a function that takes a row and gives its answer",
        ),
        (
            "two",
            "can't be called with a row: two(row, tools)",
            "write def answer(row): ...; or (row, sample), with the attempt's number",
        ),
    ],
)
def test_what_can_not_answer_a_row_is_refused_with_the_way_out(
    target, name, message, hint
):
    with pytest.raises(RegistryError) as raised:
        target(name)
    assert message in raised.value.message
    assert raised.value.hint == hint


def test_a_target_has_all_scores_of_an_answer_but_its_cost(target):
    scores = target("Echo").scores
    assert "cost" not in scores
    assert {"output_tokens", "latency_s", "truncated"} <= set(scores)
