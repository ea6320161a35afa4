"""The lines of the comment on a pull request: what stands in it, and what there is no room for."""

import pytest
from reports.records import (
    above,
    agent,
    below,
    benchmark,
    broken,
    compared,
    run,
    task,
)

from pytest_evalmetrics.model import reasons as kinds
from pytest_evalmetrics.model.bounds import SlicesBound
from pytest_evalmetrics.model.history import HistoryRun
from pytest_evalmetrics.model.results import SkippedItem
from pytest_evalmetrics.model.separators import Separator
from pytest_evalmetrics.model.verdicts import Verdict
from pytest_evalmetrics.reports.comment import comment

AGAIN = "- again: <code>pytest a.yaml::math</code>"


def lines(*results, most=57, **fields):
    text = comment(run(*results, **fields), most)
    assert text.endswith("\n")
    return text.removesuffix("\n").split("\n")


def named(name, *checks, **fields):
    return benchmark(*checks, name=name, **fields)


def test_a_comment_has_its_parts_in_their_order():
    result = benchmark(compared(), above("pass@2"))
    written = lines(result, not_evaluated=("lost",))
    begins = [line[:34] for line in written if line]
    assert begins == [
        "## ❌ Benchmarks: FAIL",
        "1 FAIL, 1 not evaluated",
        "False alarms where nothing changed",
        "**math**: pass@1 went from 0.9000 ",
        "What to do: fix the regression; or",
        "|  | benchmark | metric | now | he",
        "| --- | --- | --- | --- | --- | --",
        "| ❌ | math | pass@1 | 0.7000 | was",
        "<pre>",
        "math pass@1  ├─────────●────────┤ ",
        "             │ 0  ┊ gate: no drop ",
        "</pre>",
        AGAIN[:34],
        "- ❔ lost was not evaluated",
        "<details>",
        "<summary>1 gate passes</summary>",
        "|  | benchmark | metric | now | he",
        "| --- | --- | --- | --- | --- |",
        "| ✅ | math | pass@2 | 0.5000 (0.40",
        "</details>",
    ]


# -- reasons ---------------------------------------------------------------------------------


def reasons(*results, **fields):
    """Return the list of reasons with the command."""
    return [line for line in lines(*results, **fields) if line.startswith("- ")]


def test_the_reason_of_the_head_and_of_a_row_are_not_said_again():
    checks = (broken("first"), broken("second"), compared(changes={"p_adjusted": None}))
    lead = compared("pass@2")
    assert reasons(benchmark(lead, *checks)) == [
        "- **math**: first",
        "- **math**: second",
        AGAIN,
    ]


WORSE = kinds.WorseSlice(
    name="pass@1[lang=de]", before=1.0, now=0.2, p=0.001, tasks=9, worse=8, worst=()
)
SLICES = kinds.WorseSlices(slices=(WORSE,), count=1, of=4)


def test_slices_have_rows_and_no_reason():
    slices = compared(
        "slices", comparison=None, bound=SlicesBound(0.01), reasons=(SLICES,)
    )
    assert reasons(benchmark(compared(), slices)) == [AGAIN]


def test_agents_with_the_same_reason_share_a_line():
    checks = [broken(agent="x"), broken("a_b", agent="y"), broken("a_b", agent="z")]
    assert reasons(benchmark(*checks, agents=())) == [r"- **math / y, z**: a\_b", AGAIN]


def test_a_check_without_a_reason_and_a_known_failure_have_no_line():
    known = named("known", broken("known"), xfail=True)
    result = benchmark(compared(), below(reasons=()))
    assert reasons(result, known) == [AGAIN]


def test_of_many_reasons_the_first_are_written():
    checks = [broken(f"error {number}") for number in range(9)]
    result = benchmark(compared(), *checks)
    assert reasons(result, most=75) == [
        *(f"- **math**: error {number}" for number in range(5)),
        "- and 4 more, in the summary of the run",
        AGAIN,
    ]
    # at least two
    few = reasons(result, most=40)
    assert few[2:] == ["- and 7 more, in the summary of the run", AGAIN]


def test_the_command_is_that_of_the_surest_failure():
    surer = named("s u", compared(changes={"p_adjusted": 0.001}))
    assert reasons(benchmark(compared()), surer) == [
        "- again: <code>pytest 'a.yaml::s u'</code>"
    ]


def test_a_run_that_is_green_has_no_command():
    assert reasons(benchmark(above())) == []
    assert reasons(benchmark(compared(verdict=Verdict.WARN))) == []


# -- how much of each ------------------------------------------------------------------------


