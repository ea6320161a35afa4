"""One question: its form, its second try, its requests counted against a real process."""

import asyncio

import pytest
from judge_process import TERMS, run

from pytest_evalmetrics.errors import EvalMetricsError, RowError
from pytest_evalmetrics.ext import CallError, ask, chat_model, json_in, side_by_side

SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}


def read(reply):
    answer = json_in(reply)
    if not isinstance(answer, dict) or not isinstance(answer.get("n"), int):
        raise RowError("bad-answer", "there is no n in it")
    return int(answer["n"])


def model(judge_server, query="", **more):
    return chat_model(judge_server.model(query, **more), TERMS)


def question(calls, of, text='[[say: {"n": 3}]]', schema=SCHEMA):
    messages = [{"role": "user", "content": text}]
    return ask(calls, of, messages, kind="number/1", read=read, schema=schema)


@pytest.mark.parametrize(
    ("takes", "requests", "form"),
    [
        ("json_schema", 3, "json_schema"),
        ("json_object", 4, "json_object"),
        ("none", 5, None),
    ],
)
def test_the_form_is_probed_once(judge_server, takes, requests, form):
    judge = model(judge_server, f"takes={takes}")

    async def work(calls):
        return await side_by_side([question(calls, judge) for _ in range(3)])

    answers, calls = run(work)
    assert answers == [3, 3, 3]
    assert judge_server.posts == requests
    assert judge_server.bodies[-1].get("response_format", {}).get("type") == form
    # what is told is the question, in whatever form it was sent
    assert len({exchange["request"] for exchange in calls.exchanges}) == 1
    spent = judge.spending.as_dict(None)
    assert (spent["calls"], spent["requests"]) == (3, 3)


def test_a_schema_is_sent_in_the_strict_form(judge_server):
    run(lambda calls: question(calls, model(judge_server)))
    (body,) = judge_server.bodies
    assert body == {
        "model": "judge",
        "messages": [{"role": "user", "content": '[[say: {"n": 3}]]'}],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "number", "strict": True, "schema": SCHEMA},
        },
    }


@pytest.mark.parametrize("takes", ["json_schema", "none"])
def test_after_a_bad_answer_the_same_question_is_asked_once_more(
    judge_server, tmp_path, takes
):
    judge = model(judge_server, f"takes={takes}&bad=first")
    text = f'Taking {takes}: [[say: {{"n": 3}}]]'
    answer, calls = run(lambda calls: question(calls, judge, text), tmp_path / "j")
    assert answer == 3
    probing = 0 if takes == "json_schema" else 2
    assert judge_server.posts == 2 + probing
    first, second = judge_server.bodies[-2:]
    assert second == first
    # answered from the journal, whatever form it was sent in
    judge_server.forget()
    again = model(judge_server, f"takes={takes}&bad=first")
    replayed, same = run(lambda calls: question(calls, again, text), tmp_path / "j")
    assert (replayed, judge_server.posts) == (3, 0)
    assert same.exchanges == calls.exchanges
    assert [e["answer"] is not None for e in same.exchanges] == [True, True]
    assert again.spending.as_dict(None) == judge.spending.as_dict(None)


def test_an_error_of_a_gateway_leaves_the_question_as_it_is(judge_server):
    judge = model(judge_server, "error=first")
    text = 'Behind a gateway: [[say: {"n": 3}]]'
    answer, _ = run(lambda calls: question(calls, judge, text))
    assert answer == 3
    first, second = judge_server.bodies
    assert second == first


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_no_more_requests_than_calls_times_one_and_retries(judge_server, retries):
    judge = model(judge_server, "bad=always", max_retries=retries)
    with pytest.raises((RowError, CallError), match="no JSON") as raised:
        run(lambda calls: question(calls, judge))
    assert judge_server.posts == min(2, 1 + retries)
    assert ("asked twice" in str(raised.value)) == (retries > 0)


def test_second_tries_side_by_side_find_their_answers_again(judge_server, tmp_path):
    judge = model(judge_server, "bad=first")

    async def work(calls):
        texts = [f'{n}: [[say: {{"n": {n % 2}}}]]' for n in range(6)]
        texts += texts[:2]  # the same question twice
        return await side_by_side([question(calls, judge, text) for text in texts])

    first, calls = run(work, tmp_path / "j")
    assert first == [0, 1, 0, 1, 0, 1, 0, 1]
    # each question of 6 is answered from its second time on
    assert judge_server.posts == 8 + 6
    again, same = run(work, tmp_path / "j")
    assert (again, judge_server.posts) == (first, 14)
    assert same.exchanges == calls.exchanges
    assert len(same.exchanges) == 14


def test_a_second_try_is_shown_right_behind_the_first(judge_server):
    judge = model(judge_server, "bad=first")

    async def work(calls):
        texts = ['shown a: [[say: {"n": 1}]]', 'shown b: [[say: {"n": 2}]]']
        return await side_by_side([question(calls, judge, text) for text in texts])

    _, calls = run(work)
    requests = [exchange["request"] for exchange in calls.exchanges]
    assert ["shown a" in request for request in requests] == [True, True, False, False]


def test_an_answer_from_the_journal_does_not_settle_the_form(judge_server, tmp_path):
    judge = model(judge_server, "takes=json_object")
    run(lambda calls: question(calls, judge), tmp_path / "j")
    judge_server.forget()

    async def work(calls):
        old = question(calls, judge)
        return [await old, await question(calls, judge, '[[say: {"n": 4}]]')]

    answers, _ = run(work, tmp_path / "j")
    assert answers == [3, 4]
    assert judge_server.posts == 2  # refused as a schema, then taken


def test_a_question_that_is_refused_in_every_form_is_no_matter_of_form(judge_server):
    judge = model(judge_server, "status=400")

    async def work(calls):
        for at in range(5):
            with pytest.raises(CallError, match="this judge answers nobody"):
                await question(calls, judge)
            assert judge_server.posts == (3 * (at + 1) if at < 3 else 9 + at - 2)

    run(work)


def test_an_endpoint_that_refuses_stops_at_once_with_its_words(judge_server):
    judge = model(judge_server, "status=401")

    async def work(calls):
        return await side_by_side([question(calls, judge) for _ in range(3)])

    with pytest.raises(EvalMetricsError, match="this judge answers nobody") as raised:
        run(work)
    assert not isinstance(raised.value, CallError)
    assert judge_server.posts <= 3


def test_the_first_error_in_order_is_reported(judge_server):
    judge = model(judge_server, max_retries=0)

    async def work(calls):
        texts = ['[[say: {"n": 1}]]', '[[say: {"m": 2}]]', "[[garbage]]"]
        return await side_by_side([question(calls, judge, text) for text in texts])

    with pytest.raises(RowError, match="there is no n in it"):
        run(work)
    assert judge_server.posts == 3


def test_a_cancelled_question_cancels(judge_server, tmp_path):
    judge = model(judge_server, "latency=30")

    async def work(calls):
        async with asyncio.timeout(0.2):
            await side_by_side([question(calls, judge) for _ in range(2)])

    with pytest.raises(TimeoutError):
        run(work, tmp_path / "j")
