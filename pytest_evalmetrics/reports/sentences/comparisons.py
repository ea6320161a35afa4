"""A metric against its baseline: the change, why it is judged so, and remarks."""

from __future__ import annotations

import math
from functools import singledispatch
from typing import TYPE_CHECKING

from pytest_evalmetrics.layout import listed, many
from pytest_evalmetrics.model.blindness import AllLost, FewRollouts, FewRuns, FewUnits
from pytest_evalmetrics.model.bounds import RuleBound
from pytest_evalmetrics.model.reasons import (
    Attributed,
    BlindGate,
    Confirmation,
    HiddenDrop,
    LostWhereItFails,
    LowCoverage,
    LowPower,
    ManyMissing,
    MissingDecide,
    MovedBy,
    NothingCanFail,
    NothingInCommon,
    NotShown,
    NoValue,
    OwnRule,
    SharedLevel,
    SmallDrop,
    UnknownRunNoise,
    Untested,
    ValueChanged,
)
from pytest_evalmetrics.model.verdicts import Verdict
from pytest_evalmetrics.reports.sentences.dispatch import sentence
from pytest_evalmetrics.reports.sentences.phrases import remarked, rose_or_fell
from pytest_evalmetrics.reports.wording import size_of_loss

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_evalmetrics.model.blindness import Blindness
    from pytest_evalmetrics.model.comparison import ComparisonFacts, TaskGroup
    from pytest_evalmetrics.model.results import Check

_NAMED = 10  # tasks on a line

# -- the change ------------------------------------------------------------------------------

_UNFIT = (NothingInCommon, LowCoverage, ManyMissing)  # nothing was compared


def is_compared(check: Check) -> bool:
    """Whether tasks of both sides were compared."""
    if check.comparison is None or not check.comparison.tasks:
        return False
    return not any(isinstance(reason, _UNFIT) for reason in check.reasons)


def names_metric(check: Check) -> bool:
    """Whether the sentence about a check begins with the metric, as that of a change does."""
    if check.verdict is Verdict.PASS or check.comparison is None:
        return False
    is_unfit = any(isinstance(reason, _UNFIT) for reason in check.reasons)
    return is_unfit or is_compared(check)


def change_sentence(name: str, facts: ComparisonFacts) -> str:
    """Describe a change on one line: both values, the loss, how sure it is, the flips."""
    text = f"{values_text(name, facts)}: {_loss(facts)}"
    if facts.p_adjusted is not None:
        text += f", p = {facts.p_adjusted:.2g}"
    basis = many(facts.tasks, "task")
    if facts.test:
        basis = f"{facts.test}, {basis}"
    text += f" ({basis}), {facts.worse} worse and {facts.better} better"
    if facts.proven_tasks:
        proven = max(facts.proven, len(facts.proven_tasks))
        worse = listed(facts.proven_tasks, _NAMED, proven)
        text += f"; worse by their rollouts: {worse}"
    if facts.runs > 1:
        spread = _number(facts.run_sd)
        text += f"; {many(facts.runs, 'run')} of the baseline"
        text += f", sd {spread:.2g} between them beyond their tasks"
    return text


def _number(value: float | None) -> float:
    if value is None:
        return math.nan
    return value


def values_text(name: str, facts: ComparisonFacts) -> str:
    """Give both values: ``pass@1 fell from 0.96 to 0.89``."""
    baseline = _number(facts.baseline)
    current = _number(facts.current)
    went = "went"
    if current > baseline:
        went = "rose"
    elif current < baseline:
        went = "fell"
    return f"{name} {went} from {baseline:.4g} to {current:.4g}"


def _loss(facts: ComparisonFacts) -> str:
    drop = _number(facts.drop)
    if drop >= 0:
        loss = f"a loss of {abs(drop):.4g}"  # 0, not -0
        return _with_interval(loss, facts.drop_low, facts.drop_high)
    gain = f"a gain of {-drop:.4g}"
    return _with_interval(gain, _negative(facts.drop_high), _negative(facts.drop_low))


