"""The sentences about checks: for each kind of reason the text, and the way out."""

import typing

import pytest
from msgspec import structs

from pytest_evalmetrics.model import reasons as kinds
from pytest_evalmetrics.model.blindness import AllLost, FewRollouts, FewUnits
from pytest_evalmetrics.model.bounds import (
    AllBound,
    Bound,
    CountBound,
    CoverageBound,
    MostBound,
    RuleBound,
    ShareBound,
    ThresholdBound,
    UntilBound,
)
from pytest_evalmetrics.model.comparison import (
    ComparisonFacts,
    RuleName,
    RuleSettings,
    TaskGroup,
)
from pytest_evalmetrics.model.history import LevelShift, Ratchet, RunMark
from pytest_evalmetrics.model.results import Check
from pytest_evalmetrics.model.scores import RowFailure, ScorerFailures
from pytest_evalmetrics.model.verdicts import Acceptance, Direction, Gate, Verdict
from pytest_evalmetrics.reports.sentences import (
    bound_of,
    drift_sentence,
    hint_of,
    reason_of,
)
from pytest_evalmetrics.reports.sentences.bounds import bound_text
from pytest_evalmetrics.reports.sentences.dispatch import sentence, text_of
from pytest_evalmetrics.reports.sentences.references import change_text

PRACTICAL = RuleSettings(
    rule=RuleName.PRACTICAL,
    direction=Direction.HIGHER,
    alpha=0.01,
    warn_alpha=0.05,
    max_drop=0.01,
)
FACTS = ComparisonFacts(
    baseline=1.0,
    current=0.8,
    drop=0.2,
    drop_low=0.05,
    drop_high=0.35,
    p=0.0078125,
    p_adjusted=0.0078125,
    test="exact sign flip",
    tasks=30,
    units=30,
    worse=6,
    detectable_drop=0.18,
)


def failing(*reasons, **fields):
    """Make a check that does not hold."""
    fields = {"gate": Gate.EXPECT, "name": "n", "verdict": Verdict.FAIL, **fields}
    return Check(reasons=reasons, **fields)


def compared(*reasons, facts=FACTS, rule=PRACTICAL, **fields):
    """Make a check of pass@1 against its baseline."""
    fields = {"acceptance": Acceptance.SNAPSHOT, **fields}
    return failing(
        *reasons,
        **{"gate": Gate.BASELINE, "name": "pass@1", **fields},
        bound=RuleBound(rule),
        comparison=facts,
    )


# -- every kind has a sentence ---------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", typing.get_args(kinds.Reason), ids=lambda kind: kind.__name__
)
def test_each_kind_of_reason_has_a_sentence(kind):
    if kind is kinds.Unpassable:  # a lead to the others
        return
    own = sentence.dispatch(kind) is not sentence.dispatch(object)
    of_reference = text_of.dispatch(kind) is not text_of.dispatch(object)
    assert own or of_reference


@pytest.mark.parametrize("kind", typing.get_args(Bound), ids=lambda kind: kind.__name__)
def test_each_kind_of_bound_has_a_text(kind):
    assert bound_text.dispatch(kind) is not bound_text.dispatch(object)


# -- reasons and ways out --------------------------------------------------------------------

