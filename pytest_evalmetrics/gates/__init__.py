"""Gates: results and baselines -> checks with a verdict."""

from pytest_evalmetrics.gates.comparison import thinned_drop, too_few
from pytest_evalmetrics.gates.decisions import GateRule, Rule, check_value
from pytest_evalmetrics.gates.expectations import (
    Completeness,
    blind_thresholds,
    check_completeness,
    check_numbers,
    check_threshold,
    check_thresholds,
    few_numbers,
    missing_policy,
    unreached_threshold,
)
from pytest_evalmetrics.gates.regression import Gated, accepted, check_regression
from pytest_evalmetrics.gates.run_noise import Runs
from pytest_evalmetrics.gates.task_gates import (
    Flips,
    SingleTasks,
    check_broken,
    check_task_list,
    flips_of,
    task_list_notes,
)

__all__ = [
    "Completeness",
    "Flips",
    "GateRule",
    "Gated",
    "Rule",
    "Runs",
    "SingleTasks",
    "accepted",
    "blind_thresholds",
    "check_broken",
    "check_completeness",
    "check_numbers",
    "check_regression",
    "check_task_list",
    "check_threshold",
    "check_thresholds",
    "check_value",
    "few_numbers",
    "flips_of",
    "missing_policy",
    "task_list_notes",
    "thinned_drop",
    "too_few",
    "unreached_threshold",
]
