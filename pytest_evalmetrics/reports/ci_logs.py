"""What CI systems read of a run: GitHub's annotations and job summary, GitLab's Code Quality."""

from __future__ import annotations

import json
import os
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.layout import capped, many, visible
from pytest_evalmetrics.model.verdicts import Verdict
from pytest_evalmetrics.reports import check_wording, run_wording, triage
from pytest_evalmetrics.reports.judged_checks import JudgedCheck, checks_of
from pytest_evalmetrics.reports.sentences import reason_of
from pytest_evalmetrics.reports.summary import summary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_evalmetrics.model.results import RunReport


def _strength(judged: JudgedCheck) -> tuple[int, float, float]:
    return triage.strength(judged.check)


# -- GitHub ----------------------------------------------------------------------------------

_ANNOTATIONS = 10  # errors, or warnings, that GitHub shows of a step
_LEVELS = {
    Verdict.FAIL: "error",
    Verdict.INCONCLUSIVE: "error",
    Verdict.WARN: "warning",
}


def tell_ci(
    report: RunReport, environ: Mapping[str, str], root: Path | None = None
) -> list[str]:
    """Append the summary where the CI system wants it; return the annotations that it reads."""
    target = environ.get("GITHUB_STEP_SUMMARY")
    if target:
        _append(target, summary(report))
    if environ.get("GITHUB_ACTIONS") != "true":
        return []
    place = partial(
        _in_repository, root=root, repository=environ.get("GITHUB_WORKSPACE")
    )
    return github_annotations(report, place)


def _append(target: str, text: str) -> None:
    try:
        with Path(target).open("a", encoding="utf-8") as file:
            file.write(f"{text}\n")
    except OSError as error:
        message = f"the job summary can't be written: {error.strerror or error}"
        hint = "GITHUB_STEP_SUMMARY names this file"
        raise EvalMetricsError(message, file=target, hint=hint) from error


def github_annotations(
    report: RunReport, place: Callable[[str], str] = str
) -> list[str]:
    """Write GitHub's workflow commands: an error at the line of each failed gate."""
    # Of a step it shows ten errors and ten warnings, so the failing come first. See
    # https://docs.github.com/actions/reference/workflow-commands-for-github-actions
    commands: dict[str, list[str]] = {"error": [], "warning": []}
    for judged in sorted(checks_of(report), key=_strength):
        reason = reason_of(judged.check)
        is_known = judged.result.xfail
        if reason and not is_known and judged.check.verdict in _LEVELS:
            level = _LEVELS[judged.check.verdict]
            commands[level].append(_annotation(level, judged, reason, place))
    for item, why in run_wording.lost_ones(report):
        file = _property(place(item.partition("::")[0]))
        commands["error"].append(f"::error file={file}::{_message(item)} {why}")
    lines: list[str] = []
    for level, written in commands.items():
        more = many(len(written) - _ANNOTATIONS, f"more {level}")
        rest = f"::notice::{more} in the summary"
        lines += capped(written, _ANNOTATIONS, rest)
    return lines


def _annotation(
    level: str, judged: JudgedCheck, reason: str, place: Callable[[str], str]
) -> str:
    file = _property(place(judged.result.file))
    title = _property(f"{judged.result.name}: {judged.check.verdict}")
    where = f"file={file},line={judged.line},title={title}"
    text = _message(f"{check_wording.of_agent(judged.check)}{reason}")
    return f"::{level} {where}::{text}"


def _in_repository(file: str, *, root: Path | None, repository: str | None) -> str:
    """Return a file's path relative to the checkout of the CI system, if it is inside."""
    path = (root or Path()) / file
    if repository and path.exists():
        resolved = path.resolve()
        checkout = Path(repository).resolve()
        if resolved.is_relative_to(checkout):
            return resolved.relative_to(checkout).as_posix()
    return Path(file).as_posix()


def _message(text: str) -> str:
    # remaining control characters would color the log
    return visible(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")


# -- GitLab ----------------------------------------------------------------------------------

# info, minor, major, critical and blocker are all there are
_SEVERITIES = {
    Verdict.WARN: "minor",
    Verdict.INCONCLUSIVE: "major",
    Verdict.FAIL: "critical",
}


class _Lines(msgspec.Struct, frozen=True):
    begin: int


class _Location(msgspec.Struct, frozen=True):
    path: str
    lines: _Lines


class _Violation(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of GitLab's report."""

    description: str
    check_name: str
    fingerprint: str  # by which the next run recognises the same fault
    severity: str
    location: _Location


def code_quality(report: RunReport, root: Path | None = None) -> bytes:
    """Write one violation for each check that does not hold, as a JSON array."""
    place = partial(
        _in_repository, root=root, repository=os.environ.get("CI_PROJECT_DIR")
    )
    violations = [
        _violation(judged, place)
        for judged in checks_of(report)
        if judged.check.verdict in _SEVERITIES
    ]
    for item, why in run_wording.lost_ones(report):
        violations.append(_lost(item, why, place))
    data = msgspec.to_builtins(violations)
    return json.dumps(data, indent=2, ensure_ascii=False).encode() + b"\n"


def _lost(item: str, why: str, place: Callable[[str], str]) -> _Violation:
    """Describe an item that was not evaluated."""
    name = "evalmetrics-not-evaluated"
    file = item.partition("::")[0]
    return _Violation(
        description=f"{item} {why}",
        check_name=name,
        fingerprint=_fingerprint(name, item),
        severity="major",
        location=_Location(place(file), _Lines(1)),
    )


def _violation(judged: JudgedCheck, place: Callable[[str], str]) -> _Violation:
    result = judged.result
    check = judged.check
    reason = reason_of(check) or check.name
    name = f"evalmetrics-{check.gate}"
    severity = _SEVERITIES[check.verdict]
    if result.xfail:
        severity = "info"
    return _Violation(
        description=f"{result.name}: {check_wording.of_agent(check)}{reason}",
        check_name=name,
        # without the numbers: the next run has to recognise the same fault
        fingerprint=_fingerprint(
            name, result.id, str(check.gate), check.name, check.agent
        ),
        severity=severity,
        location=_Location(place(result.file), _Lines(judged.line)),
    )


def _fingerprint(*identity: str) -> str:
    text = json.dumps(identity)
    return blake2b(text.encode(), digest_size=16).hexdigest()
