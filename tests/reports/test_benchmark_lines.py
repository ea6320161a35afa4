"""One benchmark in the terminal: whole, briefly, or in one line."""

import pytest
from msgspec import structs
from reports.records import (
    RULE,
    above,
    agent,
    below,
    benchmark,
    broken,
    compared,
    facts,
    unchanged,
)

from pytest_evalmetrics.model import reasons as kinds
from pytest_evalmetrics.model.bounds import RuleBound
from pytest_evalmetrics.model.changes import ThresholdChanged
from pytest_evalmetrics.model.comparison import RuleName
from pytest_evalmetrics.model.notes import Remark
from pytest_evalmetrics.model.results import RecordedBaseline
from pytest_evalmetrics.model.tiers import Tier
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.reports.benchmark_lines import (
    Reading,
    colour_of,
    entry,
    short_line,
    short_lines,
)

WIDE = Reading()
VERBOSE = Reading(verbosity=1)


def whole(result, reading=WIDE):
    """Return the lines of an entry without their colours."""
    return [line for line, _ in entry(result, reading)]


def unproven(name="pass@1", **fields):
    """Make the check of a metric that fell, and passes."""
    return compared(name, Verdict.PASS, changes={"p_adjusted": 0.2}, **fields)


def warning(name="pass@1", **fields):
    """Make the check of a metric that warns, as the noise between runs is unknown."""
    noise = (kinds.UnknownRunNoise(0.05),)
    return compared(name, Verdict.WARN, reasons=noise, **fields)


# -- colours ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "colour"),
    [
        (benchmark(unchanged()), "green"),
        (benchmark(unproven()), "yellow"),
        (benchmark(compared()), "red"),
        (benchmark(compared(), xfail=True), "yellow"),
        (benchmark(compared(verdict=Verdict.WARN)), "yellow"),
        (benchmark(compared(verdict=Verdict.WARN, tier=Tier.ADVISORY)), "cyan"),
        (benchmark(broken()), "purple"),
        # a drop that fails is not called unproven
        (benchmark(unproven(), below()), "red"),
    ],
)
def test_a_benchmark_has_the_colour_of_what_a_reader_should_see(result, colour):
    assert colour_of(result) == colour


# -- how much has room -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verbosity", "is_verbose", "is_quiet"),
    [(-2, False, True), (-1, False, True), (0, False, False), (1, True, False)],
)
def test_flags_ask_for_more_or_for_less(verbosity, is_verbose, is_quiet):
    reading = Reading(verbosity=verbosity)
    assert reading.is_verbose is is_verbose
    assert reading.is_quiet is is_quiet


def test_a_line_fits_up_to_the_last_column():
    reading = Reading(width=8)
    assert reading.fits("12345678")
    assert not reading.fits("123456789")
    assert WIDE.fits("a" * 1000)
    assert reading.cut("one two three") == "one..."
    assert WIDE.cut("one two three") == "one two three"


# -- in one line -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "line"),
    [
        (
            benchmark(unchanged()),
            (
                "PASS  a.yaml::math  pass@1 0.7000 (0.9000 in 40 compared tasks, was 0.9000), "
                "40 tasks, 80 rollouts"
            ),
        ),
        (
            benchmark(above()),
            "PASS  a.yaml::math  pass@1 0.7000 (>= 0.4), 40 tasks, 80 rollouts",
        ),
        (
            benchmark(agents=(agent(missing=3),)),
            "PASS  a.yaml::math  pass@1 0.7000, 40 tasks, 80 rollouts, 3 missing",
        ),
        (benchmark(agents=()), "PASS  a.yaml::math"),
        (
            benchmark(compared()),
            "FAIL  a.yaml::math  pass@1 0.7000 (was 0.9000, p 0.004)",
        ),
        (
            benchmark(compared(changes={"p_adjusted": None})),
            "FAIL  a.yaml::math  pass@1 0.7000 (was 0.9000)",
        ),
        (
            benchmark(compared(), xfail=True),
            "FAIL  a.yaml::math (xfail)  pass@1 0.7000 (was 0.9000, p 0.004)",
        ),
        (
            benchmark(compared(agent="beta")),
            "FAIL  a.yaml::math  beta: pass@1 0.7000 (was 0.9000, p 0.004)",
        ),
        (benchmark(below()), "FAIL  a.yaml::math  pass@1 is 0.5, below 0.7"),
        (benchmark(broken()), "INCONCLUSIVE  a.yaml::math  no such file"),
        (
            benchmark(broken(tier=Tier.ADVISORY, verdict=Verdict.WARN)),
            "ADVISORY  a.yaml::math  no such file",
        ),
    ],
)
def test_one_line_has_the_check_that_says_most(result, line):
    assert short_line(result, WIDE) == line


