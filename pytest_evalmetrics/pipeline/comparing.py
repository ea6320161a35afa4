"""Compare: each agent's rollouts paired with those of the reference.

What is paired here is tested by `comparison` and judged by `gates`.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics import gates, metrics
from pytest_evalmetrics.comparison import (
    ComparisonInput,
    Slice,
    means_of,
    runs_of,
    slices_of,
)
from pytest_evalmetrics.config import declarations
from pytest_evalmetrics.errors import BaselineError, EvalMetricsError, RegistryError
from pytest_evalmetrics.gates import Flips, Gated, SlicesToTest, TasksToTest
from pytest_evalmetrics.model.bounds import RuleBound
from pytest_evalmetrics.model.comparison import (
    ComparisonFacts,
    NoiseSource,
    RuleName,
)
from pytest_evalmetrics.model.gate_notes import (
    FewBaselineRuns,
    PinnedSystemMoved,
    RunNoiseOfHistory,
    RunNoiseOfNeighbours,
    SingleTasksNotGated,
)
from pytest_evalmetrics.model.metric_facts import Range
from pytest_evalmetrics.model.reasons import (
    CannotFail,
    MeasurementChange,
    MeasurementChanged,
    NotComparable,
    Reason,
    UnequalSums,
    UnknownAgent,
    UnknownDirection,
)
from pytest_evalmetrics.model.results import Check
from pytest_evalmetrics.model.verdicts import Direction, Gate, Verdict
from pytest_evalmetrics.pipeline import noise_elsewhere
from pytest_evalmetrics.pipeline.gate_settings import (
    acceptance_of,
    own_rule_of,
    rule_of,
    settings_of,
)
from pytest_evalmetrics.pipeline.measurement_changes import touches, touches_reward
from pytest_evalmetrics.pipeline.reducing import AgentRun, without
from pytest_evalmetrics.spec import Benchmark, Count, metric_names

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from pytest_evalmetrics.comparison import Runs
    from pytest_evalmetrics.model.comparison import PairedMetric
    from pytest_evalmetrics.model.estimates import Estimate
    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.model.rollout_table import Drift, RolloutTable, TaskId
    from pytest_evalmetrics.pipeline.noise_elsewhere import NoiseElsewhere
    from pytest_evalmetrics.pipeline.references import Reference

# a metric that is to be judged by a test, or what it came to without one
Judgeable: TypeAlias = Gated | Check
_LARGEST = 1e150  # of a task: sums of squares stay below 1e308
_LEAST_IN_ALL = 0.5  # of the tasks: those that all runs of a baseline have
_LEAST_BY_CHANCE = 0.75  # of tasks, that others may be gone beside
_FEW_RUNS = 4  # from so many on, runs find drops of ten points and less
_LIMITED = (  # rules whose max_drop decides
    RuleName.RELATIVE,
    RuleName.ABSOLUTE,
    RuleName.PRACTICAL,
    RuleName.NONINFERIOR,
)


class ComparisonTerms(msgspec.Struct, frozen=True, kw_only=True):
    """What a benchmark's agents are compared with, and how."""

    benchmark: Benchmark
    plan: metrics.Plan
    reference: Reference
    quarantined: frozenset[str] = frozenset()  # ids of tasks, left out on both sides
    # changes of what measures: metrics that they touch are not compared
    measurement_changes: tuple[MeasurementChange, ...] = ()
    # the same where both sides are measured alike now; a hook's numbers are not
    settled_changes: tuple[MeasurementChange, ...] = ()
    # by agent: the rows that its tasks are a sample of
    frames: Mapping[str, RolloutTable] = {}
    # what else than the reference's runs says how far runs scatter
    elsewhere: NoiseElsewhere = noise_elsewhere.NOTHING


