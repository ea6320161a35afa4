"""One agent's rollouts -> its estimates with their intervals, and NeMo Gym's aggregate entry.

The two hooks are NeMo Gym's ``compute_metrics`` and ``get_key_metrics``, here plain callables.
What is independent are tasks, or clusters of tasks: K rollouts of a task are never K observations.
Where no honest interval can be had there is none, with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from pytest_evalmetrics import stats
from pytest_evalmetrics.config.declarations import range_of
from pytest_evalmetrics.errors import (
    EvalMetricsError,
    MetricError,
    RegistryError,
    did_you_mean,
)
from pytest_evalmetrics.metrics.base_statistics import GroupEntries, pooled_statistics
from pytest_evalmetrics.metrics.builtin_metrics import USAGE_COLUMNS
from pytest_evalmetrics.metrics.metric import (
    BoundMetric,
    UndefinedMetricError,
    call,
    is_number,
    vectorised,
)
from pytest_evalmetrics.metrics.samples import (
    Sample,
    SampleSource,
    with_missing_rewards,
)
from pytest_evalmetrics.model.estimates import Estimate, Interval
from pytest_evalmetrics.model.results import AgentResult

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_evalmetrics.metrics.lookup import Plan
    from pytest_evalmetrics.metrics.metric import TaskParts
    from pytest_evalmetrics.model.rollout_table import RolloutTable, TaskRewards

ComputeMetrics = Callable[[list[list[dict[str, Any]]]], list[Any]]
KeyMetrics = Callable[[Mapping[str, Any]], Any]
_COMPUTE = "hook pytest_evalmetrics_compute_metrics"
_CHOOSE = "hook pytest_evalmetrics_key_metrics"
_REPORTED_PARTS = 100  # of a breakdown in reports; the aggregate metrics hold all
_DRAWS = 999
_NAMED = 10
_MOST_TASKS = 20_000  # resampled in about a second
_MOST_SAMPLES = 20_000  # the same for a metric that takes nested lists
_FEW_OFF = 6  # least tasks of a rate away from its end for which t is used
_NO_SPREAD = "every task has the same value, which says nothing of the spread"


def reduce_agent(
    plan: Plan,
    agent: str,
    table: RolloutTable,
    *,
    expected: int | NDArray[np.int64] | None = None,
    compute_metrics: ComputeMetrics | None = None,
    key_metrics: KeyMetrics | None = None,
    notes: list[str] | None = None,
) -> AgentResult:
    """Compute all metrics of one agent from its rollouts.

    `expected` are the rollouts that each task should have: one number, or shape (tasks,); None is
    as many as it has. `notes` takes what a reader should know, such as groups that have no reward.

    The result's `estimates` hold the listed metrics, the first hundred of ``breakdown:``, the key
    metrics, those with a threshold, and those of ``plan.also``, by canonical name; one that is
    written otherwise (``my_pkg.metrics:Median``) is there under what was written too. An unknown
    metric, score, field or value is an error, and so is a metric that can't be computed: none is
    ever left out.
    """
    spec = plan.spec
    columns = (spec.reward,) if spec.reward in table.scores else spec.row_columns
    absent = table.lacking(columns) if columns else np.ones(len(table), dtype=bool)
    unscored = np.bincount(table.task[absent], minlength=len(table.tasks))
    table = with_missing_rewards(table, spec)
    groups = GroupEntries(table, agent, unscored, expected)
    reduction = _Reduction(plan, table)
    for at, text in enumerate(spec.metrics):
        reduction.default_keys.append(reduction.estimate(text, "metrics", at).name)
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


def threshold_intervals(plan: Plan, table: RolloutTable) -> dict[str, Interval | None]:
    """Compute, by metric, the intervals that thresholds with a confidence of their own compare."""
    levels = {
        n: t.level for n, t in plan.spec.thresholds.items() if t.confidence is not None
    }
    intervals: dict[str, Interval | None] = dict.fromkeys(levels)
    if levels:
        reduction = _Reduction(plan, with_missing_rewards(table, plan.spec))
        for name, level in levels.items():
            with suppress(EvalMetricsError):  # a hook's number
                intervals[name] = reduction.measured(
                    reduction.bind(name), level
                ).interval
    return intervals


class _Reduction:
    """The numbers of one agent that have been computed so far."""

    def __init__(self, plan: Plan, table: RolloutTable) -> None:
        self.plan, self.spec, self.located = plan, plan.spec, plan.located
        self.table = table
        self.source = SampleSource(table, self.spec.reward, self.spec.cluster)
        self.metrics: dict[str, Any] = pooled_statistics(table)
        self.statistics = tuple(self.metrics)
        self.estimates: dict[str, Estimate] = {}
        self.hooked: dict[str, float] = {}
        self.parts: list[BoundMetric] = []
        self.default_keys = [name for name in self.metrics if name.startswith("mean/")]

    def break_down(self, notes: list[str]) -> None:
        """Compute each listed metric for each value of each field of ``breakdown:``."""
        metrics = [m for m in map(self.bind, self.spec.metrics) if m.name.field is None]
        reward = self.table.scores.get(self.spec.reward)
        for at, field in enumerate(self.spec.breakdown):
            with self.located("breakdown", at):
                for label, rows in self.source.rows_by_label(field).items():
                    if reward is None or not np.isnan(reward[rows]).all():
                        self._add_parts_of(metrics, field, label, notes)
                        continue
                    why = f"none of its {len(rows)} rollouts has a reward"
                    why = "its only rollout has no reward" if len(rows) == 1 else why
                    notes.append(
                        f"breakdown: {field} = {label} is left out, because {why}"
                    )

    def _add_parts_of(
        self, metrics: Sequence[BoundMetric], field: str, label: str, notes: list[str]
    ) -> None:
        for whole in metrics:
            metric = BoundMetric(whole.name.over(field, label), whole.target)
            sample = self.source.sample(metric)
            try:
                self.metrics[str(metric)] = metric.value(sample.rewards, sample.tasks)
            except UndefinedMetricError as error:
                notes.append(f"breakdown: left out: {error.message}")
            else:
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
            else:
                self.estimates[name] = (
                    Estimate(  # a bootstrap for each would take its time
                        name=name,
                        value=self.metrics[name],
                        tasks=int((sample.rewards.counts > 0).sum()),
                        rollouts=len(sample.rewards.values),
                        reason="of a breakdown; gate it, and its interval is computed",
                        score=sample.score,
                        missing=sample.missing,
                    )
                )

    def add_usage(self) -> None:
        """Compute time, tokens and cost of a task where the rollouts report them."""
        for name in USAGE_COLUMNS:
            metric = self.bind(name)
            reported = (
                metric.reads_columns
                and metric.target.column(self.table.scores) is not None
            )
            if reported and name not in self.metrics:
                self.metrics[name] = metric.value(self.source.sample(metric).rewards)

    def add_from(self, hook: ComputeMetrics) -> None:
        """Add the metrics of the hook."""
        with self.located():
            added = _added(hook, self.table, self.metrics)
        self.metrics.update(added)
        self.hooked = {
            name: float(value) for name, value in added.items() if is_number(value)
        }
        self.default_keys += [name for name in self.hooked if name.startswith("mean/")]

    def choose(self, hook: KeyMetrics | None) -> list[str]:
        """Estimate the key metrics: the benchmark's, else the hook's, else the usual ones."""
        if self.spec.key_metrics is not None:
            texts = enumerate(self.spec.key_metrics)
            return [self.estimate(text, "key_metrics", at).name for at, text in texts]
        with self.located():
            keys = None if hook is None else _chosen(hook, self.metrics)
        if keys is None:
            keys = dict.fromkeys(self.default_keys)
        self.hooked |= {
            name: value for name, value in keys.items() if value is not None
        }
        return [self.estimate(name).name for name in keys]

    def estimate(self, text: str, *path: str | int) -> Estimate:
        """Estimate a metric once; `path` locates it in the benchmark file."""
        if text not in self.estimates:
            with self.located(*path):
                estimated = self._estimated(text)
            self.estimates.setdefault(estimated.name, estimated)
            self.estimates[text] = estimated
            if estimated.name not in self.hooked:
                self.metrics.setdefault(estimated.name, estimated.value)
        return self.estimates[text]

    def _estimated(self, text: str) -> Estimate:
        if text in self.hooked:
            tasks, rollouts, why = (
                len(self.table.tasks),
                len(self.table),
                "computed by a hook",
            )
            return Estimate(
                text, self.hooked[text], tasks, rollouts, reason=why, by_hook=True
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
        sample, declared = self.source.sample(metric), range_of(self.spec, metric.name)
        values, ends = sample.rewards.values, None
        if declared.why:
            ends = declared.low, declared.high
        elif sample.score and len(values) and values.min() >= 0 and values.max() <= 1:
            ends = 0.0, 1.0
        value = self.metrics.get(str(metric))
        return estimate(metric, sample, level=level, value=value, ends=ends)

    def bind(self, text: str) -> BoundMetric:
        if text in self.statistics:  # its score's name may hold brackets and slashes
            return self.plan.names.statistic(*text.split("/", 1))
        return self.plan.names.bind(text)


def _rows_by_task(table: RolloutTable) -> list[list[dict[str, Any]]]:
    """Build one list per task with one mapping per rollout, as the hook's page promises."""
    columns: dict[str, list[Any]] = {
        "_ng_task_index": [table.tasks[i] for i in table.task.tolist()],
        "_ng_rollout_index": table.sample.tolist(),
    }
    for name, category in table.categories.items():
        columns[name] = [category.labels[i] for i in category.codes.tolist()]
    for name, column in table.scores.items():
        number = int if name in table.integers else float
        columns[name] = [None if math.isnan(v) else number(v) for v in column.tolist()]
    names = tuple(columns)
    rows = [
        dict(zip(names, row, strict=True))
        for row in zip(*columns.values(), strict=True)
    ]
    return [rows[a:b] for a, b in pairwise(table.offsets.tolist())]


