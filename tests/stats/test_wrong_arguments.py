"""What is no number, no count, no share or no probability is refused."""

import math

import numpy as np
import pytest

from pytest_evalmetrics import stats

CALLS = [
    (stats.binom_p, (3, 2)),
    (stats.bootstrap_ci, ([0.1, math.nan],), {"seed": 1}),
    (stats.bootstrap_ci, ([0.1, 0.2],), {"seed": 1, "draws": 0}),
    (stats.bootstrap_ci, ([0.1, 0.2],), {"seed": 1, "method": "bca"}),
    (stats.clopper_pearson, (1.5, 10)),
    (stats.clustered_se, ([1, 2], [0])),
    (stats.cohen_kappa, ([], [])),
    (stats.cohen_kappa, ([1], [1, 2])),
    (stats.cohen_kappa, ([math.nan], [1])),
    (stats.holm, ([1.1],)),
    (stats.holm, ([[0.5]],)),
    (stats.krippendorff_alpha, ([1, 2],)),
    (stats.krippendorff_alpha, ([[1, math.inf], [1, 2]],)),
    (stats.max_at_k, (0.5, 1)),
    (stats.mcnemar_power, (10, 0.8, 0.3)),
    (stats.mde, (10, -0.1)),
    (stats.mde, (10, 0.1), {"power": 80}),
    (stats.normal_ppf, (1.5,)),
    (stats.paired_differences, ([1], [1, 2])),
    (stats.paired_t, ([0.1, 0.2],), {"alternative": "worse"}),
    (stats.pass_at_k, ("4", 2, 1)),
    (stats.pass_at_k, (-1, -2, 1)),
    (stats.pass_at_k, (4, 0.5, 1)),
    (stats.pass_at_k, (4, 2, 0)),
    (stats.pass_at_k, (4, 5, 1)),
    (stats.quantile7, ([1, 2], math.nan)),
    (stats.ratio_mean, ([1, 2], [1, -1])),
    (stats.ratio_mean, ([1, 2], [1])),
    (stats.required_n, (0, 0.1)),
    (stats.se_bernoulli, (0.5, 0)),
    (stats.se_paired_from_corr, (0.1, 0.1, 2)),
    (stats.signflip_exact, ([0.5, math.nan],)),
    (stats.signflip_exact, (np.arange(1, 10_000),)),  # too many to convolve
    (stats.signflip_exact, (np.sqrt(np.arange(1, 40)),)),  # no lattice
    (stats.t_ppf, (0.9, math.nan)),
    (stats.t_ppf, (math.nan, 3)),
    (stats.variance_ratio_uniform, (0,)),
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
