"""Sentences about churn and separators, and checks that name the first of their tasks."""

import pytest
from msgspec import structs

from pytest_evalmetrics.model import reasons as kinds
from pytest_evalmetrics.model.behaviour import (
    AnswerDistance,
    Churn,
    FeatureChange,
    FeatureKind,
)
from pytest_evalmetrics.model.comparison import ComparisonFacts
from pytest_evalmetrics.model.reasons import (
    TaskListChanged,
    WorseSlice,
    WorseSlices,
)
from pytest_evalmetrics.model.results import Check
from pytest_evalmetrics.model.separators import Separator
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.reports.sentences import reason_of
from pytest_evalmetrics.reports.sentences.behaviour import change_text, churn_text
from pytest_evalmetrics.reports.sentences.brief import brief
from pytest_evalmetrics.reports.sentences.separators import (
    separator_basis,
    separator_text,
)

CHURN = Churn(
    tasks=40,
    changed=0.625,
    floor=0.25,
    distance=0.3125,
    distance_floor=0.125,
    p=0.001,
    is_significant=True,
)
CHANGED = "62.5 % of answers changed in 40 tasks with the same score"


@pytest.mark.parametrize(
    ("measure", "far", "near"),
    [
        (AnswerDistance.WORDS, "31.2 % of their words", "12.5 %"),
        (AnswerDistance.EDIT, "31.2 % of their characters", "12.5 %"),
        (AnswerDistance.EMBEDDINGS, "a cosine distance of 0.312", "0.125"),
    ],
)
def test_churn_stands_beside_that_of_one_run(measure, far, near):
    churn = structs.replace(CHURN, measure=measure)
    floor = f"two answers of one run: 25 %, by {near}"
    assert churn_text(churn) == f"{CHANGED}, by {far} ({floor})"


def test_churn_without_a_second_rollout_has_nothing_beside_it():
    churn = structs.replace(CHURN, floor=None, distance_floor=None)
    assert churn_text(churn) == CHANGED


SEPARATOR = Separator(
    agent="",
    field="kind",
    value="hand",
    tasks_with=10,
    worse_with=9,
    tasks_without=30,
    worse_without=1,
    odds=261.0,
    p=0.00012,
    fields=1,
    values=4,
)


def test_a_separator_counts_tasks_with_its_value_and_without():
    text = "kind hand (9 of 10 worse; others 1 of 30)"
    assert separator_text(SEPARATOR) == text


def test_a_separator_says_among_how_many_values_it_was_found():
    text = "odds 261 : 1, p 0.00012; the surest of 1 field, 4 values"
    assert separator_basis(SEPARATOR) == text


def moved(kind, name, before, now, **more):
    """A feature of 40 tasks that rose in 12 and fell in 3."""
    return FeatureChange(
        kind=kind,
        name=name,
        before=before,
        now=now,
        p=0.001,
        is_significant=True,
        tasks=40,
        rose=12,
        fell=3,
        **more,
    )


IN_SHARES = "75 % of rollouts (25 % before)"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (
            moved(FeatureKind.NUMBER, "tool_calls", 4, 5),
            "25 % more tool calls (4 to 5)",
        ),
        (
            moved(FeatureKind.NUMBER, "tool_calls", 5, 4),
            "20 % fewer tool calls (5 to 4)",
        ),
        (moved(FeatureKind.NUMBER, "tool_calls", 0, 2), "tool calls from 0 to 2"),
        (
            moved(FeatureKind.TOOL, "book", 0.25, 0.75),
            f"`book` is called in {IN_SHARES}",
        ),
        (
            moved(FeatureKind.ORDER, "book", 0.25, 0.75, second="search"),
            f"`book` before `search` in {IN_SHARES}, more often in 12 of 40 tasks",
        ),
        (
            moved(FeatureKind.ORDER, "book", 0.75, 0.25, second="search"),
            f"`search` before `book` in {IN_SHARES}, more often in 3 of 40 tasks",
        ),
        (
            moved(FeatureKind.SHAPE, "book", 0.75, 0.25),
            f"`book` is called with unusual arguments in {IN_SHARES}",
        ),
        (
            moved(FeatureKind.LANGUAGE, "de", 0.25, 0.75),
            f"answers in de in {IN_SHARES}",
        ),
        (
            moved(FeatureKind.STOP, "length", 0.25, 0.75),
            f"end by length in {IN_SHARES}",
        ),
    ],
)
def test_a_feature_that_moved_has_its_sentence(change, text):
    assert change_text(change) == text


TASKS = ("a", "b", "c", "d", "e")