class AgentComparison(msgspec.Struct, frozen=True, kw_only=True):
    """One agent beside its reference."""

    run: AgentRun
    unknown: Check | None = None  # the reference does not have it
    drift: Drift | None = None  # how its tasks differ from the reference's
    pairing: metrics.Pairing | None = None  # with all runs of the reference
    flips: Flips | None = None  # None if rewards can't be compared
    judgeable: tuple[Judgeable, ...] = ()  # its gated metrics, in their order
    # the share of the reference's tasks that must be there to compare
    min_coverage: float = 1.0
    # its tasks, to be tested one by one; None if they are not
    tasks: TasksToTest | None = None
    # the values of `breakdown:`, tested beside the whole; None without any
    slices: SlicesToTest | None = None
    # rollouts of each task, at most: in the reference, and in the run
    rollouts: tuple[int, int] = (0, 0)


def compare_agents(
    terms: ComparisonTerms, runs: Sequence[AgentRun]
) -> tuple[AgentComparison, ...]:
    """Pair each agent with its reference."""
    return tuple(_compare_agent(terms, run) for run in runs)


def _compare_agent(terms: ComparisonTerms, run: AgentRun) -> AgentComparison:
    reference = terms.reference
    texts = _gated_texts(terms.benchmark, run)
    if reference.anchors is not None:
        by_anchor = tuple(_by_anchor(terms, run, text) for text in texts.values())
        return AgentComparison(run=run, judgeable=by_anchor)
    counterpart = reference.agent_for(run.result.agent, alone=not run.shown)
    if counterpart is None:
        return AgentComparison(run=run, unknown=_unknown_agent(terms, run))
    recorded = reference.tables[counterpart]
    baseline, drift = metrics.align(run.table, gated_tasks(terms, recorded, run))
    pairing = metrics.Pairing(
        terms.plan,
        run.table,
        baseline,
        run.expected,
        any_number=_may_have_any_number(terms.benchmark),
        lost=frozenset(map(str, drift.lost)),
    )
    min_coverage = _least_coverage(terms.benchmark, drift, pairing)
    pairings = _pairings_of_runs(terms, run, pairing, reference.runs[counterpart])
    # a hook's number over all tasks is not comparable with one over a sample
    is_whole = not terms.frames or len(baseline.tasks) == len(recorded.tasks)
    values = reference.values.get(counterpart, {}) if is_whole else {}
    judgeable: tuple[Judgeable, ...] = tuple(
        _judgeable(
            terms,
            run,
            text,
            pairing=pairing,
            pairings=pairings,
            value=values.get(name),
            min_coverage=min_coverage,
        )
        for name, text in texts.items()
    )
    return AgentComparison(
        run=run,
        drift=drift,
        pairing=pairing,
        flips=_flips(terms, pairing),
        judgeable=judgeable,
        min_coverage=min_coverage,
        tasks=_tasks_to_test(terms, run, judgeable, pairing=pairing, pairings=pairings),
        slices=_slices_to_test(
            terms, run, judgeable, pairing=pairing, pairings=pairings
        ),
        rollouts=(
            int(pairings[-1].baseline.counts.max(initial=0)),
            int(run.table.counts.max(initial=0)),
        ),
    )


def _may_have_any_number(benchmark: Benchmark) -> bool:
    """Check whether the benchmark file lets tasks differ in their numbers of rollouts."""
    asked = benchmark.spec.expect.rollouts
    if isinstance(asked, Count):
        return asked.max != asked.min
    return asked == "any"


def _least_coverage(
    benchmark: Benchmark, drift: Drift, pairing: metrics.Pairing
) -> float:
    """Return the share of the reference's tasks that must be there.

    Of tasks that may have any number of rollouts, some have none by chance, but not most:
    a quarter of them only goes where more than half of the rollouts do.
    """
    least = settings_of(benchmark).min_coverage
    is_any = benchmark.spec.expect.rollouts == "any"
    if not is_any or not drift.lost or not pairing.may_be_gone_by_chance():
        return least
    held = 1 - len(drift.lost) / drift.expected
    return min(least, max(held, _LEAST_BY_CHANCE))


