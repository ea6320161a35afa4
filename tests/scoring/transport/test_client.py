"""The client over a fake sender: what it does, without a network or a clock."""

import asyncio
import contextlib
import gc
import tracemalloc

import pytest
from scoring.transport.fakes import KEY, broken, ok, raw, secret, status

from pytest_evalmetrics.ext import CallError
from pytest_evalmetrics.scoring.transport.wire import EndpointError


def test_the_latency_is_that_of_the_attempt_that_succeeded(client):
    def slow(_request):
        client.time.now += 0.25
        return ok()

    answer = client(status(500), slow).ask()
    assert answer.latency_s == 0.25
    assert answer.attempts == 2


BROKEN = [
    *(status(code) for code in (408, 425, 500, 502, 504, 599)),
    TimeoutError(),
    broken("closed"),
]
BUSY = [status(code) for code in (429, 503, 529)]


@pytest.mark.parametrize("failure", BROKEN, ids=repr)
def test_transient_failures_are_retried(client, failure):
    assert client(failure, failure, ok(), failure).ask().attempts == 3
    assert client.time.slept == [0.5, 1.0]


@pytest.mark.parametrize("failure", BROKEN, ids=repr)
def test_a_row_that_fails_for_ever_is_reported_after_its_retries(client, failure):
    client(ok(), failure).ask("another row")
    with pytest.raises(CallError, match=r"POST .*score: .* \(4 attempts\)") as error:
        client.ask()
    assert error.value.attempts == 4


def test_an_endpoint_that_refuses_from_the_first_call_on_stops_everything(client):
    with pytest.raises(EndpointError, match=r"POST .*score: it broke"):
        client(broken("refused")).ask()
    assert len(client.sender.bodies) == 4


@pytest.mark.parametrize("failure", BUSY, ids=repr)
def test_a_busy_endpoint_is_asked_until_it_answers_or_a_minute_has_passed(
    client, failure
):
    assert client(*[failure] * 20, ok(), failure).ask().attempts == 21
    with pytest.raises(EndpointError, match="nothing was answered for 60 s"):
        client(failure).ask()
    assert client.time.now < 1100


@pytest.mark.parametrize("code", [400, 409, 410, 413, 418, 422, 451, 501, 505])
def test_another_status_is_that_rows_error_at_once_with_the_endpoints_words(
    client, code
):
    with pytest.raises(
        CallError, match=f"answered {code}.*, and said: bad field 'x'"
    ) as error:
        client(status(code, "bad field 'x'")).ask()
    assert (error.value.kind, error.value.status, error.value.attempts) == (
        f"http-{code}",
        code,
        1,
    )
    assert client.time.slept == []


@pytest.mark.parametrize("code", [401, 403, 404, 405])
@pytest.mark.parametrize("secret", [KEY, None])
def test_some_statuses_stop_everything_with_the_endpoints_words(client, code, secret):
    message = f"answered {code} .*, and said: not you"
    with pytest.raises(EndpointError, match=message):
        client(status(code, "not you")).ask_many(range(1000), 64, secret=secret)
    assert len(client.sender.bodies) == 1  # the first call goes alone


def test_calls_that_waited_for_the_first_one_count_no_request(client):
    async def three_calls():
        calls = [client.call(name) for name in ("a", "b", "c")]
        return await asyncio.gather(*calls, return_exceptions=True)

    errors = client(status(401)).run(three_calls())
    assert [type(error) for error in errors] == [EndpointError] * 3
    assert client.usage.requests == 1


@pytest.mark.parametrize("code", [401, 403])
def test_a_refused_key_is_named_and_not_shown(client, code):
    with pytest.raises(EndpointError) as error:
        client(status(code, f"not you {KEY.reveal()}")).ask(secret=KEY)
    assert str(error.value.hint) == (
        "the key is that of the variable MY_KEY (secret 'my-key')"
    )
    assert "s3cr3t" not in str(error.value)


def test_a_refused_placeholder_is_called_one(client):
    with pytest.raises(EndpointError) as error:
        client(status(401)).ask(secret=secret("sk-no-key-required"))
    assert "whose value is a placeholder" in error.value.hint


