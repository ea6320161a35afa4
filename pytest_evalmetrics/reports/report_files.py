"""The built-in reporters, each named as its file: importing this registers them."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

from pytest_evalmetrics import register_reporter
from pytest_evalmetrics.reports.payload import GROUPS_FILE
from pytest_evalmetrics.reports.reporters import KeptReporter
from pytest_evalmetrics.reports.summary import code_quality, summary

if TYPE_CHECKING:
    from collections.abc import Callable

    _Files: TypeAlias = dict[str, Callable[[BinaryIO], object]]

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
class _AggregateMetrics(KeptReporter):
    """NeMo Gym's array: one entry per benchmark and agent, with one entry per task."""

    def files(self) -> _Files:
        return {"aggregate_metrics.json": partial(self._kept.write_array, "aggregate")}


@register_reporter(GROUPS_FILE)
class _GroupLevelMetrics(KeptReporter):
    """The entries per task of benchmarks with more than 100,000 of them."""

    def is_wanted(self) -> bool:
        return bool(self._kept.ids("groups"))

    def files(self) -> _Files:
        return {GROUPS_FILE: partial(self._kept.write_array, "groups")}


@register_reporter("report.json")
class _Report(KeptReporter):
    """Every check with its evidence, every estimate, and the scores of each task."""

    def files(self) -> _Files:
        return {"report.json": lambda file: self._kept.write_report(file, self._report)}


@register_reporter("summary.md")
class _Summary(KeptReporter):
    """The run for the reviewer of a pull request, in Markdown."""

    def files(self) -> _Files:
        return {"summary.md": lambda file: file.write(summary(self._report).encode())}


@register_reporter("report.html")
class _Page(KeptReporter):
    """The run as a page to look into, in one file."""

    def files(self) -> _Files:
        return {"report.html": lambda file: self._kept.write_page(file, self._report)}


@register_reporter("row_scores.jsonl")
class _RowScoresFile(KeptReporter):
    """What scorers gave to each row, and what was asked for it; of scored benchmarks."""

    def is_wanted(self) -> bool:
        return bool(self._kept.ids("row_scores"))

    def files(self) -> _Files:
        scored = self._kept.ids("row_scores")
        return {"row_scores.jsonl": partial(self._kept.write_lines, "row_scores", scored)}


@register_reporter("rollouts.jsonl")
class _Rollouts(KeptReporter):
    """What was generated, to be read as ``rollouts:``; one file for each benchmark."""

    def files(self) -> _Files:
        generated = self._kept.ids("rollouts")
        write = self._kept.write_lines
        if len(generated) == 1:
            return {"rollouts.jsonl": partial(write, "rollouts", generated)}
        files: _Files = {}
        for benchmark in generated:
            name = re.sub(r"[^\w.-]+", "-", benchmark.replace("::", "_")).strip("-")
            files[f"rollouts/{name}.jsonl"] = partial(write, "rollouts", [benchmark])
        return files


@register_reporter("gl-code-quality-report.json")
class _CodeQuality(KeptReporter):
    """What failed, for GitLab's Code Quality; by default only where GITLAB_CI is set."""

    def is_wanted(self) -> bool:
        return bool(self._environ.get("GITLAB_CI"))

    def files(self) -> _Files:
        violations = partial(code_quality, self._report, self._kept.root)
        return {"gl-code-quality-report.json": lambda file: file.write(violations())}