def _gated_texts(benchmark: Benchmark, run: AgentRun) -> dict[str, str]:
    """Map the gated metrics to their texts in the file; the last has its own settings."""
    return {run.result.estimates[text].name: text for text in benchmark.spec.gated}


def _unknown_agent(terms: ComparisonTerms, run: AgentRun) -> Check:
    reason = UnknownAgent(run.result.agent, known=tuple(terms.reference.runs))
    return _unjudged(terms, run, "agent", reason)


def gated_tasks(
    terms: ComparisonTerms, recorded: RolloutTable, run: AgentRun
) -> RolloutTable:
    """Drop quarantined tasks, and those outside of the sample, from a recorded run."""
    recorded = without(recorded, terms.quarantined)
    frames = terms.frames
    frame = frames.get(run.result.agent, next(iter(frames.values()), None))
    if frame is None:
        return recorded
    drawn = set(map(str, run.table.tasks))
    not_drawn = {str(task) for task in frame.tasks} - drawn
    aligned, _ = metrics.align(frame, recorded)
    return without(aligned, not_drawn)


def _pairings_of_runs(
    terms: ComparisonTerms,
    run: AgentRun,
    pairing: metrics.Pairing,
    recorded_runs: Sequence[RolloutTable],
) -> list[metrics.Pairing]:
    """Pair the run with each run of the reference, the newest last."""
    if len(recorded_runs) == 1:
        return [pairing]
    pairings = []
    for recorded in recorded_runs:
        aligned, _ = metrics.align(run.table, gated_tasks(terms, recorded, run))
        pairings.append(structs.replace(pairing, baseline=aligned))
    return pairings


def _flips(terms: ComparisonTerms, pairing: metrics.Pairing) -> Flips | None:
    """Find the tasks that flipped; None if the rewards of both sides differ in kind."""
    spec = terms.benchmark.spec
    changes = terms.measurement_changes
    if any(touches_reward(change, spec.reward) for change in changes):
        return None
    with suppress(EvalMetricsError):  # the baseline holds no rewards
        pair = pairing.pair(pairing.plan.names.bind("mean_reward"))
        return gates.flips_of(pair, spec.pass_threshold)
    return None


def _tasks_to_test(
    terms: ComparisonTerms,
    run: AgentRun,
    judgeable: Sequence[Judgeable],
    *,
    pairing: metrics.Pairing,
    pairings: Sequence[metrics.Pairing],
) -> TasksToTest | None:
    """Pair the rewards of single tasks; None where no metric of them is tested."""
    reward = terms.benchmark.spec.reward
    if not settings_of(terms.benchmark).single_tasks:
        return None
    for gated in judgeable:
        if not isinstance(gated, Gated) or gated.estimate is None:
            continue
        rule = gated.compared.rule
        if gated.estimate.score != reward or not rule.tests:
            continue
        pair = pairing.pair(pairing.plan.names.bind("mean_reward"))
        if not _has_repeats(pair):
            return None
        return TasksToTest(
            agent=run.shown,
            reward=reward,
            pair=pair,
            sign=rule.sign,
            alpha=rule.alpha,
            least_drop=rule.max_drop if rule.rule is RuleName.PRACTICAL else 0.0,
            line=terms.benchmark.line_of("baseline"),
            runs=_runs_of_reward(terms, run, pairings, pair),
            run_noise=_stated_noise(gated.compared, pair),
            unseen_mean=_unseen_mean(
                terms, run, judgeable, pairing=pairing, pairings=pairings
            ),
        )
    return None


def _unseen_mean(
    terms: ComparisonTerms,
    run: AgentRun,
    judgeable: Sequence[Judgeable],
    *,
    pairing: metrics.Pairing,
    pairings: Sequence[metrics.Pairing],
) -> ComparisonInput | None:
    """Compare the mean of the reward, where no gated metric is that mean.

    A worst task that fails already, or a median of 0, has nothing to lose while all other
    tasks break.
    """
    of_reward = [
        gated
        for gated in judgeable
        if _is_tested_whole(gated)
        and gated.estimate is not None
        and gated.estimate.score == terms.benchmark.spec.reward
    ]
    if not of_reward or any(_is_mean_reward(gated) for gated in of_reward):
        return None
    return _mean_reward(terms, run, of_reward[0], pairing=pairing, pairings=pairings)


