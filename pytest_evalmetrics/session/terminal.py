"""pytest's terminal reporter: our section, and which failures and warnings it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import warnings
    from collections.abc import Callable, Generator, Iterable, Sequence

    from pytest_evalmetrics.model.results import BenchmarkResult

_SUMMARISED = 20  # of many failing benchmarks, in pytest's short summary
_DEFAULT_REPORT = "fE"  # of pytest's option -r


class TerminalHooks:
    """Print the section of benchmarks; fold what it explains already.

    Parameters
    ----------
    results
        Returns the results so far.
    """

    def __init__(
        self,
        config: pytest.Config,
        results: Callable[[], Sequence[BenchmarkResult]],
    ) -> None:
        self._config = config
        self._results = results
        self._lines: list[tuple[str, str | None]] = []
        # of regressions, as the terminal's reporter keeps them
        self._warnings: list[object] = []
        self._failed: list[pytest.TestReport] = []  # reports, while failures are shown

    # -- lines -------------------------------------------------------------------------------

    def add_lines(self, lines: Iterable[str], colour: str | None = None) -> None:
        """Add lines to the section, which are fitted to the terminal."""
        from pytest_evalmetrics.reports.failure_layout import shown_paragraph

        shown = shown_paragraph(lines, self.width())
        self._lines += [(line, colour) for line in shown]

    def add_coloured(self, lines: Iterable[tuple[str, str | None]]) -> None:
        """Add lines that are fitted already."""
        self._lines += lines

    def width(self) -> int | None:
        """Return the columns of the terminal to fill; None for a log."""
        from pytest_evalmetrics.reports.failure_layout import width_of

        reporter = self._reporter()
        if reporter is None:
            return None
        return width_of(reporter._tw)  # noqa: SLF001 - pytest's own plugins read it so

    def _reporter(self) -> Any:
        """Return pytest's reporter; None with -p no:terminal, and in a worker."""
        return self._config.pluginmanager.get_plugin("terminalreporter")

    # -- failures ----------------------------------------------------------------------------

    def shown_failures(self) -> set[str]:
        """Name the items whose failures pytest will show."""
        reporter = self._reporter()
        if reporter is None or self._config.option.tbstyle in ("no", "line"):
            return set()
        failed = {
            report.nodeid
            for report in reporter.stats.get("failed", [])
            if getattr(report.longrepr, "failure", None) is not None
        }
        return failed - self._folded()

    def _folded(self) -> set[str]:
        """Name the items whose failures are not shown: many have the same cause."""
        results = self._results()
        if not results or self._config.option.verbose > 0:
            return set()
        from pytest_evalmetrics.reports.triage import folded

        return folded(list(results))

    @pytest.hookimpl(trylast=True)
    def pytest_warning_recorded(self, warning_message: warnings.WarningMessage) -> None:
        """Know a warning of ours among those that the terminal's reporter has taken."""
        from pytest_evalmetrics.errors import RegressionWarning

        if not issubclass(warning_message.category, RegressionWarning):
            return
        reporter = self._reporter()
        if reporter is not None:
            self._warnings.append(reporter.stats["warnings"][-1])

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
            stats.update(self._without_explained(before))
        self._failed = before.get("failed", [])
        yield
        stats.update(before)

    def _without_explained(self, stats: dict[str, list[Any]]) -> dict[str, list[Any]]:
        """Leave out the failures and warnings that the section explains."""
        kept = {}
        if "failed" in stats:
            folded = self._folded()
            kept["failed"] = [
                report for report in stats["failed"] if report.nodeid not in folded
            ]
        if "warnings" in stats:
            ours = set(map(id, self._warnings))
            kept["warnings"] = [
                warning for warning in stats["warnings"] if id(warning) not in ours
            ]
        return kept

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
        is_asked = self._config.option.reportchars != _DEFAULT_REPORT
        folded = self._folded()
        if is_asked or self._config.option.verbose > 0 or not folded:
            return list(failed)
        from pytest_evalmetrics.reports.triage import failing

        surest = failing(list(self._results()))
        kept = {result.id for result in surest[:_SUMMARISED]}
        hidden = len(folded - kept)
        if hidden:
            self.add_lines([f"{hidden} more FAILED lines: -rf"], "red")
        left_out = folded - kept
        return [report for report in failed if report.nodeid not in left_out]
