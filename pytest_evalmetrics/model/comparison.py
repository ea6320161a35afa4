"""A metric on both sides of a comparison, and the outcome of comparing them."""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import StrEnum
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from pytest_evalmetrics.model.blindness import Blindness
from pytest_evalmetrics.model.rollout_table import TaskId, TaskRewards
from pytest_evalmetrics.model.verdicts import Direction

_LEAST_P = 1e-300  # a smaller p is known by its logarithm alone
_LOG_LEAST_P = math.log(_LEAST_P)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


# -- how a metric is judged ------------------------------------------------------------------


class RuleName(StrEnum):
    """The built-in rules of the baseline gate."""

    EXACT = "exact"  # any drop fails
    ABSOLUTE = "absolute"  # a drop of more than max_drop
    RELATIVE = "relative"  # a drop of more than the share max_drop of the baseline
    STATISTICAL = "statistical"  # p < alpha
    PRACTICAL = "practical"  # p < alpha and a drop of at least max_drop
    # passes only where the drop is shown to be at most max_drop
    NONINFERIOR = "noninferior"
    OWN = "own"  # a rule that is registered by the user


class RuleSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How one metric is compared with its baseline."""

    rule: RuleName
    own_name: str = ""  # of a rule that is not built in
    own_bound: str = ""  # what it lets pass, in its own words
    own_tests: bool = False  # whether it rests on a p value
    direction: Direction
    alpha: float  # the level at which a rule that tests fails
    warn_alpha: float  # and the one at which it warns
    max_drop: float  # in the metric's unit; a share for `relative`
    # the smallest drop that has to be visible with 80 % power
    require_mde: float | None = None
    benchmarks: int = 1  # of the run, that share `alpha`

    @property
    def name(self) -> str:
        """The rule's name in the benchmark file."""
        return self.own_name or self.rule.value

    @property
    def sign(self) -> float:
        """1 where a fall is damage, -1 where a rise is."""
        return self.direction.sign

    @property
    def tests(self) -> bool:
        """Whether the verdict rests on a p value."""
        if self.rule is RuleName.OWN:
            return self.own_tests
        return self.rule in (RuleName.STATISTICAL, RuleName.PRACTICAL)

    def allowed(self, baseline: float) -> float | None:
        """Return the drop that a rule without a test allows; None for one that tests."""
        # For `relative` the mean over tasks of (1 - share) * baseline - current is
        # above 0 where the mean drop is above share * baseline, by the size of a
        # negative baseline.
        drops = {
            RuleName.EXACT: 0.0,
            RuleName.ABSOLUTE: self.max_drop,
            RuleName.RELATIVE: self.max_drop * abs(baseline),
        }
        return drops.get(self.rule)


class NoiseSource(StrEnum):
    """What shows how far runs of an unchanged system differ as a whole."""

    DECLARED = "declared"  # `run_noise:` in the benchmark file
    BASELINE = "baseline"  # its runs
    HISTORY = "history"  # earlier runs of the benchmark
    NEIGHBOURS = "neighbours"  # runs of other benchmarks of the project
    UNKNOWN = "unknown"


# -- what is compared ------------------------------------------------------------------------


class PairedMetric(msgspec.Struct, frozen=True):
    """One metric on both sides of a comparison, task by task.

    `difference` takes indices into the tasks of the baseline followed by those of the
    run, two arrays of shape (draws, m), repeats allowed, and gives the metric over each
    row of the first less that over the same row of the second, shape (draws,). It and
    `reduce` are None if the metric is the mean over tasks.
    """

    name: str
    tasks: tuple[TaskId, ...]  # those with a value on both sides
    # each task's value, shape (tasks,); None if the metric can't be split into tasks
    baseline: Floats | None
    current: Floats | None
    value_baseline: float
    value_current: float
    # the rollouts behind it, aligned with `tasks`
    rewards_baseline: TaskRewards
    rewards_current: TaskRewards
    difference: Callable[[Ints, Ints], Floats] | None = None
    reduce: Callable[[TaskRewards], float] | None = None
    task_values: Callable[[TaskRewards], Floats] | None = None
    # where the metric is that of one task alone
    extreme: Literal["", "lowest", "highest"] = ""
    excluded: tuple[TaskId, ...] = ()  # common tasks without a value on one side
    added: tuple[TaskId, ...] = ()  # tasks of the run alone
    removed: tuple[TaskId, ...] = ()  # tasks of the baseline alone
    # each task's cluster, shape (tasks,), where the benchmark names a field
    clusters: Ints | None = None
    # reduces values of tasks that occur so many times each, shape (draws, values), to an
    # array of shape (draws,), where the metric offers it
    combine_weighted: Callable[[Floats, Floats], Floats] | None = None
    bounded: bool = False  # a rate in [0, 1]
    # where the metric is this quantile of the tasks' values, or of all rollouts where
    # it has none of tasks
    quantile: float | None = None