def _is_mean_reward(gated: Gated) -> bool:
    """Check whether each task's value is the mean of its rewards."""
    pair = gated.compared.pair
    if pair.difference is not None or pair.extreme or pair.baseline is None:
        return False
    return np.allclose(pair.baseline, means_of(pair.rewards_baseline))


def _runs_of_reward(
    terms: ComparisonTerms,
    run: AgentRun,
    pairings: Sequence[metrics.Pairing],
    pair: PairedMetric,
) -> Runs | None:
    """Measure the mean reward of each run of the reference; None if noise is unknown."""
    runs = None
    if len(pairings) > 1:
        mean_reward = pairings[0].plan.names.bind("mean_reward")
        pairs = _pairs_of_runs(terms.benchmark, mean_reward, pair, pairings)
        if pairs is None:
            return None
        runs = runs_of(pairs, pooled=True, is_rate=pair.bounded)
    agent = run.result.agent
    return terms.elsewhere.of(runs, pair, agent=agent, is_rate=pair.bounded)


def _stated_noise(compared: ComparisonInput, pair: PairedMetric) -> float | None:
    """Return the noise between runs that the file states, in the reward's unit."""
    stated = compared.run_noise
    if stated is None or compared.is_rate:
        return stated
    return stated * abs(pair.value_baseline)


def _slices_to_test(
    terms: ComparisonTerms,
    run: AgentRun,
    judgeable: Sequence[Judgeable],
    *,
    pairing: metrics.Pairing,
    pairings: Sequence[metrics.Pairing],
) -> SlicesToTest | None:
    """Cut the first metric that is a tested mean over tasks into slices.

    Where there is none, such as with a median alone, the mean of the reward is cut.
    """
    spec = terms.benchmark.spec
    wholes = [gated for gated in judgeable if _is_tested_whole(gated)]
    for gated in wholes:
        slices = tuple(_slices(terms.benchmark, run, gated.compared))
        if slices:
            return _sliced(terms, run, slices)
    if not spec.breakdown:
        return None
    for gated in wholes:
        if gated.estimate is None or gated.estimate.score != spec.reward:
            continue
        mean = _mean_reward(terms, run, gated, pairing=pairing, pairings=pairings)
        slices = tuple(_slices(terms.benchmark, run, mean))
        return _sliced(terms, run, slices) if slices else None
    return None


def _mean_reward(
    terms: ComparisonTerms,
    run: AgentRun,
    gated: Gated,
    *,
    pairing: metrics.Pairing,
    pairings: Sequence[metrics.Pairing],
) -> ComparisonInput:
    """Compare the mean of the reward by the rule of a metric of it."""
    pair = pairing.pair(pairing.plan.names.bind("mean_reward"))
    may_be_rate = declarations.may_be_rate(terms.benchmark.spec, "mean_reward")
    return structs.replace(
        gated.compared,
        pair=pair,
        runs=_runs_of_reward(terms, run, pairings, pair),
        is_rate=pair.bounded and may_be_rate,
        stated=None,
    )


def _is_tested_whole(judgeable: Judgeable) -> TypeGuard[Gated]:
    """Check whether a metric is tested, over all tasks."""
    if not isinstance(judgeable, Gated) or judgeable.estimate is None:
        return False
    is_part = metric_names.parse(judgeable.compared.pair.name).field is not None
    return judgeable.compared.rule.tests and not is_part


def _sliced(
    terms: ComparisonTerms, run: AgentRun, slices: tuple[Slice, ...]
) -> SlicesToTest:
    return SlicesToTest(
        agent=run.shown,
        slices=slices,
        alpha=slices[0].compared.rule.alpha,
        line=terms.benchmark.line_of("breakdown"),
    )


