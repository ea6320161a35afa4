"""The run for CI: summary.md, annotations on GitHub, GitLab's Code Quality report."""

from __future__ import annotations

import html
import json
import os
import re
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.layout import capped, many, visible
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.reports import check_wording, run_wording, triage, wording
from pytest_evalmetrics.reports.sentences import hint_of, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pytest_evalmetrics.model.results import BenchmarkResult, Check, RunReport


class _Judged(msgspec.Struct, frozen=True):
    """A check, and the benchmark that it is of."""

    result: BenchmarkResult
    check: Check

    @property
    def line(self) -> int:
        """The line of the benchmark file that asks for it."""
        return self.check.line or self.result.line

    @property
    def name(self) -> str:
        """The benchmark, and the agent where it has several."""
        mark = " (xfail)" if self.result.xfail else ""
        agent = f" / {self.check.agent}" if self.check.agent else ""
        return f"{self.result.name}{mark}{agent}"


def _judged(report: RunReport) -> list[_Judged]:
    return [
        _Judged(result, check)
        for result in report.benchmarks
        for check in result.checks
    ]


def _strength(judged: _Judged) -> tuple[int, float, float]:
    return triage.strength(judged.check)


# -- escaping --------------------------------------------------------------------------------

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~&])")
_LIVE = re.compile(
    r"(\$|(?<!\w)@(?=\w))"
)  # GitHub's formulas and mentions: no backslash helps


def plain(text: str) -> str:
    """Escape what Markdown would interpret."""
    return _LIVE.sub(r"<span>\1</span>", _SPECIAL.sub(r"\\\1", _one_line(text)))


def _html(text: str) -> str:
    return _LIVE.sub(r"<span>\1</span>", html.escape(_one_line(text), quote=False))


def _one_line(text: str) -> str:
    return visible(" ".join(str(text).split()))


# -- summary.md ------------------------------------------------------------------------------

_SIGNS = {
    Verdict.PASS: "✅",
    Verdict.WARN: "⚠️",
    Verdict.INCONCLUSIVE: "❔",
    Verdict.FAIL: "❌",
}
# a page has to open, and GitHub drops a summary of more than 1 MiB
_PASSING_SHOWN = 50  # rows of passing metrics
_OTHERS_SHOWN = 500  # of the others
_SHOWN = 100  # skipped ones, details, changes
_TRENDS_SHOWN = 50
_LAST_VALUES = 5
_HEAD = (
    "| | benchmark | metric | value | 95 % interval | baseline | change | expected |",
    "|---|---|---|---|---|---|---|---|",
)
_TRENDS_HEAD = ("| benchmark | metric | trend | last values |", "|---|---|---|---|")


def summary(report: RunReport) -> str:
    """Write the report as Markdown, in which texts of files and rows are escaped."""
    lines = [f"## {_SIGNS[report.verdict]} Benchmarks: {report.verdict}", ""]
    lines += [run_wording.verdict_counts(report), ""]
    chance = run_wording.false_alarms(report.benchmarks)
    if chance:
        lines += [f"{chance}.", ""]
    lines += _causes(report)
    lines += _block(_HEAD, _rows(_judged(report)))
    lines += _block(["Changed since the baseline:", ""], _changes(report))
    details = [part for result in report.benchmarks for part in _details(result)]
    more = many(len(details) - _SHOWN, "more reason", "is")
    lines += capped(details, _SHOWN, f"{more} in report.json.\n")
    lines += _trends(report)
    lines += _without_result(report)
    return "\n".join(lines).rstrip() + "\n"


def _block(head: Sequence[str], lines: Sequence[str]) -> list[str]:
    return [*head, *lines, ""] if lines else []


def _causes(report: RunReport) -> list[str]:
    lines = []
    for cause in triage.triage(report.benchmarks):
        lines.append(f"- **{plain(cause.head)}**")
        lines += [f"  - {plain(text)}" for text in (cause.case, cause.command) if text]
    return [*lines, ""] if lines else []


def _changes(report: RunReport) -> list[str]:
    changes = [
        f"- {plain(result.name)}: {plain(change)}"
        for result in report.benchmarks
        for change in result.changes
    ]
    return capped(changes, _SHOWN, "- and {} more, in report.json")


