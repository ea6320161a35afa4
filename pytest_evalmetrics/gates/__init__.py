"""Gates: what was found -> checks with a verdict."""

from pytest_evalmetrics.gates.comparison import too_few
from pytest_evalmetrics.gates.completeness import Completeness, check_completeness
from pytest_evalmetrics.gates.evidence import of_rule as evidence_of_rule
from pytest_evalmetrics.gates.numbers import check_numbers, few_numbers
from pytest_evalmetrics.gates.power import thinned_drop
from pytest_evalmetrics.gates.regression import Gated, accepted, check_regression
from pytest_evalmetrics.gates.rules import Rule
from pytest_evalmetrics.gates.single_tasks import Flips, SingleTasks, check_broken, flips_of
from pytest_evalmetrics.gates.task_list import check_task_list, task_list_notes
from pytest_evalmetrics.gates.thresholds import blind_thresholds, check_threshold, check_thresholds
from pytest_evalmetrics.gates.values import check_value

__all__ = [
    "Completeness",
    "Flips",
    "Gated",
    "Rule",
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
    "evidence_of_rule",
    "few_numbers",
    "flips_of",
    "task_list_notes",
    "thinned_drop",
    "too_few",
]