class LostRollouts(msgspec.Struct, frozen=True):
    """What each task of the baseline lost on both sides; arrays of shape (tasks,)."""

    before: Floats  # the share of its rollouts without a number, in the baseline
    now: Floats  # the same in the run; 1 for a task that is gone
    values: Floats  # its mean reward in the baseline


# -- what the comparison shows ---------------------------------------------------------------


class Independence(StrEnum):
    """Whether the rollouts of a task say something each, or repeat each other."""

    DECLARED = "declared"  # `independent: true`
    SHOWN = "shown"  # rollouts of a task differ, and explain how runs differ
    DENIED = "denied"  # `independent: false`
    UNSHOWN = "unshown"  # fewer than ten tasks have rollouts that differ
    # more tasks change than the rollouts within them explain, in both directions
    CHURNING = "churning"

    @property
    def is_given(self) -> bool:
        """Whether a test of rollouts may fail a run."""
        return self in (Independence.DECLARED, Independence.SHOWN)


class Untestable(msgspec.Struct, frozen=True):
    """Why nothing could be tested, in the words of whoever refused."""

    # words: the statistic refused a value. resampled: the metric is not defined on the
    # tasks, or the rewards, that a resampling test gives it
    cause: Literal["words", "resampled"]
    words: str


class TestResult(msgspec.Struct, frozen=True, kw_only=True):
    """A one-sided test of no damage at all, and the drop's two-sided interval.

    The interval and `se` are in the metric's unit; NaN where there is none.
    """

    name: str  # as a person calls the test: paired t, exact sign flip
    # NaN if nothing can be tested; never below 1e-300, see `log_p`
    p: float = math.nan
    mid_p: float = math.nan  # of an exact test: P(T > t) + P(T = t) / 2
    df: float = math.nan
    se: float = math.nan
    low: float = math.nan
    high: float = math.nan
    log_tail: float = math.nan  # log p, where p is too small for a number

    __test__ = False  # pytest takes the name for a test's

    @property
    def log_p(self) -> float:
        """The natural logarithm of p, however small p is."""
        if self.p > _LEAST_P or math.isnan(self.log_tail):
            return math.log(self.p)
        return min(self.log_tail, _LOG_LEAST_P)


class TypicalDrop(msgspec.Struct, frozen=True, kw_only=True):
    """The drop of most tasks, without those that extreme rollouts moved most."""

    drop: float  # a trimmed mean over tasks, in the metric's unit
    p: float  # one-sided, that rollouts rank no worse within their tasks
    level: float  # the share of alpha at which this fails by itself
    task: TaskId  # the one that improved most
    before: float  # its values
    now: float


class Coins(msgspec.Struct, frozen=True):
    """Tasks, or clusters of them, each of which may pass or fail as one."""

    count: int
    up: int  # those that had something to lose in the baseline


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """One metric against its baseline; a positive drop is damage, whatever the direction.

    Its tasks have a `RolloutTable`'s order, whatever that of the input, since sums and
    draws depend on the order.
    """

    pair: PairedMetric
    rule: RuleSettings
    # each task's damage, shape (tasks,): of the task's value, or where a metric has
    # none for a task, of its mean reward
    damage: Floats
    # each task's share of the drop, shape (tasks,): `damage`, or the jackknife's
    # pseudo-values; None for a metric that is that of one task alone
    influence: Floats | None
    # each task's cluster, from 0, shape (tasks,); None if tasks are independent
    clusters: Ints | None
    units: int  # independent ones: tasks, or clusters
    span: float  # the largest change of a task: 1 for rates, else as seen
    drop: float  # mean damage, in the metric's unit; NaN without tasks
    test: TestResult
    # p of no change in any task, by relabelling rollouts within tasks; NaN if not needed
    p_rollouts: float = math.nan
    blind: Blindness | None = None  # why no drop of any size could be significant
    # judged by rollouts: too few units for anything else
    by_rollouts: bool = False
    # whether rollouts are independent, where the verdict rests on it
    independence: Independence | None = None
    lost_all: bool = False  # next to nothing is left of what there was to lose
    tasks_with_room: int = 0  # that could get worse
    # where all is lost: the tasks, or clusters, that may each be one coin
    coins: Coins | None = None
    # whether each task of the baseline had half or more of the range to lose
    had_most_to_lose: bool = False
    # the smallest drop that the test sees with 80 % power; NaN where unknown
    detectable: float = math.nan
    # where all tasks moved alike, so that the standard error is 0: the upper bound on
    # the share of tasks that may do otherwise
    unseen: float | None = None
    draws: int = 0  # random swaps behind `p`
    untested: Untestable | None = None
    # of a metric of one task: the tasks that are worse by their own rollouts
    proven: tuple[TaskId, ...] = ()
    runs: int = 1  # of the baseline
    # the noise between its runs beyond that of tasks, in the metric's unit; NaN if unknown
    run_sd: float = math.nan
    # where runs differ by a factor: the one-sided upper bound of the drop at the level of
    # the rule, in the metric's unit; NaN elsewhere
    upper_by_factors: float = math.nan
    noise_source: NoiseSource = NoiseSource.UNKNOWN
    # p of tasks alone, without noise between runs; NaN if nothing can be tested
    p_tasks: float = math.nan
    # with one run of the baseline, whose noise between runs is unknown: the standard
    # deviation between runs that would make the drop no surprise; 0 if it is none
    unseen_run_sd: float = math.nan
    improved: bool = False  # a significant improvement
    seed: int = 0  # of its random numbers
    # what most tasks show, where extreme rollouts could hide it in a mean
    typical: TypicalDrop | None = None

    @property
    def worse(self) -> int:
        """The number of tasks that got worse."""
        return int((self.damage > 0).sum())

    @property
    def better(self) -> int:
        """The number of tasks that got better."""
        return int((self.damage < 0).sum())


