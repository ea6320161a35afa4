"""What a benchmark can see, before it is run: the drop that its gate finds with 80 % power."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics import gates, metrics, rollouts, stats
from pytest_evalmetrics.data import RolloutTable, TaskRewards
from pytest_evalmetrics.errors import DataError, EvalMetricsError
from pytest_evalmetrics.pipeline.regressions import reference_of, rule_of, settings_of
from pytest_evalmetrics.pipeline.scored_rows import with_reward
from pytest_evalmetrics.pipeline.task_sample import draw
from pytest_evalmetrics.results import Power

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from pytest_evalmetrics.spec import Benchmark

    _Numbers = NDArray[np.float64]

_REPLICATES = 200
_DRAWN = 4_000_000  # samples in all replicates
_MOST = 1024  # rollouts per task that are worth telling
_UNIFORM = 1 / 6  # the mean of p (1 - p) for p uniform on [0, 1]: Miller 2024, section 3.1
_CHANCES = 256  # chances to pass that stand for what is believed of one task
_ONCE = (
    "one rollout of each task doesn't show how much a task varies from run to run: record several, "
    "or compare a second run"
)


def power_of(
    benchmark: Benchmark, snapshot: Callable[[], tuple[str, str] | None]
) -> Iterator[Power]:
    """Plan one benchmark from its baseline, which `snapshot` reads, else from its rollouts.

    Nothing of it is evaluated. A run is expected to repeat the baseline's tasks. Of rewards with
    two values each task's chance to pass is taken from its posterior under a beta prior fitted to
    all tasks (empirical Bayes: Morris 1983), and a drop takes the same share of each chance. Of
    other rewards Var(d) =
    sigma_B^2 / K_B + sigma_C^2 / K_C (Miller 2024, arXiv 2411.00640, section 5), sigma^2 from
    resampling each task's rollouts.
    """
    if benchmark.spec.scorers:
        names = tuple(name for s in benchmark.spec.scorers for name in s.score_names)
        benchmark = with_reward(benchmark, names)
    plan = metrics.plan(benchmark.spec, also=benchmark.spec.gated, line_of=benchmark.line_of)
    runs: Mapping[str, RolloutTable] = {}
    try:
        reference = None
        if benchmark.spec.baseline is not None and not settings_of(benchmark).of_history:
            reference = reference_of(benchmark, plan, snapshot)
        if reference is not None:
            tables, source = dict(reference.tables), "baseline"
            counts = [np.diff(table.offsets) for table in tables.values()]
            if not benchmark.spec.scorers and any(len(c) and c.max() == 1 for c in counts):
                with suppress(EvalMetricsError):  # of one rollout a second run shows more
                    runs = _recorded(benchmark, plan)
        elif benchmark.spec.scorers:
            raise DataError("it has to be scored first, and nothing is recorded of it yet")
        else:
            tables, source = _recorded(benchmark, plan), "rollouts"
    except EvalMetricsError as error:
        yield _assumed(benchmark, error)
        return
    if benchmark.spec.sample is not None:
        sample = benchmark.spec.sample
        tables, runs = (
            {agent: draw(table, sample)[0] for agent, table in several.items()}
            for several in (tables, runs)
        )
    yield from power_of_tables(benchmark, tables, plan=plan, source=source, runs=runs)


def power_of_tables(
    benchmark: Benchmark,
    tables: Mapping[str, RolloutTable],
    *,
    plan: metrics.Plan | None = None,
    source: str = "baseline",
    runs: Mapping[str, RolloutTable] = MappingProxyType({}),
) -> Iterator[Power]:
    """Plan one benchmark from recorded rollouts of each agent; see `power_of`.

    `runs` are a second run of agents whose tasks have one rollout each.
    """
    made = plan or metrics.plan(benchmark.spec, also=benchmark.spec.gated)
    for agent, table in tables.items():
        for name in benchmark.spec.gated:
            power = _metric_power(benchmark, made, name, table, source, runs.get(agent))
            yield replace(power, agent=agent)


def _recorded(benchmark: Benchmark, plan: metrics.Plan) -> dict[str, RolloutTable]:
    spec, folder = benchmark.spec, benchmark.file.parent
    table = rollouts.load(spec.rows, folder, scores=plan.scores, categories=plan.categories)
    return dict(table.by_agent())


def _assumed(benchmark: Benchmark, error: EvalMetricsError) -> Power:
    """Plan a benchmark that has never been run."""
    spec, name = benchmark.spec, benchmark.spec.gated[0]
    tasks = spec.expect.tasks.min if spec.expect.tasks is not None else 0
    k, rule = spec.num_samples or 1, rule_of(benchmark, name, bounded=True)
    unknown = Power("", name if tasks else "", tasks, k, math.nan, rule.max_drop, None, "nothing")
    if tasks == 0:
        return replace(unknown, reason=error.message)
    if 0.5**tasks >= rule.alpha:
        return replace(unknown, reason=gates.too_few(tasks, "task", rule.alpha))
    unit = stats.mde_factor(tasks - 1, rule.alpha)
    mde = unit * math.sqrt(2 * _UNIFORM / k / tasks)
    needed = _rollouts(2 * _UNIFORM, tasks * (rule.max_drop / unit) ** 2)
    return replace(unknown, mde=mde, needed=needed, source="an even spread of pass rates")


def _metric_power(  # noqa: PLR0917 - what one line of the plan is made of
    benchmark: Benchmark,
    plan: metrics.Plan,
    name: str,
    table: RolloutTable,
    source: str,
    run: RolloutTable | None,
) -> Power:
    counts = np.diff(table.offsets)
    n, k = len(counts), int(np.median(counts)) if len(counts) else 0
    drop, mde, needed, reason = 0.0, math.nan, None, ""
    try:
        metric = plan.names.bind(name)
        rewards = metrics.SampleSource(table, plan.spec.reward).sample(metric).rewards
        values = rewards.numbers
        on_unit = len(values) > 0 and values.min() >= 0 and values.max() <= 1
        rule = rule_of(benchmark, name, bounded=metric.bounded or bool(on_unit))
        drop, n = rule.max_drop, len(rewards)
        parts = metric.parts(rewards)
        resampled = (parts is None or parts.combine is not None) and not metric.weighs
        if resampled or metric.extreme:
            reason = "it is no mean over tasks"
        elif 0.5**n >= rule.alpha:
            reason = gates.too_few(n, "task", rule.alpha)
        elif benchmark.spec.cluster is not None:
            reason = "one run doesn't show how much the tasks of a cluster move together"
        elif int(rewards.counts.max()) == 1:
            reason = _ONCE
            if run is not None:  # what the comparison of both sees
                pair = metrics.Pairing(plan, run, table, np.diff(run.offsets)).pair(metric).pair
                (check,) = gates.check_regression([gates.Gated(pair, rule)], min_coverage=0.0)
                if check.evidence["mde"] is not None:
                    mde, source, reason = check.evidence["mde"], "baseline and rollouts", ""
        else:
            factor = stats.mde_factor(n - 1, rule.alpha)
            if parts is None:
                mde = factor * _redrawn(metric, rewards, k)
                needed = _rollouts(mde**2 * k, drop**2)
                return Power("", name, n, k, mde, drop, needed, source)
            mde, needed = _visible(metric, rewards, k, factor, rule)
    except EvalMetricsError as error:
        reason = error.message
    return Power("", name, n, k, mde, drop, needed, source, reason)


def _visible(
    metric: metrics.BoundMetric, rewards: TaskRewards, k: int, factor: float, rule: gates.Rule
) -> tuple[float, int | None]:
    """Return the drop that k rollouts of each task see, and how many see `max_drop`."""
    n, ends = len(rewards), (float(rewards.values.min()), float(rewards.values.max()))
    wanted = rule.max_drop / factor
    two_valued = not metric.reads_rows and (
        ends[0] < ends[1] and ((rewards.values == ends[0]) | (rewards.values == ends[1])).all()
    )
    if not two_valued:
        variance = 2 * (_sampling_variance(metric, rewards, k) or math.nan)
        mde = factor * math.sqrt(variance / n)
        return mde, _rollouts(variance * k, n * wanted**2)
    good = ends if rule.direction == "higher" else ends[::-1]
    thinned = _Thinned(metric, rewards, k, good)
    mde = gates.thinned_drop(thinned.lost, factor)
    share = thinned.share_of(rule.max_drop)
    within, between = thinned.variances(share)
    return mde, _rollouts(within * k, n * wanted**2 - between)


def _rollouts(per_rollout: float, allowed: float) -> int | None:
    """Return how many rollouts bring a variance down to what is allowed."""
    if not allowed > 0 or math.isnan(per_rollout):
        return None
    needed = max(math.ceil(per_rollout / allowed - 1e-9), 1)
    return needed if needed <= _MOST else None


class _Thinned:
    """A run in which each task lost the same share of its chance to pass."""

    def __init__(
        self, metric: metrics.BoundMetric, rewards: TaskRewards, k: int, ends: tuple[float, float]
    ) -> None:
        passed = np.add.reduceat(rewards.values == ends[1], rewards.offsets[:-1], dtype=np.int64)
        counts = rewards.counts
        several = counts > 1
        mean = float((passed / counts).mean())
        both = passed[several] * (passed[several] - 1) / (counts[several] * (counts[several] - 1))
        spread = min(max(float(both.mean()) - mean**2, 1e-6), 0.999 * mean * (1 - mean))
        size = mean * (1 - mean) / spread - 1
        most = int(counts.max()) + 1
        kinds, times = np.unique(counts * most + passed, return_counts=True)
        sizes, ups = kinds // most, kinds % most
        rng = np.random.Generator(np.random.PCG64(0))
        shape = (len(kinds), _CHANCES)
        fails = (1 - mean) * size + sizes - ups
        self.chance = rng.beta((mean * size + ups)[:, None], fails[:, None], shape)
        self.weight = times / times.sum() / _CHANCES
        self.tasks, self.k = int(times.sum()), k

        def statistic(values: _Numbers, offsets: NDArray[np.int64]) -> _Numbers:
            parts = metric.parts(TaskRewards(values, offsets))
            assert parts is not None  # noqa: S101 - it had parts for these tasks
            return parts.values

        self.values = stats.two_valued(np.full(k + 1, k), np.arange(k + 1), ends, statistic)
        self.sign = 1.0 if self.values[-1] >= self.values[0] else -1.0
        self.full = self._moments(0.0)

    def _moments(self, share: float) -> tuple[_Numbers, _Numbers]:
        """Return the mean and the variance of each value, over repeated runs."""
        chance = self.chance * (1 - share)
        first, second = np.zeros_like(chance), np.zeros_like(chance)
        for j, value in enumerate(self.values.tolist()):
            ways = math.comb(self.k, j) * chance**j * (1 - chance) ** (self.k - j)
            first += ways * value
            second += ways * value * value
        return first, second - first**2

    def variances(self, share: float) -> tuple[float, float]:
        """Return the variance of a difference within tasks, and between them."""
        after = self._moments(share)
        gap = self.full[0] - after[0]
        within = self.weight @ (self.full[1] + after[1]).sum(axis=1)
        between = self.weight @ (gap**2).sum(axis=1) - (self.weight @ gap.sum(axis=1)) ** 2
        return float(within), float(between)

    def drop(self, share: float) -> float:
        """Return how much the metric falls where a share is lost."""
        return self.sign * float(self.weight @ (self.full[0] - self._moments(share)[0]).sum(axis=1))

    def lost(self, share: float) -> tuple[float, float]:
        """Return the drop where a share is lost, and its standard error."""
        return self.drop(share), math.sqrt(max(sum(self.variances(share)), 0.0) / self.tasks)

    def share_of(self, drop: float) -> float:
        """Return the share that has to be lost for such a drop."""
        low, high = 0.0, 1.0
        for _ in range(20):
            middle = (low + high) / 2
            low, high = (middle, high) if self.drop(middle) < drop else (low, middle)
        return high


def _redrawn(metric: metrics.BoundMetric, rewards: TaskRewards, k: int) -> float:
    """Return the standard error of the difference of two runs, by drawing rollouts anew."""
    rng = np.random.Generator(np.random.PCG64(0))
    counts = rewards.counts
    starts, sizes = np.repeat(rewards.offsets[:-1], counts), np.repeat(counts, counts)
    drawn = []
    for _ in range(max(20, min(_REPLICATES, _DRAWN // max(len(rewards.values), 1)))):
        at = starts + (rng.random(len(sizes)) * sizes).astype(int)
        drawn.append(metric.anew(replace(rewards, values=rewards.values[at])))
    lost = max(k, 2) / (max(k, 2) - 1)  # the spread that few rollouts don't show
    return math.sqrt(2 * lost) * float(np.std(drawn, ddof=1))


def _sampling_variance(metric: metrics.BoundMetric, rewards: TaskRewards, k: int) -> float | None:
    """Estimate the variance of a task's value between runs, averaged over tasks.

    Each task's rollouts are resampled k at a time; n / (n - 1) makes up for the spread that
    n rollouts don't show. Single rollouts show none: the spread over all tasks bounds it.
    """
    parts = metric.parts(rewards)
    if parts is None or parts.combine is not None:
        return None
    counts = rewards.counts
    held = np.flatnonzero(parts.held)
    if not len(held) or int(counts[held].max()) == 1:
        return float(parts.values[held].var(ddof=1)) if len(held) > 1 else None
    rng = np.random.Generator(np.random.PCG64(0))
    replicates = max(20, min(_REPLICATES, _DRAWN // max(len(held) * k, 1)))
    offsets = np.arange(len(held) + 1) * k
    total, squares = np.zeros(len(held)), np.zeros(len(held))
    for _ in range(replicates):
        drawn = rng.random((len(held), k)) * counts[held][:, None]
        at = rewards.offsets[held][:, None] + drawn.astype(np.int64)
        redrawn = metric.parts(replace(rewards, values=rewards.values[at].ravel(), offsets=offsets))
        if redrawn is None:
            return None
        total += redrawn.values
        squares += redrawn.values**2
    variance = (squares / replicates - (total / replicates) ** 2) * replicates / (replicates - 1)
    seen = counts[held] > 1
    inflated = variance[seen] * counts[held][seen] / (counts[held][seen] - 1)
    return float(max(inflated.mean(), 0.0)) if seen.any() else None
