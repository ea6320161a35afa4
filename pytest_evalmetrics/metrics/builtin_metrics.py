"""The built-in metrics: importing this module registers them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from pytest_evalmetrics.metrics.base_statistics import task_sums
from pytest_evalmetrics.metrics.metric import MetricOptions
from pytest_evalmetrics.registry import register_metric
from pytest_evalmetrics.stats import max_at_k, pass_m_of_n
from pytest_evalmetrics.sums import reaches, total

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pytest_evalmetrics.model.metric_facts import MetricDirection, MetricLimits
    from pytest_evalmetrics.model.rollout_table import TaskRewards

    Floats = NDArray[np.float64]

# What a row may call its usage, best first; the columns of one tuple are added. Where a
# row lacks one of them, the next tuple is looked at. Names without a unit are not here:
# a latency may be in milliseconds.
USAGE_COLUMNS: dict[str, tuple[tuple[str, ...], ...]] = {
    "time_per_task": (
        ("latency_s",),
        ("latency_seconds",),
        ("duration_s",),
        ("duration_seconds",),
        ("elapsed_s",),
        ("wall_time_s",),
    ),
    "tokens_per_task": (
        ("prompt_tokens", "completion_tokens"),
        ("input_tokens", "output_tokens"),
        ("total_tokens",),
    ),
    "cost_per_task": (("cost_usd",), ("total_cost_usd",), ("cost",), ("total_cost",)),
}


def passes(
    rewards: TaskRewards, threshold: float, first: int | None = None
) -> NDArray[np.int64]:
    """Count each task's passing rollouts, or those of its first few, shape (tasks,)."""
    running = np.zeros(len(rewards.values) + 1, dtype=np.int64)
    reaches(rewards.values, threshold).cumsum(out=running[1:])
    starts = rewards.offsets[:-1]
    stops = rewards.offsets[1:]
    if first is not None:
        stops = np.minimum(starts + first, stops)
    return running[stops] - running[starts]


@register_metric("mean_reward")
class MeanReward:
    """The mean over tasks of the task's mean: each task weighs the same."""

    name: ClassVar[str] = "mean_reward"
    direction: ClassVar[MetricDirection] = "as_score"
    limits: ClassVar[MetricLimits] = "as_score"
    unbiased: ClassVar[bool] = True

    def task_values(self, rewards: TaskRewards) -> Floats:
        """Average each task, shape (tasks,); NaN for an empty one."""
        if rewards.is_one_each:
            return rewards.values  # no copy of what may be a million numbers
        counts = rewards.counts
        means = np.full(len(rewards), np.nan)
        np.divide(task_sums(rewards), counts, out=means, where=counts > 0)
        return means


@register_metric("avg")
class Avg(MeanReward):
    """Another name for mean_reward."""

    name: ClassVar[str] = "avg"


