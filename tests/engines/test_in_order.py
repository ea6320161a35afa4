"""First calls are counted in the order of the rows, in whatever order workers tell of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.engines.messages import UNSETTLED, FirstOfJob, InOrder
from pytest_evalmetrics.transport import Occurrences

if TYPE_CHECKING:
    import random

CONTENTS = st.lists(st.sampled_from([b"a", b"b", b"c", None]), max_size=12)


@given(contents=CONTENTS, chance=st.randoms())
def test_any_order_of_arrival_gives_the_counts_of_the_rows_order(
    contents: list[bytes | None], chance: random.Random
) -> None:
    here = Occurrences()
    expected = {n: here.next(c, "x") for n, c in enumerate(contents) if c is not None}
    arrivals = [*range(len(contents)), *range(0, len(contents), 2)]  # some are told twice
    chance.shuffle(arrivals)
    turns: InOrder[int] = InOrder()
    there, found = Occurrences(), {}
    for n in arrivals:
        content = contents[n]
        digest = None if content is None else Occurrences.digest(content, "x")
        for order, known in turns.hear(n, digest):
            assert order not in found
            found[order] = there.count(known)
    assert found == expected
    assert all(turns.is_past(n) for n in range(len(contents)))
    assert not turns.is_past(len(contents))


def test_what_there_is_takes_the_place_of_nothing() -> None:
    turns: InOrder[str] = InOrder()
    assert not [*turns.hear(1, None), *turns.hear(1, "a"), *turns.hear(1, None)]
    assert [*turns.hear(0, None)] == [(1, "a")]
    assert not [*turns.hear(1, "b")]


def test_a_first_call_is_told_and_the_later_ones_are_the_jobs_own() -> None:
    told: list[int] = []
    first = FirstOfJob(None, told.append)
    assert first.next(b"a", "x") == UNSETTLED
    assert told == [Occurrences.digest(b"a", "x")]
    own = type(first)()
    assert [own.next(b"a"), own.next(b"a"), own.next(b"b")] == [0, 1, 0]


def test_a_count_that_is_known_is_not_told_again() -> None:
    told: list[int] = []
    assert FirstOfJob(3, told.append).next(b"a") == 3
    assert told == []