LOST = kinds.MissingDecide(metric="pass@1", baseline=0.9, current=0.4)


def test_one_line_says_what_decided_beside_the_numbers():
    assert short_line(benchmark(compared(reasons=(LOST,))), WIDE) == (
        "FAIL  a.yaml::math  pass@1 0.7000 (was 0.9000, p 0.004): missing rewards decide "
        "the verdict: at their worst pass@1 would be 0.4 against 0.9"
    )


NOTHING = kinds.NothingInCommon(metric="pass@1", excluded=0)


def test_a_comparison_that_could_not_be_judged_has_its_reason_instead_of_numbers():
    check = compared(verdict=Verdict.INCONCLUSIVE, reasons=(NOTHING,))
    line = short_line(benchmark(check), WIDE)
    assert line == (
        "INCONCLUSIVE  a.yaml::math  "
        "pass@1 can't be compared: the run and its baseline have no task in common"
    )


def test_a_comparison_without_a_baseline_has_its_reason_instead_of_numbers():
    check = compared(changes={"baseline": None, "tasks": 0}, reasons=(LOST,))
    assert short_line(benchmark(check), WIDE) == (
        "FAIL  a.yaml::math  missing rewards decide the verdict: "
        "at their worst pass@1 would be 0.4 against 0.9"
    )


def test_one_line_of_several_agents_has_the_leading_one_and_counts_the_others():
    agents = (agent("alpha"), agent("beta", {"pass@1": 0.6}), agent("gamma"))
    assert short_line(benchmark(agents=agents), WIDE) == (
        "PASS  a.yaml::math  alpha: pass@1 0.7000, 2 more agents"
    )
    checks = (unchanged(agent="gamma"), unproven(agent="beta"))
    # of beta a drop is surer than that gamma is as before
    assert short_line(benchmark(*checks, agents=agents), WIDE) == (
        "PASS  a.yaml::math  beta: pass@1 0.6000 (0.7000 in 40 compared tasks, "
        "was 0.9000, p 0.2; drop NOT PROVEN), 2 more agents"
    )


def test_one_line_of_two_agents_counts_one_more():
    agents = (agent("alpha"), agent("beta"))
    assert short_line(benchmark(agents=agents), WIDE) == (
        "PASS  a.yaml::math  alpha: pass@1 0.7000, 1 more agent"
    )


METRICS = {"mean_reward": 0.5, "pass@1": 0.7, "pass@2": 0.8, "pass@3": 0.9, "pass@4": 1}


def test_three_metrics_are_named_the_gated_ones_first():
    result = benchmark(above("pass@3"), agents=(agent(metrics=METRICS),))
    assert short_line(result, WIDE) == (
        "PASS  a.yaml::math  pass@3 0.9000 (>= 0.4), mean_reward 0.5000, pass@1 0.7000, "
        "40 tasks, 80 rollouts"
    )


def test_a_metric_with_both_gates_was_held_against_both():
    result = benchmark(above(), unchanged(comparison=facts(current=0.7, drop=0.0)))
    assert short_line(result, WIDE) == (
        "PASS  a.yaml::math  pass@1 0.7000 (>= 0.4; was 0.9000), 40 tasks, 80 rollouts"
    )


PASSING = benchmark(above())


