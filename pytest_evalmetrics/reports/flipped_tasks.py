"""The tasks that got worse most, with an attempt of each side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from pytest_evalmetrics.failure_lines import TaskLine
from pytest_evalmetrics.layout import visible
from pytest_evalmetrics.model import reasons as kinds
from pytest_evalmetrics.model.results import Attempt
from pytest_evalmetrics.model.verdicts import Direction, Verdict
from pytest_evalmetrics.reports import check_wording, triage
from pytest_evalmetrics.reports.console import both_ends
from pytest_evalmetrics.reports.wording import number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_evalmetrics.model.comparison import TaskChange
    from pytest_evalmetrics.model.results import (
        BenchmarkResult,
        Check,
        Flip,
    )

SHOWN = 3  # tasks of a benchmark
_TEXT = 60  # letters of an answer, from both of its ends


class WorseTask(msgspec.Struct, frozen=True):
    """A task that got worse, as readers see it."""

    agent: str
    task: str
    rewards: str
    prompt: str = ""
    expected: str = ""
    was: str | None = ""  # None if the baseline keeps no answers
    now: str = ""
    reason: str = ""  # of the judge of the answer now
    has_answers: bool = False


def strongest(result: BenchmarkResult) -> Check | None:
    """Return the surest comparison that does not hold; None without one."""
    unmet = [
        check
        for check in result.checks
        if check.verdict is not Verdict.PASS and check.comparison is not None
    ]
    return next(iter(triage.in_turn(unmet)), None)


def worse_tasks(result: BenchmarkResult, most: int = SHOWN) -> list[WorseTask]:
    """List the tasks that got worse most: those of a failing slice or gate first.

    All have the rewards of one metric: of the first that is worse.
    """
    unmet = triage.in_turn(
        check for check in result.checks if check.verdict is not Verdict.PASS
    )
    changes: dict[tuple[str, str], TaskChange] = {}
    named: dict[tuple[str, str], None] = {}
    metric = ""
    sign = Direction.HIGHER.sign
    for check in unmet:
        agent = check_wording.checked_agent(result, check)
        named |= dict.fromkeys((agent, task) for task in _names(check))
        facts = check.comparison
        if facts is None or metric not in ("", check.name):
            continue
        if not metric and facts.worst_tasks:
            metric = check.name
            rule = check_wording.rule_of(check)
            sign = sign if rule is None else rule.sign
        changes |= {(agent, str(task.task)): task for task in facts.worst_tasks}
    named |= dict.fromkeys(changes)
    # an attempt of each is shown, but not all of them: the rewards of a metric are whole
    changes = _of_passing(result) | changes
    flips = {(flip.agent, flip.task): flip for flip in result.flips}
    keeps_answers = any(
        attempt.text for flip in result.flips for attempt in flip.before
    )
    tasks = []
    for agent, task in named:
        change = changes.get((agent, task))
        flip = flips.get((agent, task))
        if change is not None or flip is not None:
            worse = _worse_task(agent, task, change, flip, sign=sign)
            if not keeps_answers:
                worse = structs.replace(worse, was=None)
            tasks.append(worse)
    return tasks[:most]


def _of_passing(result: BenchmarkResult) -> dict[tuple[str, str], TaskChange]:
    """Return the changes of tasks that the metrics which hold know, by agent and task."""
    changes: dict[tuple[str, str], TaskChange] = {}
    for check in result.checks:
        if check.verdict is Verdict.PASS and check.comparison is not None:
            agent = check_wording.checked_agent(result, check)
            for task in check.comparison.worst_tasks:
                changes.setdefault((agent, str(task.task)), task)
    return changes


def _names(check: Check) -> Iterator[str]:
    """Yield the tasks that a check is about by itself."""
    for reason in check.reasons:
        match reason:
            case kinds.WorseSlices(slices=slices):
                for one in slices:
                    yield from one.worst
            case kinds.WorseTasks(tasks=tasks):
                yield from (task.task for task in tasks)
            case kinds.BrokenTasks(tasks=names):
                yield from names
            case kinds.MustPassFailed(tasks=counts):
                yield from (count.task for count in counts)


def _worse_task(
    agent: str,
    task: str,
    change: TaskChange | None,
    flip: Flip | None,
    *,
    sign: float,
) -> WorseTask:
    """Join a task's rewards and its answers; `sign` is below 0 where less is better."""
    if change is not None:
        rewards = rewards_text(change.baseline, change.current)
    elif flip is not None:
        rewards = rewards_text(_rewards(flip.before), _rewards(flip.now))
    else:
        rewards = rewards_text((), ())
    if flip is None:
        return WorseTask(agent=agent, task=task, rewards=rewards)
    passed = _extreme(flip.before, sign)
    failed = _extreme(flip.now, -sign)
    return WorseTask(
        agent=agent,
        task=task,
        rewards=rewards,
        prompt=flip.prompt,
        expected=flip.reference,
        was=passed.text,
        now=failed.text,
        reason=failed.reason,
        has_answers=any(attempt.text for attempt in (*flip.before, *flip.now)),
    )