def _added(
    hook: ComputeMetrics, table: RolloutTable, taken: Mapping[str, Any]
) -> dict[str, Any]:
    """Call the hook for further aggregate metrics."""
    added: dict[str, Any] = {}
    for metrics in call(_COMPUTE, "its call", hook, hook, _rows_by_task(table)):
        if not isinstance(metrics, Mapping):
            kind = type(metrics).__name__
            raise MetricError(
                f"{_COMPUTE} returned {kind}, where a mapping or None is expected"
            )
        for name, value in metrics.items():
            if not isinstance(name, str):
                raise MetricError(f"{_COMPUTE} gave a name that is not text: {name!r}")
            if name in taken or name in added:
                hint = "give it another name: a metric has one meaning"
                raise MetricError(
                    f"{_COMPUTE} gave {name!r}, which there is already", hint=hint
                )
            added[name] = _plain(name, value)
    return added


def _plain(name: str, value: Any) -> Any:
    """Turn a value into builtins that JSON can hold."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        if not math.isfinite(value):
            gave = f"{_COMPUTE} gave {name!r} = {float(value)}"
            hint = "leave out what is not defined, or raise an exception that says why"
            raise MetricError(f"{gave}, where a finite number is expected", hint=hint)
        return float(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(f"{name}.{key}", item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(f"{name}[{at}]", item) for at, item in enumerate(value)]
    message = (
        f"{_COMPUTE} gave {name!r} as {type(value).__name__}, which JSON can't hold"
    )
    raise MetricError(message, hint="give numbers, text, lists and mappings")


def _chosen(
    hook: KeyMetrics, agent_metrics: Mapping[str, Any]
) -> dict[str, float | None] | None:
    """Call the hook for the headline metrics; a value is None if it is an aggregate metric's."""
    answer = call(_CHOOSE, "its call", hook, hook, dict(agent_metrics))
    if answer is None:
        return None
    answer = [answer] if isinstance(answer, str) else answer
    if isinstance(answer, Sequence) and all(isinstance(name, str) for name in answer):
        return dict.fromkeys(answer)
    if not isinstance(answer, Mapping):
        kind = type(answer).__name__
        raise MetricError(
            f"{_CHOOSE} returned {kind}, where a mapping or names are expected"
        )
    keys: dict[str, float | None] = {}
    for name, value in answer.items():
        gave = f"{_CHOOSE} gave {name!r} = {value!r}"
        if name not in agent_metrics:
            if not is_number(value) or not math.isfinite(value):
                raise MetricError(f"{gave}, where a finite number is expected")
            keys[str(name)] = float(value)
        elif value == agent_metrics[name]:
            keys[name] = None
        else:
            hint = "give a number that is made anew a name of its own"
            raise MetricError(f"{gave}, which is {agent_metrics[name]!r}", hint=hint)
    return keys


