"""The rollouts that a gate needs: its power before a run, and the look at which a run may stop."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from pytest_evalmetrics import gates, metrics, stats
from pytest_evalmetrics.data import RolloutTable, TaskRewards
from pytest_evalmetrics.errors import DataError, EvalMetricsError, MetricError
from pytest_evalmetrics.gates import sequential
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.pipeline import regressions
from pytest_evalmetrics.pipeline.row_choice import draw, with_reward
from pytest_evalmetrics.results import Check, Power, Verdict
from pytest_evalmetrics.spec import Benchmark, BenchmarkSpec, Count
from pytest_evalmetrics.spec.metric_names import parse, rollouts_needed
from pytest_evalmetrics.spec.sources import Rounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.pipeline.evaluation import Evaluated, Evaluation
    from pytest_evalmetrics.transport import Budget

    _Numbers = NDArray[np.float64]

_REPLICATES = 200
_DRAWN = 4_000_000  # samples in all replicates
_MOST = 1024  # rollouts per task that are worth telling
_UNIFORM = 1 / 6  # the mean of p (1 - p) for p uniform on [0, 1]: Miller 2024, section 3.1
_CHANCES = 256  # chances to pass that stand for what is believed of one task
_SEEN = 0.8
_PARTS = 4  # of the rollouts, of which the first look has one, unless a metric needs more
_ONCE = (
    "one rollout of each task doesn't show how much a task varies from run to run: record several, "
    "or compare a second run"
)


def power_of(
    benchmark: Benchmark, snapshot: Callable[[], tuple[str, str] | None]
) -> Iterator[Power]:
    """Plan one benchmark from its baseline, which `snapshot` reads, else from its rollouts.

    A run is expected to repeat the baseline's tasks. Of rewards with two values each task's chance
    to pass is taken from its posterior under a beta prior fitted to all tasks (empirical Bayes:
    Morris 1983), and a drop takes the same share of each chance. Of other rewards Var(d) =
    sigma_B^2 / K_B + sigma_C^2 / K_C (Miller 2024, arXiv 2411.00640, section 5), sigma^2 from
    resampling each task's rollouts.
    """
    benchmark, history = with_reward(benchmark), regressions.settings_of(benchmark).of_history
    plan = regressions.plan_of(benchmark)
    runs: Mapping[str, RolloutTable] = {}
    try:
        reference = None
        if benchmark.spec.baseline is not None and not history:
            reference = regressions.reference_of(benchmark, plan, snapshot)
        if reference is not None:
            tables, source = dict(reference.tables), "baseline"
            counts = [np.diff(table.offsets) for table in tables.values()]
            if not benchmark.spec.scorers and any(len(c) and c.max() == 1 for c in counts):
                with suppress(EvalMetricsError):  # of one rollout a second run shows more
                    runs = dict(regressions.rollouts_of(benchmark, plan).by_agent())
        elif benchmark.spec.scorers:
            raise DataError("it has to be scored first, and nothing is recorded of it yet")
        else:
            tables, source = dict(regressions.rollouts_of(benchmark, plan).by_agent()), "rollouts"
    except EvalMetricsError as error:
        yield _assumed(benchmark, error)
        return
    if (sample := benchmark.spec.sample) is not None:
        tables = {agent: draw(table, sample)[0] for agent, table in tables.items()}
        runs = {agent: draw(table, sample)[0] for agent, table in runs.items()}
    yield from power_of_tables(benchmark, tables, plan=plan, source=source, runs=runs)


def power_of_tables(
    benchmark: Benchmark,
    tables: Mapping[str, RolloutTable],
    *,
    plan: metrics.Plan | None = None,
    source: str = "baseline",
    runs: Mapping[str, RolloutTable] = MappingProxyType({}),
) -> Iterator[Power]:
    """Plan one benchmark from rollouts of each agent, and a second run where tasks have one."""
    plan = plan or regressions.plan_of(benchmark)
    for agent, table in tables.items():
        for name in benchmark.spec.gated:
            power = _metric_power(benchmark, plan, name, table, source, runs.get(agent))
            yield replace(power, agent=agent)


def _assumed(benchmark: Benchmark, error: EvalMetricsError) -> Power:
    """Plan a benchmark that has never been run."""
    spec, name = benchmark.spec, benchmark.spec.gated[0]
    tasks = spec.expect.tasks.min if spec.expect.tasks is not None else 0
    k, rule = spec.num_samples or 1, regressions.rule_of(benchmark, name, bounded=True)
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
        rule = regressions.rule_of(benchmark, name, bounded=metric.bounded or bool(on_unit))
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
                pairing = metrics.Pairing(plan, run, table, np.diff(run.offsets))
                gated = regressions.gated_metric(benchmark, name, pairing)
                (check,) = gates.check_regression([gated], min_coverage=0.0)
                if check.evidence["mde"] is not None:
                    mde, source, reason = check.evidence["mde"], "baseline and rollouts", ""
        else:
            factor = stats.mde_factor(n - 1, rule.alpha)
            if parts is None:
                mde = factor * _redrawn(metric, rewards, k)
                needed = _rollouts(mde**2 * k, drop**2)
            else:
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
    parts, counts = metric.parts(rewards), rewards.counts
    if parts is None or parts.combine is not None:
        return None
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


# -- rounds over all tasks: a run stops at the look at which its gates are sure ---------------


def with_rounds(spec: BenchmarkSpec) -> BenchmarkSpec:
    """Let the rollouts of a benchmark come in rounds."""
    most = spec.num_samples
    if most is None or isinstance(most, Rounds):
        return spec
    names = []
    for text in (*spec.metrics, *spec.gated, *spec.thresholds):
        with suppress(MetricError):  # raised where it is looked up
            names.append(parse(text))
    for least in range(-(-most // _PARTS), most):
        first = _at(spec, Rounds.at(least, least, most))
        if not any(rollouts_needed(first, name) for name in names):
            return replace(spec, num_samples=Rounds.at(most, least, most))
    return spec


def _at(spec: BenchmarkSpec, rounds: Rounds) -> BenchmarkSpec:
    counted = isinstance(spec.expect.rollouts, Count)
    expect = replace(spec.expect, rollouts=None) if counted else spec.expect
    return replace(spec, num_samples=rounds, expect=expect)


def expected_rollouts(benchmark: Benchmark, powers: Sequence[Power]) -> Iterator[str]:
    """Forecast at how many rollouts of each task a benchmark with rounds stops."""
    rounds = benchmark.spec.num_samples
    if benchmark.spec.baseline is None or not isinstance(rounds, Rounds):
        return
    looks = sequential.looks_between(rounds.least, rounds.most)
    for power in powers[:1]:
        alpha = regressions.rule_of(benchmark, benchmark.spec.gated[0], bounded=True).alpha
        baseline = power.rollouts if power.source.startswith("baseline") else rounds.most
        bounds = sequential.bounds_of(sequential.fractions_of(looks, max(baseline, 1)), alpha)
        unchanged, seen = (
            sum(k * sum(ends) for k, ends in zip(looks, chances, strict=True))
            for chances in (
                sequential.stopping(bounds, drift)
                for drift in (0.0, stats.normal_ppf(1 - alpha) + stats.normal_ppf(_SEEN))
            )
        )
        yield (
            f"stops early, for one gate: after about {unchanged:.1f} of {rounds.most} rollouts of "
            f"each task if nothing changed, {seen:.1f} at a drop seen with 80 % power"
        )


def looks_at(evaluation: Evaluation) -> Iterator[tuple[int, tuple[int, ...], Evaluated]]:
    """Evaluate a benchmark at one look after another, until its gates are sure.

    Each look evaluates all rollouts up to it; the journal answers those of the looks before. So
    nothing but the rows and answers decides where a run stops.
    """
    benchmark, rounds = evaluation.benchmark, evaluation.benchmark.spec.num_samples
    assert isinstance(rounds, Rounds)  # noqa: S101 - the caller's condition
    looks = sequential.looks_between(rounds.least, rounds.most)
    if _pays_again(evaluation):
        looks = looks[-1:]
    for at, rollouts in enumerate(looks):
        spec = _at(benchmark.spec, Rounds.at(rollouts, rounds.least, rounds.most))
        own = replace(benchmark, spec=spec)
        evaluated = replace(evaluation, benchmark=own, look=sequential.Look(looks, at)).run()
        yield at, looks, evaluated
        # more rollouts would change nothing: a gate fails for good, or all are sure
        checks = evaluated.result.checks
        settled, kinds = [_settled(check) for check in checks], {check.gate for check in checks}
        if "fail" in settled or (kinds & {"baseline", "threshold"} and all(settled)):
            return


def _pays_again(evaluation: Evaluation) -> bool:
    return evaluation.benchmark.spec.runs and bool(evaluation.runtime.asks_anew)


def in_rounds(evaluation: Evaluation) -> Evaluated:
    """Evaluate a benchmark up to the look at which its gates are sure, and say which."""
    *_, (at, looks, evaluated) = looks_at(evaluation)
    rollouts, rounds = looks[at], evaluation.benchmark.spec.num_samples
    assert isinstance(rounds, Rounds)  # noqa: S101 - the caller's condition
    note = ""
    if _pays_again(evaluation):
        note = "all, because without the journal every round would pay again for those before"
    taken = f"look {at + 1} of {len(looks)}"
    tasks = sum(agent.tasks for agent in evaluated.result.agents)
    if rollouts < rounds.most:
        note = f"stopped early, at {taken}: {many(rollouts * tasks, 'rollout')} in place of "
        note += f"{rounds.most * tasks}, {100 * (1 - rollouts / rounds.most):.3g} % saved"
    elif not note:
        note = f"stopped at the last look, {taken}: no gate was sure before"
    result = replace(evaluated.result, notes=(f"num_samples: {note}", *evaluated.result.notes))
    return structs.replace(evaluated, result=result)


def in_turns(
    evaluations: Iterable[tuple[Evaluation, AbstractContextManager[object]]], budget: Budget
) -> None:
    """Take the looks of several benchmarks in turns, as far as a budget of them all goes.

    So it is spent on those that are not sure yet. The answers stay in the journal, from where each
    benchmark takes them when it is evaluated. Each evaluation comes with the scope of its names.
    """
    turns = [(looks_at(evaluation), scope) for evaluation, scope in evaluations]
    while turns:
        going = []
        for turn, scope in turns:
            with suppress(Exception), scope:  # raised again where it is evaluated
                if not budget.used_up() and next(turn, None) is not None:
                    going.append((turn, scope))
        turns = going


def _settled(check: Check) -> str:
    if (look := check.evidence.get("look")) is not None:
        return look["settled"] or ""
    by_rule = "rule" in check.evidence
    if check.gate == "threshold" or check.evidence.get("why") in ("blind", "require_mde", "run"):
        return ""
    if check.verdict is Verdict.INCONCLUSIVE:
        return "fail"
    if check.verdict is Verdict.FAIL:
        return "" if by_rule or check.name == "max_broken" else "fail"
    # fewer rollouts pass all and none more easily; a number without a test may yet change
    return "" if by_rule or check.name == "must_pass" else "pass"
