"""The ``expect`` gate: are all tasks, rollouts and rewards there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from pytest_evalmetrics.layout import in_natural_order, natural_key
from pytest_evalmetrics.model.bounds import CountBound, ShareBound
from pytest_evalmetrics.model.gate_notes import UncheckedTasks
from pytest_evalmetrics.model.reasons import (
    ExtraTasks,
    MissingNumbers,
    MissingOutcome,
    MissingRewards,
    MissingSamples,
    MissingTasks,
    TaskCount,
    TooFewRollouts,
    TooManyRollouts,
)
from pytest_evalmetrics.model.results import Check
from pytest_evalmetrics.model.rollout_table import STATED_COUNT, STATED_TOTAL
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.spec import BenchmarkSpec, Count, ExpectSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pytest_evalmetrics.model.estimates import Estimate
    from pytest_evalmetrics.model.rollout_table import RolloutTable

LineOf = Callable[..., int]  # the keys of a path -> the line of the benchmark file

# with more than this share left out it is another benchmark
_DEFAULT_MAX_MISSING = 0.05
_NAMED = 10  # tasks that a reason names


def missing_policy(expect: ExpectSpec) -> tuple[str | float, float]:
    """Return the policy for missing numbers, and the share that may be missing."""
    meaning: str | float = "error" if expect.max_missing is None else "exclude"
    if expect.missing_reward is not None:
        meaning = expect.missing_reward
    if expect.max_missing is not None:
        return meaning, expect.max_missing
    return meaning, _DEFAULT_MAX_MISSING if meaning == "exclude" else 0.0


class Completeness(msgspec.Struct, frozen=True):
    """One agent's rollouts, counted against ``expect`` and ``num_samples``."""

    table: RolloutTable  # of one agent
    most: int  # rollouts of a task
    # rollouts that each task should have; None if any number will do
    wanted: Count | None
    # the same as a number for each task, shape (tasks,)
    expected: NDArray[np.int64]
    # rollouts without a reward, or without what the metrics read, shape (rows,)
    lacking: NDArray[np.bool_]
    is_reward: bool  # whether that is the benchmark's reward

    @property
    def absent(self) -> int:
        """The rollouts that should be there and are not."""
        return int((self.expected - self.table.counts).sum())


def completeness_of(spec: BenchmarkSpec, table: RolloutTable) -> Completeness:
    """Count one agent's rollouts."""
    most = int(table.counts.max(initial=0))
    asked = spec.expect.rollouts
    wanted = asked if isinstance(asked, Count) else None
    if asked is None:
        samples = int(spec.num_samples or most)
        wanted = Count(min=samples, max=samples)
    least = 0 if wanted is None else wanted.min
    rewards = table.scores.get(spec.reward)
    is_reward = rewards is not None
    lacking = table.lacking(spec.row_columns) if rewards is None else np.isnan(rewards)
    return Completeness(
        table=table,
        most=most,
        wanted=wanted,
        expected=np.maximum(table.counts, least),
        lacking=lacking,
        is_reward=is_reward,
    )


def check_completeness(
    spec: BenchmarkSpec, found: Completeness, *, agent: str, line_of: LineOf
) -> list[Check]:
    """Check the tasks, the rollouts of each task, and the missing rewards."""
    missing = _check_missing(spec, found, agent=agent, line=_missing_line(line_of))
    # so few rollouts may be absent that max_missing allows them
    allowed = missing.verdict is Verdict.PASS
    checks = (
        _check_tasks(spec, found, agent=agent, line_of=line_of),
        _check_rollouts(spec, found, allowed=allowed, agent=agent, line_of=line_of),
        missing,
        _check_samples(spec, found, agent=agent, line=_missing_line(line_of)),
    )
    return [check for check in checks if check is not None]


def _missing_line(line_of: LineOf) -> int:
    return line_of("expect", "max_missing")


