"""What the failure of a benchmark says: what got worse, why, which tasks, and the way out."""

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
    estimate,
    facts,
    task,
    unchanged,
)

from pytest_evalmetrics.failure_lines import Line, LineKind, Picture, Table, TaskLine
from pytest_evalmetrics.model import reasons as kinds
from pytest_evalmetrics.model.bounds import RuleBound, SlicesBound
from pytest_evalmetrics.model.changes import TasksFlipped, ThresholdChanged
from pytest_evalmetrics.model.comparison import RuleName, TaskGroup
from pytest_evalmetrics.model.notes import Remark
from pytest_evalmetrics.model.scores import RowFailure, ScorerFailures
from pytest_evalmetrics.model.separators import Separator
from pytest_evalmetrics.model.verdicts import Acceptance, Direction, Gate, Verdict
from pytest_evalmetrics.reports.failure import (
    accepting,
    below_the_call,
    change_picture,
    failure_of_result,
    failure_of_warning,
    failure_of_words,
    is_accepted_by_update,
    joined,
    what_to_do,
)


def blocks_of(result, kind, item="", **flags):
    """Return the blocks of one class."""
    failure = failure_of_result(result, item, **flags)
    return [block for block in failure.blocks if isinstance(block, kind)]


def texts(result, *line_kinds, item="", **flags):
    """Return the texts of lines of some kinds."""
    lines = blocks_of(result, Line, item, **flags)
    return [line.text for line in lines if line.kind in line_kinds]


def table(result, *, is_folded=None):
    """Return the only table as rows of cells by column, without empty ones."""
    tables = blocks_of(result, Table)
    if is_folded is not None:
        tables = [one for one in tables if one.is_folded is is_folded]
    (found,) = tables
    rows = []
    for row in found.rows:
        cells = zip(found.header, row.cells, strict=True)
        rows.append({name: cell for name, cell in cells if cell})
    return rows


def noisy(name="pass@1", verdict=Verdict.FAIL, **fields):
    """Make a check that fell, whose noise between runs is unknown."""
    return compared(name, verdict, reasons=(kinds.UnknownRunNoise(0.05),), **fields)


FELL = (
    "pass@1 fell from 0.9 to 0.7: a loss of 0.2 [0.1, 0.3], p = 0.004 "
    "(exact sign flip, 40 tasks), 12 worse and 1 better"
)

# -- the reason in one line ------------------------------------------------------------------

LOST = kinds.MissingDecide(metric="pass@1", baseline=0.9, current=0.4)
LOST_TEXT = (
    "missing rewards decide the verdict: at their worst pass@1 would be 0.4 against 0.9"
)


@pytest.mark.parametrize(
    ("checks", "reason"),
    [
        ([compared()], "pass@1 fell from 0.9 to 0.7, p 0.004"),
        ([compared(changes={"p_adjusted": None})], "pass@1 fell from 0.9 to 0.7"),
        ([compared(agent="beta")], "beta: pass@1 fell from 0.9 to 0.7, p 0.004"),
        ([compared(reasons=(LOST,))], f"pass@1: {LOST_TEXT}"),
        ([compared(changes={"tasks": 0}, reasons=(LOST,))], LOST_TEXT),
        ([below()], "pass@1 is 0.5, below 0.7"),
        ([broken()], "INCONCLUSIVE: no such file"),
        ([broken(verdict=Verdict.WARN)], "WARN: no such file"),
        ([broken(verdict=Verdict.FAIL)], "no such file"),
        # the check that leads, else the first one with a reason
        ([broken("a"), below("b")], "b is 0.5, below 0.7"),
        ([below(reasons=()), broken("a", verdict=Verdict.WARN), broken("b")],
         "INCONCLUSIVE: b"),
        ([below(reasons=())], "math"),
        ([broken("a\x1b")], r"INCONCLUSIVE: a\x1b"),
    ],
)  # fmt: skip
def test_the_reason_is_that_of_the_check_that_leads(checks, reason):
    failure = failure_of_result(benchmark(*checks))
    assert failure.reason == reason
    assert failure.benchmark == "a.yaml::math"


