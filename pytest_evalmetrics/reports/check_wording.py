"""The parts of a check as people read them: value, change, bound, tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from pytest_evalmetrics.layout import capped, listed, many
from pytest_evalmetrics.model.bounds import RuleBound
from pytest_evalmetrics.model.comparison import RuleName
from pytest_evalmetrics.model.reasons import (
    BlindGate,
    NothingInCommon,
    TaskListChanged,
    UnequalSums,
    WorseSlice,
    WorseSlices,
)
from pytest_evalmetrics.model.tiers import Tier
from pytest_evalmetrics.model.verdicts import Direction, Verdict
from pytest_evalmetrics.reports.sentences import bound_of, reason_of
from pytest_evalmetrics.reports.wording import number, signed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_evalmetrics.model.comparison import (
        Blindness,
        ComparisonFacts,
        RuleSettings,
        TaskChange,
    )
    from pytest_evalmetrics.model.estimates import Estimate
    from pytest_evalmetrics.model.results import BenchmarkResult, Check

_TASKS_NAMED = 10  # on a line
_REWARDS = 8  # of a task
_TESTING = (RuleName.PRACTICAL, RuleName.STATISTICAL)

# -- its verdict, in a word -------------------------------------------------------------------

ADVISORY = "ADVISORY"  # in the place of WARN: it would fail, and need not hold


def word_of(check: Check) -> str:
    """Return the word for a check's verdict: an advisory failure has its own."""
    return ADVISORY if check.tier is Tier.ADVISORY else str(check.verdict)


def word_of_result(result: BenchmarkResult) -> str:
    """Return the word for a benchmark's verdict."""
    if result.verdict is Verdict.WARN and result.fails_advisory:
        return ADVISORY
    return str(result.verdict)


def own_reason(check: Check) -> str:
    """Say why a check does not hold, where its word says that it is advisory."""
    return reason_of(structs.replace(check, tier=Tier.REQUIRED))


# -- whose check it is -----------------------------------------------------------------------


def of_agent(check: Check) -> str:
    """Return the prefix with a check's agent; empty for the only agent."""
    return f"{check.agent}: " if check.agent else ""


def checked_agent(result: BenchmarkResult, check: Check) -> str:
    """Return the agent that a check concerns: the only one, where the check names none."""
    if check.agent or len(result.agents) != 1:
        return check.agent
    return result.agents[0].agent


def estimate_below(result: BenchmarkResult, check: Check) -> Estimate | None:
    """Return the estimate of a check's metric among those of its agent, or None."""
    name = checked_agent(result, check)
    for agent in result.agents:
        if agent.agent == name:
            return agent.estimates.get(check.name)
    return None


# -- its value -------------------------------------------------------------------------------


def measured(
    check: Check, estimate: Estimate | None, between: str = "[{}, {}]"
) -> tuple[str, str]:
    """Write a check's value and its interval, which may be empty."""
    if estimate is None:
        return number(check.value), ""
    interval = ""
    if estimate.interval is not None:
        low = number(estimate.interval.low)
        high = number(estimate.interval.high)
        interval = between.format(low, high)
    return number(estimate.value), interval


def expected(check: Check) -> str:
    """Write the bound of a check, and the direction of its metric."""
    parts = (bound_of(check), better_way(check))
    return ", ".join(part for part in parts if part)


# -- its comparison --------------------------------------------------------------------------


def rule_of(check: Check) -> RuleSettings | None:
    """Return the rule of a check that compares a metric with a reference."""
    return check.bound.settings if isinstance(check.bound, RuleBound) else None


def better_way(check: Check) -> str:
    """Name the better direction; empty if nothing is compared."""
    rule = rule_of(check)
    return f"{rule.direction} is better" if rule is not None else ""


def is_set_against_reference(check: Check) -> bool:
    """Whether a check belongs into the table of comparisons."""
    if check.comparison is not None or check.look is not None:
        return True
    if rule_of(check) is not None:
        return True
    kinds = (TaskListChanged, UnequalSums)
    return any(isinstance(reason, kinds) for reason in check.reasons)


def sides_of(check: Check) -> tuple[float | None, float | None]:
    """Return a metric's value in the reference, and now."""
    facts = check.comparison
    if facts is None:
        return None, check.value
    return facts.baseline, check.value if facts.current is None else facts.current


def change_of(check: Check) -> tuple[float | None, float | None, float | None]:
    """Return a metric's change from its baseline, and the change's interval."""
    facts = check.comparison
    rule = rule_of(check)
    if facts is None:
        return None, None, None
    if rule is not None and rule.direction is Direction.LOWER:
        return facts.drop, facts.drop_low, facts.drop_high
    return _negative(facts.drop), _negative(facts.drop_high), _negative(facts.drop_low)


def _negative(value: float | None) -> float | None:
    return None if value is None else -value


def worse_slices(check: Check) -> list[WorseSlice]:
    """List the slices that got worse, where that is what the check is about."""
    return [
        one
        for reason in check.reasons
        if isinstance(reason, WorseSlices)
        for one in reason.slices
    ]


def change_that_matters(check: Check) -> float | None:
    """Return the smallest change that matters to the gate, signed; None if any does."""
    facts, rule = check.comparison, rule_of(check)
    if facts is None or rule is None:
        return None
    drop = facts.allowed_drop
    if drop is None and rule.rule in (RuleName.PRACTICAL, RuleName.NONINFERIOR):
        drop = rule.max_drop
    return None if not drop else -rule.sign * drop


def size_of(check: Check) -> str:
    """Say over how much a comparison was made: ``80 tasks x 3``, the rollouts of each."""
    facts = check.comparison
    if facts is None:
        return ""
    tasks = many(facts.tasks, "task")
    before, now = facts.samples_baseline, facts.samples_current
    if now is None or before is None or now[0] != now[1]:
        return f"{tasks}, {many(facts.rollouts_current, 'rollout')}"
    if before != now:
        return f"{tasks} x {now[0]} against {_span(before)}"
    return f"{tasks} x {now[0]}"


