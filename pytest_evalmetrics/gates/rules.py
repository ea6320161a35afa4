"""The rules by which a drop is judged: the built-in ones, and the user's own."""

from __future__ import annotations

import inspect
import math
from functools import partial
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec
import numpy as np

from pytest_evalmetrics import stats
from pytest_evalmetrics.comparison import chance_of_coins
from pytest_evalmetrics.errors import MetricError, RegistryError, raised_words
from pytest_evalmetrics.model.blindness import AllLost, FewRuns
from pytest_evalmetrics.model.comparison import (
    Coins,
    Comparison,
    Independence,
    NoiseSource,
    RuleName,
    RuleSettings,
)
from pytest_evalmetrics.model.reasons import (
    BlindGate,
    DependentRollouts,
    Failed,
    HiddenDrop,
    LowPower,
    NotShown,
    OwnRule,
    Reason,
    SharedLevel,
    SmallDrop,
    UnknownRunNoise,
    Untested,
)
from pytest_evalmetrics.model.verdicts import Direction, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from pytest_evalmetrics.model.rollout_table import TaskRewards

_FEW = 20  # tasks that differ, up to which Student's t does not bound a drop
# between runs: points of a rate, or a share of other values. Servers, batches and judges
# shift runs by as much
_SMALL_NOISE = 0.02
# tasks that lost everything, and that are no chance whatever their rollouts are worth
_MANY_LOST = 3
# of unchanged runs whose tasks are coins, and whose rollouts repeat each other: the mean
# fails a few more
_MOST_BY_COINS = 0.0125
# of such a coin: many tasks of which fewer pass are taken for tasks that can't be solved
_LEAST_CHANCE = 0.2
_SLACK = 1e-9  # a drop of 0.72 to 0.7 is not always 0.02 to the last bit


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """The difference of a metric from its baseline, as a gate rule receives it.

    A positive drop is worse, whatever the metric's direction.

    Attributes
    ----------
    metric, direction
        The metric's name, and which way is better: ``higher`` or ``lower``.
    baseline, current
        Its values.
    drop
        The mean of `differences`, or for a metric that is not a mean over tasks that of
        the values.
    interval
        The two-sided 95 % interval of the drop; NaN if there is none.
    p
        One-sided, of no drop at all; NaN if nothing can be tested. If the rule has
        ``tests = True``, it is adjusted for the other tested metrics of the benchmark.
    differences
        Each paired task's drop, shape (tasks,).
    max_drop, alpha, warn_alpha
        The settings of the benchmark file, or their defaults.
    """

    metric: str
    direction: Direction
    baseline: float
    current: float
    drop: float
    interval: tuple[float, float]
    p: float
    differences: NDArray[np.float64]
    max_drop: float
    alpha: float
    warn_alpha: float


class GateRule(Protocol):
    """Decides whether a drop fails.

    A class, whose constructor takes the rule's options, or a function in place of
    `decide`, which takes them as further keyword arguments.

    Attributes
    ----------
    tests : bool, optional
        Whether the verdict rests on `Change.p`.
    bound : str, optional
        What passes, for messages: ``drop <= 0.005``.
    """

    def decide(self, change: Change) -> Verdict | tuple[Verdict, str]:
        """Return the verdict, or the verdict and its reason."""
        ...


class Decision(msgspec.Struct, frozen=True):
    """The verdict of a rule, and why: the cause first, then remarks."""

    verdict: Verdict
    reasons: tuple[Reason, ...] = ()


def decide(comparison: Comparison, p: float, own: GateRule | None = None) -> Decision:
    """Judge one comparison.

    Parameters
    ----------
    comparison
        The metric on both sides, with its rule.
    p
        One-sided, of no drop, adjusted for the other metrics of the benchmark.
    own
        The rule, if it is not built in.
    """
    if math.isnan(comparison.drop):
        return _inconclusive(_untested(comparison, "few_units"))
    if own is not None:
        decision = _by_own_rule(comparison, p, own)
    elif comparison.rule.tests:
        decision = _by_significance(comparison, p)
        decision = _by_most_tasks(comparison, decision)
    elif comparison.rule.rule is RuleName.NONINFERIOR:
        decision = _by_upper_bound(comparison)
    else:
        decision = _by_size(comparison)
    if decision.verdict.fails or _has_power(comparison):
        return decision
    return _inconclusive(_low_power(comparison))


def _inconclusive(reason: Reason) -> Decision:
    return Decision(Verdict.INCONCLUSIVE, (reason,))


