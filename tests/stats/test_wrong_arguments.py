"""What is no number, no count, no share or no probability is refused."""

import math

import numpy as np
import pytest

from pytest_evalmetrics import stats

CALLS = [
    (stats.bootstrap_ci, ([0.1, math.nan],), {"seed": 1}),
    (stats.clustered_se, ([1, 2], [0])),
    (stats.cohen_kappa, ([math.nan], [1])),
    (stats.holm, ([[0.5]],)),
    (stats.mde, (10, 0.1), {"power": 80}),
    (stats.paired_differences, ([1], [1, 2])),
    (stats.signflip_exact, ([0.5, math.nan],)),
    (stats.signflip_exact, (np.arange(1, 34),)),  # too many to enumerate
    (stats.t_ppf, (0.9, math.nan)),
    (stats.t_ppf, (math.nan, 3)),
    (stats.wilson, (1, math.inf)),
    (stats.wilson, (11, 10)),
    (stats.wilson, (math.nan, 10)),
    (stats.zero_flip_bound, (10, 0)),
]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0].__name__)
def test_wrong_arguments_are_refused(call):
    function, arguments, keywords = (*call, {})[:3]
    with pytest.raises(stats.StatsError):
        function(*arguments, **keywords)
