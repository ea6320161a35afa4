from __future__ import annotations

import numpy as np
import pytest

from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.metrics.worst_task import WorstTask


def test_it_is_the_lowest_mean_of_a_task() -> None:
    assert WorstTask().compute([[1, 1], [1, 0, 0, 0], [], [0.5]]) == 0.25


def test_a_task_that_is_not_drawn_does_not_count() -> None:
    values, times = np.array([0.1, 0.2, 0.3]), np.array([0.0, 2.0, 1.0])
    assert WorstTask().combine_weighted(values, times) == 0.2


def test_nothing_is_an_error_and_never_0() -> None:
    with pytest.raises(MetricError, match="worst_task is undefined"):
        WorstTask().compute([[]])
