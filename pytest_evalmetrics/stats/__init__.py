"""Pure statistics: arrays in, numbers out, without any notion of a benchmark.

A number that is not finite is refused with `StatsError`; what the data can't tell (one task, no
spread) is NaN, not 0 and not an interval of no width. The same input gives the same output. Tests
are two-sided unless ``alternative`` says ``greater``.
"""

from pytest_evalmetrics.stats.basics import StatResult as StatResult
from pytest_evalmetrics.stats.basics import StatsError as StatsError
from pytest_evalmetrics.stats.dealt_rollouts import relabel_test as relabel_test
from pytest_evalmetrics.stats.dealt_rollouts import two_valued as two_valued
from pytest_evalmetrics.stats.distributions import LEAST_P as LEAST_P
from pytest_evalmetrics.stats.distributions import binom_sf as binom_sf
from pytest_evalmetrics.stats.distributions import falls_to as falls_to
from pytest_evalmetrics.stats.distributions import log_binom_sf as log_binom_sf
from pytest_evalmetrics.stats.distributions import (
    normal_isf_of_log as normal_isf_of_log,
)
from pytest_evalmetrics.stats.distributions import normal_log_sf as normal_log_sf
from pytest_evalmetrics.stats.distributions import normal_ppf as normal_ppf
from pytest_evalmetrics.stats.distributions import normal_sf as normal_sf
from pytest_evalmetrics.stats.distributions import p_of_log as p_of_log
from pytest_evalmetrics.stats.distributions import t_log_sf as t_log_sf
from pytest_evalmetrics.stats.distributions import t_ppf as t_ppf
from pytest_evalmetrics.stats.distributions import t_sf as t_sf
from pytest_evalmetrics.stats.labelled_means import labelled_mean as labelled_mean
from pytest_evalmetrics.stats.means import FEWEST as FEWEST
from pytest_evalmetrics.stats.means import MeanSE as MeanSE
from pytest_evalmetrics.stats.means import mean_se as mean_se
from pytest_evalmetrics.stats.means import ratio_mean as ratio_mean
from pytest_evalmetrics.stats.means import t_interval as t_interval
from pytest_evalmetrics.stats.means import trimmed_mean as trimmed_mean
from pytest_evalmetrics.stats.paired_tests import mde_factor as mde_factor
from pytest_evalmetrics.stats.paired_tests import mean_test as mean_test
from pytest_evalmetrics.stats.paired_tests import (
    paired_differences as paired_differences,
)
from pytest_evalmetrics.stats.paired_tests import paired_t as paired_t
from pytest_evalmetrics.stats.paired_tests import shift_of_skew as shift_of_skew
from pytest_evalmetrics.stats.paired_tests import sign_test as sign_test
from pytest_evalmetrics.stats.paired_tests import signflip_exact as signflip_exact
from pytest_evalmetrics.stats.paired_tests import winsorised_t as winsorised_t
from pytest_evalmetrics.stats.proportions import clopper_pearson as clopper_pearson
from pytest_evalmetrics.stats.proportions import cohen_kappa as cohen_kappa
from pytest_evalmetrics.stats.proportions import (
    krippendorff_alpha as krippendorff_alpha,
)
from pytest_evalmetrics.stats.proportions import max_at_k as max_at_k
from pytest_evalmetrics.stats.proportions import newcombe_upper as newcombe_upper
from pytest_evalmetrics.stats.proportions import paired_score_p as paired_score_p
from pytest_evalmetrics.stats.proportions import (
    paired_score_upper as paired_score_upper,
)
from pytest_evalmetrics.stats.proportions import pass_m_of_n as pass_m_of_n
from pytest_evalmetrics.stats.proportions import quantile7 as quantile7
from pytest_evalmetrics.stats.proportions import quantile_interval as quantile_interval
from pytest_evalmetrics.stats.proportions import wilson as wilson
from pytest_evalmetrics.stats.proportions import zero_flip_bound as zero_flip_bound
from pytest_evalmetrics.stats.resampling import MOST_TASKS as MOST_TASKS
from pytest_evalmetrics.stats.resampling import bootstrap_interval as bootstrap_interval
from pytest_evalmetrics.stats.resampling import reducer_draws as reducer_draws
from pytest_evalmetrics.stats.resampling import seed_of as seed_of
from pytest_evalmetrics.stats.skewed_means import (
    skewed_mean_interval as skewed_mean_interval,
)
from pytest_evalmetrics.stats.skewed_means import (
    skewed_rate_interval as skewed_rate_interval,
)
