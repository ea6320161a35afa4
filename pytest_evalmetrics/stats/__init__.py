"""Pure statistics: arrays in, numbers out, without any notion of a benchmark.

A number that is not finite is refused with `StatsError`; what the data can't tell (one task, no
spread) is NaN, not 0 and not an interval of no width. The same input gives the same output. Tests
are two-sided unless ``alternative`` says ``greater``. What no gate needs (`holm`, `mcnemar_exact`
...) is in `textbook`.
"""

from __future__ import annotations

from pytest_evalmetrics.stats.basics import (
    FEWEST,
    StatResult,
    StatsError,
    normal_ppf,
    normal_sf,
    t_ppf,
    t_sf,
)
from pytest_evalmetrics.stats.means import (
    mde_factor,
    mean_se,
    paired_differences,
    paired_t,
    ppi_mean,
    ratio_mean,
    signflip_exact,
    t_interval,
)
from pytest_evalmetrics.stats.proportions import (
    cohen_kappa,
    krippendorff_alpha,
    max_at_k,
    pass_m_of_n,
    quantile7,
    quantile_interval,
    wilson,
    zero_flip_bound,
)
from pytest_evalmetrics.stats.resampling import (
    MOST_TASKS,
    reducer_draws,
    relabel_test,
    seed_of,
    two_valued,
)

__all__ = [
    "FEWEST",
    "MOST_TASKS",
    "StatResult",
    "StatsError",
    "cohen_kappa",
    "krippendorff_alpha",
    "max_at_k",
    "mde_factor",
    "mean_se",
    "normal_ppf",
    "normal_sf",
    "paired_differences",
    "paired_t",
    "pass_m_of_n",
    "ppi_mean",
    "quantile7",
    "quantile_interval",
    "ratio_mean",
    "reducer_draws",
    "relabel_test",
    "seed_of",
    "signflip_exact",
    "t_interval",
    "t_ppf",
    "t_sf",
    "two_valued",
    "wilson",
    "zero_flip_bound",
]
