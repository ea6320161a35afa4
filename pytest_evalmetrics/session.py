"""Collects the results of the whole run, also from xdist's workers, and has them written.

Loaded at every start of pytest: nothing heavy is imported before there is a result.
"""
# ruff: noqa: PLC0415 - so that a run without benchmarks costs nothing

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_evalmetrics.selection import Selection, is_benchmark, refuse_unknown_reporters
from pytest_evalmetrics.settings import (
    PRINTING,
    SHARED_BUDGET,
    evaluates_nothing,
    journal_url,
    output_prefix,
)

if TYPE_CHECKING:
    from collections.abc import Generator

    from pytest_evalmetrics.publishing import RunResults
    from pytest_evalmetrics.reports.payload import Payload
    from pytest_evalmetrics.run_folder import RunFolder

PAYLOADS = pytest.StashKey["list[Payload]"]()  # the results of an item's benchmarks
_FOLDER = pytest.StashKey[Path]()
_WORKERS_FOLDER = "evalmetrics_folder"
_WARNINGS = 5  # that are shown


class EvaluationSession:
    """Collects every benchmark's result: builtins on pytest's report, with or without xdist."""

    def __init__(self, config: pytest.Config, selection: Selection) -> None:
        self._config = config
        self._selection = selection
        self._results: RunResults | None = None
        self._folder: RunFolder | None = None
        self._refusal = ""
        self._interrupted = False
        self._lines: list[tuple[str, str | None]] = []
        self._is_worker = hasattr(config, "workerinput")
        self._started = time.time()

    def pytest_sessionstart(self) -> None:
        """Empty the journal, or import into it, before anything is called."""
        if getattr(self._config.option, "numprocesses", None):  # nothing is collected here
            refuse_unknown_reporters(self._config)
        options = ("evalmetrics_journal_clear", "evalmetrics_journal_import")
        asked = any(map(self._config.getoption, options)) or journal_url(self._config)
        if asked and not self._is_worker:
            from pytest_evalmetrics.run_transport import prepare_asked

            self._lines += [(line, None) for line in prepare_asked(self._config)]

    def begin(self) -> None:
        """Mark the output folder as this run's, when its first benchmark is collected."""
        prints = any(map(self._config.getoption, PRINTING))
        if self._folder is None and not self._is_worker and not prints:
            self._folder = self._begun()

    def _begun(self) -> RunFolder:
        from pytest_evalmetrics.errors import ArtifactError
        from pytest_evalmetrics.run_folder import RunFolder

        evaluates = not evaluates_nothing(self._config)
        folder = RunFolder(output_prefix(self._config), evaluates=evaluates)
        try:
            self._lines += [(line, None) for line in folder.start()]
        except ArtifactError as error:
            self._refusal = str(error)
        return folder

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self) -> None:
        """Refuse a folder that another run writes into, before anything is paid for."""
        if self._selection.has_benchmarks:
            self.begin()
        if self._refusal:
            raise pytest.UsageError(self._refusal)

    @pytest.hookimpl(optionalhook=True, trylast=True)
    def pytest_xdist_node_collection_finished(self) -> None:
        """Do the same when a worker has collected."""
        if self._selection.has_benchmarks:
            self.begin()
        if self._refusal:
            pytest.exit(self._refusal, returncode=pytest.ExitCode.USAGE_ERROR)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach the results of an item's benchmarks to the report of the item."""
        report = yield
        payloads = item.stash.get(PAYLOADS, None)
        if payloads is not None:
            _attach(item, call, report, payloads)
        self._selection.attach_to(report)
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the results off a report, in the process that writes the artifacts."""
        if self._is_worker:
            return
        payloads = vars(report).pop("evalmetrics", None)  # other plugins keep reports
        if payloads is None:
            self._selection.ended(report, None, fails=False)
            if self._selection.has_benchmarks:  # a worker's tests: known by their first report
                self.begin()
            return
        self.begin()
        results = self._all_results()
        for payload in payloads:
            results.take(report.nodeid, payload, getattr(report, "worker_id", ""))
        if _passes_wrongly(report):
            results.refuse_passing(report.nodeid)
        evaluated = [payload["entry"]["id"] for payload in payloads]
        self._selection.ended(report, evaluated, fails=results.fails(report.nodeid))
        if report.failed and isinstance(report.longrepr, str):  # came through xdist
            _show(report, report.longrepr, self._config)

    def _all_results(self) -> RunResults:
        if self._results is None:
            from pytest_evalmetrics.publishing import RunResults

            self._results = RunResults()
        return self._results

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Share a folder with a worker on this machine, for what is large."""
        if node.gateway.spec.popen:
            folder = str(shared_folder(self._config))
            node.workerinput[_WORKERS_FOLDER] = folder
            node.workerinput[SHARED_BUDGET] = str(Path(folder, "budget.sqlite3")), self._started
        elif self._config.getoption("evalmetrics_budget"):
            raise pytest.UsageError("--evalmetrics-budget: workers elsewhere can't share a budget")

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Remember that the run was interrupted, and not given up by pytest itself."""
        self._interrupted = not isinstance(excinfo.value, pytest.Session.Interrupted)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the artifacts."""
        calls = "pytest_evalmetrics.run_transport" in sys.modules
        if calls:
            from pytest_evalmetrics.run_transport import close_transport

            close_transport(self._config)
        if self._is_worker or self._refusal:
            return
        self._publish(session)
        if evaluates_nothing(self._config):
            return
        if self._interrupted and self._selection.lost:
            self._lines += [(line, "yellow") for line in self._way_on(calls=calls)]
        to_export = self._config.getoption("evalmetrics_journal_export") is not None
        if to_export or journal_url(self._config):
            from pytest_evalmetrics.errors import EvalMetricsError
            from pytest_evalmetrics.run_transport import export_asked

            try:
                self._lines += [(line, None) for line in export_asked(self._config)]
            except EvalMetricsError as error:
                self._lines.append((str(error), "red"))
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _publish(self, session: pytest.Session) -> None:
        nothing = not self._selection.lost and (self._results is None or not self._results.entries)
        if nothing or evaluates_nothing(self._config):
            if self._folder is not None:
                self._folder.end(None)
            return
        folder = self._folder or self._begun()
        from pytest_evalmetrics.publishing import publish

        lines, complete = publish(self._config, self._all_results(), self._selection, folder)
        self._lines += lines
        # pytest.exit(returncode=0) does not make a benchmark hold that was not evaluated
        green = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
        if not complete and session.exitstatus in green:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _way_on(self, *, calls: bool) -> Generator[str]:
        """Say what an interrupted run keeps, and how to go on."""
        from pytest_evalmetrics.layout import many
        from pytest_evalmetrics.settings import journal_mode

        done = many(len(self._all_results().entries), "benchmark")
        yield f"interrupted: {done} evaluated, {len(self._selection.lost)} not"
        if not calls and not getattr(self._config.option, "numprocesses", None):
            yield "run the same command again for the others"
        elif journal_mode(self._config) == "off":
            yield "without a journal nothing of what was paid for is kept: run it again with one"
        else:
            yield (
                "run the same command again: answers that were paid for are kept in the journal, "
                "and are not asked for again"
            )

    @pytest.hookimpl(specname="pytest_terminal_summary", wrapper=True, tryfirst=True)
    def pytest_fold_failures(self, terminalreporter: pytest.TerminalReporter) -> Generator[None]:
        """Show the first failure of each main cause, and the first warnings; -v shows all."""
        stats = terminalreporter.stats
        failed, warned = stats.get("failed", []), stats.get("warnings", [])
        hidden: set[str] = set()
        ours = [one for one in warned if " RegressionWarning: " in one.message]
        if len(ours) > _WARNINGS and self._config.option.verbose <= 0:
            more = ours[_WARNINGS:]
            stats["warnings"] = [one for one in warned if one not in more]
            line = f"{len(more)} more benchmarks or metrics warn: -v, or summary.md"
            self._lines.append((line, "yellow"))
        if self._results is not None and self._config.option.verbose <= 0:
            from pytest_evalmetrics.reports.triage import folded

            hidden = folded({"benchmarks": list(self._results.entries.values())})
        if hidden:
            stats["failed"] = [r for r in failed if r.nodeid not in hidden]
        yield
        if hidden:
            stats["failed"] = failed
        if warned:
            stats["warnings"] = warned

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the section."""
        if self._folder is not None and self._selection.unused_are_ours:
            self._lines.append(
                ("unused baselines: delete them with --evalmetrics-delete-unused", "yellow")
            )
        if not self._lines:
            return
        from pytest_evalmetrics.layout import visible_lines

        terminalreporter.write_sep("=", "benchmarks")
        for line, colour in self._lines:
            shown = visible_lines(line)
            terminalreporter.write_line(shown, **({colour: True} if colour else {}))

    @pytest.hookimpl(tryfirst=True)
    def pytest_unconfigure(self) -> None:
        """Let go of the results, and remove what a worker that died has left."""
        if self._folder is not None:
            self._folder.release()
        self._results = None  # else pytest's last collections of garbage go through thousands
        if _FOLDER in self._config.stash:
            shutil.rmtree(self._config.stash[_FOLDER], ignore_errors=True)


def _attach(
    item: pytest.Item,
    call: pytest.CallInfo[None],
    report: pytest.TestReport,
    payloads: list[Payload],
) -> None:
    for payload in payloads:
        entry = payload["entry"]
        # a mark of the test; a benchmark file says it itself, but not of every failure
        marked = report.skipped and hasattr(report, "wasxfail")
        entry["xfail"] = marked or (entry["xfail"] and not report.failed)
    if _passes_wrongly(report):
        properties = [
            (name, "FAIL" if name.endswith(".verdict") and value in ("PASS", "WARN") else value)
            for name, value in item.user_properties
        ]
        # JUnit takes those of teardown
        item.user_properties[:] = report.user_properties[:] = properties
    if payloads or not is_benchmark(item):
        vars(report)["evalmetrics"] = [*payloads]  # kept across processes
        payloads.clear()
    if is_benchmark(item):
        return
    shown = call.excinfo and getattr(call.excinfo.value, "shown", None)
    if report.failed and shown:
        _show(report, shown, item.config)
    if report.passed and report.when == "call":
        from pytest_evalmetrics.baselines.declared import Declared, name_of_test

        Declared.of(item.config).ended(item.path, name_of_test(item))


def _show(report: pytest.TestReport, text: str, config: pytest.Config) -> None:
    from pytest_evalmetrics.reports.failure import FailureText

    report.longrepr = FailureText(text, config.option.tbstyle)  # type: ignore[assignment]


def _passes_wrongly(report: pytest.TestReport) -> bool:
    """Check for a strict xfail that passed."""
    return report.failed and str(report.longrepr).startswith("[XPASS(strict)]")


def shared_folder(config: pytest.Config) -> Path | None:
    """Return the folder for files on their way to the session; None without one."""
    given = getattr(config, "workerinput", None)
    if given is not None:
        return Path(given[_WORKERS_FOLDER]) if _WORKERS_FOLDER in given else None
    if _FOLDER not in config.stash:
        from pytest_evalmetrics.reports.payload import handover_folder

        config.stash[_FOLDER] = handover_folder()
    return config.stash[_FOLDER]