# -- failures of other kinds -----------------------------------------------------------------


def test_a_warning_under_w_error_says_so_first():
    result = benchmark(compared(verdict=Verdict.WARN))
    failure = failure_of_warning(result, "a::b")
    first, *others = failure.blocks
    assert first == Line("a warning, which fails here because of -W error:")
    assert others == list(failure_of_result(result, "a::b").blocks)


def test_an_error_is_shown_in_its_own_words():
    failure = failure_of_words("no such file\n  -> write one")
    assert failure.reason == "no such file"
    assert failure.blocks == [Line("no such file"), Line("  -> write one")]
    assert failure.benchmark == ""


def test_several_failures_of_a_test_have_the_reason_of_the_first():
    first = failure_of_words("a")
    both = joined([first, failure_of_words("b"), failure_of_words("c")])
    assert both.reason == "a"
    assert [block.text for block in both.blocks] == ["a", "", "b", "", "c"]


def test_a_failure_stands_below_the_line_that_it_comes_from():
    failure = below_the_call(["> check()", "test_x.py:3"], failure_of_words("a"))
    assert [block.text for block in failure.blocks] == [
        "> check()",
        "test_x.py:3",
        "",
        "a",
    ]


@pytest.mark.parametrize(
    ("check", "title"),
    [(below(), "math failed"), (broken(), "math could not be judged")],
)
def test_a_benchmark_of_several_in_a_test_is_named(check, title):
    result = benchmark(check)
    titled = failure_of_result(result, titled=True)
    assert titled.blocks[0] == Line(title)
    assert titled.blocks[1:] == failure_of_result(result).blocks


# -- one comparison that got worse -----------------------------------------------------------


def test_a_single_regression_is_a_sentence_with_its_picture():
    failure = failure_of_result(benchmark(compared()))
    (reason,) = [block for block in failure.blocks if is_reason(block)]
    assert reason == Line(
        f"FAIL  a.yaml:5: {FELL}",
        LineKind.REASON,
        Verdict.FAIL,
        full=f"FAIL  a.yaml:5: {FELL}",
    )
    (picture,) = [block for block in failure.blocks if isinstance(block, Picture)]
    assert picture == Picture(
        low=-0.3,
        value=-0.2,
        high=-0.1,
        limit=-0.02,
        shows_zero=True,
        label="",
        text="gate: no drop >= 0.02 at p < 0.01",
    )


def is_reason(block):
    return isinstance(block, Line) and block.kind is LineKind.REASON


def test_its_row_is_folded_away():
    result = benchmark(compared(), unchanged("pass@2"), agents=(agent(),))
    assert table(result) == [
        {
            "verdict": "FAIL",
            "metric": "pass@1",
            "baseline": "0.9000",
            "now": "0.7000",
            "change": "-0.2000",
            "95% interval": "[-0.3000, -0.1000]",
            "p": "0.004",
            "tasks": "40",
            "worse": "12",
            "better": "1",
            "direction": "higher is better",
            "expected": "no drop >= 0.02 at p < 0.01 (practical)",
        },
        {
            "verdict": "PASS",
            "metric": "pass@2",
            "baseline": "0.9000",
            "now": "0.9000",
            "change": "0",
            "95% interval": "[-0.3000, -0.1000]",
            "p": "1",
            "tasks": "40",
            "worse": "0",
            "better": "1",
            "direction": "higher is better",
            "expected": "no drop >= 0.02 at p < 0.01 (practical)",
        },
    ]
    (found,) = blocks_of(result, Table)
    assert found.is_folded
    assert found.dispensable == (
        "direction",
        "tasks",
        "expected",
        "better",
        "worse",
        "95% interval",
    )
    assert [row.verdict for row in found.rows] == [Verdict.FAIL, Verdict.PASS]


