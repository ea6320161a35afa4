"""pass_rate: passing rollouts of all rollouts, pooled over tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from pytest_evalmetrics.metrics.forms import Vectorised
from pytest_evalmetrics.metrics.protocol import MetricOptions
from pytest_evalmetrics.metrics.segments import passes
from pytest_evalmetrics.registry import register_metric

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_evalmetrics.data import TaskRewards

__all__ = ["PassRate"]


@register_metric("pass_rate")
class PassRate(Vectorised):
    """The share of rollouts that pass: each rollout weighs the same."""

    name: ClassVar[str] = "pass_rate"
    bounded: ClassVar[bool] = True

    def __init__(self, options: MetricOptions | None = None) -> None:
        self.options = options or MetricOptions()

    def task_parts(self, rewards: TaskRewards) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Count each task's passing rollouts, and its rollouts."""
        passing = passes(rewards, self.options.pass_threshold)
        return passing.astype(np.float64), rewards.counts.astype(np.float64)
