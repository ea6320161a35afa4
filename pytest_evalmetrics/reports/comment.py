"""The comment on a pull request: the summary in a number of lines."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from msgspec import structs

from pytest_evalmetrics.layout import capped
from pytest_evalmetrics.reports import check_wording, triage
from pytest_evalmetrics.reports.judged_checks import joined_by_reason, unmet_checks
from pytest_evalmetrics.reports.markdown import paragraph, plain
from pytest_evalmetrics.reports.sentences import reason_of
from pytest_evalmetrics.reports.summary import (
    Size,
    failing_part,
    head,
    passing_part,
    without_result,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.model.results import Check, RunReport
    from pytest_evalmetrics.reports.judged_checks import JudgedCheck

_FOLD = 10  # lines of the fold, its table's head and the line for the rest


def comment(report: RunReport, most: int, page: str = "") -> str:
    """Write the report in at most so many lines, for a pull request.

    Parameters
    ----------
    report
        The run's report.
    most
        The lines, at least 20.
    page
        The address of the run's page, for links; empty without one.
    """
    size = Size(
        failing=max(3, most // 6),
        passing=0,
        reasons=max(2, most // 15),
        tasks=3,
        benchmarks_with_tasks=1,
        shared=1,
        drawn=3,
        others=2,
        trends=0,
        with_cases=False,
    )
    lines = head(report, size)
    lines += failing_part(report, size, page)
    lines += _reasons(report, size)
    lines += paragraph(without_result(report, structs.replace(size, failing=3)))
    room = most - len(lines) - _FOLD
    if room > 0:
        lines += passing_part(report, room, where="the summary of the run")
    return "\n".join(_first(lines, most)).rstrip() + "\n"


def _reasons(report: RunReport, size: Size) -> list[str]:
    """Write the reasons that no number says, and how to accept an intended change."""
    failing = triage.failing(report.benchmarks)
    lead = None
    if failing:
        lead = triage.leading(failing[0])
    unmet = [judged for judged in unmet_checks(report) if not judged.result.xfail]
    lines = []
    for judged in joined_by_reason(unmet):
        if judged.check is not lead and not _is_row(judged.check):
            lines += _reason(judged)
    lines = capped(lines, size.reasons, "- and {} more, in the summary of the run")
    if lead is not None:
        command = f"pytest {shlex.quote(failing[0].id)}"
        lines.append(f"- again: <code>{plain(command)}</code>")
    return paragraph(lines)


def _reason(judged: JudgedCheck) -> list[str]:
    reason = reason_of(judged.check)
    if not reason:
        return []
    return [f"- **{plain(judged.name)}**: {plain(reason)}"]


def _is_row(check: Check) -> bool:
    """Whether the table says why a check does not hold."""
    return check.comparison is not None or bool(check_wording.worse_slices(check))


def _first(lines: Sequence[str], most: int) -> list[str]:
    """Keep the first lines, and close the picture or the fold that they may end in."""
    if len(lines) <= most:
        return list(lines)
    kept = list(lines[: most - 1])
    for begins, ends in (("<pre>", "</pre>"), ("<details>", "</details>")):
        if kept.count(begins) > kept.count(ends):
            kept.append(ends)
    return kept
