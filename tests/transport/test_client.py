"""The client over a fake sender: what it does, without a network or a clock."""

import asyncio
import contextlib
import gc
import tracemalloc

import pytest
from transport.fakes import FakeSender, FakeTime, ok, status

from pytest_evalmetrics.ext import CallError, Endpoint
from pytest_evalmetrics.transport import (
    Call,
    EndpointError,
    Journal,
    JournalMode,
    RawResponse,
    RetryPolicy,
    Secret,
    SendFailure,
    Transport,
    run_bounded,
)

URL = "http://api.example/score"
KEY = Secret("my-key", "MY_KEY", "sk-s3cr3t-value")


class Client:
    """A transport over a script, and its journal's file."""

    def __init__(self, path):
        self.path = path
        self.time = FakeTime()

    def __call__(self, *script, mode=None, **settings):
        self.sender = FakeSender(*script)
        journal = None if mode is None else Journal(self.path, mode)
        self.transport = Transport(journal, sender=self.sender, clock=self.time.clock, **settings)
        return self.transport


@pytest.fixture
def client(tmp_path):
    client = Client(tmp_path / "journal.sqlite3")
    yield client
    client.transport.close()
    assert client.sender.closed


def ask(transport, body=None, *, occurrence=0, check=None, **settings):
    endpoint = Endpoint(settings.pop("url", URL), **settings)
    call = Call(endpoint, {"a": 1} if body is None else body, label="test")
    return transport.run(transport.call(call, occurrence=occurrence, check=check))


def test_the_latency_is_that_of_the_attempt_that_succeeded(client):
    def slow(_request):
        client.time.now += 0.25
        return ok()

    answer = ask(client(status(500), slow))
    assert answer.latency_s == 0.25
    assert answer.attempts == 2


PASSING = [
    *(status(code) for code in (408, 425, 429, 500, 501, 502, 503, 504, 529, 599)),
    TimeoutError(),
    SendFailure("closed", "closed", retry=True),
    SendFailure("refused", "refused", retry=True),
]


@pytest.mark.parametrize("failure", PASSING, ids=repr)
def test_what_may_pass_is_tried_again(client, failure):
    assert ask(client(failure, failure, ok())).attempts == 3
    assert client.time.slept == [0.5, 1.0]


@pytest.mark.parametrize("failure", PASSING, ids=repr)
def test_and_given_up_after_its_retries(client, failure):
    ask(client(ok(), failure))
    with pytest.raises(CallError, match=r"POST .*score: .* \(3 attempts\)") as error:
        ask(client.transport, max_retries=2)
    assert error.value.attempts == len(client.sender.requests) - 1 == 3
    assert client.transport.usage.by_label()["test"].requests == 4


@pytest.mark.parametrize("code", [400, 405, 409, 410, 413, 418, 422, 451])
def test_another_4xx_is_that_rows_error_at_once_with_the_endpoints_words(client, code):
    with pytest.raises(CallError, match=f"answered {code}.*, and said: bad field 'x'") as error:
        ask(client(status(code, "bad field 'x'")))
    assert (error.value.kind, error.value.status, error.value.attempts) == (f"http-{code}", code, 1)
    assert client.time.slept == []


@pytest.mark.parametrize("code", [401, 403, 404])
def test_401_403_404_stop_everything_with_the_endpoints_words(client, code):
    with pytest.raises(EndpointError, match=f"answered {code} .*, and said: not you") as error:
        ask(client(status(code, "not you")), secret=KEY)
    assert len(client.sender.requests) == 1
    assert ("MY_KEY" in str(error.value)) is (code != 404)


def test_without_a_key_it_is_told_where_to_name_one(client):
    with pytest.raises(EndpointError, match="api_key_secret"):
        ask(client(status(401)))


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [
        ("7", 7),
        ("1.5", 1.5),
        ("-3", 0),
        ("Tue, 14 Nov 2023 22:30:30 GMT", 30),  # half a minute from now
        ("Tue, 14 Nov 2023 22:30:30 -0000", 30),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("", 0),
        ("soon", 0),
        ("inf", 0),
        ("Fri, 99 Foo 2023 00:00:00 GMT", 0),
    ],
)
@pytest.mark.parametrize("code", [429, 503])
def test_what_the_endpoint_asks_for_is_waited(client, code, asked, seconds):
    ask(client(status(code, Retry_After=asked), ok()))
    assert client.time.now == 1000 + seconds + 0.5  # of the jitter, half