@pytest.mark.parametrize("code", [401, 403])
def test_without_a_key_it_is_said_how_to_name_one(client, code):
    with pytest.raises(EndpointError) as error:
        client(status(code)).ask()
    assert "name it with api_key_secret" in error.value.hint


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
        ("0", 0),
        ("-1e9", 0),
        ("1_0", 0),
        ("5, 10", 0),
        ("PT30S", 0),
        ("٣", 0),
        ("Fri, 99 Foo 2023 00:00:00 GMT", 0),
        ("Fri, 01 Jan 99999999999999999999 00:00:00 GMT", 0),
    ],
)
@pytest.mark.parametrize("code", [429, 503])
def test_what_the_endpoint_asks_for_is_waited(client, code, asked, seconds):
    client(status(code, Retry_After=asked), ok()).ask()
    assert client.time.now == pytest.approx(1000 + seconds, abs=0.021)


@pytest.mark.parametrize("asked", ["0", "-5", "Thu, 01 Jan 1970 00:00:00 GMT"])
def test_who_is_asked_to_come_back_at_once_does_not_hammer(client, asked):
    busy = [status(429, Retry_After=asked)] * 10
    client(*busy, ok()).ask()
    assert client.time.now > 1000 + 1


def test_a_wait_goes_by_the_endpoints_clock(client):
    dates = {"Date": "Thu, 01 Jan 2015 00:00:00 GMT"}
    until = {"Retry_After": "Thu, 01 Jan 2015 00:00:30 GMT"}
    client(status(429, **dates, **until), ok()).ask()
    assert 1030 <= client.time.now <= 1031


def test_a_longer_wait_than_allowed_stops_the_run(client):
    client(ok(), status(429, "slow down", Retry_After="36000"))
    with pytest.raises(
        EndpointError, match="asked to wait 10 h 00 min, over the 60 s of max_wait"
    ):
        client.ask_many(range(1000), 8)
    assert client.time.now == 1000
    assert len(client.sender.bodies) < 20
    waited = client(status(429, Retry_After="90"), ok()).ask(longest_wait_s=100.0)
    assert waited.attempts == 2


@pytest.mark.parametrize(
    "refusal",
    [
        status(402, "top up"),
        raw(
            b'{"error": {"message": "top up", "code": "insufficient_quota"}}',
            status=429,
        ),
        raw(b'{"detail": "top up: you have run out of credits"}', status=429),
        raw(
            b'{"error": {"type": "credit_balance_too_low", "message": "top up"}}',
            status=429,
        ),
    ],
)
def test_a_spent_quota_stops_the_run(client, refusal):
    with pytest.raises(EndpointError, match="and said: top up") as raised:
        client(*[ok()] * 9, refusal).ask_many(range(1000), 8)
    assert "no credit" in (raised.value.hint or "")
    assert len(client.sender.bodies) < 20


# secrets and the journal


def test_an_answer_that_repeats_the_key_is_used_but_not_written(client, path):
    body = {"you sent": f"Bearer {KEY.reveal()}"}
    assert client(ok(body), mode="normal").ask(secret=KEY).body == body
    assert not client.ask(secret=KEY).from_journal
    (warning,) = client.transport.warnings
    assert "repeats its key" in warning
    client()
    assert b"s3cr3t" not in path.read_bytes()


def test_repeated_identical_rows_and_samples_get_their_own_calls(client):
    client(*(ok({"n": n}) for n in range(4)), mode="normal")
    for _ in range(2):
        assert [client.ask(occurrence=n).body["n"] for n in range(3)] == [0, 1, 2]


def refuse(body):
    if body.get("success") is False:
        raise CallError("evaluator-failed", f"the evaluator says: {body['error']}")


