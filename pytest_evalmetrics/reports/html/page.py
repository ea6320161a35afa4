"""report.html: one file that opens without a network and interprets nothing of a row."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple

import msgspec

from pytest_evalmetrics.reports.failure import better_way, comparison_details
from pytest_evalmetrics.reports.html.picture import first
from pytest_evalmetrics.reports.lines import broken_off, false_alarms, recorded_lines, trends
from pytest_evalmetrics.reports.triage import triage
from pytest_evalmetrics.results import Verdict, worst

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = [
    "LIMIT",
    "Fitting",
    "PagePieces",
    "Size",
    "about",
    "as_data",
    "checks_of",
    "history_of",
    "in_order",
    "metrics_of",
    "overview",
    "page_pieces",
    "write_other",
    "write_page",
]

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


_BOUND = re.compile(r"(>=|<=) (\S+)")
_CUT = 2_000  # characters of a text


def metrics_of(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List a benchmark's metrics, the gated ones first."""
    rows = [_metric(a["agent"], e, a["key_metrics"]) for a in entry["agents"] for e in _known(a)]
    by_name = {(row["agent"], row["name"]): row for row in rows}
    alone = entry["agents"][0]["agent"] if len(entry["agents"]) == 1 else ""
    for check in entry["checks"]:
        if check["gate"] not in ("threshold", "baseline"):
            continue
        row = by_name.get((check["agent"] or alone, check["name"]))
        if row is not None:
            _add_check(row, check)
    return sorted(rows, key=lambda row: (not row["verdict"], not row["key"]))