def _slices(
    benchmark: Benchmark, run: AgentRun, whole: ComparisonInput
) -> Iterator[Slice]:
    """Cut a metric into the tasks of each value of each field of `breakdown:`."""
    if not benchmark.spec.breakdown:
        return
    table = run.table
    rows = metrics.positions(whole.pair.tasks, table.tasks)
    for field in benchmark.spec.breakdown:
        category = table.categories.get(field)
        if category is None or (rows < 0).any():
            continue
        first = category.codes[table.offsets[:-1]]
        last = category.codes[table.offsets[1:] - 1]
        # a task whose rollouts have several labels belongs to no slice
        codes = np.where(first == last, first, -1)[rows]
        yield from slices_of(whole, field, category.labels, codes)


def _has_repeats(pair: PairedMetric) -> bool:
    """Check whether any task has several rollouts on both sides."""
    fewest = np.minimum(pair.rewards_baseline.counts, pair.rewards_current.counts)
    return bool((fewest > 1).any())


# -- one metric ------------------------------------------------------------------------------


def _judgeable(
    terms: ComparisonTerms,
    run: AgentRun,
    text: str,
    *,
    pairing: metrics.Pairing,
    pairings: Sequence[metrics.Pairing],
    value: float | None,
    min_coverage: float,
) -> Judgeable:
    """Pair one metric; a check where that is not possible, or not allowed."""
    changed = _measured_otherwise(terms, run, text)
    if changed is not None:
        return changed
    estimate = run.result.estimates[text]
    if estimate.by_hook:
        return _by_value(terms, run, text, value)
    try:
        gated = _paired(terms, run, text, pairing, pairings, min_coverage=min_coverage)
    except EvalMetricsError as error:
        # the run itself has been reduced, so that the reference is what lacks something
        is_own = isinstance(error, RegistryError)
        not_comparable = NotComparable(
            metric=text,
            words=error.message,
            hint=error.hint or "" if is_own else "",
        )
        return _unjudged(terms, run, estimate.name, not_comparable, "metrics", text)
    sides = gated.worst or gated.compared.pair
    before = len(sides.rewards_baseline.values)
    now = len(sides.rewards_current.values)
    if metric_names.parse(text).metric == "sum" and before != now:
        unequal = UnequalSums(metric=text, score=estimate.score, before=before, now=now)
        return _unjudged(terms, run, estimate.name, unequal, "metrics", text)
    return _cannot_fail(terms, run, text, gated) or gated


def _paired(
    terms: ComparisonTerms,
    run: AgentRun,
    text: str,
    pairing: metrics.Pairing,
    pairings: Sequence[metrics.Pairing],
    *,
    min_coverage: float,
) -> Gated:
    """Pair one metric, also with missing rewards at their worst."""
    benchmark = terms.benchmark
    metric = pairing.plan.names.bind(text)
    if not metric.unbiased:  # more rollouts would change its value
        pairing = pairings[-1]
    compared = comparison_input(
        benchmark,
        text,
        pairing,
        pairings,
        agent=run.result.agent,
        elsewhere=terms.elsewhere,
    )
    is_higher = compared.rule.direction is Direction.HIGHER
    may_lose = _may_lose(benchmark)
    return Gated(
        compared=structs.replace(compared, stated=pairing.stated_error(metric)),
        own=own_rule_of(benchmark, text),
        agent=run.shown,
        line=benchmark.line_of("baseline", "metrics", text),
        estimate=run.result.estimates[text],
        worst=pairing.pair_at_worst(metric, higher_is_better=is_higher),
        missing=pairing.missing(metric),
        # only a loss that the file allows is tested
        lost=pairing.lost_rollouts(metric) if may_lose else None,
        may_lose=may_lose,
        min_coverage=min_coverage,
    )


def _may_lose(benchmark: Benchmark) -> bool:
    """Check whether the benchmark file says that rollouts or tasks may be missing."""
    _, share = gates.missing_policy(benchmark.spec.expect)
    is_any = _may_have_any_number(benchmark)
    return share > 0 or is_any or settings_of(benchmark).min_coverage < 1


