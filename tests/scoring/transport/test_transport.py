"""The run's way to its endpoints: what it counts, keeps, and says while it waits."""

import _thread
import asyncio
import json
from contextlib import suppress

import pytest
from msgspec import structs
from scoring.transport.fakes import (
    KEY,
    URL,
    WORD,
    FakeSender,
    FakeTime,
    broken,
    failures_in,
    ok,
    raw,
    records_in,
    status,
)

from pytest_evalmetrics.errors import EvalMetricsError, RowError
from pytest_evalmetrics.ext import CallError, Endpoint
from pytest_evalmetrics.scoring.transport import (
    Call,
    Journal,
    Meter,
    Transport,
    Work,
    written_body,
)
from pytest_evalmetrics.scoring.transport import client as client_module
from pytest_evalmetrics.scoring.transport.journal_claims import Holder
from pytest_evalmetrics.spec.model_keys import PriceSpec

PRICE = PriceSpec(input=1.0, output=1.0)


def accept(_body):
    pass


def refuse(_body):
    raise RowError("no-score", "there is no score", hint="write one")


def call_of(body=1, **settings):
    endpoint = settings.pop("endpoint", Endpoint(URL, price=PRICE))
    return Call(endpoint, written_body(body), label="test", **settings)


class Counting(Meter):
    """A meter that writes down what it is told."""

    def __init__(self, refusal=None):
        self.refusal = refusal
        self.told = []

    def admit(self):
        self.told.append("admit")
        if self.refusal is not None:
            raise self.refusal

    def paid(self, requests, tokens, price):
        counted = None if tokens is None else tokens.total
        self.told.append(("paid", requests, counted, price))

    def uncounted(self):
        self.told.append("uncounted")


# -- what a meter is told --------------------------------------------------------------------------


def told(client, answer, *, check=accept, call=None):
    """Make one call; return what its meter was told."""
    meter = Counting()
    client(ok(), answer)
    client.ask("first")
    call = call or call_of()
    with suppress(CallError):
        client.run(client.transport.call(call, check, meter))
    return meter.told


def test_a_call_is_admitted_and_then_paid(client):
    answer = ok({"usage": {"prompt_tokens": 5}})
    assert told(client, answer) == ["admit", ("paid", 1, 5, PRICE)]


def test_an_answer_that_is_refused_was_paid_too(client):
    answer = ok({"usage": {"prompt_tokens": 5}})
    assert told(client, answer, check=refuse) == ["admit", ("paid", 1, 5, PRICE)]


def test_an_answer_that_is_no_json_was_paid_too(client):
    assert told(client, raw(b"{")) == ["admit", ("paid", 1, None, PRICE)]


def test_each_attempt_of_a_call_that_fails_was_paid(client):
    assert told(client, status(500)) == ["admit", ("paid", 4, None, PRICE)]


def test_a_models_answer_without_tokens_is_uncounted(client):
    answer = ok({"choices": []})
    assert told(client, answer) == ["admit", ("paid", 1, None, PRICE), "uncounted"]


@pytest.mark.parametrize("body", [{"score": 1}, ["choices"], 1])
def test_an_answer_of_another_endpoint_has_no_tokens_to_miss(client, body):
    assert told(client, ok(body)) == ["admit", ("paid", 1, None, PRICE)]


def test_an_answer_of_the_journal_is_neither_admitted_nor_paid(client):
    client(mode="normal").run(client.transport.call(call_of(), accept))
    meter = Counting()
    answer = client.run(client.transport.call(call_of(), accept, meter))
    assert answer.from_journal
    assert meter.told == []


def test_a_call_that_is_not_admitted_is_not_sent_and_fails(client):
    meter = Counting(RowError("budget", "the budget is used up", hint="raise it"))
    client(mode="normal")
    with pytest.raises(CallError) as raised:
        client.run(client.transport.call(call_of(), accept, meter))
    assert client.sender.bodies == []
    assert raised.value.kind == "budget"
    assert raised.value.message == "the budget is used up"
    assert raised.value.hint == "raise it"
    assert (client.usage.failed, client.usage.requests) == (1, 0)
    # it can be made by the next run, or by another process
    assert client.run(client.transport.call(call_of(), accept)).body == {"score": 1.0}