@register_metric("median")
class Median(MeanReward):
    """The median over tasks of the task's mean."""

    name: ClassVar[str] = "median"
    quantile: ClassVar[float] = 0.5
    unbiased: ClassVar[bool] = False
    combines_draws: ClassVar[bool] = True

    def combine(self, values: Floats) -> Floats:
        """Take the median of the tasks' means in every draw."""
        # numpy sorts short rows faster than it finds their middle
        ordered = np.sort(values, axis=-1)
        tasks = ordered.shape[-1]
        lower = ordered[..., (tasks - 1) // 2]
        upper = ordered[..., tasks // 2]
        middle: Floats = (lower + upper) / 2
        return middle

    def combine_weighted(self, values: Floats, times: Floats) -> Floats:
        """Take the median of means that occur so many times each in every draw."""
        order = np.argsort(values, kind="stable")
        reached = np.cumsum(times[..., order], axis=-1)
        half = reached[..., -1:] / 2
        # the two in the middle are the same one unless the halves meet between them
        low = order[(reached < half).sum(axis=-1)]
        high = order[(reached <= half).sum(axis=-1)]
        middle: Floats = (values[low] + values[high]) / 2
        return middle


@register_metric("p{percent}")
class Quantile:
    """A percentile over all rollouts, linear between order statistics.

    Definition 7 of Hyndman and Fan 1996, the default of numpy and R.
    """

    direction: ClassVar[MetricDirection] = "as_score"
    limits: ClassVar[MetricLimits] = "as_score"

    def __init__(self, percent: int) -> None:
        if percent > 99:  # per cent
            raise ValueError("percentiles go from p1 to p99")
        self.name = f"p{percent}"
        self.quantile = percent / 100

    def weighted(self, rewards: TaskRewards, weights: Floats) -> float:
        """Take the percentile of values that occur so many times each."""
        order = rewards.once("order", lambda: _ascending(rewards.values))
        reached = np.cumsum(weights[order])
        place = (reached[-1] - 1) * self.quantile
        ends = np.searchsorted(reached, [np.floor(place), np.ceil(place)], side="right")
        places = order[np.minimum(ends, len(order) - 1)]
        low, high = rewards.values[places].tolist()
        return float(low + (high - low) * (place - np.floor(place)))


def _ascending(values: Floats) -> NDArray[np.int32]:
    """Return the places of values in ascending order, in half of the memory."""
    return np.argsort(values, kind="stable").astype(np.int32)


@register_metric("sum")
class Total:
    """The sum over all rollouts."""

    name: ClassVar[str] = "sum"
    direction: ClassVar[MetricDirection] = "as_score"

    def weighted(self, rewards: TaskRewards, weights: Floats) -> float:
        """Sum values that occur so many times each."""
        return total(rewards.values * weights)


@register_metric("worst_task")
class WorstTask(MeanReward):
    """The lowest mean reward of a task."""

    name: ClassVar[str] = "worst_task"
    unbiased: ClassVar[bool] = False
    combines_draws: ClassVar[bool] = True
    extreme: ClassVar[Literal["lowest"]] = "lowest"
    no_interval: ClassVar[str] = (
        "the lowest of the tasks has no interval: no resampling of them can show a lower one"
    )

    def combine(self, values: Floats) -> Floats:
        """Take the lowest of the tasks' means in every draw."""
        lowest: Floats = values.min(axis=-1)
        return lowest

    def combine_weighted(self, values: Floats, times: Floats) -> Floats:
        """Take the lowest of the means that occur in every draw."""
        lowest: Floats = np.where(times > 0, values, math.inf).min(axis=-1)
        return lowest


@register_metric("pass_rate")
class PassRate:
    """The share of rollouts that pass, pooled over tasks: each rollout weighs the same."""

    name: ClassVar[str] = "pass_rate"
    direction: ClassVar[MetricDirection] = "higher"
    bounded: ClassVar[bool] = True
    counts_passes: ClassVar[bool] = True
    unbiased: ClassVar[bool] = True

    def __init__(self, options: MetricOptions | None = None) -> None:
        self.options = options or MetricOptions()

    def task_parts(self, rewards: TaskRewards) -> tuple[Floats, Floats]:
        """Count each task's passing rollouts, and its rollouts."""
        passing = passes(rewards, self.options.pass_threshold)
        return passing.astype(np.float64), rewards.counts.astype(np.float64)


class _OfK:
    """Base of the metrics over k rollouts of a task.

    ``unbiased`` averages over all sets of k rollouts of the task; ``first_k`` looks at the first
    k, or what there is of them.
    """

    form: ClassVar[str] = ""  # of the name

    def __init__(self, k: int, options: MetricOptions | None = None) -> None:
        self.name = self.form.format(k=k)
        self.k = k
        self.options = options or MetricOptions()
        self.unbiased = not self.options.first_k
        self.samples_needed = k
        if self.options.first_k:
            self.samples_needed = 1


class _AtLeast(_OfK):
    """The chance that at least m of k rollouts pass: a tail of the hypergeometric distribution."""

    direction: ClassVar[MetricDirection] = "higher"
    bounded: ClassVar[bool] = True
    counts_passes: ClassVar[bool] = True
    of_all: ClassVar[bool] = False  # of the first k all that there are have to pass
    m = 1

    def task_values(self, rewards: TaskRewards) -> Floats:
        """Estimate each task's chance, shape (tasks,); NaN where n < k, if unbiased."""
        if self.options.first_k:
            return self._of_first_k(rewards)
        m = self.m
        if self.of_all:
            m = self.k
        passed = passes(rewards, self.options.pass_threshold)
        return np.asarray(pass_m_of_n(rewards.counts, passed, m, self.k))

    def _of_first_k(self, rewards: TaskRewards) -> Floats:
        """Return 1 for a task of whose first k rollouts enough pass, NaN for an empty one."""
        counts = rewards.counts
        needed = np.full(len(rewards), self.m)
        if self.of_all:
            needed = np.minimum(counts, self.k)
        passed = passes(rewards, self.options.pass_threshold, self.k)
        return np.where(counts > 0, passed >= needed, np.nan)


@register_metric("pass@{k}")
class PassAtK(_AtLeast):
    """The chance that at least one of k rollouts of a task passes, averaged over tasks.

    1 - C(n - c, k) / C(n, k) of a task with n rollouts, c of which pass: the mean over all
    sets of k of them (Chen et al. 2021, arXiv 2107.03374). ``pass_estimator: first_k`` looks
    at the first k alone.
    """

    form: ClassVar[str] = "pass@{k}"


@register_metric("pass^{k}")
class PassHatK(_AtLeast):
    """The chance that all of k rollouts of a task pass, averaged over tasks.

    C(c, k) / C(n, k) of a task with n rollouts, c of which pass: the mean over all sets of k
    of them (tau-bench, arXiv 2406.12045). ``pass_estimator: first_k`` looks at the first k
    alone, or at all if there are fewer.
    """

    form: ClassVar[str] = "pass^{k}"
    of_all: ClassVar[bool] = True


@register_metric("pass_{m}_of_{n}")
class Reliability(_AtLeast):
    """The chance that at least m of n rollouts of a task pass, averaged over tasks.

    The mean over all sets of n of a task's rollouts, as pass@k (m = 1) and pass^k (m = n) are.
    ``first_k`` looks at the first n alone.
    """

    def __init__(self, m: int, n: int, options: MetricOptions | None = None) -> None:
        if m > n:
            raise ValueError(f"of {n} rollouts no {m} can pass")
        super().__init__(n, options)
        self.name = f"pass_{m}_of_{n}"
        self.m = m
        self.unbiased = False


@register_metric("max@{k}")
class MaxAtK(_OfK):
    """The expected best of k rollouts of a task, averaged over tasks; pass@k for graded rewards.

    ``first_k`` takes the best of the first k, or of what there is of them.
    """

    form: ClassVar[str] = "max@{k}"
    direction: ClassVar[MetricDirection] = "as_score"
    limits: ClassVar[MetricLimits] = "as_score"

    def task_values(self, rewards: TaskRewards) -> Floats:
        """Estimate each task's best, shape (tasks,); NaN where n < k, if unbiased."""
        values = np.full(len(rewards), np.nan)
        for tasks, block in rewards.blocks():
            if self.options.first_k:
                values[tasks] = block[:, : self.k].max(axis=1)
            else:
                values[tasks] = max_at_k(block, self.k)
        return values


class _PerTask(MeanReward):
    """Usage of a task: the mean within the task, then over the tasks that report it."""

    direction: ClassVar[MetricDirection] = "lower"
    limits: ClassVar[MetricLimits] = (0.0, math.inf)

    def column(self, scores: Mapping[str, Floats]) -> Floats | None:
        """Take each row's usage from the first of the accepted columns that it fills."""
        column: Floats | None = None
        for names in USAGE_COLUMNS[self.name]:
            if not all(name in scores for name in names):
                continue
            used = scores[names[0]]
            for name in names[1:]:
                used = used + scores[name]
            if column is None:
                column = used
            else:
                column = np.where(np.isnan(column), used, column)
        if column is None or np.isnan(column).all():
            return None
        return column

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that may be read."""
        return tuple(name for names in USAGE_COLUMNS[self.name] for name in names)

    @property
    def accepted(self) -> str:
        """The columns that are read, for messages."""
        return ", ".join(" + ".join(names) for names in USAGE_COLUMNS[self.name])


@register_metric("time_per_task")
class TimePerTask(_PerTask):
    """The latency of a rollout in seconds, averaged over tasks."""

    name: ClassVar[str] = "time_per_task"


@register_metric("tokens_per_task")
class TokensPerTask(_PerTask):
    """The tokens of a rollout, prompt and completion, averaged over tasks."""

    name: ClassVar[str] = "tokens_per_task"


@register_metric("cost_per_task")
class CostPerTask(_PerTask):
    """The cost of a rollout, averaged over tasks."""

    name: ClassVar[str] = "cost_per_task"
