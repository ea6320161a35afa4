"""The run for CI: summary.md, annotations on GitHub, GitLab's Code Quality report."""

from __future__ import annotations

import html
import json
import os
import re
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics import EvalMetricsError
from pytest_evalmetrics.layout import capped, many, visible
from pytest_evalmetrics.reports import wording

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    EntryCheck = tuple[
        Mapping[str, Any], Mapping[str, Any]
    ]  # a benchmark, a check of it

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

_SIGNS = {"PASS": "✅", "WARN": "⚠️", "INCONCLUSIVE": "❔", "FAIL": "❌"}
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


def summary(report: Mapping[str, Any]) -> str:
    """Write the report as Markdown, in which texts of files and rows are escaped."""
    benchmarks = report["benchmarks"]
    lines = [f"## {_SIGNS[report['verdict']]} Benchmarks: {report['verdict']}", ""]
    lines += [wording.verdict_counts(report), ""]
    if chance := wording.false_alarms(benchmarks):
        lines += [f"{chance}.", ""]
    causes = wording.triage(report)
    for head, *rest in causes:
        lines += [
            f"- **{plain(head)}**",
            *(f"  - {plain(text)}" for text in rest if text),
        ]
    lines += [""] if causes else []
    lines += _block(
        _HEAD, _rows([(e, check) for e in benchmarks for check in e["checks"]])
    )
    changes = [
        f"- {plain(e['name'])}: {plain(c)}"
        for e in benchmarks
        for c in e.get("changes", ())
    ]
    changes = capped(changes, _SHOWN, "- and {} more, in report.json")
    lines += _block(["Changed since the baseline:", ""], changes)
    details = [part for entry in benchmarks for part in _details(entry)]
    more = many(len(details) - _SHOWN, "more reason", "is")
    lines += capped(details, _SHOWN, f"{more} in report.json.\n")
    lines += _trends(report)
    lead = f"- {_SIGNS['INCONCLUSIVE']} "
    lost = [f"{lead}{plain(item)} {why}" for item, why in wording.lost_ones(report)]
    lines += capped(lost, _OTHERS_SHOWN, f"{lead}and {{}} more were not evaluated")
    skipped = [
        f"- {plain(s['id'])} was skipped: {plain(s['reason'])}"
        for s in report.get("skipped", ())
    ]
    lines += capped(skipped, _SHOWN, "- and {} more were skipped")
    return "\n".join(lines).rstrip() + "\n"


def _block(head: Sequence[str], lines: Sequence[str]) -> list[str]:
    return [*head, *lines, ""] if lines else []


def _rows(checks: list[EntryCheck]) -> list[str]:
    """Write what does not hold, then each gated metric; both up to a limit."""
    others = [pair for pair in checks if pair[1]["verdict"] != "PASS"]
    if len(others) > _OTHERS_SHOWN:
        others.sort(key=lambda pair: wording.strength(pair[1]))
    passing = [
        (entry, check)
        for entry, check in checks
        if check["verdict"] == "PASS" and check["gate"] not in ("expect", "data")
    ]
    lines = []
    for pairs, most, what in (
        (others, _OTHERS_SHOWN, ""),
        (passing, _PASSING_SHOWN, " that pass"),
    ):
        rows = [_row(*pair) for pair in pairs[:most]]
        lines += capped(rows, most, f"| | and {{}} more{what} |", len(pairs))
    return lines


def _row(entry: Mapping[str, Any], check: Mapping[str, Any]) -> str:
    estimate = check["estimate"] or wording.estimate_below(entry, check)
    evidence = check["evidence"]
    was, now, p = (evidence.get(key) for key in ("baseline", "current", "p_adjusted"))
    change = "" if was is None or now is None else wording.signed(now - was)
    cells = (
        _SIGNS[check["verdict"]],
        plain(_named(entry, check)),
        plain(check["name"]),
        *wording.measured(check, estimate, "{} to {}"),
        wording.number(was),
        f"{change} (p = {p:.2g})" if change and p is not None else change,
        plain(wording.expected(check)),
    )
    return f"| {' | '.join(cells)} |"


def _named(entry: Mapping[str, Any], check: Mapping[str, Any]) -> str:
    mark = " (xfail)" if entry["xfail"] else ""
    return f"{entry['name']}{mark}" + (f" / {check['agent']}" if check["agent"] else "")


def _details(entry: Mapping[str, Any]) -> Iterator[str]:
    """Write a folded section for each check that does not hold."""
    for check in entry["checks"]:
        shown = check["verdict"] != "PASS" or check["evidence"].get("task_list")
        if not shown or not check["reason"]:
            continue
        lines = [
            *wording.comparison_details(check["evidence"]),
            *filter(None, [check["hint"]]),
        ]
        lines.append(f"{entry['file']}, line {check['line'] or entry['line']}")
        title = f"{_html(_named(entry, check))}: {_html(check['reason'])}"
        sign = _SIGNS[check["verdict"]]
        opening = ["<details>", f"<summary>{sign} {title}</summary>", ""]
        yield "\n".join(
            [*opening, *(f"- {plain(x)}" for x in lines), "", "</details>", ""]
        )


