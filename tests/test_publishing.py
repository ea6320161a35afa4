"""The results of a run as they come in, and what its end writes and says of them."""

import json

import pytest

from pytest_evalmetrics import registry
from pytest_evalmetrics.model.reasons import HookFailed
from pytest_evalmetrics.model.results import BenchmarkResult, Check
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.publishing import RunResults
from pytest_evalmetrics.reports.payload import payload_of
from pytest_evalmetrics.run_folder import RunFolder

FILE = "math.bench.yaml"
ONE = f"{FILE}::one"
TWO = f"{FILE}::two"


def payload(name, verdict="PASS", **beside):
    """A result of a benchmark, as it travels on a report."""
    reason = HookFailed(hook="mine", place="", error="OSError: no")
    check = Check(
        gate=Gate.DATA, name="hook", verdict=Verdict(verdict), reasons=(reason,)
    )
    result = BenchmarkResult(
        name=name,
        id=f"{FILE}::{name}",
        description="",
        file=FILE,
        line=1,
        agents=(),
        checks=(check,),
    )
    return payload_of(result, {}, None, {}, None) | beside


def usage(**counts):
    """The calls of a benchmark in a run."""
    none = {
        "calls": 0,
        "from_journal": 0,
        "failed": 0,
        "requests": 0,
        "total_tokens": 0,
        "cost_now": None,
        "cost": None,
    }
    return none | counts


class Run:
    """The results of a run in a folder, and its end."""

    def __init__(self, config):
        self.config = config
        self.results = RunResults(config)
        self.folder = RunFolder(f"{config.rootpath}/evalmetrics/", evaluates=True)
        self.folder.start()
        self.is_published = False

    def take(self, name, verdict="PASS", worker="", **beside):
        item = f"{FILE}::{name}"
        self.results.take(item, payload(name, verdict, **beside), worker)

    def publish(self, lost=(), skipped=None, deselected=()):
        """End the run; return the lines of its section, and whether nothing is missing."""
        self.is_published = True
        names = registry.Scope(self.config.rootpath)
        lines, is_complete = self.results.publish(
            self.folder, names, set(lost), skipped or {}, list(deselected)
        )
        return lines, is_complete

    def report(self):
        path = self.config.rootpath / "evalmetrics" / "report.json"
        return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture
def run(pytester):
    """Begin a run with some arguments."""
    begun = []

    def begin(*arguments, plugin=None):
        config = pytester.parseconfig(*arguments)
        if plugin is not None:
            config.pluginmanager.register(plugin)
        begun.append(Run(config))
        return begun[-1]

    yield begin
    for one in begun:
        if not one.is_published:
            one.publish()  # closes the files of its results


# -- which result of a benchmark counts ------------------------------------------------------


def test_a_benchmark_that_is_evaluated_again_has_its_last_result(run):
    begun = run()
    begun.take("one", "FAIL")
    begun.take("one", "PASS")
    assert not begun.results.fails(ONE)


@pytest.mark.parametrize("verdicts", [("FAIL", "PASS"), ("PASS", "FAIL")])
def test_of_several_workers_the_worst_result_of_a_benchmark_counts(run, verdicts):
    begun = run()
    for worker, verdict in zip(("gw0", "gw1"), verdicts, strict=True):
        begun.take("one", verdict, worker=worker)
    assert begun.results.fails(ONE)


def test_an_item_without_results_does_not_fail(run):
    begun = run()
    begun.take("one", "FAIL")
    assert not begun.results.fails(TWO)


def test_a_strict_xfail_that_passed_fails(run):
    begun = run()
    begun.take("one", "WARN")
    begun.results.refuse_passing(ONE)
    result = begun.results.results[ONE]
    assert [check.verdict for check in result.checks] == ["WARN", "FAIL"]
    assert (result.checks[-1].gate, result.checks[-1].name) == (Gate.XFAIL, "xfail")


def test_a_benchmark_that_fails_by_itself_has_no_further_reason(run):
    begun = run()
    begun.take("one", "FAIL")
    begun.results.refuse_passing(ONE)
    assert len(begun.results.results[ONE].checks) == 1


# -- the end ---------------------------------------------------------------------------------


def test_the_report_lists_benchmarks_in_natural_order(run):
    begun = run()
    for name in ("b10", "b2", "a"):
        begun.take(name)
    lines, is_complete = begun.publish()
    assert is_complete
    assert [entry["name"] for entry in begun.report()["benchmarks"]] == [
        "a",
        "b2",
        "b10",
    ]
    assert any("report.json" in line for line, _ in lines)


