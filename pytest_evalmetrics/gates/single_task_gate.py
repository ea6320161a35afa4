"""The gate of single tasks: a task that got worse fails, whatever the mean does."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.comparison import (
    broken_tasks,
    choose_scale,
    compare,
    could_prove,
    largest_shift,
    loses_all,
    means_of,
    shift_of_clusters,
    with_shift,
)
from pytest_evalmetrics.gates.rules import Decision, decide
from pytest_evalmetrics.model.bounds import SingleTasksBound
from pytest_evalmetrics.model.reasons import (
    DependentRollouts,
    Reason,
    SingleTasksUnseen,
    WorseTask,
    WorseTasks,
)
from pytest_evalmetrics.model.results import Check
from pytest_evalmetrics.model.verdicts import Acceptance, Gate, Verdict
from pytest_evalmetrics.stats import normal_ppf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.comparison import (
        ComparisonInput,
        Runs,
        TaskDrop,
        TaskDrops,
    )
    from pytest_evalmetrics.model.comparison import Comparison, PairedMetric
    from pytest_evalmetrics.model.rollout_table import TaskId

# the share of a benchmark's alpha that single tasks get, where they can prove anything;
# the mean keeps the rest
SHARE: Final = 0.2
_NAMED = 10  # tasks that a reason names


class TasksToTest(msgspec.Struct, frozen=True, kw_only=True):
    """One agent's rewards on both sides."""

    agent: str  # where a benchmark has several
    reward: str
    pair: PairedMetric
    sign: float  # 1 where a fall is damage, -1 where a rise is
    alpha: float  # of the benchmark: single tasks get a share of it
    least_drop: float  # of a task's mean reward, that matters
    # of the mean reward between the runs of the baseline; None for one run
    runs: Runs | None = None
    # the noise between runs that the benchmark file states, in the reward's unit
    run_noise: float | None = None
    line: int | None = None  # of the benchmark file
    # the mean of the reward, where no gated metric shows that all of it is lost
    unseen_mean: ComparisonInput | None = None


def takes_share(agents: Sequence[TasksToTest]) -> bool:
    """Check whether single tasks can prove anything, and take their share of alpha."""
    return any(could_prove(agent.pair, SHARE * agent.alpha) for agent in agents)


def check_tasks_by_rollouts(
    agents: Sequence[TasksToTest],
    *,
    independent: bool | None = None,
    benchmarks: int = 1,
    acceptance: Acceptance = Acceptance.SNAPSHOT,
) -> list[Check]:
    """Judge whether any task got worse beyond what its own rollouts explain.

    Parameters
    ----------
    agents
        The rewards of all agents, which share the level.
    independent
        What the benchmark file says of rollouts of one task; None for nothing.
    benchmarks
        How many benchmarks of the run share the level.
    acceptance
        How an intended change is accepted.
    """
    if not agents:
        return []
    first = agents[0]
    alpha = SHARE * first.alpha / benchmarks
    drops = broken_tasks(
        [_beyond_runs(agent, alpha) for agent in agents],
        [agent.pair for agent in agents],
        sign=first.sign,
        alpha=alpha,
        least_drop=first.least_drop,
        independent=independent,
    )
    checks = []
    for agent, found in zip(agents, drops, strict=True):
        check = _check(agent, found, alpha=alpha, acceptance=acceptance)
        collapse = _collapse(agent, benchmarks)
        if collapse is not None and not check.verdict.fails:
            check = structs.replace(
                check, verdict=collapse.verdict, reasons=collapse.reasons
            )
        checks.append(check)
    return checks


def _beyond_runs(agent: TasksToTest, alpha: float) -> PairedMetric:
    """Worsen the baseline by what shifts of a run, or of a cluster, may explain."""
    pair = agent.pair
    scale = choose_scale(
        pair.value_baseline,
        pair.value_current,
        agent.runs,
        sign=agent.sign,
        is_rate=pair.bounded,
    )
    shift = largest_shift(agent.runs, agent.run_noise, alpha=alpha, scale=scale)
    of_clusters = -normal_ppf(alpha) * shift_of_clusters(pair)
    shift = math.hypot(shift, of_clusters)
    return with_shift(pair, agent.sign, shift)


