"""What is said of an agent that does otherwise than before."""

import pytest
from msgspec import structs

from pytest_evalmetrics.model.behaviour import (
    AnswerDistance,
    BehaviourFacts,
    Churn,
    FeatureChange,
    FeatureKind,
    RolloutRule,
    RuleKind,
    ScoreChange,
    TaskMove,
)
from pytest_evalmetrics.model.reasons import (
    BehaviourMoved,
    NoBehaviour,
    OrderChanged,
    RuleBroken,
)
from pytest_evalmetrics.model.results import Check
from pytest_evalmetrics.model.verdicts import Acceptance, Gate, Verdict
from pytest_evalmetrics.reports.sentences import hint_of, reason_of
from pytest_evalmetrics.reports.sentences.behaviour import (
    behaviour_details,
    behaviour_sentence,
    change_text,
    churn_text,
)


def change(kind, name, before, now, **fields):
    fields = {"p": 0.001, "tasks": 20, "rose": 12, "fell": 3, **fields}
    return FeatureChange(
        kind=kind, name=name, before=before, now=now, is_significant=True, **fields
    )


MORE_CALLS = change(FeatureKind.NUMBER, "tool_calls", 4.0, 5.0)
ORDER = change(FeatureKind.ORDER, "search", 0.2, 0.7, second="book")
LONGER = change(FeatureKind.NUMBER, "answer_chars", 100.0, 130.0)
CHURN = Churn(
    tasks=30,
    changed=0.4,
    floor=0.1,
    distance=0.25,
    distance_floor=0.05,
    p=0.001,
    is_significant=True,
)


def facts(*changes, **fields):
    return BehaviourFacts(
        agent="a",
        rollouts=40,
        unread=0,
        tasks=20,
        of_tasks=20,
        changes=changes,
        **fields,
    )


