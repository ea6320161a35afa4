"""report.html: one file that opens without a network and interprets nothing of a row."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass, field
from importlib import resources
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import msgspec

from pytest_evalmetrics.reports.failure import comparison_details
from pytest_evalmetrics.reports.html.picture import first
from pytest_evalmetrics.reports.lines import (
    broken_off,
    change_of,
    expected,
    false_alarms,
    of_agent,
    p_value,
    recorded_lines,
    trends,
)
from pytest_evalmetrics.reports.triage import triage
from pytest_evalmetrics.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pytest_evalmetrics.reports.payload import Artifacts

    Entry = Mapping[str, Any]
    Metrics = Sequence[Mapping[str, Any]]

# in JSON these stand in strings only, where an escape means the same
_ESCAPED = (
    (b"&", b"\\u0026"),
    (b"<", b"\\u003c"),
    (b">", b"\\u003e"),
    (b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xe2\x80\xa9", b"\\u2029"),
)


def as_data(value: Any) -> bytes:
    """Write builtins as JSON for a ``<script type="application/json">``."""
    data = msgspec.json.encode(value)
    for character, escape in _ESCAPED:
        data = data.replace(character, escape)
    return data


# -- the metrics of a benchmark --------------------------------------------------------------

_BOUND = re.compile(r"(>=|<=) (\S+)")
_SEVERITY = {"FAIL": 0, "INCONCLUSIVE": 1, "WARN": 2, "PASS": 3, "": 4}


def metrics_of(entry: Entry) -> list[dict[str, Any]]:
    """List a benchmark's metrics, the gated ones first."""
    rows = [_metric(a["agent"], e, a["key_metrics"]) for a in entry["agents"] for e in _known(a)]
    by_name = {(row["agent"], row["name"]): row for row in rows}
    for check in entry["checks"]:
        row = by_name.get((_agent(entry, check), check["name"]))
        if row is not None and check["gate"] in ("threshold", "baseline"):
            _add_check(row, check)
    return sorted(rows, key=lambda row: (not row["verdict"], not row["key"]))


def _agent(entry: Entry, check: Mapping[str, Any]) -> str:
    """Return whom a check concerns, where its name is left out for the only one."""
    agents: Sequence[Mapping[str, str]] = entry["agents"]
    return agents[0]["agent"] if len(agents) == 1 and not check["agent"] else check["agent"]


