"""Pure statistics: arrays in, numbers out; what a benchmark is they don't know.

Three rules hold throughout. What is no finite number is refused with `StatsError`, never
skipped. What the data can't tell (one task, one cluster, no spread) is NaN, not 0 and
not an interval of no width; the one exception is told in `clustered_se`. The same input
gives the same output, resampled or not.

Tests are two-sided unless ``alternative`` says ``greater`` or ``less``; a regression gate
asks for ``greater`` on damages.
"""

from __future__ import annotations

from pytest_evalmetrics.stats.agreement import cohen_kappa, krippendorff_alpha
from pytest_evalmetrics.stats.bootstrap import bootstrap_ci, seed_of
from pytest_evalmetrics.stats.inputs import StatsError
from pytest_evalmetrics.stats.mcnemar import mcnemar_chi2, mcnemar_exact, mcnemar_power
from pytest_evalmetrics.stats.means import (
    MeanSE,
    clustered_se,
    clustered_t_interval,
    design_effect,
    mean,
    mean_se,
    ratio_mean,
    se_bernoulli,
    se_clt,
    t_interval,
    z_interval,
)
from pytest_evalmetrics.stats.multiple import benjamini_hochberg, holm
from pytest_evalmetrics.stats.outcome import Alternative, Bounds, StatResult
from pytest_evalmetrics.stats.paired import (
    paired_differences,
    paired_t,
    se_paired_from_corr,
    welch,
)
from pytest_evalmetrics.stats.passk import (
    max_at_k,
    max_at_k_weights,
    mean_pass_hat_k,
    pass_at_k,
    pass_hat_k,
)
from pytest_evalmetrics.stats.power import (
    VarianceComponents,
    mde,
    mde_from_se,
    required_n,
    variance_components,
    variance_ratio_uniform,
    zero_flip_bound,
)
from pytest_evalmetrics.stats.proportions import beta_interval, binom_p, clopper_pearson, wilson
from pytest_evalmetrics.stats.quantiles import quantile7
from pytest_evalmetrics.stats.relabel import TaskStatistic, relabel_test, two_valued
from pytest_evalmetrics.stats.resampling import Reducer, TooManyUnitsError, WeightedReducer
from pytest_evalmetrics.stats.signflip import lattice_step, signflip_exact, wilcoxon_exact
from pytest_evalmetrics.stats.tails import (
    beta_cdf,
    beta_ppf,
    beta_sf,
    binom_cdf,
    binom_pmf,
    binom_sf,
    chi2_1_sf,
    normal_cdf,
    normal_ppf,
    normal_sf,
    t_cdf,
    t_ppf,
    t_sf,
)

__all__ = [
    "Alternative",
    "Bounds",
    "MeanSE",
    "Reducer",
    "StatResult",
    "StatsError",
    "TaskStatistic",
    "TooManyUnitsError",
    "VarianceComponents",
    "WeightedReducer",
    "benjamini_hochberg",
    "beta_cdf",
    "beta_interval",
    "beta_ppf",
    "beta_sf",
    "binom_cdf",
    "binom_p",
    "binom_pmf",
    "binom_sf",
    "bootstrap_ci",
    "chi2_1_sf",
    "clopper_pearson",
    "clustered_se",
    "clustered_t_interval",
    "cohen_kappa",
    "design_effect",
    "holm",
    "krippendorff_alpha",
    "lattice_step",
    "max_at_k",
    "max_at_k_weights",
    "mcnemar_chi2",
    "mcnemar_exact",
    "mcnemar_power",
    "mde",
    "mde_from_se",
    "mean",
    "mean_pass_hat_k",
    "mean_se",
    "normal_cdf",
    "normal_ppf",
    "normal_sf",
    "paired_differences",
    "paired_t",
    "pass_at_k",
    "pass_hat_k",
    "quantile7",
    "ratio_mean",
    "relabel_test",
    "required_n",
    "se_bernoulli",
    "se_clt",
    "se_paired_from_corr",
    "seed_of",
    "signflip_exact",
    "t_cdf",
    "t_interval",
    "t_ppf",
    "t_sf",
    "two_valued",
    "variance_components",
    "variance_ratio_uniform",
    "welch",
    "wilcoxon_exact",
    "wilson",
    "z_interval",
    "zero_flip_bound",
]
