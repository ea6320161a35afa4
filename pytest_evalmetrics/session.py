"""Results across the whole run, also from xdist's workers; writes the artifacts at its end.

Nothing heavy is imported before there is a result.
"""

from __future__ import annotations

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
        del vars(report)["evalmetrics"]  # other plugins keep reports
        if report.failed and isinstance(report.longrepr, str):  # came through xdist
            report.longrepr = FailureText(report.longrepr)  # type: ignore[assignment]

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Remember which benchmarks are to be evaluated."""
        self._collected.update(item.nodeid for item in session.items if _is_benchmark(item))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Print the plan instead of running anything, where it is asked for."""
        if not self._config.getoption("evalmetrics_plan"):
            return None
        benchmarks = [item for item in session.items if _is_benchmark(item)]
        self._collected.clear()  # nothing is to be evaluated
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if benchmarks and reporter is not None:
            from pytest_evalmetrics.items import plan_lines  # noqa: PLC0415 - there are benchmarks

            reporter.write_sep("=", "what the gates can see")
            for line in plan_lines(benchmarks):
                reporter.write_line(line)
        return True

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: object, ids: Sequence[str]) -> None:  # noqa: ARG002 - the hook's signature
        """Remember the same of a worker, which collects on its own."""
        patterns = self._config.getini("evalmetrics_files")
        self._collected.update(
            i for i in ids if any(fnmatch(Path(i.partition("::")[0]).name, p) for p in patterns)
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the artifacts."""
        if hasattr(self._config, "workerinput") or self._config.option.collectonly:
            return
        lost = self._collected - self._skipped - set(self._entries)
        if not self._entries and not lost:
            return
        from pytest_evalmetrics.errors import ArtifactError  # noqa: PLC0415 - there are results
        from pytest_evalmetrics.reports import Artifacts, report_document, section  # noqa: PLC0415

        report = report_document(self._entries.values(), lost)
        self._config.hook.pytest_evalmetrics_report(report=report)
        artifacts = self._artifacts or Artifacts()
        try:
            written = [self._shown(p) for p in artifacts.write(self._prefix(), report)]
            failure = None
        except ArtifactError as error:
            written, failure = [], str(error)
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        self._lines = section(report, written, verbosity=self._config.option.verbose)
        if failure is not None:
            self._lines.append((failure, "red"))

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