def estimate(
    metric: BoundMetric,
    sample: Sample,
    *,
    level: float = 0.95,
    value: float | None = None,
    ends: tuple[float, float] | None = None,
) -> Estimate:
    """Compute a metric with its confidence interval.

    ================================================  ==================================
    the metric                                        its interval
    ================================================  ==================================
    a rate whose every task is at 0 or 1              Wilson over tasks
    a mean over tasks                                 Student t over tasks, df = n - 1
    a rate most of whose tasks are at 0, or at 1      the wider of both, ends of each
    a ratio pooled over tasks of unequal size         t, linearised by task
    either of them with clusters                      t with clustered SE, df = G - 1
    a rate without any spread                         Wilson with value * n successes
    a median or quantile of independent tasks         between two order statistics
    any other reduction of tasks                      percentile bootstrap over tasks,
                                                      or over clusters
    ================================================  ==================================

    `value` is the metric's where it is known to the last digit already, and `ends` the range that
    its values lie in, where one is known; any mean on [0, 1] is treated as a rate. Miller 2024
    (arXiv 2411.00640); Bowyer et al. 2025 (arXiv 2503.01747) for rates of few tasks; Cochran 1977,
    Sampling Techniques, for the ratio.
    """
    rewards = sample.rewards
    measured, parts = metric.measure(rewards, sample.tasks)
    held = rewards.counts > 0 if parts is None else parts.held
    clusters = None if sample.clusters is None else sample.clusters[held]
    outcome = _Observed(metric, rewards, parts, held, clusters, level, ends).interval()
    interval, reason = (None, outcome) if isinstance(outcome, str) else (outcome, "")
    return Estimate(
        str(metric),
        measured if value is None else value,
        tasks=int(np.count_nonzero(held)),
        rollouts=int(rewards.counts[held].sum()),
        interval=interval,
        reason=reason,
        score=sample.score,
        missing=sample.missing,
        of_tasks=_of_tasks(metric, sample, parts) if metric.extreme else (),
    )