ROW = RowFailure(0, "a.jsonl:3", "http-500", "the server failed", "try again later")
FAILED = ScorerFailures(
    scorer="remote",
    scores=("quality",),
    count=2,
    kinds={"http-500": 2},
    first=(ROW,),
    rows=9,
    examples={"http-500": ROW},
)
REWARDS = {
    "absent": 0,
    "unscored": 1,
    "rollouts": 4,
    "counted": 1,
    "limit": 0.0,
    "columns": ("reward",),
    "is_reward": True,
    "tasks": ("b",),
    "task_count": 1,
}
TABLE = [
    (
        kinds.MissingTasks(expected=5, found=4),
        "1 of 5 tasks is missing: 4 were found",
        "complete the run; or, where the benchmark has shrunk, set expect.tasks",
    ),
    (
        kinds.ExtraTasks(expected=2, found=3),
        "3 tasks were found, 1 too many",
        (
            "look for another run's rollouts in the files; or, if the benchmark has grown, write "
            "expect: {tasks: 3}"
        ),
    ),
    (
        kinds.TooFewRollouts(
            tasks=(kinds.TaskCount("a", 2),),
            count=1,
            of=4,
            expected=3,
            is_stated=True,
            is_allowed=False,
        ),
        "1 of 4 tasks has fewer than 3 rollouts: task a has 2 of 3",
        "complete the run; or allow it: expect: {max_missing: 2%}, or expect: {rollouts: any}",
    ),
    (
        kinds.TooFewRollouts(
            tasks=(kinds.TaskCount("a", 2),),
            count=1,
            of=4,
            expected=3,
            is_stated=False,
            is_allowed=True,
        ),
        "1 of 4 tasks has fewer rollouts than the others: task a has 2 of 3",
        "",
    ),
    (
        kinds.TooManyRollouts(
            tasks=(kinds.TaskCount("a", 4),), count=2, of=4, expected=3
        ),
        "2 of 4 tasks have more than 3 rollouts: task a has 4 and 1 more",
        "look for another run's rollouts in the files; or set num_samples",
    ),
    (
        kinds.MissingRewards(outcome=kinds.MissingOutcome.REFUSED, **REWARDS),
        "one rollout has no finite reward (task b), 25 % of 4 rollouts",
        (
            "complete the run; or say what such a rollout means: "
            "expect: {missing_reward: exclude}, or {missing_reward: 0.0}"
        ),
    ),
    (
        kinds.MissingRewards(
            outcome=kinds.MissingOutcome.ABOVE_LIMIT,
            **{**REWARDS, "absent": 2, "counted": 3, "limit": 0.02},
        ),
        (
            "2 rollouts are absent and one rollout has no finite reward (task b), "
            "75 % of 4 rollouts, more than 2 %"
        ),
        "complete the run; or set expect: {max_missing: ...}",
    ),
    (
        kinds.MissingRewards(
            outcome=kinds.MissingOutcome.FILLED, fill=0.0, **{**REWARDS, "counted": 0}
        ),
        "one rollout has no finite reward (task b): counted as 0.0",
        "",
    ),
    (
        kinds.MissingRewards(
            outcome=kinds.MissingOutcome.LEFT_OUT,
            **{**REWARDS, "columns": ("x", "y"), "is_reward": False},
        ),
        "one rollout has not all of x, y (task b), 25 % of 4 rollouts: left out",
        "",
    ),
    (
        kinds.MissingNumbers(
            metric="mean/tokens",
            score="tokens",
            missing=1,
            rollouts=10,
            limit=0.05,
            is_allowed=False,
        ),
        (
            "1 of 10 rollouts has no finite tokens, 10 %, more than 5 %: "
            "mean/tokens is of the others alone"
        ),
        "complete the run; or say how many may lack it: expect: {max_missing: 2%}",
    ),
    (
        kinds.FailedRows(FAILED),
        (
            "2 of 9 rows have no quality (http-500), such as a.jsonl:3: the server failed "
            "(try again later)"
        ),
        "",
    ),
    (
        kinds.UnansweredReplay(lost=1, of=3),
        "the journal has no answer for 1 of 3 rollouts",
        "run once without replay",
    ),
    (
        kinds.BudgetUsedUp(
            words="the budget of 2 requests was used up",
            left=2,
            of=4,
            uncounted=False,
            rest="2 requests",
        ),
        "the budget of 2 requests was used up, and 2 of 4 rollouts were not asked for",
        (
            "run again, and paid answers come from the journal; or raise the budget; "
            "the rest takes about 2 requests"
        ),
    ),
    (
        kinds.Undefined(metric="median", words="no task has a value"),
        "median is undefined: no task has a value",
        "",
    ),
    (
        kinds.NoInterval(metric="max", words="a hook gives none"),
        "max has no interval: a hook gives none",
        "drop `bound:`, or gate a metric that has an interval",
    ),
    (
        kinds.OutOfBounds(
            metric="pass@1",
            value=0.69999,
            bound=0.7,
            side="below",
            end="point",
            confidence=None,
            tasks=(),
        ),
        "pass@1 is 0.69999, below 0.7",
        "",
    ),
    (
        kinds.OutOfBounds(
            metric="worst_task",
            value=3.0,
            bound=2.0,
            side="above",
            end="upper",
            confidence=0.9,
            tasks=("a", "b"),
        ),
        "the upper 90 % bound of worst_task is 3, above 2 (of a, b)",
        "",
    ),
    (
        kinds.NoBaseline(renamed_from="old"),
        "there is no baseline yet to compare with: was it renamed from old?",
        (
            "record one with `pytest --evalmetrics-update` and commit it; "
            "or name it old as before, whose baseline is unused"
        ),
    ),
    (
        kinds.NoBaseline(is_history=True, history="h.jsonl"),
        (
            "there is no baseline yet to compare with: the history h.jsonl holds no run of "
            "this benchmark that counts, with its tasks"
        ),
        "start with it: `pytest --evalmetrics-update --evalmetrics-history FILE`",
    ),
    (
        kinds.FirstRun("was/report.json"),
        "there is no was/report.json to compare with: this is the first run",
        "",
    ),
    (
        kinds.UnknownAgent(agent="b", known=("a",)),
        "the baseline has no agent 'b': it has 'a'",
        "name the agent as before, or record a new baseline with `pytest --evalmetrics-update`",
    ),
    (
        kinds.LostAgent(agent="a"),
        "this run has no agent 'a', which the baseline has",
        "complete the run, or record a new baseline with `pytest --evalmetrics-update`",
    ),
    (
        kinds.UnknownDirection(metric="own", score="", by_hook=True),
        "nothing says which way is better for own, which a hook computes",
        'write `baseline: {metrics: {"own": {direction: higher}}}`, or lower where less is better',
    ),
    (
        kinds.UnknownDirection(
            metric="mean/loss", score="loss", by_hook=False, declared_lower=True
        ),
        (
            "mean/loss can't be compared with the baseline: the files say that less of loss "
            "is better, and no direction is given"
        ),
        'write `baseline: {metrics: {"mean/loss": {direction: lower}}}`, or higher if more of it is',
    ),
    (
        kinds.NotComparable(metric="pass@1", words="it holds no rewards"),
        "pass@1 can't be compared with the baseline: it holds no rewards",
        "record a new baseline with `pytest --evalmetrics-update`",
    ),
    (
        kinds.UnequalSums(metric="sum/cost", score="cost", before=4, now=6),
        "sum/cost can't be compared with the baseline: it adds up all rollouts, 4 then and 6 now",
        "gate mean/cost, or record a new baseline with `pytest --evalmetrics-update`",
    ),
    (
        kinds.CannotFail(
            metric="pass@1",
            key="max_drop",
            drop=5.0,
            is_rate=True,
            baseline=1.0,
            worst=0.0,
            largest=1.0,
        ),
        "max_drop 5 can never fail: all rewards of pass@1 lie in [0, 1]; did you mean 5%?",
        "choose a max_drop below 1",
    ),
    (
        kinds.CannotFail(
            metric="pass@1",
            key="max_drop",
            drop=1.0,
            is_rate=True,
            baseline=0.3,
            worst=0.0,
            largest=0.3,
        ),
        "max_drop 1 can never fail: all rewards of pass@1 lie in [0, 1]; did you mean 1%?",
        "choose a max_drop below 1",
    ),
    (
        kinds.CannotFail(
            metric="pass@1",
            key="max_drop",
            drop=0.5,
            is_rate=True,
            baseline=0.3,
            worst=0.0,
            largest=0.3,
        ),
        "max_drop 0.5 can never fail: pass@1 was 0.3, and the worst that it can be is 0",
        "choose a max_drop below 0.3",
    ),
    (
        kinds.TaskListChanged(
            expected=4,
            lost=("d",),
            lost_count=1,
            edited=("b",),
            edited_count=1,
            moved=(kinds.TaskMove("a", "z"),),
            moved_count=1,
            new=(kinds.NewTask("e", 0.5), kinds.NewTask("f", None)),
            new_count=2,
            reward="reward",
            is_covered=False,
        ),
        (
            "1 of the baseline's 4 tasks is not in this run: d; 1 of the baseline's 4 tasks "
            "has other content under the same id, which counts as a different task: b; 1 task "
            "moved to another id and is paired by content: a -> z; 2 new tasks not in the "
            "baseline: e (reward 0.5), f"
        ),
        (
            "run all tasks of the baseline; or, if the change is intended, "
            "record it with `pytest --evalmetrics-update --evalmetrics-accept-tasks`"
        ),
    ),
    (
        kinds.BrokenTasks(tasks=("a", "b"), count=2),
        "2 tasks went from all passing to none: a, b",
        "fix them; or, if the change is intended, accept it with `pytest --evalmetrics-update`",
    ),
    (
        kinds.UncomparableTasks(),
        "max_broken can't be judged: the rewards of both sides are not comparable",
        "record a new baseline with `pytest --evalmetrics-update`",
    ),
    (
        kinds.MaxBrokenTooLarge(most=9, tasks=3),
        "max_broken 9 can never fail: 3 tasks are compared",
        "choose a smaller max_broken",
    ),
    (
        kinds.UnknownTask(key="must_pass", pattern="x", guess="its tasks: a, b"),
        "must_pass: this run has no task 'x'; its tasks: a, b",
        "name a task of the benchmark, or complete the run",
    ),
    (
        kinds.Quarantined(
            outcome=kinds.PassCount("a", 1, 4),
            until="2026-01-01",
            why="the sandbox moves",
            is_over=True,
        ),
        "the quarantine of task a ended on 2026-01-01: the sandbox moves; 1 of 4 rollouts pass",
        "fix the task and delete its entry of quarantine:, or give it another day",
    ),
    (
        kinds.MustPassFailed(tasks=(kinds.PassCount("a", 0, 1),), count=1, of=2),
        "1 of 2 tasks of must_pass failed: a (0 of 1 rollout pass)",
        "fix what broke them",
    ),
    (
        kinds.Failed("there is no such file", "name another", place="a.jsonl:3"),
        "a.jsonl:3: there is no such file",
        "name another",
    ),
    (
        kinds.InvalidKey(path="model.url", words="expected a URL"),
        "model.url: expected a URL",
        "fix it and run again: nothing was asked, and nothing paid for",
    ),
    (
        kinds.HookFailed(
            hook="pytest_evalmetrics_benchmark_finished",
            place="conftest.py:3",
            error="ValueError: no",
        ),
        "conftest.py:3: the hook pytest_evalmetrics_benchmark_finished failed: ValueError: no",
        "fix it in the conftest.py or the plugin that defines it",
    ),
    (
        kinds.XfailPassed(),
        "it passes, and is marked xfail (strict): remove the mark",
        "",
    ),
    (
        kinds.NotRecorded(
            cause="incomplete", because=(kinds.MissingTasks(expected=2, found=1),)
        ),
        (
            "no baseline was recorded, because this evaluation is not complete: "
            "1 of 2 tasks is missing: 1 was found"
        ),
        "complete the run first; or say in `expect:` what is missing on purpose",
    ),
    (
        kinds.NotRecorded(cause="drops_tasks", lost_agents=("b",)),
        "no baseline was recorded, because it would drop tasks: this run has no agent 'b'",
        "run all tasks; or, if the change is intended, add --evalmetrics-accept-tasks",
    ),
    (
        kinds.NotRecorded(cause="not_added", words="its tasks differ"),
        "this run was not added to the baseline: its tasks differ",
        "drop --evalmetrics-add-run to record it in place of those runs",
    ),
    (
        kinds.NotRecorded(cause="not_written", words="disk full", file="b.json"),
        "b.json: this baseline can't be written: disk full",
        "give the right or the room to write there; what was there is as it was",
    ),
]


