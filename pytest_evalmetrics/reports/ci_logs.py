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
from pytest_evalmetrics.reports.sentences import reason_of
from pytest_evalmetrics.reports.summary import summary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_evalmetrics.model.results import BenchmarkResult, Check, RunReport


class _Judged(msgspec.Struct, frozen=True):
    """A check, and the benchmark that it is of."""

    result: BenchmarkResult
    check: Check

    @property
    def line(self) -> int:
        """The line of the benchmark file that asks for it."""
        return self.check.line or self.result.line


def _judged(report: RunReport) -> list[_Judged]:
    return [
        _Judged(result, check)
        for result in report.benchmarks
        for check in result.checks
    ]


def _strength(judged: _Judged) -> tuple[int, float, float]:
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
        try:
            with Path(target).open("a", encoding="utf-8") as file:
                file.write(summary(report) + "\n")
        except OSError as error:
            message = f"the job summary can't be written: {error.strerror or error}"
            hint = "GITHUB_STEP_SUMMARY names this file"
            raise EvalMetricsError(message, file=target, hint=hint) from error
    if environ.get("GITHUB_ACTIONS") != "true":
        return []
    place = partial(
        _in_repository, root=root, repository=environ.get("GITHUB_WORKSPACE")
    )
    return github_annotations(report, place)


def github_annotations(
    report: RunReport, place: Callable[[str], str] = str
) -> list[str]:
    """Write GitHub's workflow commands: an error at the line of each failed gate."""
    # Of a step it shows ten errors and ten warnings, so the failing come first. See
    # https://docs.github.com/actions/reference/workflow-commands-for-github-actions
    commands: dict[str, list[str]] = {"error": [], "warning": []}
    for judged in sorted(_judged(report), key=_strength):
        check = judged.check
        reason = reason_of(check)
        if check.verdict not in _LEVELS or not reason or judged.result.xfail:
            continue
        level = _LEVELS[check.verdict]
        file = _property(place(judged.result.file))
        title = _property(f"{judged.result.name}: {check.verdict}")
        text = _message(f"{check_wording.of_agent(check)}{reason}")
        where = f"file={file},line={judged.line},title={title}"
        commands[level].append(f"::{level} {where}::{text}")
    for item, why in run_wording.lost_ones(report):
        file = _property(place(item.partition("::")[0]))
        commands["error"].append(f"::error file={file}::{_message(item)} {why}")
    lines = []
    for level, of_level in commands.items():
        more = many(len(of_level) - _ANNOTATIONS, f"more {level}")
        lines += capped(of_level, _ANNOTATIONS, f"::notice::{more} in the summary")
    return lines


def _in_repository(file: str, *, root: Path | None, repository: str | None) -> str:
    """Return a file's path relative to the checkout of the CI system, if it is inside."""
    path = (root or Path()) / file
    if repository and path.exists():
        resolved, top = path.resolve(), Path(repository).resolve()
        if resolved.is_relative_to(top):
            return resolved.relative_to(top).as_posix()
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
        for judged in _judged(report)
        if judged.check.verdict in _SEVERITIES
    ]
    for item, why in run_wording.lost_ones(report):
        name = "evalmetrics-not-evaluated"
        lost = _Violation(
            description=f"{item} {why}",
            check_name=name,
            fingerprint=_fingerprint(name, item),
            severity="major",
            location=_Location(place(item.partition("::")[0]), _Lines(1)),
        )
        violations.append(lost)
    data = msgspec.to_builtins(violations)
    return json.dumps(data, indent=2, ensure_ascii=False).encode() + b"\n"


def _violation(judged: _Judged, place: Callable[[str], str]) -> _Violation:
    result = judged.result
    check = judged.check
    text = reason_of(check) or check.name
    name = f"evalmetrics-{check.gate}"
    return _Violation(
        description=f"{result.name}: {check_wording.of_agent(check)}{text}",
        check_name=name,
        # without the numbers: the next run has to recognise the same fault
        fingerprint=_fingerprint(
            name, result.id, str(check.gate), check.name, check.agent
        ),
        severity="info" if result.xfail else _SEVERITIES[check.verdict],
        location=_Location(place(result.file), _Lines(judged.line)),
    )


def _fingerprint(*identity: str) -> str:
    text = json.dumps(identity)
    return blake2b(text.encode(), digest_size=16).hexdigest()