# -- failures --------------------------------------------------------------------------------------


def failure_of(client, call, check=accept):
    with pytest.raises(EvalMetricsError) as raised:
        client.run(client.transport.call(call, check))
    return raised.value


def test_a_failure_names_the_call_its_attempts_and_what_was_said(client):
    client(ok(), status(500, "out of memory"))
    client.ask("first")
    error = failure_of(client, call_of())
    assert error.message == (
        f"POST {URL}: answered 500 Internal Server Error, and said: out of memory "
        "(4 attempts)"
    )
    assert (error.kind, error.status, error.attempts) == ("http-500", 500, 4)


def test_a_failure_of_one_attempt_counts_none(client):
    client(ok(), raw(b"", status=410)).ask("first")
    error = failure_of(client, call_of())
    assert error.message == f"POST {URL}: answered 410 Gone"
    assert error.attempts == 1


def test_a_failure_that_stops_all_is_about_the_url_of_the_file(client):
    client(raw(b"", status=404))
    endpoint = Endpoint(URL, written="${HOST}/score")
    error = failure_of(client, call_of(endpoint=endpoint))
    assert error.message == f"POST {URL}: answered 404 Not Found"
    assert error.about == "${HOST}/score"
    assert not isinstance(error, CallError)


def test_a_key_is_hidden_in_a_message_and_in_a_hint(client):
    def repeat(_body):
        raise RowError("bad", f"not {WORD}", hint=f"never {WORD}")

    error = failure_of(client(), call_of(endpoint=Endpoint(URL, KEY)), repeat)
    assert (error.message, error.hint) == ("not ***", "never ***")


def test_secrets_that_were_kept_are_hidden_before_they_are_used(client):
    client()
    assert client.transport.hide(WORD) == WORD
    client.transport.keep_secret([KEY])
    assert client.transport.hide(f"a {WORD}") == "a ***"


# -- the journal -----------------------------------------------------------------------------------


def test_an_answer_that_repeats_its_key_is_warned_of_once(client, path):
    client(ok({"you sent": WORD}), mode="normal")
    for body in (1, 2):
        client.ask(body, secret=KEY)
    assert client.transport.warnings == (
        (
            "an endpoint repeats its key in answers: they are used as they came, also in "
            "rollouts.jsonl, but not kept in the journal"
        ),
    )
    assert records_in(path) == {}


def test_an_answer_that_repeats_its_key_is_nothing_to_warn_of_without_a_journal(client):
    client(ok({"you sent": WORD})).ask(secret=KEY)
    assert client.transport.warnings == ()


def test_a_refused_answer_is_kept_with_its_failure(client, path):
    failure_of(client(ok({"kind": "x"}), mode="normal"), call_of(), refuse)
    (failure,) = failures_in(path)
    assert failure.body == '{"kind": "x"}'
    assert (failure.kind, failure.message) == ("no-score", "there is no score")
    assert (failure.hint, failure.status, failure.attempts) == ("write one", None, 1)


@pytest.mark.parametrize(("size", "is_kept"), [(65_536, True), (65_537, False)])
def test_a_refused_answer_is_kept_where_it_is_short(client, path, size, is_kept):
    body = b'"' + b"x" * (size - 2) + b'"'
    failure_of(client(raw(body), mode="normal"), call_of(), refuse)
    (failure,) = failures_in(path)
    assert (failure.body is not None) is is_kept


def test_an_answer_that_is_no_json_is_not_kept_with_its_failure(client, path):
    client(ok(), raw(b"{"), mode="normal").ask("first")
    failure_of(client, call_of())
    (failure,) = failures_in(path)
    assert failure.body is None