def test_what_is_measured_without_an_interval_has_its_gate_instead_of_a_picture():
    rule = RuleBound(structs.replace(RULE, rule=RuleName.ABSOLUTE))
    check = compared(bound=rule, changes={"drop_low": None, "drop_high": None})
    assert blocks_of(benchmark(check), Picture) == []
    assert texts(benchmark(check), LineKind.PLAIN) == ["  gate: drop <= 0.02"]


def test_a_rule_of_the_user_without_words_has_no_gate():
    own = structs.replace(RULE, rule=RuleName.OWN, own_name="mine")
    check = compared(bound=RuleBound(own), changes={"drop_low": None})
    assert texts(benchmark(check), LineKind.PLAIN) == []
    drawn = compared(bound=RuleBound(own))
    (picture,) = blocks_of(benchmark(drawn), Picture)
    assert picture.text == ""


@pytest.mark.parametrize(
    "check",
    [
        below(),
        compared(changes={"drop": None}),
        compared(changes={"drop_low": None}),
        compared(changes={"drop_high": None}),
    ],
)
def test_a_change_without_an_interval_has_no_picture(check):
    assert change_picture(check) is None


def test_the_gate_of_what_is_not_compared_is_not_written():
    check = compared(bound=SlicesBound(0.01), comparison=None)
    assert texts(benchmark(check), LineKind.PLAIN) == []


# -- several comparisons that got worse ------------------------------------------------------


def test_several_regressions_are_a_table_below_one_head():
    result = benchmark(
        compared("pass@1"), compared("pass@2", value=0.6, changes={"current": 0.6})
    )
    reasons = texts(result, LineKind.REASON)
    assert reasons == ["FAIL  a.yaml:5: worse than its baseline, 40 tasks x 2"]
    rows = table(result, is_folded=False)
    assert [row["metric"] for row in rows] == ["pass@1", "pass@2"]


def test_metrics_with_the_same_numbers_share_a_row():
    result = benchmark(
        compared("pass@1"),
        compared("mean_reward"),
        compared("pass@2", changes={"p_adjusted": 0.1}),
    )
    metrics = [row["metric"] for row in table(result, is_folded=False)]
    assert metrics == ["pass@1, mean_reward", "pass@2"]


TWO = {"agents": (agent("alpha"), agent("beta"))}


@pytest.mark.parametrize(
    ("changes", "head"),
    [
        ({}, "FAIL  a.yaml:5: worse than its baseline, 40 tasks x 2"),
        (
            {"acceptance": Acceptance.HISTORY},
            "FAIL  a.yaml:5: worse than the history, 40 tasks x 2",
        ),
        (
            {"verdict": Verdict.WARN},
            "WARN  a.yaml:5: perhaps worse than its baseline, 40 tasks x 2",
        ),
        (
            {"agent": "beta"},
            "FAIL  a.yaml:5: beta is worse than its baseline, 40 tasks x 2",
        ),
        ({"line": None}, "FAIL  worse than its baseline, 40 tasks x 2"),
    ],
)
def test_the_head_of_several_regressions_names_the_reference(changes, head):
    checks = (compared("a", **changes), compared("b", **changes))
    result = benchmark(*checks)
    assert texts(result, LineKind.REASON) == [head]
    (line,) = [line for line in blocks_of(result, Line) if is_reason(line)]
    assert line.verdict is checks[0].verdict


def test_the_head_names_up_to_three_agents():
    checks = [compared(agent=name) for name in ("alpha", "beta", "gamma", "delta")]
    (head,) = texts(benchmark(*checks), LineKind.REASON)
    assert head == (
        "FAIL  a.yaml:5: alpha, beta, gamma and 1 more are worse than its baseline, "
        "40 tasks x 2"
    )


