"""Why a check has its verdict: one small record a kind, with the numbers in it.

`reports.sentences` writes them for people; nothing else does. A field that is called
`words` holds somebody else's text (an exception's, a user's rule's), which is shown and
never read.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

import msgspec

from pytest_evalmetrics.model.behaviour import FeatureChange, RolloutRule
from pytest_evalmetrics.model.blindness import Blindness
from pytest_evalmetrics.model.comparison import Independence
from pytest_evalmetrics.model.history import MetricDrift
from pytest_evalmetrics.model.scores import ScorerFailures

# -- completeness ----------------------------------------------------------------------------


class MissingTasks(msgspec.Struct, frozen=True, tag="missing_tasks"):
    """Fewer tasks than `expect: tasks` says."""

    expected: int
    found: int


class ExtraTasks(msgspec.Struct, frozen=True, tag="extra_tasks"):
    """More tasks than `expect: tasks` says."""

    expected: int
    found: int


class TaskCount(msgspec.Struct, frozen=True):
    """A task and the number of its rollouts."""

    task: str
    rollouts: int


class TooFewRollouts(msgspec.Struct, frozen=True, tag="too_few_rollouts"):
    """Tasks with fewer rollouts than expected."""

    tasks: tuple[TaskCount, ...]  # the first ten
    count: int  # of such tasks
    of: int  # tasks
    expected: int
    # whether the file says how many there should be, or the other tasks do
    is_stated: bool
    is_allowed: bool  # by max_missing


class TooManyRollouts(msgspec.Struct, frozen=True, tag="too_many_rollouts"):
    """Tasks with more rollouts than expected."""

    tasks: tuple[TaskCount, ...]  # the first ten
    count: int
    of: int
    expected: int


class MissingOutcome(StrEnum):
    """What becomes of rollouts without a reward."""

    REFUSED = "refused"  # `missing_reward: error`
    ABOVE_LIMIT = "above_limit"  # more than max_missing
    FILLED = "filled"  # counted as a stated reward
    LEFT_OUT = "left_out"
    ABSENT = "absent"  # they are not there at all, and few enough


class MissingRewards(msgspec.Struct, frozen=True, tag="missing_rewards"):
    """Rollouts that are absent, or have no finite reward."""

    outcome: MissingOutcome
    absent: int
    unscored: int
    rollouts: int  # that there should be
    counted: int  # of them missing
    limit: float  # the share that may be
    columns: tuple[str, ...]  # what they lack
    is_reward: bool  # whether that is the benchmark's reward
    tasks: tuple[str, ...]  # of unscored rollouts, the first ten
    task_count: int
    fill: float | None = None  # what each counts as


class MissingNumbers(msgspec.Struct, frozen=True, tag="missing_numbers"):
    """Rollouts without a number that a threshold's metric needs."""

    metric: str
    score: str  # empty if the metric reads several
    missing: int
    rollouts: int  # in all
    limit: float
    is_allowed: bool


class MissingSamples(msgspec.Struct, frozen=True, tag="missing_samples"):
    """Aggregates over a part of the samples that their files state."""

    samples: float
    of: float
    is_allowed: bool


class FailedRows(msgspec.Struct, frozen=True, tag="failed_rows"):
    """A scorer failed for rows, so that their scores are missing."""

    failures: ScorerFailures


class UnansweredReplay(msgspec.Struct, frozen=True, tag="unanswered_replay"):
    """A replay whose journal lacks answers."""

    lost: int
    of: int


class BudgetUsedUp(msgspec.Struct, frozen=True, tag="budget_used_up"):
    """Rollouts that were not asked for, because a budget was used up."""

    words: str  # a clause: the budget of 5 requests was used up
    left: int
    of: int
    uncounted: bool  # the answers don't give the tokens that the budget counts
    rest: str = ""  # a forecast of what the rest takes


# -- thresholds ------------------------------------------------------------------------------


class Undefined(msgspec.Struct, frozen=True, tag="undefined"):
    """A metric without a value."""

    metric: str
    words: str  # the metric's


class NoInterval(msgspec.Struct, frozen=True, tag="no_interval"):
    """A threshold on an interval's end, of a metric without an interval."""

    metric: str
    words: str  # the metric's


class OutOfBounds(msgspec.Struct, frozen=True, tag="out_of_bounds"):
    """A value below or above its bound."""

    metric: str
    value: float  # of the metric, or of its interval's end
    bound: float
    side: Literal["below", "above"]
    end: Literal["point", "lower", "upper"]
    # one-sided, of the end; None for that of the 95 % interval
    confidence: float | None
    tasks: tuple[str, ...]  # with the value, of a metric of one task


