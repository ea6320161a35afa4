"""Metrics: one agent's rollouts -> estimates, and NeMo Gym's aggregate entry."""

from pytest_evalmetrics.metrics.aggregate import reduce_agent
from pytest_evalmetrics.metrics.pairing import Compared, Pairing
from pytest_evalmetrics.metrics.planning import Plan, plan

__all__ = ["Compared", "Pairing", "Plan", "plan", "reduce_agent"]
