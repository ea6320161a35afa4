"""What the gates of a run can detect: a table for each benchmark, and what it means."""

import math

import pytest
from msgspec import structs

from pytest_evalmetrics.model.results import Power, PowerGap, PowerSource
from pytest_evalmetrics.reports.power import power_lines

POWER = Power(
    agent="a",
    metric="pass@1",
    tasks=100,
    rollouts=4,
    mde=0.0554,
    max_drop=0.01,
    needed=64,
    source=PowerSource.ROLLOUTS,
)
NOTE = (
    "detects: the smallest drop that is found in 80 % of runs, if only sampling varies "
    "between them; needs: the rollouts of each task, on both sides, that detect max_drop."
)
WORST = (
    "<=: one rollout of each task doesn't show how much a task varies from run to run. "
    "This is the number if all variation between tasks were such variation; several "
    "rollouts of each task, or a second run, show the real one."
)


def lines(*powers, width=None):
    return list(power_lines([("a::math", powers)], width))


def power(**changes):
    return structs.replace(POWER, **changes)


def test_each_gated_metric_has_a_line_below_its_benchmark():
    assert lines(POWER, power(metric="mean_reward", mde=0.1)) == [
        "a::math, by its rollouts",
        "  metric       tasks  rollouts  detects  max_drop  needs",
        "  pass@1       100    4         0.055    0.0100    64",
        "  mean_reward  100    4         0.1      0.0100    64",
        "",
        NOTE,
    ]


@pytest.mark.parametrize(
    ("changes", "detects", "needs"),
    [
        ({}, "0.055", "64"),
        ({"needed": None}, "0.055", "more than 1024"),
        (
            {"needed": None, "source": PowerSource.BASELINE_AND_ROLLOUTS},
            "0.055",
            "-",
        ),
        ({"max_drop": 0.0}, "0.055", "-"),
        ({"max_drop": -0.1}, "0.055", "-"),
        ({"mde": math.nan}, "unknown", "-"),
        ({"mde": math.inf}, "unknown", "-"),
        ({"is_worst": True}, "<= 0.055", "<= 64"),
    ],
)
def test_a_line_has_what_a_gate_detects_and_what_the_drop_that_matters_takes(
    changes, detects, needs
):
    header, row = lines(power(**changes))[1:3]
    assert row[header.index("detects") : header.index("max_drop")].strip() == detects
    assert row[header.index("needs") :] == needs


@pytest.mark.parametrize(
    ("source", "title"),
    [
        (PowerSource.BASELINE, "a::math, by its baseline"),
        (PowerSource.ROLLOUTS, "a::math, by its rollouts"),
        (PowerSource.BASELINE_AND_ROLLOUTS, "a::math, by its baseline and rollouts"),
        (PowerSource.ASSUMPTION, "a::math, if pass rates are spread evenly"),
        (PowerSource.NOTHING, "a::math"),
    ],
)
def test_a_table_names_what_its_numbers_are_made_of(source, title):
    assert lines(power(source=source))[0] == title


def test_each_agent_and_each_source_has_a_table():
    other = power(agent="b")
    assumed = power(agent="b", source=PowerSource.ASSUMPTION)
    titles = [line for line in lines(POWER, other, assumed) if line.startswith("a::")]
    assert titles == [
        "a::math, a, by its rollouts",
        "a::math, b, by its rollouts",
        "a::math, b, if pass rates are spread evenly",
    ]


def test_tables_of_benchmarks_stand_apart_and_notes_below_them_all():
    gap = power(mde=math.nan, unknown=PowerGap.ALL_ALIKE)
    nameless = power(metric="", mde=math.nan, unknown=PowerGap.NO_NUMBER)
    planned = [("a::math", [gap]), ("a::sums", [POWER]), ("a::x", [nameless])]
    written = list(power_lines(planned, None))
    assert [line for line in written if not line.startswith("  ")] == [
        "a::math, by its rollouts",
        "",
        "a::sums, by its rollouts",
        "",
        "a::x, by its rollouts",
        "",
        NOTE,
        "note: a::math: pass@1: the rollouts of each task are all alike",
        "note: a::x: no rollout has a number",
    ]


def test_the_worst_that_may_be_is_explained_once():
    worst = power(is_worst=True)
    assert lines(POWER, worst, worst)[-2:] == [NOTE, WORST]


def test_names_that_can_t_be_printed_are_escaped():
    (title, *_), *_ = [list(power_lines([("a\x1b", [POWER])], None))]
    assert title == r"a\x1b, by its rollouts"


def test_a_narrow_terminal_has_no_tasks_and_no_rollouts():
    whole = lines(POWER)[1]
    assert lines(POWER, width=len(whole))[1] == whole
    narrow = lines(POWER, width=len(whole) - 1)
    assert narrow[1:3] == [
        "  metric  rollouts  detects  max_drop  needs",
        "  pass@1  4         0.055    0.0100    64",
    ]
    assert lines(POWER, width=40)[1] == "  metric  detects  max_drop  needs"


def test_titles_and_notes_are_broken_in_a_narrow_terminal():
    written = lines(POWER, width=20)
    assert written[:2] == ["a::math, by its", "      rollouts"]
    note = written[written.index("") + 1 :]
    assert note[:2] == ["detects: the", "  smallest drop that"]
    assert " ".join(line.strip() for line in note) == NOTE