def _check_tasks(
    spec: BenchmarkSpec, found: Completeness, *, agent: str, line_of: LineOf
) -> Check | None:
    wanted = spec.expect.tasks
    tasks = len(found.table.tasks)
    if wanted is None:
        return None
    reasons: tuple[MissingTasks | ExtraTasks, ...] = ()
    if tasks < wanted.min:
        reasons = (MissingTasks(expected=wanted.min, found=tasks),)
    elif not wanted.allows(tasks):
        reasons = (ExtraTasks(expected=wanted.min, found=tasks),)
    return Check(
        gate=Gate.EXPECT,
        name="tasks",
        verdict=Verdict.FAIL if reasons else Verdict.PASS,
        agent=agent,
        value=tasks,
        bound=CountBound(wanted.min, wanted.max),
        reasons=reasons,
        line=line_of("expect", "tasks"),
    )


def _check_rollouts(
    spec: BenchmarkSpec,
    found: Completeness,
    *,
    allowed: bool,
    agent: str,
    line_of: LineOf,
) -> Check | None:
    wanted = found.wanted
    if wanted is None:
        return None
    counts = found.table.counts
    is_stated = spec.expect.rollouts is not None
    few = np.flatnonzero(counts < wanted.min)
    more = np.flatnonzero(counts > wanted.max) if wanted.max is not None else few[:0]
    value = int(counts.min(initial=found.most))
    verdict = Verdict.PASS
    reasons: tuple[TooManyRollouts | TooFewRollouts, ...] = ()
    if len(more):
        value = found.most
        verdict = Verdict.FAIL
        too_many = TooManyRollouts(
            tasks=_task_counts(found.table, more),
            count=len(more),
            of=len(counts),
            expected=wanted.min,
        )
        reasons = (too_many,)
    elif len(few):
        verdict = Verdict.PASS if allowed else Verdict.FAIL
        too_few = TooFewRollouts(
            tasks=_task_counts(found.table, few),
            count=len(few),
            of=len(counts),
            expected=wanted.min,
            is_stated=is_stated or spec.num_samples is not None,
            is_allowed=allowed,
        )
        reasons = (too_few,)
    return Check(
        gate=Gate.EXPECT,
        name="rollouts",
        verdict=verdict,
        agent=agent,
        value=value,
        bound=CountBound(wanted.min, wanted.max),
        reasons=reasons,
        line=line_of("expect", "rollouts") if is_stated else line_of("num_samples"),
    )


def _task_counts(table: RolloutTable, tasks: NDArray[np.intp]) -> tuple[TaskCount, ...]:
    ordered = sorted(tasks.tolist(), key=lambda at: natural_key(table.tasks[at]))
    return tuple(
        TaskCount(task=str(table.tasks[at]), rollouts=int(table.counts[at]))
        for at in ordered[:_NAMED]
    )


def _check_missing(
    spec: BenchmarkSpec, found: Completeness, *, agent: str, line: int
) -> Check:
    missing = _missing_rewards(spec, found)
    share = missing.counted / missing.rollouts if missing.rollouts else 0.0
    fails = missing.outcome in (MissingOutcome.REFUSED, MissingOutcome.ABOVE_LIMIT)
    is_any = missing.absent or missing.unscored
    return Check(
        gate=Gate.EXPECT,
        name="missing",
        verdict=Verdict.FAIL if fails else Verdict.PASS,
        agent=agent,
        value=share,
        bound=ShareBound(missing.limit),
        reasons=(missing,) if is_any else (),
        line=line,
    )


def _missing_rewards(spec: BenchmarkSpec, found: Completeness) -> MissingRewards:
    """Describe the rewards that are missing, if any, and what becomes of them."""
    meaning, limit = missing_policy(spec.expect)
    fill = meaning if isinstance(meaning, float) else None
    unscored = int(found.lacking.sum())
    rollouts = int(found.expected.sum())
    counted = found.absent + unscored
    if fill is not None and spec.expect.max_missing is None:
        counted = found.absent  # a rollout with a stated reward is not missing
    is_above = rollouts > 0 and counted / rollouts > limit
    # np.unique would load numpy.ma in every run
    lacking = np.flatnonzero(np.bincount(found.table.task[found.lacking]))
    tasks = in_natural_order(found.table.tasks[at] for at in lacking.tolist())
    return MissingRewards(
        outcome=_outcome(meaning, unscored=unscored, is_above=is_above),
        absent=found.absent,
        unscored=unscored,
        rollouts=rollouts,
        counted=counted,
        limit=limit,
        columns=(spec.reward,) if found.is_reward else tuple(spec.row_columns),
        is_reward=found.is_reward,
        tasks=tuple(map(str, tasks[:_NAMED])),
        task_count=len(tasks),
        fill=fill,
    )