def test_the_first_two_changes_are_drawn_with_their_names():
    checks = [
        compared("a"),
        compared("b", changes={"drop_low": None}),
        compared("c"),
        compared("d"),
    ]
    pictures = blocks_of(benchmark(*checks), Picture)
    assert [picture.label for picture in pictures] == ["a", "c"]


def test_changes_of_several_agents_are_drawn_with_their_agents():
    checks = [compared(agent="alpha"), compared("pass\x1b", agent="beta")]
    pictures = blocks_of(benchmark(*checks, **TWO), Picture)
    labels = ["alpha: pass@1", r"beta: pass\x1b"]
    assert [picture.label for picture in pictures] == labels


def test_changes_of_one_agent_are_drawn_with_their_metrics_alone():
    checks = [compared(agent="alpha"), compared("pass@2", agent="alpha")]
    pictures = blocks_of(benchmark(*checks, **TWO), Picture)
    assert [picture.label for picture in pictures] == ["pass@1", "pass@2"]


def test_each_row_names_its_agent_and_has_the_counts_of_what_was_paired():
    unpaired = compared(agent="beta", reasons=(LOST,), changes={"tasks": 0})
    rows = table(benchmark(compared(agent="alpha"), unpaired, **TWO))
    assert [row["agent"] for row in rows] == ["alpha", "beta"]
    assert [row.get("tasks") for row in rows] == ["40", None]
    assert [row.get("worse") for row in rows] == ["12", None]
    assert [row.get("better") for row in rows] == ["1", None]


def test_a_change_of_another_size_is_not_drawn_on_the_same_scale():
    large = compared("tokens", changes={"drop_low": 10.0, "drop": 11, "drop_high": 12})
    pictures = blocks_of(benchmark(compared("a"), large), Picture)
    assert [picture.label for picture in pictures] == ["a"]


def test_beside_the_table_stands_why_a_change_is_judged_so():
    checks = [noisy("a", agent="x"), compared("b", agent="x")]
    lines = blocks_of(benchmark(*checks), Line)
    (line,) = [line for line in lines if line.kind is LineKind.BESIDE]
    assert line.text == (
        "FAIL  x: a: one run in the baseline does not show the noise between runs, "
        "of which an sd of 0.05 would explain this drop"
    )
    assert line.full.startswith("FAIL  x: a fell from 0.9 to 0.7: a loss of 0.2 ")
    assert line.verdict is Verdict.FAIL
    # the numbers of the other one are in the table
    (other,) = [line for line in lines if line.text.startswith("FAIL  x: b fell")]
    assert other.kind is LineKind.DETAIL
    assert other.verdict is Verdict.FAIL


# -- slices ----------------------------------------------------------------------------------


def worse_slice(lang, now=0.25):
    return kinds.WorseSlice(
        name=f"pass@1[lang={lang}]",
        before=1.0,
        now=now,
        p=0.001,
        tasks=10,
        worse=8,
        worst=("t0",),
    )


def slices(*langs, **fields):
    reason = kinds.WorseSlices(
        slices=tuple(worse_slice(lang) for lang in langs), count=len(langs), of=9
    )
    fields = {"comparison": None, "bound": SlicesBound(0.01), **fields}
    return compared("slices", reasons=(reason,), **fields)


def test_slices_have_a_row_each_up_to_three():
    result = benchmark(slices("de", "en", "fr", "it"), compared())
    rows = table(result, is_folded=False)
    assert [row["metric"] for row in rows] == [
        "pass@1[lang=de], pass@1[lang=en], pass@1[lang=fr]",
        "pass@1",
    ]
    assert rows[0] == {
        "verdict": "FAIL",
        "metric": "pass@1[lang=de], pass@1[lang=en], pass@1[lang=fr]",
        "baseline": "1",
        "now": "0.2500",
        "change": "-0.7500",
        "p": "0.001",
        "tasks": "10",
        "worse": "8",
        "expected": rows[0]["expected"],
    }


