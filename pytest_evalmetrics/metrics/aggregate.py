"""One agent's rollouts -> its estimates, and NeMo Gym's aggregate entry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.errors import MetricError, RegistryError, did_you_mean
from pytest_evalmetrics.metrics.basestats import pooled_statistics
from pytest_evalmetrics.metrics.calling import is_number
from pytest_evalmetrics.metrics.economics import reported
from pytest_evalmetrics.metrics.estimate import estimate
from pytest_evalmetrics.metrics.groups import Completeness, GroupEntries
from pytest_evalmetrics.metrics.hooks import additions, chosen
from pytest_evalmetrics.metrics.source import Source, with_missing_rewards
from pytest_evalmetrics.results import AgentResult, Estimate
from pytest_evalmetrics.spec.metric_facts import range_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.metrics.hooks import ComputeMetrics, KeyMetrics
    from pytest_evalmetrics.metrics.lookup import BoundMetric
    from pytest_evalmetrics.metrics.planning import Plan
    from pytest_evalmetrics.metrics.source import Sample

__all__ = ["reduce_agent"]

_PARTS_TOLD = 100  # of a breakdown in reports; the aggregate metrics hold all


def reduce_agent(
    plan: Plan,
    agent: str,
    table: RolloutTable,
    *,
    expected: int | NDArray[np.int64] | None = None,
    compute_metrics: ComputeMetrics | None = None,
    key_metrics: KeyMetrics | None = None,
    level: float = 0.95,
    notes: list[str] | None = None,
) -> AgentResult:
    """Compute everything that is said of one agent.

    Parameters
    ----------
    plan
        The benchmark's metrics.
    agent
        The agent's name.
    table
        Its rollouts alone.
    expected
        Rollouts that each task should have: one number, or shape (tasks,); None is as many
        as it has.
    compute_metrics, key_metrics
        The two hooks, where anything implements them; see `hooks`.
    level
        The confidence of the intervals.
    notes
        Takes what a reader should know, such as groups that have no reward.

    Returns
    -------
    AgentResult
        `estimates` holds the listed metrics, the first hundred of ``breakdown:``, the
        key metrics, those with a threshold, and those of ``plan.also``, by canonical name;
        one that is written otherwise (``my_pkg.metrics:Median``) is there under what was
        written too.

    Raises
    ------
    EvalMetricsError
        If a metric, score, field or value is not known, or a metric can't be computed:
        none is ever left out.
    """
    completeness = Completeness.of(table, plan.spec.reward, expected)
    table = with_missing_rewards(table, plan.spec)
    reduction = _Reduction(plan, table, level)
    reduction.listed()
    reduction.broken_down()
    reduction.economics()
    if compute_metrics is not None:
        reduction.add_from(compute_metrics)
    keys = reduction.choose(key_metrics)
    for name in plan.spec.thresholds:
        reduction.estimate(name, "thresholds", name)
    for name in plan.also:
        reduction.estimate(name, "baseline")
    reduction.tell_parts()
    key_values = {name: reduction.estimates[name].value for name in keys}
    result = AgentResult(
        agent=agent,
        tasks=len(table.tasks),
        rollouts=len(table),
        missing=int(completeness.missing.sum()),
        estimates=reduction.estimates,
        key_metrics=key_values,
        aggregate={
            "agent_ref": {"name": agent},
            "agent_metrics": reduction.metrics,
            "key_metrics": key_values,
            "group_level_metrics": GroupEntries(table, agent, completeness),
        },
    )
    if notes is not None:
        notes.extend(reduction.notes)
    return result


def _only(count: int) -> str:
    if count == 1:
        return "its only rollout has no reward"
    return f"none of its {count} rollouts has a reward"


class _Reduction:
    """What has been computed so far for one agent."""

    def __init__(self, plan: Plan, table: RolloutTable, level: float) -> None:
        self.spec = plan.spec
        self.names = plan.names
        self.located = plan.located
        self.table = table
        self.level = level
        self.source = Source(table, self.spec.reward, self.spec.cluster)
        self.metrics: dict[str, Any] = pooled_statistics(table)
        self.statistics = tuple(self.metrics)
        self.estimates: dict[str, Estimate] = {}
        self.hooked: dict[str, float] = {}
        self.parts: list[BoundMetric] = []
        self.notes: list[str] = []
        self.default_keys = [name for name in self.metrics if name.startswith("mean/")]

    def listed(self) -> None:
        """Compute ``metrics:``."""
        for at, text in enumerate(self.spec.metrics):
            self.default_keys.append(self.estimate(text, "metrics", at).name)

    def broken_down(self) -> None:
        """Compute each listed metric for each value of each field of ``breakdown:``."""
        for at, field in enumerate(self.spec.breakdown):
            with self.located("breakdown", at):
                unscored = self.source.unscored(field)
                self.notes += [
                    f"breakdown: {field} = {value} is left out, because {_only(count)}"
                    for value, count in unscored.items()
                ]
                for value in self.source.labels(field):
                    if value in unscored:
                        continue
                    for text in self.spec.metrics:
                        metric = self._bind(text)
                        if metric.name.field is None:
                            metric = metric.over(field, value)
                            sample = self.source.sample(metric)
                            self.metrics[str(metric)] = metric.value(sample.rewards, sample.tasks)
                            self.parts.append(metric)

    def tell_parts(self) -> None:
        """Add the estimates of ``breakdown:`` that nothing has asked for, for reports."""
        for metric in self.parts[:_PARTS_TOLD]:
            name = str(metric)
            if name in self.estimates:
                continue
            sample = self.source.sample(metric)
            parts = metric.measure(sample.rewards, sample.tasks)[1]
            if parts is not None and parts.combine is None:
                self.estimates[name] = self._measured(metric)
                continue
            self.estimates[name] = Estimate(  # a bootstrap for each would take its time
                name=name,
                value=self.metrics[name],
                tasks=int((sample.rewards.counts > 0).sum()),
                rollouts=int(sample.rewards.counts.sum()),
                reason="of a breakdown; gate it, and its interval is computed",
                score=sample.score,
                missing=sample.missing,
            )

    def economics(self) -> None:
        """Compute time, tokens and cost of a task where the rollouts tell them."""
        for name in reported(self.table.scores):
            metric = self._bind(name)
            if name not in self.metrics and metric.target.column(self.table.scores) is not None:
                self.metrics[name] = metric.value(self.source.sample(metric).rewards)

    def add_from(self, hook: ComputeMetrics) -> None:
        """Add what the hook computes."""
        with self.located():
            found = additions(hook, self.table, self.metrics)
        self.metrics.update(found)
        self.hooked = {name: float(value) for name, value in found.items() if is_number(value)}
        self.default_keys += [name for name in self.hooked if name.startswith("mean/")]

    def choose(self, hook: KeyMetrics | None) -> list[str]:
        """Estimate the key metrics: the benchmark's, else the hook's, else the usual ones."""
        if self.spec.key_metrics is not None:
            return [
                self.estimate(text, "key_metrics", at).name
                for at, text in enumerate(self.spec.key_metrics)
            ]
        keys: dict[str, float | None] | None = None
        if hook is not None:
            with self.located():
                keys = chosen(hook, self.metrics)
        if keys is None:
            keys = dict.fromkeys(self.default_keys)
        for name, value in keys.items():
            if value is not None:
                self.hooked[name] = value
        return [self.estimate(name).name for name in keys]

    def estimate(self, text: str, *path: str | int) -> Estimate:
        """Estimate a metric as it is written at `path` of the benchmark, once."""
        if text not in self.estimates:
            with self.located(*path):
                found = self._estimated(text)
            self.estimates.setdefault(found.name, found)
            self.estimates[text] = found
            if found.name not in self.hooked:
                self.metrics.setdefault(found.name, found.value)
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
            raise MetricError(
                f"{text!r} is computed by a hook and is no number: it is only reported"
            )
        try:
            metric = self._bind(text)
        except RegistryError as error:
            if self.hooked:
                error.hint = (
                    f"{did_you_mean(text, self.hooked, what='hooks compute')}; {error.hint}"
                )
            raise
        if str(metric) in self.estimates:
            return self.estimates[str(metric)]
        return self._measured(metric)

    def _measured(self, metric: BoundMetric) -> Estimate:
        sample = self.source.sample(metric)
        return estimate(
            metric,
            sample.rewards,
            tasks=sample.tasks,
            clusters=sample.clusters,
            level=self.level,
            value=self.metrics.get(str(metric)),
            score=sample.score,
            missing=sample.missing,
            ends=self._ends(metric, sample),
        )

    def _ends(self, metric: BoundMetric, sample: Sample) -> tuple[float, float] | None:
        """Find the range of a metric: what the file tells, else [0, 1] where all lies in it."""
        known = range_of(self.spec, metric.name)
        if known.why:
            return known.low, known.high
        values = sample.rewards.values
        on_unit = sample.score and len(values) and values.min() >= 0 and values.max() <= 1
        return (0.0, 1.0) if on_unit else None

    def _bind(self, text: str) -> BoundMetric:
        if text in self.statistics:  # whatever brackets and slashes its score's name may hold
            return self.names.statistic(*text.split("/", 1))
        return self.names.bind(text)