def _negative(value: float | None) -> float | None:
    if value is None:
        return None
    return -value


def _with_interval(text: str, low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return text
    return f"{text} [{low:.4g}, {high:.4g}]"


# -- remarks on a check that passes ----------------------------------------------------------


def remarks(check: Check) -> Iterator[str]:
    """Yield what is worth knowing of a comparison that passes."""
    facts = check.comparison
    if facts is None or not is_compared(check):
        return
    if facts.improved:
        tasks = f"{many(facts.better, 'task')} better and {facts.worse} worse"
        yield f"better than the baseline: {tasks}"
    yield from _tasks(facts.excluded, "left out, without a value on one side")
    yield from _tasks(facts.removed, "only in the baseline")
    yield from _tasks(facts.added, "only in this run")
    if _is_tested(check) and isinstance(facts.blind, FewUnits | FewRollouts):
        yield f"this gate is blind: {blind_text(facts.blind)}"
    if facts.unseen_flips is not None:
        share = 100 * facts.unseen_flips
        yield f"no task differs: up to {share:.2g} % of them may flip unseen"
    elif facts.detectable_drop is not None:
        least = size_of_loss(facts.detectable_drop)
        yield f"80 % power to see a loss of {least} or more"


def _tasks(group: TaskGroup, what: str) -> Iterator[str]:
    if group.count:
        names = listed(group.tasks, _NAMED, group.count)
        yield f"{many(group.count, 'task', 'is')} {what}: {names}"


def _is_tested(check: Check) -> bool:
    return isinstance(check.bound, RuleBound) and check.bound.settings.tests


# -- blind gates -----------------------------------------------------------------------------


@singledispatch
def blind_text(cause: Blindness) -> str:
    """Say why no drop of any size could be significant."""
    raise TypeError(f"there is no sentence for {type(cause).__name__}")


@blind_text.register(FewUnits)
def few_units(cause: FewUnits) -> str:
    """Say how many tasks, or clusters, are needed."""
    none = f"no drop of any size can reach p < {cause.alpha:g}"
    needed = f"{cause.needed} are needed"
    others = "more rollouts of each, `rule: absolute` or `must_pass`"
    return f"{many(cause.units, cause.unit)}: {none}; {needed}, or {others}"


@blind_text.register(FewRollouts)
def few_rollouts(cause: FewRollouts) -> str:
    """Say how many rollouts of each task are needed."""
    none = f"no drop of one task can reach p < {cause.alpha:g}"
    needed = f"{cause.needed} of each task are needed on both sides"
    return f"a task has too few rollouts: {none}; {needed}"


@blind_text.register(AllLost)
def all_lost(cause: AllLost) -> str:
    """Say that nothing was left to lose."""
    few = "too few tasks had anything to lose"
    return f"all is lost, but {few} for p < {cause.alpha:g}"


@blind_text.register(FewRuns)
def few_runs(cause: FewRuns) -> str:
    """Say that noise between runs is not known well enough."""
    runs = many(cause.runs, "run")
    return (
        f"all is lost, but {runs} of the baseline can't show how much runs differ by "
        f"chance: p < {cause.alpha:g} needs more of them, or a stated `run_noise:`"
    )


@sentence.register(BlindGate)
def blind_gate(reason: BlindGate) -> str:
    """Say why the gate is blind."""
    return blind_text(reason.cause)


# -- runs that can't be compared -------------------------------------------------------------


@sentence.register(NothingInCommon)
def nothing_in_common(reason: NothingInCommon) -> str:
    """Say that no task can be paired."""
    why = "the run and its baseline have no task in common"
    if reason.excluded:
        tasks = f"none of its {reason.excluded} common tasks"
        why = f"{tasks} has a value on both sides"
    return f"{reason.metric} can't be compared: {why}"


@sentence.register(LowCoverage)
def low_coverage(reason: LowCoverage) -> str:
    """Count the compared tasks, and name the others."""
    paired = f"{reason.paired} of the baseline's {many(reason.of, 'task')}"
    least = f"min_coverage is {100 * reason.min_coverage:.4g} %"
    text = f"{reason.metric} is not judged: {paired} can be compared, and {least}"
    if reason.removed_count:
        text += f"; gone: {listed(reason.removed, _NAMED, reason.removed_count)}"
    if reason.left_out_count:
        names = listed(reason.left_out, _NAMED, reason.left_out_count)
        text += f"; without a value on one side: {names}"
    return text


@sentence.register(ManyMissing)
def many_missing(reason: ManyMissing) -> str:
    """Give the share of missing rewards."""
    share = f"{100 * reason.share:.3g} % of the rewards are missing"
    return f"{reason.metric} can't be compared: {share}"


@sentence.register(MissingDecide)
def missing_decide(reason: MissingDecide) -> str:
    """Give the values with missing rewards at their worst."""
    worst = f"at their worst {reason.metric} would be"
    values = f"{reason.current:.4g} against {reason.baseline:.4g}"
    return f"missing rewards decide the verdict: {worst} {values}"


@sentence.register(LostWhereItFails)
def lost_where_it_fails(reason: LostWhereItFails) -> str:
    """Say why a loss is not at random, and what it hides."""
    worst = f"at their worst {reason.metric} would be"
    return (
        f"more is missing than in the baseline (p = {reason.p_side:.2g}), in tasks that "
        f"did otherwise than the rest (p = {reason.p_outcome:.2g}): {worst} "
        f"{reason.current:.4g} against {reason.baseline:.4g}"
    )


# -- how a rule decided ----------------------------------------------------------------------


@sentence.register(Untested)
def untested(reason: Untested) -> str:
    """Say why the drop can't be tested."""
    if reason.cause == "few_units":
        return "too few tasks, or clusters, to test a drop: at least two are needed"
    if reason.cause == "no_bound":
        return "too few tasks to bound the drop"
    if reason.cause == "by_hook":
        hook = f"{reason.metric} is computed by a hook, without tasks"
        return f"{hook}: rule {reason.rule} can't test it"
    if reason.cause == "no_interval":
        none = f"{reason.metric} has no interval"
        if reason.words:
            none += f": {reason.words}"
        return f"{none}: the rule {reason.rule} can't judge it"
    if reason.cause == "resampled":
        return f"on resampled tasks it is not defined: {reason.words}"
    return reason.words


@sentence.register(SmallDrop)
def small_drop(reason: SmallDrop) -> str:
    """Say that the drop is real, and too small to matter."""
    drop = f"a real drop (p = {reason.p:.2g})"
    return f"{drop}, but under max_drop {reason.max_drop:.4g}"


@sentence.register(HiddenDrop)
def hidden_drop(reason: HiddenDrop) -> str:
    """Say what most tasks show, and which task hides it."""
    return (
        f"most tasks got worse, by {reason.drop:.4g} on average (p = {reason.p:.2g}, by "
        "the ranks of rollouts within tasks), and a few extreme rollouts hide it in the "
        f"mean: task {reason.task} went from {reason.before:.4g} to {reason.now:.4g}"
    )


@sentence.register(UnknownRunNoise)
def unknown_run_noise(reason: UnknownRunNoise) -> str:
    """Say how much noise between runs would explain the drop."""
    return (
        "one run in the baseline does not show the noise between runs, of which an sd of "
        f"{reason.sd:.2g} would explain this drop"
    )


@sentence.register(SharedLevel)
def shared_level(reason: SharedLevel) -> str:
    """Say that such a drop is expected by chance among so many benchmarks."""
    one = f"one of {reason.benchmarks} benchmarks may be by chance"
    text = f"p < {reason.alpha:g}, but {one}"
    if reason.is_surest:
        return f"{text}, and it can't be surer than that"
    return text


@sentence.register(NothingCanFail)
def nothing_can_fail(reason: NothingCanFail) -> str:
    """Say that the baseline would gate nothing."""
    tasks = many(reason.tasks, "task")
    sizes = f"{tasks} with {many(reason.rollouts, 'rollout')} of each"
    return (
        f"the baseline is not recorded: from {sizes}, no loss of {reason.metric} could "
        f"be proven at p < {reason.alpha:g}, not even that of everything, so nothing "
        "could ever fail"
    )


@sentence.register(Confirmation)
def confirmation(reason: Confirmation) -> str:
    """Show both rounds."""
    outcome = "not confirmed"
    if reason.is_confirmed:
        outcome = "confirmed"
    tasks = many(reason.tasks, "task")
    rollouts = many(reason.rollouts, "more rollout")
    drawn = f"{rollouts} of the {tasks} that got worse and of {reason.controls} others"
    parts = [f"{outcome} by {drawn}"]
    if reason.drop_first is not None and reason.drop_second is not None:
        first = f"{reason.drop_first:.3g} in the first round"
        second = f"{reason.drop_second:.3g} in the second"
        parts.append(f"their drop was {first} and {second}")
    if reason.p_first is not None and reason.p_both is not None:
        both = f"{reason.p_both:.2g} in both rounds together"
        parts.append(f"p = {reason.p_first:.2g} in the first round and {both}")
    return "; ".join(parts)


@sentence.register(NotShown)
def not_shown(reason: NotShown) -> str:
    """Give the largest drop that is possible."""
    drop = f"the drop may be as large as {reason.upper:.3g}"
    more = f"which is more than {reason.max_drop:.4g}"
    return f"{drop}, {more}: not shown to be no worse"


@sentence.register(LowPower)
def low_power(reason: LowPower) -> str:
    """Give the smallest drop that is seen."""
    if reason.visible is None:
        limit = "the detectable drop is unknown"
    elif reason.none_differs:
        unseen = f"a drop of {reason.visible:.3g} may go unseen"
        limit = f"no two tasks moved differently, but {unseen}"
    else:
        limit = f"80 % power to see drops of {reason.visible:.3g} or more"
    wanted = f"where require_mde is {reason.wanted:.3g}"
    return f"too few tasks or rollouts: {limit}, {wanted}"


@sentence.register(Attributed)
def attributed(reason: Attributed) -> str:
    """Name what moved, and how far the judge did."""
    shift = reason.shift
    anchors = f"{shift.shift:+.3g} on {shift.anchors} anchors"
    interval = f"99 % interval {shift.low:+.3g} to {shift.high:+.3g}"
    agreed = (
        f"it says what people say on {shift.agreed_now} of {shift.anchors}, "
        f"and did on {shift.agreed_before} at the baseline"
    )
    match reason.moved:
        case MovedBy.JUDGE:
            return f"the judge moved by {anchors} ({interval}): {agreed}"
        case MovedBy.SYSTEM:
            return f"it is the system: the judge moved by {anchors} ({interval})"
        case MovedBy.UNCLEAR:
            return (
                "the anchors can't tell the judge from the system: the judge moved by "
                f"{anchors} ({interval}), which may be as much as the drop"
            )


@sentence.register(OwnRule)
def own_rule(reason: OwnRule) -> str:
    """Give the rule's own words."""
    return reason.words


@sentence.register(NoValue)
def no_value(reason: NoValue) -> str:
    """Say that the reference has no number."""
    return reason.words or f"the baseline has no {reason.metric}"


@sentence.register(ValueChanged)
def value_changed(reason: ValueChanged) -> str:
    """Give the recorded number and today's."""
    went = rose_or_fell(reason.before, reason.now)
    text = f"{reason.metric} {went} from {reason.before:.6g} to {reason.now:.6g}"
    return remarked(text, reason.against)
