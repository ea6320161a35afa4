"""pass@k and pass^k: the share of tasks in which any, or all, of k rollouts pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from pytest_evalmetrics.metrics.forms import Vectorised
from pytest_evalmetrics.metrics.protocol import MetricOptions
from pytest_evalmetrics.metrics.segments import passes
from pytest_evalmetrics.registry import register_metric
from pytest_evalmetrics.stats import pass_at_k, pass_hat_k

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import TaskRewards

__all__ = ["PassAtK", "PassHatK"]


class _PassK(Vectorised):
    """What the two have in common.

    Parameters
    ----------
    k
        Rollouts that are looked at together.
    options
        Which rewards pass, and the estimator. ``unbiased`` averages over all sets of k
        rollouts of the task; ``first_k`` looks at the first k, or what there is of them.
    """

    bounded: ClassVar[bool] = True

    def __init__(self, k: int, options: MetricOptions | None = None) -> None:
        self.k = k
        self.options = options or MetricOptions()
        self.samples_needed = 1 if self.options.first_k else k

    def _values(
        self,
        rewards: TaskRewards,
        unbiased: Callable[[NDArray[np.int64], NDArray[np.int64], int], NDArray[np.float64]],
        first: Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.bool_]],
    ) -> NDArray[np.float64]:
        threshold, counts = self.options.pass_threshold, rewards.counts
        if not self.options.first_k:
            return unbiased(counts, passes(rewards, threshold), self.k)
        passing = passes(rewards, threshold, first=self.k)
        return np.where(counts > 0, first(passing, np.minimum(counts, self.k)), np.nan)


@register_metric("pass@{k}")
class PassAtK(_PassK):
    """The chance that at least one of k rollouts of a task passes, averaged over tasks.

    Notes
    -----
    1 - C(n - c, k) / C(n, k) of a task with n rollouts, c of which pass: the mean over all
    sets of k of them (Chen et al. 2021, arXiv 2107.03374). ``pass_estimator: first_k`` looks
    at the first k alone.
    """

    @property
    def name(self) -> str:
        """``pass@3``."""
        return f"pass@{self.k}"

    def task_values(self, rewards: TaskRewards) -> NDArray[np.float64]:
        """Estimate each task's chance, shape (tasks,); NaN where n < k, if unbiased."""
        return self._values(rewards, pass_at_k, lambda passing, _: passing > 0)


@register_metric("pass^{k}")
class PassHatK(_PassK):
    """The chance that all of k rollouts of a task pass, averaged over tasks.

    Notes
    -----
    C(c, k) / C(n, k) of a task with n rollouts, c of which pass: the mean over all sets of k
    of them (tau-bench, arXiv 2406.12045). ``pass_estimator: first_k`` looks at the first k
    alone.
    """

    @property
    def name(self) -> str:
        """``pass^3``."""
        return f"pass^{self.k}"

    def task_values(self, rewards: TaskRewards) -> NDArray[np.float64]:
        """Estimate each task's chance, shape (tasks,); NaN where n < k, if unbiased."""
        return self._values(rewards, pass_hat_k, lambda passing, looked_at: passing == looked_at)
