"""Shifts of the level between runs: where they are seen, and how often without cause."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

from pytest_evalmetrics.stats.drift import Shift, last_shift, levels, limit


def test_of_several_metrics_any_one_may_raise_a_false_alarm_once_in_two_hundred_runs():
    rng = np.random.default_rng(2)
    false = sum(
        last_shift(list(rng.normal(size=40)), 5) is not None for _ in range(600)
    )
    most = 1 - (1 - 1 / 1000) ** 33
    assert false / 600 < most + 3 * math.sqrt(most / 600)


def shift_by_definition(values):
    """Whether the two-sample t statistic of any split is beyond the limit, split by split."""
    n, best = len(values), 0.0
    for cut in range(3, n - 2):
        one, other = np.array(values[:cut]), np.array(values[cut:])
        pooled = (one.var() * cut + other.var() * (n - cut)) / (n - 2)
        error = math.sqrt(pooled * (1 / cut + 1 / (n - cut)))
        best = max(best, abs(one.mean() - other.mean()) / error)
    return best > limit(n)


@given(
    st.lists(st.integers(0, 10**6), min_size=8, max_size=8, unique=True),
    st.integers(0, 10**6),
)
def test_no_shift_is_seen_below_the_limit_of_the_largest_t_statistic(values, shift):
    numbers = [v + shift * (i >= 5) for i, v in enumerate(values)]
    # above it, runs that resemble each other may still explain one
    assert last_shift(numbers) is None or shift_by_definition(numbers)


def test_a_shift_above_the_limit_is_seen_where_runs_do_not_resemble_each_other():
    before = [1.0, -1.0] * 6
    after = [6.0, 4.0] * 6
    assert shift_by_definition(before + after)
    assert last_shift(before + after).at == 12


def test_a_shift_that_was_repaired_is_the_last_one():
    rng = np.random.default_rng(3)
    values = list(np.repeat([10.0, 4.0, 10.0], 15) + rng.normal(0, 1, 45))
    shift = last_shift(values)
    assert abs(shift.start - 15) <= 1
    assert shift.at == 30
    assert shift.first <= 30 <= shift.last


def test_runs_without_noise_have_no_shift():
    assert last_shift([0.5] * 30) is None


def test_a_shift_of_a_system_without_noise_is_seen_exactly():
    expected = Shift(start=0, first=20, at=20, last=20)
    assert last_shift([0.5] * 20 + [0.4] * 3) == expected


@pytest.mark.parametrize(("runs", "t"), [(8, 3.1 + 8 / 3.5), (104, 3.1 + 8 / 99.5)])
def test_the_limit_of_one_metric_falls_with_the_runs(runs, t):
    assert limit(runs) == pytest.approx(t, rel=1e-12)


def test_the_limit_of_several_metrics_is_further_out_in_the_tail():
    # two of 30 runs: the tail beyond the limit of one, divided by 2^1.15
    tail = student.sf(limit(30), 28)
    assert student.sf(limit(30, 2), 28) == pytest.approx(tail / 2**1.15, rel=1e-9)


def test_fewer_than_eight_runs_have_one_level():
    assert levels([0.9, 0.8, 0.9, 0.1, 0.1, 0.1, 0.1]) == [0]


def test_levels_start_where_each_shift_is():
    low = [1.0, -1.0] * 6
    high = [9.0, 7.0] * 6
    assert levels(low + high + low) == [0, 12, 24]


def test_a_shift_of_two_sd_is_detected_in_ten_runs_at_one_false_alarm_in_two_hundred():
    rng = np.random.default_rng(1)
    false = sum(last_shift(list(rng.normal(size=60))) is not None for _ in range(150))
    assert false < 150 * 0.36  # 1 - .995^53 = .23
    shifts = [
        last_shift([*rng.normal(size=20), *rng.normal(-2, 1, 10)]) for _ in range(100)
    ]
    assert sum(shift is not None and abs(shift.at - 20) <= 3 for shift in shifts) >= 75


@pytest.mark.parametrize("alike", [0.3, 0.5])
def test_runs_that_resemble_their_predecessors_are_seldom_taken_for_a_shift(alike):
    """Of 30 runs of an autoregression 36 and 64 % had an alarm without a correction."""
    rng = np.random.default_rng(0)
    false = 0
    for _ in range(150):
        values = [rng.normal()]
        for _ in range(29):
            step = math.sqrt(1 - alike**2) * rng.normal()
            values.append(alike * values[-1] + step)
        false += last_shift(values) is not None
    assert false / 150 < (0.30 if alike < 0.4 else 0.42)


def autoregression(rng, r, length=30):
    """Draw a series whose values resemble their predecessors."""
    values = rng.normal(size=length) * math.sqrt(1 - r * r)
    values[0] /= math.sqrt(1 - r * r)
    for place in range(1, length):
        values[place] += r * values[place - 1]
    return values


def test_a_shift_among_runs_that_resemble_each_other_is_not_sure():
    rng = np.random.default_rng(3)
    series = [autoregression(rng, 0.8).tolist() for _ in range(100)]
    shifts = [shift for shift in map(last_shift, series) if shift is not None]
    assert len(shifts) > 20
    assert sum(shift.is_sure for shift in shifts) <= 15


def test_a_large_shift_of_independent_runs_is_sure():
    values = np.random.default_rng(3).normal(size=40)
    values[30:] -= 5
    assert last_shift(values.tolist()).is_sure


def alternating(shift):
    """Twelve runs about 0, and twelve about a shift, that resemble each other least."""
    return [1.0, -1.0] * 6 + [shift + 1.0, shift - 1.0] * 6


def test_a_shift_that_one_metric_shows_may_be_chance_among_five():
    values = alternating(1.65)
    # the pooled variance is 24 / 22
    t = 1.65 / math.sqrt(24 / 22 * (1 / 12 + 1 / 12))
    assert limit(24) < t < limit(24, 5)
    assert last_shift(values).at == 12
    assert last_shift(values, 5) is None


def test_a_shift_below_the_limit_is_none():
    # t is 3.05, and no larger at any run before
    assert last_shift(alternating(1.3)) is None


def test_the_runs_that_may_have_been_the_first_are_as_likely_but_for_e_cubed():
    rng = np.random.default_rng(4)
    values = np.concatenate((rng.normal(0, 1, 20), rng.normal(4, 1, 20)))
    shift = last_shift(values.tolist())
    rest = []
    for cut in range(3, 38):
        first, last = values[:cut], values[cut:]
        rest.append(first.var() * cut + last.var() * (40 - cut))
    # twice the log likelihood is n log of what is left
    behind = 40 * np.log(np.array(rest) / min(rest))
    likely = 3 + np.flatnonzero(behind <= 6)
    assert (shift.start, shift.at) == (0, 3 + int(np.argmin(rest)))
    assert (shift.first, shift.last) == (likely[0], likely[-1])


def just_sure(resembling, margin):
    """Two levels as far apart as runs that resemble each other can make them, times a margin.

    By the upper limit, of three standard errors, of the autocorrelation within them.
    """
    rng = np.random.default_rng(5)
    noise = [autoregression(rng, resembling, 20) for _ in range(2)]
    first, second = (part - part.mean() for part in noise)
    rest = np.concatenate((first, second))
    r = (rest[1:] @ rest[:-1]) / (rest @ rest)
    unbiased = r + 2 * (1 + 3 * r) / 40
    most = unbiased + 3 * math.sqrt((1 - unbiased**2) / 40)
    most = min(max(most, 0.0), 0.95)
    t = limit(40) * math.sqrt((1 + most) / (1 - most))
    error = math.sqrt(rest @ rest / 38 * (1 / 20 + 1 / 20))
    return [*first, *(second + margin * t * error)]


@pytest.mark.parametrize("resembling", [-0.5, 0.0, 0.3])
def test_a_shift_is_sure_beyond_what_runs_that_resemble_each_other_can_make(resembling):
    surely = last_shift(just_sure(resembling, 1.001))
    hardly = last_shift(just_sure(resembling, 0.999))
    assert (surely.at, surely.is_sure) == (20, True)
    assert (hardly.at, hardly.is_sure) == (20, False)
