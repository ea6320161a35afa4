"""The benchmarks of a run, and the tests that check something, from collection to the report.

A worker of xdist leaves its selection and its results on pytest's reports, as builtins; without
xdist they take the same way. Registered when the first benchmark or check is found, or pytest-xdist
starts.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from pytest_evalmetrics import settings

if TYPE_CHECKING:
    import warnings
    from collections.abc import Generator, Iterable, Sequence

    from pytest_evalmetrics import registry
    from pytest_evalmetrics.errors import RegistryError
    from pytest_evalmetrics.failure_lines import Failure
    from pytest_evalmetrics.publishing import RunResults
    from pytest_evalmetrics.reports.failure_layout import FailureText, Page
    from pytest_evalmetrics.reports.payload import Payload
    from pytest_evalmetrics.run_folder import RunFolder

PAYLOADS = pytest.StashKey["list[Payload]"]()  # the results of an item's benchmarks
_FOLDER = pytest.StashKey[Path]()
# the error of a call in the hook that registers names, None without one
_REGISTRATION = pytest.StashKey["RegistryError | None"]()
_WORKERS_FOLDER = "evalmetrics_folder"
_SELECTION = "evalmetrics_selection"  # of a worker, on its first report
_UNUSED = "evalmetrics_unused"  # baselines that a worker found unused
_REQUIRED = "evalmetrics_required"  # benchmarks with a required tag, of a worker
_IN_TEST = rb"\bevalmetrics\b"  # the fixture, in the text of a test file
_PICTURED = 400  # of the benchmarks that pass: no page has room for many more
_SUMMARISED = 20  # of many failing benchmarks, in pytest's short summary
_DEFAULT_REPORT = "fE"  # of pytest's option -r
_FAILURE = "evalmetrics_failure"  # of a worker, on a report
# of a report: an expected failure that passed, where the test's marks are strict
_PASSES_WRONGLY = "evalmetrics_passes_wrongly"
# how a run ends that came to its end
_FINISHED = (
    pytest.ExitCode.OK,
    pytest.ExitCode.TESTS_FAILED,
    pytest.ExitCode.NO_TESTS_COLLECTED,
)
_NAME = "evalmetrics-session"
_HOOK = "pytest_evalmetrics_register"
_NOTHING_KEPT = "without a journal no paid answer is kept: run it again with one"
_ANSWERS_KEPT = (
    "run the same command again: answers that were paid for are kept in the journal"
)


class EvaluationSession:
    """The state of a run: its benchmarks and checks, their results, and the artifacts."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._is_worker = hasattr(config, "workerinput")
        self._started = time.time()
        self._collected: set[str] = set()
        self._present: set[str] = set()  # before any selection
        self._skipped: dict[str, str] = {}  # and why
        self._outcomes: dict[str, bool] = {}  # whether it was evaluated to its end
        self._unreported: tuple[list[str], list[str]] | None = None
        self._results: RunResults | None = None
        self._folder: RunFolder | None = None
        self._refusal = ""
        self._interrupted = False
        self._prepares_journal = True
        self._lines: list[tuple[str, str | None]] = []
        # of regressions, as the terminal's reporter keeps them
        self._warnings: list[object] = []
        self._failed: list[pytest.TestReport] = []  # reports, while failures are shown
        # baselines, as the workers of xdist name them
        self._unused: set[str] = set()
        self._policy: RunPolicy | None = None  # None without one
        if config.getini(settings.POLICY):
            from pytest_evalmetrics.policy import RunPolicy

            self._policy = RunPolicy(config)

    @property
    def _lost(self) -> set[str]:
        """The ids that were collected, and not evaluated to their end."""
        broken_off = {item for item, complete in self._outcomes.items() if not complete}
        return (
            self._collected - self._skipped.keys() - self._outcomes.keys()
        ) | broken_off

    def start(self) -> None:
        """Prepare the journal before anything is called."""
        if getattr(
            self._config.option, "numprocesses", None
        ):  # nothing is collected here
            self._refuse_unknown_reporters()
        self._prepare_journal(here=not self._is_worker)

    def _prepare_journal(self, *, here: bool = True) -> None:
        """Empty, fill or fetch the journal once, if options ask for it."""
        if self._prepares_journal and settings.moves_journal(self._config):
            self._prepares_journal = False
            if here:
                from pytest_evalmetrics.run_transport import prepare_asked

                self._add_lines(prepare_asked(self._config))

    def _add_lines(self, lines: Iterable[str], colour: str | None = None) -> None:
        from pytest_evalmetrics.reports.failure_layout import shown_paragraph

        shown = shown_paragraph(lines, self.width())
        self._lines += [(line, colour) for line in shown]

    # -- what is to be evaluated ---------------------------------------------------------------

    def begin(self) -> None:
        """Mark the output folder as this run's, when its first benchmark is collected."""
        if not self._is_worker and not any(
            map(self._config.getoption, settings.PRINTING)
        ):
            self._started_folder()

    def _started_folder(self) -> RunFolder:
        if self._folder is None:
            from pytest_evalmetrics.errors import ArtifactError
            from pytest_evalmetrics.run_folder import RunFolder

            prefix = settings.output_prefix(self._config)
            self._folder = RunFolder(
                prefix,
                evaluates=not settings.evaluates_nothing(self._config),
                reporters=self._reporter_files(),
            )
            try:
                self._add_lines(self._folder.start())
            except ArtifactError as error:
                self._refusal = str(error)
        return self._folder

    def _reporter_files(self) -> list[str]:
        """List the files of the reporters that are registered by now."""
        from pytest_evalmetrics.errors import EvalMetricsError
        from pytest_evalmetrics.reports.reporters import chosen_reporters

        with suppress(EvalMetricsError), let_register(self._config):
            return chosen_reporters(None)
        return []

    @property
    def met_benchmarks(self) -> bool:
        """Whether there was any benchmark or check, selected or not."""
        return self._folder is not None

    def record(self, items: Sequence[pytest.Item]) -> None:
        """Record the benchmarks and checks that there are, whatever is selected of them."""
        ours = [item for item in items if _is_ours(item)]
        self._present.update(item.nodeid for item in ours)
        if self._policy is not None:
            self._policy.record(ours)

    pytest_deselected = record

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Record a file that can't be collected: it may hold benchmarks."""
        if report.failed and self._may_hold_ours(report.nodeid):
            self._collected.add(report.nodeid)
        # --lf passes over files; no benchmark file is empty, but for a check that reports it
        elif (
            report.passed
            and not report.result
            and self._names_benchmarks(report.nodeid)
        ):
            self._present.add(report.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Record the items to evaluate; refuse a folder that another run writes into."""
        self._collected.update(item.nodeid for item in session.items if _is_ours(item))
        if self._collected:
            self._refuse_unknown_reporters()
            self._prepare_journal()  # a conftest.py found while collecting may ask for it
        # independent of the order of items, which may be random
        benchmarks: list[Any] = sorted(
            filter(is_benchmark, session.items), key=lambda i: i.nodeid
        )
        for benchmark in benchmarks[_PICTURED:]:
            benchmark.detailed = False
        if self._is_worker and self._present:
            # the node id of a benchmark shows that it is one
            tests = [
                i for i in sorted(self._collected) if not self._names_benchmarks(i)
            ]
            self._unreported = tests, sorted(self._present)
        self._begin_with_any()
        if self._refusal:
            raise pytest.UsageError(self._refusal)

    @pytest.hookimpl(optionalhook=True, trylast=True)
    def pytest_xdist_node_collection_finished(
        self,
        node: Any,  # noqa: ARG002 - the hook's
        ids: Sequence[str],
    ) -> None:
        """Record the benchmarks that a worker has collected, and refuse the same folders."""
        self._collected.update(filter(self._names_benchmarks, ids))
        self._begin_with_any()
        if self._refusal:
            pytest.exit(self._refusal, returncode=pytest.ExitCode.USAGE_ERROR)

    def _refuse_unknown_reporters(self) -> None:
        """Raise UsageError for an unknown reporter, before anything is paid for."""
        names = settings.reporter_names(self._config)
        if names is None or self._is_worker:
            return
        from pytest_evalmetrics.errors import RegistryError
        from pytest_evalmetrics.reports.reporters import chosen_reporters

        try:
            with let_register(self._config):
                chosen_reporters(names)
        except RegistryError as error:
            self._collected.clear()  # nothing has begun, and there is nothing to report
            raise pytest.UsageError(str(error)) from None

    def _begin_with_any(self) -> None:
        if self._collected or self._present:
            self.begin()

    def _names_benchmarks(self, nodeid: str) -> bool:
        name = nodeid.partition("::")[0].rpartition("/")[2]
        return settings.is_benchmark_file(name, self._config)

    def _may_hold_ours(self, nodeid: str) -> bool:
        """Search a file, or a folder with a broken conftest.py, for benchmarks and checks."""
        path = self._config.rootpath / nodeid.partition("::")[0]
        for file in path.rglob("*") if nodeid and path.is_dir() else [path]:
            with suppress(OSError):
                tests = file.suffix == ".py" and re.search(_IN_TEST, file.read_bytes())
                if tests or self._names_benchmarks(file.name):
                    return True
        return False

    # -- results -------------------------------------------------------------------------------

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Share a folder for large results with a worker on this machine."""
        if node.gateway.spec.popen:
            folder = str(shared_folder(self._config))
            budget = str(Path(folder, "budget.sqlite3")), self._started
            node.workerinput |= {
                _WORKERS_FOLDER: folder,
                settings.SHARED_BUDGET: budget,
            }
        elif self._config.getoption("evalmetrics_budget"):
            raise pytest.UsageError(
                "--evalmetrics-budget: workers elsewhere can't share a budget"
            )

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach the results of an item's benchmarks to the report of the item."""
        report = yield
        _attach(item, call, report)
        if self._unreported is not None:
            vars(report)[_SELECTION], self._unreported = self._unreported, None
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the results and the outcome off a report, in the process that writes artifacts."""
        if self._is_worker:
            return
        # the node id of a test does not show whether it has checks
        collected, present = vars(report).pop(_SELECTION, ((), ()))
        self._collected.update(collected)
        self._present.update(present)
        payloads = vars(report).pop("evalmetrics", None)  # other plugins keep reports
        item = report.nodeid
        evaluated = {each["entry"]["id"] for each in payloads or ()}
        # a skipped item is complete only if no further results were to come
        complete = item in evaluated or (evaluated and hasattr(report, "wasxfail"))
        if report.skipped and not complete:
            self._skipped[item] = _why_skipped(report)
        self._begin_with_any()  # a worker's tests become known by their first report
        if payloads is None:
            return
        self.begin()
        results = self._all_results()
        for payload in payloads:
            results.take(item, payload, getattr(report, "worker_id", ""))
        if vars(report).pop(_PASSES_WRONGLY, False):
            results.refuse_passing(item)
        if evaluated or report.skipped or (report.when == "call" and report.passed):
            self._outcomes[item] = True  # or again, where one was broken off before
        # failed for another reason than a gate, so that further checks are unknown
        # (a benchmark that only warns fails where a filter makes errors of warnings)
        is_whole = item in evaluated and self._names_benchmarks(item)
        fails = results.fails(item) or is_whole
        if report.failed and report.when != "teardown" and not fails:
            self._outcomes[item] = False
        _show_again(report, self._config)

    def _all_results(self) -> RunResults:
        if self._results is None:
            from pytest_evalmetrics.publishing import RunResults

            self._results = RunResults(self._config)
        return self._results

    # -- the end -------------------------------------------------------------------------------

    def pytest_keyboard_interrupt(
        self, excinfo: pytest.ExceptionInfo[BaseException]
    ) -> None:
        """Record an interruption by the user, as opposed to one by pytest itself."""
        self._interrupted = not isinstance(excinfo.value, pytest.Session.Interrupted)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the artifacts."""
        calls = "pytest_evalmetrics.run_transport" in sys.modules
        if calls:
            from pytest_evalmetrics.run_transport import close_transport

            close_transport(self._config)
        if self._is_worker:
            self._hand_over()
            return
        if self._refusal:
            return
        evaluates_nothing = settings.evaluates_nothing(self._config)
        has_results = self._results is not None and bool(self._results.results)
        if (self._lost or has_results) and not evaluates_nothing:
            self._publish(session)
        elif self._folder is not None:
            self._folder.finish_without_verdict()
        if evaluates_nothing:
            return
        self._report_unused(session)
        self._report_policy(session)
        self._report_interruption(calls=calls)
        self._export_journal(session)

    def _report_interruption(self, *, calls: bool) -> None:
        """Report what an interrupted run has evaluated, and how to continue it."""
        if not self._interrupted or not self._lost:
            return
        from pytest_evalmetrics.layout import many

        done = many(len(self._all_results().results), "benchmark")
        way_on = "run the same command again for the others"
        if calls or getattr(self._config.option, "numprocesses", None):
            is_kept = settings.journal_mode(self._config) != "off"
            way_on = _ANSWERS_KEPT if is_kept else _NOTHING_KEPT
        stopped = f"interrupted: {done} evaluated, {len(self._lost)} not"
        self._add_lines((stopped, way_on), "yellow")

    def _export_journal(self, session: pytest.Session) -> None:
        """Export or share the journal where an option asks for it."""
        if not settings.moves_journal(self._config):
            return
        from pytest_evalmetrics.errors import EvalMetricsError
        from pytest_evalmetrics.run_transport import export_asked

        try:
            self._add_lines(export_asked(self._config))
        except EvalMetricsError as error:
            self._add_lines([str(error)], "red")
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _unused_here(self) -> list[str]:
        from pytest_evalmetrics.baselines.unused import unused_of_run  # with benchmarks

        return unused_of_run(self._config)

    def _hand_over(self) -> None:
        """Leave what a worker found where the controller finds it."""
        if settings.evaluates_nothing(self._config):
            return
        output: dict[str, object] = getattr(self._config, "workeroutput", {})
        output[_UNUSED] = self._unused_here()
        if self._policy is not None:
            output[_REQUIRED] = self._policy.hand_over()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take what a worker found; one that died has left nothing."""
        output: dict[str, Any] = getattr(node, "workeroutput", {})
        self._unused.update(output.get(_UNUSED, ()))
        if self._policy is not None:
            self._policy.take(output.get(_REQUIRED, {}))

    def _report_unused(self, session: pytest.Session) -> None:
        """Report the unused baselines of a whole run, which then fails or warns."""
        if session.exitstatus not in _FINISHED:
            return
        unused = sorted(self._unused.union(self._unused_here()))
        if not unused:
            return
        from pytest_evalmetrics.baselines.unused import unused_lines  # rare

        only_warns = self._config.getoption("warn_unused_snapshots", default=False)
        self._add_lines(unused_lines(unused), "yellow" if only_warns else "red")
        if not only_warns:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _report_policy(self, session: pytest.Session) -> None:
        """Fail a run that lacks what the project's policy requires."""
        if self._policy is None or session.exitstatus not in _FINISHED:
            return
        lines = list(self._policy.missing(self._skipped))
        if self._results is not None:
            lines += self._policy.too_many(self._results.results.values())
        if lines:
            self._add_lines(lines, "red")
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _publish(self, session: pytest.Session) -> None:
        skipped = {i: why for i, why in self._skipped.items() if i in self._collected}
        deselected = sorted(self._present - self._collected)
        with run_scope(self._config) as names:
            lines, complete = self._all_results().publish(
                self._started_folder(),
                names,
                self._lost,
                skipped,
                deselected,
                width=self.width(),
                failures=self._shown_failures(),
            )
        self._lines += lines
        # pytest.exit(returncode=0) does not make a benchmark hold that was not evaluated
        green = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
        if not complete and session.exitstatus in green:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(trylast=True)
    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage) -> None:
        """Know a warning of ours among those that the terminal's reporter has taken."""
        from pytest_evalmetrics.errors import RegressionWarning

        if not issubclass(warning_message.category, RegressionWarning):
            return
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            self._warnings.append(reporter.stats["warnings"][-1])

    def width(self) -> int | None:
        """Return the columns of the terminal to fill; None for a log."""
        from pytest_evalmetrics.reports.failure_layout import width_of

        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        return None if reporter is None else width_of(reporter._tw)  # noqa: SLF001 - pytest's own plugins read it so

    def _shown_failures(self) -> set[str]:
        """Name the items whose failures pytest will show."""
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        style = self._config.getoption("tbstyle", "auto")
        if reporter is None or style in ("no", "line"):
            return set()
        failed = {
            report.nodeid
            for report in reporter.stats.get("failed", [])
            if getattr(report.longrepr, "failure", None) is not None
        }
        return failed - self._folded()

    def _folded(self) -> set[str]:
        """Name the items whose failures are not shown: many have the same cause."""
        if self._results is None or self._config.getoption("verbose", 0) > 0:
            return set()
        from pytest_evalmetrics.reports.triage import folded

        return folded(list(self._results.results.values()))

    @pytest.hookimpl(specname="pytest_terminal_summary", wrapper=True, tryfirst=True)
    def pytest_fold_failures(
        self, terminalreporter: pytest.TerminalReporter
    ) -> Generator[None]:
        """Show the first failure of each main cause, and no warning twice; -v shows all."""
        stats = terminalreporter.stats
        before = {
            key: entries
            for key, entries in stats.items()
            if key in ("failed", "warnings")
        }
        if self._config.option.verbose <= 0:
            folded = self._folded()
            if "failed" in before:
                stats["failed"] = [
                    report for report in before["failed"] if report.nodeid not in folded
                ]
            if "warnings" in before:  # the section says why a benchmark warns
                ours = set(map(id, self._warnings))
                stats["warnings"] = [
                    warning for warning in before["warnings"] if id(warning) not in ours
                ]
        self._failed = before.get("failed", [])
        yield
        stats.update(before)

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> None:
        """Print the section, between the failures and pytest's short summary."""
        if self._failed:
            terminalreporter.stats["failed"] = self._summarised(self._failed)
        if not self._lines:
            return
        terminalreporter.write_sep("=", "benchmarks")
        for line, colour in self._lines:
            markup = {colour: True} if colour else {}
            terminalreporter.write_line(line, **markup)

    def _summarised(
        self, failed: Sequence[pytest.TestReport]
    ) -> list[pytest.TestReport]:
        """Choose the lines of the short summary: all if -r or -v asks, else the surest ones."""
        asked = self._config.option.reportchars != _DEFAULT_REPORT
        folded = self._folded()
        if asked or self._config.option.verbose > 0 or not folded:
            return list(failed)
        from pytest_evalmetrics.reports.triage import failing

        assert self._results is not None  # noqa: S101 - else nothing is folded
        surest = failing(list(self._results.results.values()))
        kept = {result.id for result in surest[:_SUMMARISED]}
        hidden = len(folded - kept)
        if hidden:
            self._add_lines([f"{hidden} more FAILED lines: -rf"], "red")
        return [
            report
            for report in failed
            if report.nodeid not in folded or report.nodeid in kept
        ]

    @pytest.hookimpl(tryfirst=True)
    def pytest_unconfigure(self) -> None:
        """Drop the results, and remove the files of a worker that died."""
        if self._folder is not None:
            self._folder.release()
        self._results = None  # speeds up pytest's last collections of garbage
        if _FOLDER in self._config.stash:
            shutil.rmtree(self._config.stash[_FOLDER], ignore_errors=True)