@pytest.mark.parametrize(
    ("width", "line"),
    [
        (65, "PASS  a.yaml::math  pass@1 0.7000 (>= 0.4), 40 tasks, 80 rollouts"),
        # whole phrases as long as the mark of the cut has room
        (64, "PASS  a.yaml::math  pass@1 0.7000 (>= 0.4), 40 tasks..."),
        (55, "PASS  a.yaml::math  pass@1 0.7000 (>= 0.4), 40 tasks..."),
        (54, "PASS  a.yaml::math  pass@1 0.7000 (>= 0.4)..."),
        (45, "PASS  a.yaml::math  pass@1 0.7000 (>= 0.4)..."),
        # then the file goes before a number does
        (44, "PASS  ...::math  pass@1 0.7000 (>= 0.4)..."),
        (38, "PASS  ...::math  pass@1 0.7000 (>=..."),
    ],
)
def test_a_line_keeps_its_numbers_as_long_as_it_can(width, line):
    assert short_line(PASSING, Reading(width=width)) == line


def test_a_line_without_numbers_is_cut_to_its_width():
    result = benchmark(agents=(), name="mathematics")
    assert short_line(result, Reading(width=17)) == "PASS..."


def test_a_line_of_one_phrase_needs_no_room_for_a_mark():
    line = "FAIL  a.yaml::math  pass@1 0.7000 (was 0.9000, p 0.004)"
    assert short_line(benchmark(compared()), Reading(width=55)) == line
    short = "FAIL  ...::math  pass@1 0.7000 (was 0.9000, p 0.004)"
    assert short_line(benchmark(compared()), Reading(width=54)) == short


# -- in one line or two ----------------------------------------------------------------------


def test_a_failure_that_is_shown_above_is_named():
    agents = (agent("alpha"), agent("beta"))
    checks = (
        compared(agent="beta"),
        compared(agent="alpha"),
        below("pass@2"),
        above("pass@3"),
    )
    result = benchmark(*checks, agents=agents)
    reading = Reading(explained=frozenset({"a.yaml::math"}))
    line = "FAIL  a.yaml::math  pass@1 (beta, alpha), pass@2"
    assert short_lines(result, reading, in_full=True) == [line]
    narrow = structs.replace(reading, width=30)
    assert short_lines(result, narrow, in_full=True) == [
        "FAIL  a.yaml::math  pass@1..."
    ]


def test_a_benchmark_that_passes_as_before_has_one_line_of_many():
    narrow = Reading(width=56)
    one = short_lines(PASSING, narrow, in_full=False)
    assert one == ["PASS  a.yaml::math  pass@1 0.7000 (>= 0.4), 40 tasks..."]
    two = short_lines(PASSING, narrow, in_full=True)
    assert two == [
        "PASS  a.yaml::math  pass@1 0.7000 (>= 0.4), 40 tasks,",
        "      80 rollouts",
    ]


def test_what_stands_out_has_two_lines_of_many():
    result = benchmark(unproven())
    assert short_lines(result, Reading(width=62), in_full=False) == [
        "PASS  a.yaml::math  pass@1 0.7000 (was 0.9000, p 0.2;",
        "      drop NOT PROVEN), 40 tasks, 80 rollouts",
    ]


def test_a_third_line_is_cut():
    result = benchmark(unproven())
    assert short_lines(result, Reading(width=40), in_full=False) == [
        "PASS  a.yaml::math",
        "      pass@1 0.7000 (was 0.9000, p...",
    ]


# -- whole -----------------------------------------------------------------------------------


def test_a_whole_entry_has_what_each_metric_was_held_against():
    result = benchmark(unproven(), above("pass@2"), agents=(agent(metrics=METRICS),))
    assert whole(result) == [
        (
            "PASS  a.yaml::math  pass@1 0.7000 (was 0.9000, -0.2000, p 0.2; drop NOT PROVEN), "
            "pass@2 0.8000 (>= 0.4), mean_reward 0.5000, 40 tasks, 80 rollouts"
        )
    ]


def test_every_line_has_the_colour_of_the_benchmark_and_details_have_none():
    lines = list(entry(benchmark(below()), WIDE))
    assert lines == [
        ("FAIL  a.yaml::math  pass@1 0.7000 (>= 0.7), 40 tasks, 80 rollouts", "red"),
        ("    FAIL  pass@1 is 0.5, below 0.7", None),
    ]


