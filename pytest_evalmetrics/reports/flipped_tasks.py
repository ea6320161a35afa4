"""The tasks that got worse most, with an attempt of each side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pytest_evalmetrics.failure_lines import TaskLine
from pytest_evalmetrics.layout import visible
from pytest_evalmetrics.model import reasons as kinds
from pytest_evalmetrics.model.verdicts import Direction, Verdict
from pytest_evalmetrics.reports import check_wording, triage
from pytest_evalmetrics.reports.console import both_ends
from pytest_evalmetrics.reports.wording import number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_evalmetrics.model.results import (
        Attempt,
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
    was: str = ""
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
    """List the tasks that got worse most: those of a failing slice or gate first."""
    unmet = triage.in_turn(
        check for check in result.checks if check.verdict is not Verdict.PASS
    )
    named: dict[tuple[str, str], Check] = {}
    for check in unmet:
        agent = check_wording.checked_agent(result, check)
        for task in _names(check):
            named.setdefault((agent, task), check)
    flips = {(flip.agent, flip.task): flip for flip in result.flips}
    tasks = []
    for (agent, task), check in named.items():
        shown = _worse_task(check, task, flips.get((agent, task)))
        if shown is not None:
            tasks.append(msgspec.structs.replace(shown, agent=agent))
    return tasks[:most]


def _names(check: Check) -> Iterator[str]:
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
    if check.comparison is not None:
        yield from (str(change.task) for change in check.comparison.worst_tasks)


def _worse_task(check: Check, task: str, flip: Flip | None) -> WorseTask | None:
    changes = () if check.comparison is None else check.comparison.worst_tasks
    change = next((change for change in changes if str(change.task) == task), None)
    if change is None and flip is None:
        return None
    if change is not None:
        rewards = rewards_text(change.baseline, change.current)
    else:
        assert flip is not None  # noqa: S101 - one of both is there
        rewards = rewards_text(_rewards(flip.before), _rewards(flip.now))
    if flip is None:
        return WorseTask(agent="", task=task, rewards=rewards)
    rule = check_wording.rule_of(check)
    sign = Direction.HIGHER.sign if rule is None else rule.sign
    before = _extreme(flip.before, sign)
    now = _extreme(flip.now, -sign)
    return WorseTask(
        agent="",
        task=task,
        rewards=rewards,
        prompt=flip.prompt,
        expected=flip.reference,
        was=before.text if before else "",
        now=now.text if now else "",
        reason=now.reason if now else "",
        has_answers=any(attempt.text for attempt in (*flip.before, *flip.now)),
    )


def _rewards(attempts: Sequence[Attempt]) -> list[float]:
    return [attempt.reward for attempt in attempts if attempt.reward is not None]


def _extreme(attempts: Sequence[Attempt], sign: float) -> Attempt | None:
    """Return the attempt with the highest reward, or the lowest for a sign below 0."""
    judged = [attempt for attempt in attempts if attempt.reward is not None]
    return max(
        judged,
        key=lambda attempt: sign * (attempt.reward or 0.0),
        default=next(iter(attempts), None),
    )


# -- rewards ---------------------------------------------------------------------------------

_LISTED = 4  # rewards of a side; of more the mean


def rewards_text(before: Sequence[float], now: Sequence[float]) -> str:
    """Write the rewards of both sides: ``2/2 -> 0/2`` of passes, ``0.8 0.6 -> 0.1 0``."""
    return f"{_side(before)} -> {_side(now)}"


def _side(rewards: Sequence[float]) -> str:
    if not rewards:
        return "none"
    if all(reward in (0.0, 1.0) for reward in rewards):
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
            was=_one_line(task.was),
            now=_one_line(task.now),
            has_answers=task.has_answers,
        )


def _one_line(text: str) -> str:
    return visible(both_ends(" ".join(text.split()), _TEXT))