def test_a_wait_goes_by_the_endpoints_clock(client):
    dates = {"Date": "Thu, 01 Jan 2015 00:00:00 GMT"}
    until = {"Retry_After": "Thu, 01 Jan 2015 00:00:30 GMT"}
    ask(client(status(429, **dates, **until), ok()))
    assert 1030 <= client.time.now <= 1031


def test_a_longer_wait_than_allowed_stops_the_run(client):
    with pytest.raises(EndpointError, match="asked to wait 10 h 00 min, over the 60 s of max_wait"):
        ask_many(client(ok(), status(429, "slow down", Retry_After="36000")), range(1000), 8)
    assert client.time.now == 1000
    assert len(client.sender.requests) < 20
    waited = ask(client(status(429, Retry_After="90"), ok()), longest_wait_s=100.0)
    assert waited.attempts == 2


@pytest.mark.parametrize(
    "refusal",
    [
        status(402, "top up"),
        RawResponse(429, {}, b'{"error": {"message": "top up", "code": "insufficient_quota"}}'),
        RawResponse(429, {}, b'{"error": {"type": "credit_balance_too_low", "message": "top up"}}'),
    ],
)
def test_a_spent_quota_stops_the_run(client, refusal):
    with pytest.raises(EndpointError, match="and said: top up") as raised:
        ask_many(client(*[ok()] * 9, refusal), range(1000), 8)
    assert "no credit" in (raised.value.hint or "")
    assert len(client.sender.requests) < 20


@pytest.mark.parametrize("answer", [status(401), SendFailure("refused", "refused", retry=True)])
def test_the_first_call_goes_alone(client, answer):
    with pytest.raises(EndpointError):
        ask_many(client(answer), range(1000), 64, max_retries=2)
    assert len(client.sender.requests) == (1 if isinstance(answer, RawResponse) else 3)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (RawResponse(200, {"Content-Type": "application/json"}, b""), "empty"),
        (RawResponse(200, {"Content-Type": "text/plain"}, b"1"), "content-type"),
        (RawResponse(200, {"Content-Type": "application/json"}, b"{"), "invalid-json"),
        (RawResponse(200, {"Content-Type": "application/json"}, b'{"score": NaN}'), "not-finite"),
        (SendFailure("too-large", "too large"), "too-large"),
    ],
)
def test_an_answer_that_is_none_is_that_rows_error_and_not_kept(client, answer, kind):
    with pytest.raises(CallError) as error:
        ask(client(answer, ok(), mode=JournalMode.NORMAL))
    assert (error.value.kind, error.value.attempts) == (kind, 1)
    assert not ask(client.transport).from_journal


# secrets


def test_the_key_is_in_no_message_not_even_cut(client):
    for before in (0, 185):
        said = "x" * before + " invalid key sk-s3cr3t-value"
        with pytest.raises(CallError) as error:
            ask(client(status(400, said)), secret=KEY)
        assert "s3cr3t" not in str(error.value)
        assert "s3cr3t" not in repr(client.sender.requests)
        client.transport.close()
    assert client.transport.hide("sk-s3cr3t-value") == "***"


def test_an_answer_that_repeats_the_key_is_used_but_not_written(client):
    script = ok({"you sent": "Bearer sk-s3cr3t-value"})
    answer = ask(client(script, mode=JournalMode.NORMAL), secret=KEY)
    assert answer.body == {"you sent": "Bearer sk-s3cr3t-value"}
    assert not ask(client.transport, secret=KEY).from_journal
    client.transport.close()
    assert b"s3cr3t" not in client.path.read_bytes()
    (warning,) = client.transport.warnings
    assert "repeats its key" in warning


# the journal


def test_repeated_identical_rows_and_samples_get_their_own_calls(client):
    client(*(ok({"n": n}) for n in range(4)), mode=JournalMode.NORMAL)
    for _ in range(2):
        bodies = [ask(client.transport, occurrence=n).body["n"] for n in range(3)]
        assert bodies == [0, 1, 2]


def refuse(body):
    if body.get("success") is False:
        raise CallError("evaluator-failed", f"the evaluator says: {body['error']}")


def test_what_the_caller_refuses_is_not_kept_and_is_named_like_any_failure(client):
    bad, good = ok({"success": False, "error": "oh no sk-s3cr3t-value"}), ok({"success": True})
    client(bad, good, mode=JournalMode.NORMAL)
    with pytest.raises(CallError, match=r"the evaluator says: oh no \*\*\*$") as error:
        ask(client.transport, check=refuse, secret=KEY)
    assert (error.value.kind, error.value.attempts) == ("evaluator-failed", 1)
    assert ask(client.transport, check=refuse, secret=KEY).body == {"success": True}


