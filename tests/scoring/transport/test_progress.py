import asyncio

import pytest
from scoring.transport.fakes import FakeTime

from pytest_evalmetrics.layout import amount
from pytest_evalmetrics.scoring.transport import Progress


@pytest.fixture
def time():
    return FakeTime()


def test_counts_rate_and_time_left(time):
    progress = Progress(
        "math", 100, clock=time.clock, calls=lambda: 37, cost=lambda: "0.125 usd"
    )
    progress.score = lambda: ("accuracy", 0.7)
    for _ in range(10):
        progress.succeeded(from_journal=True)
    for n in range(30):
        time.now += 1.0
        if n % 10 == 0:
            progress.failed("timeout")
        else:
            progress.succeeded()
    assert progress.text == (  # the rate is without the journal's
        "math: 40/100 rows (40%), accuracy 0.7 so far, 1 min 00 s left, 37 calls, "
        "10 from the journal, 3 failed (timeout 3), cost 0.125 usd"
    )


def test_a_stalled_run_is_reported(time):
    progress = Progress(total=100, clock=time.clock)
    time.now += 1
    progress.succeeded()
    for _ in range(100):
        time.now += 1
        progress.tick()
    assert progress.text == "1/100 rows (1%), 1 min 41 s so far"


@pytest.mark.parametrize(("every_s", "count"), [(5.0, 2 + 1), (0.1, 100 + 1)])
def test_reports_come_as_often_as_is_asked(time, every_s, count):
    lines = []
    progress = Progress(
        "b",
        100,
        report=lambda progress: lines.append(progress.text),
        every_s=every_s,
        clock=time.clock,
    )

    async def work():
        async with progress.ticking():
            for _ in range(100):
                time.now += 0.1 + 1e-9
                progress.succeeded()

    asyncio.run(work())
    assert len(lines) == count
    assert lines[-1] == "b: 100/100 rows (100%), 10 s"


def test_it_ticks_while_nothing_happens(time):
    lines, enough = [], asyncio.Event()

    def emit(progress):
        lines.append(progress.text)
        if len(lines) == 3:
            enough.set()

    async def hang():
        progress = Progress("b", 1, report=emit, clock=time.clock)
        async with progress.ticking():
            await enough.wait()

    asyncio.run(hang())
    assert lines[:3] == [
        f"b: 0/1 row (0%), {passed} so far"
        for passed in ("30 s", "1 min 00 s", "1 min 30 s")
    ]


def test_the_time_left_is_by_the_rate_of_the_last_minute(time):
    progress = Progress("math", 1000, clock=time.clock)
    for _ in range(100):  # ten a second
        time.now += 0.1
        progress.succeeded()
    for _ in range(120):  # then one every second
        time.now += 1.0
        progress.succeeded()
    assert progress.text == "math: 220/1000 rows (22%), 13 min 00 s left"


def test_a_few_rows_give_no_time_left(time):
    progress = Progress("math", 1000, clock=time.clock)
    time.now += 9.0
    progress.succeeded()
    assert progress.text == "math: 1/1000 rows (0%), 9 s so far"


@pytest.mark.parametrize(
    ("cost", "text"),
    [(0.00001425, "0.00001425"), (0.125, "0.125"), (12.3456, "12.35"), (0.0, "0")],
)
def test_money_has_no_exponent(cost, text):
    assert amount(cost) == text


def test_answers_of_the_journal_do_not_make_the_rest_look_faster(time):
    progress = Progress("math", 1000, clock=time.clock)
    for _ in range(70):  # nine of the journal with each that is called
        time.now += 1.0
        progress.succeeded()
        for _ in range(9):
            progress.succeeded(from_journal=True)
    assert progress.done == 700
    # the 300 that are left, at one a second
    assert progress.text == (
        "math: 700/1000 rows (70%), 5 min 00 s left, 630 from the journal"
    )


def test_a_run_that_the_journal_answers_shows_no_time_left(time):
    progress = Progress(total=100, clock=time.clock)
    time.now += 2.0
    for _ in range(50):
        progress.succeeded(from_journal=True)
    assert progress.text == "50/100 rows (50%), 2 s so far, 50 from the journal"


def test_five_rows_are_enough_for_a_time_left(time):
    progress = Progress(total=100, clock=time.clock)
    for _ in range(5):
        time.now += 1.0
        progress.succeeded()
    assert progress.text == "5/100 rows (5%), 1 min 35 s left"


def test_the_last_rows_of_a_short_run_have_a_time_left(time):
    progress = Progress(total=3, clock=time.clock)
    for _ in range(2):
        time.now += 1.0
        progress.succeeded()
    assert progress.text == "2/3 rows (67%), 2 s so far"


def test_a_run_that_is_done_shows_how_long_it_took(time):
    progress = Progress(total=6, clock=time.clock)
    for _ in range(6):
        time.now += 1.0
        progress.succeeded()
    assert progress.text == "6/6 rows (100%), 6 s"


def test_failures_are_counted_by_their_kind(time):
    progress = Progress(total=9, clock=time.clock)
    for kind in ("timeout", "no-json", "timeout"):
        progress.failed(kind)
    assert progress.text == (
        "3/9 rows (33%), 0 s so far, 3 failed (timeout 2, no-json 1)"
    )
    assert progress.done == 3


def test_one_call_is_a_call(time):
    progress = Progress(total=9, clock=time.clock, calls=lambda: 1)
    assert progress.text == "0/9 rows (0%), 0 s so far, 1 call"


def test_the_last_state_is_reported_only_if_one_was(time):
    reports = []
    progress = Progress(total=2, report=reports.append, clock=time.clock)

    async def work():
        async with progress.ticking():
            progress.succeeded()

    asyncio.run(work())
    assert reports == []