def _trends(report: Mapping[str, Any]) -> list[str]:
    """Draw the metrics over the last runs, with drifts and the reasons of accepted changes."""
    rows = [
        f"| {plain(entry['name'] + (f' / {agent}' if agent else ''))} | {plain(name)} "
        f"| {wording.sparkline(values)} | "
        f"{', '.join(map(wording.number, values[-_LAST_VALUES:]))} |"
        for entry, agent, name, values in wording.trends(report)
    ]
    if not rows:
        return []
    runs = report["history"]
    drift = [
        f"- {plain(text)}"
        for last in runs.values()
        for text in last[-1].get("drift", ())
    ]
    drift = capped(drift, _TRENDS_SHOWN, "- and {} more, in report.json")
    accepted = [
        f"- {plain(entry['name'])}, {run['time'][:10]}: {plain(run['reason'])}"
        for entry in report["benchmarks"]
        for run in runs.get(entry["id"], ())
        if run.get("reason")
    ]
    return [
        *("### The last runs", "", *_TRENDS_HEAD),
        *(*capped(rows, _TRENDS_SHOWN, "| and {} more | | | |"), ""),
        *_block(["**Drift:**", ""], drift),
        *_block(["Accepted changes:", ""], accepted[-_TRENDS_SHOWN:]),
    ]


# -- GitHub ----------------------------------------------------------------------------------

_ANNOTATIONS = 10  # errors, or warnings, that GitHub shows of a step
_LEVELS = {"FAIL": "error", "INCONCLUSIVE": "error", "WARN": "warning"}


def tell_ci(
    report: Mapping[str, Any], environ: Mapping[str, str], root: Path | None = None
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
    report: Mapping[str, Any], place: Callable[[str], str] = str
) -> list[str]:
    """Write GitHub's workflow commands: an error at the line of each failed gate."""
    # Of a step it shows ten errors and ten warnings, so the failing come first. See
    # https://docs.github.com/actions/reference/workflow-commands-for-github-actions
    failing = [
        (entry, check)
        for entry in report["benchmarks"]
        for check in entry["checks"]
        if check["verdict"] in _LEVELS and check["reason"] and not entry["xfail"]
    ]
    by_level: dict[str, list[str]] = {"error": [], "warning": []}
    for entry, check in sorted(failing, key=lambda pair: wording.strength(pair[1])):
        level, title = _LEVELS[check["verdict"]], f"{entry['name']}: {check['verdict']}"
        file, line = _property(place(entry["file"])), check["line"] or entry["line"]
        text = _message(wording.of_agent(check) + check["reason"])
        by_level[level].append(
            f"::{level} file={file},line={line},title={_property(title)}::{text}"
        )
    for item, why in wording.lost_ones(report):
        file = _property(place(item.partition("::")[0]))
        by_level["error"].append(f"::error file={file}::{_message(item)} {why}")
    lines = []
    for level, commands in by_level.items():
        more = many(len(commands) - _ANNOTATIONS, f"more {level}")
        lines += capped(commands, _ANNOTATIONS, f"::notice::{more} in the summary")
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
_SEVERITIES = {"WARN": "minor", "INCONCLUSIVE": "major", "FAIL": "critical"}


def code_quality(report: Mapping[str, Any], root: Path | None = None) -> bytes:
    """Write one violation for each check that does not hold, as a JSON array."""
    place = partial(
        _in_repository, root=root, repository=os.environ.get("CI_PROJECT_DIR")
    )

    def violation(
        text: str,
        kind: str,
        identity: Sequence[str],
        severity: str,
        where: tuple[str, int],
    ) -> dict[str, Any]:
        name = f"evalmetrics-{kind}"
        digest = blake2b(json.dumps([name, *identity]).encode(), digest_size=16)
        return {
            "description": text,
            "check_name": name,
            "fingerprint": digest.hexdigest(),
            "severity": severity,
            "location": {"path": place(where[0]), "lines": {"begin": where[1]}},
        }

    violations = []
    for entry in report["benchmarks"]:
        for check in (
            check for check in entry["checks"] if check["verdict"] in _SEVERITIES
        ):
            severity = "info" if entry["xfail"] else _SEVERITIES[check["verdict"]]
            text = f"{entry['name']}: {wording.of_agent(check)}{check['reason'] or check['name']}"
            # without the numbers: the next run has to recognise the same fault
            identity = [entry["id"], check["gate"], check["name"], check["agent"]]
            where = entry["file"], check["line"] or entry["line"]
            violations.append(violation(text, check["gate"], identity, severity, where))
    for item, why in wording.lost_ones(report):
        where = item.partition("::")[0], 1
        violations.append(
            violation(f"{item} {why}", "not-evaluated", [item], "major", where)
        )
    return json.dumps(violations, indent=2, ensure_ascii=False).encode() + b"\n"
