"""Gates: what was found -> checks with a verdict."""

from pytest_evalmetrics.gates.completeness import Completeness, check_completeness
from pytest_evalmetrics.gates.regression import Gated, accepted, check_regression, check_value
from pytest_evalmetrics.gates.rules import Rule
from pytest_evalmetrics.gates.thresholds import check_thresholds

__all__ = [
    "Completeness",
    "Gated",
    "Rule",
    "accepted",
    "check_completeness",
    "check_regression",
    "check_thresholds",
    "check_value",
]