def test_a_call_that_a_replay_does_not_find_is_named(client):
    client(mode="normal").ask()
    error = failure_of(client(mode="replay"), call_of("another"))
    assert error.kind == "not-in-journal"
    assert error.message == f"the journal has no answer to this call: POST {URL}"
    assert error.hint == "run once without replay"
    assert (client.usage.failed, client.usage.requests) == (1, 0)


def work_of(version="1"):
    return Work("m:f", {"x": 1}, version, 0, 0, "test")


def perform(client, make, work=None):
    return client.run(client.transport.perform(work or work_of(), make))


async def made():
    return '"made"'


def test_a_function_without_a_version_is_not_found_by_a_replay(client):
    client(mode="normal").ask()
    client(mode="replay")
    with pytest.raises(CallError) as raised:
        perform(client, made, work_of(version=None))
    assert raised.value.message == "the journal has no answer to this call: m:f"
    assert raised.value.hint == (
        "give the target a version, and run once without replay"
    )


def test_a_function_is_called_once_and_then_answered_by_the_journal(client):
    client(mode="normal")
    first = perform(client, made)
    assert (first.body, first.attempts, first.from_journal) == ("made", 1, False)
    assert first.latency_s >= 0.0
    assert perform(client, made).from_journal


def test_a_function_that_fails_is_the_error_of_its_row(client, path):
    async def fail():
        raise RowError("target", "it broke", hint="fix it")

    client(mode="normal")
    with pytest.raises(CallError) as raised:
        perform(client, fail)
    assert (raised.value.kind, raised.value.message) == ("target", "it broke")
    assert (raised.value.hint, raised.value.attempts) == ("fix it", 1)
    assert client.usage.failed == 1
    assert [failure.kind for failure in failures_in(path)] == ["target"]


def test_an_answer_that_is_asked_for_anew_replaces_the_old_one(client, path):
    client(ok("old"), mode="normal").run(client.transport.call(call_of(), accept))
    client(ok("new"), mode="normal")
    answer = client.run(client.transport.call(call_of(anew=True), accept))
    assert answer.body == "new"
    assert [kept.body for kept in records_in(path).values()] == ['"new"']


def test_a_replay_answers_what_would_be_asked_anew(client):
    client(ok("old"), mode="normal").run(client.transport.call(call_of(), accept))
    client(mode="replay")
    answer = client.run(client.transport.call(call_of(anew=True), accept))
    assert answer.body == "old"


# -- waiting for another process -------------------------------------------------------------------


class SharedJournal(Journal):
    """A journal whose calls another process makes, for as many looks as the test says."""

    def __init__(self, path, looks, holder):
        super().__init__(path)
        self.looks = looks
        self.other = holder
        self.given_up = []

    def claim(self, _key):
        self.looks -= 1
        return self.looks < 0

    def holder(self, _key):
        return self.other

    def give_up(self, key):
        self.given_up.append(key)
        super().give_up(key)


@pytest.fixture
def waited(path, monkeypatch):
    """Make one call on a journal that is shared; return what was said, and the journal."""
    monkeypatch.setattr(client_module, "_AGAIN_S", 0.001)
    monkeypatch.setattr(client_module, "_PATIENCE_S", 0.002)

    def waited(looks, holder, calls=1):
        said = []
        journal = SharedJournal(path, looks, holder)
        sender = FakeSender()
        transport = Transport(
            journal, sender=sender, clock=FakeTime().clock, say=said.append
        )
        for body in range(calls):
            journal.looks = looks
            transport.run(transport.call(call_of(body), accept))
        transport.close()
        return said, sender

    return waited


def test_a_call_that_another_process_makes_is_waited_for(waited):
    said, sender = waited(2, Holder(process=77, silent_s=0.0))
    assert said == []
    assert len(sender.bodies) == 1