def test_slices_of_a_less_sure_agent_stand_below_the_metrics_of_the_surest():
    surest = compared(agent="alpha", changes={"p_adjusted": 0.0001})
    result = benchmark(surest, slices("de", agent="beta"), **TWO)
    rows = table(result, is_folded=False)
    assert [row["metric"] for row in rows] == ["pass@1", "pass@1[lang=de]"]


def test_slices_in_the_table_are_not_said_again():
    result = benchmark(slices("de"), compared())
    lines = blocks_of(result, Line)
    (line,) = [one for one in lines if one.text.startswith("FAIL  1 of 9 slices")]
    assert line.kind is LineKind.DETAIL


# -- thresholds ------------------------------------------------------------------------------


def test_a_value_that_misses_its_bound_is_drawn_with_its_interval():
    (picture,) = blocks_of(benchmark(below()), Picture)
    assert picture == Picture(
        low=0.4,
        value=0.5,
        high=0.6,
        limit=0.7,
        shows_zero=False,
        label="",
        text="0.7000; 95 % interval 0.4000 to 0.6000",
    )


@pytest.mark.parametrize(
    "check",
    [
        below(estimate=None),
        below(estimate=estimate(interval=None)),
        below(reasons=(kinds.Undefined("pass@1", "no task has a value"),)),
    ],
)
def test_a_value_without_an_interval_or_a_bound_has_no_picture(check):
    assert blocks_of(benchmark(check), Picture) == []


def test_values_with_bounds_are_a_folded_table_the_failing_first():
    tasks = above("tasks", gate=Gate.EXPECT, estimate=None, value=40)
    result = benchmark(above("pass@2"), tasks, below(agent="x"), broken())
    assert table(result) == [
        {
            "verdict": "FAIL",
            "agent": "x",
            "metric": "pass@1",
            "value": "0.5000",
            "95% interval": "[0.4000, 0.6000]",
            "tasks": "40",
            "expected": ">= 0.7",
        },
        {
            "verdict": "PASS",
            "metric": "pass@2",
            "value": "0.5000",
            "95% interval": "[0.4000, 0.6000]",
            "tasks": "40",
            "expected": ">= 0.4",
        },
        {
            "verdict": "PASS",
            "metric": "tasks",
            "value": "40",
            "expected": ">= 0.4",
        },
    ]
    (found,) = blocks_of(result, Table)
    assert found.is_folded
    assert [row.verdict for row in found.rows] == [
        Verdict.FAIL,
        Verdict.PASS,
        Verdict.PASS,
    ]


def test_what_can_t_be_evaluated_has_no_table():
    data = broken(bound=SlicesBound(0.01))
    assert blocks_of(benchmark(data), Table) == []


# -- reasons ---------------------------------------------------------------------------------


def test_reasons_are_written_once_for_all_agents_up_to_five():
    names = [f"a{number}" for number in range(7)]
    result = benchmark(*(broken(agent=name, line=2) for name in names))
    (line,) = [line for line in blocks_of(result, Line) if is_reason(line)]
    assert line.text == (
        "INCONCLUSIVE  a.yaml:2: a0, a1, a2, a3, a4 and 2 more: no such file"
    )
    assert line.full == (
        "INCONCLUSIVE  a.yaml:2: a0, a1, a2, a3, a4, a5, a6: no such file"
    )


def uncomparable(metric, **fields):
    reason = kinds.NothingInCommon(metric=metric, excluded=0)
    return compared(
        metric,
        Verdict.INCONCLUSIVE,
        reasons=(reason,),
        changes={"tasks": 0},
        **fields,
    )


def test_a_reason_that_all_metrics_have_names_them_together():
    result = benchmark(uncomparable("pass@1"), uncomparable("pass@2"))
    (line,) = texts(result, LineKind.REASON)
    assert line == (
        "INCONCLUSIVE  a.yaml:5: pass@1, pass@2 can't be compared: "
        "the run and its baseline have no task in common"
    )