def _without_result(report: RunReport) -> list[str]:
    lead = f"- {_SIGNS[Verdict.INCONCLUSIVE]} "
    lost = [f"{lead}{plain(item)} {why}" for item, why in run_wording.lost_ones(report)]
    skipped = [
        f"- {plain(item.id)} was skipped: {plain(item.reason)}"
        for item in report.skipped
    ]
    return [
        *capped(lost, _OTHERS_SHOWN, f"{lead}and {{}} more were not evaluated"),
        *capped(skipped, _SHOWN, "- and {} more were skipped"),
    ]


def _rows(checks: Sequence[_Judged]) -> list[str]:
    """Write what does not hold, then each gated metric; both up to a limit."""
    others = [each for each in checks if each.check.verdict is not Verdict.PASS]
    if len(others) > _OTHERS_SHOWN:
        others.sort(key=_strength)
    passing = [each for each in checks if _is_passing_metric(each.check)]
    return [
        *_table(others, _OTHERS_SHOWN, ""),
        *_table(passing, _PASSING_SHOWN, " that pass"),
    ]


def _is_passing_metric(check: Check) -> bool:
    is_metric = check.gate not in (Gate.EXPECT, Gate.DATA)
    return is_metric and check.verdict is Verdict.PASS


def _table(checks: Sequence[_Judged], most: int, what: str) -> list[str]:
    rows = [_row(each) for each in checks[:most]]
    return capped(rows, most, f"| | and {{}} more{what} |", len(checks))


def _row(judged: _Judged) -> str:
    check = judged.check
    estimate = check.estimate or check_wording.estimate_below(judged.result, check)
    baseline = None if check.comparison is None else check.comparison.baseline
    cells = (
        _SIGNS[check.verdict],
        plain(judged.name),
        plain(check.name),
        *check_wording.measured(check, estimate, "{} to {}"),
        wording.number(baseline),
        _change(check),
        plain(check_wording.expected(check)),
    )
    return f"| {' | '.join(cells)} |"


def _change(check: Check) -> str:
    facts = check.comparison
    if facts is None or facts.drop is None:
        return ""
    if facts.baseline is None or facts.current is None:
        return ""
    change = wording.signed(facts.current - facts.baseline)
    if facts.p_adjusted is None:
        return change
    return f"{change} (p = {facts.p_adjusted:.2g})"


def _details(result: BenchmarkResult) -> Iterator[str]:
    """Write a folded section for each check that does not hold."""
    for check in result.checks:
        passes = check.verdict is Verdict.PASS
        reason = reason_of(check)
        if not reason or (passes and not check_wording.changes_task_list(check)):
            continue
        judged = _Judged(result, check)
        lines = list(check_wording.comparison_details(check))
        hint = hint_of(check)
        if hint:
            lines.append(hint)
        lines.append(f"{result.file}, line {judged.line}")
        title = f"{_html(judged.name)}: {_html(reason)}"
        section = [
            "<details>",
            f"<summary>{_SIGNS[check.verdict]} {title}</summary>",
            "",
            *(f"- {plain(line)}" for line in lines),
            "",
            "</details>",
            "",
        ]
        yield "\n".join(section)


def _trends(report: RunReport) -> list[str]:
    """Draw the metrics over the last runs, with drifts and the reasons of accepted changes."""
    rows = []
    for result, trend in run_wording.trends_of(report):
        agent = f" / {trend.agent}" if len(result.agents) > 1 else ""
        last = ", ".join(map(wording.number, trend.values[-_LAST_VALUES:]))
        name = plain(f"{result.name}{agent}")
        drawn = wording.sparkline(trend.values)
        rows.append(f"| {name} | {plain(trend.metric)} | {drawn} | {last} |")
    if not rows:
        return []
    drift = [
        f"- {plain(text)}"
        for runs in report.history.values()
        for text in runs[-1].drift
    ]
    accepted = [
        f"- {plain(result.name)}, {run.time[:10]}: {plain(run.reason)}"
        for result in report.benchmarks
        for run in report.history.get(result.id, ())
        if run.reason
    ]
    shown = capped(rows, _TRENDS_SHOWN, "| and {} more | | | |")
    drift = capped(drift, _TRENDS_SHOWN, "- and {} more, in report.json")
    return [
        "### The last runs",
        "",
        *_TRENDS_HEAD,
        *shown,
        "",
        *_block(["**Drift:**", ""], drift),
        *_block(["Accepted changes:", ""], accepted[-_TRENDS_SHOWN:]),
    ]


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
