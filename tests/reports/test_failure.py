"""The text of a failure, and the line of it that summaries show."""

from dataclasses import replace

from pytest_evalmetrics.ext import BenchmarkResult, Check, Verdict
from pytest_evalmetrics.reports import FailureText, failure_text


def result(*checks):
    return BenchmarkResult(
        id="b/m.bench.yaml::m",
        name="m",
        description="",
        file="b/m.bench.yaml",
        line=1,
        agents=(),
        checks=checks,
        notes=("something",),
    )


def test_the_text_holds_the_table_the_reason_the_place_and_the_way_out():
    text = failure_text(
        result(
            Check("expect", "tasks", Verdict.PASS, value=4, bound="== 4"),
            Check(
                "threshold",
                "pass@1",
                Verdict.FAIL,
                value=0.5,
                bound=">= 0.7",
                reason="pass@1 is 0.5, below 0.7",
                hint="mend it",
                line=7,
            ),
        )
    )
    assert text.splitlines() == [
        "m failed",
        "",
        "verdict  metric  value   expected",
        "PASS     tasks   4       == 4",
        "FAIL     pass@1  0.5000  >= 0.7",
        "",
        "FAIL  b/m.bench.yaml:7: pass@1 is 0.5, below 0.7",
        "  -> mend it",
        "",
        "note: something",
    ]
    assert FailureText(text).reprcrash.message == "pass@1 is 0.5, below 0.7"


def test_what_a_task_is_called_begins_no_line():
    odd = Check(
        "threshold", "x", Verdict.FAIL, agent="a\nb", value=0, bound="y", reason="1\n::z::2"
    )
    text = failure_text(result(odd))
    assert r"FAIL  a\nb: 1\n::z::2" in text.splitlines()
    assert r"FAIL     a\nb   x       0      y" in text.splitlines()


def test_the_same_note_of_many_agents_is_folded():
    found = replace(result(), notes=tuple(f"completeness is unchecked: {i}" for i in range(9)))
    told = [line for line in failure_text(found).splitlines() if line.startswith("note: ")]
    assert len(told) == 4
    assert told[-1] == "note: and 6 more such notes, in report.json"
