"""The parts of a check as people read them: value, change, bound, tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from pytest_evalmetrics.layout import capped, listed, many
from pytest_evalmetrics.model.bounds import RuleBound
from pytest_evalmetrics.model.comparison import RuleName
from pytest_evalmetrics.model.reasons import (
    BlindGate,
    Confirmation,
    HiddenDrop,
    LostWhereItFails,
    MissingDecide,
    NothingInCommon,
    Quarantined,
    TaskListChanged,
    UnequalSums,
    UnknownRunNoise,
    WorseSlice,
    WorseSlices,
)
from pytest_evalmetrics.model.tiers import Tier
from pytest_evalmetrics.model.verdicts import Direction, Verdict
from pytest_evalmetrics.reports.sentences import (
    bound_of,
    is_compared,
    reason_of,
    values_text,
)
from pytest_evalmetrics.reports.sentences.brief import brief
from pytest_evalmetrics.reports.wording import (
    number,
    signed,
    size_of_loss,
    two_digits,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_evalmetrics.model.blindness import Blindness
    from pytest_evalmetrics.model.comparison import (
        ComparisonFacts,
        RuleSettings,
        TaskChange,
        TaskGroup,
    )
    from pytest_evalmetrics.model.estimates import Estimate
    from pytest_evalmetrics.model.results import BenchmarkResult, Check

_TASKS_NAMED = 10  # on a line
_REWARDS = 8  # of a task
_LOSSES_NAMED = 3  # metrics with what they see, on a benchmark's line
_TESTING = (RuleName.PRACTICAL, RuleName.STATISTICAL)
# reasons that say more of a regression, and no other fault
REMARKS = (UnknownRunNoise, Confirmation)
# reasons that the numbers of a check don't show
_BEHIND_NUMBERS = (HiddenDrop, LostWhereItFails, MissingDecide)
_WITH_MAX_DROP = (RuleName.PRACTICAL, RuleName.NONINFERIOR)

# -- its verdict, in a word -------------------------------------------------------------------

ADVISORY = "ADVISORY"  # in the place of WARN: it would fail, and need not hold


def word_of(check: Check) -> str:
    """Return the word for a check's verdict: an advisory failure has its own."""
    if check.tier is Tier.ADVISORY:
        return ADVISORY
    return str(check.verdict)


def unmet(checks: Iterable[Check]) -> list[Check]:
    """List the checks that do not hold."""
    return [check for check in checks if check.verdict is not Verdict.PASS]


def word_of_result(result: BenchmarkResult) -> str:
    """Return the word for a benchmark's verdict."""
    if result.verdict is Verdict.WARN and result.fails_advisory:
        return ADVISORY
    return str(result.verdict)


def own_reason(check: Check) -> str:
    """Say why a check does not hold, where its word says that it is advisory."""
    return reason_of(structs.replace(check, tier=Tier.REQUIRED))


def brief_reason(check: Check) -> str:
    """Say why a check does not hold, with little room: what decided it, and both values."""
    facts = check.comparison
    beside = _beside_numbers(check, remarks=(UnknownRunNoise,))
    if facts is None or not beside:
        return own_reason(brief(check))
    values = values_text(check.name, facts)
    if facts.p_adjusted is not None:
        values += f", p = {two_digits(facts.p_adjusted)}"
    return f"{values}; {beside}"


def is_by_numbers(check: Check) -> bool:
    """Whether the change of a metric decided, not what is lost or hidden behind it."""
    if check.comparison is None:
        return False
    return not any(isinstance(one, _BEHIND_NUMBERS) for one in check.reasons)


def cause_of(check: Check) -> str:
    """Say what decided a comparison beside its numbers; empty where they did."""
    return _beside_numbers(check, remarks=REMARKS)


def _beside_numbers(check: Check, remarks: tuple[type, ...]) -> str:
    """Write the reasons of a comparison but its remarks."""
    if check.comparison is None or not is_compared(check):
        return ""
    reasons = [one for one in check.reasons if not isinstance(one, remarks)]
    without = structs.replace(check, comparison=None, reasons=tuple(reasons))
    return own_reason(brief(without))