def _known(agent: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the estimates, each once, and the key metrics that have none."""
    estimates = {estimate["name"]: estimate for estimate in agent["estimates"].values()}
    yield from estimates.values()
    for name, value in agent["key_metrics"].items():
        if name not in estimates:
            yield {"name": name, "value": value, "interval": None, "tasks": None}


def _metric(agent: str, estimate: Mapping[str, Any], keys: Mapping[str, Any]) -> dict[str, Any]:
    interval = estimate["interval"] or {}
    return {
        "agent": agent,
        "name": estimate["name"],
        "key": estimate["name"] in keys,
        "value": estimate["value"],
        **{key: interval.get(key) for key in ("low", "high", "level")},
        "method": interval.get("method", ""),
        "unsure": estimate.get("reason", ""),
        "tasks": estimate["tasks"],
        "verdict": "",
        "bounds": [],
        "limits": [],
        "baseline": None,
        "change": None,
        "less": False,
        "p": None,
    }


def _add_check(row: dict[str, Any], check: Mapping[str, Any]) -> None:
    row["verdict"] = min(row["verdict"], check["verdict"], key=_SEVERITY.__getitem__)
    evidence = check["evidence"]
    row["bounds"] += [expected(check)] if check["bound"] else []
    if check["gate"] == "threshold":
        row["limits"] += [
            {"side": side, "at": float(at)} for side, at in _BOUND.findall(check["bound"])
        ]
        return
    less, allowed = evidence.get("direction") == "lower", evidence.get("allowed_drop")
    change = change_of(evidence)
    row |= {
        "baseline": evidence.get("baseline"),
        "p": p_value(evidence),
        "less": less,
        "change": None if change[0] is None else change,
    }
    if allowed is not None and row["baseline"] is not None:
        at = row["baseline"] + (allowed if less else -allowed)
        row["limits"].append({"side": "<=" if less else ">=", "at": at})


# -- a benchmark in one row of the overview --------------------------------------------------

_REASON = 300  # characters
_COLUMNS = 20  # agents of the matrix


def in_order(entries: Sequence[Entry]) -> list[Entry]:
    """Put what failed first, and what was known to fail behind what was not."""
    return sorted(entries, key=lambda e: (e["xfail"], _SEVERITY[e["verdict"]], e["id"]))


def overview(entry: Entry, metrics: Metrics) -> dict[str, Any]:
    """Sum a benchmark up in one row: its verdict, its telling metric, why it failed."""
    telling = min(
        metrics,
        key=lambda m: (_SEVERITY[m["verdict"]], not m["key"], m["name"].startswith("mean/")),
        default=None,
    )
    failing = [c for c in entry["checks"] if c["verdict"] == entry["verdict"] != "PASS"]
    several = len(entry["agents"]) > 1
    reasons = [(of_agent(c) if several else "") + c["reason"] for c in failing]
    values = {m["agent"]: m["value"] for m in metrics if telling and m["name"] == telling["name"]}
    verdicts = _verdicts(entry)
    return {
        **{key: entry[key] for key in ("id", "name", "file", "verdict", "xfail")},
        "agents": len(entry["agents"]),
        **{key: sum(a[key] for a in entry["agents"]) for key in ("tasks", "rollouts", "missing")},
        "metric": telling,
        "reason": reasons[0][:_REASON] if reasons else "",
        "reasons": len(failing),
        "by_agent": {
            agent: [verdict, values.get(agent)]
            for agent, verdict in [*verdicts.items()][: _COLUMNS if several else 0]
        },
    }


def _verdicts(entry: Entry) -> dict[str, str]:
    """Give each agent's worst verdict, empty without any; those that fail come first."""
    verdicts: dict[str, str] = {agent["agent"]: "" for agent in entry["agents"]}
    for check in entry["checks"]:
        if (agent := _agent(entry, check)) in verdicts:
            pair = verdicts[agent], check["verdict"]
            verdicts[agent] = min(pair, key=_SEVERITY.__getitem__)
    return dict(sorted(verdicts.items(), key=lambda item: _SEVERITY[item[1]]))


# -- a benchmark's page, but for its tasks ---------------------------------------------------

_TEXT = 2_000  # characters
_SHOWN, _SHORT = (200, 400, 50, 100), (8, 4, 2, 2)  # metrics, checks, notes, files
_LONG = ("flips", "judges", "judge_checks", "failed_rows", "recorded")  # not on a short page
_RUNS, _LINES = 60, 8  # of the history


def about(
    entry: Entry, metrics: Metrics, runs: Sequence[Mapping[str, Any]] = (), *, short: bool = False
) -> dict[str, Any]:
    """Describe a benchmark but for its tasks; `short` gives why it fails, and little more."""
    metrics_shown, checks_shown, notes_shown, files_shown = _SHORT if short else _SHOWN
    by_name = {agent["agent"]: agent for agent in entry["agents"]}
    agents = [by_name[name] for name in _verdicts(entry)]
    if short:
        checks = sorted(entry["checks"], key=lambda check: _SEVERITY[check["verdict"]])
        entry = {**entry, **dict.fromkeys(_LONG, ()), "checks": checks}
    notes = [*(f"changed: {change}" for change in entry.get("changes", ())), *entry["notes"]]
    return {
        "description": entry["description"][:_TEXT],
        "line": entry["line"],
        "agents": [
            {k: agent[k] for k in ("agent", "tasks", "rollouts", "missing")} for agent in agents
        ],
        "metrics": metrics[:metrics_shown],
        "more_metrics": max(0, len(metrics) - metrics_shown),
        "checks": [_check(entry, check) for check in entry["checks"][:checks_shown]],
        "notes": [note[:_TEXT] for note in notes[:notes_shown]],
        "sources": entry["sources"][:files_shown],
        "more_sources": max(0, len(entry["sources"]) - files_shown),
        **{key: entry.get(key, ()) for key in ("flips", "judges", "judge_checks")},
        "failures": [_failures(failures) for failures in entry["failed_rows"]],
        "history": {} if short else history_of(entry, runs, metrics),
        "agreements": [
            {"agent": agent["agent"], "score": score["name"], **score["agreement"]}
            for agent in agents
            for score in agent["scores"]
            if score.get("agreement") and not short
        ],
        "recorded": recorded_lines(entry["recorded"]),
        "short": short,
    }


def _check(entry: Entry, check: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{key: check[key] for key in ("gate", "name", "agent", "verdict", "value", "bound")},
        "reason": check["reason"][:_TEXT],
        "hint": check["hint"][:_TEXT],
        "line": check["line"] or entry["line"],
        "details": [line[:_TEXT] for line in comparison_details(check["evidence"])],
    }


def _failures(failures: Mapping[str, Any]) -> dict[str, Any]:
    """Describe the rows that a scorer could not score, by kind."""
    kinds = []
    for kind, count in failures["kinds"].items():
        rows = [row for row in failures["first"] if row["kind"] == kind]
        if not rows and (example := failures.get("examples", {}).get(kind)):
            rows = [example]  # of a rare kind
        shown = [{key: row[key][:_TEXT] for key in ("row", "reason", "hint")} for row in rows]
        kinds.append({"kind": kind, "count": count, "rows": shown})
    return {**{key: failures[key] for key in ("scorer", "scores", "count")}, "kinds": kinds}


def history_of(
    entry: Entry, runs: Sequence[Mapping[str, Any]], metrics: Metrics = ()
) -> dict[str, Any]:
    """Describe the gated metrics over the last runs, with their intervals and baselines."""
    runs = runs[-_RUNS:]
    baselines = {(m["agent"], m["name"]): m["baseline"] for m in metrics}
    lines = []
    for _, shown, metric, _ in trends({"benchmarks": [entry], "history": {entry["id"]: runs}}):
        agent = shown or entry["agents"][0]["agent"]
        points = [run["agents"].get(agent, {}).get(metric) or {} for run in runs]
        columns = {f"{key}s": [p.get(key) for p in points] for key in ("value", "low", "high")}
        baseline = baselines.get((agent, metric))
        lines.append({"agent": shown, "metric": metric, "baseline": baseline, **columns})
    if not lines:
        return {}
    kept = ("time", "commit", "verdict", "reason", "url", "href", "drift")
    shown_runs = [{key: run[key] for key in kept if run.get(key)} for run in runs]
    return {"runs": shown_runs, "lines": lines[:_LINES]}


# -- the tasks of a benchmark, written where it is evaluated ---------------------------------

_TASKS = 1_500_000  # bytes of one benchmark's tasks
_BRIEF = 50  # tasks
_SPARE = 0.9  # the tasks that are left may be longer than those that are not


def page_texts(pictures: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Write all tasks summed up, as many of them as a page shows, and the most telling ones."""
    if not pictures:
        return {}
    listed = {agent: picture["tasks"] for agent, picture in pictures.items()}
    tasks = as_data(listed)
    while len(tasks) > _TASKS:
        share = _SPARE * _TASKS / len(tasks)
        listed = {agent: first(of, int(share * len(of["ids"]))) for agent, of in listed.items()}
        tasks = as_data(listed)
    return {
        "about": as_data({agent: picture["about"] for agent, picture in pictures.items()}).decode(),
        "brief": as_data({agent: first(of, _BRIEF) for agent, of in listed.items()}).decode(),
        "tasks": tasks.decode(),
    }


# -- what fits into the page -----------------------------------------------------------------

LIMIT = 2_500_000  # bytes of data, but for the short pages of benchmarks that fail
_ROWS = 700_000  # of these for the overview
_ABOUT = 900_000  # for metrics, checks and distributions of benchmarks that pass
_FAILING = 1_500_000  # of those that fail; where there are more, each has a short page
_FULL = 0.99  # of a room: nothing more is written that would hardly fit


class Size(msgspec.Struct, frozen=True):
    """The bytes of a benchmark's parts."""

    row: int  # its row of the overview, some of its tasks, all that a page may show of them
    brief: int
    tasks: int
    detailed: bool = True  # whether more than the row is to be shown
    fails: bool = False  # then it has a page, however many there are


@dataclass
class Fitting:
    """The parts of each benchmark that the page holds."""

    rows: set[str] = field(default_factory=set)  # the benchmarks that have a row of the overview
    about: dict[str, bytes] = field(default_factory=dict)  # benchmark -> everything but its tasks
    short: set[str] = field(default_factory=set)  # the benchmarks of which that is short
    # benchmark -> which of its tasks
    tasks: dict[str, Literal["tasks", "brief"]] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)  # how many benchmarks lack a part

    @classmethod
    def of(cls, sizes: Sequence[tuple[str, Size]], about: Callable[..., bytes]) -> Fitting:
        """Choose, from the most telling benchmark to the least.

        `about` writes a benchmark's page but for its tasks, and with ``short=True`` a short one.
        """
        fitting, left, rows = cls(), LIMIT, _ROWS
        rooms, used = {True: _FAILING, False: _ABOUT}, {True: 0, False: 0}
        for name, size in sizes:
            if not size.fails and size.row > rows:
                continue
            rows, left = rows - size.row, left - size.row
            fitting.rows.add(name)
            room = rooms[size.fails]
            full = used[size.fails] > _FULL * room
            text = about(name) if size.detailed and not full else b""
            if text and used[size.fails] + len(text) <= room:
                used[size.fails] += len(text)
            elif size.detailed and size.fails:
                text = about(name, short=True)
                fitting.short.add(name)
            else:
                continue
            fitting.about[name] = text
        left -= sum(map(len, fitting.about.values()))
        listed = [
            pair
            for pair in sizes
            if pair[0] in fitting.about.keys() - fitting.short and pair[1].brief
        ]
        for name, size in listed:
            if size.tasks <= left:
                fitting.tasks[name], left = "tasks", left - size.tasks
            elif size.brief <= left:
                fitting.tasks[name], left = "brief", left - size.brief
        fitting.left_out = {
            "rows": len(sizes) - len(fitting.rows),
            "about": len(fitting.rows) - len(fitting.about),
            "short": len(fitting.short),
            "tasks": len(listed) - len(fitting.tasks),
            "brief": [*fitting.tasks.values()].count("brief"),
        }
        return fitting


# -- the file --------------------------------------------------------------------------------

_LISTED = 1000  # benchmarks without a result
_STYLES = ("uplot/uPlot.min.css", "base.css", "page.css")
_SCRIPTS = (
    *("dom.js", "numbers.js", "theme.js", "sorting.js", "bars.js", "charts.js", "overview.js"),
    *("tasks.js", "answers.js", "benchmark.js", "site.js", "noise.js", "main.js"),
)


def write_page(
    file: BinaryIO,
    report: Mapping[str, Any],
    kept: Artifacts,
    origin: Mapping[str, str | None] = MappingProxyType({}),
) -> None:
    """Write the page, one benchmark at a time; `origin` says when it ran, and on which commit."""
    entries = {entry["id"]: entry for entry in in_order(report["benchmarks"])}
    rows = {name: as_data(overview(e, metrics_of(e))) for name, e in entries.items()}
    sizes = []
    for name, entry in entries.items():
        brief, tasks = kept.size(name, "brief"), kept.size(name, "tasks")
        detailed, fails = bool(brief) or entry["verdict"] != "PASS", Verdict(entry["verdict"]).fails
        size = Size(len(rows[name]), brief, tasks, detailed, fails and not entry["xfail"])
        sizes.append((name, size))

    def page_of(name: str, *, short: bool = False) -> bytes:
        runs = report.get("history", {}).get(name, ())
        text = as_data(about(entries[name], metrics_of(entries[name]), runs, short=short))
        # the summary of its tasks is put in as the text that it is
        summary = b"" if short else kept.read(name, "about")
        return b'{"pictures":%b,%b' % (summary or b"{}", text[1:])

    fitting = Fitting.of(sizes, page_of)
    head, tail = _shell()
    file.write(head)
    _write_data(file, "run", as_data(_run(report, fitting.left_out, origin)))
    shown = [name for name in rows if name in fitting.rows]
    _write_data(file, "overview", b"[%b]" % b",\n".join(rows[name] for name in shown))
    for i, name in enumerate(shown):
        if name in fitting.about:
            _write_data(file, f"about-{i}", fitting.about[name])
        if name in fitting.tasks:
            _write_data(file, f"tasks-{i}", kept.read(name, fitting.tasks[name]))
    file.write(tail)


def write_other(file: BinaryIO, name: Literal["site", "noise"], data: Any) -> None:
    """Write a page of another kind: the first one of a site, or that of a calibration."""
    head, tail = _shell()
    file.write(head)
    _write_data(file, name, as_data(data))
    file.write(tail)


def _run(
    report: Mapping[str, Any], left_out: Mapping[str, int], origin: Mapping[str, str | None]
) -> dict[str, Any]:
    entries = report["benchmarks"]
    # what is known to fail and does so counts for nothing
    counted = [e["verdict"] for e in entries if not (e["xfail"] and Verdict(e["verdict"]).fails)]
    lost, skipped = report["not_evaluated"], report.get("skipped", [])
    return {
        "verdict": report["verdict"],
        "benchmarks": len(entries),
        "counts": {v: counted.count(v) for v in ("FAIL", "INCONCLUSIVE", "WARN", "PASS")},
        "known_to_fail": len(entries) - len(counted),
        "not_evaluated": lost[:_LISTED],
        "lost": len(lost),
        "broken_off": sorted(broken_off(report).intersection(lost[:_LISTED])),
        "skipped": skipped[:_LISTED],
        "skips": len(skipped),
        "deselected": len(report.get("deselected", ())),
        "left_out": left_out,
        "origin": {key: value for key, value in origin.items() if value},
        "causes": triage(report),
        "chance": false_alarms(entries),
    }


def _write_data(file: BinaryIO, name: str, data: bytes) -> None:
    file.write(b'<script type="application/json" id="%b">%b</script>\n' % (name.encode(), data))


def _shell() -> tuple[bytes, bytes]:
    """Put the page's own files together, around its data; a policy lets nothing but these run."""
    style = "\n".join(_asset(name) for name in _STYLES)
    library = _asset("uplot/uPlot.iife.min.js")
    code = '"use strict";\n(() => {\n' + "\n".join(_asset(name) for name in _SCRIPTS) + "\n})();\n"
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {_hash(library)} {_hash(code)}",
            f"style-src {_hash(style)}",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
        )
    )
    page = _asset("page.html").replace("{{policy}}", policy).replace("{{style}}", style)
    head, _, tail = page.partition("{{data}}\n")
    tail = tail.replace("{{library}}", library).replace("{{code}}", code)
    return head.encode(), tail.encode()


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath("assets", *name.split("/")).read_text("utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
