"""What differs from the baseline beside the numbers: a sentence for each kind."""

from typing import get_args

import msgspec
import pytest

from pytest_evalmetrics.model.behaviour import (
    BehaviourFacts,
    FeatureChange,
    FeatureKind,
    ScoreChange,
)
from pytest_evalmetrics.model.changes import (
    BehaviourChanged,
    ChangeInWords,
    MeasuredAnew,
    NoLongerGated,
    PerhapsNotJudged,
    RolloutsOfTasks,
    RunChange,
    SettingChange,
    TasksFlipped,
    ThresholdChanged,
    UnderTestChanged,
)
from pytest_evalmetrics.model.comparison import TaskGroup
from pytest_evalmetrics.model.reasons import MeasuredBy, MeasurementChange
from pytest_evalmetrics.model.verdicts import Acceptance
from pytest_evalmetrics.reports.sentences.changes import change_texts

JUDGE = MeasurementChange(
    kind=MeasuredBy.SCORER,
    entry="scorer llm-judge",
    key="judge",
    before="m1",
    now="m2",
)
PROMPT = MeasurementChange(
    kind=MeasuredBy.SCORER,
    entry="scorer llm-judge",
    key="prompt",
    before="a",
    now="b",
)
CALLS = FeatureChange(
    kind=FeatureKind.NUMBER,
    name="tool_calls",
    before=2,
    now=3,
    p=0.001,
    is_significant=True,
    tasks=20,
    rose=15,
    fell=0,
)
BUSY = BehaviourFacts(
    agent="coder",
    rollouts=20,
    unread=0,
    tasks=20,
    of_tasks=20,
    changes=(CALLS,),
    score=ScoreChange.SAME,
)
# a group names the first of its tasks
MANY = TaskGroup(12, tuple(f"t{number}" for number in range(10)))

CASES = [
    (ChangeInWords("as a report has it"), "as a report has it"),
    (
        UnderTestChanged(
            (
                SettingChange("temperature", "0", "0.5"),
                SettingChange("seed", "none", "2"),
            )
        ),
        "under test: temperature 0 -> 0.5, seed none -> 2",
    ),
    (
        MeasuredAnew((JUDGE, PROMPT)),
        (
            "the ruler, by which both sides are measured now: judge m1 -> m2 (scorer "
            "llm-judge); prompt a -> b (scorer llm-judge)"
        ),
    ),
    (
        ThresholdChanged("pass@1", ">= 0.5", "none"),
        "threshold pass@1 was >= 0.5, and is none now",
    ),
    (
        NoLongerGated("pass@1", Acceptance.OTHER_RUN, ()),
        "metric pass@1 is in the baseline's run, and is no longer gated",
    ),
    (
        NoLongerGated("pass@1", Acceptance.SNAPSHOT, (0.5, 0.25)),
        "metric pass@1 is in the baseline, and is no longer gated (it was 0.5, 0.25)",
    ),
    (RolloutsOfTasks(2, 1), "rollouts of each task were 2, and are 1 now"),
    (
        RolloutsOfTasks(2, 1, "coder"),
        "rollouts of each task of coder were 2, and are 1 now",
    ),
    (
        TasksFlipped(TaskGroup(1, ("t1",)), TaskGroup(0, ())),
        "1 task went from all passing to none: t1",
    ),
    (
        TasksFlipped(TaskGroup(1, ("t1",)), TaskGroup(2, ("t2", "t3")), "coder"),
        (
            "coder: 1 task went from all passing to none: t1; 2 tasks went "
            "from none passing to all: t2, t3"
        ),
    ),
    (
        TasksFlipped(TaskGroup(0, ()), MANY),
        (
            "12 tasks went from none passing to all: t0, t1, t2, t3, t4, t5, "
            "t6, t7, t8, t9 and 2 more"
        ),
    ),
    (
        PerhapsNotJudged(-1, 2),
        (
            "2 rollouts have the reward -1, and none of the baseline is negative: if it "
            "means that nobody judged them, write `missing: [-1]` under rollouts"
        ),
    ),
    (
        BehaviourChanged(BUSY),
        "behaviour: same score; 50 % more tool calls (2 to 3)",
    ),
    (
        BehaviourChanged(BUSY, "coder"),
        "coder: behaviour: same score; 50 % more tool calls (2 to 3)",
    ),
]


@pytest.mark.parametrize(("change", "text"), CASES)
def test_a_change_has_its_sentence(change, text):
    assert change_texts([change]) == (text,)


@pytest.mark.parametrize(("change", "text"), CASES)
def test_a_change_crosses_processes_as_builtins(change, text):
    received = msgspec.convert(msgspec.to_builtins(change), RunChange)
    assert change_texts([received]) == (text,)


def test_each_kind_of_change_is_among_the_cases():
    assert {type(change) for change, _ in CASES} == set(get_args(RunChange))
