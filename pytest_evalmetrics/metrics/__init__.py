"""Metrics: one agent's rollouts -> estimates, and NeMo Gym's aggregate entry."""

from pytest_evalmetrics.metrics.aggregate import reduce_agent, threshold_intervals
from pytest_evalmetrics.metrics.lookup import Names, Plan, plan
from pytest_evalmetrics.metrics.metric import BoundMetric, MetricOptions
from pytest_evalmetrics.metrics.pairing import Pairing, align
from pytest_evalmetrics.metrics.samples import SampleSource

__all__ = [
    "BoundMetric",
    "MetricOptions",
    "Names",
    "Pairing",
    "Plan",
    "SampleSource",
    "align",
    "plan",
    "reduce_agent",
    "threshold_intervals",
]
