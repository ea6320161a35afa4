"""How numbers and calls are written, and the last runs of a metric drawn."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec import structs
from reports.records import benchmark

from pytest_evalmetrics.model.results import RecordedBaseline
from pytest_evalmetrics.model.scores import (
    CallTotals,
    JudgeUse,
    RowFailure,
    ScorerFailures,
)
from pytest_evalmetrics.reports.sentences.thresholds import distinct
from pytest_evalmetrics.reports.wording import (
    calls_line,
    failed_row_groups,
    failed_rows_line,
    fitted_table,
    judge_lines,
    number,
    recorded_count,
    recorded_lines,
    replayed_note,
    signed,
    signed_interval,
    size_of_loss,
    sparkline,
    table,
    two_digits,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (2000.0, "2000"),
        (0.61234, "0.6123"),
        (-0.06875, "-0.0688"),
        (1234.5678, "1234.6"),
        (123456.789, "123457"),
        (0.000012345, "1.2345e-05"),
        # where the number of decimals changes
        (0.001, "0.0010"),
        (0.00099, "0.00099"),
        (99.5, "99.5000"),
        (100.5, "100.5"),
        (99999.5, "99999.5"),
        (100000.5, "100000"),
        # where floats begin to skip integers
        (999999999999999.0, "999999999999999"),
        (1e15, "1e+15"),
        (None, ""),
    ],
)
def test_numbers(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.10853, "0.11"), (13.2593, "13"), (132.6, "130"), (1.0, "1"), (None, "")],
)
def test_a_loss_that_would_be_seen_has_two_digits_and_no_exponent(value, text):
    assert size_of_loss(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.25, "+0.2500"), (-0.25, "-0.2500"), (2.0, "+2"), (1e-13, "0"), (None, "")],
)
def test_a_change_has_a_sign_and_none_where_rounding_is_left(value, text):
    assert signed(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.00412, "0.0041"), (1.0, "1"), (None, "")]
)
def test_a_p_value_has_two_digits(value, text):
    assert two_digits(value) == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [(-0.2, 0.1, "[-0.2000, +0.1000]"), (None, 0.1, ""), (-0.2, None, "")],
)
def test_the_interval_of_a_change_has_both_ends_or_is_not_written(low, high, text):
    assert signed_interval(low, high) == text


@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))
def test_a_value_is_never_written_as_the_bound_that_it_misses(value, bound):
    assume(value != bound)
    written = distinct(value, bound)
    assert float(written) != bound or written == repr(value)


@pytest.mark.parametrize(
    ("values", "drawn"),
    [
        ([], ""),
        ([0.5], "▄"),
        ([1, 1, 1], "▄▄▄"),
        ([0, 1], "▁█"),
        ([3, 1, 2], "█▁▅"),
        ([0, 1, 2, 3, 4, 5, 6, 7], "▁▂▃▄▅▆▇█"),
    ],
)
def test_the_lowest_is_the_lowest_bar(values, drawn):
    assert sparkline(values) == drawn


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30))
def test_a_higher_value_is_never_a_lower_bar(values):
    drawn = sparkline(values)
    assert len(drawn) == len(values)
    pairs = sorted(zip(values, drawn, strict=True))
    assert [bar for _, bar in pairs] == sorted(drawn)


def totals(**numbers):
    """Make the totals of a benchmark's calls, all zero but for these."""
    counts = ("calls", "from_journal", "failed", "requests", "total_tokens")
    costs = {"cost_now": None, "cost": None}
    return CallTotals(**{**dict.fromkeys(counts, 0), **costs, **numbers})


def test_without_calls_there_is_no_line():
    assert calls_line([]) == []


def test_the_calls_of_all_benchmarks_are_summed_up():
    one = totals(calls=5, from_journal=2, requests=4, failed=1, cost_now=0.5)
    other = totals(calls=1, requests=1, total_tokens=70, cost_now=0.25)
    assert calls_line([one, other]) == [
        "calls: 6 answered (2 by the journal), 1 failed, 5 requests sent, 70 tokens, cost 0.75"
    ]


def test_what_the_journal_saved_is_the_worth_of_its_answers():
    saving = totals(calls=2, from_journal=1, requests=1, cost=1.0, cost_now=0.25)
    assert calls_line([saving]) == [
        "calls: 2 answered (1 by the journal), 1 request sent, cost 0.25, saved 0.75"
    ]