@pytest.mark.parametrize(("reason", "text", "hint"), TABLE)
def test_a_reason_and_its_way_out(reason, text, hint):
    check = failing(reason, acceptance=Acceptance.SNAPSHOT)
    assert reason_of(check) == text
    assert hint_of(check) == hint


def test_a_cause_comes_before_what_it_explains_and_its_way_out_is_that_of_the_other():
    missing = kinds.MissingRewards(outcome=kinds.MissingOutcome.ABOVE_LIMIT, **REWARDS)
    check = failing(kinds.FailedRows(FAILED), missing)
    assert reason_of(check).startswith("2 of 9 rows have no quality (http-500), ")
    assert reason_of(check).endswith(
        "; one rollout has no finite reward (task b), 25 % of 4 rollouts, more than 0 %"
    )
    assert hint_of(check) == "complete the run; or set expect: {max_missing: ...}"


def test_a_check_that_passes_has_no_way_out():
    check = failing(kinds.MissingTasks(expected=5, found=4), verdict=Verdict.PASS)
    assert hint_of(check) == ""


# -- what measures ---------------------------------------------------------------------------


def change(**fields):
    """Make a change of a judge's temperature."""
    fields = {
        "kind": kinds.MeasuredBy.SCORER,
        "entry": "scorer llm-judge",
        "key": "temperature",
        "before": "0",
        "now": "0.7",
        **fields,
    }
    return kinds.MeasurementChange(**fields)


