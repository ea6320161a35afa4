"""The parts of summary.md: its head, what does not hold, what passes, and what has no result."""

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
    run,
    task,
    unchanged,
)

from pytest_evalmetrics.model import reasons as kinds
from pytest_evalmetrics.model.blindness import FewUnits
from pytest_evalmetrics.model.bounds import RuleBound, SlicesBound
from pytest_evalmetrics.model.changes import ThresholdChanged
from pytest_evalmetrics.model.comparison import NoiseSource
from pytest_evalmetrics.model.history import HistoryPoint, HistoryRun
from pytest_evalmetrics.model.results import Attempt, Flip, SkippedItem
from pytest_evalmetrics.model.separators import Separator
from pytest_evalmetrics.model.tiers import Tier
from pytest_evalmetrics.model.verdicts import Direction, Gate, Verdict
from pytest_evalmetrics.reports.summary import (
    WHOLE,
    failing_part,
    head,
    passing_part,
    summary,
    without_result,
)

SMALL = structs.replace(
    WHOLE, failing=2, reasons=1, others=2, trends=1, drawn=2, shared=1, tasks=2
)


def named(name, *checks, **fields):
    return benchmark(*checks, name=name, **fields)


# -- the head --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("check", "title"),
    [
        (above(), "## ✅ Benchmarks: PASS"),
        (compared(verdict=Verdict.WARN), "## ⚠️ Benchmarks: WARN"),
        (broken(), "## ❔ Benchmarks: INCONCLUSIVE"),
        (below(), "## ❌ Benchmarks: FAIL"),
    ],
)
def test_the_title_has_the_verdict_and_its_sign(check, title):
    assert head(run(benchmark(check)), WHOLE)[:2] == [title, ""]


def test_of_the_surest_failure_the_head_says_why_and_what_to_do():
    surer = compared("pass@2", changes={"p_adjusted": 0.001})
    report = run(named("math", compared()), named("sums", surer))
    lines = head(report, WHOLE)
    assert lines[-4:] == [
        (
            "**sums**: pass@2 went from 0.9000 to 0.7000: 12 of 40 tasks worse, 1 better; "
            r"unlikely to be noise \(p = 0.001\)."
        ),
        "",
        (
            "What to do: fix the regression; or, if the change is intended, accept it: "
            'evalmetrics accept a.yaml::sums --reason "..."'
        ),
        "",
    ]


def lead(check, **fields):
    """Return the head's sentence about a check."""
    lines = head(run(benchmark(check, **fields)), WHOLE)
    return next(line for line in lines if line.startswith("**"))


@pytest.mark.parametrize(
    ("check", "sentence"),
    [
        (below(), r"**math**: pass@1 is 0.5, below 0.7."),
        (broken(agent="x"), r"**math / x**: no such file."),
        (
            compared(changes={"p_adjusted": None, "tasks": 1, "worse": 1}),
            "**math**: pass@1 went from 0.9000 to 0.7000: 1 of 1 task worse, 1 better.",
        ),
        # a rule without a test says nothing of noise
        (
            compared(bound=SlicesBound(0.01)),
            "**math**: pass@1 went from 0.9000 to 0.7000: 12 of 40 tasks worse, 1 better.",
        ),
        (
            compared(changes={"tasks": 0}, reasons=(kinds.NotComparable("m", "w"),)),
            "**math**: m can't be compared with the baseline: w.",
        ),
    ],
)
def test_the_head_s_sentence_is_of_both_values_or_the_reason(check, sentence):
    assert lead(check) == sentence


def test_what_could_not_be_judged_has_its_reason_in_the_head():
    reason = (kinds.NothingInCommon(metric="pass@1", excluded=0),)
    sentence = lead(compared(verdict=Verdict.INCONCLUSIVE, reasons=reason))
    assert sentence == (
        "**math**: pass@1 can't be compared: the run and its baseline have no task in common."
    )


def test_a_run_that_is_green_has_no_such_sentence():
    lines = head(run(benchmark(above()), benchmark(below(), xfail=True)), WHOLE)
    assert lines == [
        "## ✅ Benchmarks: PASS",
        "",
        "1 PASS, 1 FAIL (1 known, by xfail)",
        "",
    ]


FEW = FewUnits(unit="task", units=3, needed=7, alpha=0.01)