def check(*reasons, comparison=None):
    return Check(
        gate=Gate.BASELINE,
        name="mean_reward",
        verdict=Verdict.FAIL,
        reasons=reasons,
        comparison=comparison,
    )


def test_a_check_in_brief_names_three_proven_tasks_and_counts_all():
    facts = ComparisonFacts(baseline=1.0, current=0.8, proven_tasks=TASKS)
    short = brief(check(comparison=facts)).comparison
    assert (short.proven_tasks, short.proven) == (("a", "b", "c"), 5)


def test_a_check_in_brief_keeps_a_larger_count_of_proven_tasks():
    facts = ComparisonFacts(baseline=1.0, current=0.8, proven_tasks=TASKS, proven=12)
    assert brief(check(comparison=facts)).comparison.proven == 12


def test_a_check_in_brief_names_three_tasks_of_each_list_of_a_reason():
    changed = TaskListChanged(
        expected=30,
        lost=TASKS,
        lost_count=5,
        edited=TASKS[:2],
        edited_count=2,
        moved=(),
        moved_count=0,
        new=(),
        new_count=0,
        reward="reward",
        is_covered=False,
    )
    (reason,) = brief(check(changed)).reasons
    assert (reason.lost, reason.lost_count) == (("a", "b", "c"), 5)
    assert (reason.edited, reason.edited_count) == (("a", "b"), 2)


def test_a_check_in_brief_names_three_tasks_of_each_slice_that_got_worse():
    worse = WorseSlice(
        name="mean_reward[lang=de]",
        before=1.0,
        now=0.5,
        p=0.001,
        tasks=10,
        worse=5,
        worst=TASKS,
    )
    (reason,) = brief(check(WorseSlices(slices=(worse,), count=1, of=4))).reasons
    assert reason.slices == (structs.replace(worse, worst=("a", "b", "c")),)


# -- lists of which the first are named ------------------------------------------------------

FIVE = ("a", "b", "c", "d", "e")
COUNTS = tuple(kinds.TaskCount(name, 2) for name in FIVE)
REWARDS = kinds.MissingRewards(
    outcome=kinds.MissingOutcome.REFUSED,
    absent=0,
    unscored=8,
    rollouts=16,
    counted=8,
    limit=0.0,
    columns=("reward",),
    is_reward=True,
    tasks=FIVE,
    task_count=8,
)
LIST = TaskListChanged(
    expected=20,
    lost=FIVE,
    lost_count=8,
    edited=FIVE,
    edited_count=8,
    moved=tuple(kinds.TaskMove(name, f"{name}2") for name in FIVE),
    moved_count=8,
    new=tuple(kinds.NewTask(name, 1.0) for name in FIVE),
    new_count=8,
    reward="reward",
    is_covered=True,
)
THIRD = "a, b, c and 5 more"
OLD = "of the baseline's 20 tasks"


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (
            REWARDS,
            f"8 rollouts have no finite reward (tasks {THIRD}), 50 % of 16 rollouts",
        ),
        (
            kinds.TooFewRollouts(
                tasks=COUNTS,
                count=8,
                of=20,
                expected=3,
                is_stated=True,
                is_allowed=False,
            ),
            (
                "8 of 20 tasks have fewer than 3 rollouts: task a has 2 of 3, "
                "task b has 2 of 3, task c has 2 of 3 and 5 more"
            ),
        ),
        (
            kinds.TooManyRollouts(tasks=COUNTS, count=8, of=20, expected=1),
            (
                "8 of 20 tasks have more than 1 rollout: task a has 2, task b has 2, "
                "task c has 2 and 5 more"
            ),
        ),
        (
            LIST,
            (
                f"8 {OLD} are not in this run: {THIRD}; "
                f"8 {OLD} have other content under the same id, which counts as a "
                f"different task: {THIRD}; "
                "8 tasks moved to another id and are paired by content: "
                "a -> a2, b -> b2, c -> c2 and 5 more; "
                "8 new tasks not in the baseline: "
                "a (reward 1), b (reward 1), c (reward 1) and 5 more"
            ),
        ),
        (
            kinds.BrokenTasks(tasks=FIVE, count=8),
            "8 tasks went from all passing to none: a, b, c and 5 more",
        ),
    ],
)
def test_a_reason_in_brief_names_three_of_a_list_and_counts_the_others(reason, text):
    check = Check(
        gate=Gate.EXPECT, name="tasks", verdict=Verdict.FAIL, reasons=(reason,)
    )
    assert reason_of(brief(check)) == text
