"""Places at endpoints that several workers have of one limit, whatever becomes of the workers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transport.fakes import FakeTime

from pytest_evalmetrics.engines.ray_scoring import PlacesOfOne
from pytest_evalmetrics.engines.worker import FarLimits
from pytest_evalmetrics.transport.exchange import Limits

if TYPE_CHECKING:
    import random

ORIGIN = "http://model"


class Far:
    """A worker: its calls that wait, those under way, answers that the run has not heard of."""

    def __init__(self, limits: Limits, ceiling: int) -> None:
        self.places = PlacesOfOne(limits, ceiling)
        self.limits = FarLimits(lambda: None)
        self.limit = self.limits.of(ORIGIN, ceiling)
        self.waiting: set[asyncio.Task[int]] = set()
        self.rounds: list[int] = []
        self.unheard = 0

    async def ask(self) -> None:
        waiting = asyncio.create_task(self.limit.acquire())
        self.waiting.add(waiting)
        waiting.add_done_callback(self._got)
        await settle()

    def answer(self, *, overloaded: bool = False, pause_s: float = 0.0) -> None:
        sent_in = self.rounds.pop()
        if overloaded:
            self.limit.overloaded(sent_in, pause_s)
        else:
            self.limit.succeeded()
        self.limit.release()
        self.unheard += 1

    async def tell(self) -> None:
        """Let the run hear all that there is to say, at once."""
        news, self.unheard = self.limits.news(), 0
        for one in news:
            self.places.hear(one, self.limits.granted)
        await settle()

    async def give_up(self) -> None:
        if self.waiting:
            self.waiting.pop().cancel()
        await settle()

    async def die(self) -> None:
        self.places.give_back()
        for waiting in self.waiting:
            waiting.remove_done_callback(self._got)
            waiting.cancel()
        await settle()

    def _got(self, waiting: asyncio.Task[int]) -> None:
        self.waiting.discard(waiting)
        if not waiting.cancelled():
            self.rounds.append(waiting.result())


async def settle() -> None:
    for _ in range(6):
        await asyncio.sleep(0)


@given(chance=st.randoms(), ceiling=st.integers(1, 6))
def test_nobody_waits_for_a_place_that_nobody_has_and_no_more_are_had_than_there_are(
    chance: random.Random, ceiling: int
) -> None:
    async def play() -> None:
        limits = Limits(FakeTime().clock)
        crew = [Far(limits, ceiling) for _ in range(3)]
        for _ in range(60):
            one = chance.choice(crew)
            match chance.randrange(8):
                case 0 | 1 | 2:
                    await one.ask()
                case 3 | 4:
                    if one.rounds:
                        one.answer(overloaded=chance.random() < 0.1)
                case 5 | 6:
                    await one.tell()
                case 7:
                    if chance.random() < 0.5:
                        await one.give_up()
                    else:
                        await one.die()
                        crew[crew.index(one)] = Far(limits, ceiling)
            held = [far.places.held[ORIGIN] for far in crew]
            assert sum(held) <= ceiling
            for far, places in zip(crew, held, strict=True):
                # who is lost now takes no more than these along, heard of or not
                assert len(far.rounds) + far.unheard <= places
        for far in crew:
            await far.tell()
        waiting = any(far.waiting for far in crew)
        taken = sum(far.places.held[ORIGIN] for far in crew)
        assert not waiting or taken >= int(limits.of(ORIGIN, ceiling).limit)

    asyncio.run(play())


def test_what_one_does_not_need_another_has() -> None:
    async def play() -> None:
        limits = Limits(FakeTime().clock)
        one, other = Far(limits, 8), Far(limits, 8)
        for _ in range(20):
            await one.ask()
        await one.tell()
        assert len(one.rounds) == 8
        for _ in range(20):
            await other.ask()
        await other.tell()
        assert not other.rounds
        await one.die()
        assert len(other.rounds) == 8

    asyncio.run(play())


def test_all_slow_down_when_one_is_told_to() -> None:
    async def play() -> None:
        time = FakeTime()
        limits = Limits(time.clock)
        one, other = Far(limits, 8), Far(limits, 8)
        for far in (one, other):
            for _ in range(8):
                await far.ask()
            await far.tell()
        assert (len(one.rounds), len(other.rounds)) == (8, 0)
        for _ in range(8):  # of one round: halved once
            one.answer(overloaded=True, pause_s=5.0)
        await one.tell()
        assert time.slept == pytest.approx([5.0])
        assert len(other.rounds) == 4
        assert limits.of(ORIGIN, 8).limit == 4

    asyncio.run(play())


def test_who_gave_up_as_a_place_came_gives_it_back() -> None:
    async def play() -> None:
        limits = Limits(FakeTime().clock)
        one, other = Far(limits, 1), Far(limits, 1)
        await one.ask()
        waiting: Any = next(iter(one.waiting))
        for news in one.limits.news():
            one.places.hear(news, one.limits.granted)
        await asyncio.sleep(0)
        assert one.places.held[ORIGIN] == 1
        assert not waiting.done()
        waiting.cancel()
        await other.ask()
        await other.tell()
        assert not other.rounds
        await settle()
        await one.tell()
        assert other.rounds == [0]

    asyncio.run(play())