def test_what_was_kept_and_is_refused_now_is_asked_again_but_not_in_replay(client):
    bad, good = ok({"success": False, "error": "x"}), ok({"success": True})
    ask(client(bad, mode=JournalMode.NORMAL))
    client.transport.close()
    client(good, mode=JournalMode.REPLAY)
    with pytest.raises(CallError, match="the evaluator says: x"):
        ask(client.transport, check=refuse)
    assert client.sender.requests == []
    client.transport.close()
    assert ask(client(good, mode=JournalMode.NORMAL), check=refuse).body == {"success": True}
    assert ask(client.transport, check=refuse).from_journal


# many at once


def ask_many(transport, rows, parallelism, **settings):
    endpoint = Endpoint(URL, parallelism=parallelism, **settings)
    outcomes = {}

    async def call(row):
        return await transport.call(Call(endpoint, {"row": row}))

    transport.run(run_bounded(call, rows, parallelism, outcomes.__setitem__))
    return outcomes


def test_a_storm_of_429_is_weathered_and_no_row_is_lost(client):
    """The endpoint bears 4 at once; 64 are allowed."""
    in_flight = turned_away = 0

    async def bears_four(_request):
        nonlocal in_flight, turned_away
        in_flight += 1
        try:
            if in_flight > 4:
                turned_away += 1
                return status(429)
            for _ in range(5):
                await asyncio.sleep(0)
            return ok()
        finally:
            in_flight -= 1

    patient = RetryPolicy(window_s=1e9)  # here each wait adds to the time
    outcomes = ask_many(client(bears_four, policy=patient), range(1000), 64, max_retries=8)
    assert all(outcome.status == 200 for outcome in outcomes.values())
    assert len(outcomes) == 1000
    assert turned_away < 1000


@pytest.mark.parametrize("overload", [TimeoutError(), status(503), status(429)], ids=repr)
def test_overload_makes_it_ask_less_at_once_and_success_more(client, overload):
    in_flight, most = 0, []

    async def watched(_request):
        nonlocal in_flight
        in_flight += 1
        most.append(in_flight)
        for _ in range(3):
            await asyncio.sleep(0)
        in_flight -= 1
        return ok()

    ask_many(client(*[overload] * 16, watched), range(2000), 16)
    assert max(most[:20]) <= 8
    assert max(most) == 16


def test_an_endpoint_that_is_gone_stops_the_run_before_every_row_has_paid_its_retries(client):
    refused = SendFailure(
        "refused", "api.example:80 refused the connection", retry=True, hint="start it"
    )
    with pytest.raises(
        EndpointError, match="refused the connection; over 90 % of the attempts of the last 50 s"
    ):
        ask_many(client(ok(), refused), range(100_000), 8)
    assert len(client.sender.requests) < 1000


def test_an_endpoint_that_never_answers_in_time_stops_the_run(client):
    late = SendFailure("timeout", "no whole answer within 30 s", retry=True)
    with pytest.raises(EndpointError, match="within 30 s; over 90 % of the attempts") as raised:
        ask_many(client(late), range(100_000), 8)
    assert raised.value.hint == "run again later: what was paid for is kept"
    assert len(client.sender.requests) < 1000


def test_an_endpoint_that_answers_now_and_then_is_not_gone(client):
    refused = SendFailure("refused", "refused", retry=True)
    client(ok(), *[refused, refused, refused, refused, ok()] * 100)
    failed = 0
    for _ in range(100):
        with contextlib.suppress(CallError):
            ask(client.transport)
            failed -= 1
        failed += 1
        client.time.now += 10.0
    assert 0 < failed < 100


def test_memory_is_bounded_by_the_parallelism(client):
    """100 times the rows, the same peak: rows of 10 KB, none of which may stay."""
    peaks = []
    for rows in (20, 2000):
        transport = client(
            lambda request: ok({"echo": request.body.decode()}), mode=JournalMode.OFF
        )
        client.sender.requests = type("Forgets", (list,), {"append": lambda *_: None})()
        endpoint = Endpoint(URL, parallelism=4)

        async def call(row, transport=transport, endpoint=endpoint):
            return await transport.call(Call(endpoint, {"text": row}))

        gc.collect()
        tracemalloc.start()
        transport.run(
            run_bounded(call, ("x" * 10_000 + str(n) for n in range(rows)), 4, lambda *_: None)
        )
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        transport.close()
    assert peaks[1] < peaks[0] + 200_000  # all rows are 20 MB
