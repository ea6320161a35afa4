"""The power of a gate before a run: the smallest drop that it detects, and at how many rollouts."""

from __future__ import annotations

import math
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics import gates, metrics, stats
from pytest_evalmetrics.comparison import (
    LEVEL,
    compare,
    few_units,
    grown_drop,
    log_least_p,
    means_of,
    needed_drop,
    scale_of,
    thinned_drop,
    with_run_noise,
    with_stated_noise,
)
from pytest_evalmetrics.errors import DataError, EvalMetricsError
from pytest_evalmetrics.model.comparison import RuleName
from pytest_evalmetrics.model.results import Power, PowerError, PowerGap, PowerSource
from pytest_evalmetrics.model.rollout_table import RolloutTable, TaskRewards
from pytest_evalmetrics.pipeline import noise_elsewhere
from pytest_evalmetrics.pipeline.benchmark_rows import draw, with_reward
from pytest_evalmetrics.pipeline.comparing import comparison_input
from pytest_evalmetrics.pipeline.gate_settings import plan_of, rule_of, settings_of
from pytest_evalmetrics.pipeline.recorded_columns import rollouts_of
from pytest_evalmetrics.pipeline.references import reference_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.comparison import Needed, RunNoise
    from pytest_evalmetrics.metrics.metric import TaskParts
    from pytest_evalmetrics.model.blindness import FewUnits
    from pytest_evalmetrics.model.comparison import RuleSettings
    from pytest_evalmetrics.pipeline.noise_elsewhere import NoiseElsewhere
    from pytest_evalmetrics.pipeline.references import Reference
    from pytest_evalmetrics.spec import Benchmark
    from pytest_evalmetrics.spec.sources import SampleSpec

    _Numbers = NDArray[np.float64]

_REPLICATES = 200
# tasks that lose everything, and whose rollouts may prove it whatever they are worth
_FEWEST_LOST = 3
_DRAWN = 4_000_000  # samples in all replicates
_MOST = 1024  # rollouts per task that are worth reporting
_UNIFORM = (
    1 / 6
)  # the mean of p (1 - p) for p uniform on [0, 1]: Miller 2024, section 3.1
_CHANCES = 256  # the grid of a task's chance to pass


