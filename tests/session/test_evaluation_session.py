"""What a session makes of collected files, of reports of items, and of its end."""

import json

import pytest
from reports.records import above, below, benchmark

from pytest_evalmetrics.reports.payload import payload_of
from pytest_evalmetrics.session import beside_syrupy
from pytest_evalmetrics.session.evaluation_session import (
    EvaluationSession,
    session_of,
)

BENCH = "a.bench.yaml::a"
OTHER = "a.bench.yaml::b"
TEST = "test_a.py::test_a"
OK = pytest.ExitCode.OK
FAILED = pytest.ExitCode.TESTS_FAILED


class Run:
    """A session, and what its end leaves."""

    def __init__(self, config):
        self.config = config
        self.session = EvaluationSession(config)

    def report(self, item, outcome="passed", when="call", payloads=(), **fields):
        """Let the session know of an item's report, with the results of benchmarks."""
        made = pytest.TestReport(
            item, (item.partition("::")[0], 1, item), {}, outcome, None, when
        )
        if payloads:
            made.evalmetrics = list(payloads)
        vars(made).update(fields)
        self.session.pytest_runtest_logreport(made)
        return made

    def finish(self, status=OK):
        """End the run; return its status."""
        ended = pytest.Session.from_config(self.config)
        ended.exitstatus = status
        self.session.pytest_sessionfinish(ended)
        return ended.exitstatus

    @property
    def file(self):
        return self.config.rootpath / "evalmetrics" / "report.json"

    def written(self, key):
        """Return an entry of the report that was written."""
        return json.loads(self.file.read_text(encoding="utf-8"))[key]


@pytest.fixture
def run(pytester):
    """Begin a run with some arguments."""
    begun = []

    def begin(*arguments):
        config = pytester.parseconfigure(
            "--evalmetrics-reporters=report.json", *arguments
        )
        begun.append(Run(config))
        return begun[-1]

    yield begin
    for one in begun:
        one.session.pytest_unconfigure()


def result(check=None, item=BENCH, **fields):
    """Make the result of an item, as it travels on its report."""
    made = benchmark(
        check or above(), id=item, file=item.partition("::")[0], agents=(), **fields
    )
    return payload_of(made, {}, None, {}, None)


# -- what is collected -----------------------------------------------------------------------


def test_benchmarks_that_a_worker_collected_are_lost_without_a_result(run):
    begun = run()
    assert begun.session.add_collected([BENCH, TEST]) == ""
    assert begun.session.met_benchmarks
    assert begun.finish() == FAILED
    assert begun.written("not_evaluated") == [BENCH]


def test_a_run_without_benchmarks_leaves_no_file(run):
    begun = run()
    begun.session.add_collected([TEST])
    assert not begun.session.met_benchmarks
    assert begun.finish() == OK
    assert not begun.file.parent.exists()


def collected(nodeid, outcome, *nodes):
    return pytest.CollectReport(nodeid, outcome, None, list(nodes))


@pytest.mark.parametrize(
    ("nodeid", "holds"),
    [
        ("a.bench.yaml", True),
        ("a.bench.yaml::a", True),
        ("test_checks.py", True),
        ("test_plain.py", False),
        ("notes.txt", False),
        ("gone.py", False),
        ("folder", True),
        ("empty", False),
        ("", False),
    ],
)
def test_what_can_t_be_collected_is_lost_if_it_may_hold_benchmarks(
    run, pytester, nodeid, holds
):
    pytester.makepyfile(
        test_checks="def test(evalmetrics): ...", test_plain="def test(): ..."
    )
    (pytester.path / "notes.txt").write_text("evalmetrics", encoding="utf-8")
    (pytester.path / "folder" / "deep").mkdir(parents=True)
    (pytester.path / "folder" / "deep" / "a.bench.yaml").touch()
    (pytester.path / "empty").mkdir()
    begun = run()
    begun.session.pytest_collectreport(collected(nodeid, "failed"))
    begun.session.add_collected([OTHER])
    begun.finish()
    assert begun.written("not_evaluated") == sorted([OTHER] + [nodeid] * holds)


def test_a_file_that_is_passed_over_is_deselected(run):
    begun = run()
    session = begun.session
    session.pytest_collectreport(collected("passed_over.bench.yaml", "passed"))
    session.pytest_collectreport(collected("full.bench.yaml", "passed", object()))
    session.pytest_collectreport(collected("test_plain.py", "passed"))
    session.add_collected([BENCH])
    begun.finish()
    assert begun.written("deselected") == ["passed_over.bench.yaml"]


# -- reports of items ------------------------------------------------------------------------


def test_a_benchmark_with_a_result_is_evaluated(run):
    begun = run()
    begun.session.add_collected([BENCH])
    begun.report(BENCH, payloads=[result()])
    assert begun.finish() == OK
    assert begun.written("not_evaluated") == []
    assert [entry["id"] for entry in begun.written("benchmarks")] == [BENCH]