# -- the same, as reports keep it ------------------------------------------------------------


class TaskChange(msgspec.Struct, frozen=True):
    """A task that got worse, with its rewards on both sides."""

    task: TaskId
    baseline: tuple[float, ...]
    current: tuple[float, ...]
    drop: float


class TaskGroup(msgspec.Struct, frozen=True):
    """A number of tasks, and the first hundred of them."""

    count: int
    tasks: tuple[str, ...]


class WorstCase(msgspec.Struct, frozen=True):
    """The comparison with missing rewards at their worst values."""

    baseline: float | None
    current: float | None
    drop: float | None
    p_adjusted: float | None
    verdict: str


class ComparisonFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What a report keeps of a comparison; numbers that are undefined are None.

    `drop`, `drop_low`, `drop_high`, `se` and `detectable_drop` are in the metric's
    unit. A positive drop is damage, whatever the direction.
    """

    baseline: float | None
    current: float | None
    drop: float | None = None
    drop_low: float | None = None  # the two-sided interval of the drop at `level`
    drop_high: float | None = None
    level: float = 0.95
    se: float | None = None
    p: float | None = None  # one-sided, of no damage
    p_adjusted: float | None = None  # for the other metrics of the benchmark
    p_rollouts: float | None = None  # of no change in any task
    test: str = ""
    allowed_drop: float | None = None  # of a rule without a test
    tasks: int = 0  # paired
    units: int = 0  # independent ones
    clusters: int | None = None
    rollouts_baseline: int = 0  # of all paired tasks
    rollouts_current: int = 0
    # of one task: the fewest and the most
    samples_baseline: tuple[int, int] | None = None
    samples_current: tuple[int, int] | None = None
    worse: int = 0  # tasks
    better: int = 0
    worst_tasks: tuple[TaskChange, ...] = ()
    # of a metric of one task: those worse by their own rollouts, the first hundred
    proven_tasks: tuple[str, ...] = ()
    proven: int = 0  # in all
    # the smallest drop seen with 80 % power
    detectable_drop: float | None = None
    unseen_flips: float | None = None  # where no task differs: the share that may
    blind: Blindness | None = None
    draws: int | None = None
    seed: str | None = None
    improved: bool = False
    runs: int = 1
    run_sd: float | None = None
    # what shows the noise between runs, where the verdict rests on a test
    run_noise: NoiseSource | None = None
    missing: float = 0.0  # the larger share of missing rewards of both sides
    worst_case: WorstCase | None = None
    min_coverage: float = 1.0
    excluded: TaskGroup = TaskGroup(0, ())
    added: TaskGroup = TaskGroup(0, ())
    removed: TaskGroup = TaskGroup(0, ())
    # of a comparison with a history
    against: str = ""
    anchor: str = ""


class LookFacts(msgspec.Struct, frozen=True, kw_only=True):
    """An interim look at a run that may stop early."""

    number: int  # from 1
    of: int
    rollouts: int  # of each task, so far
    most: int  # of each task, at the last look
    settled: Literal["fail", "pass"] | None = None  # whether the gate is sure
    information: float | None = None  # as a share of that at the last look
    futile_p: float | None = None  # p above which no drop will be proven
    # corrected for the looks
    drop: float | None = None
    drop_low: float | None = None
    drop_high: float | None = None
