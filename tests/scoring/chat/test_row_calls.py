"""The requests of one row: their places in the journal, and what reports show of them."""

import asyncio
import json

import pytest
from scoring.transport.fakes import URL, WORD, Client, broken, ok, secret

from pytest_evalmetrics.ext import CallError, Endpoint
from pytest_evalmetrics.scoring.chat.row_calls import Calls, shown_text
from pytest_evalmetrics.scoring.transport import Occurrences

ENDPOINT = Endpoint(URL)


@pytest.fixture
def client(tmp_path):
    with Client(tmp_path / "journal.log") as client:
        yield client


def calls_of(client, **settings):
    return Calls(client.transport, 0, Occurrences(), "test", **settings)


def post(client, calls, body, endpoint=ENDPOINT, check=None):
    return client.run(calls.post(endpoint, body, kind="test/1", check=check))


def test_a_request_and_its_answer_are_shown(client):
    calls = calls_of(client(ok({"score": 0.5})))
    assert post(client, calls, {"a": 1}) == {"score": 0.5}
    assert calls.exchanges == [{"request": '{"a":1}', "answer": '{"score":0.5}'}]
    assert calls.from_journal is False


def test_the_seconds_of_the_last_answer_are_kept(client):
    def slow(_request):
        client.time.now += 2.5
        return ok()

    calls = calls_of(client(slow))
    assert calls.latency_s == 0.0
    post(client, calls, 1)
    assert calls.latency_s == 2.5


def test_a_request_without_an_answer_is_shown_too(client):
    calls = calls_of(client(ok(), broken("closed")))
    post(client, calls, "first")
    with pytest.raises(CallError):
        post(client, calls, "second", Endpoint(URL, max_retries=0))
    assert calls.exchanges[1] == {"request": '"second"', "answer": None}


def test_an_answer_that_was_refused_is_shown(client):
    def refuse(_body):
        raise CallError("no-score", "there is no score in it")

    calls = calls_of(client(ok({"kind": "x"})))
    with pytest.raises(CallError):
        post(client, calls, 1, check=refuse)
    assert calls.exchanges == [{"request": "1", "answer": '{"kind":"x"}'}]


def test_a_key_is_hidden_in_what_is_shown(client):
    calls = calls_of(client(ok({"you sent": WORD})))
    post(client, calls, {"a": WORD}, Endpoint(URL, secret(WORD)))
    assert calls.exchanges == [
        {"request": '{"a":"***"}', "answer": '{"you sent":"***"}'}
    ]


def test_half_a_surrogate_pair_is_shown_as_its_escape(client):
    calls = calls_of(client(ok()))
    post(client, calls, {"a": "\ud800"})
    assert calls.exchanges[0]["request"] == '{"a":"\\ud800"}'


def same(text):
    return text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x" * 4000, "x" * 4000),
        ("x" * 4001, "x" * 4000 + "… (of 4001 characters)"),
        ("ä\ud800", "ä\\ud800"),
    ],
)
def test_a_shown_text_is_short_and_can_be_written(text, shown):
    assert shown_text(text, same) == shown


def test_a_secret_is_hidden_before_a_text_is_cut():
    assert shown_text("key" + "x" * 4000, lambda text: text.replace("key", "")) == (
        "x" * 4000
    )


def test_exchanges_are_in_the_order_of_the_requests_not_of_the_answers(client):
    async def slow(_request):
        for _ in range(10):
            await asyncio.sleep(0)
        return ok("slow")

    async def two(calls):
        first = calls.ticket(ENDPOINT, 1, kind="test/1")
        second = calls.ticket(ENDPOINT, 2, kind="test/1")
        await asyncio.gather(calls.send(second, 2), calls.send(first, 1))

    calls = calls_of(client(ok("before"), ok("fast"), slow))
    post(client, calls_of(client), 0)
    client.run(two(calls))
    assert [exchange["request"] for exchange in calls.exchanges] == ["1", "2"]


def test_the_journal_answers_the_same_row_of_a_run_that_starts_again(client):
    def ask_twice():
        calls = calls_of(client)
        answers = [post(client, calls, 1), post(client, calls, 1)]
        return answers, calls

    client(ok("a"), ok("b"), mode="normal")
    assert ask_twice()[0] == ["a", "b"]
    client(ok("c"), mode="normal")
    answers, calls = ask_twice()
    assert answers == ["a", "b"]
    assert calls.from_journal is True


def test_a_row_that_is_asked_anew_is_not_answered_by_the_journal(client):
    post(client, calls_of(client(ok("a"), mode="normal")), 1)
    client(ok("b"), mode="normal")
    assert post(client, calls_of(client), 1) == "a"
    assert post(client, calls_of(client, anew=True), 1) == "b"


def test_each_repetition_of_a_question_has_an_answer_of_its_own(client):
    def ask_three():
        all_calls = calls_of(client).repeated(3)
        answers = [post(client, calls, 1) for calls in all_calls]
        return answers, all_calls[0]

    client(ok("a"), ok("b"), ok("c"), mode="normal")
    answers, first = ask_three()
    assert answers == ["a", "b", "c"]
    assert [exchange["answer"] for exchange in first.exchanges] == ['"a"', '"b"', '"c"']
    client(ok("d"), mode="normal")
    assert ask_three()[0] == ["a", "b", "c"]