TOOL = {"kind": kinds.MeasuredBy.TOOL, "entry": "tool inspect_ai"}
CHANGES = [
    (change(), "temperature 0 -> 0.7 (scorer llm-judge)"),
    (
        change(kind=kinds.MeasuredBy.REWARD, entry="reward", key="pass_threshold"),
        "pass_threshold 0 -> 0.7",
    ),
    (
        change(entry="scorer exact", key="", before="llm-judge", now="exact"),
        "scorer llm-judge -> exact",
    ),
    (change(key="", before="llm-judge", now="none"), "scorer llm-judge -> none"),
    (
        change(
            kind=kinds.MeasuredBy.ANSWERS,
            entry="answers of m",
            key="",
            before="none",
            now="m",
        ),
        "none -> answers of m",
    ),
]


@pytest.mark.parametrize(("measured", "text"), CHANGES)
def test_a_change_of_what_measures(measured, text):
    assert change_text(measured) == text


@pytest.mark.parametrize(
    ("changes", "acceptance", "hint"),
    [
        (
            (change(),),
            Acceptance.SNAPSHOT,
            (
                "record a new baseline with `pytest --evalmetrics-update`; with `baseline: {rescore: true}` "
                "its rows are kept, and scored again then"
            ),
        ),
        (
            (change(**TOOL),),
            Acceptance.SNAPSHOT,
            (
                "record a new baseline with `pytest --evalmetrics-update`, or score today's run as the "
                "baseline's was"
            ),
        ),
        ((change(),), Acceptance.OTHER_RUN, "compare with a run that holds it"),
        (
            (change(),),
            Acceptance.HISTORY,
            "accept it with `pytest --evalmetrics-update --evalmetrics-history FILE`",
        ),
    ],
)
def test_the_way_out_of_a_change_of_what_measures(changes, acceptance, hint):
    reason = kinds.MeasurementChanged(metric="pass@1", changes=changes)
    check = failing(reason, acceptance=acceptance, verdict=Verdict.INCONCLUSIVE)
    assert hint_of(check) == hint


