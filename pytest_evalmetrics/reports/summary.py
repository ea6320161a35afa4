"""The run for CI: summary.md, annotations on GitHub, GitLab's Code Quality report."""

from __future__ import annotations

import json
import os
import re
from functools import partial
from hashlib import blake2b
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.errors import ArtifactError
from pytest_evalmetrics.layout import many, visible
from pytest_evalmetrics.reports.failure import better_way, comparison_details
from pytest_evalmetrics.reports.lines import false_alarms, lost_ones, number, sparkline, trends
from pytest_evalmetrics.reports.triage import strength, triage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    _Told: TypeAlias = tuple[Mapping[str, Any], Mapping[str, Any]]  # an entry, and a check of it

__all__ = ["code_quality", "github_annotations", "in_repository", "summary", "tell_ci"]


_SIGNS = {"PASS": "✅", "WARN": "⚠️", "INCONCLUSIVE": "❔", "FAIL": "❌"}
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~&])")
_LIVE = re.compile(r"(\$|(?<!\w)@(?=\w))")  # GitHub's formulas and mentions: no backslash helps
_PASSING_SHOWN = 50  # rows of passing metrics; a page has to open
_SKIPPED_SHOWN = 100
_TELLING_SHOWN = 500  # of the others; GitHub drops a summary of more than 1 MiB
_DETAILS_SHOWN = 100
_CHANGES_SHOWN = 100
_TRENDS_SHOWN = 50
_LAST_VALUES = 5


def summary(report: Mapping[str, Any]) -> str:
    """Write the summary.

    Parameters
    ----------
    report
        The report's document.

    Returns
    -------
    str
        Markdown; nothing that a benchmark's file or its rows say is interpreted.
    """
    benchmarks = report["benchmarks"]
    lost, skipped = lost_ones(report), report.get("skipped", ())
    title = f"## {_SIGNS[report['verdict']]} Benchmarks: {report['verdict']}"
    lines = [title, "", _counted(report), ""]
    chance = false_alarms(benchmarks)
    if chance:
        lines += [f"{chance}.", ""]
    groups = triage(report)
    for head, *rest in groups:
        lines += [f"- **{plain(head)}**", *(f"  - {plain(text)}" for text in rest if text)]
    lines += [""] if groups else []
    told = list(_telling(benchmarks))
    if told:
        lines += [
            "| | benchmark | metric | value | 95 % interval | baseline | change | expected |",
            "|---|---|---|---|---|---|---|---|",
            *_shown(told),
            "",
        ]
    lines += _changes(benchmarks)
    details = [text for entry in benchmarks for text in _details(entry)]
    lines += [line for text in details[:_DETAILS_SHOWN] for line in text]
    if len(details) > _DETAILS_SHOWN:
        lines += [f"{many(len(details) - _DETAILS_SHOWN, 'more reason', 'is')} in report.json.", ""]
    lines += _trends(report)
    not_evaluated = f"- {_SIGNS['INCONCLUSIVE']} "
    lines += [f"{not_evaluated}{plain(item)} {why}" for item, why in lost[:_TELLING_SHOWN]]
    if len(lost) > _TELLING_SHOWN:
        lines.append(f"{not_evaluated}and {len(lost) - _TELLING_SHOWN} more were not evaluated")
    lines += [
        f"- {plain(s['id'])} was skipped: {plain(s['reason'])}" for s in skipped[:_SKIPPED_SHOWN]
    ]
    if len(skipped) > _SKIPPED_SHOWN:
        lines.append(f"- and {len(skipped) - _SKIPPED_SHOWN} more were skipped")
    return "\n".join(lines).rstrip() + "\n"


def _counted(report: Mapping[str, Any]) -> str:
    benchmarks = report["benchmarks"]
    verdicts = [entry["verdict"] for entry in benchmarks]
    parts = [f"{verdicts.count(v)} {v}" for v in _SIGNS if v in verdicts]
    known = sum(entry["xfail"] and entry["verdict"] not in ("PASS", "WARN") for entry in benchmarks)
    if known:
        parts[-1] += f" ({known} known, by xfail)"
    others = ("not_evaluated", "skipped", "deselected")
    parts += [f"{len(report[key])} {key.replace('_', ' ')}" for key in others if report.get(key)]
    return ", ".join(parts)


