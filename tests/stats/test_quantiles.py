from __future__ import annotations

import math

import pytest

from pytest_evalmetrics.stats import StatsError, quantile7


def test_it_is_linear_between_order_statistics() -> None:
    assert quantile7([10, 0], 0.025) == 0.25
    assert quantile7([1, 2, 3, 4], 0.5) == 2.5
    assert quantile7([4, 1, 3, 2], 1) == 4
    assert math.isnan(quantile7([], 0.5))


def test_wrong_arguments_are_refused() -> None:
    for x, q in (([1, 2], 1.5), ([1, 2], math.nan), ([1, math.nan], 0.5)):
        with pytest.raises(StatsError):
            quantile7(x, q)
