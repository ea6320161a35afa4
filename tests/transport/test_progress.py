import asyncio

import pytest
from transport.fakes import FakeTime

from pytest_evalmetrics.scoring.transport import Progress


@pytest.fixture
def time():
    return FakeTime()


def test_counts_rate_and_time_left(time):
    progress = Progress("math", 100, clock=time.clock, cost=lambda: 0.125)
    for _ in range(10):
        progress.succeeded(from_journal=True)
    for n in range(30):
        time.now += 1.0
        if n % 10 == 0:
            progress.failed("timeout")
        else:
            progress.succeeded()
    assert progress.text == (  # the rate is without the journal's
        "math: 40/100 (40%) rows, 10 from the journal, 3 failed (timeout 3), "
        "1 rows/s, 1 min 00 s left, cost 0.125"
    )


def test_a_stalled_run_is_reported(time):
    progress = Progress(total=100, clock=time.clock)
    time.now += 1
    progress.succeeded()
    for _ in range(100):
        time.now += 1
        progress.tick()
    assert progress.text == "1/100 (1%) rows, 1 min 41 s"


@pytest.mark.parametrize(("every_s", "count"), [(5.0, 2 + 1), (0.1, 100 + 1)])
def test_reports_come_as_often_as_is_asked(time, every_s, count):
    lines = []
    progress = Progress(
        "b", 100, report=lines.append, every_s=every_s, clock=time.clock
    )

    async def work():
        async with progress.ticking():
            for _ in range(100):
                time.now += 0.1 + 1e-9
                progress.succeeded()

    asyncio.run(work())
    assert len(lines) == count
    assert lines[-1] == "b: 100/100 (100%) rows, 10 rows/s, 10 s"


def test_it_ticks_while_nothing_happens(time):
    lines, enough = [], asyncio.Event()

    def emit(line):
        lines.append(line)
        if len(lines) == 3:
            enough.set()

    async def hang():
        progress = Progress("b", 1, report=emit, clock=time.clock)
        async with progress.ticking():
            await enough.wait()

    asyncio.run(hang())
    assert lines[:3] == [f"b: 0/1 (0%) row, {n} s" for n in (5, 10, 15)]