@pytest.mark.parametrize(
    ("acceptance", "place"),
    [
        (Acceptance.SNAPSHOT, "the baseline"),
        (Acceptance.REPORT, "the baseline"),
        (Acceptance.OTHER_RUN, "the baseline's run"),
        (Acceptance.HISTORY, "the history"),
    ],
)
def test_a_reason_names_what_the_run_is_compared_with(acceptance, place):
    reason = kinds.MeasurementChanged(metric="pass@1", changes=(change(),))
    check = failing(reason, acceptance=acceptance)
    assert reason_of(check) == (
        f"pass@1 can't be compared with {place}: the ruler changed: "
        "temperature 0 -> 0.7 (scorer llm-judge)"
    )


# -- comparisons -----------------------------------------------------------------------------

CHANGE = (
    "pass@1 fell from 1 to 0.8: a loss of 0.2 [0.05, 0.35], p = 0.0078 "
    "(exact sign flip, 30 tasks), 6 worse and 0 better"
)


def facts(**numbers):
    """Change some numbers of the comparison."""
    return structs.replace(FACTS, **numbers)


def test_a_drop_is_described_in_one_line():
    assert reason_of(compared()) == CHANGE


@pytest.mark.parametrize(
    ("acceptance", "way"),
    [
        (Acceptance.SNAPSHOT, "accept it with `pytest --evalmetrics-update`"),
        (Acceptance.OTHER_RUN, "compare with a newer run"),
        (Acceptance.REPORT, "accept its level in evalmetrics-accepted.yaml"),
        (
            Acceptance.HISTORY,
            (
                "accept it with `pytest --evalmetrics-update --evalmetrics-history FILE`: "
                "from that run on the history counts anew"
            ),
        ),
    ],
)
def test_the_way_out_of_a_drop_depends_on_what_it_is_compared_with(acceptance, way):
    hint = hint_of(compared(acceptance=acceptance))
    assert hint == f"fix the regression; or, if the change is intended, {way}"


def test_a_gain_turns_its_interval_around():
    gain = facts(current=1.2, drop=-0.2, drop_low=-0.35, drop_high=-0.05)
    text = reason_of(compared(facts=gain))
    assert text.startswith("pass@1 rose from 1 to 1.2: a gain of 0.2 [0.05, 0.35], ")


def test_the_change_names_proven_tasks_and_the_noise_between_runs():
    shown = facts(proven_tasks=("a",), proven=1, runs=3, run_sd=0.021)
    assert reason_of(compared(facts=shown)) == (
        f"{CHANGE}; worse by their rollouts: a; 3 runs of the baseline, sd 0.021 "
        "between them beyond their tasks"
    )


def test_the_change_names_ten_proven_tasks_and_counts_the_others():
    names = tuple(f"t{number}" for number in range(12))
    shown = facts(proven_tasks=names, proven=14)
    named = "t0, t1, t2, t3, t4, t5, t6, t7, t8, t9 and 4 more"
    assert reason_of(compared(facts=shown)) == (
        f"{CHANGE}; worse by their rollouts: {named}"
    )