class _Recorded(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one agent before a run."""

    # the tests that will share the level: of so many numbers, agents and benchmarks
    sharing: int
    table: RolloutTable  # the rollouts of all runs
    runs: Sequence[RolloutTable]  # of each run, the newest last
    second: RolloutTable | None  # another run, where tasks have one rollout
    agent: str
    # what else than the baseline's runs says how far runs scatter
    elsewhere: NoiseElsewhere


def power_of(
    benchmark: Benchmark,
    snapshot: Callable[[], tuple[str, str] | None],
    *,
    benchmarks: int = 1,
    elsewhere: NoiseElsewhere = noise_elsewhere.NOTHING,
) -> Iterator[Power]:
    """Plan one benchmark from its baseline, which `snapshot` reads, else from its rollouts.

    So many `benchmarks` of the run share the level of a false alarm. `elsewhere` has
    further runs that show the noise between runs.

    A run is expected to repeat the baseline's tasks. Of rewards with two values each task's chance
    to pass is taken from its posterior under a beta prior fitted to all tasks (empirical Bayes:
    Morris 1983), and a drop takes the same share of each chance. Of other rewards Var(d) =
    sigma_B^2 / K_B + sigma_C^2 / K_C (Miller 2024, arXiv 2411.00640, section 5), sigma^2 from
    resampling each task's rollouts.
    """
    benchmark = with_reward(benchmark)
    plan = plan_of(benchmark)
    is_compared = benchmark.spec.baseline is not None
    reference: Reference | None = None
    # of one rollout a second run shows more
    runs: dict[str, RolloutTable] = {}
    source = PowerSource.ROLLOUTS
    try:
        if is_compared and not settings_of(benchmark).of_history:
            reference = reference_of(benchmark, plan, snapshot)
        if reference is None:
            tables = _rollouts_at_hand(benchmark, plan)
        else:
            tables = reference.tables
            source = PowerSource.BASELINE
            if any(table.counts.max(initial=0) == 1 for table in tables.values()):
                with suppress(EvalMetricsError):
                    runs = _rollouts_at_hand(benchmark, plan)
    except EvalMetricsError as error:
        yield _assumed(benchmark, error, benchmarks=benchmarks)
        return
    sample = benchmark.spec.sample
    if sample is not None:
        tables = _drawn(tables, sample)
        runs = _drawn(runs, sample)
    recorded_runs: Mapping[str, Sequence[RolloutTable]] = {}
    if reference is not None and benchmark.spec.sample is None:
        recorded_runs = reference.runs
    yield from power_of_tables(
        benchmark,
        tables,
        source=source,
        runs=runs,
        recorded=recorded_runs,
        benchmarks=benchmarks,
        elsewhere=elsewhere,
    )


def _rollouts_at_hand(
    benchmark: Benchmark, plan: metrics.Plan
) -> dict[str, RolloutTable]:
    """Read the rollouts of the benchmark file, by agent."""
    if benchmark.spec.scorers:
        raise DataError("it has to be scored first, and nothing is recorded of it yet")
    return dict(rollouts_of(benchmark, plan).by_agent())


def _drawn(
    tables: Mapping[str, RolloutTable], sample: SampleSpec
) -> dict[str, RolloutTable]:
    """Draw the sample of each agent's tasks."""
    return {agent: draw(table, sample)[0] for agent, table in tables.items()}


def power_of_tables(
    benchmark: Benchmark,
    tables: Mapping[str, RolloutTable],
    *,
    source: PowerSource = PowerSource.BASELINE,
    runs: Mapping[str, RolloutTable] = MappingProxyType({}),
    recorded: Mapping[str, Sequence[RolloutTable]] = MappingProxyType({}),
    benchmarks: int = 1,
    elsewhere: NoiseElsewhere = noise_elsewhere.NOTHING,
) -> Iterator[Power]:
    """Plan one benchmark from rollouts of each agent, and a second run where tasks have one.

    Of a baseline of several runs, `tables` has the rollouts of all, and `recorded` those
    of each: the next run has as many as the newest.
    """
    plan = plan_of(benchmark)
    numbers = [_numbers_tested(benchmark, plan, table) for table in tables.values()]
    sharing = max(sum(numbers), 1) * benchmarks
    for agent, table in tables.items():
        of_runs = recorded.get(agent, (table,))
        n = len(table.tasks)
        k = _rollouts_of_next(of_runs[-1])
        for name in benchmark.spec.gated:
            power = Power(agent, name, n, k, math.nan, 0.0, None, source)
            try:
                given = _Recorded(
                    sharing=sharing,
                    table=table,
                    runs=of_runs,
                    second=runs.get(agent),
                    agent=agent,
                    elsewhere=elsewhere,
                )
                yield _metric_power(benchmark, plan, power, given)
            except EvalMetricsError as error:
                yield structs.replace(power, unknown=PowerError(error.message))


def _rollouts_of_next(newest: RolloutTable) -> int:
    """Return how many rollouts of each task the next run is expected to have."""
    return int(np.median(newest.counts)) if len(newest) else 0


def _numbers_tested(
    benchmark: Benchmark, plan: metrics.Plan, table: RolloutTable
) -> int:
    """Count the numbers that an agent's tests are of: names of one count once.

    Numbers that hang together, such as pass@1 and pass@4, cost the run somewhat less.
    """
    source = metrics.SampleSource(table, plan.spec.reward)
    numbers: list[_Numbers] = []
    others = 0
    for text in benchmark.spec.gated:
        if not rule_of(benchmark, text, bounded=True).tests:
            continue
        values = None
        with suppress(EvalMetricsError):
            metric = plan.names.bind(text)
            parts = metric.parts(source.sample(metric).rewards)
            if parts is not None and parts.combine is None:
                values = parts.values
        if values is None:
            others += 1
        elif not any(_are_names_of_one(values, number) for number in numbers):
            numbers.append(values)
    return len(numbers) + others


def _are_names_of_one(values: _Numbers, others: _Numbers) -> bool:
    return values.shape == others.shape and bool(np.allclose(values, others, atol=0))


def _level(
    benchmark: Benchmark, alpha: float, tasks: int, *, before: int, now: int
) -> float:
    """Return the level that the gates of single tasks and slices leave to the mean.

    Of tasks with so many rollouts `before`, in the baseline, and `now`.
    """
    share = 1.0
    single = settings_of(benchmark).single_tasks
    if single and tasks and log_least_p(before, now) < math.log(gates.SHARE * alpha):
        share -= gates.SHARE
    if benchmark.spec.breakdown:
        share -= gates.SLICES_SHARE
    return alpha * share


def _noise_of_runs(
    benchmark: Benchmark,
    plan: metrics.Plan,
    text: str,
    recorded: _Recorded,
    *,
    alpha: float,
    se: float,
) -> RunNoise | None:
    """Return the noise between the baseline's runs, or the stated one; None if unknown."""
    newest = recorded.runs[-1]
    pairings = [
        metrics.Pairing(plan, newest, metrics.align(newest, run)[0], newest.counts)
        for run in recorded.runs
    ]
    given = comparison_input(
        benchmark,
        text,
        pairings[-1],
        pairings,
        agent=recorded.agent,
        elsewhere=recorded.elsewhere,
    )
    scale = scale_of(given)
    # no drop: its p is not asked for
    unchanged = math.log(0.5)
    if given.run_noise is not None:
        unit = 1.0 if given.is_rate else abs(given.pair.value_baseline)
        return with_stated_noise(
            given.run_noise * unit,
            given.runs,
            drop=0.0,
            log_p=unchanged,
            se=se,
            alpha=alpha,
            level=LEVEL,
            scale=scale,
        )
    if given.runs is None:
        return None
    return with_run_noise(
        given.runs,
        drop=0.0,
        log_p=unchanged,
        se=se,
        alpha=alpha,
        level=LEVEL,
        scale=scale,
    )


def _assumed(
    benchmark: Benchmark, error: EvalMetricsError, *, benchmarks: int
) -> Power:
    spec = benchmark.spec
    name = benchmark.spec.gated[0]
    tasks = spec.expect.tasks.min if spec.expect.tasks is not None else 0
    k = spec.num_samples or 1
    rule = rule_of(benchmark, name, bounded=True)
    unknown = Power(
        agent="",
        metric=name if tasks else "",
        tasks=tasks,
        rollouts=k,
        mde=math.nan,
        max_drop=rule.max_drop,
        needed=None,
        source=PowerSource.NOTHING,
    )
    too_few = few_units(tasks, "task", rule.alpha)
    if not tasks:
        return structs.replace(unknown, unknown=PowerError(error.message))
    if too_few is not None:
        return structs.replace(unknown, unknown=too_few)
    level = _level(benchmark, rule.alpha, tasks, before=k, now=k)
    unit = stats.mde_factor(tasks - 1, level / benchmarks)
    mde = unit * math.sqrt(2 * _UNIFORM / k / tasks)
    needed = rollouts_for(2 * _UNIFORM, tasks * (rule.max_drop / unit) ** 2)
    return structs.replace(
        unknown, mde=mde, needed=needed, source=PowerSource.ASSUMPTION
    )


def _metric_power(
    benchmark: Benchmark,
    plan: metrics.Plan,
    power: Power,
    recorded: _Recorded,
) -> Power:
    metric = plan.names.bind(power.metric)
    source = metrics.SampleSource(recorded.table, plan.spec.reward)
    rewards = source.sample(metric).rewards
    parts = metric.parts(rewards)
    rule = _rule_in_unit(benchmark, power.metric, metric, rewards, parts)
    power = structs.replace(power, tasks=len(rewards), max_drop=rule.max_drop)
    gap = _gap(metric, rewards, parts, power.rollouts, rule)
    if gap is None and benchmark.spec.cluster is not None:
        gap = PowerGap.ONE_RUN
    if gap is None and _may_be_copies(rewards, benchmark.spec.independent):
        gap = PowerGap.ALL_ALIKE
    if gap is not None:
        return structs.replace(power, unknown=gap)
    alpha = _level_of_mean(benchmark, rule, rewards, power.rollouts)
    planned = _Planned(
        metric=metric,
        rewards=rewards,
        rule=rule,
        alpha=alpha / recorded.sharing,
    )
    if planned.is_single:
        by_second_run = _by_second_run(
            benchmark, plan, power, recorded, alpha=planned.alpha
        )
        if by_second_run is not None:
            return by_second_run
    if parts is None:
        return _power_of_redrawn(planned, power)
    return _power_over_tasks(benchmark, plan, planned, power, recorded)


class _Planned(msgspec.Struct, frozen=True):
    """A metric whose power is planned."""

    metric: metrics.BoundMetric
    rewards: TaskRewards  # of the baseline
    rule: RuleSettings  # its drop in the metric's unit
    alpha: float  # the level that is left for it

    @property
    def is_single(self) -> bool:
        """Whether no task has more than one rollout."""
        return int(self.rewards.counts.max(initial=0)) == 1


def _rule_in_unit(
    benchmark: Benchmark,
    text: str,
    metric: metrics.BoundMetric,
    rewards: TaskRewards,
    parts: TaskParts | None,
) -> RuleSettings:
    """Return a metric's rule with a relative drop in the metric's unit, as it is detected."""
    baseline = _mean_over_tasks(parts)
    bounded = metric.bounded or _is_on_unit(rewards)
    rule = rule_of(benchmark, text, bounded=bounded, baseline=baseline)
    if rule.rule is not RuleName.RELATIVE or baseline is None:
        return rule
    return structs.replace(rule, max_drop=rule.max_drop * abs(baseline))


def _may_be_copies(rewards: TaskRewards, independent: bool | None) -> bool:
    """Check whether no task's rollouts differ, so that they show no noise of sampling.

    Copies of one answer fall together: what so many rollouts would detect is not known.
    """
    has_repeats = int(rewards.counts.max(initial=0)) > 1
    return has_repeats and not independent and _are_alike(rewards)


def _are_alike(rewards: TaskRewards) -> bool:
    first = np.repeat(rewards.values[rewards.offsets[:-1]], rewards.counts)
    return bool((rewards.values == first).all())


def _gap(
    metric: metrics.BoundMetric,
    rewards: TaskRewards,
    parts: TaskParts | None,
    k: int,
    rule: RuleSettings,
) -> PowerGap | FewUnits | None:
    """Find why no drop can be stated before a run; None if one may be."""
    is_mean = parts is not None and parts.combine is None
    if metric.extreme or not (is_mean or metric.weighs):
        return PowerGap.NO_MEAN
    return _why_blind(rewards, parts, k, rule)


def _level_of_mean(
    benchmark: Benchmark, rule: RuleSettings, rewards: TaskRewards, k: int
) -> float:
    """Return the level of the mean of tasks, of which the next run has so many rollouts."""
    before = int(np.median(rewards.counts))
    return _level(benchmark, rule.alpha, len(rewards), before=before, now=k)


def _power_of_redrawn(planned: _Planned, power: Power) -> Power:
    """Plan a metric that is no mean over tasks by drawing rollouts anew."""
    k = power.rollouts
    rewards = planned.rewards
    se = _redrawn(planned.metric, rewards, k) or math.nan
    mde = needed_drop(len(rewards) - 1, planned.alpha).drop(se)
    needed = rollouts_for(mde**2 * k, planned.rule.max_drop**2)
    return structs.replace(power, mde=mde, needed=needed)


def _power_over_tasks(
    benchmark: Benchmark,
    plan: metrics.Plan,
    planned: _Planned,
    power: Power,
    recorded: _Recorded,
) -> Power:
    """Plan a mean over tasks."""
    rewards = planned.rewards
    rule = planned.rule
    alpha = planned.alpha
    least = rule.max_drop if rule.rule is RuleName.PRACTICAL else 0.0

    def needed_at(se: float) -> Needed:
        noise = _noise_of_runs(
            benchmark, plan, power.metric, recorded, alpha=alpha, se=se
        )
        return needed_drop(len(rewards) - 1, alpha, least=least, noise=noise)

    k = power.rollouts
    # rollouts of the baseline for each of the next run
    more = max(float(np.median(rewards.counts)) / max(k, 1), 1e-9)
    mde, needed = _visible(planned.metric, rewards, k, needed_at, rule, more=more)
    return structs.replace(
        power,
        mde=mde,
        needed=needed,
        unknown=None if math.isfinite(mde) else _why_unknown(rewards),
        is_worst=planned.is_single,
    )


def _is_on_unit(rewards: TaskRewards) -> bool:
    """Check whether there are rewards, and all lie in [0, 1]."""
    values = rewards.numbers
    return len(values) > 0 and float(values.min()) >= 0 and float(values.max()) <= 1


def _why_blind(
    rewards: TaskRewards, parts: TaskParts | None, k: int, rule: RuleSettings
) -> PowerGap | FewUnits | None:
    """Find why no drop of the mean can be significant; None if one can."""
    if not len(rewards.values):
        return PowerGap.NO_NUMBER
    if parts is None and int(rewards.counts.max(initial=0)) == 1:
        return PowerGap.ONE_ROLLOUT
    few = few_units(len(rewards), "task", rule.alpha)
    if few is not None and _is_loss_proven(rewards, parts, k, rule):
        return PowerGap.ONLY_COLLAPSE
    return few


def _is_loss_proven(
    rewards: TaskRewards, parts: TaskParts | None, k: int, rule: RuleSettings
) -> bool:
    """Check whether the rollouts of a few tasks would prove that all is lost in the next run.

    All the better rollouts of both sides are then the baseline's.
    """
    is_mean_reward = (
        parts is not None
        and parts.combine is None
        and bool(np.allclose(parts.values, means_of(rewards)))
    )
    if not is_mean_reward or len(rewards) < _FEWEST_LOST:
        return False
    is_better = rule.sign * rewards.values > rule.sign * _worst_value(rewards, rule)
    better = np.bincount(rewards.task, is_better, len(rewards)).astype(int)
    log_p = 0.0
    for count, good in zip(rewards.counts.tolist(), better.tolist(), strict=True):
        log_p += math.log(math.comb(count, good) / math.comb(count + k, good))
    return log_p < math.log(rule.alpha)


def _worst_value(rewards: TaskRewards, rule: RuleSettings) -> float:
    """Return the worst reward that there may be: of a rate's range, else that was seen."""
    low = float(rewards.values.min())
    high = float(rewards.values.max())
    is_rate = low >= 0 and high <= 1
    if rule.sign > 0:
        return 0.0 if is_rate else low
    return 1.0 if is_rate else high


def _why_unknown(rewards: TaskRewards) -> PowerGap:
    """Find why no drop can be stated."""
    if _are_alike(rewards):
        return PowerGap.ALL_ALIKE
    return PowerGap.FEW_VARY


def _by_second_run(
    benchmark: Benchmark,
    plan: metrics.Plan,
    power: Power,
    recorded: _Recorded,
    *,
    alpha: float,
) -> Power | None:
    """Plan by two runs of one rollout each: their comparison states the drop, if it can."""
    run = recorded.second
    if run is None:
        return None
    pairing = metrics.Pairing(plan, run, recorded.table, run.counts)
    given = comparison_input(
        benchmark,
        power.metric,
        pairing,
        agent=recorded.agent,
        elsewhere=recorded.elsewhere,
    )
    rule = structs.replace(given.rule, alpha=alpha)
    compared = compare(structs.replace(given, rule=rule))
    if not math.isfinite(compared.detectable):
        return None
    return structs.replace(
        power, mde=compared.detectable, source=PowerSource.BASELINE_AND_ROLLOUTS
    )


def _mean_over_tasks(parts: TaskParts | None) -> float | None:
    """Return a metric that is a mean over tasks; None for any other."""
    if parts is None or parts.combine is not None:
        return None
    known = parts.values[~np.isnan(parts.values)]
    return float(known.mean()) if len(known) else None


def _visible(
    metric: metrics.BoundMetric,
    rewards: TaskRewards,
    k: int,
    needed_at: Callable[[float], Needed],
    rule: RuleSettings,
    *,
    more: float,
) -> tuple[float, int | None]:
    """Return the drop that k rollouts of each task see, and how many see `max_drop`.

    The baseline has `more` times as many rollouts of each task.
    """
    n = len(rewards)
    ends = (float(rewards.values.min()), float(rewards.values.max()))
    two_valued = not metric.reads_rows and (
        ends[0] < ends[1]
        and ((rewards.values == ends[0]) | (rewards.values == ends[1])).all()
    )
    if not two_valued:
        variance = _sampling_variance(metric, rewards, k) or math.nan
        if int(rewards.counts.max()) == 1:
            variance = float(np.var(rewards.values, ddof=1)) or math.nan
        se = math.sqrt(variance * (1 + 1 / more) / n)
        needed = needed_at(se)
        wanted = needed.largest_se(rule.max_drop)
        rollouts = rollouts_for(2 * variance * k, n * wanted**2)
        if not needed.scale.is_of_logs:
            return needed.drop(se), rollouts
        rise = _Rise.of(metric, rewards, variance, more=more)
        return grown_drop(rise.lost, needed), rollouts
    good = ends if rule.direction == "higher" else ends[::-1]
    thinned = _Thinned(metric, rewards, k, good, more=more)
    _, se = thinned.lost(0.0)
    needed = needed_at(se)

    def gain(share: float) -> float:
        return -thinned.lost(share)[0]

    share = stats.falls_to(gain, -rule.max_drop, 0.0, 1.0, halvings=20)
    within, between = thinned.variances(share)
    wanted = needed.largest_se(rule.max_drop)
    rollouts = rollouts_for(within * k, n * wanted**2 - between)
    return thinned_drop(thinned.lost, needed), rollouts


class _Rise(msgspec.Struct, frozen=True, kw_only=True):
    """A run in which the value of every task grew by the same share."""

    tasks: int
    mean: float  # of the tasks' values
    between: (
        float  # the variance of the tasks' values, beyond what their rollouts explain
    )
    within: float  # the variance of a task's value in the run, by its rollouts
    of_baseline: float  # the same in the baseline

    @classmethod
    def of(
        cls,
        metric: metrics.BoundMetric,
        rewards: TaskRewards,
        within: float,
        *,
        more: float,
    ) -> _Rise:
        """Measure tasks by a baseline with `more` times as many rollouts as the run."""
        parts = metric.parts(rewards)
        values = means_of(rewards) if parts is None else parts.values
        of_baseline = within / more
        seen = float(np.var(values, ddof=1))
        return cls(
            tasks=len(rewards),
            mean=float(values.mean()),
            between=max(seen - of_baseline, 0.0),
            within=within,
            of_baseline=of_baseline,
        )

    def lost(self, share: float) -> tuple[float, float]:
        """Return the drop where values grow by such a share, and its standard error."""
        of_run = self.within * (1 + share) ** 2
        # large values grow by more
        of_growth = self.between * share**2
        variance = self.of_baseline + of_run + of_growth
        return share * self.mean, math.sqrt(variance / self.tasks)


def rollouts_for(per_rollout: float, allowed: float) -> int | None:
    """Return the number of rollouts that reduces a variance to the allowed one."""
    if not allowed > 0 or math.isnan(per_rollout):
        return None
    needed = max(math.ceil(per_rollout / allowed - 1e-9), 1)
    return needed if needed <= _MOST else None


class _Thinned:
    """A run in which each task lost the same share of its chance to pass."""

    def __init__(
        self,
        metric: metrics.BoundMetric,
        rewards: TaskRewards,
        k: int,
        ends: tuple[float, float],
        *,
        more: float = 1.0,
    ) -> None:
        self.more = more
        self.k = k
        passed = np.add.reduceat(
            rewards.values == ends[1], rewards.offsets[:-1], dtype=np.int64
        )
        counts = rewards.counts
        mean, size = _spread_of_chances(passed, counts)
        # tasks with as many passes of as many rollouts are alike
        most = int(counts.max()) + 1
        kinds, times = np.unique(counts * most + passed, return_counts=True)
        sizes = kinds // most
        ups = kinds % most
        rng = np.random.Generator(np.random.PCG64(0))
        shape = (len(kinds), _CHANCES)
        fails = (1 - mean) * size + sizes - ups
        self.chance = rng.beta((mean * size + ups)[:, None], fails[:, None], shape)
        self.tasks = int(times.sum())
        self.weight = times / self.tasks / _CHANCES

        def statistic(values: _Numbers, offsets: NDArray[np.int64]) -> _Numbers:
            parts = metric.parts(TaskRewards(values, offsets))
            assert parts is not None  # noqa: S101 - it had parts for these tasks
            return parts.values

        self.values = stats.two_valued(
            np.full(k + 1, k), np.arange(k + 1), ends, statistic
        )
        self.sign = 1.0 if self.values[-1] >= self.values[0] else -1.0
        self.full = self._moments(0.0)

    def _moments(self, share: float) -> tuple[_Numbers, _Numbers]:
        """Return the mean and the variance of each value, over repeated runs."""
        chance = self.chance * (1 - share)
        first = np.zeros_like(chance)
        second = np.zeros_like(chance)
        for j, value in enumerate(self.values.tolist()):
            ways = math.comb(self.k, j) * chance**j * (1 - chance) ** (self.k - j)
            first += ways * value
            second += ways * value * value
        return first, second - first**2

    def variances(self, share: float) -> tuple[float, float]:
        """Return the variance of a difference within tasks, and between them."""
        after = self._moments(share)
        gap = self.full[0] - after[0]
        both = self.full[1] / self.more + after[1]
        within = self.weight @ both.sum(axis=1)
        between = (
            self.weight @ (gap**2).sum(axis=1) - (self.weight @ gap.sum(axis=1)) ** 2
        )
        return float(within), float(between)

    def lost(self, share: float) -> tuple[float, float]:
        """Return the drop where a share is lost, and its standard error."""
        drop = self.weight @ (self.full[0] - self._moments(share)[0]).sum(axis=1)
        se = math.sqrt(max(math.fsum(self.variances(share)), 0.0) / self.tasks)
        return self.sign * float(drop), se


def _spread_of_chances(
    passed: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[float, float]:
    """Fit a beta distribution to the tasks' chances to pass: its mean, and its size."""
    several = counts > 1
    given = counts > 0
    mean = float((passed[given] / counts[given]).mean())
    seen = 0.0  # without repeats tasks may all be as hard: then a run varies most
    if several.any():
        n = counts[several]
        both = passed[several] * (passed[several] - 1) / (n * (n - 1))
        seen = float(both.mean()) - mean**2
    spread = min(max(seen, 1e-6), 0.999 * mean * (1 - mean))
    return mean, mean * (1 - mean) / spread - 1


def _redrawn(metric: metrics.BoundMetric, rewards: TaskRewards, k: int) -> float:
    """Return the standard error of the difference of two runs, by drawing rollouts anew."""
    rng = np.random.Generator(np.random.PCG64(0))
    counts = rewards.counts
    starts = np.repeat(rewards.offsets[:-1], counts)
    sizes = np.repeat(counts, counts)
    drawn = []
    for _ in range(max(20, min(_REPLICATES, _DRAWN // max(len(rewards.values), 1)))):
        at = starts + (rng.random(len(sizes)) * sizes).astype(int)
        drawn.append(metric.anew(structs.replace(rewards, values=rewards.values[at])))
    lost = max(k, 2) / (max(k, 2) - 1)  # the spread that few rollouts don't show
    return math.sqrt(2 * lost) * float(np.std(drawn, ddof=1))


def _sampling_variance(
    metric: metrics.BoundMetric, rewards: TaskRewards, k: int
) -> float:
    """Estimate the variance of a task's value between runs, by resampling its rollouts."""
    parts = metric.parts(rewards)
    rng = np.random.Generator(np.random.PCG64(0))
    if parts is None or parts.combine is not None or not parts.held.any():
        return math.nan
    held = np.flatnonzero(parts.held)
    counts = rewards.counts[held]
    offsets = np.arange(len(held) + 1) * k
    replicates = max(20, min(_REPLICATES, _DRAWN // (len(held) * k)))
    total = np.zeros(len(held))
    squares = np.zeros(len(held))
    for _ in range(replicates):
        drawn = rng.random((len(held), k)) * counts[:, None]
        at = rewards.offsets[held][:, None] + drawn.astype(np.int64)
        redrawn = metric.parts(
            structs.replace(rewards, values=rewards.values[at].ravel(), offsets=offsets)
        )
        assert redrawn is not None  # noqa: S101 - it had parts for these tasks
        total += redrawn.values
        squares += redrawn.values**2
    variance = (
        (squares / replicates - (total / replicates) ** 2)
        * replicates
        / (replicates - 1)
    )
    seen = counts > 1
    inflated = variance[seen] * counts[seen] / (counts[seen] - 1)
    return float(max(inflated.mean(), 0.0)) if seen.any() else math.nan