def test_what_limits_the_verdicts_is_said_in_sentences():
    unseen = kinds.SingleTasksUnseen(tasks=40, sees_some=False, rollouts=2, needed=8)
    comparison = structs.replace(
        unchanged().comparison, blind=FEW, run_noise=NoiseSource.UNKNOWN
    )
    check = unchanged(comparison=comparison, reasons=(unseen,))
    lines = head(run(benchmark(check)), WHOLE)
    begins = [line[:40] for line in lines if line]
    assert begins == [
        "## ✅ Benchmarks: PASS",
        "1 PASS",
        "Blind: math pass@1: 3 tasks: no drop of ",
        "False alarms where nothing changed: at m",
        "The noise between runs is unknown (one r",
        "The break of a single task is never seen",
    ]
    assert all(line.endswith((".", "PASS")) for line in lines if line)
    assert lines[1::2] == [""] * len(lines[1::2])


def test_the_remark_on_a_run_is_a_sentence_below_its_head():
    lines = summary(run(benchmark(above())), "the run was cut short").splitlines()
    assert lines[2:6] == ["1 PASS", "", "The run was cut short.", ""]


def past(time, value, drift=(), reason="", **fields):
    point = HistoryPoint(value, tasks=40, rollouts=80)
    return HistoryRun(
        schema_version=1,
        benchmark="a.yaml::math",
        time=time,
        commit=None,
        branch=None,
        url=None,
        verdict="PASS",
        usable=True,
        starts=False,
        agents={"agent": {"pass@1": point}},
        drift=drift,
        reason=reason,
        **fields,
    )


def test_warnings_of_drift_are_capped():
    drift = ("a_b fell", "b fell", "c fell")
    report = run(benchmark(above()), history={"a.yaml::math": (past("1", 0.5, drift),)})
    assert head(report, SMALL)[4:] == [
        r"- ⚠️ drift: a\_b fell",
        "- ⚠️ drift: b fell",
        "- and 1 more, in report.json",
        "",
    ]


def test_the_causes_of_many_failures_have_their_cases():
    results = [named(f"b_{number}", below()) for number in range(6)]
    lines = head(run(*results), WHOLE)
    assert lines[-4:] == [
        "- **FAIL 6 of 6 failing benchmarks: pass@1**",
        r"  - first b\_0: pass@1 is 0.5, below 0.7",
        r"  - pytest a.yaml::b\_0",
        "",
    ]
    short = structs.replace(WHOLE, with_cases=False)
    assert head(run(*results), short)[-2:] == [
        "- **FAIL 6 of 6 failing benchmarks: pass@1**",
        "",
    ]


# -- what does not hold ----------------------------------------------------------------------


def rows(report, size=WHOLE, page=""):
    """Return the rows of the table of what does not hold."""
    lines = failing_part(report, size, page)
    return lines[2 : lines.index("")]


def test_each_gate_that_does_not_hold_is_a_row():
    report = run(benchmark(below(), compared("pass@2"), above("pass@3")))
    lines = failing_part(report, WHOLE)
    assert lines[:5] == [
        "|  | benchmark | metric | now | held against | change | p |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        r"| ❌ | math | pass@1 | 0.5000 (0.4000 to 0.6000) | \>= 0.7 |  |  |",
        (
            "| ❌ | math | pass@2 | 0.7000 | was 0.9000 | "
            "-0.2000 (-0.3000 to -0.1000) | 0.004 |"
        ),
        "",
    ]


@pytest.mark.parametrize(
    ("check", "sign"),
    [
        (compared(verdict=Verdict.WARN), "⚠️"),
        (compared(verdict=Verdict.WARN, tier=Tier.ADVISORY), "🔷 advisory"),
        (broken(), "❔"),
    ],
)
def test_a_row_begins_with_the_sign_of_its_verdict(check, sign):
    assert rows(run(benchmark(check)))[0].startswith(f"| {sign} | math | ")


def test_a_change_without_an_interval_stands_alone():
    check = compared(changes={"drop_low": None})
    assert "| -0.2000 |" in rows(run(benchmark(check)))[0]
    check = compared(changes={"drop_high": None})
    assert "| -0.2000 |" in rows(run(benchmark(check)))[0]