def test_a_benchmark_that_fails_by_its_gate_is_evaluated(run):
    begun = run()
    begun.session.add_collected([BENCH])
    begun.report(BENCH, "failed", payloads=[result(below())])
    begun.finish()
    assert begun.written("not_evaluated") == []
    assert begun.written("verdict") == "FAIL"


def test_a_test_that_fails_after_its_checks_broke_off(run):
    begun = run()
    begun.report(TEST, "failed", payloads=[result(item=f"{TEST}::named")])
    begun.finish()
    assert begun.written("not_evaluated") == [TEST]


def test_a_test_that_fails_by_a_check_did_not_break_off(run):
    begun = run()
    begun.report(TEST, "failed", payloads=[result(below(), item=f"{TEST}::named")])
    begun.finish()
    assert begun.written("not_evaluated") == []


def test_a_teardown_that_fails_loses_no_result(run):
    begun = run()
    begun.report(TEST, payloads=[result(item=TEST)])
    begun.report(TEST, "failed", "teardown", evalmetrics=[])
    begun.finish()
    assert begun.written("not_evaluated") == []


def test_a_test_that_passes_without_a_check_is_no_loss(run):
    begun = run()
    known = ((TEST, "test_b.py::test_b"), ())  # by a worker
    begun.report(TEST, "passed", "setup", evalmetrics=[], evalmetrics_selection=known)
    begun.report(TEST, "passed", "call", evalmetrics=[])
    begun.report("test_b.py::test_b", "passed", "setup", evalmetrics=[])
    begun.finish()
    assert begun.written("not_evaluated") == ["test_b.py::test_b"]


def test_a_skipped_benchmark_has_its_reason(run):
    begun = run()
    begun.session.add_collected([BENCH, OTHER])
    begun.report(OTHER, payloads=[result(item=OTHER)])
    begun.report(BENCH, "skipped", "setup", longrepr=("a", 1, "Skipped: no GPU"))
    assert begun.finish() == OK
    assert begun.written("skipped") == [{"id": BENCH, "reason": "no GPU"}]
    assert begun.written("not_evaluated") == []


@pytest.mark.parametrize(
    ("payload", "fields", "is_skipped"),
    [
        # a benchmark that fails as expected has its result
        (result(below()), {}, False),
        # a check of a test that fails as expected
        (result(below(), item=f"{BENCH}::named"), {"wasxfail": "known"}, False),
        # a test that skips itself after a check
        (result(item=f"{BENCH}::named"), {}, True),
    ],
)
def test_a_skip_counts_where_something_was_not_evaluated(
    run, payload, fields, is_skipped
):
    begun = run()
    begun.session.add_collected([BENCH])
    begun.report(BENCH, "skipped", payloads=[payload], longrepr="Skipped: x", **fields)
    begun.finish()
    assert len(begun.written("skipped")) == is_skipped


def test_a_strict_expected_failure_that_passed_fails(run):
    begun = run()
    begun.report(
        TEST,
        "failed",
        payloads=[result(item=TEST)],
        evalmetrics_passes_wrongly=True,
    )
    begun.finish()
    (entry,) = begun.written("benchmarks")
    assert entry["verdict"] == "FAIL"
    assert entry["checks"][-1]["gate"] == "xfail"


def test_a_worker_leaves_results_to_the_process_that_writes(run):
    begun = run()
    begun.config.workerinput = {"workerid": "gw0"}
    begun.session = EvaluationSession(begun.config)
    made = begun.report(BENCH, payloads=[result()])
    assert len(made.evalmetrics) == 1


def test_results_are_taken_off_the_report(run):
    begun = run()
    made = begun.report(BENCH, payloads=[result()])
    assert not hasattr(made, "evalmetrics")
    begun.finish()


# -- the end ---------------------------------------------------------------------------------


def printed(begun, capsys):
    """Return what the section of the run prints."""
    reporter = begun.config.pluginmanager.get_plugin("terminalreporter")
    capsys.readouterr()
    begun.session._terminal.pytest_terminal_summary(reporter)
    return capsys.readouterr().out.splitlines()


def raised(error):
    with pytest.raises(type(error)) as excinfo:
        raise error
    return excinfo


def test_an_interrupted_run_says_what_it_has_and_how_to_go_on(run, capsys):
    begun = run("--evalmetrics-no-journal", "--color=yes")
    begun.session.add_collected([BENCH, OTHER])
    begun.report(BENCH, payloads=[result()])
    begun.session.pytest_keyboard_interrupt(raised(KeyboardInterrupt()))
    begun.finish(pytest.ExitCode.INTERRUPTED)
    text = "\n".join(printed(begun, capsys))
    assert "\x1b[33minterrupted: 1 benchmark evaluated, 1 not\x1b[0m" in text


