"""The faults that were measured in other tools, each a test of ours."""

import subprocess
import sys

import numpy as np
import pytest
from gates.making import checked, flips, make_pair, rule

from pytest_evalmetrics.ext import Verdict


def test_all_tasks_falling_alike_is_a_regression():
    check = checked(make_pair([[0.9]] * 200, [[0.6]] * 200))
    assert check.verdict is Verdict.FAIL
    assert check.reason.startswith("mean_reward fell from 0.9 to 0.6: a loss of 0.3, p = 6.2e-61")
    assert check.evidence["worse"] == 200


@pytest.mark.parametrize("name", ["exact", "statistical", "practical", "noninferior"])
def test_a_run_that_lost_half_its_tasks_does_not_pass(name):
    half = tuple(range(100, 200))
    check = checked(make_pair([[1.0]] * 100, [[1.0]] * 100), rule(name), removed=half)
    assert check.verdict is Verdict.INCONCLUSIVE


def test_forty_of_200_tasks_improving_pass_and_are_told():
    check = checked(flips(0, 40, 160))
    assert check.verdict is Verdict.PASS
    assert "better than the baseline" in check.reason


def test_balanced_flips_pass():
    check = checked(flips(20, 20, 160))
    assert check.verdict is Verdict.PASS
    assert check.evidence["baseline"] == check.evidence["current"] == 0.9
    assert (check.evidence["worse"], check.evidence["better"]) == (20, 20)


def test_rollouts_of_one_task_are_no_independent_observations():
    # 4,000 rollouts of ten tasks, two of which fell: not a significant drop of the mean
    baseline = [[1.0] * 400] * 10
    current = [[0.0] * 400, [0.5] * 400] + [[1.0] * 400] * 8
    check = checked(make_pair(baseline, current))
    assert check.verdict is Verdict.PASS
    assert check.evidence["units"] == 10
    assert check.evidence["p"] == pytest.approx(1 / 8)


def test_a_drop_is_in_points_never_in_standard_deviations():
    rng = np.random.default_rng(0)
    before = rng.normal(100, 0.001, 200)
    pair = make_pair([[v] for v in before], [[v - 0.002] for v in before], bounded=False)
    assert checked(pair, rule(max_drop=0.01)).verdict is Verdict.PASS


SCRIPT = """
import sys
sys.modules["scipy"] = sys.modules["statsmodels"] = None  # an import of them raises
sys.path.insert(0, "tests")
from gates.making import checked, make_pair
before = [[1.0, 1.0, 0.0, 1.0]] * 150 + [[0.0, 0.0, 1.0, 0.0]] * 50
after = [[1.0, 0.0, 0.0, 1.0]] * 80 + before[80:]
print(checked(make_pair(before, after)).verdict)
assert not [name for name in sys.modules if name.startswith("scipy.")]
"""


def test_without_scipy_a_drop_of_ten_points_is_a_regression(pytestconfig):
    command = [sys.executable, "-c", SCRIPT]
    out = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=pytestconfig.rootpath
    )
    assert out.stdout.strip() == "FAIL"