def test_what_else_is_said_of_joined_metrics_is_kept():
    nothing = kinds.NothingInCommon(metric="pass@1", excluded=0)
    check = uncomparable("pass@1")
    check = structs.replace(check, reasons=(nothing, kinds.UnknownRunNoise(0.05)))
    (line,) = texts(benchmark(check), LineKind.REASON)
    assert line.endswith(
        "no task in common; one run in the baseline does not show the noise between "
        "runs, of which an sd of 0.05 would explain this drop"
    )


@pytest.mark.parametrize(
    "other",
    [
        uncomparable("pass@2", gate=Gate.TASK),
        structs.replace(uncomparable("pass@2"), verdict=Verdict.FAIL),
    ],
)
def test_reasons_of_other_gates_or_verdicts_stand_apart(other):
    result = benchmark(uncomparable("pass@1"), other)
    assert len(texts(result, LineKind.REASON)) == 2


def test_reasons_of_agents_at_other_lines_stand_apart():
    result = benchmark(broken(agent="x", line=2), broken(agent="y", line=3))
    assert texts(result, LineKind.REASON) == [
        "INCONCLUSIVE  a.yaml:2: x: no such file",
        "INCONCLUSIVE  a.yaml:3: y: no such file",
    ]


def test_failures_come_before_warnings():
    warns = broken("later", Verdict.WARN)
    result = benchmark(warns, broken("first"))
    assert texts(result, LineKind.REASON) == [
        "INCONCLUSIVE  first",
        "WARN  later",
    ]


def test_a_check_without_a_reason_is_not_written():
    result = benchmark(below(reasons=()), broken())
    assert texts(result, LineKind.REASON) == ["INCONCLUSIVE  no such file"]


def failed(words, hint):
    return broken(reasons=(kinds.Failed(words, hint),))


def test_the_way_out_of_following_reasons_is_written_once():
    result = benchmark(failed("a", "do x"), failed("b", "do x"), failed("c", "do y"))
    written = texts(result, LineKind.REASON, LineKind.HINT)
    assert written == [
        "INCONCLUSIVE  a",
        "INCONCLUSIVE  b",
        "  -> do x",
        "INCONCLUSIVE  c",
        "  -> do y",
    ]


def test_a_way_out_of_several_lines_is_written_as_such():
    result = benchmark(failed("a", "do x\nor y"))
    assert texts(result, LineKind.HINT) == ["  -> do x", "or y"]


def test_the_basis_of_a_comparison_is_a_detail():
    details = texts(
        benchmark(compared(changes={"detectable_drop": 0.06})), LineKind.DETAIL
    )
    assert details == [
        (
            "    exact sign flip over 40 tasks, 80 rollouts before and 80 now; "
            "p = 0.004 adjusted for the other metrics"
        ),
        "    80 % power to see a loss of 0.06 or more",
    ]


# -- rows without scores ---------------------------------------------------------------------

ROW = RowFailure(0, "a.jsonl:3", "http-500", "the server failed")
FAILED_ROWS = ScorerFailures(
    scorer="remote",
    scores=("quality",),
    count=2,
    kinds={"http-500": 2},
    first=(ROW,),
    rows=9,
    examples={"http-500": ROW},
)


def test_rows_that_could_not_be_scored_come_first():
    result = benchmark(below(), failed_rows=(FAILED_ROWS,))
    failure = failure_of_result(result)
    assert failure.blocks[:2] == [
        Line("2 of 9 rows have no quality:", LineKind.PART),
        Line("  2 (http-500), such as a.jsonl:3: the server failed", LineKind.PART),
    ]


# -- tasks -----------------------------------------------------------------------------------

WORST = tuple(task(f"t{number}") for number in range(12))


