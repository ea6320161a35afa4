"""What is no number, no count, no share or no probability is refused."""

import math

import numpy as np
import pytest

from pytest_evalmetrics import stats
from pytest_evalmetrics.stats import textbook

CALLS = [
    (textbook.bootstrap_ci, ([0.1, math.nan],), {"seed": 1}),
    (stats.cohen_kappa, ([math.nan], [1])),
    (stats.signflip_exact, ([0.5, math.nan],)),
    (stats.signflip_exact, (np.arange(1, 34),)),  # too many to enumerate
]


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0].__name__)
def test_wrong_arguments_are_refused(call):
    function, arguments, keywords = (*call, {})[:3]
    with pytest.raises(stats.StatsError):
        function(*arguments, **keywords)
