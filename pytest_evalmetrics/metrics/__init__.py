"""Metrics: one agent's rollouts -> estimates, and NeMo Gym's aggregate entry."""

from pytest_evalmetrics.metrics.aggregate import reduce_agent as reduce_agent
from pytest_evalmetrics.metrics.aggregate import (
    threshold_intervals as threshold_intervals,
)
from pytest_evalmetrics.metrics.alignment import align as align
from pytest_evalmetrics.metrics.alignment import positions as positions
from pytest_evalmetrics.metrics.hook_metrics import ComputeMetrics as ComputeMetrics
from pytest_evalmetrics.metrics.hook_metrics import KeyMetrics as KeyMetrics
from pytest_evalmetrics.metrics.lookup import Names as Names
from pytest_evalmetrics.metrics.lookup import Plan as Plan
from pytest_evalmetrics.metrics.lookup import plan as plan
from pytest_evalmetrics.metrics.metric import BoundMetric as BoundMetric
from pytest_evalmetrics.metrics.metric import MetricOptions as MetricOptions
from pytest_evalmetrics.metrics.pairing import Pairing as Pairing
from pytest_evalmetrics.metrics.samples import SampleSource as SampleSource