def _telling(benchmarks: Sequence[Mapping[str, Any]]) -> Iterator[_Told]:
    """Yield each gated metric's check, and what else does not hold."""
    for entry in benchmarks:
        for check in entry["checks"]:
            if check["verdict"] != "PASS" or check["gate"] not in ("expect", "data"):
                yield entry, check


def _shown(told: Sequence[_Told]) -> list[str]:
    """Put what failed first, and leave out what passes beyond a page."""
    telling = [each for each in told if each[1]["verdict"] != "PASS"]
    if len(telling) > _TELLING_SHOWN:
        telling.sort(key=lambda each: strength(each[1]))
    passing = [each for each in told if each[1]["verdict"] == "PASS"]
    return [*_first(telling, _TELLING_SHOWN, ""), *_first(passing, _PASSING_SHOWN, " that pass")]


def _first(told: Sequence[_Told], most: int, what: str) -> list[str]:
    more = len(told) - most
    rows = [_row(entry, check) for entry, check in told[:most]]
    return rows + ([f"| | and {more} more{what} |"] if more > 0 else [])


def _row(entry: Mapping[str, Any], check: Mapping[str, Any]) -> str:
    known = {agent["agent"]: agent["estimates"] for agent in entry["agents"]}
    agent = check["agent"] or next(iter(known), "")
    estimate = check["estimate"] or known.get(agent, {}).get(check["name"])
    evidence = check["evidence"]
    cells = (
        _SIGNS[check["verdict"]],
        plain(_named(entry, check["agent"])),
        plain(check["name"]),
        number(estimate["value"] if estimate else check["value"]),
        _interval(estimate),
        number(evidence.get("baseline")),
        _change(evidence),
        plain(", ".join(filter(None, (check["bound"], better_way(evidence))))),
    )
    return f"| {' | '.join(cells)} |"


def _named(entry: Mapping[str, Any], agent: str) -> str:
    known = " (xfail)" if entry["xfail"] else ""
    return f"{entry['name']}{known}" + (f" / {agent}" if agent else "")


def _details(entry: Mapping[str, Any]) -> Iterator[list[str]]:
    """Yield the folded lines of each check that does not hold."""
    for check in entry["checks"]:
        told = check["verdict"] != "PASS" or check["evidence"].get("task_list")
        if not told or not check["reason"]:
            continue
        named = _html(_named(entry, check["agent"]))
        yield [
            "<details>",
            f"<summary>{_SIGNS[check['verdict']]} {named}: {_html(check['reason'])}</summary>",
            "",
            *(f"- {plain(line)}" for line in comparison_details(check["evidence"])),
            *([f"- {plain(check['hint'])}"] if check["hint"] else []),
            f"- {plain(entry['file'])}, line {plain(str(check['line'] or entry['line']))}",
            "",
            "</details>",
            "",
        ]


def _changes(benchmarks: Sequence[Mapping[str, Any]]) -> list[str]:
    """List what differs from the baselines beside the numbers."""
    found = [
        f"- {plain(entry['name'])}: {plain(text)}"
        for entry in benchmarks
        for text in entry.get("changes", ())
    ]
    more = len(found) - _CHANGES_SHOWN
    return [
        *(["Changed since the baseline:", ""] if found else []),
        *found[:_CHANGES_SHOWN],
        *([f"- and {more} more, in report.json"] if more > 0 else []),
        *([""] if found else []),
    ]


def _accepted(report: Mapping[str, Any]) -> list[str]:
    """Tell why changes within the trend were accepted."""
    lines = [
        f"- {plain(entry['name'])}, {run['time'][:10]}: {plain(run['reason'])}"
        for entry in report["benchmarks"]
        for run in report.get("history", {}).get(entry["id"], ())
        if run.get("reason")
    ]
    return ["", "Accepted changes:", "", *lines[-_TRENDS_SHOWN:]] if lines else []


def _drift(report: Mapping[str, Any]) -> list[str]:
    found = [text for runs in report["history"].values() for text in runs[-1].get("drift", ())]
    more = len(found) - _TRENDS_SHOWN
    lines = [f"- {plain(text)}" for text in found[:_TRENDS_SHOWN]]
    lines += [f"- and {more} more, in report.json"] if more > 0 else []
    return ["", "**Drift:**", "", *lines] if found else []