def test_what_a_gate_would_have_seen_and_the_quarantine_are_at_the_end():
    outcome = kinds.PassCount("t", passed=0, rollouts=2)
    reason = kinds.Quarantined(outcome, until="2027-01-01", why="", is_over=False)
    check = compared(
        verdict=Verdict.PASS,
        reasons=(reason,),
        changes={"drop": 0.0, "detectable_drop": 0.06},
    )
    assert whole(benchmark(check)) == [
        (
            "PASS  a.yaml::math  pass@1 0.7000 (was 0.9000), 40 tasks, 80 rollouts, "
            "1 in quarantine, sees losses from 0.06 on"
        )
    ]


def test_a_benchmark_without_rows_has_the_reason():
    assert whole(benchmark(broken(), broken("other"), agents=())) == [
        "INCONCLUSIVE  a.yaml::math  no such file"
    ]


def test_a_benchmark_without_rows_and_reasons_is_its_title():
    assert whole(benchmark(above(), agents=())) == ["PASS  a.yaml::math"]


def test_several_agents_share_their_sizes_and_the_failing_come_first():
    agents = (agent("alpha"), agent("beta", {"pass@1": 0.5}))
    seen = {"detectable_drop": 0.06, "drop": 0.0, "current": 0.7}
    alpha = compared(verdict=Verdict.PASS, agent="alpha", changes=seen)
    result = benchmark(alpha, below(agent="beta"), agents=agents)
    assert whole(result) == [
        (
            "FAIL  a.yaml::math  2 agents, each 40 tasks, 80 rollouts, "
            "sees losses from 0.06 on"
        ),
        "      beta: pass@1 0.5000 (>= 0.7)",
        "      alpha: pass@1 0.7000 (was 0.9000)",
        "    FAIL  beta: pass@1 is 0.5, below 0.7",
    ]


def test_agents_of_other_sizes_have_their_own():
    agents = (agent("alpha"), agent("beta", rollouts=79, missing=1))
    assert whole(benchmark(agents=agents)) == [
        "PASS  a.yaml::math  2 agents",
        "      alpha: pass@1 0.7000, 40 tasks, 80 rollouts",
        "      beta: pass@1 0.7000, 40 tasks, 79 rollouts, 1 missing",
    ]


EXPLAINED = Reading(explained=frozenset({"a.yaml::math"}))


def test_a_failure_that_is_shown_above_has_only_the_agents_that_do_not_fail():
    agents = (agent("alpha", METRICS), agent("beta"))
    result = benchmark(above(agent="alpha"), below(agent="beta"), agents=agents)
    assert whole(result, EXPLAINED) == [
        "FAIL  a.yaml::math  pass@1 (beta)",
        "      alpha: pass@1 0.7000 (>= 0.4)",
    ]


def test_the_only_agent_of_a_failure_that_is_shown_above_is_not_written_again():
    assert whole(benchmark(compared()), EXPLAINED) == ["FAIL  a.yaml::math  pass@1"]


# -- phrases on several lines ----------------------------------------------------------------


def test_phrases_that_do_not_fit_go_on_below():
    result = benchmark(unproven(), agents=(agent(metrics=METRICS),))
    assert whole(result, Reading(width=60)) == [
        "PASS  a.yaml::math",
        "      pass@1 0.7000 (was 0.9000, -0.2000, p 0.2;",
        "      drop NOT PROVEN), mean_reward 0.5000, pass@2 0.8000,",
        "      40 tasks, 80 rollouts",
    ]


def test_agents_of_several_lines_go_on_below_their_names():
    agents = (agent("alpha"), agent("beta", METRICS))
    assert whole(benchmark(agents=agents), Reading(width=40)) == [
        "PASS  a.yaml::math  2 agents,",
        "      each 40 tasks, 80 rollouts",
        "      alpha: pass@1 0.7000",
        "      beta: mean_reward 0.5000,",
        "      pass@1 0.7000, pass@2 0.8000",
    ]


# -- details ---------------------------------------------------------------------------------


def test_why_a_gate_warns_stands_below_the_benchmark():
    lines = whole(benchmark(warning()))
    assert lines[1].startswith("    WARN  pass@1 fell from 0.9 to 0.7")