def comparison_input(
    benchmark: Benchmark,
    text: str,
    pairing: metrics.Pairing,
    pairings: Sequence[metrics.Pairing] = (),
    *,
    agent: str = "",
    elsewhere: NoiseElsewhere = noise_elsewhere.NOTHING,
) -> ComparisonInput:
    """Pair a metric with its baseline; `pairings` has one for each run of the baseline."""
    metric = pairing.plan.names.bind(text)
    pair = pairing.pair(metric)
    _check_size(pair)
    is_rate = pair.bounded and declarations.may_be_rate(benchmark.spec, text)
    runs = None
    if len(pairings) > 1:
        pairs = _pairs_of_runs(benchmark, metric, pair, pairings)
        if pairs is None:
            held = [len(of_run.pair(metric).tasks) for of_run in pairings]
            counts = ", ".join(map(str, held))
            raise BaselineError(
                f"its runs hold {counts} of the {len(pair.tasks)} compared tasks"
            )
        runs = runs_of(pairs, pooled=metric.unbiased, is_rate=is_rate)
    return ComparisonInput(
        pair=pair,
        rule=rule_of(
            benchmark, text, bounded=pair.bounded, baseline=pair.value_baseline
        ),
        runs=elsewhere.of(runs, pair, agent=agent, is_rate=is_rate),
        run_noise=settings_of(benchmark).gate_of(text).run_noise,
        shares_error=metric.name.score == metric_names.OVER_REFERENCE,
        is_rate=is_rate,
        gate_id=f"{benchmark.spec.name}::{agent}",
        independent=benchmark.spec.independent,
    )


def _check_size(pair: PairedMetric) -> None:
    """Refuse numbers whose squares no number can hold, as the run itself does."""
    largest = abs(pair.value_baseline)
    if pair.baseline is not None:
        largest = float(np.abs(pair.baseline).max(initial=0.0))
    if largest > _LARGEST:
        raise BaselineError(
            f"a value of {largest:.3g} is too large to compare: look for a broken "
            "number in its rollouts"
        )


def _pairs_of_runs(
    benchmark: Benchmark,
    metric: metrics.BoundMetric,
    pair: PairedMetric,
    pairings: Sequence[metrics.Pairing],
) -> list[PairedMetric] | None:
    """Pair each run of the baseline, over the same tasks.

    Where the benchmark file says that rewards or tasks may be missing, these are the tasks
    that all runs have a value of. None if they hold other tasks, or have few in common.
    """
    pairs = [of_run.pair(metric) for of_run in pairings]
    if all(len(of_run.tasks) == len(pair.tasks) for of_run in pairs):
        return pairs
    in_all = set(pair.tasks)
    for of_run in pairs:
        in_all.intersection_update(of_run.tasks)
    if not _may_lose(benchmark) or len(in_all) < _LEAST_IN_ALL * len(pair.tasks):
        return None
    return [_over(pairing, in_all).pair(metric) for pairing in pairings]


def _over(pairing: metrics.Pairing, tasks: Collection[TaskId]) -> metrics.Pairing:
    """Leave out all other tasks on both sides."""
    names = pairing.current.tasks
    kept = np.array([task in tasks for task in names], dtype=bool)
    others = {str(task) for task in names if task not in tasks}
    return structs.replace(
        pairing,
        current=without(pairing.current, others),
        baseline=without(pairing.baseline, others),
        expected=pairing.expected[kept],
    )


def _measured_otherwise(
    terms: ComparisonTerms, run: AgentRun, text: str
) -> Check | None:
    """Refuse to compare a metric if something else measures it now."""
    estimate = run.result.estimates[text]
    changes = terms.measurement_changes
    target = None
    if estimate.by_hook:
        changes = changes or terms.settled_changes
    else:
        target = terms.plan.names.bind(text).target
    touching = tuple(
        change
        for change in changes
        if touches(change, estimate, target, reward=terms.benchmark.spec.reward)
    )
    if not touching:
        return None
    reason = MeasurementChanged(metric=estimate.name, changes=touching)
    return _unjudged(terms, run, estimate.name, reason, "metrics", text)