def _outcome(meaning: str | float, *, unscored: int, is_above: bool) -> MissingOutcome:
    if meaning == "error" and unscored:
        return MissingOutcome.REFUSED
    if is_above:
        return MissingOutcome.ABOVE_LIMIT
    if not unscored:
        return MissingOutcome.ABSENT
    if isinstance(meaning, float):
        return MissingOutcome.FILLED
    return MissingOutcome.LEFT_OUT


def _check_samples(
    spec: BenchmarkSpec, found: Completeness, *, agent: str, line: int
) -> Check | None:
    """Check that aggregates are computed over all samples that their files state."""
    count = found.table.scores.get(STATED_COUNT + spec.reward)
    total = found.table.scores.get(STATED_TOTAL + spec.reward)
    if count is None or total is None:
        return None
    is_stated = np.isfinite(count) & np.isfinite(total) & (total > 0)
    samples = float(count[is_stated].sum())
    whole = float(total[is_stated].sum())
    if not whole:
        return None
    _, limit = missing_policy(spec.expect)
    share = 1 - samples / whole
    reason = MissingSamples(samples=samples, of=whole, is_allowed=share <= limit)
    return Check(
        gate=Gate.EXPECT,
        name="samples",
        verdict=Verdict.PASS if reason.is_allowed else Verdict.FAIL,
        agent=agent,
        value=share,
        bound=ShareBound(limit),
        reasons=(reason,) if share > 0 else (),
        line=line,
    )


def check_numbers(
    spec: BenchmarkSpec,
    estimates: Mapping[str, Estimate],
    *,
    agent: str,
    line_of: LineOf,
) -> Iterator[Check]:
    """Check the missing share of scores with thresholds, other than the reward."""
    _, limit = missing_policy(spec.expect)
    checked = set()
    for name in spec.thresholds:
        estimate = estimates[name]
        score = estimate.score or estimate.name
        is_known = (score, estimate.missing) in checked
        if not lacks_numbers(estimate, spec.reward) or is_known:
            continue
        checked.add((score, estimate.missing))
        rollouts = estimate.missing + estimate.rollouts
        share = estimate.missing / rollouts
        reason = MissingNumbers(
            metric=estimate.name,
            score=estimate.score,
            missing=estimate.missing,
            rollouts=rollouts,
            limit=limit,
            is_allowed=share <= limit,
        )
        yield Check(
            gate=Gate.EXPECT,
            name=f"missing/{score}",
            verdict=Verdict.PASS if reason.is_allowed else Verdict.FAIL,
            agent=agent,
            value=share,
            bound=ShareBound(limit),
            reasons=(reason,),
            line=line_of("thresholds", name),
        )


def lacks_numbers(estimate: Estimate, reward: str) -> bool:
    """Whether a metric, other than of the reward, is over a part of the rollouts."""
    return estimate.missing > 0 and estimate.score != reward


def unchecked_tasks(
    spec: BenchmarkSpec,
    found: Completeness,
    *,
    agent: str,
    line: int,
    in_python: bool,
) -> UncheckedTasks | None:
    """Note that nothing says how many tasks there are; None if something does."""
    if spec.expect.tasks is not None or spec.baseline is not None:
        return None
    says_rollouts = bool(spec.num_samples or spec.expect.rollouts)
    return UncheckedTasks(
        tasks=len(found.table.tasks),
        rollouts=None if says_rollouts else found.most,
        line=line,
        agent=agent,
        in_python=in_python,
    )
