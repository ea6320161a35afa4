"""What the gates of a new benchmark detect: a line for each drop, and what a smaller one takes."""

import math

import pytest
from msgspec import structs

from pytest_evalmetrics.model.results import Power, PowerGap, PowerSource
from pytest_evalmetrics.reports.sentences.first_look import detectable_text

POWER = Power(
    agent="a",
    metric="pass@1",
    tasks=100,
    rollouts=4,
    mde=0.055,
    max_drop=0.01,
    needed=64,
    source=PowerSource.ROLLOUTS,
)
TITLE = "What its gates detect with 80 % power"
OVER = f"{TITLE}, over 100 tasks x 4 rollouts:\n"


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({}, "a drop of 0.055; 0.01 takes 64 rollouts of each task"),
        ({"needed": None}, "a drop of 0.055; 0.01 takes more tasks"),
        ({"mde": 0.01}, "a drop of 0.01"),
        # of points, to which no common size applies
        ({"mde": 7.5}, "a drop of 7.5"),
        (
            {"mde": math.nan, "unknown": PowerGap.ALL_ALIKE},
            "not known: the rollouts of each task are all alike",
        ),
    ],
)
def test_a_gate_detects_a_drop_and_a_smaller_one_takes_more(changes, line):
    power = structs.replace(POWER, **changes)
    assert detectable_text([power]) == f"{OVER}  pass@1: {line}\n"


def test_gates_of_the_same_drop_share_a_line():
    other = structs.replace(POWER, metric="mean_reward")
    line = "a drop of 0.055; 0.01 takes 64 rollouts of each task"
    assert detectable_text([POWER, other]) == f"{OVER}  pass@1, mean_reward: {line}\n"


def test_gates_of_several_agents_and_sizes_are_told_apart():
    first = structs.replace(POWER, mde=0.01)
    second = structs.replace(first, agent="b", tasks=1)
    assert detectable_text([first, second]) == (
        f"{TITLE}:\n"
        "  a, pass@1: a drop of 0.01 over 100 tasks x 4 rollouts\n"
        "  b, pass@1: a drop of 0.01 over 1 task x 4 rollouts\n"
    )


def test_one_rollout_of_each_task_shows_the_worst_that_may_be():
    power = structs.replace(POWER, mde=0.01, is_worst=True)
    text = detectable_text([power])
    assert text.startswith(f"{OVER}  pass@1: a drop of 0.01 at worst\n")
    assert text.endswith("Record several rollouts\nto see the real ones.\n")


def test_without_gates_there_is_nothing_to_say():
    assert detectable_text([]) == ""
