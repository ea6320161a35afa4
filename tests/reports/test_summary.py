"""The page for a pull request, and what GitHub is told."""

import re

from pytest_evalmetrics.model.bounds import RuleBound, ThresholdBound
from pytest_evalmetrics.model.comparison import (
    ComparisonFacts,
    RuleName,
    RuleSettings,
)
from pytest_evalmetrics.model.reasons import Failed
from pytest_evalmetrics.model.results import (
    BenchmarkResult,
    Check,
    RunReport,
    StaleBaseline,
)
from pytest_evalmetrics.model.verdicts import Direction, Gate, Verdict
from pytest_evalmetrics.reports.ci_logs import github_annotations
from pytest_evalmetrics.reports.summary import summary


def test_a_run_leaves_it_and_github_gets_it(project, monkeypatch):
    project.rollouts([[1.0], [0.0]])
    project.bench("metrics: [mean_reward]\nthresholds: {mean_reward: '>= 0.9'}")
    target = project.path / "step.md"
    target.write_text("earlier\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(target))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    result = project.run("-q")
    text = (project.path / "evalmetrics" / "summary.md").read_text()
    assert target.read_text() == f"earlier\n{text}\n"
    assert text.startswith("## ❌ Benchmarks: FAIL\n\n1 FAIL\n")
    assert (
        "| ❌ | math | mean\\_reward | 0.5000 (0.0126 to 0.9874) | \\>= 0.9 |" in text
    )
    result.stdout.fnmatch_lines(
        [
            "::error file=math.bench.yaml,line=5,title=math%3A FAIL::mean_reward is 0.5, below 0.9"
        ]
    )


def test_a_green_summary_counts_what_gates_nothing(project):
    project.rollouts([[1.0], [0.0]])
    project.bench("metrics: [mean_reward]\nexpect: {tasks: 2}")
    assert project.run().ret == 0
    text = (project.path / "evalmetrics" / "summary.md").read_text()
    assert text == "## ✅ Benchmarks: PASS\n\n1 PASS (1 with nothing gated)\n"


def _result(name, reason, verdict=Verdict.FAIL, **more):
    """Make a benchmark with one check that does not hold."""
    check = Check(
        gate=Gate.THRESHOLD,
        name=name,
        verdict=verdict,
        value=0.5,
        bound=ThresholdBound(least=1.0, most=None),
        reasons=(Failed(reason),),
        line=3,
    )
    fields = {
        "id": f"a::{name}",
        "name": name,
        "description": "",
        "file": "a,b:c.yaml",
        "line": 1,
        "agents": (),
        "checks": (check,),
    }
    return BenchmarkResult(**{**fields, **more})


def _stale(days, **more):
    return StaleBaseline(
        file="b.json", recorded="2026-01-02T03:04:05Z", days=days, limit=90, **more
    )


def test_baselines_that_are_too_old_are_warned_of_in_the_head_the_oldest_first():
    young = _result("young", "bad", stale=_stale(100))
    old = _result("old", "bad", stale=_stale(400, by="Ada", reason="smaller prompt"))
    lines = summary(_report(young, old)).splitlines()
    recorded = r"\(recorded 2026-01-02"
    assert lines[4:6] == [
        rf"- ⚠️ old: the baseline is 400 days old {recorded} by Ada: smaller prompt\)",
        rf"- ⚠️ young: the baseline is 100 days old {recorded}\)",
    ]


def _report(*results, lost=("z",)):
    return RunReport(benchmarks=results, not_evaluated=lost)


def test_no_text_of_a_file_is_interpreted():
    text = summary(_report(_result("<img src=x>|`a`", "**x** <script>\n| # y")))
    assert re.findall(r"(?<!\\)<(?!/?(?:details|summary)>)", text) == []
    assert "\\|\\`a\\`" in text
    assert "z was not evaluated" in text


def test_annotations_are_escaped_and_errors_come_first():
    lines = github_annotations(
        _report(_result("w", "odd", Verdict.WARN), _result("f", "100 %\nbad"))
    )
    assert (
        lines[0] == "::error file=a%2Cb%3Ac.yaml,line=3,title=f%3A FAIL::100 %25%0Abad"
    )
    assert lines[1] == "::error file=z::z was not evaluated"
    assert lines[2].startswith("::warning ")


def test_control_characters_are_shown_and_not_sent():
    report = _report(_result("a\x1b[31m", "b\x9b2Jc\x07"))
    for text in (summary(report), *github_annotations(report)):
        assert text.replace("\n", "").isprintable()
    assert "b\\x9b2Jc\\x07" in github_annotations(report)[0]


def test_an_interrupted_test_has_an_entry_with_the_reason_everywhere():
    result = _result("f", "bad", id="t.py::test_x::named")
    report = _report(result, lost=("t.py::test_x", "t.py::test_y"))
    lost = [
        "t.py::test_x was not evaluated to its end",
        "t.py::test_y was not evaluated",
    ]
    annotations = [
        line.partition("::error file=t.py::")[2] for line in github_annotations(report)
    ]
    assert annotations[1:] == lost
    assert [
        line[4:] for line in summary(report).replace("\\", "").splitlines()[-2:]
    ] == lost


def test_formulas_and_mentions_are_text():
    text = summary(_report(_result("$a$ @me", "$b$ @you")))
    assert re.findall(r"(?<!<span>)[$@]", text) == []
    assert "| pass@1 |" in summary(
        _report(_result("pass@1", "bad"))
    )  # which mentions nobody


def test_a_summary_of_thousands_of_failures_is_one_that_github_takes():
    results = [_result(f"benchmark {i}", "x" * 2_000) for i in range(2_000)]
    report = _report(*results, lost=tuple(f"z{i}" for i in range(2_000)))
    text = summary(report)
    assert len(text.encode()) < 2**20
    assert "\nand 1500 more that do not hold, in report.json\n" in text
    assert "\n1900 more reasons are in report.json.\n" in text
    assert text.endswith("and 1500 more were not evaluated\n")


def _compared(name, change, limit, p=0.001):
    """Make a benchmark whose metric changed by so much, which matters from a limit on."""
    rule = RuleSettings(
        rule=RuleName.PRACTICAL,
        direction=Direction.HIGHER,
        alpha=0.01,
        warn_alpha=0.05,
        max_drop=limit,
    )
    facts = ComparisonFacts(
        baseline=0.0,
        current=-change,
        drop=change,
        drop_low=0.9 * change,
        drop_high=1.1 * change,
        p_adjusted=p,
        tasks=20,
    )
    check = Check(
        gate=Gate.BASELINE,
        name=name,
        verdict=Verdict.FAIL,
        bound=RuleBound(rule),
        comparison=facts,
    )
    return BenchmarkResult(
        id=f"a::{name}",
        name=name,
        description="",
        file="a",
        line=1,
        agents=(),
        checks=(check,),
    )


def test_a_change_of_another_size_is_not_drawn_on_the_scale_of_the_first():
    small = _compared("rate", 0.2, 0.01, p=0.0001)
    large = _compared("tokens", 114.0, 10.0)
    text = summary(RunReport(benchmarks=(small, large)))
    (drawn,) = re.findall("<pre>\n(.*?)</pre>", text, re.DOTALL)
    assert drawn.splitlines() == [
        "rate rate  ├──●─┤                      ┊│",
        "           │ 0  ┊ gate: no drop &gt;= 0.01 at p &lt; 0.01",
    ]


def test_of_gates_that_differ_the_legend_gives_no_number():
    first = _compared("rate", 0.2, 0.01)
    second = _compared("other", 0.3, 0.05)
    text = summary(RunReport(benchmarks=(first, second)))
    (drawn,) = re.findall("<pre>\n(.*?)</pre>", text, re.DOTALL)
    assert drawn.splitlines()[-1].strip() == "│ 0  ┊ gate"