def test_the_calls_after_an_answer_are_found_by_it_in_whatever_order_rows_come(client):
    def ask_rows(order):
        occurrences = Occurrences()
        rows = [Calls(client.transport, 0, occurrences, "test") for _ in range(2)]
        for row, calls in enumerate(rows):
            post(client, calls, {"row": row})
        answers = {}
        for row in order:
            answers[row] = post(client, rows[row].following(), "the same question")
        return answers

    client(ok(), ok(), ok("of 0"), ok("of 1"), mode="normal")
    assert ask_rows([0, 1]) == {0: "of 0", 1: "of 1"}
    client(ok("new"), mode="normal")
    assert ask_rows([1, 0]) == {0: "of 0", 1: "of 1"}


def perform(client, calls, answer, *, version="1", given=None):
    async def make():
        return json.dumps(answer)

    work = calls.perform(
        "m:f", {"x": 1} if given is None else given, make, version=version
    )
    return client.run(work)


def test_a_function_is_called_in_place_of_a_request_and_kept(client):
    calls = calls_of(client(mode="normal"))
    assert perform(client, calls, "a").body == "a"
    assert calls.exchanges == [{"request": '{"x":1}', "answer": '"a"'}]
    client(mode="normal")
    assert perform(client, calls_of(client), "b").body == "a"
    assert perform(client, calls_of(client), "b", version="2").body == "b"
    assert perform(client, calls_of(client), "c", given={"x": 2}).body == "c"


def test_a_function_without_a_version_is_not_kept(client):
    client(mode="normal")
    assert perform(client, calls_of(client), "a", version=None).body == "a"
    assert perform(client, calls_of(client), "b", version=None).body == "b"


def test_calls_and_functions_are_counted_under_the_label(client):
    client(ok({"usage": {"prompt_tokens": 5}}))
    post(client, calls_of(client), 1)
    perform(client, calls_of(client), "a")
    assert client.usage.calls == 2
    assert client.usage.prompt_tokens == 5


def test_each_sample_of_a_row_has_answers_of_its_own(client):
    def ask_samples():
        occurrences = Occurrences()
        answers = []
        for sample in (0, 1):
            calls = Calls(client.transport, sample, occurrences, "test")
            answers += [post(client, calls, 1), perform(client, calls, sample).body]
        return answers

    client(ok("a"), ok("b"), mode="normal")
    assert ask_samples() == ["a", 0, "b", 1]
    client(ok("c"), mode="normal")
    assert ask_samples() == ["a", 0, "b", 1]


def test_equal_rows_have_answers_of_their_own(client):
    def ask_rows(answers):
        occurrences = Occurrences()
        return [
            perform(
                client, Calls(client.transport, 0, occurrences, "test"), answer
            ).body
            for answer in answers
        ]

    client(mode="normal")
    assert ask_rows(["a", "b"]) == ["a", "b"]
    client(mode="normal")
    assert ask_rows(["c", "d"]) == ["a", "b"]


@pytest.mark.parametrize(
    "other",
    [
        {"kind": "other/1"},
        {"endpoint": Endpoint(f"{URL}/other")},
        {"versions": {"prompt": "2"}},
    ],
)
def test_a_question_of_another_kind_has_an_answer_of_its_own(client, other):
    def ask(**more):
        keys = {"endpoint": ENDPOINT, "body": 1, "kind": "test/1", **more}
        return client.run(calls_of(client).post(**keys))

    client(ok("a"), ok("b"), mode="normal")
    assert [ask(), ask(**other), ask(), ask(**other)] == ["a", "b", "a", "b"]


def test_the_later_calls_of_a_row_are_found_by_its_first(client):
    def ask(first):
        calls = calls_of(client)
        return post(client, calls, first), post(client, calls, "then")

    client(ok("a"), ok("of a"), ok("b"), ok("of b"), mode="normal")
    assert [ask("a"), ask("b"), ask("a"), ask("b")] == [
        ("a", "of a"),
        ("b", "of b"),
        ("a", "of a"),
        ("b", "of b"),
    ]


def test_the_calls_of_repetitions_are_shown_behind_those_of_the_first(client):
    client(*(ok(n) for n in range(4)))
    first, second = calls_of(client).repeated(2)
    for calls, body in ((second, "b1"), (first, "a1"), (second, "b2"), (first, "a2")):
        post(client, calls, body)
    requests = [exchange["request"] for exchange in first.exchanges]
    assert requests == ['"a1"', '"a2"', '"b1"', '"b2"']


def test_what_is_shown_is_the_body_that_is_to_be_displayed(client):
    async def send(calls):
        call = calls.ticket(ENDPOINT, {"secret form": 1}, kind="test/1")
        await calls.send(call, {"question": 1})

    calls = calls_of(client(ok("a")))
    client.run(send(calls))
    assert calls.exchanges == [{"request": '{"question":1}', "answer": '"a"'}]
    assert client.sender.bodies == [b'{"secret form":1}']
