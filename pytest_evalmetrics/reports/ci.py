"""What a CI system shows of a run where it runs: GitHub's job summary and annotations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.errors import ArtifactError
from pytest_evalmetrics.reports.summary import summary

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["github_annotations", "tell_ci"]

_LEVELS = {"FAIL": "error", "INCONCLUSIVE": "error", "WARN": "warning"}


def tell_ci(report: Mapping[str, Any], environ: Mapping[str, str]) -> list[str]:
    """Append the summary where the CI system wants it.

    Parameters
    ----------
    report
        The report's document.
    environ
        The environment: ``GITHUB_STEP_SUMMARY`` names the file, ``GITHUB_ACTIONS`` says that
        the log is GitHub's.

    Returns
    -------
    list of str
        Lines for the log that the CI system reads.

    Raises
    ------
    ArtifactError
        If the file can't be written.
    """
    target = environ.get("GITHUB_STEP_SUMMARY")
    if target:
        try:
            with Path(target).open("a", encoding="utf-8") as file:
                file.write(summary(report) + "\n")
        except OSError as error:
            raise ArtifactError(
                f"the job summary can't be written: {error.strerror or error}",
                file=target,
                hint="GITHUB_STEP_SUMMARY names this file",
            ) from error
    return github_annotations(report) if environ.get("GITHUB_ACTIONS") == "true" else []


def github_annotations(report: Mapping[str, Any]) -> list[str]:
    """Write GitHub's workflow commands: an error at the line that asks for what failed.

    Parameters
    ----------
    report
        The report's document.

    Notes
    -----
    GitHub shows at most ten errors and ten warnings of a step, so the failing come first:
    https://docs.github.com/actions/reference/workflow-commands-for-github-actions
    """
    found = []
    for entry in report["benchmarks"]:
        for check in entry["checks"]:
            level = _LEVELS.get(check["verdict"])
            if level is None or entry["xfail"] or not check["reason"]:
                continue
            title = f"{entry['name']}: {check['verdict']}"
            found.append(
                f"::{level} file={_property(entry['file'])},line={check['line'] or entry['line']},"
                f"title={_property(title)}::{_message(check['reason'])}"
            )
    return sorted(found, key=lambda line: not line.startswith("::error"))


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