def session_of(config: pytest.Config) -> EvaluationSession:
    """Return the session of this run, registered at the first call."""
    session = config.pluginmanager.get_plugin(_NAME)
    if session is None:
        session = EvaluationSession(config)
        config.pluginmanager.register(session, _NAME)
    return session


# -- reports ---------------------------------------------------------------------------------


def _attach(
    item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport
) -> None:
    payloads: list[Payload] | None = item.stash.get(PAYLOADS, None)
    if payloads is None:
        return
    for payload in payloads:
        entry = payload["entry"]
        # by a mark of the test, or by the benchmark file if pytest accepts the failure
        marked = report.skipped and hasattr(report, "wasxfail")
        entry["xfail"] = marked or (entry["xfail"] and not report.failed)
    # nothing else fails without an exception
    if report.failed and call.excinfo is None:
        vars(report)[_PASSES_WRONGLY] = True
        properties = [
            (
                name,
                "FAIL"
                if name.endswith(".verdict") and value in ("PASS", "WARN")
                else value,
            )
            for name, value in item.user_properties
        ]
        # JUnit takes those of teardown
        item.user_properties[:] = report.user_properties[:] = properties
    if payloads or not is_benchmark(item):
        vars(report)["evalmetrics"] = [*payloads]  # kept across processes
        payloads.clear()
    if report.failed and call.excinfo is not None:
        _show(report, call.excinfo.value, item.config)
    if is_benchmark(item):
        return
    if report.passed and report.when == "call":
        from pytest_evalmetrics.baselines.declared import Declared
        from pytest_evalmetrics.baselines.files import name_of_test

        Declared.of(item.config).ended(item.path, name_of_test(item))