@pytest.mark.parametrize(("process", "name"), [(77, "process 77"), (0, "a process")])
def test_a_long_wait_for_another_process_is_explained_once(waited, process, name):
    said, _ = waited(5, Holder(process=process, silent_s=0.0), calls=2)
    assert said == [
        (
            f"waiting for {name}, which makes the same calls, for up to 30 s after its last "
            "sign of life"
        )
    ]


def test_a_call_of_a_process_whose_lease_has_ended_is_made(waited):
    said, sender = waited(1000, None)
    assert said == []
    assert len(sender.bodies) == 1


def test_what_another_process_just_asked_anew_is_not_asked_again(path, client):
    client(ok("old"), mode="normal").run(client.transport.call(call_of(), accept))
    journal = SharedJournal(path, 1, Holder(process=77, silent_s=0.0))
    transport = Transport(journal, sender=FakeSender(ok("new")))
    answer = transport.run(transport.call(call_of(anew=True), accept))
    transport.close()
    assert answer.body == "old"


def test_a_claim_ends_with_a_call_that_is_cancelled(path):
    async def cancelled():
        async with asyncio.timeout(0.01):
            await transport.call(call_of(), accept)

    async def hang(_request):
        await asyncio.sleep(3600)

    journal = SharedJournal(path, 0, None)
    transport = Transport(journal, sender=FakeSender(hang))
    with pytest.raises(TimeoutError):
        transport.run(cancelled())
    transport.close()
    assert len(journal.given_up) == 1


# -- Ctrl-C ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "calls"), [(1, "1 call"), (2, "2 calls")])
def test_ctrl_c_waits_for_the_calls_in_flight_and_keeps_their_answers(
    path, monkeypatch, count, calls
):
    monkeypatch.setattr(client_module, "_POLL_S", 0.01)
    said = []
    interrupted = asyncio.Event()
    in_flight = 0

    async def answer(request):
        nonlocal in_flight
        in_flight += 1
        if request.body == b'"first"':
            return ok("first")
        if in_flight == count + 1:
            _thread.interrupt_main()
        await asyncio.wait_for(interrupted.wait(), 60)
        return ok(json.loads(request.body))

    def say(text):
        said.append(text)
        transport._loop._loop.call_soon_threadsafe(interrupted.set)

    transport = Transport(Journal(path), sender=FakeSender(answer), say=say)
    transport.run(transport.call(call_of("first"), accept))

    async def several():
        asked = [transport.call(call_of(number), accept) for number in range(count)]
        await asyncio.gather(*asked)
        await transport.call(call_of("never sent"), accept)

    with pytest.raises(KeyboardInterrupt):
        transport.run(several())
    transport.close()
    assert said == [
        (
            f"waiting up to 10 s for {calls} in flight, which may have been paid for; press "
            "Ctrl-C again to stop at once"
        )
    ]
    assert len(records_in(path)) == 1 + count


def test_after_a_ctrl_c_calls_can_be_made_again(client, monkeypatch):
    monkeypatch.setattr(client_module, "_POLL_S", 0.01)

    async def interrupt():
        _thread.interrupt_main()
        await asyncio.sleep(3600)

    client()
    with pytest.raises(KeyboardInterrupt):
        client.run(interrupt())
    assert client.ask().body == {"score": 1.0}


# -- the end ---------------------------------------------------------------------------------------


def test_closing_closes_the_connections_and_the_journal(path):
    sender = FakeSender()
    transport = Transport(Journal(path), sender=sender)
    transport.run(transport.call(call_of(), accept))
    transport.close()
    assert sender.closed
    assert len(records_in(path)) == 1


def test_a_price_counts_with_the_answers(client):
    answer = ok({"usage": {"prompt_tokens": 2_000_000}})
    client(answer).run(client.transport.call(call_of(), accept))
    assert client.usage.cost == 2.0


def test_a_failed_call_counts_its_requests(client):
    client(ok(), broken("closed")).ask("first")
    call = call_of(endpoint=structs.replace(Endpoint(URL), max_retries=1))
    failure_of(client, call)
    assert (client.usage.failed, client.usage.requests) == (1, 3)