# -- numbers without tasks -------------------------------------------------------------------


def _by_anchor(terms: ComparisonTerms, run: AgentRun, text: str) -> Check:
    """Hold a metric against a number of the history."""
    changed = _measured_otherwise(terms, run, text)
    return _by_value(terms, run, text, None) if changed is None else changed


def _by_value(
    terms: ComparisonTerms, run: AgentRun, text: str, value: float | None
) -> Check:
    """Hold a number without rollouts against the baseline's, or the history's."""
    benchmark = terms.benchmark
    estimate = run.result.estimates[text]
    is_said = settings_of(benchmark).gate_of(text).direction is not None
    if estimate.by_hook and not is_said:
        reason = UnknownDirection(metric=text, score="", by_hook=True)
        return _unjudged(terms, run, text, reason, "metrics", text)
    rule = rule_of(benchmark, text, bounded=False)
    anchors = terms.reference.anchors
    anchor = None
    if anchors is not None:
        anchor = anchors.anchor(
            run.result.agent,
            estimate.name,
            estimate.tasks,
            higher_is_better=rule.direction is Direction.HIGHER,
        )
        value = anchor.value
    return gates.check_value(
        estimate,
        value,
        rule,
        agent=run.shown,
        line=benchmark.line_of("baseline", "metrics", text),
        acceptance=terms.reference.acceptance,
        against="" if anchors is None else anchors.against,
        anchor="" if anchor is None else anchor.origin,
        runs=1 if anchor is None else anchor.runs,
    )


# -- what can't be judged --------------------------------------------------------------------


def _unjudged(
    terms: ComparisonTerms, run: AgentRun, name: str, reason: Reason, *path: str
) -> Check:
    """Make the check of what can't be judged; `path` is its key below ``baseline:``."""
    estimate: Estimate | None = None
    if path:
        estimate = run.result.estimates[path[-1]]
    is_known = estimate is not None and estimate.value == estimate.value
    return Check(
        gate=Gate.BASELINE,
        name=name,
        verdict=Verdict.INCONCLUSIVE,
        agent=run.shown,
        value=estimate.value if estimate is not None and is_known else None,
        reasons=(reason,),
        estimate=estimate,
        line=terms.benchmark.line_of("baseline", *path),
        acceptance=terms.reference.acceptance,
    )


def _cannot_fail(
    terms: ComparisonTerms, run: AgentRun, text: str, gated: Gated
) -> Check | None:
    """Refuse a drop that no rewards can show; time and money have no upper end."""
    reason = _unreachable_drop(terms.benchmark, text, gated.compared)
    if reason is None:
        return None
    pair = gated.compared.pair
    rule = gated.compared.rule
    path = settings_of(terms.benchmark).path_of(text, reason.key)
    return Check(
        gate=Gate.BASELINE,
        name=pair.name,
        verdict=Verdict.INCONCLUSIVE,
        agent=run.shown,
        value=pair.value_current,
        bound=RuleBound(rule),
        reasons=(reason,),
        estimate=gated.estimate,
        line=terms.benchmark.line_of("baseline", *path),
        comparison=ComparisonFacts(
            baseline=pair.value_baseline, current=pair.value_current
        ),
        acceptance=acceptance_of(terms.benchmark),
    )


