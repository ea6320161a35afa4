from __future__ import annotations

from statistics import median
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.metrics.median import Median


def test_it_is_the_median_of_the_tasks_means() -> None:
    assert Median().compute([[1, 0], [1, 1], [0, 0], []]) == 0.5
    assert Median().compute([[0.2], [0.4]]) == pytest.approx(0.3)


@given(
    st.lists(
        st.tuples(st.integers(-5, 5).map(float), st.integers(0, 4)), min_size=1, max_size=12
    ).filter(lambda pairs: any(times for _, times in pairs))
)
def test_counting_a_task_is_repeating_it(pairs: Any) -> None:
    values, times = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
    repeated = [value for value, n in pairs for _ in range(n)]
    assert Median().combine_weighted(values, times) == median(repeated)


def test_nothing_is_an_error_and_never_0() -> None:
    with pytest.raises(MetricError, match="median is undefined"):
        Median().compute([])
