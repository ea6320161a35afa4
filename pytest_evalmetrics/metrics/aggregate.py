"""One agent's rollouts -> its estimates, and NeMo Gym's aggregate entry."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.config.declarations import range_by
from pytest_evalmetrics.errors import (
    EvalMetricsError,
    MetricError,
    RegistryError,
    did_you_mean,
)
from pytest_evalmetrics.metrics.base_statistics import GroupEntries, pooled_statistics
from pytest_evalmetrics.metrics.builtin_metrics import USAGE_COLUMNS
from pytest_evalmetrics.metrics.hook_metrics import (
    ComputeMetrics,
    KeyMetrics,
    added_metrics,
    chosen_keys,
)
from pytest_evalmetrics.metrics.intervals import estimate
from pytest_evalmetrics.metrics.metric import (
    BoundMetric,
    UndefinedMetricError,
    is_number,
)
from pytest_evalmetrics.metrics.samples import SampleSource, with_missing_rewards
from pytest_evalmetrics.model.estimates import Estimate, Interval
from pytest_evalmetrics.model.results import AgentResult
from pytest_evalmetrics.model.rollout_notes import SliceWithoutRewards, UndefinedSlice

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.metrics.lookup import Plan
    from pytest_evalmetrics.metrics.samples import Sample
    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.model.rollout_table import RolloutTable

_REPORTED_PARTS = 100  # of a breakdown in reports; the aggregate metrics hold all


def reduce_agent(
    plan: Plan,
    agent: str,
    table: RolloutTable,
    *,
    expected: int | NDArray[np.int64] | None = None,
    compute_metrics: ComputeMetrics | None = None,
    key_metrics: KeyMetrics | None = None,
    notes: list[Note] | None = None,
) -> AgentResult:
    """Compute all metrics of one agent from its rollouts.

    Parameters
    ----------
    plan
        The benchmark's metrics.
    agent, table
        The agent's name and its rollouts.
    expected
        The rollouts that each task should have: one number, or shape (tasks,); None for
        as many as it has.
    compute_metrics, key_metrics
        The project's hooks; None without them.
    notes
        Takes what a reader should know, such as groups that have no reward.

    Returns
    -------
    AgentResult
        Its `estimates` hold the listed metrics, the first hundred of ``breakdown:``, the
        key metrics, those with a threshold, and those of ``plan.also``, by canonical name;
        one that is written otherwise (``my_pkg.metrics:Median``) is there under what was
        written too.

    Raises
    ------
    EvalMetricsError
        For an unknown metric, score, field or value, and for a metric that can't be
        computed: none is ever left out.
    """
    spec = plan.spec
    unscored = _unscored_rollouts(plan, table)
    table = with_missing_rewards(table, spec)
    groups = GroupEntries(table, agent, unscored, expected)
    reduction = _Reduction(plan, table)
    reduction.estimate_listed()
    reduction.break_down([] if notes is None else notes)
    reduction.add_usage()
    if compute_metrics is not None:
        reduction.add_from(compute_metrics)
    keys = reduction.choose(key_metrics)
    for name in spec.thresholds:
        reduction.estimate(name, "thresholds", name)
    for name in plan.also:
        reduction.estimate(name, "baseline")
    reduction.add_parts()
    key_values = {name: reduction.estimates[name].value for name in keys}
    return AgentResult(
        agent=agent,
        tasks=len(table.tasks),
        rollouts=len(table),
        missing=int(groups.missing.sum()),
        estimates=reduction.estimates,
        key_metrics=key_values,
        aggregate={
            "agent_ref": {"name": agent},
            "agent_metrics": reduction.metrics,
            "key_metrics": key_values,
            "group_level_metrics": groups,
        },
    )


def _unscored_rollouts(plan: Plan, table: RolloutTable) -> NDArray[np.int64]:
    """Count each task's rollouts without a reward, or without what metrics read instead."""
    spec = plan.spec
    columns = spec.row_columns
    if spec.reward in table.scores:
        columns = (spec.reward,)
    absent = np.ones(len(table), dtype=bool)
    if columns:
        absent = table.lacking(columns)
    return np.bincount(table.task[absent], minlength=len(table.tasks))


