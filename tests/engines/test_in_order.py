"""First calls are counted in the order of the rows, in whatever order workers tell of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.engines.in_order import UNSETTLED, FirstOfJob, InOrder
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
    counts, found = InOrder(), {}
    for n in arrivals:
        content = contents[n]
        digest = None if content is None else Occurrences.digest(content, "x")
        for order, count in counts.first(n, digest):
            assert order not in found
            found[order] = count
    assert found == expected


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