def checks_of(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List what was asserted, in the order of the gates, with what it rests on in words."""
    return [
        {
            **{key: check[key] for key in ("gate", "name", "agent", "verdict", "value", "bound")},
            "reason": check["reason"][:_CUT],
            "hint": check["hint"][:_CUT],
            "line": check["line"] or entry["line"],
            "details": [line[:_CUT] for line in comparison_details(check["evidence"])],
        }
        for check in entry["checks"]
    ]


def _known(agent: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the estimates, under the names that they are listed by, each once."""
    yield from {id(e): e for e in agent["estimates"].values()}.values()
    for name in agent["key_metrics"].keys() - {e["name"] for e in agent["estimates"].values()}:
        yield {"name": name, "value": agent["key_metrics"][name], "interval": None, "tasks": None}


def _metric(agent: str, estimate: Mapping[str, Any], keys: Mapping[str, Any]) -> dict[str, Any]:
    interval = estimate["interval"] or {}
    return {
        "agent": agent,
        "name": estimate["name"],
        "key": estimate["name"] in keys,
        "value": estimate["value"],
        "low": interval.get("low"),
        "high": interval.get("high"),
        "level": interval.get("level"),
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
    verdicts = [Verdict(v) for v in (row["verdict"], check["verdict"]) if v]
    row["verdict"] = str(worst(verdicts))
    found = check["evidence"]
    if check["bound"]:
        row["bounds"].append(", ".join(filter(None, (check["bound"], better_way(found)))))
    if check["gate"] == "threshold":
        row["limits"] += [
            {"side": side, "at": float(at)} for side, at in _BOUND.findall(check["bound"])
        ]
        return
    row["baseline"] = found.get("baseline")
    row["p"] = found.get("p_adjusted", found.get("p"))
    allowed, less = found.get("allowed_drop"), found.get("direction") == "lower"
    if allowed is not None and row["baseline"] is not None:
        at = row["baseline"] + (allowed if less else -allowed)
        row["limits"].append({"side": "<=" if less else ">=", "at": at})
    row["less"] = less
    row["change"] = _change(found)


def _change(found: Mapping[str, Any]) -> Sequence[float | None] | None:
    drop, low, high = (found.get(key) for key in ("drop", "drop_low", "drop_high"))
    if drop is None:
        return None
    if found.get("direction") == "lower":
        return drop, low, high
    return -drop, None if high is None else -high, None if low is None else -low


_RUNS, _LINES = 60, 8


def history_of(
    entry: Mapping[str, Any],
    runs: Sequence[Mapping[str, Any]],
    metrics: Sequence[Mapping[str, Any]] = (),
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
    return {
        "runs": [{key: run[key] for key in kept if run.get(key)} for run in runs],
        "lines": lines[:_LINES],
    }


_SEVERITY = {"FAIL": 0, "INCONCLUSIVE": 1, "WARN": 2, "PASS": 3}
_SHOWN, _SHORT = (200, 400, 50, 100), (8, 4, 2, 2)  # metrics, checks, notes, files
_TOLD = 300
_COLUMNS = 20  # agents of the matrix


def in_order(entries: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Put what failed first, and what was known to fail behind what was not."""
    return sorted(entries, key=lambda e: (e["xfail"], _SEVERITY[e["verdict"]], e["id"]))


def overview(entry: Mapping[str, Any], metrics: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Sum a benchmark up in one row: its verdict, its telling metric, why it failed."""
    telling = sorted(
        metrics,
        key=lambda m: (_SEVERITY.get(m["verdict"], 4), not m["key"], m["name"].startswith("mean/")),
    )
    failing = [c for c in entry["checks"] if c["verdict"] == entry["verdict"] != "PASS"]
    return {
        "id": entry["id"],
        "name": entry["name"],
        "file": entry["file"],
        "verdict": entry["verdict"],
        "xfail": entry["xfail"],
        "agents": len(entry["agents"]),
        "tasks": sum(a["tasks"] for a in entry["agents"]),
        "rollouts": sum(a["rollouts"] for a in entry["agents"]),
        "missing": sum(a["missing"] for a in entry["agents"]),
        "metric": telling[0] if telling else None,
        "reason": _first_reason(entry, failing)[:_TOLD],
        "reasons": len(failing),
        "by_agent": _by_agent(entry, metrics, telling) if len(entry["agents"]) > 1 else {},
    }


def _by_agent(
    entry: Mapping[str, Any],
    metrics: Sequence[Mapping[str, Any]],
    telling: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """Give each agent's verdict, and its value of the metric that tells most."""
    name = telling[0]["name"] if telling else ""
    values = {m["agent"]: m["value"] for m in metrics if m["name"] == name}
    verdicts = _verdicts(entry)
    return {a: [verdicts.get(a, ""), values.get(a)] for a in _agents(entry)[:_COLUMNS]}


def _verdicts(entry: Mapping[str, Any]) -> dict[str, str]:
    """Give the worst verdict of each agent that has one."""
    alone = entry["agents"][0]["agent"] if len(entry["agents"]) == 1 else ""
    found: dict[str, list[Verdict]] = {}
    for check in entry["checks"]:
        found.setdefault(check["agent"] or alone, []).append(Verdict(check["verdict"]))
    return {agent: str(worst(verdicts)) for agent, verdicts in found.items()}


def _agents(entry: Mapping[str, Any]) -> list[str]:
    """List the agents, those that fail first."""
    verdicts, names = _verdicts(entry), [a["agent"] for a in entry["agents"]]
    return sorted(names, key=lambda name: _SEVERITY.get(verdicts.get(name, ""), 4))


def _first_reason(entry: Mapping[str, Any], failing: Sequence[Mapping[str, Any]]) -> str:
    if not failing:
        return ""
    several = len(entry["agents"]) > 1 and failing[0]["agent"]
    return f"{failing[0]['agent']}: {failing[0]['reason']}" if several else failing[0]["reason"]


def about(
    entry: Mapping[str, Any],
    metrics: Sequence[Mapping[str, Any]],
    runs: Sequence[Mapping[str, Any]] = (),
    *,
    short: bool = False,
) -> dict[str, Any]:
    """Describe a benchmark but for its tasks; `short` gives why it fails, and little more."""
    metrics_shown, checks_shown, notes_shown, files_shown = _SHORT if short else _SHOWN
    by_name = {agent["agent"]: agent for agent in entry["agents"]}
    agents = [by_name[name] for name in _agents(entry)]
    checks = sorted(checks_of(entry), key=lambda c: _SEVERITY[c["verdict"]]) if short else None
    notes = [*(f"changed: {c}" for c in entry.get("changes", ())), *entry["notes"]]
    return {
        "description": entry["description"][:_CUT],
        "line": entry["line"],
        "agents": [
            {k: agent[k] for k in ("agent", "tasks", "rollouts", "missing")} for agent in agents
        ],
        "metrics": metrics[:metrics_shown],
        "more_metrics": max(0, len(metrics) - metrics_shown),
        "checks": (checks or checks_of(entry))[:checks_shown],
        "notes": [note[:_CUT] for note in notes[:notes_shown]],
        "flips": () if short else entry.get("flips", ()),
        "failures": () if short else [_failures(found) for found in entry["failed_rows"]],
        "sources": entry["sources"][:files_shown],
        "more_sources": max(0, len(entry["sources"]) - files_shown),
        "history": {} if short else history_of(entry, runs, metrics),
        "judges": () if short else entry.get("judges", ()),
        "judge_checks": () if short else entry.get("judge_checks", ()),
        "agreements": [
            {"agent": agent["agent"], "score": score["name"], **score["agreement"]}
            for agent in ([] if short else agents)
            for score in agent["scores"]
            if score.get("agreement")
        ],
        "recorded": [] if short else recorded_lines(entry["recorded"]),
        "short": short,
    }


def _failures(found: Mapping[str, Any]) -> dict[str, Any]:
    """Tell the rows that a scorer could not score, by kind; of each kind those that are known."""
    return {
        "scorer": found["scorer"],
        "scores": found["scores"],
        "count": found["count"],
        "kinds": [
            {
                "kind": kind,
                "count": count,
                "rows": [
                    {
                        "row": f["row"],
                        "reason": f["reason"][:_CUT],
                        "hint": f["hint"][:_CUT],
                    }
                    for f in _first_of(found, kind)
                ],
            }
            for kind, count in found["kinds"].items()
        ],
    }


def _first_of(found: Mapping[str, Any], kind: str) -> list[Mapping[str, Any]]:
    """Return the rows of a kind that are known: a rare kind may have an example only."""
    first = [f for f in found["first"] if f["kind"] == kind]
    return first or [e for k, e in found.get("examples", {}).items() if k == kind]


LIMIT = 2_500_000  # bytes of data, but for the short pages of benchmarks that fail
_ROWS = 700_000  # of these for the overview
_ABOUT = 900_000  # for metrics, checks and distributions of benchmarks that pass
_FAILING = 1_500_000  # of those that fail; where there are more, each has a short page
_FULL = 0.99  # of these: nothing more is made that would hardly fit


class Size(msgspec.Struct, frozen=True):
    """How many bytes the parts of a benchmark take."""

    row: int  # its row of the overview, some of its tasks, all that a page may show of them
    brief: int
    tasks: int
    detailed: bool = True  # whether more than the row is to be shown
    fails: bool = False  # then it has a page, however many there are


@dataclass
class Fitting:
    """Which parts of which benchmark the page holds."""

    rows: set[str] = field(default_factory=set)  # the benchmarks that have a row of the overview
    about: dict[str, bytes] = field(default_factory=dict)  # benchmark -> everything but its tasks
    # benchmark -> which of its tasks
    tasks: dict[str, Literal["tasks", "brief"]] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)  # how many benchmarks lack a part

    @classmethod
    def of(
        cls,
        sizes: Sequence[tuple[str, Size]],
        about: Callable[..., bytes],
        limit: int = LIMIT,
    ) -> Fitting:
        """Choose, from the most telling benchmark to the least.

        `about` writes a benchmark's page but for its tasks, and with ``short=True`` a short one.
        """
        found, left = cls(), limit
        room = _ROWS * limit // LIMIT
        for name, size in sizes:
            if size.fails or size.row <= room:
                room, left = room - size.row, left - size.row
                found.rows.add(name)
        shorter = found._write(sizes, about, limit)
        left -= sum(map(len, found.about.values()))
        for name, size in sizes:
            if name not in found.about or not size.brief or name in shorter:
                continue
            if size.tasks <= left:
                found.tasks[name], left = "tasks", left - size.tasks
            elif size.brief <= left:
                found.tasks[name], left = "brief", left - size.brief
        found.left_out = {
            "rows": len(sizes) - len(found.rows),
            "about": len(found.rows) - len(found.about),
            "short": len(shorter),
            "tasks": sum(
                1
                for n, s in sizes
                if n in found.about and s.brief and n not in found.tasks and n not in shorter
            ),
            "brief": sum(1 for kind in found.tasks.values() if kind == "brief"),
        }
        return found

    def _write(
        self, sizes: Sequence[tuple[str, Size]], about: Callable[..., bytes], limit: int
    ) -> set[str]:
        """Write the benchmarks' pages but for their tasks; name those that are short."""
        rooms = {True: _FAILING * limit // LIMIT, False: _ABOUT * limit // LIMIT}
        full = {kind: (1 - _FULL) * room for kind, room in rooms.items()}
        shorter = set()
        for name, size in sizes:
            if not size.detailed or name not in self.rows:
                continue
            room = rooms[size.fails]
            text = about(name) if room >= full[size.fails] else None
            if text is None or len(text) > room:
                if not size.fails:
                    continue
                text = about(name, short=True)
                shorter.add(name)
            else:
                rooms[size.fails] -= len(text)
            self.about[name] = text
        return shorter


_MOST = 1_500_000  # bytes of one benchmark's tasks
_BRIEF = 50  # tasks
_SPARE = 0.9  # the tasks that are left may be longer than those that are not


class PagePieces(NamedTuple):
    """Where the texts are kept: each one's start and length."""

    about: tuple[int, int]  # all tasks summed up
    brief: tuple[int, int]  # the fifty most telling tasks of each agent
    tasks: tuple[int, int]  # as many as a page shows


def page_pieces(pictures: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Write the texts, in the order of `PagePieces`."""
    if not pictures:
        return ["", "", ""]
    about = as_data({agent: picture["about"] for agent, picture in pictures.items()})
    found = {agent: picture["tasks"] for agent, picture in pictures.items()}
    tasks = as_data(found)
    while len(tasks) > _MOST:
        share = _SPARE * _MOST / len(tasks)
        found = {agent: first(of, int(share * len(of["ids"]))) for agent, of in found.items()}
        tasks = as_data(found)
    brief = tasks
    if any(len(of["ids"]) > _BRIEF for of in found.values()):
        brief = as_data({agent: first(of, _BRIEF) for agent, of in found.items()})
    return [part.decode() for part in (about, brief, tasks)]


_STYLES = ("uplot/uPlot.min.css", "base.css", "page.css")
_SCRIPTS = (
    "dom.js",
    "numbers.js",
    "theme.js",
    "sorting.js",
    "bars.js",
    "charts.js",
    "overview.js",
    "tasks.js",
    "answers.js",
    "benchmark.js",
    "site.js",
    "noise.js",
    "main.js",
)


class _Shell(msgspec.Struct, frozen=True):
    """The page around its data."""

    head: bytes
    tail: bytes


def write_page(
    file: BinaryIO,
    report: Mapping[str, Any],
    pieces: Mapping[str, PagePieces],
    read: Callable[[tuple[int, int]], bytes],
    origin: Mapping[str, str | None] = MappingProxyType({}),
) -> None:
    """Write the page, one benchmark at a time; `origin` says when it ran, and on which commit."""
    entries = {entry["id"]: entry for entry in in_order(report["benchmarks"])}
    rows = {name: as_data(overview(e, metrics_of(e))) for name, e in entries.items()}
    sizes = [(name, _size(entries[name], rows[name], pieces.get(name))) for name in rows]

    def page_of(name: str, *, short: bool = False) -> bytes:
        entry, found = entries[name], pieces.get(name)
        runs = report.get("history", {}).get(name, ())
        text = as_data(about(entry, metrics_of(entry), runs, short=short))
        # the summary of its tasks is put in as the text that it is
        summary = read(found.about) if found and found.about[1] and not short else b"{}"
        return b'{"pictures":%b,%b' % (summary, text[1:])

    fits = Fitting.of(sizes, page_of)
    shell = _shell()
    file.write(shell.head)
    _write_run(file, report, fits.left_out, origin)
    file.write(b'<script type="application/json" id="overview">[')
    shown = [name for name in rows if name in fits.rows]
    file.write(b",\n".join(rows[name] for name in shown))
    file.write(b"]</script>\n")
    for i, name in enumerate(shown):
        if name in fits.about:
            _write_data(file, f"about-{i}", fits.about[name])
        if name in fits.tasks:
            kind = fits.tasks[name]
            found = pieces[name]
            _write_data(file, f"tasks-{i}", read(found.tasks if kind == "tasks" else found.brief))
    file.write(shell.tail)


def write_other(file: BinaryIO, name: Literal["site", "noise"], data: Any) -> None:
    """Write a page of another kind: the first one of a site, or that of a calibration."""
    shell = _shell()
    file.write(shell.head)
    _write_data(file, name, as_data(data))
    file.write(shell.tail)


def _size(entry: Mapping[str, Any], row: bytes, found: PagePieces | None) -> Size:
    brief, tasks = (0, 0) if found is None else (found.brief[1], found.tasks[1])
    verdict = Verdict(entry["verdict"])
    detailed, fails = bool(brief) or verdict is not Verdict.PASS, verdict.fails
    return Size(len(row), brief, tasks, detailed, fails and not entry["xfail"])


def _write_run(
    file: BinaryIO,
    report: Mapping[str, Any],
    left_out: Mapping[str, int],
    origin: Mapping[str, str | None],
) -> None:
    entries = report["benchmarks"]
    # what is known to fail and does so counts for nothing
    counted = [e for e in entries if not (e["xfail"] and Verdict(e["verdict"]).fails)]
    verdicts = [e["verdict"] for e in counted]
    lost, skipped = report["not_evaluated"], report.get("skipped", [])
    run = {
        "verdict": report["verdict"],
        "benchmarks": len(entries),
        "counts": {v: verdicts.count(v) for v in ("FAIL", "INCONCLUSIVE", "WARN", "PASS")},
        "known_to_fail": len(entries) - len(counted),
        "not_evaluated": lost[:1000],
        "lost": len(lost),
        "broken_off": sorted(broken_off(report).intersection(lost[:1000])),
        "skipped": skipped[:1000],
        "skips": len(skipped),
        "deselected": len(report.get("deselected", ())),
        "left_out": left_out,
        "origin": {key: value for key, value in origin.items() if value},
        "causes": triage(report),
        "chance": false_alarms(entries),
    }
    _write_data(file, "run", as_data(run))


def _write_data(file: BinaryIO, name: str, data: bytes) -> None:
    file.write(b'<script type="application/json" id="%b">%b</script>\n' % (name.encode(), data))


@cache
def _shell() -> _Shell:
    """Put the page's own files together; a policy lets nothing but these run."""
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
    return _Shell(head.encode(), tail.encode())


def _asset(name: str) -> str:
    from importlib import resources  # noqa: PLC0415 - loaded to write a page

    return resources.files(__package__).joinpath("assets", *name.split("/")).read_text("utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
