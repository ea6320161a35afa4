"""What pytest's terminal reporter shows beside our section."""

import warnings

import pytest

from pytest_evalmetrics.errors import RegressionWarning
from pytest_evalmetrics.model.reasons import HookFailed
from pytest_evalmetrics.model.results import BenchmarkResult, Check
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.reports.failure import failure_of_words
from pytest_evalmetrics.session.item_reports import failure_text
from pytest_evalmetrics.session.terminal import TerminalHooks


def test_the_section_stands_before_the_short_summary(project):
    project.rollouts([[0.0]])
    project.bench("thresholds: {mean_reward: '>= 0.5'}")
    project.run().stdout.fnmatch_lines(
        ["*= benchmarks =*", "*= short test summary info =*", "FAILED *"]
    )


def test_a_run_without_benchmarks_has_no_section(project):
    project.write("test_plain.py", "def test_plain(): pass\n")
    project.run().stdout.no_fnmatch_line("*= benchmarks =*")


def test_other_warnings_are_still_shown(project):
    project.rollouts([[1.0]])
    project.bench("thresholds: {mean_reward: '>= 0.5'}")
    project.write(
        "test_plain.py", "import warnings\ndef test_plain(): warnings.warn('of mine')\n"
    )
    result = project.run("-W", "default")
    result.stdout.fnmatch_lines(["*= warnings summary =*", "*of mine*"])


def test_failures_of_ours_are_shown_and_those_of_other_tests_are_not_ours(pytester):
    config = pytester.parseconfigure()
    ours = failure_text(failure_of_words("lost"), config)
    failed = [
        pytest.TestReport("a", ("a", 1, "a"), {}, "failed", ours, "call"),
        pytest.TestReport("b", ("b", 1, "b"), {}, "failed", "assert 0", "call"),
    ]
    config.pluginmanager.get_plugin("terminalreporter").stats["failed"] = failed
    assert TerminalHooks(config, list).shown_failures() == {"a"}


# -- many failures of one cause --------------------------------------------------------------


def failing(name):
    """The result of a benchmark whose hook failed, as that of all others."""
    check = Check(
        gate=Gate.DATA,
        name="hook",
        verdict=Verdict.INCONCLUSIVE,
        reasons=(HookFailed(hook="mine", place="", error="OSError: no"),),
    )
    return BenchmarkResult(
        name=name,
        id=name,
        description="",
        file="a.bench.yaml",
        line=1,
        agents=(),
        checks=(check,),
    )


class Terminal:
    """The hooks of a run in which many benchmarks fail of one cause."""

    def __init__(self, config, count):
        names = [f"b{number:02}" for number in range(count)]
        self.reporter = config.pluginmanager.get_plugin("terminalreporter")
        self.hooks = TerminalHooks(config, lambda: [failing(name) for name in names])
        shown = failure_text(failure_of_words("lost"), config)
        self.reporter.stats["failed"] = [
            pytest.TestReport(name, (name, 1, name), {}, "failed", shown, "call")
            for name in names
        ]

    def names(self):
        """Name the failures that the reporter has."""
        return [report.nodeid for report in self.reporter.stats["failed"]]

    def summarise(self):
        """Print what comes after the failures; name those of the short summary."""
        folding = self.hooks.pytest_fold_failures(self.reporter)
        next(folding)
        self.hooks.pytest_terminal_summary(self.reporter)
        names = self.names()
        list(folding)
        return names


@pytest.fixture
def terminal(pytester):
    """Make the terminal of a run with some arguments."""

    def make(count, *arguments):
        return Terminal(pytester.parseconfigure(*arguments), count)

    return make


def test_the_first_failure_of_many_with_one_cause_is_shown(terminal):
    many = terminal(8)
    folding = many.hooks.pytest_fold_failures(many.reporter)
    next(folding)
    assert many.names() == ["b00"]


def test_after_the_report_all_failures_are_there_for_other_plugins(terminal):
    many = terminal(8)
    many.summarise()
    assert len(many.names()) == 8


@pytest.mark.parametrize(("count", "arguments"), [(5, []), (8, ["-v"])])
def test_few_failures_are_all_shown_and_with_v_many_are(terminal, count, arguments):
    some = terminal(count, *arguments)
    folding = some.hooks.pytest_fold_failures(some.reporter)
    next(folding)
    assert len(some.names()) == count


def test_failures_that_pytest_shows_are_those_that_are_not_folded(terminal):
    assert terminal(8).hooks.shown_failures() == {"b00"}


@pytest.mark.parametrize("style", ["no", "line"])
def test_a_style_without_failures_shows_none(terminal, style):
    assert terminal(2, f"--tb={style}").hooks.shown_failures() == set()


def test_twenty_of_many_failures_have_a_line_in_the_short_summary(terminal, capsys):
    many = terminal(30)
    assert len(many.summarise()) == 20
    printed = capsys.readouterr().out
    assert "benchmarks" in printed
    assert "10 more FAILED lines: -rf" in printed


@pytest.mark.parametrize("arguments", [["-rA"], ["-rf"], ["-v"]])
def test_each_failure_has_a_line_where_that_is_asked_for(terminal, capsys, arguments):
    many = terminal(30, *arguments)
    assert len(many.summarise()) == 30
    assert "more FAILED lines" not in capsys.readouterr().out


def test_with_twenty_failures_none_is_left_out(terminal, capsys):
    many = terminal(20)
    assert len(many.summarise()) == 20
    assert "more FAILED lines" not in capsys.readouterr().out


# -- warnings and lines ----------------------------------------------------------------------


def recorded(terminal, category):
    """Let pytest's reporter and our hooks know of a warning; return the reporter's."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn("worse", category, stacklevel=1)
    kept = object()
    terminal.reporter.stats.setdefault("warnings", []).append(kept)
    terminal.hooks.pytest_warning_recorded(caught[0])
    return kept


def test_a_warning_that_the_section_explains_is_not_shown_again(terminal):
    one = terminal(1)
    recorded(one, RegressionWarning)
    other = recorded(one, UserWarning)
    folding = one.hooks.pytest_fold_failures(one.reporter)
    next(folding)
    assert one.reporter.stats["warnings"] == [other]


def test_lines_of_the_section_have_their_colours(terminal, capsys):
    one = terminal(1, "--color=yes")
    one.hooks.add_lines(["all is well"])
    one.hooks.add_coloured([("one is not", "red")])
    one.hooks.pytest_terminal_summary(one.reporter)
    printed = capsys.readouterr().out
    assert "\x1b[31mone is not" in printed
    assert "\nall is well" in printed


def test_a_section_without_lines_is_not_printed(terminal, capsys):
    one = terminal(1)
    one.hooks.pytest_terminal_summary(one.reporter)
    assert capsys.readouterr().out == ""


def test_without_a_terminal_there_is_no_width_and_no_failure_is_shown(pytester):
    hooks = TerminalHooks(pytester.parseconfigure("-p", "no:terminal"), list)
    assert hooks.width() is None
    assert hooks.shown_failures() == set()