FEW = FewUnits(unit="task", units=3, needed=7, alpha=0.01)
MORE = "record more rollouts of each task, or more tasks, on both sides"
ACCEPT = "if the change is intended, accept it with `pytest --evalmetrics-update`"
DECISIONS = [
    (
        kinds.BlindGate(FEW),
        "3 tasks: no drop of any size can reach p < 0.01; 7 are needed, or more rollouts of each, `rule: absolute` or `must_pass`",
        (
            "look at the tasks; to be sure add tasks, or record more rollouts of each on both "
            f"sides; {ACCEPT}"
        ),
    ),
    (
        kinds.BlindGate(FewRollouts(needed=5, alpha=0.01)),
        (
            "a task has too few rollouts: no drop of one task can reach p < 0.01; 5 of each "
            "task are needed on both sides"
        ),
        (
            "look at the tasks; to be sure add tasks, or record more rollouts of each on both "
            f"sides; {ACCEPT}"
        ),
    ),
    (
        kinds.BlindGate(AllLost(alpha=0.01)),
        "all is lost, but too few tasks had anything to lose for p < 0.01",
        (
            "look at the tasks; to be sure add tasks, or record more rollouts of each on both "
            f"sides; {ACCEPT}"
        ),
    ),
    (
        kinds.SharedLevel(alpha=0.01, benchmarks=9, is_surest=True),
        "p < 0.01, but one of 9 benchmarks may be by chance, and it can't be surer than that",
        f"look at the tasks; {ACCEPT}",
    ),
    (
        kinds.NotShown(upper=0.035, max_drop=0.01),
        "the drop may be as large as 0.035, which is more than 0.01: not shown to be no worse",
        MORE,
    ),
    (
        kinds.LowPower(wanted=0.02, visible=0.05, none_differs=False),
        (
            "too few tasks or rollouts: 80 % power to see drops of 0.05 or more, where "
            "require_mde is 0.02"
        ),
        MORE,
    ),
    (
        kinds.LowPower(wanted=0.02, visible=0.05, none_differs=True),
        (
            "too few tasks or rollouts: no two tasks moved differently, but a drop of 0.05 may "
            "go unseen, where require_mde is 0.02"
        ),
        MORE,
    ),
    (
        kinds.LowPower(wanted=0.02, visible=None, none_differs=False),
        "too few tasks or rollouts: the detectable drop is unknown, where require_mde is 0.02",
        MORE,
    ),
    (
        kinds.Untested(cause="few_units"),
        "too few tasks, or clusters, to test a drop: at least two are needed",
        (
            "give it a rule that needs no test, below `baseline: metrics:`, such as "
            "{rule: absolute, max_drop: 0.01}"
        ),
    ),
    (
        kinds.Untested(cause="resampled", words="no passes"),
        "on resampled tasks it is not defined: no passes",
        (
            "give it a rule that needs no test, below `baseline: metrics:`, such as "
            "{rule: absolute, max_drop: 0.01}"
        ),
    ),
    (kinds.OwnRule("too many steps"), "too many steps", MORE),
    (
        kinds.MissingDecide(metric="pass@1", baseline=1.0, current=0.7),
        "missing rewards decide the verdict: at their worst pass@1 would be 0.7 against 1",
        "complete the run: score what has no reward",
    ),
]


@pytest.mark.parametrize(("reason", "text", "hint"), DECISIONS)
def test_a_decision_follows_the_change(reason, text, hint):
    check = compared(reason, verdict=Verdict.INCONCLUSIVE)
    assert reason_of(check) == f"{CHANGE}; {text}"
    assert hint_of(check) == hint


UNFIT = [
    (
        kinds.NothingInCommon(metric="pass@1", excluded=0),
        "pass@1 can't be compared: the run and its baseline have no task in common",
    ),
    (
        kinds.NothingInCommon(metric="pass@1", excluded=3),
        "pass@1 can't be compared: none of its 3 common tasks has a value on both sides",
    ),
    (
        kinds.LowCoverage(
            metric="pass@1",
            paired=3,
            of=5,
            min_coverage=0.9,
            removed=("d",),
            removed_count=1,
            left_out=("e",),
            left_out_count=1,
        ),
        (
            "pass@1 is not judged: 3 of the baseline's 5 tasks can be compared, and "
            "min_coverage is 90 %; gone: d; without a value on one side: e"
        ),
    ),
    (
        kinds.ManyMissing(metric="pass@1", share=0.0501),
        "pass@1 can't be compared: 5.01 % of the rewards are missing",
    ),
]