def failure_text(failure: Failure, config: pytest.Config) -> FailureText:
    """Make of a failure what pytest asks for, in the style and detail of this run."""
    from pytest_evalmetrics.reports.failure_layout import FailureText

    style = config.getoption("tbstyle", "auto")  # not there with -p no:terminal
    return FailureText(
        failure,
        style,
        everything=config.getoption("verbose", 0) > 0,
        page=_page_of(failure, config),
    )


def _page_of(failure: Failure, config: pytest.Config) -> Page | None:
    """Return the address of the failure's benchmark on the run's page; None without one."""
    names = settings.reporter_names(config)
    if not failure.benchmark or (names is not None and "report.html" not in names):
        return None
    from pytest_evalmetrics.baselines.files import shown_below
    from pytest_evalmetrics.reports.addresses import of_benchmark
    from pytest_evalmetrics.reports.failure_layout import Page

    page = Path(f"{settings.output_prefix(config)}report.html")
    place = of_benchmark(failure.benchmark)
    shown = shown_below(page, config.invocation_params.dir)
    return Page(shown, place, f"{page.absolute().as_uri()}{place}")


def _show(
    report: pytest.TestReport, error: BaseException, config: pytest.Config
) -> None:
    """Show a failure of ours by its parts, here and in the process that prints."""
    failure = getattr(report.longrepr, "failure", None)
    if failure is None:
        failure = getattr(error, "failure", None)
        if failure is None:
            return
        report.longrepr = failure_text(failure, config)  # type: ignore[assignment]
    if hasattr(config, "workerinput"):  # xdist carries plain values alone
        import msgspec

        vars(report)[_FAILURE] = msgspec.to_builtins(failure)