def test_an_unknown_cost_leaves_the_sum_out():
    known = totals(calls=5, requests=4, cost_now=0.5)
    assert calls_line([known, totals(calls=1)]) == [
        "calls: 6 answered, 4 requests sent"
    ]


def test_what_failed_and_the_tokens_of_all_benchmarks_are_summed_up():
    one = totals(calls=5, requests=4, failed=2, total_tokens=1)
    other = totals(calls=1, requests=1, failed=1, total_tokens=70)
    assert calls_line([one, other]) == [
        "calls: 6 answered, 3 failed, 5 requests sent, 71 tokens"
    ]


def test_the_answers_of_the_journal_are_summed_up():
    one = totals(calls=5, from_journal=2, requests=3)
    assert calls_line([one, one]) == [
        "calls: 10 answered (4 by the journal), 6 requests sent"
    ]


def test_nothing_is_said_to_be_saved_where_the_journal_answered_nothing():
    assert calls_line([totals(calls=1, requests=1, cost=1.0, cost_now=0.25)]) == [
        "calls: 1 answered, 1 request sent, cost 0.25"
    ]


def test_nothing_is_said_to_be_saved_where_the_worth_is_unknown():
    saving = totals(calls=4, from_journal=3, requests=1, cost_now=0.25)
    assert calls_line([saving]) == [
        "calls: 4 answered (3 by the journal), 1 request sent, cost 0.25"
    ]


@pytest.mark.parametrize(
    ("runs", "text"),
    [
        ([{"calls": 1, "from_journal": 1}], "the only answer"),
        ([{"calls": 2, "from_journal": 2}], "all 2 answers"),
        ([{"calls": 2, "from_journal": 2}] * 2, "all 4 answers"),
    ],
)
def test_a_run_that_calls_nothing_says_so(runs, text):
    note = replayed_note([totals(**counts) for counts in runs])
    assert note == f"nothing was called: the journal gave {text}"


@pytest.mark.parametrize(
    "runs",
    [
        [],
        [{"calls": 0}],
        [{"calls": 2, "from_journal": 1}],
        [{"calls": 1, "from_journal": 1}, {"calls": 1, "from_journal": 0}],
        [{"calls": 2, "from_journal": 2, "requests": 1}],
    ],
)
def test_a_run_that_calls_something_has_no_such_note(runs):
    assert replayed_note([totals(**counts) for counts in runs]) == ""


# -- tables ----------------------------------------------------------------------------------

HEADER = ("verdict", "metric", "tasks", "now")


def test_columns_are_aligned_and_lines_have_no_spaces_at_their_ends():
    rows = [("FAIL", "pass@1", "", "0.5"), ("PASS", "a", "", "")]
    assert table(HEADER, rows) == [
        "verdict  metric  now",
        "FAIL     pass@1  0.5",
        "PASS     a",
    ]


def test_wide_letters_and_control_characters_move_no_column():
    rows = [("FAIL", "\u65e5", "1", "2"), ("FAIL", "a\nb", "3", "4")]
    assert table(HEADER, rows) == [
        "verdict  metric  tasks  now",
        "FAIL     \u65e5      1      2",
        "FAIL     a\\nb    3      4",
    ]


ROWS = [("FAIL", "pass@1", "40", "0.5")]


@pytest.mark.parametrize(
    ("width", "header"),
    [
        (None, "verdict  metric  tasks  now"),
        (27, "verdict  metric  tasks  now"),
        (26, "verdict  metric  now"),
        (19, "verdict  metric"),
        # what is indispensable is wider than the terminal
        (5, "verdict  metric"),
    ],
)
def test_a_narrow_table_goes_without_the_first_dispensable_columns(width, header):
    lines = fitted_table(HEADER, ROWS, width, ("tasks", "now"))
    assert lines[0] == header


def test_a_column_that_is_not_asked_for_is_left_out_whatever_the_width():
    lines = fitted_table(HEADER, ROWS, None, ("tasks",), left_out=("now",))
    assert lines == ["verdict  metric  tasks", "FAIL     pass@1  40"]


# -- judges ----------------------------------------------------------------------------------


def use(model, calls, **fields):
    """Make the calls of one judge."""
    counts = ("requests", "prompt_tokens", "completion_tokens", "without_tokens")
    defaults = {
        "scorer": "llm-judge",
        "scores": ("quality",),
        "versions": {},
        "total_tokens": 0,
        "cost": None,
        "latency_s": {"p95": 1.0},
    }
    numbers = dict.fromkeys(counts, 0)
    return JudgeUse(model=model, calls=calls, **{**defaults, **numbers, **fields})


