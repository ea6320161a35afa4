"""The published numbers that the statistics must reproduce."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from stats import textbook

from pytest_evalmetrics import stats as ours
from pytest_evalmetrics.stats.distributions import binom_sf

CASES = json.loads(
    (Path(__file__).parents[1] / "data/acceptance/stats/cases.json").read_text("utf-8")
)

# the acceptance names on the left; their arguments go by keyword, as the file spells them
AS_THEY_ARE = (
    "beta_interval design_effect holm mcnemar_exact mde required_n se_bernoulli"
)
FUNCTIONS = {
    **{
        name: getattr(textbook, name)
        for name in f"{AS_THEY_ARE} se_paired_from_corr".split()
    },
    **{name: getattr(ours, name) for name in ("quantile7", "t_ppf", "wilson")},
    "bh": textbook.benjamini_hochberg,
    "binom_p": lambda k, n, p, alternative: {"greater": binom_sf(k, n, p)}[alternative],
    "bootstrap_ci": lambda B=9_999, **rest: textbook.bootstrap_ci(draws=B, **rest),  # noqa: N803 - the file's
    "ci_z": lambda d, **rest: textbook.z_interval(estimate=d, **rest),
    "clopper": textbook.clopper_pearson,
    "clustered_se": lambda x, cl, finite: finite and textbook.clustered_se(x, cl),
    "mcnemar_chi2": lambda **rest: _fields(
        textbook.mcnemar_chi2(**rest), "statistic", "p"
    ),
    "mcnemar_power": lambda N, **rest: textbook.mcnemar_power(n=N, **rest),  # noqa: N803 - the file's
    "mean_pass_hat_k": lambda n, cs, k: np.mean(ours.pass_m_of_n(n, cs, k, k)),
    "paired_t_ci": lambda **rest: _fields(ours.paired_t(**rest), "low", "high"),
    "paired_t_p": lambda **rest: ours.paired_t(**rest).p,
    "paired_t_t": lambda **rest: ours.paired_t(**rest).statistic,
    "pass_at_k": lambda n, c, k: ours.pass_m_of_n(n, c, 1, k),
    "pass_hat_k": lambda n, c, k: ours.pass_m_of_n(n, c, k, k),
    "se_clt": lambda x: ours.mean_se(x).se,
    "signflip_exact": lambda **rest: ours.signflip_exact(**rest).p,
    "variance_ratio_uniform": lambda K: textbook.variance_ratio_uniform(k=K),  # noqa: N803 - the file's
    "wilcoxon_p": lambda **rest: textbook.wilcoxon_exact(**rest).p,
}


def _fields(result, *names):
    return [getattr(result, name) for name in names]


UNDEFINED = [case for case in CASES if case["expected"] == "nan"]
DEFINED = [case for case in CASES if case["expected"] != "nan"]


def computed(case):
    return np.asarray(FUNCTIONS[case["function"]](**case["inputs"]), dtype=float)


@pytest.mark.parametrize("case", UNDEFINED, ids=lambda case: case["id"])
def test_what_is_not_defined_is_nan(case):
    assert math.isnan(computed(case))


@pytest.mark.parametrize("case", DEFINED, ids=lambda case: case["id"])
def test_a_published_number_is_reproduced(case):
    number = computed(case)
    tolerance = case["tolerance"]
    within = tolerance.get("abs", 0) + tolerance.get("rel", 0) * np.abs(
        case["expected"]
    )
    assert number.shape == np.shape(case["expected"])
    assert (np.abs(number - case["expected"]) <= within).all(), (
        number,
        case["expected"],
    )


def test_every_function_is_covered_by_a_case():
    assert {case["function"] for case in CASES} == set(FUNCTIONS)