def threshold_intervals(plan: Plan, table: RolloutTable) -> dict[str, Interval | None]:
    """Compute, by metric, the intervals that thresholds with a confidence of their own compare."""
    levels = {
        name: threshold.level
        for name, threshold in plan.spec.thresholds.items()
        if threshold.confidence is not None
    }
    if not levels:
        return {}
    reduction = _Reduction(plan, with_missing_rewards(table, plan.spec))
    intervals: dict[str, Interval | None] = dict.fromkeys(levels)
    for name, level in levels.items():
        with suppress(EvalMetricsError):  # a hook's number
            metric = reduction.bind(name)
            intervals[name] = reduction.measured(metric, level).interval
    return intervals


class _Reduction:
    """The numbers of one agent that have been computed so far."""

    def __init__(self, plan: Plan, table: RolloutTable) -> None:
        self.plan = plan
        self.spec = plan.spec
        self.table = table
        self.source = SampleSource(table, self.spec.reward, self.spec.cluster)
        # a hook may add what is no number
        self.metrics: dict[str, object] = {**pooled_statistics(table)}
        self.statistics = tuple(self.metrics)
        self.estimates: dict[str, Estimate] = {}
        self.hooked: dict[str, float] = {}
        self.parts: list[BoundMetric] = []
        self.default_keys = [name for name in self.metrics if name.startswith("mean/")]

    def estimate_listed(self) -> None:
        """Estimate the metrics that the benchmark lists."""
        for at, text in enumerate(self.spec.metrics):
            estimated = self.estimate(text, "metrics", at)
            self.default_keys.append(estimated.name)

    # -- breakdowns --------------------------------------------------------------------------

    def break_down(self, notes: list[Note]) -> None:
        """Compute each listed metric for each value of each field of ``breakdown:``."""
        listed = [self.bind(text) for text in self.spec.metrics]
        whole = [metric for metric in listed if metric.name.field is None]
        for at, field in enumerate(self.spec.breakdown):
            with self.plan.located("breakdown", at):
                for label, rows in self.source.rows_by_label(field).items():
                    if self._have_rewards(rows):
                        self._add_parts_of(whole, field, label, notes)
                    else:
                        notes.append(SliceWithoutRewards(field, label, len(rows)))

    def _have_rewards(self, rows: NDArray[np.int64]) -> bool:
        """Check whether any of some rows has a reward, if there are rewards at all."""
        reward = self.table.scores.get(self.spec.reward)
        return reward is None or not np.isnan(reward[rows]).all()

    def _add_parts_of(
        self, metrics: Sequence[BoundMetric], field: str, label: str, notes: list[Note]
    ) -> None:
        for whole in metrics:
            metric = BoundMetric(whole.name.over(field, label), whole.target)
            sample = self.source.sample(metric)
            try:
                value = metric.value(sample.rewards, sample.tasks)
            except UndefinedMetricError as error:
                notes.append(UndefinedSlice(error.message))
                continue
            self.metrics[str(metric)] = value
            self.parts.append(metric)

    def add_parts(self) -> None:
        """Add the estimates of ``breakdown:`` that nothing has asked for, for reports."""
        for metric in self.parts[:_REPORTED_PARTS]:
            name = str(metric)
            if name in self.estimates:
                continue
            sample = self.source.sample(metric)
            parts = metric.parts(sample.rewards)
            if parts is not None and parts.combine is None:
                self.estimates[name] = self.measured(metric)
            else:  # a bootstrap for each would take its time
                value = metric.value(sample.rewards)
                self.estimates[name] = _without_interval(name, value, sample)

    # -- usage and hooks -----------------------------------------------------------------------

    def add_usage(self) -> None:
        """Compute time, tokens and cost of a task where the rollouts report them."""
        for name in USAGE_COLUMNS:
            metric = self.bind(name)
            if name in self.metrics or not metric.reads_columns:
                continue
            if metric.target.column(self.table.scores) is not None:
                sample = self.source.sample(metric)
                self.metrics[name] = metric.value(sample.rewards)

    def add_from(self, hook: ComputeMetrics) -> None:
        """Add the metrics of the hook."""
        with self.plan.located():
            added = added_metrics(hook, self.table, self.metrics)
        self.metrics.update(added)
        for name, value in added.items():
            if is_number(value):
                self.hooked[name] = float(value)
        self.default_keys += [name for name in self.hooked if name.startswith("mean/")]

    def choose(self, hook: KeyMetrics | None) -> list[str]:
        """Estimate the key metrics: the benchmark's, else the hook's, else the usual ones."""
        if self.spec.key_metrics is not None:
            return [
                self.estimate(text, "key_metrics", at).name
                for at, text in enumerate(self.spec.key_metrics)
            ]
        keys: Mapping[str, float | None] | None = None
        if hook is not None:
            with self.plan.located():
                keys = chosen_keys(hook, self.metrics)
        if keys is None:
            keys = dict.fromkeys(self.default_keys)
        for name, value in keys.items():
            if value is not None:
                self.hooked[name] = value
        return [self.estimate(name).name for name in keys]

    # -- estimates -----------------------------------------------------------------------------

    def estimate(self, text: str, *path: str | int) -> Estimate:
        """Estimate a metric once; `path` locates it in the benchmark file."""
        if text not in self.estimates:
            with self.plan.located(*path):
                estimated = self._estimated(text)
            self.estimates.setdefault(estimated.name, estimated)
            self.estimates[text] = estimated
            if estimated.name not in self.hooked:
                self.metrics.setdefault(estimated.name, estimated.value)
        return self.estimates[text]

    def _estimated(self, text: str) -> Estimate:
        if text in self.hooked:
            return Estimate(
                name=text,
                value=self.hooked[text],
                tasks=len(self.table.tasks),
                rollouts=len(self.table),
                reason="computed by a hook",
                by_hook=True,
            )
        if text in self.metrics and not is_number(self.metrics[text]):
            why = "is computed by a hook and is not a number: it is only reported"
            raise MetricError(f"{text!r} {why}")
        try:
            metric = self.bind(text)
        except RegistryError as error:
            if self.hooked:
                hooked = did_you_mean(text, self.hooked, what="hooks compute")
                error.hint = f"{hooked}; {error.hint}"
            raise
        return self.estimates.get(str(metric)) or self.measured(metric)

    def measured(self, metric: BoundMetric, level: float = 0.95) -> Estimate:
        """Compute a metric with its interval."""
        sample = self.source.sample(metric)
        known = self.metrics.get(str(metric))
        return estimate(
            metric,
            sample,
            level=level,
            value=known if is_number(known) else None,
            ends=self._ends(metric, sample),
        )

    def _ends(self, metric: BoundMetric, sample: Sample) -> tuple[float, float] | None:
        """Return the range of a metric: the declared one, or [0, 1] if its score shows that."""
        declared = range_by(self.spec, metric.name, metric.facts)
        if declared.why:
            return declared.low, declared.high
        values = sample.rewards.values
        if not sample.score or not len(values):
            return None
        if values.min() < 0 or values.max() > 1:
            return None
        return 0.0, 1.0

    def bind(self, text: str) -> BoundMetric:
        """Look up a metric by its name."""
        if text in self.statistics:  # its score's name may hold brackets and slashes
            statistic, _, score = text.partition("/")
            return self.plan.names.statistic(statistic, score)
        return self.plan.names.bind(text)


def _without_interval(name: str, value: float, sample: Sample) -> Estimate:
    return Estimate(
        name=name,
        value=value,
        tasks=int((sample.rewards.counts > 0).sum()),
        rollouts=len(sample.rewards.values),
        reason="of a breakdown; gate it, and its interval is computed",
        score=sample.score,
        missing=sample.missing,
    )