def test_a_run_that_pytest_ends_is_not_called_interrupted(run, capsys):
    begun = run()
    begun.session.add_collected([BENCH])
    begun.session.pytest_keyboard_interrupt(raised(pytest.Session.Interrupted("x")))
    begun.finish(pytest.ExitCode.INTERRUPTED)
    assert not any("interrupted:" in line for line in printed(begun, capsys))


def test_a_complete_run_is_not_called_interrupted(run, capsys):
    begun = run()
    begun.session.pytest_keyboard_interrupt(raised(KeyboardInterrupt()))
    begun.finish(pytest.ExitCode.INTERRUPTED)
    assert printed(begun, capsys) == []


def test_the_section_of_a_run_names_its_artifacts(run, capsys):
    begun = run()
    begun.report(BENCH, payloads=[result()])
    begun.finish()
    lines = printed(begun, capsys)
    assert "= benchmarks =" in lines[0]
    assert lines[1] == f"PASS  {BENCH}"
    assert lines[2] == "artifacts: evalmetrics/report.json"


@pytest.mark.parametrize(
    ("status", "ends"),
    [
        (OK, FAILED),
        (pytest.ExitCode.NO_TESTS_COLLECTED, FAILED),
        (FAILED, FAILED),
        (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERRUPTED),
    ],
)
def test_a_run_that_lost_a_benchmark_is_not_green(run, status, ends):
    begun = run()
    begun.session.add_collected([BENCH])
    assert begun.finish(status) == ends


def test_a_session_is_registered_once_with_its_hooks(pytester):
    config = pytester.parseconfigure()
    session = session_of(config)
    assert session_of(config) is session
    manager = config.pluginmanager
    assert manager.get_plugin("evalmetrics-session") is session
    for part in ("terminal", "workers"):
        assert manager.has_plugin(f"evalmetrics-session-{part}")
    session.pytest_unconfigure()


def test_a_run_without_a_required_benchmark_says_so_in_red(run, capsys):
    begun = run("-o", "evalmetrics_policy=required=safety", "--color=yes")
    assert begun.finish() == FAILED
    lines = printed(begun, capsys)
    assert any("\x1b[31m" in line and "safety" in line for line in lines)


def test_a_policy_is_not_reported_of_a_run_that_did_not_come_to_its_end(run, capsys):
    begun = run("-o", "evalmetrics_policy=required=safety")
    ended = pytest.ExitCode.INTERRUPTED
    assert begun.finish(ended) == ended
    assert printed(begun, capsys) == []


# -- before anything is evaluated ------------------------------------------------------------

EMPTIED = "journal: emptied, 0 answers dropped"


def test_a_journal_is_emptied_once_before_anything_is_called(run, capsys):
    begun = run("--evalmetrics-journal-clear")
    begun.session.start()
    begun.session.start()
    assert printed(begun, capsys).count(EMPTIED) == 1


def test_a_worker_empties_no_journal(run, capsys):
    begun = run("--evalmetrics-journal-clear")
    begun.config.workerinput = {"workerid": "gw0"}
    begun.session = EvaluationSession(begun.config)
    begun.session.start()
    assert printed(begun, capsys) == []


class Benchmark:
    """A benchmark of a file, as far as the page needs it."""

    is_evalmetrics_benchmark = True
    detailed = True

    def __init__(self, number):
        self.nodeid = f"a.bench.yaml::b{number:03}"


def test_of_benchmarks_that_pass_four_hundred_have_a_picture(run):
    begun = run()
    session = pytest.Session.from_config(begun.config)
    # in any order
    session.items = [Benchmark(number) for number in reversed(range(402))]
    begun.session.pytest_collection_finish(session)
    without = [item.nodeid for item in session.items if item.detailed is False]
    assert without == ["a.bench.yaml::b401", "a.bench.yaml::b400"]


def test_an_unknown_reporter_is_refused_with_the_names_that_there_are(pytester):
    config = pytester.parseconfigure("--evalmetrics-reporters=report.jsn")
    session = pytest.Session.from_config(config)
    session.items = [Benchmark(1)]
    with pytest.raises(pytest.UsageError, match=r"did you mean 'report\.json'"):
        EvaluationSession(config).pytest_collection_finish(session)


def test_a_worker_hands_over_its_unused_baselines_and_writes_nothing(run, monkeypatch):
    begun = run()
    begun.config.workerinput = {"workerid": "gw0"}
    begun.config.workeroutput = {}
    monkeypatch.setattr(beside_syrupy, "unused_baselines", lambda _: ["gone.json"])
    begun.session = EvaluationSession(begun.config)
    begun.finish()
    unused, required = begun.config.workeroutput.values()
    assert unused == ["gone.json"]
    assert required == {}
    assert not begun.file.exists()
