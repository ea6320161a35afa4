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

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from pytest_evalmetrics.reports import Artifacts

__all__ = ["EvaluationSession"]


class EvaluationSession:
    """Hears of every benchmark's result.

    A result travels as builtins on pytest's report of the item, with or without xdist,
    so that there is one way for it to get here.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._entries: dict[str, dict[str, Any]] = {}
        self._collected: set[str] = set()
        self._skipped: set[str] = set()
        self._artifacts: Artifacts | None = None
        self._lines: list[tuple[str, str | None]] = []
        self._usage: list[dict[str, Any]] = []
        self._warnings: dict[str, None] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Attach a benchmark's result to the report of its item."""
        report = yield
        payload = getattr(item, "payload", None)
        if payload is not None and report.when == "call" and _is_benchmark(item):
            vars(report)["evalmetrics"] = payload  # pytest keeps extra attributes across processes
            item.payload = None  # type: ignore[attr-defined]
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the result off a report, in the process that writes the artifacts."""
        payload = getattr(report, "evalmetrics", None)
        if payload is None:
            if report.skipped:
                self._skipped.add(report.nodeid)
            return
        if hasattr(self._config, "workerinput"):
            return
        from pytest_evalmetrics.reports import Artifacts, FailureText  # noqa: PLC0415 - first result

        if self._artifacts is None:
            self._artifacts = Artifacts()
        self._entries[report.nodeid] = payload["entry"]
        self._artifacts.add(report.nodeid, payload)
        self._usage.append(payload["usage"])
        self._warnings.update(dict.fromkeys(payload["warnings"]))
        del vars(report)["evalmetrics"]  # other plugins keep reports
        if report.failed and isinstance(report.longrepr, str):  # came through xdist
            report.longrepr = FailureText(report.longrepr)  # type: ignore[assignment]

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Remember which benchmarks are to be evaluated."""
        self._collected.update(item.nodeid for item in session.items if _is_benchmark(item))

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: object, ids: Sequence[str]) -> None:  # noqa: ARG002 - the hook's signature
        """Remember the same of a worker, which collects on its own."""
        patterns = self._config.getini("evalmetrics_files")
        self._collected.update(
            i for i in ids if any(fnmatch(Path(i.partition("::")[0]).name, p) for p in patterns)
        )

    def pytest_sessionstart(self) -> None:
        """Do with the journal what is to be done before anything is called."""
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
        lost = self._collected - self._skipped - set(self._entries)
        if not self._entries and not lost:
            return
        from pytest_evalmetrics.errors import ArtifactError  # noqa: PLC0415 - there are results
        from pytest_evalmetrics.reports import (  # noqa: PLC0415
            Artifacts,
            calls_line,
            report_document,
            section,
            tell_ci,
        )

        report = report_document(self._entries.values(), lost)
        self._config.hook.pytest_evalmetrics_report(report=report)
        artifacts = self._artifacts or Artifacts()
        written: list[str] = []
        told: list[tuple[str, str | None]] = []
        try:
            written = [self._shown(p) for p in artifacts.write(self._prefix(), report)]
            told = [(line, None) for line in tell_ci(report, os.environ)]
        except ArtifactError as error:
            told = [(str(error), "red")]
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        verbosity = self._config.option.verbose
        told += [(line, None) for line in calls_line(self._usage) if verbosity >= 0]
        told += [(f"warning: {text}", "yellow") for text in self._warnings]
        self._lines += section(report, written, verbosity=verbosity) + told

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the section."""
        if not self._lines:
            return
        terminalreporter.write_sep("=", "benchmarks")
        for line, colour in self._lines:
            terminalreporter.write_line(line, **({colour: True} if colour else {}))

    def _prefix(self) -> str:
        from pytest_evalmetrics.reports import output_prefix  # noqa: PLC0415 - there are results

        asked = self._config.getoption("evalmetrics_output")
        if asked is not None:
            return output_prefix(asked, self._config.invocation_params.dir)
        return output_prefix(self._config.getini("evalmetrics_output"), self._config.rootpath)

    def _shown(self, path: Path) -> str:
        here = self._config.invocation_params.dir
        return path.relative_to(here).as_posix() if path.is_relative_to(here) else str(path)


def _is_benchmark(item: pytest.Item) -> bool:
    return type(item).__module__ == "pytest_evalmetrics.items"