def _untested(
    comparison: Comparison, otherwise: Literal["few_units", "no_bound"]
) -> Untested:
    """Say why there is no test, in the words of what refused it if anything did."""
    refusal = comparison.untested
    return Untested(
        cause=otherwise if refusal is None else refusal.cause,
        words="" if refusal is None else refusal.words,
        metric=comparison.pair.name,
        rule=comparison.rule.name,
        max_drop=comparison.rule.max_drop,
    )


# -- the size of a drop ------------------------------------------------------------------


def _by_size(comparison: Comparison) -> Decision:
    is_too_large = exceeds(
        comparison.rule,
        comparison.drop,
        baseline=comparison.pair.value_baseline,
        current=comparison.pair.value_current,
    )
    return Decision(Verdict.FAIL if is_too_large else Verdict.PASS)


def exceeds(
    rule: RuleSettings, drop: float, *, baseline: float, current: float
) -> bool:
    """Check whether a drop is more than a rule without a test allows, and rounding."""
    allowed = rule.allowed(baseline)
    if allowed is None:
        return False
    scale = max(abs(baseline), abs(current))
    if rule.rule is RuleName.ABSOLUTE:
        scale = max(scale, 1.0)
    return drop > allowed + _SLACK * scale


# -- its significance --------------------------------------------------------------------


def _by_significance(comparison: Comparison, p: float) -> Decision:
    rule = comparison.rule
    if _is_no_drop(comparison):
        return Decision(Verdict.PASS)
    if comparison.lost_all:
        return _of_collapse(comparison, p)
    if rule.rule is RuleName.PRACTICAL and comparison.drop < rule.max_drop - _SLACK:
        return _of_small_drop(rule, p)
    if p * rule.benchmarks < rule.alpha:
        return _of_proven_drop(comparison)
    return _of_unproven_drop(comparison, p)


def _by_most_tasks(comparison: Comparison, by_mean: Decision) -> Decision:
    """Fail a drop of most tasks that extreme rollouts hide in the mean."""
    typical = comparison.typical
    if typical is None or by_mean.verdict.fails:
        return by_mean
    rule = comparison.rule
    least = rule.max_drop - _SLACK if rule.rule is RuleName.PRACTICAL else 0.0
    if not (typical.drop > 0 and typical.drop >= least):
        return by_mean
    hidden = HiddenDrop(
        drop=typical.drop,
        p=typical.p,
        task=str(typical.task),
        before=typical.before,
        now=typical.now,
    )
    if typical.p < typical.level:
        return Decision(Verdict.FAIL, (hidden,))
    if typical.p * rule.benchmarks < rule.alpha and by_mean.verdict is Verdict.PASS:
        return Decision(Verdict.WARN, (hidden,))
    return by_mean


def _of_proven_drop(comparison: Comparison) -> Decision:
    """Fail, unless the proof rests on rollouts that may repeat each other."""
    independence = comparison.independence
    if independence is None or independence.is_given:
        return Decision(Verdict.FAIL, _unknown_noise(comparison))
    return Decision(Verdict.WARN, (DependentRollouts(independence),))


def _unknown_noise(comparison: Comparison) -> tuple[Reason, ...]:
    """Remark on a drop that a small shift of all tasks of the run would explain."""
    pair = comparison.pair
    small = _SMALL_NOISE if pair.bounded else _SMALL_NOISE * abs(pair.value_baseline)
    if 0 < comparison.unseen_run_sd < small:
        return (UnknownRunNoise(sd=comparison.unseen_run_sd),)
    return ()


def _of_unproven_drop(comparison: Comparison, p: float) -> Decision:
    rule = comparison.rule
    if math.isnan(p):
        return _inconclusive(_untested(comparison, "few_units"))
    if p < rule.alpha:
        return _of_many_benchmarks(comparison)
    if _is_hidden_by_runs(comparison) and _is_at_worst(comparison):
        few = FewRuns(runs=comparison.runs, alpha=rule.alpha)
        return _inconclusive(BlindGate(cause=few))
    return Decision(Verdict.WARN if p < rule.warn_alpha else Verdict.PASS)