def _span(samples: tuple[int, int]) -> str:
    fewest, most = samples
    return str(most) if fewest == most else f"{fewest} to {most}"


def p_value(check: Check) -> float | None:
    """Return a comparison's p value, adjusted for the other metrics."""
    return None if check.comparison is None else check.comparison.p_adjusted


_LIKELY_BY_CHANCE = 0.25  # p from which a drop is one of the many that nothing explains


def is_unproven_drop(check: Check) -> bool:
    """Whether a check passes over a drop that would matter if it were real."""
    facts, rule = check.comparison, rule_of(check)
    if facts is None or rule is None or not rule.tests or facts.drop is None:
        return False
    if check.verdict is not Verdict.PASS or check.accepted:
        return False
    if facts.p_adjusted is None or facts.p_adjusted > _LIKELY_BY_CHANCE:
        return False
    return facts.drop > 0 and facts.drop >= rule.max_drop


def before_and_now(check: Check, *, briefly: bool = False) -> Iterator[str]:
    """Say what a metric was, how it changed, and how likely that is by chance."""
    facts = check.comparison
    if facts is None or facts.baseline is None:
        return
    change = signed(change_of(check)[0])
    p = p_value(check)
    parts = [f"was {number(facts.baseline)}"]
    if change not in ("", "0"):
        if not briefly:
            parts.append(change)
        if p is not None:
            parts.append(f"p {p:.2g}")
    yield ", ".join(parts)
    if is_unproven_drop(check):
        yield "drop NOT PROVEN"


def seen_losses(checks: Iterable[Check]) -> str:
    """Say from which size on the gates that pass would have seen a loss; empty if unknown."""
    drops = [
        check.comparison.detectable_drop
        for check in checks
        if check.verdict is Verdict.PASS
        and check.comparison is not None
        and check.comparison.detectable_drop
    ]
    if not drops:
        return ""
    least, most = f"{min(drops):.2g}", f"{max(drops):.2g}"
    sizes = least if least == most else f"{least} to {most}"
    return f"sees losses from {sizes} on"


def task_counts(check: Check) -> tuple[int, int, int] | None:
    """Return the numbers of paired, worse and better tasks; None without any pairing."""
    facts = check.comparison
    if facts is None:
        return None
    none_pairs = any(isinstance(reason, NothingInCommon) for reason in check.reasons)
    if not facts.tasks and not none_pairs:
        return None
    return facts.tasks, facts.worse, facts.better


def is_tested(check: Check) -> bool:
    """Whether a built-in rule rests on a test of the check's drop."""
    rule = rule_of(check)
    return rule is not None and rule.rule in _TESTING


def blindness_of(check: Check) -> Blindness | None:
    """Return why no drop could be proven; None if one could."""
    for reason in check.reasons:
        if isinstance(reason, BlindGate):
            return reason.cause
    return None if check.comparison is None else check.comparison.blind


def changes_task_list(check: Check) -> bool:
    """Whether it is the check of a task list that differs from the reference's."""
    return any(isinstance(reason, TaskListChanged) for reason in check.reasons)


def comparison_details(check: Check) -> Iterator[str]:
    """Describe the flipped tasks, the basis of the test, and its power."""
    facts = check.comparison
    if facts is None:
        return
    if facts.worst_tasks:
        flips = [flip_text(task) for task in facts.worst_tasks]
        yield f"worse tasks: {listed(flips, len(flips), facts.worse)}"
    if facts.test:
        yield _basis(facts)
    if facts.detectable_drop:
        drop = number(facts.detectable_drop)
        yield f"80 % power to see a loss of {drop} or more"
    if facts.unseen_flips:
        share = f"{facts.unseen_flips:.1%}"
        yield f"no task differs; up to {share} of the tasks may flip unseen"
    if facts.added.count:
        names = listed(facts.added.tasks, _TASKS_NAMED, facts.added.count)
        yield f"{many(facts.added.count, 'task', 'is')} only in this run: {names}"
    if facts.removed.count:
        names = listed(facts.removed.tasks, _TASKS_NAMED, facts.removed.count)
        yield f"{many(facts.removed.count, 'task', 'is')} only in the baseline: {names}"
    if facts.excluded.count:
        names = listed(facts.excluded.tasks, _TASKS_NAMED, facts.excluded.count)
        tasks = many(facts.excluded.count, "task", "is")
        yield f"{tasks} left out, without a value on one side: {names}"


def flip_text(task: TaskChange) -> str:
    """Write a task with the rewards of its rollouts, before and now."""
    return f"{task.task} ({_rewards(task.baseline)} -> {_rewards(task.current)})"


def _rewards(rewards: Sequence[float]) -> str:
    shown = [number(reward) for reward in rewards]
    return " ".join(capped(shown, _REWARDS, "..."))


def _basis(facts: ComparisonFacts) -> str:
    clustered = ""
    if facts.units and facts.units != facts.tasks:
        clustered = f" in {many(facts.units, 'cluster')}"
    test = f"{facts.test} over {many(facts.tasks, 'task')}{clustered}"
    before = f"{many(facts.rollouts_baseline, 'rollout')} before"
    text = f"{test}, {before} and {facts.rollouts_current} now"
    if _is_adjusted(facts):
        text += f"; p = {facts.p_adjusted:.2g} adjusted for the other metrics"
    return text


def _is_adjusted(facts: ComparisonFacts) -> bool:
    if facts.p is None or facts.p_adjusted is None:
        return False
    return facts.p_adjusted > facts.p * 1.0000001
