"""What a CI system shows of a run where it runs: GitHub's job summary and annotations."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.errors import ArtifactError
from pytest_evalmetrics.layout import visible
from pytest_evalmetrics.reports.lost import lost_ones
from pytest_evalmetrics.reports.summary import summary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["github_annotations", "in_repository", "tell_ci"]

_SHOWN = 10  # errors that GitHub shows of a step
_LEVELS = {"FAIL": "error", "INCONCLUSIVE": "error", "WARN": "warning"}


def tell_ci(
    report: Mapping[str, Any], environ: Mapping[str, str], root: Path | None = None
) -> list[str]:
    """Append the summary where the CI system wants it."""
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
    if environ.get("GITHUB_ACTIONS") != "true":
        return []
    place = partial(in_repository, root=root, repository=environ.get("GITHUB_WORKSPACE"))
    return github_annotations(report, place)


def github_annotations(report: Mapping[str, Any], place: Callable[[str], str] = str) -> list[str]:
    """Write GitHub's workflow commands: an error at the line that asks for what failed.

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
            file = place(entry["file"])
            agent = f"{check['agent']}: " if check["agent"] else ""
            found.append(
                f"::{level} file={_property(file)},line={check['line'] or entry['line']},"
                f"title={_property(title)}::{_message(agent + check['reason'])}"
            )
    for item, told in lost_ones(report)[:_SHOWN]:
        file = place(item.partition("::")[0])
        found.append(f"::error file={_property(file)}::{_message(item)} {told}")
    return sorted(found, key=lambda line: not line.startswith("::error"))


def in_repository(file: str, *, root: Path | None, repository: str | None) -> str:
    """Name a file as a CI system wants it, relative to what it checked out, if it lies there."""
    path = (root or Path()) / file
    if repository and path.exists():
        whole, top = path.resolve(), Path(repository).resolve()
        if whole.is_relative_to(top):
            return whole.relative_to(top).as_posix()
    return Path(file).as_posix()


def _message(text: str) -> str:
    # what is left of control characters would paint the log
    return visible(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