def test_a_reason_without_rollouts_is_not_said_twice():
    assert whole(benchmark(broken(), agents=())) == [
        "INCONCLUSIVE  a.yaml::math  no such file"
    ]


MOVED = kinds.TaskListChanged(
    expected=4,
    lost=(),
    lost_count=0,
    edited=(),
    edited_count=0,
    moved=(),
    moved_count=0,
    new=(kinds.NewTask("n", 1.0),),
    new_count=1,
    reward="reward",
    is_covered=True,
)


def test_a_task_list_that_changed_is_said_though_its_check_passes():
    check = compared(
        "tasks", Verdict.PASS, comparison=None, bound=None, reasons=(MOVED,), agent="b"
    )
    lines = whole(benchmark(check))
    assert lines[1:] == ["    b: 1 new task not in the baseline: n (reward 1)"]


def test_what_passes_with_a_remark_alone_has_no_details():
    check = compared(verdict=Verdict.PASS, reasons=(kinds.UnknownRunNoise(0.1),))
    assert len(whole(benchmark(check))) == 1


CHANGES = tuple(ThresholdChanged(f"m{n}", ">= 0.5", ">= 0.4") for n in range(5))


def test_of_many_changes_three_are_written_and_all_with_v():
    result = benchmark(changes=CHANGES)
    lines = whole(result)
    assert [line[:14] for line in lines[1:]] == ["    changed: t"] * 3 + [
        "    ... and 2 "
    ]
    assert lines[4] == "    ... and 2 more changes (-v shows them)"
    assert len(whole(result, VERBOSE)) == 6


def test_recorded_baselines_and_judges_are_details():
    saved = RecordedBaseline("b.json", written=True, metrics={"pass@1": (None, 1.0)})
    assert whole(benchmark(recorded=saved))[1:] == [
        "    recorded b.json",
        "        pass@1 1 (new)",
    ]


def test_a_detail_takes_one_line_and_a_reason_four():
    check = broken(" ".join(["words"] * 60), verdict=Verdict.FAIL)
    result = benchmark(check, changes=CHANGES[:1])
    assert whole(result, Reading(width=40)) == [
        "FAIL  a.yaml::math  pass@1 0.7000,",
        "      40 tasks, 80 rollouts",
        "    FAIL  words words words words words",
        "      words words words words words",
        "      words words words words words",
        "      words words words words words...",
        "    changed: threshold m0 was >=...",
    ]


def test_with_v_a_reason_is_whole():
    check = broken(" ".join(["words"] * 60), verdict=Verdict.FAIL)
    lines = whole(benchmark(check), Reading(width=40, verbosity=1))
    assert " ".join(lines).count("words") == 60


def test_with_v_every_check_has_a_line_with_its_value_and_bound():
    result = benchmark(
        below(agent="beta"),
        above("pass@2", estimate=None, bound=None),
        compared("pass@3", tier=Tier.ADVISORY, verdict=Verdict.WARN, comparison=None),
        notes=(Remark("read from two files"),),
    )
    assert whole(result, VERBOSE)[1:] == [
        (
            "    FAIL          beta: pass@1 0.5000 [0.4000, 0.6000] (expected >= 0.7): "
            "pass@1 is 0.5, below 0.7"
        ),
        "    PASS          pass@2",
        (
            "    ADVISORY      pass@3 0.7000 (expected no drop >= 0.02 at p < 0.01 "
            "(practical))"
        ),
        "    note: read from two files",
    ]


def test_without_v_notes_are_not_written_with_the_benchmark():
    result = benchmark(above(), notes=(Remark("read from two files"),))
    assert len(whole(result)) == 1


def test_only_gates_of_a_metric_are_what_it_was_held_against():
    rule = RuleBound(structs.replace(RULE, rule=RuleName.ABSOLUTE))
    named = compared(verdict=Verdict.PASS, gate=Gate.TASK, bound=rule)
    assert whole(benchmark(named)) == [
        "PASS  a.yaml::math  pass@1 0.7000, 40 tasks, 80 rollouts"
    ]
