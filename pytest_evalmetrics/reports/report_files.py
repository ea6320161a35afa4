"""The reporters that come with the package: importing this registers them.

Each is named as its file is. A new one is a class here or in a file of its own, a line of
registration, and a test file.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, BinaryIO

from pytest_evalmetrics import register_reporter
from pytest_evalmetrics.reports.payload import GROUPS_FILE
from pytest_evalmetrics.reports.reporters import KeptReporter
from pytest_evalmetrics.reports.summary import code_quality, summary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_evalmetrics.reports.reporters import Artifacts

__all__ = ["BUILTIN"]

BUILTIN = (  # in the order in which they are written
    "aggregate_metrics.json",
    GROUPS_FILE,
    "report.json",
    "summary.md",
    "report.html",
    "row_scores.jsonl",
    "rollouts.jsonl",
    "gl-code-quality-report.json",
)


@register_reporter("aggregate_metrics.json")
class AggregateMetrics(KeptReporter):
    """NeMo Gym's array: one entry per benchmark and agent, with one entry per task."""

    suffix = "aggregate_metrics.json"

    def write_kept(self, file: BinaryIO, kept: Artifacts, report: Mapping[str, Any]) -> None:
        """Write the file."""
        del report
        kept.write_aggregates(file)


@register_reporter(GROUPS_FILE)
class GroupLevelMetrics(KeptReporter):
    """The entries per task of benchmarks with more than 100,000 of them."""

    suffix = GROUPS_FILE

    def wanted(self, kept: Artifacts, environ: Mapping[str, str]) -> bool:
        """Only where a benchmark has so many."""
        del environ
        return kept.has_groups

    def write_kept(self, file: BinaryIO, kept: Artifacts, report: Mapping[str, Any]) -> None:
        """Write the file."""
        del report
        kept.write_aggregates(file, groups=True)


@register_reporter("report.json")
class Report(KeptReporter):
    """Every check with its evidence, every estimate, and the scores of each task."""

    suffix = "report.json"

    def write_kept(self, file: BinaryIO, kept: Artifacts, report: Mapping[str, Any]) -> None:
        """Write the file."""
        kept.write_report(file, report)


@register_reporter("summary.md")
class Summary(KeptReporter):
    """The run for the reviewer of a pull request, in Markdown."""

    suffix = "summary.md"

    def write_kept(self, file: BinaryIO, kept: Artifacts, report: Mapping[str, Any]) -> None:
        """Write the file."""
        del kept
        file.write(summary(report).encode())


@register_reporter("report.html")
class Page(KeptReporter):
    """The run as a page to look into, in one file."""

    suffix = "report.html"

    def write_kept(self, file: BinaryIO, kept: Artifacts, report: Mapping[str, Any]) -> None:
        """Write the file."""
        kept.write_page(file, report)


@register_reporter("row_scores.jsonl")
class RowScoresFile(KeptReporter):
    """What scorers gave to each row, and what was asked for it; of scored benchmarks."""

    suffix = "row_scores.jsonl"

    def wanted(self, kept: Artifacts, environ: Mapping[str, str]) -> bool:
        """Only where a benchmark has scorers."""
        del environ
        return kept.has_row_scores

    def write_kept(self, file: BinaryIO, kept: Artifacts, report: Mapping[str, Any]) -> None:
        """Write the file."""
        del report
        kept.write_row_scores(file)


@register_reporter("rollouts.jsonl")
class Rollouts(KeptReporter):
    """What was generated, to be read as ``rollouts:``; one file for each benchmark."""

    suffix = "rollouts.jsonl"

    def __init__(self, benchmark: str = "", *, several: bool = False) -> None:
        self._benchmark = benchmark
        if several:
            named = re.sub(r"[^\w.-]+", "-", benchmark.replace("::", "_")).strip("-")
            self.suffix = f"rollouts/{named}.jsonl"

    def wanted(self, kept: Artifacts, environ: Mapping[str, str]) -> bool:
        """Only where something was generated."""
        del environ
        return bool(kept.with_rollouts)

    def files(self, kept: Artifacts) -> Sequence[KeptReporter]:
        """Give one for each benchmark with rollouts of its own."""
        found = kept.with_rollouts
        return [Rollouts(benchmark, several=len(found) > 1) for benchmark in found]

    def write_kept(self, file: BinaryIO, kept: Artifacts, report: Mapping[str, Any]) -> None:
        """Write the file."""
        del report
        kept.write_rollouts(self._benchmark, file)


@register_reporter("gl-code-quality-report.json")
class CodeQuality(KeptReporter):
    """What failed, for GitLab's Code Quality; by default only where GITLAB_CI is set."""

    suffix = "gl-code-quality-report.json"

    def wanted(self, kept: Artifacts, environ: Mapping[str, str]) -> bool:
        """Only on GitLab."""
        del kept
        return bool(environ.get("GITLAB_CI"))

    def write_kept(self, file: BinaryIO, kept: Artifacts, report: Mapping[str, Any]) -> None:
        """Write the file."""
        file.write(code_quality(report, kept.root))
