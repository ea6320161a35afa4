"""Metrics: one agent's rollouts -> estimates, and NeMo Gym's aggregate entry."""

from pytest_evalmetrics.metrics.aggregate import reduce_agent
from pytest_evalmetrics.metrics.lookup import BoundMetric
from pytest_evalmetrics.metrics.matching import align
from pytest_evalmetrics.metrics.pairing import Compared, Pairing
from pytest_evalmetrics.metrics.planning import Plan, plan
from pytest_evalmetrics.metrics.source import Source

__all__ = [
    "BoundMetric",
    "Compared",
    "Pairing",
    "Plan",
    "Source",
    "align",
    "plan",
    "reduce_agent",
]