def test_a_sixth_of_the_lines_are_rows_of_what_fails():
    checks = [compared(f"m{number}") for number in range(12)]
    result = benchmark(*checks)
    rows = [line for line in lines(result, most=60) if line.startswith("| ❌")]
    assert len(rows) == 10
    few = [line for line in lines(result, most=20) if line.startswith("| ❌")]
    # at least three
    assert len(few) == 3


def test_three_changes_are_drawn_and_three_tasks_of_one_benchmark_are_shown():
    worst = tuple(task(f"t{number}") for number in range(5))
    checks = [
        compared(f"m{number}", changes={"worst_tasks": worst}) for number in range(5)
    ]
    first = named("first", *checks)
    second = named("second", *checks)
    written = lines(first, second, most=100)
    assert sum("●" in line for line in written) == 3
    tasks = [line for line in written if "2/2" in line]
    assert [line[:12] for line in tasks] == [
        "| first: t0 ",
        "| first: t1 ",
        "| first: t2 ",
    ]


def separator(value):
    return Separator(
        agent="agent",
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


def test_the_surest_thing_that_the_tasks_share_is_said():
    result = benchmark(compared(), separators=(separator("de"), separator("at")))
    shared = [line for line in lines(result) if line.startswith("- in common")]
    assert len(shared) == 1
    assert "lang de" in shared[0]


def past(drift):
    return HistoryRun(
        schema_version=1,
        benchmark="a.yaml::math",
        time="1",
        commit=None,
        branch=None,
        url=None,
        verdict="PASS",
        usable=True,
        starts=False,
        agents={},
        drift=drift,
    )


def test_two_warnings_are_written():
    history = {"a.yaml::math": (past(("a", "b", "c", "d")),)}
    written = lines(benchmark(above()), history=history)
    assert written[4:8] == [
        "- ⚠️ drift: a",
        "- ⚠️ drift: b",
        "- and 2 more, in report.json",
        "",
    ]


def test_three_lost_and_two_skipped_ones_are_named():
    lost = tuple(f"l{number}" for number in range(5))
    skipped = tuple(SkippedItem(f"s{number}", "later") for number in range(5))
    written = lines(benchmark(above()), not_evaluated=lost, skipped=skipped)
    begins = written.index("- ❔ l0 was not evaluated")
    assert written[begins : begins + 8] == [
        "- ❔ l0 was not evaluated",
        "- ❔ l1 was not evaluated",
        "- ❔ l2 was not evaluated",
        "- ❔ and 2 more were not evaluated",
        "- s0 was skipped: later",
        "- s1 was skipped: later",
        "- and 3 more were skipped",
        "",
    ]


def test_causes_have_no_cases():
    results = [named(f"b{number}", below()) for number in range(6)]
    written = lines(*results)
    assert "- **FAIL 6 of 6 failing benchmarks: pass@1**" in written
    assert not any(line.startswith("  - ") for line in written)


# -- what passes -----------------------------------------------------------------------------


def passing(count):
    return benchmark(*(above(f"m{number}") for number in range(count)))


def test_what_passes_takes_the_room_that_is_left():
    # four lines of the head, and ten of the fold beside its rows
    written = lines(passing(30), most=24)
    assert sum(line.startswith("| ✅") for line in written) == 10
    assert "and 20 more that pass, in the summary of the run" in written
    assert len(written) <= 24
    one = lines(passing(30), most=15)
    assert sum(line.startswith("| ✅") for line in one) == 1
    assert lines(passing(30), most=14) == ["## ✅ Benchmarks: PASS", "", "1 PASS"]


def test_what_is_open_where_the_lines_end_is_closed():
    result = benchmark(compared())
    whole = lines(result)
    begins = whole.index("<pre>")
    cut = lines(result, most=begins + 2)
    assert cut == [*whole[: begins + 1], "</pre>"]
    assert lines(result, most=begins + 5)[-1] == "</pre>"


@pytest.mark.parametrize("most", [25, 26, 27, 28])
def test_a_fold_is_closed_where_the_lines_end(most):
    lost = tuple(f"l{number}" for number in range(5))
    report = run(benchmark(compared(), above("pass@2")), not_evaluated=lost)
    written = comment(report, most).splitlines()
    assert len(written) <= most
    assert written.count("<details>") == written.count("</details>")
    assert written.count("<pre>") == written.count("</pre>")


def test_a_comment_with_a_page_has_links():
    text = comment(run(benchmark(compared())), 57, "https://x/report.html")
    assert "| [math](https://x/report.html#/a.yaml::math) |" in text
    assert "](" not in comment(run(benchmark(compared())), 57)


def test_the_agents_of_a_row_are_named():
    checks = [compared(agent="x"), compared(agent="y")]
    result = benchmark(*checks, agents=(agent("x"), agent("y")))
    rows = [line for line in lines(result) if line.startswith("| ❌")]
    assert [row[:17] for row in rows] == ["| ❌ | math / x, y"]