def test_a_comparison_without_a_baseline_is_held_against_its_bound():
    check = compared(changes={"baseline": None})
    assert (
        r"| no drop \>= 0.02 at p \< 0.01 \(practical\) |"
        in rows(run(benchmark(check)))[0]
    )


def test_the_value_of_a_check_without_an_estimate_is_that_of_its_agent():
    below_agent = below(estimate=None, agent="beta")
    agents = (agent("alpha"), agent("beta", {"pass@1": 0.25}))
    (row,) = rows(run(benchmark(below_agent, agents=agents)))
    assert row == r"| ❌ | math / beta | pass@1 | 0.2500 | \>= 0.7 |"


def test_a_compared_value_has_no_interval_of_its_own():
    (row,) = rows(run(benchmark(compared(estimate=estimate()))))
    assert "| pass@1 | 0.5000 | was" in row


def test_agents_with_the_same_row_share_it():
    checks = [below(agent=name) for name in ("alpha", "beta")]
    other = below(agent="gamma", value=0.1, estimate=None)
    found = rows(run(benchmark(*checks, other, agents=())))
    assert [row.split(" | ")[1] for row in found] == [
        "math / alpha, beta",
        "math / gamma",
    ]


def test_benchmarks_with_the_same_row_have_their_own():
    found = rows(run(named("a", below()), named("b", below(), xfail=True)))
    assert [row.split(" | ")[1] for row in found] == ["a", r"b \(xfail\)"]


def worse_slice(lang):
    return kinds.WorseSlice(
        name=f"pass@1[lang={lang}]",
        before=1.0,
        now=0.25,
        p=0.001,
        tasks=10,
        worse=8,
        worst=("t0",),
    )


def slices(*langs, **fields):
    reason = kinds.WorseSlices(
        slices=tuple(worse_slice(lang) for lang in langs), count=len(langs), of=9
    )
    return compared(
        "slices", comparison=None, bound=SlicesBound(0.01), reasons=(reason,), **fields
    )


def test_each_slice_that_got_worse_has_a_row():
    found = rows(run(benchmark(slices("de", "en"))))
    assert found == [
        r"| ❌ | math | pass@1\[lang=de\] | 0.2500 | was 1 | -0.7500 | 0.001 |",
        r"| ❌ | math | pass@1\[lang=en\] | 0.2500 | was 1 | -0.7500 | 0.001 |",
    ]


def test_slices_of_several_agents_have_rows_of_their_own():
    checks = [slices("de", agent="alpha"), slices("de", agent="beta")]
    found = rows(run(benchmark(*checks, agents=())))
    assert [row.split(" | ")[1] for row in found] == ["math / alpha", "math / beta"]


def test_of_many_rows_the_first_are_written_and_the_others_counted():
    report = run(*(named(f"b{number}", below()) for number in range(4)))
    lines = failing_part(report, SMALL)
    assert lines[4:7] == ["", "and 2 more that do not hold, in report.json", ""]
    two = run(*report.benchmarks[:2])
    assert not any("more that" in line for line in failing_part(two, SMALL))


PAGE = "https://x/report.html"
WORST = (task("t_0"), task("t1"), task("t2"), task("t3"))


def flip(name):
    return Flip(
        agent="agent",
        task=name,
        prompt="why?",
        reference="42",
        before=(Attempt(0, 1.0, "42"),),
        now=(Attempt(0, 0.0, "x" * 80, "it is a guess"),),
    )


def test_rows_and_tasks_are_links_to_the_page():
    result = benchmark(compared(changes={"worst_tasks": WORST}), flips=(flip("t_0"),))
    lines = failing_part(run(result), WHOLE, PAGE)
    assert f"| [math]({PAGE}#/a.yaml::math) |" in lines[2]
    assert "| task that got worse | rewards | expected | was | now | why |" in lines
    (row,) = [line for line in lines if line.startswith(r"| [math: t\_0]")]
    assert row == (
        rf"| [math: t\_0]({PAGE}#/a.yaml::math/a0/t_0) | 2/2 -\> 0/2 | 42 | 42 | "
        f"{'x' * 28}...{'x' * 28} | it is a guess |"
    )