def _show_again(report: pytest.TestReport, config: pytest.Config) -> None:
    """Show what a worker showed, which xdist carried as text."""
    carried = getattr(report, _FAILURE, None)
    if carried is not None:
        import msgspec

        from pytest_evalmetrics.failure_lines import Failure

        failure = msgspec.convert(carried, Failure)
        report.longrepr = failure_text(failure, config)  # type: ignore[assignment]


def _why_skipped(report: pytest.TestReport) -> str:
    """Return the reason of a skip, or of an expected failure without a result."""
    if hasattr(report, "wasxfail"):
        return f"xfail: {report.wasxfail}".removesuffix(": ")
    reason = (
        report.longrepr[2]
        if isinstance(report.longrepr, tuple)
        else str(report.longrepr)
    )
    return reason.removeprefix("Skipped: ")


def shared_folder(config: pytest.Config) -> Path | None:
    """Return the folder for files on their way to the session; None without one."""
    given = getattr(config, "workerinput", None)
    if given is not None:
        return Path(given[_WORKERS_FOLDER]) if _WORKERS_FOLDER in given else None
    if _FOLDER not in config.stash:  # the folder is made when a file is first needed
        from pytest_evalmetrics.run_folder import temporary_name

        config.stash[_FOLDER] = Path(tempfile.gettempdir(), temporary_name())
    return config.stash[_FOLDER]