def _collapse(agent: TasksToTest, benchmarks: int) -> Decision | None:
    """Judge a loss of everything that no gated metric shows; None if there is none."""
    mean = agent.unseen_mean
    if mean is None or not loses_all(mean):
        return None
    rule = structs.replace(mean.rule, alpha=SHARE * agent.alpha, benchmarks=benchmarks)
    comparison = compare(structs.replace(mean, rule=rule))
    decision = decide(comparison, comparison.test.p)
    if decision.verdict is Verdict.PASS:
        return None
    surest = float(np.fmin(comparison.test.p, comparison.p_rollouts))
    # what is no proof, whatever the rollouts are worth, is no finding
    if decision.verdict is Verdict.WARN and surest * benchmarks >= rule.alpha:
        return None
    lost = _lost_tasks(comparison, agent.reward)
    return structs.replace(decision, reasons=(lost, *decision.reasons))


def _lost_tasks(comparison: Comparison, reward: str) -> WorseTasks:
    """Name the tasks that lost most, each with the p of all of them together."""
    pair = comparison.pair
    before = means_of(pair.rewards_baseline)
    now = means_of(pair.rewards_current)
    worst_first = np.argsort(-comparison.damage, kind="stable")
    tasks = [
        WorseTask(
            task=str(pair.tasks[place]),
            before=_six_digits(before[place]),
            now=_six_digits(now[place]),
            p=_six_digits(comparison.test.p),
            log10_p=_six_digits(comparison.test.log_p / math.log(10)),
        )
        for place in worst_first[: min(_NAMED, comparison.worse)].tolist()
    ]
    return WorseTasks(
        tasks=tuple(tasks), count=comparison.worse, of=len(pair.tasks), reward=reward
    )


def _check(
    agent: TasksToTest, drops: TaskDrops, *, alpha: float, acceptance: Acceptance
) -> Check:
    verdict = Verdict.PASS
    reasons: tuple[Reason, ...] = ()
    if drops.independence is not None:
        is_sure = drops.independence.is_given
        verdict = Verdict.FAIL if is_sure else Verdict.WARN
        reasons = (_worse_tasks(drops, agent),)
        if not is_sure:
            reasons = (*reasons, DependentRollouts(drops.independence))
    elif drops.rollouts < drops.needed:
        unseen = SingleTasksUnseen(
            tasks=drops.tasks,
            sees_some=could_prove(agent.pair, alpha),
            rollouts=drops.rollouts,
            needed=drops.needed,
        )
        reasons = (unseen,)
    return Check(
        gate=Gate.BASELINE,
        name="single_tasks",
        verdict=verdict,
        agent=agent.agent,
        value=len(drops.broken),
        bound=SingleTasksBound(alpha),
        reasons=reasons,
        line=agent.line,
        acceptance=acceptance,
    )


def _worse_tasks(drops: TaskDrops, agent: TasksToTest) -> WorseTasks:
    named = drops.broken[:_NAMED]
    before = _means_before(agent.pair, {drop.task for drop in named})
    return WorseTasks(
        tasks=tuple(_worse_task(drop, before[drop.task]) for drop in named),
        count=len(drops.broken),
        of=drops.tasks,
        reward=agent.reward,
    )


def _means_before(pair: PairedMetric, tasks: set[TaskId]) -> dict[TaskId, float]:
    """Return the mean rewards of some tasks in the baseline."""
    means = means_of(pair.rewards_baseline)
    return {
        task: float(means[place])
        for place, task in enumerate(pair.tasks)
        if task in tasks
    }


def _worse_task(drop: TaskDrop, before: float) -> WorseTask:
    return WorseTask(
        task=str(drop.task),
        before=_six_digits(before),
        now=_six_digits(drop.now),
        p=_six_digits(math.exp(drop.log_p_adjusted)),
        log10_p=_six_digits(drop.log_p_adjusted / math.log(10)),
    )


def _six_digits(value: float) -> float:
    return float(f"{value:.6g}")