def _of_collapse(comparison: Comparison, p: float) -> Decision:
    """Judge the loss of everything, whatever `max_drop` says.

    It fails where tasks or rollouts prove it. A loss of all that there could be, such as
    of three tasks that passed, is no pass even if nothing can prove it.
    """
    rule = comparison.rule
    least = p
    # where nothing is left, rollouts may prove what a few tasks can't; of runs they
    # know nothing
    if comparison.runs == 1 and comparison.p_rollouts < p:
        least = comparison.p_rollouts
    # no noise between runs takes everything, whatever the file states of it
    if comparison.noise_source is NoiseSource.DECLARED and comparison.runs == 1:
        least = min(least, comparison.p_tasks)
    is_proven = least * rule.benchmarks < rule.alpha
    if is_proven:
        return _of_proven_collapse(comparison)
    if _is_hidden_by_runs(comparison):
        few = FewRuns(runs=comparison.runs, alpha=rule.alpha)
        return _inconclusive(BlindGate(cause=few))
    return _of_unproven_collapse(comparison, least)


def _of_proven_collapse(comparison: Comparison) -> Decision:
    """Fail, unless what proves the loss may count for less than it seems."""
    if comparison.blind is not None and _may_be_few_clusters(comparison):
        return Decision(Verdict.WARN, (BlindGate(cause=comparison.blind),))
    independence = comparison.independence
    if independence is None or independence.is_given or _lost_too_many(comparison):
        return Decision(Verdict.FAIL)
    return _of_copied_collapse(comparison, independence)


def _of_unproven_collapse(comparison: Comparison, p: float) -> Decision:
    """Judge a loss of everything that the level of the rule does not prove."""
    rule = comparison.rule
    reason: Reason = BlindGate(cause=comparison.blind or AllLost(alpha=rule.alpha))
    if p < rule.alpha:
        reason = SharedLevel(
            alpha=rule.alpha, benchmarks=rule.benchmarks, is_surest=True
        )
    if comparison.had_most_to_lose:
        return _inconclusive(reason)
    if p >= rule.warn_alpha:
        return Decision(Verdict.PASS, (reason,))
    independence = comparison.independence
    if independence is not None and _rests_on_repeats(comparison, independence):
        return Decision(Verdict.WARN, (DependentRollouts(independence),))
    return _inconclusive(reason)


def _lost_too_many(comparison: Comparison) -> bool:
    """Check whether so many tasks lost all they had that it is no chance.

    Three are, even if each has but one independent rollout, unless they may be the few
    of many coins that had come up.
    """
    if comparison.tasks_with_room < _MANY_LOST:
        return False
    if comparison.had_most_to_lose or comparison.clusters is not None:
        return True
    return not _may_be_chance(comparison.coins)


def _may_be_few_clusters(comparison: Comparison) -> bool:
    """Check whether a few clusters that pass or fail as one may explain a loss of all.

    However many tasks and rollouts each has, it shows no more than one coin, but where
    all clusters passed.
    """
    coins = comparison.coins
    if comparison.clusters is None or coins is None:
        return False
    return coins.up < coins.count and _may_be_chance(coins)


def _may_be_chance(coins: Coins | None) -> bool:
    """Check whether so many coins come up and then none, more often than a gate may err."""
    if coins is None:
        return False
    by_coins = chance_of_coins(coins.count, lost=coins.up, least=_LEAST_CHANCE)
    return by_coins > _MOST_BY_COINS


def _rests_on_repeats(comparison: Comparison, independence: Independence) -> bool:
    """Check whether a small p takes several rollouts of a task that may be copies."""
    if independence.is_given:
        return False
    pair = comparison.pair
    has_repeats = int(pair.rewards_current.counts.max(initial=0)) > 1
    by_tasks = 0.5**comparison.tasks_with_room
    return has_repeats and by_tasks >= comparison.rule.warn_alpha


def _of_copied_collapse(comparison: Comparison, independence: Independence) -> Decision:
    """Judge the loss of one or two tasks that only independent rollouts would prove."""
    verdict = Verdict.INCONCLUSIVE if comparison.had_most_to_lose else Verdict.WARN
    return Decision(verdict, (DependentRollouts(independence),))


def _is_no_drop(comparison: Comparison) -> bool:
    pair = comparison.pair
    scale = max(abs(pair.value_baseline), abs(pair.value_current))
    return comparison.drop <= _SLACK * scale


def _of_small_drop(rule: RuleSettings, p: float) -> Decision:
    if p < rule.alpha:
        return Decision(Verdict.PASS, (SmallDrop(p=p, max_drop=rule.max_drop),))
    return Decision(Verdict.PASS)