# -- benchmarks and names --------------------------------------------------------------------


def is_benchmark(item: pytest.Item) -> bool:
    """Check whether an item is a benchmark of a file, without loading what these are."""
    return getattr(type(item), "is_evalmetrics_benchmark", False)


def _is_ours(item: pytest.Item) -> bool:
    return is_benchmark(item) or settings.has_fixture(item)


def let_register(config: pytest.Config) -> registry.Scope:
    """Call the hook that registers names, once; return the scope of the run as a whole."""
    if _REGISTRATION not in config.stash:
        from pytest_evalmetrics.scoring.scorer_types import offer_scorers

        offer_scorers()
        config.stash[_REGISTRATION] = _failed_registration(config)
    failure = config.stash[_REGISTRATION]
    if failure is not None:  # whoever asks first may have ignored it
        raise failure
    return run_scope(config)


def run_scope(config: pytest.Config) -> registry.Scope:
    """Return the scope of the run as a whole, with what has been registered so far."""
    from pytest_evalmetrics import registry

    plugins = config.pluginmanager.get_plugins()
    modules = [plugin for plugin in plugins if isinstance(plugin, ModuleType)]
    return registry.Scope(config.rootpath, modules=modules)


def _failed_registration(config: pytest.Config) -> RegistryError | None:
    """Call the hook that registers names; return the error of a call in it."""
    from pytest_evalmetrics import registry
    from pytest_evalmetrics.errors import RegistryError

    try:
        config.hook.pytest_evalmetrics_register.call_historic(
            kwargs={"registry": registry}
        )
    except Exception as error:  # noqa: BLE001 - a user's code
        from pytest_evalmetrics.reports.failure import failure_of_words

        message = hook_failure(error, config) or f"{_HOOK} failed: {error}"
        failure = RegistryError(message)
        failure.failure = failure_of_words(message)
        return failure
    return None


def hook_failure(error: BaseException, config: pytest.Config) -> str:
    """Locate a failure of the hook that registers names; return "" for another failure."""
    places = [f for f in extract_tb(error.__traceback__) if f.name == _HOOK]
    if not places:
        return ""
    from pytest_evalmetrics import registry
    from pytest_evalmetrics.baselines.files import shown_below
    from pytest_evalmetrics.errors import did_you_mean

    place = (
        f"{shown_below(Path(places[-1].filename), config.rootpath)}:{places[-1].lineno}"
    )
    what = f"{type(error).__name__}: {error}"
    if isinstance(error, AttributeError) and error.obj is registry:
        offered = [name for name in dir(registry) if name.startswith("register_")]
        guess = did_you_mean(str(error.name), offered, what="it has")
        what = f"the registry has no {error.name!r}; {guess}"
    way = 'it registers so: registry.register_metric("a_name")(MyMetric)'
    return f"{place}: {_HOOK} failed: {what}\n  {way}"