def _unreachable_drop(
    benchmark: Benchmark, text: str, compared: ComparisonInput
) -> CannotFail | None:
    """Return the drop that a file asks for and that no rewards can show."""
    rule = compared.rule
    value = compared.pair.value_baseline
    worst = _worst_value(benchmark, text, compared)
    if compared.is_rate:
        reason = _more_than_a_rate(compared, worst)
        if reason is not None:
            return reason
    is_asked = bool(settings_of(benchmark).gate_of(text).max_drop)
    if not is_asked or rule.rule not in _LIMITED:
        return None
    most = rule.sign * (value - worst)  # the largest possible loss
    unit = 1.0
    if rule.rule is RuleName.RELATIVE:
        unit = abs(value)
    if not 0 < most < rule.max_drop * unit:
        return None
    return CannotFail(
        metric=compared.pair.name,
        key="max_drop",
        drop=rule.max_drop,
        is_rate=False,
        baseline=value,
        worst=worst,
        largest=most / unit,
    )


def _more_than_a_rate(compared: ComparisonInput, worst: float) -> CannotFail | None:
    """Return a drop of 1 or more that is asked of a rate; None if none is."""
    rule = compared.rule
    # a relative drop of a metric that rises has no end
    is_endless = rule.rule is RuleName.RELATIVE and rule.sign < 0
    max_drop = 0.0
    if rule.rule in _LIMITED and not is_endless:
        max_drop = rule.max_drop
    wanted = rule.require_mde or 0.0
    if max(max_drop, wanted) < 1:
        return None
    return CannotFail(
        metric=compared.pair.name,
        key="max_drop" if max_drop >= wanted else "require_mde",
        drop=max(max_drop, wanted),
        is_rate=True,
        baseline=compared.pair.value_baseline,
        worst=worst,
        largest=1.0,
    )


def _worst_value(benchmark: Benchmark, text: str, compared: ComparisonInput) -> float:
    """Return the worst end of a metric's range; infinite if it has none."""
    limits = declarations.range_of(benchmark.spec, metric_names.parse(text))
    if compared.is_rate:
        limits = Range(0.0, 1.0)
    return limits.low if compared.rule.direction is Direction.HIGHER else limits.high


# -- remarks ---------------------------------------------------------------------------------


def pairing_notes(
    terms: ComparisonTerms, comparisons: Sequence[AgentComparison]
) -> Iterator[Note]:
    """Note how tasks were paired, where that can't be relied on; and what is not gated."""
    reference = terms.reference
    if not settings_of(terms.benchmark).single_tasks:
        yield SingleTasksNotGated()
    yield from _notes_of_few_runs(terms, comparisons)
    for compared in comparisons:
        if compared.drift is None:
            continue
        note = gates.task_list_note(
            compared.drift, reference.acceptance, in_python=terms.benchmark.in_python
        )
        if note is not None:
            yield note


def _notes_of_few_runs(
    terms: ComparisonTerms, comparisons: Sequence[AgentComparison]
) -> Iterator[Note]:
    """Note where the noise between runs is taken from, and what little of it costs."""
    sources = {
        gated.compared.noise_source
        for compared in comparisons
        for gated in compared.judgeable
        if isinstance(gated, Gated) and gated.compared.rule.tests
    }
    if NoiseSource.HISTORY in sources:
        yield RunNoiseOfHistory()
    if NoiseSource.NEIGHBOURS in sources:
        yield RunNoiseOfNeighbours(len(terms.elsewhere.neighbours))
    runs = max(map(len, terms.reference.runs.values()), default=1)
    if NoiseSource.BASELINE in sources and runs < _FEW_RUNS:
        yield FewBaselineRuns(runs)


def reference_notes(terms: ComparisonTerms, runs: Sequence[AgentRun]) -> Iterator[Note]:
    """Describe how the pinned system of ``reference:`` changed since the baseline."""
    level = f"mean/{metric_names.REFERENCE}"
    is_alone = len(runs) == 1
    for run in runs:
        estimates = run.result.estimates
        agent = terms.reference.agent_for(run.result.agent, alone=is_alone)
        then = terms.reference.values.get(agent or "", {}).get(level)
        if then is None or level not in estimates:
            continue
        yield PinnedSystemMoved(
            metric=metric_names.OVER_REFERENCE,
            before=then,
            now=estimates[level].value,
            agent="" if is_alone else run.result.agent,
        )
