"""The section of benchmarks at a run's end, of a few and of many benchmarks."""

import pytest
from msgspec import structs
from reports.records import (
    above,
    agent,
    below,
    benchmark,
    broken,
    compared,
    run,
    unchanged,
)

from pytest_evalmetrics.model.blindness import FewUnits
from pytest_evalmetrics.model.comparison import NoiseSource
from pytest_evalmetrics.model.history import HistoryRun
from pytest_evalmetrics.model.notes import Remark
from pytest_evalmetrics.model.reasons import SingleTasksUnseen
from pytest_evalmetrics.model.results import (
    RecordedBaseline,
    SkippedItem,
    StaleBaseline,
)
from pytest_evalmetrics.model.verdicts import Verdict
from pytest_evalmetrics.reports.benchmark_lines import Reading
from pytest_evalmetrics.reports.terminal import section

NORMAL = Reading()
VERBOSE = Reading(verbosity=1)
QUIET = Reading(verbosity=-1)


def passing(name="math", **fields):
    return benchmark(above(), name=name, **fields)


def failing(name="math", **fields):
    return benchmark(below(), name=name, **fields)


PASSED = "PASS  a.yaml::math  pass@1 0.7000 (>= 0.4), 40 tasks, 80 rollouts"
FAILED = [
    "FAIL  a.yaml::math  pass@1 0.7000 (>= 0.7), 40 tasks, 80 rollouts",
    "    FAIL  pass@1 is 0.5, below 0.7",
]


def lines(report, reading=NORMAL, written=()):
    return [line for line, _ in section(report, written, reading)]


def colours(report, reading=NORMAL, written=()):
    return dict(section(report, written, reading))


# -- a few benchmarks ------------------------------------------------------------------------


def test_the_section_has_each_benchmark_the_failing_first_and_the_files():
    report = run(passing(), failing())
    assert section(report, ["e/report.json", "e/summary.md"], NORMAL) == [
        (FAILED[0], "red"),
        (FAILED[1], None),
        (PASSED, "green"),
        ("artifacts: e/report.json, e/summary.md", None),
    ]


def test_what_can_t_be_printed_is_written_as_escapes():
    assert lines(run(passing("a\x1b[31m")))[0].startswith(r"PASS  a.yaml::a\x1b[31m  ")


def test_what_has_no_result_comes_after_the_others():
    report = run(
        passing(), not_evaluated=("b::x",), skipped=(SkippedItem("b::y", "later"),)
    )
    assert section(report, [], NORMAL)[1:] == [
        ("INCONCLUSIVE  b::x  was not evaluated", "red"),
        ("SKIPPED       b::y  later", "yellow"),
    ]


def test_of_many_without_a_result_ten_are_named_and_all_with_v():
    lost = tuple(f"b::l{number:02}" for number in range(12))
    skipped = tuple(SkippedItem(f"b::s{number:02}", "later") for number in range(13))
    report = run(not_evaluated=lost, skipped=skipped)
    short = lines(report)
    assert short[9:11] == [
        "INCONCLUSIVE  b::l09  was not evaluated",
        "... and 2 more that were not evaluated (-v shows them)",
    ]
    assert short[20:] == [
        "SKIPPED       b::s09  later",
        "... and 3 more skipped (-v shows them)",
    ]
    assert len(lines(report, VERBOSE)) == 25


DRIFTING = {
    "a.yaml::math": (
        HistoryRun(
            schema_version=1,
            benchmark="a.yaml::math",
            time="2026-01-02T03:04:05Z",
            commit=None,
            branch=None,
            url=None,
            verdict="PASS",
            usable=True,
            starts=False,
            agents={},
            drift=("pass@1 fell from 0.9 to 0.7",),
        ),
    )
}


@pytest.mark.parametrize("reading", [NORMAL, VERBOSE, QUIET])
def test_drift_is_a_warning_below_its_benchmark(reading):
    report = run(passing(), passing("sums"), history=DRIFTING)
    written = section(report, [], reading)
    names = [line.partition("  ")[2].partition(" ")[0] for line, _ in written]
    at = written.index(("    warning: drift: pass@1 fell from 0.9 to 0.7", "yellow"))
    assert "a.yaml::math" in names[:at]
    assert "a.yaml::sums" in names[at:]


def test_a_warning_of_drift_is_broken_where_it_is_too_wide():
    report = run(passing(), history=DRIFTING)
    assert lines(report, Reading(width=30))[-2:] == [
        "    warning: drift: pass@1",
        "      fell from 0.9 to 0.7",
    ]


# -- with -q ---------------------------------------------------------------------------------


def test_a_quiet_section_has_a_line_for_each_benchmark_and_one_for_all():
    report = run(passing(), failing("sums"))
    assert section(report, ["e/report.json"], QUIET) == [
        ("FAIL  a.yaml::sums  pass@1 is 0.5, below 0.7", "red"),
        (PASSED, "green"),
        ("2 benchmarks: 1 PASS, 1 FAIL", "red"),
        ("artifacts: e/report.json", None),
    ]