# -- one feature -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("moved", "text"),
    [
        (MORE_CALLS, "25 % more tool calls (4 to 5)"),
        (
            change(FeatureKind.NUMBER, "steps", 4.0, 3.0),
            "25 % fewer steps (4 to 3)",
        ),
        (
            change(FeatureKind.NUMBER, "citations", 0.0, 1.5),
            "citations from 0 to 1.5",
        ),
        (
            change(FeatureKind.NUMBER, "my_feature", 2.0, 3.0),
            "50 % more my_feature (2 to 3)",
        ),
        (
            change(FeatureKind.RATE, "refusals", 0.05, 0.2),
            "refusals in 20 % of rollouts (5 % before)",
        ),
        (
            change(FeatureKind.RATE, "my_rate", 0.05, 0.2),
            "my_rate in 20 % of rollouts (5 % before)",
        ),
        (
            change(FeatureKind.TOOL, "search", 0.9, 0.4),
            "`search` is called in 40 % of rollouts (90 % before)",
        ),
        (
            ORDER,
            (
                "`search` before `book` in 70 % of rollouts (20 % before), more often in 12 of "
                "20 tasks"
            ),
        ),
        (
            change(FeatureKind.ORDER, "search", 0.7, 0.2, second="book"),
            (
                "`book` before `search` in 80 % of rollouts (30 % before), more often in 3 of "
                "20 tasks"
            ),
        ),
        (
            change(FeatureKind.SHAPE, "search", 0.9, 0.4),
            "`search` is called with unusual arguments in 60 % of rollouts (10 % before)",
        ),
        (
            change(FeatureKind.LANGUAGE, "German", 0.0, 0.3),
            "answers in German in 30 % of rollouts (0 % before)",
        ),
        (
            change(FeatureKind.STOP, "length", 0.1, 0.3),
            "end by length in 30 % of rollouts (10 % before)",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_change_of_a_feature_has_a_text(moved, text):
    assert change_text(moved) == text


# -- answers ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("churn", "text"),
    [
        (
            CHURN,
            (
                "40 % of answers changed in 30 tasks with the same score, by 25 % of their words "
                "(two answers of one run: 10 %, by 5 %)"
            ),
        ),
        (
            structs.replace(CHURN, measure=AnswerDistance.EDIT),
            (
                "40 % of answers changed in 30 tasks with the same score, by 25 % of their "
                "characters (two answers of one run: 10 %, by 5 %)"
            ),
        ),
        (
            structs.replace(CHURN, measure=AnswerDistance.EMBEDDINGS),
            (
                "40 % of answers changed in 30 tasks with the same score, by a cosine distance of "
                "0.25 (two answers of one run: 10 %, by 0.05)"
            ),
        ),
        (
            structs.replace(CHURN, floor=None, distance_floor=None, tasks=1),
            "40 % of answers changed in 1 task with the same score",
        ),
    ],
    ids=["words", "characters", "embeddings", "one rollout of each task"],
)
def test_changed_answers_have_a_text(churn, text):
    assert churn_text(churn) == text


# -- the line of a benchmark -----------------------------------------------------------------


def test_nothing_is_said_where_nothing_changed():
    assert behaviour_sentence(facts()) == ""


def test_what_agents_do_comes_before_how_they_answer():
    text = behaviour_sentence(facts(LONGER, ORDER, MORE_CALLS))
    parts = ["25 % more tool calls", "`search` before `book`", "30 % more characters"]
    assert text.startswith("behaviour: ")
    assert sorted(parts, key=text.index) == parts


def test_more_steps_are_not_said_beside_more_calls():
    steps = change(FeatureKind.NUMBER, "steps", 4.0, 6.0)
    text = behaviour_sentence(facts(steps, MORE_CALLS))
    assert text == "behaviour: 25 % more tool calls (4 to 5)"


def test_more_steps_alone_are_said():
    steps = change(FeatureKind.NUMBER, "steps", 4.0, 6.0)
    assert behaviour_sentence(facts(steps)) == "behaviour: 50 % more steps (4 to 6)"


def test_changed_answers_are_said_behind_the_features():
    text = behaviour_sentence(facts(MORE_CALLS, churn=CHURN))
    assert text == f"behaviour: 25 % more tool calls (4 to 5); {churn_text(CHURN)}"


def test_answers_that_chance_changed_are_not_said():
    churn = structs.replace(CHURN, is_significant=False)
    assert behaviour_sentence(facts(churn=churn)) == ""


@pytest.mark.parametrize(
    ("score", "text"),
    [
        (ScoreChange.SAME, "behaviour: same score; 25 % more tool calls (4 to 5)"),
        (
            ScoreChange.NOT_SHOWN,
            "behaviour: no change of the score is shown; 25 % more tool calls (4 to 5)",
        ),
        (ScoreChange.CHANGED, "behaviour: 25 % more tool calls (4 to 5)"),
    ],
)
def test_the_score_beside_the_behaviour_is_said(score, text):
    assert behaviour_sentence(facts(MORE_CALLS, score=score)) == text


# -- details ---------------------------------------------------------------------------------


def test_details_say_how_sure_a_change_is_and_where_it_is_largest():
    moves = (TaskMove("t1", 2, 9), TaskMove("t2", 3, 5.5))
    lines = behaviour_details(facts(structs.replace(MORE_CALLS, most=moves)))
    assert lines == [
        (
            "behaviour: 25 % more tool calls (4 to 5), p = 0.001; most in t1 (2 to 9), "
            "t2 (3 to 5.5)"
        )
    ]


def test_details_of_what_was_not_tested_have_no_p():
    lines = behaviour_details(facts(structs.replace(MORE_CALLS, p=None)))
    assert lines == ["behaviour: 25 % more tool calls (4 to 5)"]


# -- reasons and ways out --------------------------------------------------------------------


def failing(reason):
    return Check(
        gate=Gate.BEHAVIOUR,
        name="behaviour",
        verdict=Verdict.FAIL,
        reasons=(reason,),
        acceptance=Acceptance.SNAPSHOT,
    )


def moved(feature, **fields):
    return BehaviourMoved(
        change=feature, **{"by": 0.25, "limit": 0.1, "is_proven": True, **fields}
    )


REFUSALS = change(FeatureKind.RATE, "refusals", 0.05, 0.2)


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (
            moved(MORE_CALLS),
            "25 % more tool calls (4 to 5), p = 0.001: more than the 10 % that are allowed",
        ),
        (
            moved(MORE_CALLS, is_proven=False),
            (
                "25 % more tool calls (4 to 5), p = 0.001: more than the 10 % that are allowed, "
                "and chance may explain it"
            ),
        ),
        (
            moved(REFUSALS),
            (
                "refusals in 20 % of rollouts (5 % before), p = 0.001: more than the 10 points "
                "that are allowed"
            ),
        ),
        (
            OrderChanged((ORDER,)),
            (
                "tools are called in another order: `search` before `book` in 70 % of rollouts "
                "(20 % before), more often in 12 of 20 tasks"
            ),
        ),
        (
            NoBehaviour(in_baseline=True),
            "the baseline does not hold what its rollouts did",
        ),
        (
            NoBehaviour(in_baseline=False),
            "no rollout has a transcript that can be read",
        ),
    ],
)
def test_a_changed_behaviour_has_a_reason(reason, text):
    assert reason_of(failing(reason)) == text


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (
            RolloutRule(RuleKind.FORBIDDEN_TOOL, ("pay",)),
            "called `pay`, which is forbidden",
        ),
        (
            RolloutRule(RuleKind.REQUIRED_TOOL, ("search",)),
            "never called `search`, which is required",
        ),
        (
            RolloutRule(RuleKind.FORBIDDEN_SEQUENCE, ("book", "search")),
            "called `book`, then `search`, an order that is forbidden",
        ),
        (
            RolloutRule(RuleKind.REQUIRED_SEQUENCE, ("search", "book")),
            "did not call `search`, then `book`, an order that is required",
        ),
        (
            RolloutRule(RuleKind.MOST, ("tool_calls",), 8.0),
            "had more than 8 tool calls",
        ),
        (RolloutRule(RuleKind.LEAST, ("mine",), 1.5), "had fewer than 1.5 mine"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_broken_rule_has_a_reason(rule, text):
    reason = RuleBroken(rule=rule, count=3, rollouts=40, tasks=("a", "b"), task_count=2)
    assert reason_of(failing(reason)) == f"3 of 40 rollouts {text}: a, b"


@pytest.mark.parametrize(
    ("reason", "way_out"),
    [
        (
            moved(MORE_CALLS),
            (
                "restore what the agent did; or, if the change is intended, accept it with "
                "`pytest --evalmetrics-update`"
            ),
        ),
        (
            OrderChanged((ORDER,)),
            (
                "restore what the agent did; or, if the change is intended, accept it with "
                "`pytest --evalmetrics-update`"
            ),
        ),
        (
            RuleBroken(
                rule=RolloutRule(RuleKind.REQUIRED_TOOL, ("search",)),
                count=1,
                rollouts=4,
                tasks=("a",),
                task_count=1,
            ),
            "fix the agent; or say how many rollouts may: behaviour: {allow: 1%}",
        ),
        (
            NoBehaviour(in_baseline=True),
            "record a new baseline with `pytest --evalmetrics-update`",
        ),
        (
            NoBehaviour(in_baseline=False),
            "record rollouts with their messages; see the documentation of behaviour",
        ),
    ],
)
def test_a_changed_behaviour_has_a_way_out(reason, way_out):
    assert hint_of(failing(reason)) == way_out