def _of_many_benchmarks(comparison: Comparison) -> Decision:
    """Warn of a drop that is surprising for one benchmark, but not for one of so many.

    So does one of tasks so few that they can't be surer: it would be red by chance.
    """
    rule = comparison.rule
    can_be_surer = 0.5**comparison.units * rule.benchmarks < rule.alpha
    reason = SharedLevel(
        alpha=rule.alpha,
        benchmarks=rule.benchmarks,
        is_surest=not can_be_surer and not comparison.by_rollouts,
    )
    return Decision(Verdict.WARN, (reason,))


def _is_hidden_by_runs(comparison: Comparison) -> bool:
    """Check whether tasks or rollouts prove a drop, but not beyond noise between runs."""
    alpha = comparison.rule.alpha
    is_proven = comparison.p_tasks < alpha or comparison.p_rollouts < alpha
    return comparison.runs > 1 and is_proven


def _is_at_worst(comparison: Comparison) -> bool:
    """Check whether every task is at the worst end: of a rate's range, or as seen."""
    pair = comparison.pair
    if pair.current is None:
        return False
    is_fall = comparison.rule.sign > 0
    if pair.bounded:
        worst = 0.0 if is_fall else 1.0
    elif pair.baseline is not None and comparison.runs > 1:
        ends = np.concatenate((pair.baseline, pair.current))
        worst = float(ends.min() if is_fall else ends.max())
    else:
        return False
    return bool((pair.current == worst).all())


# -- its upper bound ---------------------------------------------------------------------


def _by_upper_bound(comparison: Comparison) -> Decision:
    upper = _upper_bound(comparison)
    max_drop = comparison.rule.max_drop
    verdict = noninferior_verdict(comparison.drop, upper, max_drop)
    if verdict is not Verdict.INCONCLUSIVE:
        return Decision(verdict)
    if math.isnan(upper):
        return _inconclusive(_untested(comparison, "no_bound"))
    return _inconclusive(NotShown(upper=upper, max_drop=max_drop))


def noninferior_verdict(drop: float, upper: float, max_drop: float) -> Verdict:
    """Pass a drop that is shown to be at most `max_drop`; `upper` is NaN if unknown."""
    if drop > max_drop + _SLACK:
        return Verdict.FAIL
    is_shown = upper <= max_drop + _SLACK
    return Verdict.PASS if is_shown else Verdict.INCONCLUSIVE


def _upper_bound(comparison: Comparison) -> float:
    """Return the one-sided upper bound of the drop, in the metric's unit."""
    result = comparison.test
    if comparison.unseen is not None:  # all tasks moved alike: there is no spread
        return comparison.drop + comparison.unseen * comparison.span
    if not result.se > 0:
        return math.nan
    t = stats.t_ppf(1 - comparison.rule.alpha, max(result.df, 1))
    bounds = [
        comparison.drop + (t + _shift_of_skew(comparison, t)) * result.se,
        _bound_of_few_losses(comparison),
        _bound_of_rates(comparison),
    ]
    if not math.isnan(comparison.upper_by_factors):
        bounds.append(comparison.upper_by_factors)
    return max(bounds)


def _shift_of_skew(comparison: Comparison, t: float) -> float:
    """Return by how many standard errors skewed losses move a bound; 0 if they don't."""
    if comparison.pair.difference is not None or comparison.clusters is not None:
        return 0.0
    return stats.shift_of_skew(comparison.damage, t)


def _bound_of_rates(comparison: Comparison) -> float:
    """Bound a drop of passes, of single or unequal numbers of rollouts; else -infinity.

    Rare passes, or failures, skew the differences of tasks.
    """
    pair = comparison.pair
    before = pair.rewards_baseline
    now = pair.rewards_current
    is_mean_rate = pair.bounded and pair.difference is None
    if not (is_mean_rate and _are_passes(before) and _are_passes(now)):
        return -math.inf
    alpha = comparison.rule.alpha
    is_single = bool((before.counts == 1).all() and (now.counts == 1).all())
    if is_single and pair.clusters is None:
        return stats.paired_score_upper(
            comparison.worse, comparison.better, len(pair.tasks), alpha
        )
    if (before.counts == now.counts).all():
        return -math.inf
    # each task weighs the same, however many rollouts it has
    good_before = pair.value_baseline
    good_now = pair.value_current
    if comparison.rule.sign < 0:
        good_before = 1 - good_before
        good_now = 1 - good_now
    sizes = (float(len(before.values)), float(len(now.values)))
    return stats.newcombe_upper(
        (good_before * sizes[0], sizes[0]),
        (good_now * sizes[1], sizes[1]),
        1 - 2 * alpha,
    )


