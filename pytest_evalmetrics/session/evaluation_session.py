"""The session of a run: pytest's hooks from collection to the report.

Registered when the first benchmark or check is found, or pytest-xdist starts.
"""

from __future__ import annotations

import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from pytest_evalmetrics import settings
from pytest_evalmetrics.session import beside_syrupy, item_reports, workers
from pytest_evalmetrics.session.registration import let_register, run_scope
from pytest_evalmetrics.session.selection import Selection
from pytest_evalmetrics.session.terminal import TerminalHooks

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from pytest_evalmetrics.model.results import BenchmarkResult
    from pytest_evalmetrics.policy import RunPolicy
    from pytest_evalmetrics.publishing import RunResults
    from pytest_evalmetrics.reports.payload import Payload
    from pytest_evalmetrics.run_folder import RunFolder

_IN_TEST = rb"\bevalmetrics\b"  # the fixture, in the text of a test file
_PICTURED = 400  # of the benchmarks that pass: no page has room for many more
# how a run ends that came to its end
_FINISHED = (
    pytest.ExitCode.OK,
    pytest.ExitCode.TESTS_FAILED,
    pytest.ExitCode.NO_TESTS_COLLECTED,
)
_NAME = "evalmetrics-session"
_NOTHING_KEPT = "without a journal no paid answer is kept: run it again with one"
_ANSWERS_KEPT = (
    "run the same command again: answers that were paid for are kept in the journal"
)