def _rewards(attempts: Sequence[Attempt]) -> list[float]:
    return [attempt.reward for attempt in attempts if attempt.reward is not None]


def _extreme(attempts: Sequence[Attempt], sign: float) -> Attempt:
    """Return the attempt with the highest reward, or the lowest for a sign below 0.

    Without a reward it is the first one, and without attempts an empty one.
    """
    judged = [attempt for attempt in attempts if attempt.reward is not None]
    if judged:
        return max(judged, key=lambda attempt: sign * (attempt.reward or 0.0))
    return attempts[0] if attempts else Attempt(sample=0, reward=None)


# -- rewards ---------------------------------------------------------------------------------

_LISTED = 4  # rewards of a side; of more the mean


def rewards_text(before: Sequence[float], now: Sequence[float]) -> str:
    """Write the rewards of both sides: ``2/2 -> 0/2`` of passes, ``0.8 0.6 -> 0.1 0``."""
    are_passes = {*before, *now} <= {0.0, 1.0}
    sides = (_side(rewards, are_passes=are_passes) for rewards in (before, now))
    return " -> ".join(sides)


def _side(rewards: Sequence[float], *, are_passes: bool) -> str:
    if not rewards:
        return "none"
    if are_passes:
        return f"{sum(rewards):.0f}/{len(rewards)}"
    if len(rewards) <= _LISTED:
        return " ".join(f"{reward:.4g}" for reward in rewards)
    return f"{number(sum(rewards) / len(rewards))} of {len(rewards)}"


# -- on the terminal -------------------------------------------------------------------------


def task_lines(result: BenchmarkResult) -> Iterator[TaskLine]:
    """Show the tasks that got worse most, each with its answers where there are texts."""
    tasks = worse_tasks(result)
    several = len({task.agent for task in tasks}) > 1
    for task in tasks:
        name = f"{task.agent} {task.task}" if several else task.task
        yield TaskLine(
            task=visible(name),
            rewards=task.rewards,
            expected=_one_line(task.expected),
            was=None if task.was is None else _one_line(task.was),
            now=_one_line(task.now),
            has_answers=task.has_answers,
        )


def _one_line(text: str) -> str:
    return visible(both_ends(" ".join(text.split()), _TEXT))


# -- on the page's overview ------------------------------------------------------------------


def task_excerpts(result: BenchmarkResult, most: int) -> Iterator[WorseTask]:
    """Show the tasks that got worse most, each text in one short line."""
    if not most:
        return
    for task in worse_tasks(result, most):
        yield structs.replace(
            task,
            prompt="",
            reason="",
            expected=_one_line(task.expected),
            was=_one_line(task.was or ""),
            now=_one_line(task.now),
        )