def test_the_uses_of_a_judge_s_model_are_summed_up():
    first = use("big", 3, total_tokens=100, cost=0.25, latency_s={"p95": 1.25})
    second = use("big", 1, total_tokens=20, cost=0.5, latency_s={"p95": 2.5})
    assert judge_lines([first, second]) == [
        "judges: big: 4 answers, 120 tokens, cost 0.75, 95 % within 2.5 s"
    ]


def test_each_model_that_judged_is_named_and_unknown_numbers_are_left_out():
    idle = use("idle", 0)
    assert judge_lines([use("a", 1), idle, use("b", 2, latency_s={"p95": 0.125})]) == [
        "judges: a: 1 answer, 95 % within 1 s; b: 2 answers, 95 % within 0.12 s"
    ]


def test_judges_that_were_not_asked_are_not_mentioned():
    assert judge_lines([use("idle", 0)]) == []


# -- recorded baselines ----------------------------------------------------------------------


def recorded(metrics, *, written=True):
    return RecordedBaseline("b/math.json", written=written, metrics=metrics)


def test_a_recorded_baseline_has_each_change_and_what_is_as_before():
    metrics = {
        "pass@1": (0.5, 0.75),
        "added": (None, 1.0),
        "gone": (0.25, None),
        "same": (1.0, 1.0),
        "alike": (2.0, 2.0),
        # in digits that are usually not shown
        "close": (0.123456789, 0.12345),
    }
    assert recorded_lines(recorded(metrics)) == [
        "recorded b/math.json",
        "    pass@1 0.5000 -> 0.7500",
        "    added 1 (new)",
        "    gone 0.2500 -> no longer recorded",
        "    close 0.123456789 -> 0.12345",
        "    as before: same, alike",
    ]


def test_a_baseline_that_stays_the_same_is_said_to_be_unchanged():
    same = recorded({"same": (1.0, 1.0)}, written=False)
    assert recorded_lines(same) == ["unchanged b/math.json"]


def test_of_many_changed_metrics_the_first_eight_are_shown():
    metrics = {f"m{number}": (0.0, 1.0) for number in range(10)}
    metrics |= {f"s{number}": (1.0, 1.0) for number in range(10)}
    lines = recorded_lines(recorded(metrics))
    assert lines[8:] == [
        "    m7 0 -> 1",
        "    ... and 2 more: see report.json",
        "    as before: s0, s1, s2, s3, s4, s5, s6, s7 and 2 more",
    ]


def test_a_benchmark_that_records_nothing_has_no_such_lines():
    assert recorded_lines(None) == []


def test_the_baselines_of_a_run_are_counted():
    written = benchmark(recorded=recorded({}))
    same = benchmark(recorded=recorded({}, written=False))
    assert recorded_count([written, same, written, benchmark()]) == [
        "baselines: 2 recorded, 1 unchanged"
    ]
    assert recorded_count([same]) == ["baselines: 1 unchanged"]
    assert recorded_count([benchmark()]) == []


# -- rows that could not be scored -----------------------------------------------------------

SERVER = RowFailure(0, "a.jsonl:3", "http-500", "the server failed", "try again later")
EMPTY = RowFailure(4, "a.jsonl:7", "no-score", "the answer is empty")
LACKING = ScorerFailures(
    scorer="remote",
    scores=("quality", "tone"),
    count=3,
    kinds={"http-500": 2, "no-score": 1},
    first=(SERVER, EMPTY),
    rows=9,
    examples={"http-500": SERVER, "no-score": EMPTY},
)


def test_each_kind_of_failure_to_score_has_its_count_and_an_example():
    assert list(failed_row_groups([LACKING])) == [
        "3 of 9 rows have no quality, tone:",
        "  2 (http-500), such as a.jsonl:3: the server failed (try again later)",
        "  1 (no-score), at a.jsonl:7: the answer is empty",
    ]


def test_failures_to_score_are_said_in_one_line_with_the_most_frequent_as_example():
    assert failed_rows_line(LACKING) == (
        "3 of 9 rows have no quality, tone (http-500: 2, no-score: 1), "
        "such as a.jsonl:3: the server failed (try again later)"
    )


def test_failures_of_one_kind_are_not_counted_twice():
    alone = structs.replace(LACKING, count=1, kinds={"no-score": 1})
    assert failed_rows_line(alone) == (
        "1 of 9 rows has no quality, tone (no-score), at a.jsonl:7: the answer is empty"
    )
