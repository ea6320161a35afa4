import json

import pytest

from pytest_evalmetrics.transport import Answer, Price, Tokens, Transport, tokens_of


@pytest.mark.parametrize(
    ("body", "tokens"),
    [
        (
            {"usage": {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 9}},
            Tokens(5, 3, 9),
        ),
        ({"usage": {"input_tokens": 5, "output_tokens": 3}}, Tokens(5, 3, 8)),
        ({"usage": {"prompt_tokens": 5, "completion_tokens": None}}, Tokens(5, 0, 5)),
        ({"usage": {"prompt_tokens": True, "completion_tokens": -3}}, None),
        ({"usage": {"total_tokens": 7}}, None),
        ({"usage": None}, None),
        ({"usage": []}, None),
        ([], None),
        (None, None),
    ],
)
def test_tokens_are_read_where_an_answer_says_them(body, tokens):
    assert tokens_of(body) == tokens


def answer(prompt=None, completion=0, *, latency=1.0, attempts=1, from_journal=False):
    body = (
        {}
        if prompt is None
        else {"usage": {"prompt_tokens": prompt, "completion_tokens": completion}}
    )
    return Answer(200, body, latency, attempts, from_journal)


def test_sums_per_label():
    tally = Transport().usage
    tally.answered("judge", answer(1_000_000, 100_000, latency=2.0, attempts=3), Price(2.0, 10.0))
    tally.answered("judge", answer(500_000, 0, latency=1.0, from_journal=True), Price(2.0, 10.0))
    tally.failed("judge", 4)
    tally.answered("remote", answer(latency=0.5))
    judge, remote = tally.by_label()["judge"], tally.by_label()["remote"]
    assert (judge.calls, judge.from_journal, judge.requests, judge.failed) == (2, 1, 7, 1)
    assert (judge.prompt_tokens, judge.completion_tokens, judge.total_tokens) == (
        1_500_000,
        100_000,
        1_600_000,
    )
    assert (judge.latency_s, judge.max_latency_s, judge.without_tokens) == (3.0, 2.0, 0)
    assert (judge.cost, judge.cost_now) == (
        4.0,
        3.0,
    )  # 1.5 x 2 + 0.1 x 10; without the journal's 0.5 x 2
    assert (remote.calls, remote.without_tokens, remote.cost) == (1, 1, None)
    assert json.loads(json.dumps(judge.as_dict()))["cost"] == 4.0


def test_a_cost_that_is_not_whole_is_none():
    tally = Transport().usage
    assert tally.cost_now() is None
    tally.answered("judge", answer(1_000_000), Price(2.0, 10.0))
    assert tally.cost_now() == 2.0
    tally.answered("judge", answer(from_journal=True), Price(2.0, 10.0))
    assert tally.by_label()["judge"].cost is None
    assert tally.cost_now() == 2.0
    tally.answered("other", answer(1))
    assert tally.cost_now() is None


def test_the_price_of_an_endpoint_holds_for_its_calls_alone():
    tally = Transport().usage
    priced = {"usage": {"prompt_tokens": 1_000_000, "completion_tokens": 0}}
    tally.answered("x", Answer(200, priced, 0.1, 1, from_journal=False), Price(2, 3))
    tally.answered("x", Answer(200, priced, 0.1, 1, from_journal=True), Price(2, 3))
    assert (tally.by_label()["x"].cost, tally.by_label()["x"].cost_now) == (4, 2)
    tally.answered("x", Answer(200, priced, 0.1, 1, from_journal=False))  # nobody knows its price
    assert (tally.by_label()["x"].cost, tally.by_label()["x"].cost_now) == (None, None)
    tally.answered("y", Answer(200, priced, 0.1, 1, from_journal=True))
    assert tally.by_label()["y"].cost_now is None
