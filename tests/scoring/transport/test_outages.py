"""An endpoint's outages and rate limits cost no row, and little time; in simulated time."""

import pytest
from scoring.transport.fakes import status
from scoring.transport.simulated import (
    Crowded,
    Down,
    SimulatedServer,
    TokenBucket,
    refused,
    run_calls,
)

OUTAGES = {
    "refused": refused,
    "500": lambda: status(500),
    "502": lambda: status(502),
    "503": lambda: status(503),
    "timeout": TimeoutError,
}


@pytest.mark.parametrize("kind", OUTAGES)
@pytest.mark.parametrize("seconds", [1, 3, 10, 20, 50])
def test_no_row_is_lost_to_an_outage(kind, seconds):
    def server(loop):
        return Down(loop, 0.1, 0.1 + seconds, OUTAGES[kind])

    run = run_calls(server, rows=1000)
    assert run.failures == {}
    assert seconds < run.seconds < seconds + 1000 * 0.02 / 64 + 3.1  # one pause at most


@pytest.mark.parametrize("kind", ["500", "502", "503", "timeout"])
@pytest.mark.parametrize("seconds", [3, 20])
def test_no_row_is_lost_to_an_endpoint_that_fails_until_it_is_ready(kind, seconds):
    def server(loop):
        return Down(loop, 0.0, seconds, OUTAGES[kind])

    run = run_calls(server, rows=300, parallelism=16)
    assert run.failures == {}
    assert run.seconds < seconds + 300 * 0.02 / 16 + 3.1  # one pause at most


def test_a_first_row_that_always_fails_is_lost_by_itself():
    class Poisoned(SimulatedServer):
        def refuse(self, row):
            return status(500) if row == 0 else None

    run = run_calls(Poisoned, rows=300, parallelism=16)
    assert list(run.failures) == [0]


def test_an_endpoint_that_always_fails_is_given_up_after_a_minute():
    run = run_calls(lambda loop: Down(loop, 0.0, 1e9, OUTAGES["500"]), rows=3000)
    assert "nothing was answered for 60 s" in run.fatal.message
    assert run.seconds < 65.0
    assert run.server.requests < 64 + 100  # all in flight, then a probe now and then


@pytest.mark.parametrize("kind", ["refused", "500"])
@pytest.mark.parametrize("parallelism", [2, 4, 16])
def test_an_outage_costs_no_attempt(kind, parallelism):
    def server(loop):
        return Down(loop, 0.3, 20.3, OUTAGES[kind])

    run = run_calls(server, rows=300, parallelism=parallelism, max_retries=0)
    assert run.failures == {}


def test_an_endpoint_that_is_down_is_probed_by_one_call_at_a_time():
    def server(loop):
        return Down(loop, 0.3, 20.3, refused)

    run = run_calls(server, rows=3000)
    assert run.server.refusals < 64 + 20  # all in flight, then a probe now and then


@pytest.mark.parametrize("kind", OUTAGES)
def test_an_endpoint_is_given_up_after_a_minute_without_an_answer(kind):
    def server(loop):
        return Down(loop, 0.3, 1e9, OUTAGES[kind])

    run = run_calls(server, rows=3000)
    assert "nothing was answered for 60 s, so that the endpoint is given up" in (
        run.fatal.message
    )
    assert 60.0 < run.seconds < 65.0


def test_the_minute_counts_from_the_first_failure_and_not_from_the_first_call():
    def server(loop):
        return Down(loop, 50.0, 51.0, lambda: status(500))

    run = run_calls(server, rows=3000, parallelism=1)
    assert run.fatal is None


def test_a_row_that_always_fails_is_lost_by_itself():
    class Poisoned(SimulatedServer):
        def refuse(self, row):
            return status(500) if row % 10 == 3 else None

    run = run_calls(Poisoned, rows=1000)
    assert sorted(run.failures) == list(range(3, 1000, 10))
    assert run.fatal is None
    assert {error.attempts for error in run.failures.values()} <= {4, 5, 6}


@pytest.mark.parametrize("burst", [1, 10, 50])
@pytest.mark.parametrize("rate", [10, 50])
@pytest.mark.parametrize("headers", [{}, {"Retry_After": "1"}])
def test_a_token_bucket_costs_no_row_and_little_time(rate, burst, headers):
    if burst < rate and headers:
        pytest.skip("the server asks for longer waits than it needs")

    def server(loop):
        return TokenBucket(loop, rate, burst, headers=headers)

    run = run_calls(server, rows=600)
    assert run.failures == {}
    assert run.seconds <= 1.3 * run.server.ideal_s(600)


@pytest.mark.parametrize(("rate", "burst"), [(10, 10), (50, 50), (50, 10), (10, 1)])
def test_a_token_bucket_that_others_have_emptied_costs_little_time(rate, burst):
    class Emptied(TokenBucket):
        def __init__(self, loop):
            super().__init__(loop, rate, burst)
            self.tokens = 0.0

    run = run_calls(Emptied, rows=300)
    assert run.failures == {}
    assert run.seconds <= 1.3 * 300 / rate


@pytest.mark.parametrize("latency_s", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("headers", [{}, {"Retry_After": "1"}])
def test_a_limit_of_calls_in_flight_costs_no_row_and_little_time(headers, latency_s):
    def server(loop):
        return Crowded(loop, 8, latency_s, headers)

    run = run_calls(server, rows=600)
    assert run.failures == {}
    assert run.seconds <= 1.3 * run.server.ideal_s(600)


def test_a_busy_endpoint_is_not_hammered():
    run = run_calls(lambda loop: TokenBucket(loop, 10, 10), rows=300)
    assert run.server.refusals < 300


def test_a_row_that_alone_is_turned_away_for_ever_is_lost():
    class TooLarge(SimulatedServer):
        def refuse(self, row):
            return status(429, "request too large") if row == 7 else None

    run = run_calls(TooLarge, rows=20_000, parallelism=4)
    assert sorted(run.failures) == [7]
    assert run.failures[7].kind == "http-429"


def test_a_suspended_machine_is_no_outage():
    class Suspended(Down):
        is_asleep = True

        def refuse(self, row):
            if self.is_asleep and self.age_s > 1.0:
                self.is_asleep = False
                self.loop.now += 300.0
            return super().refuse(row)

    # it fails for two seconds on both sides of the suspension
    def server(loop):
        return Suspended(loop, 0.5, 303.0, refused)

    run = run_calls(server, rows=3000)
    assert run.fatal is None
    assert run.failures == {}