@pytest.mark.parametrize(("reason", "text"), UNFIT)
def test_what_can_t_be_compared_has_no_change(reason, text):
    assert reason_of(compared(reason, verdict=Verdict.INCONCLUSIVE)) == text


VALUES = [
    (
        kinds.ValueChanged(metric="own", before=0.9, now=0.7, against="the only run"),
        "own fell from 0.9 to 0.7 (the only run)",
        f"fix the regression; or, {ACCEPT}",
    ),
    (
        kinds.NoValue(metric="own"),
        "the baseline has no own",
        f"complete the run; or, {ACCEPT}",
    ),
    (
        kinds.NoValue(metric="own", words="h.jsonl holds no run yet"),
        "h.jsonl holds no run yet",
        "start with it: `pytest --evalmetrics-update --evalmetrics-history FILE`",
    ),
    (
        kinds.Untested(cause="by_hook", metric="own", rule="practical"),
        "own is computed by a hook, without tasks: rule practical can't test it",
        (
            "give it a rule that needs no test, below `baseline: metrics:`, such as "
            "{rule: absolute, max_drop: 0.01}"
        ),
    ),
    (
        kinds.Untested(
            cause="no_interval", metric="own", rule="practical", words="one task"
        ),
        "own has no interval: one task: the rule practical can't judge it",
        (
            "give it a rule that needs no test, below `baseline: metrics:`, such as "
            "{rule: absolute, max_drop: 0.01}"
        ),
    ),
]


@pytest.mark.parametrize(("reason", "text", "hint"), VALUES)
def test_a_number_without_tasks_is_described_by_its_reason(reason, text, hint):
    check = compared(reason, facts=ComparisonFacts(baseline=0.9, current=0.7))
    assert reason_of(check) == text
    assert hint_of(check) == hint


def test_a_rule_of_the_user_that_fails_asks_for_a_fix():
    check = compared(kinds.OwnRule("too many steps"))
    assert hint_of(check) == f"fix the regression; or, {ACCEPT}"


# -- remarks on what passes ------------------------------------------------------------------


def test_a_pass_says_what_could_have_been_seen():
    assert reason_of(compared(verdict=Verdict.PASS)) == (
        "80 % power to see a loss of 0.18 or more"
    )


def test_remarks_follow_the_reason_of_a_pass():
    check = compared(kinds.SmallDrop(p=0.001, max_drop=0.01), verdict=Verdict.PASS)
    assert reason_of(check) == (
        "a real drop (p = 0.001), but under max_drop 0.01; "
        "80 % power to see a loss of 0.18 or more"
    )


def test_a_pass_names_an_improvement_and_the_tasks_that_are_not_compared():
    improved = facts(
        improved=True,
        better=6,
        worse=0,
        excluded=TaskGroup(1, ("x",)),
        removed=TaskGroup(2, ("y", "z")),
        added=TaskGroup(1, ("n",)),
        detectable_drop=None,
    )
    assert reason_of(compared(facts=improved, verdict=Verdict.PASS)) == (
        "better than the baseline: 6 tasks better and 0 worse; 1 task is left out, without "
        "a value on one side: x; 2 tasks are only in the baseline: y, z; 1 task is only in "
        "this run: n"
    )


def test_a_pass_says_that_its_gate_is_blind():
    blind = facts(blind=FEW, detectable_drop=None)
    assert reason_of(compared(facts=blind, verdict=Verdict.PASS)) == (
        "this gate is blind: 3 tasks: no drop of any size can reach p < 0.01; 7 are needed, or more rollouts of each, `rule: absolute` or `must_pass`"
    )


def test_where_no_task_differs_the_share_that_may_is_given():
    same = facts(worse=0, unseen_flips=0.14, detectable_drop=None)
    assert reason_of(compared(facts=same, verdict=Verdict.PASS)) == (
        "no task differs: up to 14 % of them may flip unseen"
    )


def test_an_accepted_change_is_not_explained():
    check = compared(
        kinds.NotShown(upper=0.2, max_drop=0.1), verdict=Verdict.PASS, accepted=True
    )
    assert (reason_of(check), hint_of(check)) == ("", "")


def test_a_baseline_that_its_own_rows_would_not_pass():
    lead = kinds.Unpassable(tasks=("a",), task_count=1)
    few = kinds.ManyMissing(metric="pass@1", share=0.25)
    check = compared(lead, few, verdict=Verdict.WARN)
    assert reason_of(check) == (
        "the same rows would not pass the baseline that this run records: pass@1 can't be "
        "compared: 25 % of the rewards are missing; some rollouts of these tasks have no "
        "number: a"
    )
    assert hint_of(check) == (
        "complete and record the run again, or set `expect: {missing_reward: 0.0}`"
    )