def test_a_quieter_section_has_the_line_for_all_alone():
    report = run(passing())
    quieter = Reading(verbosity=-2)
    assert section(report, [], quieter) == [("1 benchmark: 1 PASS", "green")]


def test_a_quiet_section_has_at_most_fifty_lines_of_benchmarks():
    report = run(*(passing(f"m{number:02}") for number in range(53)))
    quiet = section(report, [], QUIET)
    assert quiet[50:] == [
        ("... and 3 more", None),
        ("53 benchmarks: 53 PASS", "green"),
    ]
    fifty = run(*(passing(f"m{number:02}") for number in range(50)))
    assert len(section(fifty, [], QUIET)) == 51


SAVED = RecordedBaseline("b.json", written=True, metrics={})


def test_a_quiet_section_counts_the_baselines_that_were_recorded():
    report = run(passing(recorded=SAVED))
    assert section(report, [], QUIET)[-1] == ("baselines: 1 recorded", None)


# -- many that pass --------------------------------------------------------------------------


def test_of_many_that_pass_thirty_are_shown_in_one_line_each():
    report = run(*(passing(f"m{number:02}") for number in range(42)))
    assert section(report, [], NORMAL)[29:] == [
        (PASSED.replace("math", "m29"), "green"),
        ("... and 12 more that pass (-v shows them)", "green"),
    ]
    assert len(lines(report, VERBOSE)) >= 42


def test_what_stands_out_is_never_among_those_that_are_not_shown():
    unproven = compared(verdict=Verdict.PASS, changes={"p_adjusted": 0.2})
    many = [passing(f"m{number:02}") for number in range(32)]
    warns = benchmark(compared(verdict=Verdict.WARN), name="warns")
    drifting = passing("zz", id="a.yaml::math")
    records = passing("zr", recorded=SAVED)
    report = run(*many, drifting, records, warns, history=DRIFTING)
    text = "\n".join(lines(report))
    assert "WARN  a.yaml::warns" in text
    assert "PASS  a.yaml::math" in text
    assert "recorded b.json" in text
    assert "... and 2 more that pass (-v shows them)" in text
    assert "NOT PROVEN" in "\n".join(lines(run(benchmark(unproven, name="u"))))


def test_entries_are_whole_up_to_forty_lines():
    agents = tuple(agent(name) for name in "abcd")
    # four agents below their benchmark: five lines
    eight = run(*(benchmark(name=f"m{n}", agents=agents) for n in range(8)))
    assert len(lines(eight)) == 40
    nine = run(*eight.benchmarks, benchmark(name="m8"))
    assert lines(nine)[:2] == [
        "PASS  a.yaml::m0  a: pass@1 0.7000, 3 more agents",
        "PASS  a.yaml::m1  a: pass@1 0.7000, 3 more agents",
    ]
    assert len(lines(nine)) == 9


def test_a_few_benchmarks_may_take_two_lines_each_where_they_are_short():
    agents = tuple(agent(name) for name in "abcdef")
    narrow = Reading(width=48)
    few = run(*(benchmark(name=f"m{n:02}", agents=agents) for n in range(15)))
    assert lines(few, narrow)[:2] == [
        "PASS  a.yaml::m00  a: pass@1 0.7000,",
        "      5 more agents",
    ]
    more = run(*(benchmark(name=f"m{n:02}", agents=agents) for n in range(16)))
    assert len(lines(more, narrow)) == 16


def test_a_benchmark_that_records_is_whole_among_short_ones():
    many = [failing(f"m{number:02}") for number in range(41)]
    saved = RecordedBaseline("b.json", written=True, metrics={"pass@1": (None, 1.0)})
    same = structs.replace(saved, written=False)
    report = run(passing("z", recorded=saved), passing("y", recorded=same), *many)
    text = "\n".join(lines(report))
    assert "    recorded b.json" in text
    assert "unchanged b.json" not in text


# -- many that fail --------------------------------------------------------------------------


def red(count, words="no such file"):
    """Make benchmarks that could not be evaluated for one reason."""
    return [
        benchmark(broken(words), name=f"r{number}", agents=())
        for number in range(count)
    ]


def test_many_failures_are_grouped_by_cause_before_the_benchmarks():
    report = run(*red(7), passing())
    assert section(report, [], NORMAL)[:5] == [
        ("INCONCLUSIVE 7 of 7 failing benchmarks", "red"),
        ("    first r0: no such file", None),
        ("    pytest a.yaml::r0", None),
        ("INCONCLUSIVE  a.yaml::r0  no such file", "purple"),
        ("INCONCLUSIVE  a.yaml::r1  no such file", "purple"),
    ]


def test_of_many_failures_five_are_shown():
    written = section(run(*red(7), passing()), [], NORMAL)
    assert written[7:] == [
        ("INCONCLUSIVE  a.yaml::r4  no such file", "purple"),
        ("... and 2 more that fail (-v shows them)", "red"),
        (PASSED, "green"),
    ]