def _are_passes(rewards: TaskRewards) -> bool:
    """Check whether all rewards are 0 or 1."""
    return bool(((rewards.values == 0) | (rewards.values == 1)).all())


def _bound_of_few_losses(comparison: Comparison) -> float:
    """Bound a drop where few tasks differ, and losses skew t; else -infinity."""
    damage = comparison.damage
    if comparison.pair.difference is not None or np.count_nonzero(damage) >= _FEW:
        return -math.inf
    losses = damage.clip(min=0).sum() / comparison.span
    most = stats.zero_flip_bound(
        comparison.units,
        comparison.rule.alpha,
        losses * comparison.units / len(damage),
    )
    return float(damage.clip(max=0).mean() + comparison.span * most)


# -- whether it would have been seen -----------------------------------------------------


def _has_power(comparison: Comparison) -> bool:
    """Check whether the test sees a drop of `require_mde`, if that is asked for."""
    wanted = comparison.rule.require_mde
    return wanted is None or _visible_drop(comparison) <= wanted


def _low_power(comparison: Comparison) -> LowPower:
    visible = _visible_drop(comparison)
    return LowPower(
        wanted=comparison.rule.require_mde or 0.0,
        visible=visible if math.isfinite(visible) else None,
        none_differs=comparison.unseen is not None,
    )


def _visible_drop(comparison: Comparison) -> float:
    """Return the smallest drop that would not have gone unseen; NaN if unknown."""
    if comparison.unseen is not None:
        return comparison.unseen * comparison.span
    return comparison.detectable


# -- the user's rules --------------------------------------------------------------------


class RegisteredRule(msgspec.Struct, frozen=True, kw_only=True):
    """A gate rule of the user's, with the options of the benchmark file."""

    decide: Callable[[Change], Verdict | tuple[Verdict, str]]
    tests: bool  # whether its verdict rests on a p value
    bound: str  # what passes, in its words


def registered_rule(
    name: str,
    target: type[GateRule] | Callable[..., Verdict | tuple[Verdict, str]],
    options: Mapping[str, object],
) -> RegisteredRule:
    """Make a gate rule of what the user registered, a class or a function.

    Raises
    ------
    RegistryError
        It does not take these options.
    """
    try:
        if isinstance(target, type):
            rule = target(**options)
            return _with_attributes_of(rule, decide=rule.decide)
        inspect.signature(target).bind(None, **options)
        return _with_attributes_of(target, decide=partial(target, **options))
    except Exception as error:
        raise RegistryError(
            f"the gate rule {name} can't be made: {error}",
            hint="check its options under rule:",
        ) from error


def _with_attributes_of(
    source: object, decide: Callable[[Change], Verdict | tuple[Verdict, str]]
) -> RegisteredRule:
    return RegisteredRule(
        decide=decide,
        tests=bool(getattr(source, "tests", False)),
        bound=str(getattr(source, "bound", "")),
    )


def _by_own_rule(comparison: Comparison, p: float, own: GateRule) -> Decision:
    rule = comparison.rule
    pair = comparison.pair
    change = Change(
        metric=pair.name,
        direction=rule.direction,
        baseline=pair.value_baseline,
        current=pair.value_current,
        drop=comparison.drop,
        interval=(comparison.test.low, comparison.test.high),
        p=p,
        differences=comparison.damage,
        max_drop=rule.max_drop,
        alpha=rule.alpha,
        warn_alpha=rule.warn_alpha,
    )
    try:
        verdict, words = _answer_of(own, change, rule.name)
    except MetricError as error:
        failed = Failed(words=error.message, hint="fix the gate rule")
        return _inconclusive(failed)
    if words or verdict is Verdict.INCONCLUSIVE:
        return Decision(verdict, (OwnRule(words=words),))
    return Decision(verdict)


def _answer_of(own: GateRule, change: Change, name: str) -> tuple[Verdict, str]:
    """Ask a rule; return its verdict and its words."""
    who = f"the gate rule {name}, asked about {change.metric},"
    try:
        answer: object = own.decide(change)
    except Exception as error:
        raise MetricError(raised_words(error, who)[1]) from error
    verdict = answer
    words: object = ""
    if isinstance(answer, tuple) and len(answer) == 2:
        verdict, words = answer
    if isinstance(verdict, Verdict) and isinstance(words, str):
        return verdict, words
    expected = "expected a Verdict, or a Verdict and its reason"
    raise MetricError(f"{who} returned {answer!r:.80}: {expected}")