def test_without_missing_numbers_the_way_out_is_that_of_the_reason():
    few = kinds.ManyMissing(metric="pass@1", share=0.25)
    check = compared(kinds.Unpassable((), 0), few, verdict=Verdict.WARN)
    assert hint_of(check) == "complete the run: score what has no reward"


# -- bounds ----------------------------------------------------------------------------------


def rule(name, **settings):
    """Make the bound of a rule."""
    settings = {
        "direction": Direction.HIGHER,
        "alpha": 0.01,
        "warn_alpha": 0.05,
        "max_drop": 0.1,
        **settings,
    }
    return RuleBound(RuleSettings(rule=name, **settings))


BOUNDS = [
    (None, ""),
    (CountBound(least=3, most=3), "== 3"),
    (CountBound(least=3), ">= 3"),
    (ShareBound(0.25), "<= 0.25"),
    (ThresholdBound(least=0.7, most=None), ">= 0.7"),
    (ThresholdBound(least=1.0, most=2.0), ">= 1 and <= 2"),
    (ThresholdBound(least=0.7, most=None, end="lower"), "lower end >= 0.7"),
    (
        ThresholdBound(least=None, most=2.0, end="upper", confidence=0.9),
        "upper 90 % bound <= 2",
    ),
    (CoverageBound(least=0.95, of=40), ">= 95 % of 40 tasks"),
    (MostBound(2), "<= 2"),
    (UntilBound("2026-12-01"), "until 2026-12-01"),
    (AllBound(4), "== 4"),
    (rule(RuleName.EXACT), "no drop (exact)"),
    (rule(RuleName.ABSOLUTE), "drop <= 0.1 (absolute)"),
    (rule(RuleName.RELATIVE), "drop <= 10 % of the baseline (relative)"),
    (rule(RuleName.STATISTICAL), "no drop at p < 0.01 (statistical)"),
    (rule(RuleName.PRACTICAL), "no drop >= 0.1 at p < 0.01 (practical)"),
    (rule(RuleName.NONINFERIOR), "drop shown to be <= 0.1 (noninferior)"),
    (
        rule(RuleName.PRACTICAL, direction=Direction.LOWER),
        "no rise >= 0.1 at p < 0.01 (practical)",
    ),
    (
        rule(RuleName.RELATIVE, direction=Direction.LOWER),
        "rise <= 10 % of the baseline (relative)",
    ),
    (rule(RuleName.OWN, own_name="steps"), "steps"),
    (
        rule(RuleName.OWN, own_name="steps", own_bound="at most 3 more"),
        "at most 3 more (steps)",
    ),
]


@pytest.mark.parametrize(("bound", "text"), BOUNDS)
def test_a_bound(bound, text):
    assert bound_of(failing(bound=bound)) == text


# -- over time -------------------------------------------------------------------------------


def test_a_shift_of_the_level():
    shift = LevelShift(
        benchmark="math",
        agent="a",
        metric="pass@1",
        before=0.8,
        after=0.7,
        runs_before=8,
        runs_after=3,
        first=RunMark("2026-05-01T00:00:00Z", None),
        last=RunMark("2026-05-04T00:00:00Z", "1a2b3c4d5e"),
    )
    assert drift_sentence(shift) == (
        "math: a: pass@1 fell from 0.8 (the mean of 8 runs) to 0.7 (of the last 3): it "
        "began between 2026-05-01 and 2026-05-04 (1a2b3c4)"
    )
    check = failing(kinds.DriftedMetric(shift), gate=Gate.DRIFT)
    assert reason_of(check) == drift_sentence(shift)
    assert hint_of(check) == (
        "find what changed in that range; or accept it with `pytest --evalmetrics-update`"
    )


def test_a_ratchet_of_accepted_changes():
    ratchet = Ratchet(
        benchmark="math",
        agent="",
        metric="pass@1",
        before=0.9,
        after=0.6,
        first=RunMark("2026-05-01T00:00:00Z", None),
        accepted=3,
        reasons=("a cheaper model", "a shorter prompt"),
    )
    assert drift_sentence(ratchet) == (
        "math: pass@1 is 0.6, and was 0.9 in the first baseline, of 2026-05-01: 3 changes "
        "have been accepted since (a cheaper model; a shorter prompt)"
    )