def test_five_failures_are_not_grouped_and_each_is_whole():
    written = lines(run(*red(5)))
    assert written[0] == "INCONCLUSIVE  a.yaml::r0  no such file"
    assert len(written) == 5


def test_with_v_failures_are_not_grouped():
    written = lines(run(*red(7)), VERBOSE)
    assert written[0] == "INCONCLUSIVE  a.yaml::r0  no such file"
    assert len([line for line in written if line.startswith("INCONCLUSIVE")]) == 7


def test_failures_that_are_shown_above_are_neither_grouped_nor_folded():
    every = frozenset(f"a.yaml::r{number}" for number in range(7))
    written = lines(run(*red(7)), Reading(explained=every))
    assert written == [f"INCONCLUSIVE  a.yaml::r{number}  data" for number in range(7)]


def test_a_cause_whose_first_failure_is_shown_above_has_no_example():
    reading = Reading(explained=frozenset({"a.yaml::r0"}))
    assert lines(run(*red(7)), reading)[:3] == [
        "INCONCLUSIVE 7 of 7 failing benchmarks",
        "INCONCLUSIVE  a.yaml::r0  data",
        "INCONCLUSIVE  a.yaml::r1  no such file",
    ]


def test_a_cause_with_a_long_reason_has_an_example_of_two_lines():
    report = run(*red(7, "some words " * 40))
    assert lines(report, Reading(width=40))[:4] == [
        "INCONCLUSIVE 7 of 7 failing benchmarks",
        "    first r0: some words some words some",
        "      words some words some words...",
        "    pytest a.yaml::r0",
    ]


def test_a_log_has_the_beginning_of_a_long_reason():
    example = lines(run(*red(7, "some words " * 40)))[1]
    assert example == f"    first r0: {'some words ' * 12}some words..."


# -- what limits all verdicts ----------------------------------------------------------------


def test_the_same_note_of_several_benchmarks_is_written_once():
    note = (Remark("read from two files"),)
    report = run(passing(notes=note), passing("sums", notes=note), passing("z"))
    assert lines(report)[3:] == [
        "note: a.yaml::math: read from two files (and 1 more such note: -v)"
    ]
    alone = run(passing(notes=note))
    assert lines(alone)[1:] == ["note: a.yaml::math: read from two files"]
    assert lines(alone, VERBOSE)[-1] == "    note: read from two files"
    assert not any("read from" in line for line in lines(alone, QUIET))


FEW = FewUnits(unit="task", units=3, needed=7, alpha=0.01)


def test_a_blind_gate_is_noted_whatever_is_asked_for():
    facts = structs.replace(unchanged().comparison, blind=FEW)
    report = run(benchmark(unchanged(comparison=facts)))
    for reading in (NORMAL, VERBOSE, QUIET):
        assert any(
            line.startswith("note: blind: math pass@1: 3 tasks")
            for line in lines(report, reading)
        )


def test_the_chance_of_false_alarms_is_noted_of_five_benchmarks():
    text = "note: false alarms where nothing changed: at most 1 in 20 runs (5 benchmarks are tested)"
    five = [benchmark(unchanged(), name=f"m{number}") for number in range(5)]
    assert lines(run(*five))[-1] == text
    assert not any("false alarms" in line for line in lines(run(*five[:4])))
    assert not any("false alarms" in line for line in lines(run(*five), QUIET))


def test_noise_that_is_unknown_is_noted():
    facts = structs.replace(unchanged().comparison, run_noise=NoiseSource.UNKNOWN)
    report = run(benchmark(unchanged(comparison=facts)))
    assert lines(report)[-1].startswith("note: the noise between runs is unknown (")
    assert not any("noise" in line for line in lines(report, QUIET))


def test_single_tasks_that_no_gate_sees_are_noted():
    reason = SingleTasksUnseen(tasks=40, sees_some=False, rollouts=2, needed=8)
    report = run(benchmark(unchanged(reasons=(reason,))))
    assert lines(report)[-1].startswith("note: the break of a single task is never ")
    assert not any("single task" in line for line in lines(report, QUIET))


def stale(days):
    return StaleBaseline(
        file="b.json", recorded="2026-01-02T03:04:05Z", days=days, limit=90
    )


def test_three_baselines_that_are_too_old_are_named():
    report = run(*(passing(f"m{n}", stale=stale(100 + n)) for n in range(5)))
    written = section(report, [], NORMAL)
    assert written[5:] == [
        ("warning: m4: the baseline is 104 days old (recorded 2026-01-02)", "yellow"),
        ("warning: m3: the baseline is 103 days old (recorded 2026-01-02)", "yellow"),
        ("warning: m2: the baseline is 102 days old (recorded 2026-01-02)", "yellow"),
        (
            "warning: and 2 more baselines that are too old (-v shows them)",
            "yellow",
        ),
    ]
    assert sum("days old" in line for line in lines(report, VERBOSE)) == 5
    assert lines(report, QUIET)[-1] == (
        "warning: and 5 more baselines that are too old (-v shows them)"
    )
