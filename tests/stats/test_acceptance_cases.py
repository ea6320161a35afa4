"""The published numbers that the statistics must reproduce, from the shared case file."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from pytest_evalmetrics import stats
from pytest_evalmetrics.stats.basics import binom_sf

CASES = Path(__file__).parents[2] / "../shared/acceptance/stats/cases.json"

# the acceptance names on the left; their arguments go by keyword, as the file spells them
FUNCTIONS = {
    "beta_interval": stats.beta_interval,
    "bh": stats.benjamini_hochberg,
    "binom_p": lambda k, n, p, alternative: {"greater": binom_sf(k, n, p)}[alternative],
    "bootstrap_ci": lambda B=9_999, **rest: stats.bootstrap_ci(draws=B, **rest),  # noqa: N803 - the file's
    "ci_z": lambda d, **rest: stats.z_interval(estimate=d, **rest),
    "clopper": stats.clopper_pearson,
    "clustered_se": lambda x, cl, finite: finite and stats.clustered_se(x, cl),
    "design_effect": stats.design_effect,
    "holm": stats.holm,
    "mcnemar_chi2": lambda **rest: _fields(stats.mcnemar_chi2(**rest), "statistic", "p"),
    "mcnemar_exact": stats.mcnemar_exact,
    "mcnemar_power": lambda N, **rest: stats.mcnemar_power(n=N, **rest),  # noqa: N803 - the file's
    "mde": stats.mde,
    "mean_pass_hat_k": lambda cs, **rest: stats.mean_pass_hat_k(c=cs, **rest),
    "paired_t_ci": lambda **rest: _fields(stats.paired_t(**rest), "low", "high"),
    "paired_t_p": lambda **rest: stats.paired_t(**rest).p,
    "paired_t_t": lambda **rest: stats.paired_t(**rest).statistic,
    "pass_at_k": stats.pass_at_k,
    "pass_hat_k": stats.pass_hat_k,
    "quantile7": stats.quantile7,
    "required_n": stats.required_n,
    "se_bernoulli": stats.se_bernoulli,
    "se_clt": stats.se_clt,
    "se_paired_from_corr": stats.se_paired_from_corr,
    "signflip_exact": lambda **rest: stats.signflip_exact(**rest).p,
    "t_ppf": stats.t_ppf,
    "variance_ratio_uniform": lambda K: stats.variance_ratio_uniform(k=K),  # noqa: N803 - the file's
    "wilcoxon_p": lambda **rest: stats.wilcoxon_exact(**rest).p,
    "wilson": stats.wilson,
}


def _fields(result, *names):
    return [getattr(result, name) for name in names]


def _cases():
    return json.loads(CASES.read_text(encoding="utf-8")) if CASES.is_file() else []


pytestmark = pytest.mark.skipif(not CASES.is_file(), reason="the shared cases are not here")


@pytest.mark.parametrize("case", _cases(), ids=lambda case: case["id"])
def test_a_published_number_is_reproduced(case):
    got = np.asarray(FUNCTIONS[case["function"]](**case["inputs"]), dtype=float)
    if case["expected"] == "nan":
        assert math.isnan(got)
        return
    tolerance = case["tolerance"]
    within = tolerance.get("abs", 0) + tolerance.get("rel", 0) * np.abs(case["expected"])
    assert got.shape == np.shape(case["expected"])
    assert (np.abs(got - case["expected"]) <= within).all(), (got, case["expected"])


def test_every_function_is_covered_by_a_case():
    assert {case["function"] for case in _cases()} == set(FUNCTIONS)
