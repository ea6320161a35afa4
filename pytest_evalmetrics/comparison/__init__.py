"""Two runs of one metric -> a comparison: tests, power, noise between runs."""

from pytest_evalmetrics.comparison.coins import chance_of_coins as chance_of_coins
from pytest_evalmetrics.comparison.collapses import loses_all as loses_all
from pytest_evalmetrics.comparison.detectable_drop import Needed as Needed
from pytest_evalmetrics.comparison.detectable_drop import grown_drop as grown_drop
from pytest_evalmetrics.comparison.detectable_drop import needed_drop as needed_drop
from pytest_evalmetrics.comparison.detectable_drop import thinned_drop as thinned_drop
from pytest_evalmetrics.comparison.drop_tests import few_units as few_units
from pytest_evalmetrics.comparison.facts import comparison_facts as comparison_facts
from pytest_evalmetrics.comparison.facts import rounded as rounded
from pytest_evalmetrics.comparison.facts import task_group as task_group
from pytest_evalmetrics.comparison.independence import may_be_copies as may_be_copies
from pytest_evalmetrics.comparison.inputs import ComparisonInput as ComparisonInput
from pytest_evalmetrics.comparison.inputs import gate_seed as gate_seed
from pytest_evalmetrics.comparison.inputs import means_of as means_of
from pytest_evalmetrics.comparison.intervals import LEVEL as LEVEL
from pytest_evalmetrics.comparison.joint_adjustment import (
    JointAdjustment as JointAdjustment,
)
from pytest_evalmetrics.comparison.joint_adjustment import (
    adjust_jointly as adjust_jointly,
)
from pytest_evalmetrics.comparison.joint_adjustment import adjusted_p as adjusted_p
from pytest_evalmetrics.comparison.lost_rollouts import LOSS_SHARE as LOSS_SHARE
from pytest_evalmetrics.comparison.lost_rollouts import LossTest as LossTest
from pytest_evalmetrics.comparison.lost_rollouts import loss_test as loss_test
from pytest_evalmetrics.comparison.lost_rollouts import (
    may_be_gone_by_chance as may_be_gone_by_chance,
)
from pytest_evalmetrics.comparison.metric_comparison import (
    TestedMetric as TestedMetric,
)
from pytest_evalmetrics.comparison.metric_comparison import compare as compare
from pytest_evalmetrics.comparison.metric_comparison import (
    compare_metric as compare_metric,
)
from pytest_evalmetrics.comparison.noise_scale import NoiseScale as NoiseScale
from pytest_evalmetrics.comparison.noise_scale import choose_scale as choose_scale
from pytest_evalmetrics.comparison.noise_scale import scale_of as scale_of
from pytest_evalmetrics.comparison.run_noise import RunNoise as RunNoise
from pytest_evalmetrics.comparison.run_noise import Runs as Runs
from pytest_evalmetrics.comparison.run_noise import RunScatter as RunScatter
from pytest_evalmetrics.comparison.run_noise import error_of_current as error_of_current
from pytest_evalmetrics.comparison.run_noise import largest_shift as largest_shift
from pytest_evalmetrics.comparison.run_noise import lone_run as lone_run
from pytest_evalmetrics.comparison.run_noise import pool_shows_noise as pool_shows_noise
from pytest_evalmetrics.comparison.run_noise import runs_of as runs_of
from pytest_evalmetrics.comparison.run_noise import scatter_of as scatter_of
from pytest_evalmetrics.comparison.run_noise import with_run_noise as with_run_noise
from pytest_evalmetrics.comparison.run_noise import (
    with_stated_noise as with_stated_noise,
)
from pytest_evalmetrics.comparison.run_shifts import (
    shift_of_clusters as shift_of_clusters,
)
from pytest_evalmetrics.comparison.run_shifts import with_shift as with_shift
from pytest_evalmetrics.comparison.slices import Slice as Slice
from pytest_evalmetrics.comparison.slices import SliceTest as SliceTest
from pytest_evalmetrics.comparison.slices import check_each as check_each
from pytest_evalmetrics.comparison.slices import slices_of as slices_of
from pytest_evalmetrics.comparison.successive_runs import (
    scatter_of_successive as scatter_of_successive,
)
from pytest_evalmetrics.comparison.task_drops import TaskDrop as TaskDrop
from pytest_evalmetrics.comparison.task_drops import TaskDrops as TaskDrops
from pytest_evalmetrics.comparison.task_drops import broken_tasks as broken_tasks
from pytest_evalmetrics.comparison.task_drops import could_prove as could_prove
from pytest_evalmetrics.comparison.task_drops import log_least_p as log_least_p