def test_what_the_caller_refuses_is_not_kept_and_is_named_like_any_failure(client):
    bad, good = (
        ok({"success": False, "error": f"oh no {KEY.reveal()}"}),
        ok({"success": True}),
    )
    client(bad, good, mode="normal")
    with pytest.raises(CallError, match=r"the evaluator says: oh no \*\*\*$") as error:
        client.ask(check=refuse, secret=KEY)
    assert (error.value.kind, error.value.attempts) == ("evaluator-failed", 1)
    assert client.ask(check=refuse, secret=KEY).body == {"success": True}


def test_what_was_kept_and_is_refused_now_is_asked_again_but_not_in_replay(client):
    bad, good = ok({"success": False, "error": "x"}), ok({"success": True})
    client(bad, mode="normal").ask()
    with pytest.raises(CallError, match="the evaluator says: x"):
        client(good, mode="replay").ask(check=refuse)
    assert client.sender.bodies == []
    assert client(good, mode="normal").ask(check=refuse).body == {"success": True}
    assert client.ask(check=refuse).from_journal


# many at once


def test_a_storm_of_429_is_weathered_and_no_row_is_lost(client):
    """The endpoint bears 4 at once; 64 are allowed."""
    turned_away = 0

    async def bears_four(_request):
        nonlocal turned_away
        if client.sender.in_flight > 4:
            turned_away += 1
            return status(429)
        for _ in range(5):
            await asyncio.sleep(0)
        return ok()

    outcomes = client(bears_four).ask_many(range(1000), 64)
    assert all(outcome.body for outcome in outcomes.values())
    assert len(outcomes) == 1000
    assert turned_away < 1000


@pytest.mark.parametrize(
    "overload", [TimeoutError(), status(503), status(429)], ids=repr
)
def test_overload_makes_it_ask_less_at_once_and_success_more(client, overload):
    most = []

    async def watched(_request):
        client.time.now += 0.001
        most.append(client.sender.in_flight)
        for _ in range(3):
            await asyncio.sleep(0)
        return ok()

    client(*[overload] * 16, watched).ask_many(range(2000), 16)
    assert max(most[:6]) <= 8
    assert max(most) == 16


def test_an_endpoint_that_is_never_there_costs_the_retries_of_one_call(client):
    with pytest.raises(EndpointError):
        client(broken("refused")).ask_many(range(1000), 64, max_retries=2)
    assert len(client.sender.bodies) == 3


@pytest.mark.parametrize(
    "script",
    [
        (ok(), broken("refused", "it refused", hint="start it")),
        (broken("timeout", "no whole answer within 30 s"),),
    ],
    ids=["it refuses", "it never answers"],
)
def test_an_endpoint_that_is_gone_stops_the_run_before_every_row_has_paid_its_retries(
    client, script
):
    gone = f"{script[-1].message}; nothing was answered for 60 s"
    with pytest.raises(EndpointError, match=gone) as raised:
        client(*script).ask_many(range(100_000), 8)
    assert raised.value.hint == (
        script[-1].hint or "run again later: paid answers are kept"
    )
    assert len(client.sender.bodies) < 1000


def test_an_endpoint_that_answers_now_and_then_is_not_gone(client):
    refused = broken("refused")
    client(ok(), *[refused, refused, refused, refused, ok()] * 100)
    for _ in range(100):
        assert client.ask().body == {"score": 1.0}
        client.time.now += 10.0


def test_memory_is_bounded_by_the_parallelism(client):
    """20 times the rows, the same peak: rows of 10 KB, none of which may stay."""
    peaks = []
    for rows in (20, 400):
        client(lambda request: ok({"echo": request.body.decode()}))
        client.sender.bodies = type("Forgets", (list,), {"append": lambda *_: None})()
        gc.collect()
        tracemalloc.start()
        client.run(client.many(("x" * 10_000 + str(n) for n in range(rows)), 4))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 200_000  # all rows are 4 MB


def test_a_call_that_was_cancelled_does_not_show_that_its_endpoint_is_there(client):
    async def cancelled():
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0):
                await client.call()

    client(broken("refused")).run(cancelled())
    with pytest.raises(EndpointError):
        client.ask_many(range(9), 3, max_retries=0)
    assert len(client.sender.bodies) == 2
