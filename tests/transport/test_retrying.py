from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, formatdate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transport.fakes import FakeTime

from pytest_evalmetrics.transport import RetryPolicy, SendFailure
from pytest_evalmetrics.transport.exchange import is_retried, parse_retry_after, with_retries

NOW = 1_700_000_000.0


def test_which_statuses_are_tried_again() -> None:
    assert [s for s in range(100, 600) if is_retried(s)] == [408, 425, 429, *range(500, 600)]


@given(st.integers(1, 1000), st.floats(0, 1, exclude_max=True), st.none() | st.floats(0, 1e9))
def test_a_wait_is_what_was_asked_and_a_jitter_under_the_cap(
    failed: Any, chance: Any, asked: Any
) -> None:
    policy = RetryPolicy()
    wait = policy.wait_s(failed, asked, chance)
    least = asked or 0.0
    assert least <= wait <= least + 15.0


def test_waits_double_up_to_the_cap() -> None:
    policy = RetryPolicy(base_s=1.0, cap_s=15.0)
    assert [policy.wait_s(n, None, 0.5) for n in range(1, 8)] == [0.5, 1, 2, 4, 7.5, 7.5, 7.5]
    assert policy.wait_s(1, None, 0.0) == 0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7", 7.0),
        ("0", 0.0),
        ("1.5", 1.5),
        ("-3", 0.0),
        (formatdate(NOW + 30, usegmt=True), 30.0),
        (formatdate(NOW - 30, usegmt=True), 0.0),
        (formatdate(NOW + 30, localtime=False), 30.0),  # ends in -0000: no time zone
        (format_datetime(datetime.fromtimestamp(NOW, UTC) + timedelta(minutes=2)), 120.0),
        (None, None),
        ("", None),
        ("soon", None),
        ("nan", None),
        ("inf", None),
        ("Fri, 99 Foo 2023 00:00:00 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(text: Any, seconds: Any) -> None:
    assert parse_retry_after(text, NOW) == seconds


def run(script: Any, retries: int, time: Any = None) -> Any:
    """Attempt by a script of failures and results."""
    time = time or FakeTime()
    steps = iter(script)

    async def attempt() -> Any:
        step = next(steps)
        if isinstance(step, Exception):
            raise step
        return step

    return asyncio.run(with_retries(attempt, RetryPolicy(max_retries=retries), time.clock)), time


def test_it_tries_until_it_succeeds_and_counts() -> None:
    busy = [SendFailure("http-503", "busy", retry=True) for _ in range(3)]
    (result, attempts), time = run([*busy, "fine"], 3)
    assert (result, attempts) == ("fine", 4)
    assert time.slept == [0.5, 1.0, 2.0]


def test_a_first_success_waits_for_nothing() -> None:
    (result, attempts), time = run(["fine"], 3)
    assert (result, attempts, time.slept) == ("fine", 1, [])


@pytest.mark.parametrize(("retries", "attempts"), [(0, 1), (1, 2), (3, 4)])
def test_it_gives_up_after_its_retries_with_the_last_failure(retries: int, attempts: int) -> None:
    busy = [SendFailure("http-503", f"busy {n}", retry=True) for n in range(10)]
    with pytest.raises(SendFailure, match=f"busy {attempts - 1}") as failure:
        run(busy, retries)
    assert failure.value.attempts == attempts


def test_what_will_not_pass_is_not_tried_again() -> None:
    time = FakeTime()
    with pytest.raises(SendFailure, match="no") as failure:
        run([SendFailure("http-400", "no"), "never reached"], 3, time)
    assert failure.value.attempts == 1
    assert time.slept == []


def test_what_the_endpoint_asks_for_is_waited() -> None:
    busy = [SendFailure("http-429", "busy", retry=True, retry_after_s=s) for s in (2.0, 60.0)]
    _, time = run([*busy, "fine"], 3)
    assert time.slept == [2.5, 61.0]