def test_the_worse_tasks_of_a_number_of_benchmarks_are_shown():
    check = compared(changes={"worst_tasks": WORST})
    known = named("known", check, xfail=True)
    report = run(named("a", check), named("b", check), known)
    one = structs.replace(SMALL, benchmarks_with_tasks=1)
    lines = failing_part(report, one)
    begins = lines.index("| task that got worse | rewards |")
    assert lines[begins:] == [
        "| task that got worse | rewards |",
        "| --- | --- |",
        r"| a: t\_0 | 2/2 -\> 0/2 |",
        r"| a: t1 | 2/2 -\> 0/2 |",
        "",
    ]
    every = failing_part(report, WHOLE)
    tasks = [line for line in every if "2/2" in line]
    assert [line[2:3] for line in tasks] == ["a", "a", "a", "b", "b", "b"]


def test_a_task_of_several_agents_names_its_agent():
    check = compared(agent="beta", changes={"worst_tasks": WORST[:1]})
    agents = (agent("alpha"), agent("beta"))
    lines = failing_part(run(benchmark(check, agents=agents)), WHOLE, PAGE)
    address = f"{PAGE}#/a.yaml::math/a1/t_0"
    assert rf"| [math / beta: t\_0]({address}) | 2/2 -\> 0/2 |" in lines


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


def test_what_the_worse_tasks_share_is_said_with_its_basis():
    result = benchmark(compared(), separators=(separator("d_e"), separator("en")))
    lines = failing_part(run(result), WHOLE)
    first, second = [line for line in lines if line.startswith("- in common")]
    assert first.startswith(
        r"- in common, math: lang d\_e \(8 of 10 worse; others 1 of 30\); "
    )
    assert second.startswith("- in common, math: lang en ")
    small = failing_part(run(result), SMALL)
    assert len([line for line in small if line.startswith("- in common")]) == 1


def test_a_number_of_changes_is_drawn_below_the_table():
    unknown = compared("x", changes={"drop_low": None})
    checks = [compared("a"), unknown, compared("b"), compared("c")]
    lines = failing_part(run(benchmark(*checks)), SMALL)
    begins = lines.index("<pre>")
    assert lines[begins : begins + 6] == [
        "<pre>",
        "math a  ├─────────●────────┤       ┊ │",
        "math b  ├─────────●────────┤       ┊ │",
        "        │ 0  ┊ gate: no drop &gt;= 0.02 at p &lt; 0.01",
        "</pre>",
        "",
    ]


def test_a_long_name_beside_a_picture_keeps_both_ends():
    result = named("m" * 30 + "n" * 30, compared())
    lines = failing_part(run(result), WHOLE)
    picture = lines[lines.index("<pre>") + 1]
    assert picture.startswith(f"{'m' * 18}...{'n' * 11} pass@1  ├")


def test_nothing_is_written_of_a_run_that_holds():
    assert failing_part(run(benchmark(above())), WHOLE) == []


# -- changes and reasons ---------------------------------------------------------------------


def body(report):
    return summary(report).splitlines()


def test_changes_since_the_baseline_are_listed():
    changes = (ThresholdChanged("a_b", ">= 0.5", ">= 0.4"),)
    lines = body(run(benchmark(above(), changes=changes)))
    begins = lines.index("Changed since the baseline:")
    assert lines[begins : begins + 4] == [
        "Changed since the baseline:",
        "",
        r"- math: threshold a\_b was \>= 0.5, and is \>= 0.4 now",
        "",
    ]


def test_of_many_changes_a_hundred_are_listed():
    changes = tuple(ThresholdChanged(f"m{n}", "a", "b") for n in range(102))
    lines = body(run(benchmark(changes=changes)))
    assert lines.count("- and 2 more, in report.json") == 1


def fold(report):
    """Return the lines of the folds below what does not hold."""
    lines = body(report)
    return lines[lines.index("<details>") :]


def test_each_reason_is_folded_with_its_details_its_way_out_and_its_place():
    check = broken(reasons=(kinds.Failed("bad <row>", "do_x"),), line=9)
    assert fold(run(benchmark(check))) == [
        "<details>",
        "<summary>❔ math: bad &lt;row&gt;</summary>",
        "",
        r"- do\_x",
        "- a.yaml, line 9",
        "",
        "</details>",
    ]


def test_the_reason_of_a_comparison_has_its_basis():
    lines = fold(run(benchmark(compared())))
    assert lines[1] == (
        "<summary>❌ math: pass@1 fell from 0.9 to 0.7: a loss of 0.2 [0.1, 0.3], "
        "p = 0.004 (exact sign flip, 40 tasks), 12 worse and 1 better</summary>"
    )
    assert lines[3].startswith("- exact sign flip over 40 tasks, 80 rollouts before")
    assert lines[4].startswith("- fix the regression; or, if the change is intended, ")


