"""Gates: results and baselines -> checks with a verdict."""

from pytest_evalmetrics.gates.comparison import Gated as Gated
from pytest_evalmetrics.gates.comparison import thinned_drop as thinned_drop
from pytest_evalmetrics.gates.comparison import too_few as too_few
from pytest_evalmetrics.gates.decisions import GateRule as GateRule
from pytest_evalmetrics.gates.decisions import Rule as Rule
from pytest_evalmetrics.gates.decisions import check_value as check_value
from pytest_evalmetrics.gates.expectations import Completeness as Completeness
from pytest_evalmetrics.gates.expectations import blind_thresholds as blind_thresholds
from pytest_evalmetrics.gates.expectations import check_numbers as check_numbers
from pytest_evalmetrics.gates.expectations import check_threshold as check_threshold
from pytest_evalmetrics.gates.expectations import check_thresholds as check_thresholds
from pytest_evalmetrics.gates.expectations import few_numbers as few_numbers
from pytest_evalmetrics.gates.expectations import (
    misplaced_threshold as misplaced_threshold,
)
from pytest_evalmetrics.gates.expectations import missing_policy as missing_policy
from pytest_evalmetrics.gates.expectations import unlabelled as unlabelled
from pytest_evalmetrics.gates.regression import accepted as accepted
from pytest_evalmetrics.gates.regression import check_regression as check_regression
from pytest_evalmetrics.gates.run_noise import Runs as Runs
from pytest_evalmetrics.gates.task_gates import SingleTasks as SingleTasks
from pytest_evalmetrics.gates.task_gates import check_broken as check_broken
from pytest_evalmetrics.gates.task_gates import check_task_list as check_task_list
from pytest_evalmetrics.gates.task_gates import flips_of as flips_of
from pytest_evalmetrics.gates.task_gates import task_list_notes as task_list_notes