class EvaluationSession:
    """The benchmarks and checks of a run, their results, and the artifacts."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._is_worker = settings.is_worker(config)
        self._selection = Selection()
        # whether a worker's next report carries its selection
        self._must_tell = False
        self._results: RunResults | None = None
        self._folder: RunFolder | None = None
        self._refusal = ""
        self._interrupted = False
        self._prepares_journal = True
        # baselines, as the workers of xdist name them
        self._unused: set[str] = set()
        self._policy: RunPolicy | None = None  # None without one
        if config.getini(settings.POLICY):
            from pytest_evalmetrics.policy import RunPolicy

            self._policy = RunPolicy(config)
        self._terminal = TerminalHooks(config, self._results_so_far)

    def register(self) -> None:
        """Register what other plugins call."""
        manager = self._config.pluginmanager
        manager.register(self, _NAME)
        manager.register(self._terminal, f"{_NAME}-terminal")
        hooks_of_workers = workers.WorkerHooks(self._config, self)
        manager.register(hooks_of_workers, f"{_NAME}-workers")

    def start(self) -> None:
        """Prepare the journal before anything is called."""
        if settings.starts_workers(self._config):  # nothing is collected here
            self._refuse_unknown_reporters()
        self._prepare_journal(here=not self._is_worker)

    def _prepare_journal(self, *, here: bool = True) -> None:
        """Empty, fill or fetch the journal once, if options ask for it."""
        if self._prepares_journal and settings.moves_journal(self._config):
            self._prepares_journal = False
            if here:
                from pytest_evalmetrics.run_transport import prepare_asked

                self._terminal.add_lines(prepare_asked(self._config))

    # -- what is to be evaluated ---------------------------------------------------------------

    def begin(self) -> None:
        """Mark the output folder as this run's, when its first benchmark is collected."""
        if not self._is_worker and not settings.prints_only(self._config):
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
                self._terminal.add_lines(self._folder.start())
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

    def width(self) -> int | None:
        """Return the columns of the terminal to fill; None for a log."""
        return self._terminal.width()

    @property
    def met_benchmarks(self) -> bool:
        """Whether there was any benchmark or check, selected or not."""
        return self._folder is not None

    def record(self, items: Sequence[pytest.Item]) -> None:
        """Record the benchmarks and checks that there are, whatever is selected of them."""
        ours = [item for item in items if item_reports.is_ours(item)]
        self._selection.present.update(item.nodeid for item in ours)
        if self._policy is not None:
            self._policy.record(ours)

    pytest_deselected = record

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Record a file that can't be collected: it may hold benchmarks."""
        if report.failed:
            if self._may_hold_ours(report.nodeid):
                self._selection.collected.add(report.nodeid)
            return
        # --lf passes over files; no benchmark file is empty, but for a check that reports it
        is_passed_over = report.passed and not report.result
        if is_passed_over and self._names_benchmarks(report.nodeid):
            self._selection.present.add(report.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Record the items to evaluate; refuse a folder that another run writes into."""
        ours = [item for item in session.items if item_reports.is_ours(item)]
        self._selection.add(item.nodeid for item in ours)
        if self._selection.collected:
            self._refuse_unknown_reporters()
            self._prepare_journal()  # a conftest.py found while collecting may ask for it
        self._spare_pictures(session.items)
        self._must_tell = self._is_worker and bool(self._selection.present)
        self._begin_with_any()
        if self._refusal:
            raise pytest.UsageError(self._refusal)

    def _spare_pictures(self, items: Iterable[pytest.Item]) -> None:
        """Let the first benchmarks alone have a picture if they pass."""
        # independent of the order of items, which may be random
        benchmarks: list[Any] = sorted(
            filter(item_reports.is_benchmark, items), key=lambda item: item.nodeid
        )
        for benchmark in benchmarks[_PICTURED:]:
            benchmark.detailed = False

    def add_collected(self, nodeids: Iterable[str]) -> str:
        """Record the benchmarks that a worker has collected; return why the run is refused."""
        self._selection.add(filter(self._names_benchmarks, nodeids))
        self._begin_with_any()
        return self._refusal

    def add_from_worker(
        self, unused: Iterable[str], required: dict[str, list[str]]
    ) -> None:
        """Record the unused baselines and required benchmarks that a worker found."""
        self._unused.update(unused)
        if self._policy is not None:
            self._policy.take(required)

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
            # nothing has begun, and there is nothing to report
            self._selection.collected.clear()
            raise pytest.UsageError(str(error)) from None

    def _begin_with_any(self) -> None:
        if not self._selection.is_empty:
            self.begin()

    def _names_benchmarks(self, nodeid: str) -> bool:
        name = nodeid.partition("::")[0].rpartition("/")[2]
        return settings.is_benchmark_file(name, self._config)

    def _may_hold_ours(self, nodeid: str) -> bool:
        """Search a file, or a folder with a broken conftest.py, for benchmarks and checks."""
        path = self._config.rootpath / nodeid.partition("::")[0]
        files = path.rglob("*") if nodeid and path.is_dir() else [path]
        for file in files:
            with suppress(OSError):
                is_test = file.suffix == ".py"
                checks = is_test and re.search(_IN_TEST, file.read_bytes())
                if checks or self._names_benchmarks(file.name):
                    return True
        return False

    # -- results -------------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach the results of an item's benchmarks to the report of the item."""
        report = yield
        item_reports.attach(item, call, report)
        if self._must_tell:
            self._must_tell = False
            collected = sorted(self._selection.collected)
            # the node id of a benchmark shows that it is one
            tests = [name for name in collected if not self._names_benchmarks(name)]
            workers.put_selection(report, tests, sorted(self._selection.present))
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the results and the outcome off a report, in the process that writes artifacts."""
        if self._is_worker:
            return
        # the node id of a test does not show whether it has checks
        self._selection.add(*workers.take_selection(report))
        payloads = item_reports.take_results(report)
        evaluated = {payload["entry"]["id"] for payload in payloads or ()}
        if report.skipped and not _is_complete(report, evaluated):
            self._selection.skip(report.nodeid, item_reports.why_skipped(report))
        self._begin_with_any()  # a worker's tests become known by their first report
        if payloads is None:
            return
        self.begin()
        self._take_results(report, payloads)
        self._record_end(report, evaluated)
        item_reports.show_again(report, self._config)

    def _take_results(
        self, report: pytest.TestReport, payloads: Iterable[Payload]
    ) -> None:
        """Keep the results of an item for the artifacts."""
        results = self._all_results()
        for payload in payloads:
            results.take(report.nodeid, payload, workers.worker_of(report))
        if item_reports.passes_wrongly(report):
            results.refuse_passing(report.nodeid)

    def _record_end(self, report: pytest.TestReport, evaluated: set[str]) -> None:
        """Record whether an item is finished, or broke off before all of its checks."""
        item = report.nodeid
        is_passed = report.when == "call" and report.passed
        if evaluated or report.skipped or is_passed:
            self._selection.finish(item)
        if not report.failed or report.when == "teardown":
            return
        # a benchmark that only warns fails where a filter makes errors of warnings
        is_whole = item in evaluated and self._names_benchmarks(item)
        # it failed for another reason than a gate: further checks are unknown
        if not is_whole and not self._all_results().fails(item):
            self._selection.break_off(item)

    def _all_results(self) -> RunResults:
        if self._results is None:
            from pytest_evalmetrics.publishing import RunResults

            self._results = RunResults(self._config)
        return self._results

    def _results_so_far(self) -> Sequence[BenchmarkResult]:
        if self._results is None:
            return ()
        return list(self._results.results.values())

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
        has_any = bool(self._selection.lost) or bool(self._results_so_far())
        if has_any and not evaluates_nothing:
            self._publish(session)
        elif self._folder is not None:
            self._folder.finish_without_verdict()
        if evaluates_nothing:
            return
        self._report_unused(session)
        self._report_policy(session)
        self._report_interruption(calls=calls)
        self._export_journal(session)

    def _hand_over(self) -> None:
        """Leave what a worker found where the controller finds it."""
        if settings.evaluates_nothing(self._config):
            return
        required = {} if self._policy is None else self._policy.hand_over()
        unused = beside_syrupy.unused_baselines(self._config)
        workers.hand_over(self._config, unused, required)

    def _publish(self, session: pytest.Session) -> None:
        with run_scope(self._config) as names:
            lines, is_complete = self._all_results().publish(
                self._started_folder(),
                names,
                self._selection.lost,
                self._selection.skipped_of_collected,
                self._selection.deselected,
                width=self._terminal.width(),
                failures=self._terminal.shown_failures(),
            )
        self._terminal.add_coloured(lines)
        # pytest.exit(returncode=0) does not make a benchmark hold that was not evaluated
        green = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
        if not is_complete and session.exitstatus in green:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _report_unused(self, session: pytest.Session) -> None:
        """Report the unused baselines of a whole run, which then fails or warns."""
        if session.exitstatus not in _FINISHED:
            return
        here = beside_syrupy.unused_baselines(self._config)
        lines = beside_syrupy.lines_of_unused(self._unused.union(here))
        if not lines:
            return
        only_warns = beside_syrupy.only_warns(self._config)
        self._terminal.add_lines(lines, "yellow" if only_warns else "red")
        if not only_warns:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _report_policy(self, session: pytest.Session) -> None:
        """Fail a run that lacks what the project's policy requires."""
        if self._policy is None or session.exitstatus not in _FINISHED:
            return
        lines = list(self._policy.missing(self._selection.skipped))
        lines += self._policy.too_many(self._results_so_far())
        if lines:
            self._terminal.add_lines(lines, "red")
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _report_interruption(self, *, calls: bool) -> None:
        """Report what an interrupted run has evaluated, and how to continue it."""
        lost = self._selection.lost
        if not self._interrupted or not lost:
            return
        from pytest_evalmetrics.layout import many

        done = many(len(self._results_so_far()), "benchmark")
        way_on = "run the same command again for the others"
        if calls or settings.starts_workers(self._config):
            is_kept = settings.journal_mode(self._config) != "off"
            way_on = _ANSWERS_KEPT if is_kept else _NOTHING_KEPT
        stopped = f"interrupted: {done} evaluated, {len(lost)} not"
        self._terminal.add_lines((stopped, way_on), "yellow")

    def _export_journal(self, session: pytest.Session) -> None:
        """Export or share the journal where an option asks for it."""
        if not settings.moves_journal(self._config):
            return
        from pytest_evalmetrics.errors import EvalMetricsError
        from pytest_evalmetrics.run_transport import export_asked

        try:
            self._terminal.add_lines(export_asked(self._config))
        except EvalMetricsError as error:
            self._terminal.add_lines([str(error)], "red")
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(tryfirst=True)
    def pytest_unconfigure(self) -> None:
        """Drop the results, and remove the files of a worker that died."""
        if self._folder is not None:
            self._folder.release()
        self._results = None  # speeds up pytest's last collections of garbage
        workers.remove_shared_folder(self._config)


def _is_complete(report: pytest.TestReport, evaluated: set[str]) -> bool:
    """Check whether a skipped item has evaluated all that it was to evaluate."""
    if report.nodeid in evaluated:
        return True
    return bool(evaluated) and hasattr(report, "wasxfail")


def session_of(config: pytest.Config) -> EvaluationSession:
    """Return the session of this run, registered at the first call."""
    session: EvaluationSession | None = config.pluginmanager.get_plugin(_NAME)
    if session is None:
        session = EvaluationSession(config)
        session.register()
    return session
