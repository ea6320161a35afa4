"""Results across the whole run, also from xdist's workers; writes the artifacts at its end.

Nothing heavy is imported before there is a result.
"""

from __future__ import annotations

import os
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_evalmetrics.settings import history_path, reporter_names

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from pytest_evalmetrics.errors import ArtifactError, EvalMetricsError
    from pytest_evalmetrics.reports import Artifacts, Payload

__all__ = ["PAYLOADS", "EvaluationSession", "shared_folder"]

_COLLECTED = "evalmetrics_collected"  # what a worker tells at its end
PAYLOADS = pytest.StashKey["list[Payload]"]()  # what an item's benchmarks came to
_FOLDER = pytest.StashKey[Path]()
_WORKERS_FOLDER = "evalmetrics_folder"


class EvaluationSession:
    """Hears of every benchmark's result.

    A result travels as builtins on pytest's report of the item, with or without xdist,
    so that there is one way for it to get here.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._entries: dict[str, dict[str, Any]] = {}
        self._collected: set[str] = set()
        self._skipped: dict[str, str] = {}  # and why
        self._judged: set[str] = set()
        self._artifacts: Artifacts | None = None
        self._unkept: ArtifactError | None = None
        self._lines: list[tuple[str, str | None]] = []
        self._usage: list[dict[str, Any]] = []
        self._warnings: dict[str, None] = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach the results of an item's benchmarks to the report of the item."""
        report = yield
        payloads = item.stash.get(PAYLOADS, None)
        if payloads is not None:
            self._attach(item, call, report, payloads)
        return report

    def _attach(
        self,
        item: pytest.Item,
        call: pytest.CallInfo[None],
        report: pytest.TestReport,
        payloads: list[Payload],
    ) -> None:
        for payload in payloads:
            # a mark of the test; a benchmark file says it itself
            payload["entry"]["xfail"] |= report.skipped and hasattr(report, "wasxfail")
        if payloads or not _is_benchmark(item):
            vars(report)["evalmetrics"] = [*payloads]  # kept across processes
            payloads.clear()
        if _is_benchmark(item):
            return
        shown = call.excinfo and getattr(call.excinfo.value, "shown", None)
        if report.failed and shown:
            from pytest_evalmetrics.reports import FailureText  # noqa: PLC0415 - it is loaded

            report.longrepr = FailureText(shown)  # type: ignore[assignment]
        if report.passed and report.when == "call":
            from pytest_evalmetrics.baselines.declared import Declared  # noqa: PLC0415 - loaded
            from pytest_evalmetrics.baselines.in_tests import name_of_test  # noqa: PLC0415

            Declared.of(item.config).tests.ended(item.path, name_of_test(item))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the results off a report, in the process that writes the artifacts."""
        payloads = getattr(report, "evalmetrics", None)
        if report.skipped and not payloads:
            self._skipped[report.nodeid] = _why_skipped(report)
        if payloads is None:
            return
        if hasattr(self._config, "workerinput"):
            return
        from pytest_evalmetrics.reports import Artifacts, FailureText  # noqa: PLC0415 - first result

        if self._artifacts is None:
            self._artifacts = Artifacts(root=self._config.rootpath)
        if payloads or report.skipped or (report.when == "call" and report.passed):
            self._judged.add(report.nodeid)
        for payload in payloads:
            self._entries[payload["entry"]["id"]] = payload["entry"]
            self._keep(payload)
            self._usage.append(payload["usage"])
            self._warnings.update(dict.fromkeys(payload["warnings"]))
        del vars(report)["evalmetrics"]  # other plugins keep reports
        if report.failed and isinstance(report.longrepr, str):  # came through xdist
            report.longrepr = FailureText(report.longrepr)  # type: ignore[assignment]

    def _keep(self, payload: Payload) -> None:
        """Keep what goes into the artifacts; without room for it there are none."""
        from pytest_evalmetrics.errors import ArtifactError  # noqa: PLC0415 - it is loaded

        if self._artifacts is None or self._unkept is not None:
            return
        try:
            self._artifacts.add(payload["entry"]["id"], payload)
        except ArtifactError as error:
            self._unkept = error

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Share a folder with a worker on this machine, for what is large."""
        if node.gateway.spec.popen:
            node.workerinput[_WORKERS_FOLDER] = str(_own_folder(self._config))

    def pytest_unconfigure(self) -> None:
        """Remove what a worker that died has left."""
        if _FOLDER in self._config.stash:
            from pytest_evalmetrics.reports.handover import remove_left  # noqa: PLC0415 - used

            remove_left(self._config.stash[_FOLDER])

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Remember which benchmarks are to be evaluated."""
        self._collected.update(item.nodeid for item in session.items if _is_ours(item))
        if self._collected:
            self._refuse_unknown_reporters()
        if self._collected and hasattr(self._config, "workeroutput"):
            self._config.workeroutput[_COLLECTED] = sorted(self._collected)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Hear from a worker which tests check something: a node id does not say it."""
        self._collected.update(getattr(node, "workeroutput", {}).get(_COLLECTED, ()))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: object, ids: Sequence[str]) -> None:  # noqa: ARG002 - the hook's signature
        """Remember the same of a worker, which collects on its own."""
        patterns = self._config.getini("evalmetrics_files")
        self._collected.update(
            i for i in ids if any(fnmatch(Path(i.partition("::")[0]).name, p) for p in patterns)
        )

    def _refuse_unknown_reporters(self) -> None:
        """Tell of a reporter that is not there before anything is paid for."""
        names = reporter_names(self._config)
        if names is None or hasattr(self._config, "workerinput"):
            return
        from pytest_evalmetrics.errors import RegistryError  # noqa: PLC0415 - it is asked for
        from pytest_evalmetrics.reports import chosen_reporters  # noqa: PLC0415 - the same

        try:
            chosen_reporters(names)
        except RegistryError as error:
            self._collected.clear()  # nothing has begun, and there is nothing to report
            raise pytest.UsageError(str(error)) from None

    def pytest_sessionstart(self) -> None:
        """Do with the journal what is to be done before anything is called."""
        if getattr(self._config.option, "numprocesses", None):  # nothing is collected here
            self._refuse_unknown_reporters()
        options = ("evalmetrics_journal_clear", "evalmetrics_journal_import")
        if hasattr(self._config, "workerinput") or not any(map(self._config.getoption, options)):
            return
        from pytest_evalmetrics.calling import prepare_asked  # noqa: PLC0415 - it is asked for

        self._lines += [(line, None) for line in prepare_asked(self._config)]

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the artifacts."""
        if "pytest_evalmetrics.calling" in sys.modules:
            from pytest_evalmetrics.calling import close_transport  # noqa: PLC0415 - it is loaded

            close_transport(self._config)
        option = self._config.option
        if hasattr(self._config, "workerinput") or option.collectonly or option.evalmetrics_plan:
            return
        self._write_artifacts(session)
        if self._config.getoption("evalmetrics_journal_export") is not None:
            from pytest_evalmetrics.calling import export_asked  # noqa: PLC0415 - it is asked for
            from pytest_evalmetrics.errors import EvalMetricsError  # noqa: PLC0415 - the same

            try:
                self._lines += [(line, None) for line in export_asked(self._config)]
            except EvalMetricsError as error:
                self._lines.append((str(error), "red"))
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _write_artifacts(self, session: pytest.Session) -> None:
        lost = self._collected - self._skipped.keys() - self._judged
        skipped = {i: why for i, why in self._skipped.items() if i in self._collected}
        if not self._entries and not lost:
            return
        from pytest_evalmetrics.errors import ArtifactError  # noqa: PLC0415 - there are results
        from pytest_evalmetrics.reports import (  # noqa: PLC0415
            Artifacts,
            calls_line,
            report_document,
            section,
            tell_ci,
            write_reports,
        )

        errors: list[EvalMetricsError] = []
        report = report_document(self._entries.values(), lost, self._history(errors), skipped)
        self._config.hook.pytest_evalmetrics_report(report=report)
        written = []
        if self._unkept is None:
            found = write_reports(
                self._artifacts or Artifacts(root=self._config.rootpath),
                self._prefix(),
                report,
                names=reporter_names(self._config),
                environ=os.environ,
            )
            written = [self._shown(path) for path in found.paths]
            errors += found.errors
        else:  # half of what there was is no report
            errors.append(self._unkept)
        told: list[tuple[str, str | None]] = []
        try:
            told = [(line, None) for line in tell_ci(report, os.environ, self._config.rootpath)]
        except ArtifactError as error:
            errors.append(error)
        told += [(str(error), "red") for error in errors]
        if errors and session.exitstatus in (
            pytest.ExitCode.OK,
            pytest.ExitCode.NO_TESTS_COLLECTED,
        ):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        verbosity = self._config.option.verbose
        told += [(line, None) for line in calls_line(self._usage) if verbosity >= 0]
        told += [(f"warning: {text}", "yellow") for text in self._warnings]
        self._lines += section(report, written, verbosity=verbosity) + told

    def _history(self, errors: list[EvalMetricsError]) -> Mapping[str, Sequence[Any]]:
        """Append this run to the history, and give its last runs; nothing where none is kept."""
        path = history_path(self._config)
        if path is None:
            return {}
        from pytest_evalmetrics.keeping import keep_history  # noqa: PLC0415 - there are results

        kept = keep_history(self._config, path, self._shown(path), self._entries.values())
        errors += kept.errors
        self._warnings.update(dict.fromkeys(kept.warnings))
        return kept.last

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the section."""
        if not self._lines:
            return
        from pytest_evalmetrics.layout import visible_lines  # noqa: PLC0415 - there is something

        terminalreporter.write_sep("=", "benchmarks")
        for line, colour in self._lines:
            shown = visible_lines(line)
            terminalreporter.write_line(shown, **({colour: True} if colour else {}))

    def _prefix(self) -> str:
        from pytest_evalmetrics.reports import output_prefix  # noqa: PLC0415 - there are results

        asked = self._config.getoption("evalmetrics_output")
        if asked is not None:
            return output_prefix(asked, self._config.invocation_params.dir)
        return output_prefix(self._config.getini("evalmetrics_output"), self._config.rootpath)

    def _shown(self, path: Path) -> str:
        here = self._config.invocation_params.dir
        return path.relative_to(here).as_posix() if path.is_relative_to(here) else str(path)


def shared_folder(config: pytest.Config) -> Path | None:
    """Give the folder for files on their way to the session; None without one."""
    given = getattr(config, "workerinput", None)
    if given is None:
        return _own_folder(config)
    return Path(given[_WORKERS_FOLDER]) if _WORKERS_FOLDER in given else None


def _own_folder(config: pytest.Config) -> Path:
    if _FOLDER not in config.stash:
        from pytest_evalmetrics.reports.handover import handover_folder  # noqa: PLC0415 - if used

        config.stash[_FOLDER] = handover_folder()
    return config.stash[_FOLDER]


def _why_skipped(report: pytest.TestReport) -> str:
    """Give the reason of a skip, or of an expected failure that came before any number."""
    if hasattr(report, "wasxfail"):
        return f"xfail: {report.wasxfail}".removesuffix(": ")
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return reason.removeprefix("Skipped: ")


def _is_ours(item: pytest.Item) -> bool:
    return _is_benchmark(item) or "evalmetrics" in getattr(item, "fixturenames", ())


def _is_benchmark(item: pytest.Item) -> bool:
    return type(item).__module__ == "pytest_evalmetrics.items"