# -- the reference of a comparison -----------------------------------------------------------


class NoBaseline(msgspec.Struct, frozen=True, tag="no_baseline"):
    """Nothing to compare with yet."""

    renamed_from: str = ""  # an unused baseline that looks like this benchmark's
    is_history: bool = False
    history: str = ""  # the file, where the benchmark names one


class FirstRun(msgspec.Struct, frozen=True, tag="first_run"):
    """The report to compare with is not there, and need not be in a first run."""

    report: str


class UnknownAgent(msgspec.Struct, frozen=True, tag="unknown_agent"):
    """An agent that the reference does not have."""

    agent: str
    known: tuple[str, ...]


class LostAgent(msgspec.Struct, frozen=True, tag="lost_agent"):
    """An agent of the reference that the run does not have."""

    agent: str


class MeasuredBy(StrEnum):
    """What an entry of a measurement's fingerprint is about."""

    REWARD = "reward"  # the score, its pass threshold, and where files hold it
    SCORER = "scorer"
    METRIC = "metric"  # a user's own
    TOOL = "tool"  # that scored the files
    ANSWERS = "answers of"  # the model names that a judge's answers give
    HOOK = "hook"  # that computes metrics


class MeasurementChange(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that measures otherwise than it did."""

    kind: MeasuredBy
    entry: str  # of the fingerprint: `scorer llm-judge`, `metric own`, `reward`
    # of that entry; empty if the whole entry is new, gone or another one, whose names
    # are `before` and `now` then
    key: str
    before: str  # `none` if it was not there
    now: str
    is_reading: bool = False  # where files hold the rewards
    scores: tuple[str, ...] = ()  # affected by it; empty if it is no scorer

    @property
    def by_scorer(self) -> bool:
        """Whether scores must be computed again: metrics always are, on both sides."""
        return self.kind is MeasuredBy.SCORER

    @property
    def by_tool(self) -> bool:
        """Whether another tool scored: its scores can't be computed again."""
        of_tool = self.kind in (MeasuredBy.TOOL, MeasuredBy.ANSWERS)
        return of_tool or self.is_reading


class MeasurementChanged(msgspec.Struct, frozen=True, tag="measurement_changed"):
    """What measures a metric is not what measured the reference."""

    metric: str
    changes: tuple[MeasurementChange, ...]


class JudgeShift(msgspec.Struct, frozen=True, kw_only=True):
    """The change of a judge's scores of the anchors since the baseline."""

    # the score that the judge gives
    score: str
    # anchors that both runs scored
    anchors: int
    # the mean of the judge's score now less then, and its interval of 99 %
    shift: float
    low: float
    high: float
    # anchors on which the judge says what people say
    agreed_before: int
    agreed_now: int

    @property
    def has_moved(self) -> bool:
        """Whether the judge's scores changed by more than their noise explains."""
        return self.low > 0 or self.high < 0

    def explains(self, drop: float) -> bool:
        """Whether a change of the judge within the interval may be as large as a drop."""
        return max(abs(self.low), abs(self.high)) >= abs(drop)


class MovedBy(StrEnum):
    """What changed a score since the baseline, by the anchors."""

    JUDGE = "judge"
    SYSTEM = "system"
    UNCLEAR = "unclear"  # the anchors are too few to tell


class Attributed(msgspec.Struct, frozen=True, tag="attributed"):
    """What a change of a judge's score is put down to."""

    moved: MovedBy
    shift: JudgeShift


class UnknownDirection(msgspec.Struct, frozen=True, tag="unknown_direction"):
    """Nothing says which way of a metric is better."""

    metric: str
    score: str
    by_hook: bool
    # the files that declare it say that less is better, and the benchmark file nothing
    declared_lower: bool = False


class NotComparable(msgspec.Struct, frozen=True, tag="not_comparable"):
    """The metric can't be computed on both sides."""

    metric: str
    words: str  # of the error
    hint: str = ""  # of the error


class UnequalSums(msgspec.Struct, frozen=True, tag="unequal_sums"):
    """A sum over another number of rollouts."""

    metric: str
    score: str
    before: int
    now: int


class CannotFail(msgspec.Struct, frozen=True, tag="cannot_fail"):
    """A drop that no rewards can show."""

    metric: str
    key: Literal["max_drop", "require_mde"]
    drop: float
    is_rate: bool  # all rewards lie in [0, 1]
    baseline: float
    worst: float  # the worst value that the metric can have
    largest: float  # the largest drop that can be asked for, exclusive


class TaskMove(msgspec.Struct, frozen=True):
    """A task that has another id now."""

    before: str
    now: str


class NewTask(msgspec.Struct, frozen=True):
    """A task that the reference lacks, with the mean of its rewards."""

    task: str
    reward: float | None


class TaskListChanged(msgspec.Struct, frozen=True, tag="task_list_changed"):
    """The tasks of a run differ from those of its reference; each list is cut at 100."""

    expected: int  # tasks of the reference
    lost: tuple[str, ...]
    lost_count: int
    edited: tuple[str, ...]  # other content under the same id
    edited_count: int
    moved: tuple[TaskMove, ...]  # same content under another id
    moved_count: int
    new: tuple[NewTask, ...]
    new_count: int
    reward: str
    is_covered: bool  # by min_coverage


# -- comparisons -----------------------------------------------------------------------------


class NothingInCommon(msgspec.Struct, frozen=True, tag="nothing_in_common"):
    """No task can be paired."""

    metric: str
    excluded: int  # common tasks without a value on both sides


class LowCoverage(msgspec.Struct, frozen=True, tag="low_coverage"):
    """Too few of the reference's tasks are compared."""

    metric: str
    paired: int
    of: int
    min_coverage: float
    removed: tuple[str, ...]  # the first ten
    removed_count: int
    left_out: tuple[str, ...]  # without a value on one side, the first ten
    left_out_count: int


class ManyMissing(msgspec.Struct, frozen=True, tag="many_missing"):
    """So many rewards are missing that nothing can be said."""

    metric: str
    share: float


class MissingDecide(msgspec.Struct, frozen=True, tag="missing_decide"):
    """The verdict depends on what the missing rewards would be."""

    metric: str
    baseline: float
    current: float


class LostWhereItFails(msgspec.Struct, frozen=True, tag="lost_where_it_fails"):
    """More is missing than in the baseline, not at random, and it decides the verdict."""

    metric: str
    baseline: float  # with what is missing at its worst
    current: float
    p_side: float  # of a loss that does not depend on the side
    p_outcome: float  # and of one that does not depend on the tasks' rewards


class Untested(msgspec.Struct, frozen=True, tag="untested"):
    """The drop can't be tested.

    ===========  ===================================================================
    cause        what is missing
    ===========  ===================================================================
    few_units    two tasks, or clusters, that could be compared
    no_bound     tasks enough to bound the drop from above
    words        what the statistic's `words` say
    resampled    the metric on resampled tasks: `words` are its own
    by_hook      tasks: a hook computes the metric
    no_interval  an interval of the metric, for the reason that its `words` give
    ===========  ===================================================================
    """

    cause: Literal[
        "few_units", "no_bound", "words", "resampled", "by_hook", "no_interval"
    ]
    words: str = ""  # of the statistic or the metric
    metric: str = ""
    rule: str = ""  # its name in the benchmark file
    max_drop: float = 0.0  # of that rule


class SmallDrop(msgspec.Struct, frozen=True, tag="small_drop"):
    """A real drop, under the one that matters."""

    p: float
    max_drop: float


class HiddenDrop(msgspec.Struct, frozen=True, kw_only=True, tag="hidden_drop"):
    """Most tasks got worse, and a few extreme rollouts hide it in the mean."""

    drop: float  # of most tasks, in the metric's unit
    p: float  # one-sided, by the ranks of rollouts within tasks
    task: str  # the one that hides most
    before: float  # its values
    now: float


class BlindGate(msgspec.Struct, frozen=True, tag="blind_gate"):
    """A drop that no test could prove with so few tasks or rollouts."""

    cause: Blindness


class UnknownRunNoise(msgspec.Struct, frozen=True, tag="unknown_run_noise"):
    """A drop that little noise between runs would explain, which one run can't show."""

    sd: float  # of that noise, in the metric's unit


class SharedLevel(msgspec.Struct, frozen=True, tag="shared_level"):
    """Surprising for one benchmark, but not for one of so many."""

    alpha: float
    benchmarks: int
    is_surest: bool  # so few tasks can't be surer


class NothingCanFail(msgspec.Struct, frozen=True, tag="nothing_can_fail"):
    """A new baseline against which not even a loss of everything would fail."""

    metric: str
    tasks: int  # of the baseline
    rollouts: int  # of each task, at most
    alpha: float


class Confirmation(msgspec.Struct, frozen=True, kw_only=True, tag="confirmation"):
    """One more round of rollouts that a failure had to stand."""

    tasks: int  # that got worse in the first round
    controls: int  # as many others
    rollouts: int  # of each of them in the second round
    # whether both rounds together fail, and the second is worse by itself
    is_confirmed: bool
    # adjusted for the other metrics; None where a check has no p
    p_first: float | None
    p_both: float | None
    # by how much these tasks' mean reward was worse; None if unknown
    drop_first: float | None
    drop_second: float | None


class NotShown(msgspec.Struct, frozen=True, tag="not_shown"):
    """The drop is not shown to be small enough."""

    upper: float
    max_drop: float


class LowPower(msgspec.Struct, frozen=True, tag="low_power"):
    """The test could miss the drop that `require_mde` names."""

    wanted: float
    visible: float | None  # the smallest drop that it sees; None if unknown
    none_differs: bool  # no two tasks moved differently


class OwnRule(msgspec.Struct, frozen=True, tag="own_rule"):
    """What a rule says that is not built in."""

    words: str


class NoValue(msgspec.Struct, frozen=True, tag="no_value"):
    """The reference has no number for a metric."""

    metric: str
    words: str = ""  # why the history has none


class ValueChanged(msgspec.Struct, frozen=True, tag="value_changed"):
    """A number without tasks that is worse than the recorded one."""

    metric: str
    before: float
    now: float
    against: str = ""  # which of the history's numbers that is


class Unpassable(msgspec.Struct, frozen=True, tag="unpassable"):
    """The rows of a new baseline would not pass it themselves."""

    tasks: tuple[str, ...]  # that lack numbers, the first ten
    task_count: int


# -- single tasks ----------------------------------------------------------------------------


class BrokenTasks(msgspec.Struct, frozen=True, tag="broken_tasks"):
    """Tasks whose rollouts all passed and all fail now."""

    tasks: tuple[str, ...]  # the first ten
    count: int


class UncomparableTasks(msgspec.Struct, frozen=True, tag="uncomparable_tasks"):
    """`max_broken` without comparable rewards on both sides."""


class MaxBrokenTooLarge(msgspec.Struct, frozen=True, tag="max_broken_too_large"):
    """A `max_broken` that can't fail."""

    most: int
    tasks: int


class UnknownTask(msgspec.Struct, frozen=True, tag="unknown_task"):
    """An entry that names no task of the run."""

    key: Literal["must_pass", "quarantine"]
    pattern: str
    guess: str  # the name that was meant, and the known ones


class PassCount(msgspec.Struct, frozen=True):
    """A task's passing rollouts."""

    task: str
    passed: int
    rollouts: int


class Quarantined(msgspec.Struct, frozen=True, tag="quarantined"):
    """A task that is measured and not gated, or whose time for that is over."""

    outcome: PassCount
    until: str
    why: str  # the file's words
    is_over: bool


class MustPassFailed(msgspec.Struct, frozen=True, tag="must_pass_failed"):
    """Tasks of `must_pass` with a rollout that fails."""

    tasks: tuple[PassCount, ...]  # the first ten
    count: int
    of: int


class WorseTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task that got worse by more than its rollouts explain."""

    task: str
    before: float  # its mean reward
    now: float
    p: float  # adjusted for the other tasks; may underflow to 0
    log10_p: float  # the same, as a power of ten


class WorseTasks(msgspec.Struct, frozen=True, kw_only=True, tag="worse_tasks"):
    """Tasks that got worse by more than their rollouts explain."""

    tasks: tuple[WorseTask, ...]  # the first ten, the surest first
    count: int
    of: int  # tasks
    reward: str


class WorseSlice(msgspec.Struct, frozen=True, kw_only=True):
    """A slice that got worse: the tasks of one value of a field."""

    name: str  # of the metric, with the slice: mean_reward[lang=de]
    before: float
    now: float
    p: float  # adjusted for the other slices
    tasks: int  # of the slice
    worse: int  # of them
    worst: tuple[str, ...]  # the first ten of these, the largest drop first


class WorseSlices(msgspec.Struct, frozen=True, kw_only=True, tag="worse_slices"):
    """Slices that got worse by more than their tasks explain."""

    slices: tuple[WorseSlice, ...]  # the first ten, the surest first
    count: int
    of: int  # slices that are tested


class DependentRollouts(msgspec.Struct, frozen=True, tag="dependent_rollouts"):
    """A finding that rests on rollouts of which nothing shows that they are independent."""

    independence: Independence


class SingleTasksUnseen(msgspec.Struct, frozen=True, tag="single_tasks_unseen"):
    """Too few rollouts of each task to see the break of any single one."""

    tasks: int
    sees_some: bool  # whether a break of some of them could be proven
    rollouts: int  # of each task, on the side with fewer
    needed: int  # of each task, on both sides


# -- what kept a benchmark from being judged -------------------------------------------------


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """An error: its message and its way out."""

    words: str
    hint: str = ""
    place: str = ""  # the file, with the line if it is known


class InvalidKey(msgspec.Struct, frozen=True, tag="invalid_key"):
    """A key of the benchmark file that turned out to be invalid before anything was paid."""

    path: str
    words: str
    # the metrics whose direction nothing declares, if that is what is wrong
    undeclared: tuple[str, ...] = ()


class HookFailed(msgspec.Struct, frozen=True, tag="hook_failed"):
    """A user's hook that raised."""

    hook: str
    place: str  # file:line, if it is known
    error: str  # its type and words


class DriftedMetric(msgspec.Struct, frozen=True, tag="drifted_metric"):
    """A metric that drifts over the history."""

    drift: MetricDrift


class XfailPassed(msgspec.Struct, frozen=True, tag="xfail_passed"):
    """A strict xfail that passes."""


class NotRecorded(msgspec.Struct, frozen=True, tag="not_recorded"):
    """A baseline that was not written."""

    cause: Literal[
        "incomplete", "drops_tasks", "not_added", "not_as_reported", "not_written"
    ]
    words: str = ""  # of the error, or why the runs don't fit
    because: tuple[Reason, ...] = ()  # why the evaluation is incomplete
    file: str = ""
    lost_agents: tuple[str, ...] = ()
    # by agent, the empty name for the only one: the tasks that would be dropped
    dropped: tuple[tuple[str, TaskListChanged], ...] = ()


# -- behaviour -------------------------------------------------------------------------------


class BehaviourMoved(msgspec.Struct, frozen=True, tag="behaviour_moved"):
    """A feature of behaviour rose or fell."""

    change: FeatureChange
    # a share of the baseline, or points of a rate; None for a rise from 0
    by: float | None
    limit: float  # in the same unit
    is_proven: bool  # whether chance doesn't explain that it moved


class OrderChanged(msgspec.Struct, frozen=True, tag="order_changed"):
    """Tools are called in another order than in the baseline."""

    changes: tuple[FeatureChange, ...]


class RuleBroken(msgspec.Struct, frozen=True, tag="rule_broken"):
    """Rollouts break a rule on what they do."""

    rule: RolloutRule
    count: int
    rollouts: int
    tasks: tuple[str, ...]  # the first ten
    task_count: int


class NoBehaviour(msgspec.Struct, frozen=True, tag="no_behaviour"):
    """Nothing is known of what rollouts do."""

    in_baseline: bool  # of the baseline's rollouts; else of the run's


Reason = (
    MissingTasks
    | ExtraTasks
    | TooFewRollouts
    | TooManyRollouts
    | MissingRewards
    | MissingNumbers
    | MissingSamples
    | FailedRows
    | UnansweredReplay
    | BudgetUsedUp
    | Undefined
    | NoInterval
    | OutOfBounds
    | NoBaseline
    | FirstRun
    | UnknownAgent
    | LostAgent
    | MeasurementChanged
    | Attributed
    | UnknownDirection
    | NotComparable
    | UnequalSums
    | CannotFail
    | NothingCanFail
    | Confirmation
    | TaskListChanged
    | NothingInCommon
    | LowCoverage
    | ManyMissing
    | MissingDecide
    | LostWhereItFails
    | Untested
    | SmallDrop
    | HiddenDrop
    | BlindGate
    | UnknownRunNoise
    | SharedLevel
    | NotShown
    | LowPower
    | OwnRule
    | NoValue
    | ValueChanged
    | Unpassable
    | BrokenTasks
    | UncomparableTasks
    | MaxBrokenTooLarge
    | UnknownTask
    | Quarantined
    | MustPassFailed
    | WorseTasks
    | WorseSlices
    | DependentRollouts
    | SingleTasksUnseen
    | Failed
    | InvalidKey
    | HookFailed
    | DriftedMetric
    | XfailPassed
    | NotRecorded
    | BehaviourMoved
    | OrderChanged
    | RuleBroken
    | NoBehaviour
)