# -- whose check it is -----------------------------------------------------------------------


def of_agent(check: Check) -> str:
    """Return the prefix with a check's agent; empty for the only agent."""
    if not check.agent:
        return ""
    return f"{check.agent}: "


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
    value = number(estimate.value)
    interval = estimate.interval
    if interval is None:
        return value, ""
    low = number(interval.low)
    high = number(interval.high)
    return value, between.format(low, high)


def expected(check: Check) -> str:
    """Write the bound of a check, and the direction of its metric."""
    parts = (bound_of(check), better_way(check))
    return ", ".join(part for part in parts if part)


# -- its comparison --------------------------------------------------------------------------


def rule_of(check: Check) -> RuleSettings | None:
    """Return the rule of a check that compares a metric with a reference."""
    if isinstance(check.bound, RuleBound):
        return check.bound.settings
    return None


def better_way(check: Check) -> str:
    """Name the better direction; empty if nothing is compared."""
    rule = rule_of(check)
    if rule is None:
        return ""
    return f"{rule.direction} is better"


def less_is_better(check: Check) -> bool:
    """Whether a check compares a metric of which less is better."""
    rule = rule_of(check)
    return rule is not None and rule.direction is Direction.LOWER


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
    if facts.current is None:
        return facts.baseline, check.value
    return facts.baseline, facts.current


def change_of(check: Check) -> tuple[float | None, float | None, float | None]:
    """Return a metric's change from its baseline, and the change's interval."""
    facts = check.comparison
    if facts is None:
        return None, None, None
    if less_is_better(check):
        return facts.drop, facts.drop_low, facts.drop_high
    change = _negative(facts.drop)
    low = _negative(facts.drop_high)
    high = _negative(facts.drop_low)
    return change, low, high


def _negative(value: float | None) -> float | None:
    if value is None:
        return None
    return -value


def worse_slices(check: Check) -> list[WorseSlice]:
    """List the slices that got worse, where that is what the check is about."""
    slices: list[WorseSlice] = []
    for reason in check.reasons:
        if isinstance(reason, WorseSlices):
            slices += reason.slices
    return slices


def change_that_matters(check: Check) -> float | None:
    """Return the smallest change that matters to the gate, signed; None if any does."""
    facts = check.comparison
    rule = rule_of(check)
    if facts is None or rule is None:
        return None
    drop = facts.allowed_drop
    if drop is None and rule.rule in _WITH_MAX_DROP:
        drop = rule.max_drop
    if not drop:
        return None
    return -rule.sign * drop


def size_of(check: Check) -> str:
    """Say over how much a comparison was made: ``80 tasks x 3``, the rollouts of each."""
    facts = check.comparison
    if facts is None:
        return ""
    tasks = many(facts.tasks, "task")
    before = facts.samples_baseline
    now = facts.samples_current
    if now is None or before is None or now[0] != now[1]:
        return f"{tasks}, {many(facts.rollouts_current, 'rollout')}"
    if before != now:
        return f"{tasks} x {now[0]} against {_span(before)}"
    return f"{tasks} x {now[0]}"


def _span(samples: tuple[int, int]) -> str:
    fewest, most = samples
    if fewest == most:
        return str(most)
    return f"{fewest} to {most}"


def p_value(check: Check) -> float | None:
    """Return a comparison's p value, adjusted for the other metrics."""
    if check.comparison is None:
        return None
    return check.comparison.p_adjusted


_LIKELY_BY_CHANCE = 0.25  # p from which a drop is one of the many that nothing explains


def is_unproven_drop(check: Check) -> bool:
    """Whether a check passes over a drop that would matter if it were real."""
    facts = check.comparison
    rule = rule_of(check)
    if facts is None or rule is None or not rule.tests or facts.drop is None:
        return False
    if check.verdict is not Verdict.PASS or check.accepted:
        return False
    if facts.p_adjusted is None or facts.p_adjusted > _LIKELY_BY_CHANCE:
        return False
    return facts.drop > 0 and facts.drop >= rule.max_drop


