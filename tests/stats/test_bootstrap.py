from __future__ import annotations

import hashlib
import math
import struct
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as oracle

from pytest_evalmetrics.stats import (
    StatsError,
    TooManyUnitsError,
    bootstrap_ci,
    mean_se,
    paired_bootstrap,
    paired_t,
    reducer_bootstrap,
    seed_of,
)

if TYPE_CHECKING:
    import random

DATA = np.random.default_rng(17)
D = DATA.normal(0.03, 0.25, 300)


@pytest.mark.parametrize("side", ["two-sided", "greater", "less"])
def test_on_plenty_of_data_it_agrees_with_the_t_test(side: str) -> None:
    found = paired_bootstrap(D, seed=1, alternative=side)
    theirs = paired_t(D, alternative=side)
    assert found.p == pytest.approx(theirs.p, rel=0.15)
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=0.003)
    assert found.se == pytest.approx(theirs.se, rel=0.03)
    assert found.estimate == pytest.approx(D.mean())


def test_p_counts_the_replicates_that_show_no_damage() -> None:
    # two tasks, +3 and -1: the mean of a draw is 3, 1, 1 or -1
    found = paired_bootstrap([3.0, -1.0], seed=1, alternative="greater", draws=9_999)
    assert found.p == pytest.approx(1 / 4, abs=4 * math.sqrt(3 / 16 / 9_999))
    # with 1 and -1 it is 1, 0, 0 or -1: nothing gained counts as no damage
    even = paired_bootstrap([1.0, -1.0], seed=1, alternative="greater")
    assert even.p == pytest.approx(3 / 4, abs=0.02)
    assert paired_bootstrap([1.0, -1.0], seed=1).p == 1


def test_a_tie_is_a_tie_in_spite_of_rounding() -> None:
    d = [0.1, 0.1, 0.1, -0.3] * 3
    exact = paired_bootstrap([1, 1, 1, -3] * 3, seed=4, alternative="greater")
    assert paired_bootstrap(d, seed=4, alternative="greater").p == exact.p


@pytest.mark.parametrize("size", [40, 500, 5_000])
def test_all_alike_is_as_sure_as_the_draws_allow(size: int) -> None:
    found = paired_bootstrap(np.full(size, 0.3), seed=1, alternative="greater")
    assert found.p == 1 / 10_000
    assert math.isnan(found.low)
    assert paired_bootstrap(np.full(size, 0.3), seed=1, alternative="less").p == 1


def test_two_tasks_alike_are_no_proof() -> None:
    assert paired_bootstrap([0.3, 0.3], seed=1, alternative="greater").p == 0.25
    assert paired_bootstrap([0.3, 0.3], seed=1).p == 0.5
    assert paired_bootstrap([0.0, 0.0], seed=1, alternative="greater").p == 1
    assert math.isnan(bootstrap_ci([0.3, 0.3], seed=1).high)


def test_near_alpha_ten_times_as_many_are_drawn() -> None:
    far = paired_bootstrap(D, seed=1, alternative="greater", alpha=0.4)
    near = paired_bootstrap(D, seed=1, alternative="greater", alpha=far.p)
    assert (far.draws, near.draws) == (9_999, 99_990)
    assert near.p == pytest.approx(far.p, rel=0.2)


@settings(max_examples=20)
@given(st.lists(st.integers(-4, 4), min_size=2, max_size=30), st.integers(0, 2**64))
def test_the_same_input_gives_the_same_verdict(steps: list[int], seed: int) -> None:
    first, again = (paired_bootstrap(steps, seed=seed, draws=199) for _ in range(2))
    assert first == again
    assert 1 / (first.draws + 1) <= first.p <= 1
    assert first.low < first.high or len(set(steps)) == 1


def test_clusters_widen_it() -> None:
    d = np.repeat(DATA.normal(0.1, 0.5, 80), 5)
    labels = np.repeat(np.arange(80), 5)
    alone = paired_bootstrap(d, seed=2)
    whole = paired_bootstrap(d, seed=2, clusters=labels)
    assert whole.se == pytest.approx(mean_se(d, labels).se, rel=0.05)
    assert whole.se > 2 * alone.se
    assert (whole.n, whole.units, whole.name) == (400, 80, "clustered paired bootstrap")


def test_any_reducer_by_one_index_vector() -> None:
    before, after = DATA.random(60), DATA.random(60)

    def worst(indices: np.ndarray) -> float:
        return float(before[indices].min() - after[indices].min())

    found = reducer_bootstrap(worst, 60, seed=3, draws=999)
    assert found.estimate == before.min() - after.min()
    assert found == reducer_bootstrap(worst, 60, seed=3, draws=999)

    def mean(indices: np.ndarray) -> float:
        return float(D[indices].mean())

    additive = paired_bootstrap(D, seed=3, alternative="greater")
    general = reducer_bootstrap(mean, 300, seed=3, alternative="greater")
    assert general.p == additive.p
    assert general.low == pytest.approx(additive.low, rel=1e-9)


def test_weights_alone_will_do() -> None:
    found = reducer_bootstrap(
        None, 3_000, seed=3, weighted=lambda w: float(w[:1_500].sum() / w.sum()), draws=500
    )
    assert found.estimate == 0.5
    assert found.se == pytest.approx(math.sqrt(0.25 / 3_000), rel=0.1)


def test_a_reducer_on_many_tasks_is_refused() -> None:
    with pytest.raises(TooManyUnitsError):
        reducer_bootstrap(lambda indices: float(indices[0]), 3_000, seed=1)


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
    for found in (
        paired_bootstrap([0.3], seed=1),
        paired_bootstrap([], seed=1),
        paired_bootstrap([0.3, 0.2], seed=1, clusters=["a", "a"]),
        reducer_bootstrap(lambda _: 1.0, 1, seed=1),
        reducer_bootstrap(lambda _: 1.0, 0, seed=1),
    ):
        assert math.isnan(found.p)
        assert found.draws == 0
    assert math.isnan(bootstrap_ci([0.3], seed=1).low)


def test_wrong_arguments_are_refused() -> None:
    for call in (
        lambda: paired_bootstrap([0.1, math.nan], seed=1),
        lambda: paired_bootstrap([0.1, 0.2], seed=1, alternative="up"),
        lambda: paired_bootstrap([0.1, 0.2], seed=1, alpha=1),
        lambda: paired_bootstrap([0.1, 0.2], seed=1, draws=0),
        lambda: bootstrap_ci([0.1, 0.2], seed=1, method="bca"),
        lambda: bootstrap_ci([0.1, 0.2], seed=1, level=95),
        lambda: reducer_bootstrap(lambda _: 0.0, -1, seed=1),
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