def test_three_worse_tasks_are_shown_and_the_others_counted():
    result = benchmark(compared(changes={"worst_tasks": WORST}))
    tasks = [line.task for line in blocks_of(result, TaskLine)]
    assert tasks == ["t0", "t1", "t2"]
    assert texts(result, LineKind.MORE) == ["9 more, 1 better"]


@pytest.mark.parametrize(
    ("checks", "more"),
    [
        ([compared(changes={"worse": 3, "better": 0})], ""),
        ([compared(changes={"worse": 4, "better": 0})], "1 more"),
        ([compared(changes={"worse": 3, "better": 2})], "2 better"),
        ([below()], ""),
    ],
)
def test_tasks_that_are_not_shown_are_counted(checks, more):
    assert texts(benchmark(*checks), LineKind.MORE) == [more]


def separator(value, agent="agent"):
    return Separator(
        agent=agent,
        field="lang",
        value=value,
        tasks_with=10,
        worse_with=8,
        tasks_without=30,
        worse_without=1,
        odds=100.0,
        p=0.001,
        fields=4,
        values=20,
    )


def test_what_the_worse_tasks_share_is_said_of_the_surest_and_the_others_with_v():
    result = benchmark(compared(), separators=(separator("de"), separator("at")))
    first, second = [
        line for line in blocks_of(result, Line) if "in common" in line.text
    ]
    assert first.kind is LineKind.SHARED
    assert first.text == "  in common: lang de (8 of 10 worse; others 1 of 30)"
    assert first.full.startswith(f"{first.text}; ")
    assert second.kind is LineKind.DETAIL
    assert second.text == second.full
    assert second.text.startswith(
        "  in common: lang at (8 of 10 worse; others 1 of 30); "
    )


def test_what_the_tasks_of_several_agents_share_names_the_agent():
    shared = (separator("de", "alpha"), separator("de", "beta"))
    result = benchmark(compared(), separators=shared)
    assert texts(result, LineKind.SHARED) == [
        "  in common: alpha: lang de (8 of 10 worse; others 1 of 30)"
    ]


# -- the way out -----------------------------------------------------------------------------


def test_a_regression_against_another_run_has_the_way_out_below_its_tasks():
    result = benchmark(compared(acceptance=Acceptance.OTHER_RUN))
    hint = "fix the regression; or, if the change is intended, compare with a newer run"
    failure = failure_of_result(result, "a::b")
    at = failure.blocks.index(Line(f"  -> {hint}", LineKind.HINT))
    assert failure.blocks[at - 1].kind is LineKind.MORE
    assert failure.blocks[at + 1] == Line("  again:  pytest a::b", LineKind.COMMAND)
    assert texts(result, LineKind.HINT) == [f"  -> {hint}"]


def test_a_regression_that_an_update_accepts_has_both_commands():
    result = benchmark(compared())
    item = "a.yaml::math"
    assert texts(result, LineKind.COMMAND, LineKind.HINT, item=item) == [
        "  again:  pytest a.yaml::math",
        '  accept: evalmetrics accept a.yaml::math --reason "..."',
    ]


def test_what_no_update_accepts_has_the_command_that_evaluates_again():
    commands = texts(benchmark(below()), LineKind.COMMAND, item="a b")
    assert commands == ["  again:  pytest 'a b'"]


def test_without_an_item_there_is_no_command():
    assert texts(benchmark(compared()), LineKind.COMMAND) == []


@pytest.mark.parametrize(
    ("file", "identity", "item", "command"),
    [
        ("a.yaml", "a.yaml::b c", "a.yaml::b c",
         "evalmetrics accept 'a.yaml::b c' --reason \"...\""),
        ("a.py", "a.py::b", "a.py::b", "pytest --evalmetrics-update a.py::b"),
        # the check of a test
        ("a.yaml", "t.py::x::b", "t.py::x y", "pytest --evalmetrics-update 't.py::x y'"),
    ],
)  # fmt: skip
def test_a_change_is_accepted_by_the_command_of_its_item(file, identity, item, command):
    assert accepting(benchmark(file=file, id=identity), item) == command