def before_and_now(
    check: Check, whole: float, *, briefly: bool = False
) -> Iterator[str]:
    """Say what a metric was, how it changed, and how likely that is by chance.

    `whole` is its value over all tasks of the run.
    """
    facts = check.comparison
    if facts is None or facts.baseline is None:
        return
    change = signed(change_of(check)[0])
    parts = []
    compared = number(facts.current)
    # new tasks, and those in quarantine, count in the whole run alone
    if facts.tasks and compared != number(whole):
        parts.append(f"{compared} in {many(facts.tasks, 'compared task')}")
    parts.append(f"was {number(facts.baseline)}")
    if change not in ("", "0"):
        if not briefly:
            parts.append(change)
        if facts.p_adjusted is not None:
            parts.append(f"p {two_digits(facts.p_adjusted)}")
    yield ", ".join(parts)
    if is_unproven_drop(check):
        yield "drop NOT PROVEN"


def count_in_quarantine(checks: Iterable[Check]) -> int:
    """Count the tasks that are measured and not gated."""
    tasks = set()
    for check in checks:
        for reason in check.reasons:
            if isinstance(reason, Quarantined) and not reason.is_over:
                tasks.add(reason.outcome.task)
    return len(tasks)


def seen_losses(checks: Iterable[Check]) -> str:
    """Say from which size on the gates that pass would have seen a loss; empty if unknown.

    Metrics have units of their own: only those that see the same are told together.
    """
    drops: dict[str, list[float]] = {}
    for check in checks:
        facts = check.comparison
        passes = check.verdict is Verdict.PASS
        if passes and facts is not None and facts.detectable_drop:
            drops.setdefault(check.name, []).append(facts.detectable_drop)
    seen = {name: _range_of_losses(sizes) for name, sizes in drops.items()}
    if not seen:
        return ""
    if len(set(seen.values())) == 1:
        return f"sees losses from {seen.popitem()[1]} on"
    named = [f"{losses} of {name}" for name, losses in seen.items()]
    return f"sees losses from {listed(named, _LOSSES_NAMED)} on"


def _range_of_losses(sizes: Sequence[float]) -> str:
    """Write the smallest and the largest of the agents' losses; one where they are alike."""
    least = size_of_loss(min(sizes))
    most = size_of_loss(max(sizes))
    if least == most:
        return least
    return f"{least} to {most}"


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
    if check.comparison is None:
        return None
    return check.comparison.blind


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
        drop = size_of_loss(facts.detectable_drop)
        yield f"80 % power to see a loss of {drop} or more"
    if facts.unseen_flips:
        share = f"{facts.unseen_flips:.1%}"
        yield f"no task differs; up to {share} of the tasks may flip unseen"
    yield from _unpaired(facts.added, "only in this run")
    yield from _unpaired(facts.removed, "only in the baseline")
    yield from _unpaired(facts.excluded, "left out, without a value on one side")


def _unpaired(group: TaskGroup, why: str) -> Iterator[str]:
    if group.count:
        names = listed(group.tasks, _TASKS_NAMED, group.count)
        yield f"{many(group.count, 'task', 'is')} {why}: {names}"


def flip_text(task: TaskChange) -> str:
    """Write a task with the rewards of its rollouts, before and now."""
    return f"{task.task} ({_rewards(task.baseline)} -> {_rewards(task.current)})"


def _rewards(rewards: Sequence[float]) -> str:
    shown = [number(reward) for reward in rewards]
    return " ".join(capped(shown, _REWARDS, "..."))


def _basis(facts: ComparisonFacts) -> str:
    """Say by which test a change was judged, and on how much."""
    tasks = many(facts.tasks, "task")
    if facts.units and facts.units != facts.tasks:
        tasks += f" in {many(facts.units, 'cluster')}"
    before = many(facts.rollouts_baseline, "rollout")
    text = (
        f"{facts.test} over {tasks}, {before} before and {facts.rollouts_current} now"
    )
    if _is_adjusted(facts):
        text += f"; p = {two_digits(facts.p_adjusted)} adjusted for the other metrics"
    return text


def _is_adjusted(facts: ComparisonFacts) -> bool:
    if facts.p is None or facts.p_adjusted is None:
        return False
    return facts.p_adjusted > facts.p * 1.0000001
