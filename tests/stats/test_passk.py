"""Against every way to draw k rollouts, and exact fractions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.stats import (
    StatsError,
    max_at_k,
    max_at_k_weights,
    mean_pass_hat_k,
    pass_at_k,
    pass_hat_k,
)

counts = st.integers(1, 300).flatmap(
    lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))
)


def exact_pass_at(n: int, c: int, k: int) -> Fraction:
    return 1 - Fraction(math.comb(n - c, k), math.comb(n, k))


@pytest.mark.parametrize(("n", "c", "k"), [(6, 3, 2), (6, 3, 3), (5, 1, 4), (7, 5, 1), (7, 7, 7)])
def test_against_every_draw(n: int, c: int, k: int) -> None:
    draws = list(itertools.combinations([1] * c + [0] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(np.mean([max(draw) for draw in draws]), abs=1e-15)
    assert pass_hat_k(n, c, k) == pytest.approx(np.mean([min(draw) for draw in draws]), abs=1e-15)


@given(counts)
def test_correctly_rounded(count: tuple[int, int, int]) -> None:
    n, c, k = count
    assert pass_at_k(n, c, k) == float(exact_pass_at(n, c, k))
    assert pass_hat_k(n, c, k) == float(1 - exact_pass_at(n, n - c, k))


@pytest.mark.parametrize("n", [1_025, 10_000])
@pytest.mark.parametrize("k", [1, 2, 25, 1_000])
def test_large_n(n: int, k: int) -> None:
    for c in (0, 1, 37, 990, 1_000, 1_024):
        assert pass_at_k(n, c, k) == pytest.approx(float(exact_pass_at(n, c, k)), rel=1e-11)
        all_pass = float(1 - exact_pass_at(n, n - c, k))
        assert pass_hat_k(n, c, k) == pytest.approx(all_pass, rel=1e-9, abs=1e-300)


@given(counts)
def test_more_attempts_and_more_passes_help(count: tuple[int, int, int]) -> None:
    n, c, k = count
    here = pass_at_k(n, c, k)
    assert 0 <= pass_hat_k(n, c, k) <= c / n <= here <= 1
    if k < n:
        assert pass_at_k(n, c, k + 1) >= here
        assert pass_hat_k(n, c, k + 1) <= pass_hat_k(n, c, k)
    if c < n:
        assert pass_at_k(n, c + 1, k) >= here
        assert pass_hat_k(n, c + 1, k) >= pass_hat_k(n, c, k)


def test_arrays_keep_their_shape() -> None:
    n = np.array([[4, 4, 2], [8, 3, 1_500]])
    c = np.array([[0, 2, 2], [3, 3, 7]])
    for estimate in (pass_at_k, pass_hat_k):
        found = estimate(n, c, 3)
        assert found.shape == (2, 3)
        for at in np.ndindex(2, 3):
            assert found[at] == pytest.approx(estimate(int(n[at]), int(c[at]), 3), nan_ok=True)
        assert np.isnan(found[0, 2])
    assert pass_at_k(4, [0, 1, 4], 1).tolist() == [0, 0.25, 1]
    assert pass_at_k([], [], 2).shape == (0,)
    assert isinstance(float(pass_at_k(4, 2, 2)), float)


def test_many_different_counts_are_sorted_instead() -> None:
    n = np.array([5_000_000, 6, 5_000_000])
    assert pass_at_k(n, [1, 3, 5_000_000], 2) == pytest.approx([4e-7, 0.8, 1], rel=1e-9)


def test_fewer_than_k_is_undefined() -> None:
    assert math.isnan(pass_at_k(2, 2, 3))
    assert math.isnan(pass_hat_k(0, 0, 1))
    assert math.isnan(mean_pass_hat_k([4, 2], [4, 2], 3))
    assert math.isnan(mean_pass_hat_k(4, [], 3))


@pytest.mark.parametrize("rewards", [[0.1, 0.9, 0.4, 0.4, -2], [1, 0, 0], [3.5]])
def test_max_at_k_against_every_draw(rewards: list[float]) -> None:
    for k in range(1, len(rewards) + 1):
        best = np.mean([max(draw) for draw in itertools.combinations(rewards, k)])
        assert max_at_k(rewards, k) == pytest.approx(best, rel=1e-12)


@given(counts)
def test_max_at_k_of_zeros_and_ones_is_pass_at_k(count: tuple[int, int, int]) -> None:
    n, c, k = count
    assert max_at_k([1] * c + [0] * (n - c), k) == pytest.approx(pass_at_k(n, c, k), rel=1e-12)
    assert max_at_k_weights(n, k).sum() == pytest.approx(1, rel=1e-12)


def test_max_at_k_over_tasks() -> None:
    rewards = np.array([[1.0, 2.0], [4.0, 3.0], [math.nan, 0.0]])
    assert max_at_k(rewards, 2) == pytest.approx([2, 4, math.nan], nan_ok=True)
    assert np.isnan(max_at_k(rewards, 3)).all()
    assert np.isnan(max_at_k_weights(2, 3)).all()


def test_wrong_arguments_are_refused() -> None:
    for call in (
        lambda: pass_at_k(4, 5, 1),
        lambda: pass_at_k([4, 4], [1, 5], 1),
        lambda: pass_at_k(4, 0.5, 1),
        lambda: pass_at_k(4, math.nan, 1),
        lambda: pass_at_k(-1, -2, 1),
        lambda: pass_at_k(4, 2, 0),
        lambda: pass_at_k(4, 2, 1.5),
        lambda: pass_at_k("4", 2, 1),
        lambda: max_at_k(0.5, 1),
        lambda: max_at_k([0.5], 0),
    ):
        with pytest.raises(StatsError):
            call()