def _of_tasks(
    metric: BoundMetric, sample: Sample, parts: TaskParts | None
) -> tuple[str, ...]:
    """Name the tasks that a metric of one task alone is of."""
    rewards = sample.rewards
    held = np.flatnonzero(rewards.counts)
    lowest = metric.extreme == "lowest"
    if parts is not None:
        values = parts.values[held]
    else:
        ends = np.minimum if lowest else np.maximum
        values = ends.reduceat(rewards.values, rewards.offsets[:-1][held])
    places = held[np.flatnonzero(values == (values.min() if lowest else values.max()))]
    return tuple(str(sample.tasks[i]) for i in places[:_NAMED].tolist())


class _Observed(msgspec.Struct, frozen=True):
    """A metric on its rewards: what an interval rests on."""

    metric: BoundMetric
    rewards: TaskRewards
    parts: TaskParts | None
    held: NDArray[np.bool_]  # the tasks that have a value, shape (tasks,)
    clusters: NDArray[np.int64] | None  # of those that have
    level: float
    ends: tuple[float, float] | None

    def interval(self) -> Interval | str:  # noqa: PLR0911 - a table
        """Compute the metric's interval, or return the reason why it has none."""
        parts, clusters, n = self.parts, self.clusters, int(np.count_nonzero(self.held))
        if self.metric.no_interval:
            return self.metric.no_interval
        if n < stats.FEWEST:
            return "a single task says nothing of the spread between tasks"
        if clusters is not None and len(np.unique(clusters)) < stats.FEWEST:
            return "all tasks are in one cluster, which says nothing of the spread"
        if parts is not None and parts.combine is None:
            return self._of_mean(parts)
        quantile = getattr(self.metric.target, "quantile", None)
        if quantile is not None and clusters is None:  # of independent values
            if parts is not None:
                return self._of_quantile(parts.values[self.held], quantile)
            if self.rewards.counts.max() == 1:
                return self._of_quantile(self.rewards.values, quantile)
        if n > _MOST_TASKS:
            return f"not computed for this metric over more than {_MOST_TASKS} tasks"
        if (
            not vectorised(self.metric.target)
            and len(self.rewards.values) > _MOST_SAMPLES
        ):
            return (
                f"not computed over more than {_MOST_SAMPLES} rollouts for a metric without a "
                "vectorised form"
            )
        return self._bootstrapped()

    def _of_mean(self, parts: TaskParts) -> Interval | str:
        held, bounded = self.held, self.metric.bounded or self.ends == (0.0, 1.0)
        columns = parts.tops, parts.bottoms, parts.values
        tops, bottoms, values = (
            columns if held.all() else (part[held] for part in columns)
        )
        mean = stats.ratio_mean(tops, bottoms, self.clusters)
        is_rate = self.clusters is None and (bottoms == bottoms[0]).all()
        is_rate = is_rate and ((values == 0) | (values == 1)).all()
        if bounded and (is_rate or not mean.se > 0):
            successes = min(max(mean.mean, 0.0), 1.0) * mean.units
            bounds = stats.wilson(successes, mean.units, self.level)
            return Interval(*bounds, self.level, "wilson")
        if not mean.se > 0:
            return _NO_SPREAD
        low, high = stats.t_interval(mean, self.level)
        off = min(np.count_nonzero(values < 1), np.count_nonzero(values > 0))
        if bounded and off < min(_FEW_OFF, len(values) / 2):
            wider = stats.wilson(mean.mean * mean.units, mean.units, self.level)
            low, high = min(low, wider[0]), max(high, wider[1])
        least, most = (0.0, 1.0) if bounded else self.ends or (-math.inf, math.inf)
        method = "t" if self.clusters is None else "clustered t"
        return Interval(max(low, least), min(high, most), self.level, method)

    def _of_quantile(
        self, values: NDArray[np.float64], quantile: float
    ) -> Interval | str:
        low, high = stats.quantile_interval(values, quantile, self.level)
        if low < high:
            return Interval(low, high, self.level, "order statistics")
        if (values == values[0]).all():
            return _NO_SPREAD
        name = "their median" if quantile == 0.5 else self.metric.name.metric
        return f"{len(values)} tasks are too few for an interval of {name}"

    def _bootstrapped(self) -> Interval | str:
        parts, clusters, tasks = self.parts, self.clusters, np.flatnonzero(self.held)
        reducer: Callable[[NDArray[np.intp]], float]
        n = len(tasks)
        if parts is not None and parts.combine is not None:
            order = np.argsort(
                parts.values[tasks], kind="stable"
            )  # sorted sorts faster
            clusters = None if clusters is None else clusters[order]
            values, combine = parts.values[tasks[order]], parts.combine
            weighted = parts.combine_weighted and partial(
                parts.combine_weighted, values
            )

            def reducer(picked: NDArray[np.intp]) -> float:
                return combine(values[picked])
        else:
            sampled = self.rewards.take(tasks)
            reducer = self.metric.of_choice(sampled)
            weighted = (
                partial(self.metric.weighed, sampled) if self.metric.weighs else None
            )
        if weighted is None and n > stats.MOST_TASKS:
            return f"{n} tasks are too many to resample this metric"
        rng = np.random.Generator(
            np.random.PCG64(stats.seed_of(str(self.metric), str(n)))
        )
        try:
            draws = stats.reducer_draws(
                reducer, n, clusters, _DRAWS, rng, weighted=weighted
            )
        except MetricError as error:
            return f"on resampled tasks the metric is not defined: {error.message}"
        low, high = (
            stats.quantile7(draws, (1 + side * self.level) / 2) for side in (-1, 1)
        )
        if low == high:
            return "every resampling of the tasks gives the same value"
        return Interval(low, high, self.level, "bootstrap")