def _trends(report: Mapping[str, Any]) -> list[str]:
    rows = [
        f"| {plain(entry['name'] + (f' / {agent}' if agent else ''))} | {plain(name)} "
        f"| {sparkline(values)} | {', '.join(map(number, values[-_LAST_VALUES:]))} |"
        for entry, agent, name, values in trends(report)
    ]
    if not rows:
        return []
    more = len(rows) - _TRENDS_SHOWN
    return [
        "### The last runs",
        "",
        "| benchmark | metric | trend | last values |",
        "|---|---|---|---|",
        *rows[:_TRENDS_SHOWN],
        *([f"| and {more} more | | | |"] if more > 0 else []),
        *_drift(report),
        *_accepted(report),
        "",
    ]


def _interval(estimate: Mapping[str, Any] | None) -> str:
    found = estimate["interval"] if estimate else None
    return f"{number(found['low'])} to {number(found['high'])}" if found else ""


def _change(evidence: Mapping[str, Any]) -> str:
    if evidence.get("baseline") is None or evidence.get("current") is None:
        return ""
    change = evidence["current"] - evidence["baseline"]
    p = evidence.get("p_adjusted")
    sure = "" if p is None else f" (p = {p:.2g})"
    return ("+" if change > 0 else "") + number(change) + sure


def plain(text: str) -> str:
    """Escape what Markdown would interpret."""
    return _inert(_SPECIAL.sub(r"\\\1", _one_line(text)))


def _one_line(text: str) -> str:
    return visible(" ".join(str(text).split()))


def _html(text: str) -> str:
    escaped = _one_line(text)
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        escaped = escaped.replace(character, entity)
    return _inert(escaped)


def _inert(text: str) -> str:
    return _LIVE.sub(r"<span>\1</span>", text)


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
            line = (
                f"::{level} file={_property(file)},line={check['line'] or entry['line']},"
                f"title={_property(title)}::{_message(agent + check['reason'])}"
            )
            found.append((strength(check), line))
    lost = lost_ones(report)
    found.sort(key=itemgetter(0))
    lines = [line for _, line in found]
    for item, told in lost[:_SHOWN]:
        file = place(item.partition("::")[0])
        lines.append(f"::error file={_property(file)}::{_message(item)} {told}")
    capped = []
    for level in ("error", "warning"):
        mine = [line for line in lines if line.startswith(f"::{level}")]
        capped += mine[:_SHOWN]
        if len(mine) > _SHOWN:
            capped.append(f"::notice::{many(len(mine) - _SHOWN, f'more {level}')} in the summary")
    return capped


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


# info, minor, major, critical and blocker are all there are
_SEVERITIES = {"WARN": "minor", "INCONCLUSIVE": "major", "FAIL": "critical"}


def code_quality(report: Mapping[str, Any], root: Path | None = None) -> bytes:
    """Write one violation for each check that does not hold, as a JSON array."""
    repository = os.environ.get("CI_PROJECT_DIR")
    found = [*_violations(report), *_lost(report)]
    for violation in found:
        where = violation["location"]
        where["path"] = in_repository(where["path"], root=root, repository=repository)
    return json.dumps(found, indent=2, ensure_ascii=False).encode() + b"\n"


def _violations(report: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for entry in report["benchmarks"]:
        for check in entry["checks"]:
            severity = _SEVERITIES.get(check["verdict"])
            if severity is None:
                continue
            if entry["xfail"]:
                severity = "info"
            agent = f"{check['agent']}: " if check["agent"] else ""
            yield _violation(
                f"{entry['name']}: {agent}{check['reason'] or check['name']}",
                f"evalmetrics-{check['gate']}",
                # without the numbers: the same fault has to be known again in the next run
                identity=(entry["id"], check["gate"], check["name"], check["agent"]),
                severity=severity,
                place=(entry["file"], check["line"] or entry["line"]),
            )


def _lost(report: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for item, told in lost_ones(report):
        file = item.partition("::")[0]
        yield _violation(
            f"{item} {told}",
            "evalmetrics-not-evaluated",
            identity=(item,),
            severity="major",
            place=(file, 1),
        )


def _violation(
    description: str,
    name: str,
    *,
    identity: tuple[str, ...],
    severity: str,
    place: tuple[str, int],
) -> dict[str, Any]:
    digest = blake2b(json.dumps([name, *identity]).encode(), digest_size=16)
    return {
        "description": description,
        "check_name": name,
        "fingerprint": digest.hexdigest(),
        "severity": severity,
        "location": {"path": place[0], "lines": {"begin": place[1]}},
    }