def test_an_item_that_was_lost_makes_a_run_incomplete(run):
    begun = run()
    begun.take("one")
    _, is_complete = begun.publish(lost=[TWO])
    assert not is_complete
    report = begun.report()
    assert report["not_evaluated"] == [TWO]
    assert report["verdict"] == "INCONCLUSIVE"


def test_what_was_skipped_and_deselected_is_in_the_report_in_order(run):
    begun = run()
    begun.take("one")
    skipped = {"b": "no GPU", "a": "too slow"}
    begun.publish(skipped=skipped, deselected=["t10", "t2"])
    report = begun.report()
    assert report["skipped"] == [
        {"id": "a", "reason": "too slow"},
        {"id": "b", "reason": "no GPU"},
    ]
    assert report["deselected"] == ["t2", "t10"]


def test_three_of_many_deselected_items_are_named(run):
    begun = run()
    begun.take("one")
    lines, _ = begun.publish(deselected=["a", "b", "c", "d", "e"])
    assert ("note: deselected, and not evaluated: a, b, c and 2 more", None) in lines


def test_a_run_without_deselected_items_has_no_note_of_any(run):
    begun = run()
    begun.take("one")
    lines, _ = begun.publish()
    assert not [line for line, _ in lines if "deselected" in line]


def test_a_warning_of_several_benchmarks_is_shown_once(run):
    begun = run()
    for name in ("one", "two"):
        begun.take(name, warnings=["the journal is full"])
    lines, _ = begun.publish()
    warning = ("warning: the journal is full", "yellow")
    assert [line for line in lines if line == warning] == [warning]


class Hook:
    """A plugin that reads the report, or fails to."""

    def __init__(self, error=None):
        self.error = error
        self.verdicts = []

    def pytest_evalmetrics_report(self, report):
        self.verdicts.append(report["verdict"])
        if self.error is not None:
            raise self.error


def test_a_hook_gets_the_report_before_it_is_written(run):
    hook = Hook()
    begun = run(plugin=hook)
    begun.take("one", "FAIL")
    begun.publish()
    assert hook.verdicts == ["FAIL"]


@pytest.mark.parametrize("error", [OSError("no disk"), SystemExit("no disk")])
def test_a_hook_that_fails_makes_a_run_incomplete_and_leaves_its_files(run, error):
    begun = run(plugin=Hook(error))
    begun.take("one")
    lines, is_complete = begun.publish()
    assert not is_complete
    assert begun.report()["verdict"] == "PASS"
    (red,) = [line for line, colour in lines if colour == "red" and "failed" in line]
    assert "the hook pytest_evalmetrics_report failed" in red
    assert "no disk" in red


def test_the_calls_of_all_benchmarks_are_summed_up(run):
    begun = run()
    for name in ("one", "two"):
        begun.take(name, usage=usage(calls=2, requests=3))
    lines, _ = begun.publish()
    assert any("4 answered" in line and "6 requests" in line for line, _ in lines)


def test_with_q_calls_are_summed_up_only_where_the_journal_gave_all_answers(run):
    asked = run("-q")
    asked.take("one", usage=usage(calls=2, requests=2))
    lines, _ = asked.publish()
    assert not [line for line, _ in lines if "answer" in line]
    replayed = run("-q")
    replayed.take("one", usage=usage(calls=2, from_journal=2))
    lines, _ = replayed.publish()
    assert ("note: nothing was called: the journal gave all 2 answers", None) in lines


def test_the_files_of_a_report_that_is_accepted_are_not_named(run):
    begun = run("--evalmetrics-accept-report", "report.json")
    begun.take("one")
    lines, _ = begun.publish()
    assert not any("report.json" in line for line, _ in lines)


# -- the history -----------------------------------------------------------------------------


def test_without_a_history_the_report_has_none(run):
    begun = run()
    begun.take("one")
    begun.publish()
    assert "history" not in begun.report() or begun.report()["history"] == {}


def test_a_run_appends_a_line_per_benchmark_to_the_history(run):
    begun = run("--evalmetrics-history", "h.jsonl")
    begun.take("one")
    begun.take("two", "FAIL")
    begun.publish()
    path = begun.config.rootpath / "h.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["verdict"] for line in lines] == ["PASS", "FAIL"]


def test_a_history_that_can_t_be_written_makes_a_run_incomplete(run):
    begun = run("--evalmetrics-history", "h.jsonl")
    (begun.config.rootpath / "h.jsonl").mkdir()
    begun.take("one")
    lines, is_complete = begun.publish()
    assert not is_complete
    assert any(colour == "red" and "h.jsonl" in line for line, colour in lines)
    assert begun.report()["verdict"] == "PASS"
