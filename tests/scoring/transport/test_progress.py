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