WORSE_TASK = kinds.WorseTask(task="t", before=1.0, now=0.0, p=0.001, log10_p=-3.0)
WORSE_TASKS = kinds.WorseTasks(tasks=(WORSE_TASK,), count=1, of=40, reward="reward")
BROKEN_TASKS = kinds.BrokenTasks(tasks=("t",), count=1)


@pytest.mark.parametrize(
    ("check", "is_so"),
    [
        (compared(), True),
        (noisy(), True),
        (slices("de"), True),
        (compared(comparison=None, reasons=(WORSE_TASKS,)), True),
        (compared(comparison=None, reasons=(BROKEN_TASKS,)), True),
        (compared(verdict=Verdict.WARN), False),
        (compared(acceptance=Acceptance.OTHER_RUN), False),
        (compared(gate=Gate.TASK, reasons=(BROKEN_TASKS,)), False),
        (compared(changes={"tasks": 0}), False),
        (compared(comparison=None), False),
        (below(), False),
    ],
)
def test_a_regression_from_the_committed_baseline_is_accepted_by_an_update(
    check, is_so
):
    assert is_accepted_by_update(check) is is_so


def test_what_to_do_has_the_command_where_a_change_can_be_accepted():
    assert what_to_do(benchmark(), compared()) == (
        "fix the regression; or, if the change is intended, accept it: "
        'evalmetrics accept a.yaml::math --reason "..."'
    )
    # a benchmark of no file
    assert what_to_do(benchmark(file=""), compared()) == (
        "fix the regression; or, if the change is intended, "
        "accept it with `pytest --evalmetrics-update`"
    )
    assert what_to_do(benchmark(), failed("a", "do x")) == "do x"


# -- remarks ---------------------------------------------------------------------------------

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


def test_a_task_list_that_changed_is_a_remark():
    moved = compared(
        "tasks", Verdict.PASS, comparison=None, reasons=(MOVED,), agent="x"
    )
    assert texts(benchmark(compared(), moved), LineKind.REMARK) == [
        "x: 1 new task not in the baseline: n (reward 1)"
    ]
    remark = compared(verdict=Verdict.PASS, reasons=(kinds.UnknownRunNoise(0.1),))
    assert texts(benchmark(below(), remark), LineKind.REMARK) == []


def test_changes_are_remarks_that_name_all_their_tasks_with_v():
    group = TaskGroup(5, ("a", "b", "c", "d", "e"))
    flipped = TasksFlipped(broken=group, mended=TaskGroup(0, ()))
    result = benchmark(compared(), changes=(flipped,))
    (line,) = [line for line in blocks_of(result, Line) if line.kind is LineKind.REMARK]
    text = "changed: 5 tasks went from all passing to none: a, b, c"
    assert line.text == f"{text} and 2 more"
    assert line.full == f"{text}, d, e"


def test_of_notes_of_a_kind_three_are_written():
    class_notes = [ThresholdChanged("m", "a", "b")]
    notes = tuple(Remark("twice") for _ in range(5))
    result = benchmark(
        compared(), notes=(*notes, Remark("once")), changes=tuple(class_notes)
    )
    details = texts(result, LineKind.DETAIL)[-5:]
    assert details == [
        "note: twice",
        "note: twice",
        "note: twice",
        "note: and 2 more such notes, in report.json",
        "note: once",
    ]


def test_a_metric_of_which_less_is_better_is_drawn_as_a_rise():
    lower = RuleBound(structs.replace(RULE, direction=Direction.LOWER))
    picture = change_picture(compared(bound=lower, comparison=facts()))
    assert (picture.low, picture.value, picture.high) == (0.1, 0.2, 0.3)
    assert picture.limit == 0.02
