"""The tasks that got worse most, with an attempt of each side."""

from __future__ import annotations

import math
from itertools import chain
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from pytest_evalmetrics.failure_lines import TaskLine
from pytest_evalmetrics.layout import visible
from pytest_evalmetrics.model import reasons as kinds
from pytest_evalmetrics.model.results import Attempt, Flip
from pytest_evalmetrics.model.verdicts import Direction, Verdict
from pytest_evalmetrics.reports import check_wording, triage
from pytest_evalmetrics.reports.console import both_ends
from pytest_evalmetrics.reports.wording import number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_evalmetrics.model.comparison import TaskChange
    from pytest_evalmetrics.model.results import BenchmarkResult, Check

    Key = tuple[str, str]  # an agent and a task

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
    unmet = check_wording.unmet(result.checks)
    for check in triage.in_turn(unmet):
        if check.comparison is not None:
            return check
    return None


def worse_tasks(result: BenchmarkResult, most: int = SHOWN) -> list[WorseTask]:
    """List the tasks that got worse most: those of a failing slice or gate first.

    All have the rewards of one metric: of the first that is worse.
    """
    unmet = triage.in_turn(check_wording.unmet(result.checks))
    metric = _first_worse_metric(unmet)
    changes = _known_changes(result, unmet, metric)
    flips = {(flip.agent, flip.task): flip for flip in result.flips}
    sign = _sign_of(metric)
    tasks = []
    for agent, task in _worse_names(result, unmet, metric):
        change = changes.get((agent, task))
        flip = flips.get((agent, task))
        if flip is None and change is not None:
            flip = Flip(agent, task, prompt="", reference="", before=(), now=())
        if flip is not None:
            tasks.append(_worse_task(flip, change, sign=sign))
    if not _keeps_answers(result):
        tasks = [structs.replace(task, was=None) for task in tasks]
    return tasks[:most]


def _known_changes(
    result: BenchmarkResult, unmet: Sequence[Check], metric: Check | None
) -> dict[Key, TaskChange]:
    """Return the changes of tasks: in the metric that is worse, else in one that holds.

    An attempt of each task is shown, but not all of them: the rewards of a metric are
    whole.
    """
    changes = _changes_of_passing(result)
    if metric is not None:
        changes |= _changes_of(result, unmet, metric.name)
    return changes


def _sign_of(metric: Check | None) -> float:
    """Return which way is better in a metric: below 0 where less is."""
    rule = None if metric is None else check_wording.rule_of(metric)
    if rule is None:
        return Direction.HIGHER.sign
    return rule.sign


def _first_worse_metric(unmet: Sequence[Check]) -> Check | None:
    """Return the first comparison that names worse tasks; None without one."""
    for check in unmet:
        if check.comparison is not None and check.comparison.worst_tasks:
            return check
    return None


def _worse_names(
    result: BenchmarkResult, unmet: Sequence[Check], metric: Check | None
) -> list[Key]:
    """Name the tasks that got worse: those that a check is about, then those of the metric."""
    names: dict[Key, None] = {}
    for check in unmet:
        agent = check_wording.checked_agent(result, check)
        names |= dict.fromkeys((agent, task) for task in _names(check))
    if metric is not None:
        names |= dict.fromkeys(_changes_of(result, unmet, metric.name))
    return list(names)


def _changes_of(
    result: BenchmarkResult, checks: Sequence[Check], metric: str
) -> dict[Key, TaskChange]:
    """Return the changes of the tasks that got worse in a metric, of all agents."""
    changes: dict[Key, TaskChange] = {}
    for check in checks:
        if check.comparison is not None and check.name == metric:
            agent = check_wording.checked_agent(result, check)
            for task in check.comparison.worst_tasks:
                changes[agent, str(task.task)] = task
    return changes


def _changes_of_passing(result: BenchmarkResult) -> dict[Key, TaskChange]:
    """Return the changes of tasks that the metrics which hold know."""
    changes: dict[Key, TaskChange] = {}
    for check in result.checks:
        if check.verdict is Verdict.PASS and check.comparison is not None:
            agent = check_wording.checked_agent(result, check)
            for task in check.comparison.worst_tasks:
                changes.setdefault((agent, str(task.task)), task)
    return changes


def _keeps_answers(result: BenchmarkResult) -> bool:
    """Whether the baseline keeps the answer of any task that flipped."""
    attempts = chain.from_iterable(flip.before for flip in result.flips)
    return any(attempt.text for attempt in attempts)


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


def _worse_task(flip: Flip, change: TaskChange | None, *, sign: float) -> WorseTask:
    """Join a task's answers and its rewards; `sign` is below 0 where less is better."""
    passed = _extreme(flip.before, sign)
    failed = _extreme(flip.now, -sign)
    return WorseTask(
        agent=flip.agent,
        task=flip.task,
        rewards=_rewards_of(change, flip),
        prompt=flip.prompt,
        expected=flip.reference,
        was=passed.text,
        now=failed.text,
        reason=failed.reason,
        has_answers=any(attempt.text for attempt in (*flip.before, *flip.now)),
    )


def _rewards_of(change: TaskChange | None, flip: Flip) -> str:
    """Write the rewards of a metric's tasks, or else of the shown attempts."""
    if change is None:
        return rewards_text(_rewards(flip.before), _rewards(flip.now))
    return rewards_text(change.baseline, change.current)


def _rewards(attempts: Sequence[Attempt]) -> list[float]:
    return [attempt.reward for attempt in attempts if attempt.reward is not None]


def _extreme(attempts: Sequence[Attempt], sign: float) -> Attempt:
    """Return the attempt with the highest reward, or the lowest for a sign below 0.

    Without a reward it is the first one, and without attempts an empty one.
    """
    judged = [attempt for attempt in attempts if attempt.reward is not None]
    if judged:
        return max(judged, key=lambda attempt: sign * (attempt.reward or 0.0))
    if attempts:
        return attempts[0]
    return Attempt(sample=0, reward=None)


# -- rewards ---------------------------------------------------------------------------------

_LISTED = 4  # rewards of a side; of more the mean


def rewards_text(before: Sequence[float], now: Sequence[float]) -> str:
    """Write the rewards of both sides: ``2/2 -> 0/2`` of passes, ``0.8 0.6 -> 0.1 0``."""
    are_passes = {*before, *now} <= {0.0, 1.0}
    old = _side(before, are_passes=are_passes)
    new = _side(now, are_passes=are_passes)
    return f"{old} -> {new}"


def _side(rewards: Sequence[float], *, are_passes: bool) -> str:
    if not rewards:
        return "none"
    if are_passes:
        return f"{math.fsum(rewards):.0f}/{len(rewards)}"
    if len(rewards) <= _LISTED:
        return " ".join(f"{reward:.4g}" for reward in rewards)
    return f"mean {number(math.fsum(rewards) / len(rewards))}"


# -- on the terminal -------------------------------------------------------------------------


def task_lines(result: BenchmarkResult) -> Iterator[TaskLine]:
    """Show the tasks that got worse most, each with its answers where there are texts."""
    tasks = worse_tasks(result)
    agents = {task.agent for task in tasks}
    for task in tasks:
        name = task.task
        if len(agents) > 1:
            name = f"{task.agent} {task.task}"
        was = None
        if task.was is not None:
            was = _one_line(task.was)
        yield TaskLine(
            task=visible(name),
            rewards=task.rewards,
            expected=_one_line(task.expected),
            was=was,
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
