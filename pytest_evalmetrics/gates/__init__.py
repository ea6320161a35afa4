"""Gates: results and comparisons -> checks with a verdict and its reasons."""

from pytest_evalmetrics.gates.completeness import Completeness as Completeness
from pytest_evalmetrics.gates.completeness import (
    check_completeness as check_completeness,
)
from pytest_evalmetrics.gates.completeness import check_numbers as check_numbers
from pytest_evalmetrics.gates.completeness import completeness_of as completeness_of
from pytest_evalmetrics.gates.completeness import missing_policy as missing_policy
from pytest_evalmetrics.gates.completeness import unchecked_tasks as unchecked_tasks
from pytest_evalmetrics.gates.recorded_values import check_value as check_value
from pytest_evalmetrics.gates.regression import Gated as Gated
from pytest_evalmetrics.gates.regression import accepted as accepted
from pytest_evalmetrics.gates.regression import check_regression as check_regression
from pytest_evalmetrics.gates.rules import Change as Change
from pytest_evalmetrics.gates.rules import GateRule as GateRule
from pytest_evalmetrics.gates.rules import RegisteredRule as RegisteredRule
from pytest_evalmetrics.gates.rules import registered_rule as registered_rule
from pytest_evalmetrics.gates.single_task_gate import SHARE as SHARE
from pytest_evalmetrics.gates.single_task_gate import TasksToTest as TasksToTest
from pytest_evalmetrics.gates.single_task_gate import (
    check_tasks_by_rollouts as check_tasks_by_rollouts,
)
from pytest_evalmetrics.gates.single_task_gate import takes_share as takes_share
from pytest_evalmetrics.gates.slice_gate import SLICES_SHARE as SLICES_SHARE
from pytest_evalmetrics.gates.slice_gate import SlicesToTest as SlicesToTest
from pytest_evalmetrics.gates.slice_gate import check_slices as check_slices
from pytest_evalmetrics.gates.task_gates import Flips as Flips
from pytest_evalmetrics.gates.task_gates import SingleTasks as SingleTasks
from pytest_evalmetrics.gates.task_gates import check_broken as check_broken
from pytest_evalmetrics.gates.task_gates import check_single_tasks as check_single_tasks
from pytest_evalmetrics.gates.task_gates import check_task_list as check_task_list
from pytest_evalmetrics.gates.task_gates import flips_of as flips_of
from pytest_evalmetrics.gates.task_gates import single_tasks as single_tasks
from pytest_evalmetrics.gates.task_gates import task_list_note as task_list_note
from pytest_evalmetrics.gates.thresholds import blind_thresholds as blind_thresholds
from pytest_evalmetrics.gates.thresholds import check_threshold as check_threshold
from pytest_evalmetrics.gates.thresholds import check_thresholds as check_thresholds
from pytest_evalmetrics.gates.thresholds import (
    metrics_of_a_part as metrics_of_a_part,
)
from pytest_evalmetrics.gates.thresholds import (
    misplaced_threshold as misplaced_threshold,
)
from pytest_evalmetrics.gates.thresholds import (
    ungrouped_rollouts as ungrouped_rollouts,
)
