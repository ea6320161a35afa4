"""The interval of a drop, and results of tests in the form that a comparison keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from pytest_evalmetrics.model.comparison import TestResult

if TYPE_CHECKING:
    from pytest_evalmetrics.stats import StatResult

LEVEL = 0.95  # of a drop's two-sided interval
TAIL = (1 - LEVEL) / 2  # on each side of it


def result_of(stat: StatResult) -> TestResult:
    """Keep what a comparison needs of a statistic."""
    return TestResult(
        name=stat.name,
        p=stat.p,
        mid_p=stat.mid_p,
        df=stat.df,
        se=stat.se,
        low=stat.low,
        high=stat.high,
        log_tail=stat.log_tail,
    )


def around(result: TestResult, drop: float, half: float) -> TestResult:
    """Return the same test with the interval drop -+ half."""
    return structs.replace(result, low=drop - half, high=drop + half)