def test_a_place_is_the_line_of_the_benchmark_where_a_check_has_none():
    assert "- a.yaml, line 3" in fold(run(benchmark(broken())))


def test_agents_with_the_same_reason_share_a_fold():
    checks = [broken(agent="alpha"), broken(agent="beta"), broken("x", agent="gamma")]
    titles = [
        line for line in fold(run(benchmark(*checks, agents=()))) if "summary" in line
    ]
    assert titles == [
        "<summary>❔ math / alpha, beta: no such file</summary>",
        "<summary>❔ math / gamma: x</summary>",
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


def test_a_task_list_that_changed_is_explained_though_its_check_passes():
    moved = compared("tasks", Verdict.PASS, comparison=None, reasons=(MOVED,))
    assert fold(run(benchmark(moved)))[1] == (
        "<summary>✅ math: 1 new task not in the baseline: n (reward 1)</summary>"
    )


def test_each_verdict_of_a_reason_has_a_fold_the_surest_benchmark_first():
    fails = broken(agent="x", verdict=Verdict.FAIL)
    one = named("one", broken(agent="y"), fails)
    two = named("two", broken())
    titles = [line for line in fold(run(two, one)) if "summary" in line]
    assert titles == [
        "<summary>❌ one / x: no such file</summary>",
        "<summary>❔ one / y: no such file</summary>",
        "<summary>❔ two: no such file</summary>",
    ]
    assert not any("more reason" in line for line in fold(run(two, one)))


def test_a_check_without_a_reason_has_no_fold():
    assert "<details>" not in body(run(benchmark(below(reasons=()))))


def test_one_reason_too_many_is_counted():
    report = run(*(named(f"b{number:03}", broken()) for number in range(101)))
    lines = body(report)
    assert lines[-1] == "1 more reason is in report.json."
    assert lines.count("<details>") == 100


# -- what passes -----------------------------------------------------------------------------


def test_what_passes_is_folded_with_the_losses_that_it_would_see():
    seeing = compared(
        "pass@2", Verdict.PASS, changes={"detectable_drop": 0.0612, "drop": 0.0}
    )
    report = run(
        benchmark(above(), seeing, above("tasks", gate=Gate.EXPECT), below("x"))
    )
    assert passing_part(report, 10) == [
        "<details>",
        "<summary>2 gates pass</summary>",
        "",
        "|  | benchmark | metric | now | held against | change | p | sees losses from |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        r"| ✅ | math | pass@1 | 0.5000 (0.4000 to 0.6000) | \>= 0.4 |  |  |  |",
        (
            "| ✅ | math | pass@2 | 0.7000 | was 0.9000 | 0 (-0.3000 to -0.1000) | 0.004 | "
            "0.061 |"
        ),
        "",
        "</details>",
        "",
    ]


def unproven(name):
    return compared(name, Verdict.PASS, changes={"p_adjusted": 0.2})


def test_drops_that_are_not_proven_come_first_and_are_marked():
    report = run(benchmark(above(), unproven("pass@2"), unproven("pass@3")))
    lines = passing_part(report, 1, where="the summary of the run")
    assert lines[1] == "<summary>3 gates pass, 2 drops of them not proven</summary>"
    assert lines[5].startswith("| 🔸 drop not proven | math | pass@2 |")
    assert lines[6:8] == ["", "and 2 more that pass, in the summary of the run"]
    whole = passing_part(report, 3)
    assert not any("more that pass" in line for line in whole)


def test_one_gate_and_one_drop_are_counted_as_such():
    assert (
        passing_part(run(benchmark(above())), 9)[1]
        == "<summary>1 gate passes</summary>"
    )
    lines = passing_part(run(benchmark(unproven("a"))), 9)
    assert lines[1] == "<summary>1 gate passes, 1 drop of them not proven</summary>"


@pytest.mark.parametrize(
    "check",
    [
        above(gate=Gate.EXPECT),
        above(gate=Gate.DATA),
        above(estimate=None),
        below(),
    ],
)
def test_only_metrics_with_a_value_are_listed_as_passing(check):
    assert passing_part(run(benchmark(check)), 9) == []


def test_the_rest_of_what_passes_is_in_the_report():
    lines = passing_part(run(benchmark(above(), above("b"))), 1)
    assert "and 1 more that pass, in report.json" in lines


# -- the last runs ---------------------------------------------------------------------------

COURSE = tuple(
    past(f"2026-01-0{at + 1}T", value)
    for at, value in enumerate((0, 0.5, 1, 0.5, 0.25, 1))
)


def test_metrics_are_drawn_over_the_last_runs_with_the_last_five_values():
    report = run(benchmark(above()), history={"a.yaml::math": COURSE})
    lines = body(report)
    begins = lines.index("### The last runs")
    assert lines[begins : begins + 5] == [
        "### The last runs",
        "",
        "| benchmark | metric | trend | last values |",
        "| --- | --- | --- | --- |",
        "| math | pass@1 | ▁▅█▅▃█ | 0.5000, 1, 0.5000, 0.2500, 1 |",
    ]


def test_changes_that_were_accepted_are_listed_with_their_days():
    runs = (past("2026-01-02T03:04:05Z", 0.5, reason="smaller_prompt"), past("2", 0.6))
    report = run(benchmark(above()), history={"a.yaml::math": runs})
    lines = body(report)
    begins = lines.index("Accepted changes:")
    assert lines[begins:] == [
        "Accepted changes:",
        "",
        r"- math, 2026-01-02: smaller\_prompt",
    ]


def test_fifty_trends_and_accepted_changes_are_written():
    results = [named(f"b{number:02}", above()) for number in range(52)]
    runs = (past("2026-01-02", 0.5, reason="why"), past("2", 0.6))
    history = {result.id: runs for result in results}
    lines = body(run(*results, history=history))
    assert "and 2 more" in lines
    accepted = [line for line in lines if line.endswith(", 2026-01-02: why")]
    assert len(accepted) == 50
    # the newest are the last
    assert accepted[-1].startswith("- b51")
    assert "and 2 more" not in body(run(*results[:50], history=history))


def test_the_trend_of_several_agents_names_them():
    agents = (agent(), agent("beta"))
    report = run(benchmark(above(), agents=agents), history={"a.yaml::math": COURSE})
    lines = body(report)
    assert any(line.startswith("| math / agent | pass@1 |") for line in lines)
    assert not any(line.startswith("and ") for line in lines)


# -- what has no result ----------------------------------------------------------------------


def test_what_has_no_result_is_named_with_the_reason():
    report = run(not_evaluated=("b_x",), skipped=(SkippedItem("b_y", "la_ter"),))
    assert without_result(report, WHOLE) == [
        r"- ❔ b\_x was not evaluated",
        r"- b\_y was skipped: la\_ter",
    ]


def test_of_many_without_a_result_the_first_are_named():
    lost = tuple(f"l{number}" for number in range(5))
    skipped = tuple(SkippedItem(f"s{number}", "later") for number in range(4))
    assert without_result(run(not_evaluated=lost, skipped=skipped), SMALL) == [
        "- ❔ l0 was not evaluated",
        "- ❔ l1 was not evaluated",
        "- ❔ and 3 more were not evaluated",
        "- s0 was skipped: later",
        "- s1 was skipped: later",
        "- and 2 more were skipped",
    ]


# -- the whole -------------------------------------------------------------------------------


def test_the_parts_of_a_summary_stand_in_their_order():
    result = benchmark(
        below(),
        above("pass@2"),
        changes=(ThresholdChanged("m", "a", "b"),),
    )
    report = run(result, not_evaluated=("lost",), history={result.id: COURSE})
    text = summary(report, "remark")
    parts = [
        "Benchmarks: FAIL",
        "Remark.",
        "| ❌ | math",
        "Changed since the baseline:",
        "<summary>❌ math",
        "<summary>1 gate passes</summary>",
        "### The last runs",
        "lost was not evaluated",
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert text.endswith("lost was not evaluated\n")


def test_a_lower_metric_that_rose_has_a_change_above_zero():
    lower = RuleBound(structs.replace(RULE, direction=Direction.LOWER))
    (row,) = rows(run(benchmark(compared(bound=lower, comparison=facts()))))
    assert "| +0.2000 (+0.1000 to +0.3000) |" in row
