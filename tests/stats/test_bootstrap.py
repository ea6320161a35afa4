from __future__ import annotations

import hashlib
import math
import struct
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as oracle

from pytest_evalmetrics.stats import (
    StatsError,
    bootstrap_ci,
    seed_of,
)

if TYPE_CHECKING:
    import random

DATA = np.random.default_rng(17)


def test_intervals_against_scipy() -> None:
    x = DATA.exponential(1, 90)
    for method in ("percentile", "basic"):
        theirs = oracle.bootstrap(
            (x,), np.mean, n_resamples=9_999, method=method, confidence_level=0.9, rng=1
        ).confidence_interval
        ours = bootstrap_ci(x, seed=1, method=method, level=0.9)
        assert ours == pytest.approx(tuple(theirs), abs=0.012)


def test_a_clustered_interval_is_wider() -> None:
    x = np.repeat(DATA.exponential(1, 50), 4)
    low, high = bootstrap_ci(x, seed=1, clusters=np.repeat(np.arange(50), 4))
    plain = bootstrap_ci(x, seed=1)
    assert high - low == pytest.approx(2 * (plain.high - plain.low), rel=0.1)


def test_too_few_units_give_nan() -> None:
    assert math.isnan(bootstrap_ci([0.3], seed=1).low)
    assert math.isnan(bootstrap_ci([0.3, 0.2], seed=1, clusters=["a", "a"]).low)


def test_wrong_arguments_are_refused() -> None:
    for call in (
        lambda: bootstrap_ci([0.1, math.nan], seed=1),
        lambda: bootstrap_ci([0.1, 0.2], seed=1, draws=0),
        lambda: bootstrap_ci([0.1, 0.2], seed=1, method="bca"),
        lambda: bootstrap_ci([0.1, 0.2], seed=1, level=95),
    ):
        with pytest.raises(StatsError):
            call()


@given(st.lists(st.text(max_size=8), max_size=6), st.randoms())
def test_the_seed_forgets_the_order_of_tasks(ids: list[str], shuffler: random.Random) -> None:
    mixed = list(ids)
    shuffler.shuffle(mixed)
    assert seed_of("math/pass@1", ids) == seed_of("math/pass@1", mixed)
    assert 0 <= seed_of("math/pass@1", ids) < 2**128


def test_the_seed_tells_gates_and_tasks_apart() -> None:
    lists = [["ab", "c"], ["a", "bc"], ["abc"], ["a", "b", "c"], [], [""], ["ab", "c", ""]]
    seeds = {seed_of(gate, ids) for gate in ("g", "ga", "") for ids in lists}
    assert len(seeds) == 3 * len(lists)
    assert seed_of("g", [1, 2]) == seed_of("g", ["2", "1"])


def test_the_seed_never_changes() -> None:
    # a stored p value must come out again with a later version
    text = struct.pack("<3q", 11, 2, 2) + b"math/pass@1" + b"t1" + b"t2"
    expected = int.from_bytes(hashlib.blake2b(text, digest_size=16).digest(), "little")
    assert seed_of("math/pass@1", ["t2", "t1"]) == expected
    assert expected == 31742014278707583993722168338776871030
