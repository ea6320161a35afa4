"""report.html: one file that opens without a network and interprets nothing of a row."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
from datetime import UTC, datetime
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

import msgspec

from pytest_evalmetrics import EvalMetricsError
from pytest_evalmetrics.ext import Verdict
from pytest_evalmetrics.reports import wording
from pytest_evalmetrics.reports.html.picture import first
from pytest_evalmetrics.run_folder import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pytest_evalmetrics.reports.payload import Artifacts

    Entry = Mapping[str, Any]
    Metrics = Sequence[Mapping[str, Any]]

_ESCAPED = "&<>\u2028\u2029"  # in JSON these occur in strings only, where an escape is equivalent


def as_data(value: Any) -> bytes:
    """Write builtins as JSON for a ``<script type="application/json">``."""
    data = msgspec.json.encode(value)
    for character in _ESCAPED:
        data = data.replace(character.encode(), b"\\u%04x" % ord(character))
    return data


# -- the metrics of a benchmark --------------------------------------------------------------

_BOUND = re.compile(r"(>=|<=) (\S+)")
_SEVERITY = {"FAIL": 0, "INCONCLUSIVE": 1, "WARN": 2, "PASS": 3, "": 4}


def metrics_of(entry: Entry) -> list[dict[str, Any]]:
    """List a benchmark's metrics, the gated ones first."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for agent in entry["agents"]:
        keys = agent["key_metrics"]
        estimates = {
            estimate["name"]: estimate for estimate in agent["estimates"].values()
        }
        for name, value in keys.items():
            estimates.setdefault(
                name, {"value": value, "interval": None, "tasks": None}
            )
        for name, estimate in estimates.items():
            interval = estimate["interval"] or {}
            rows[agent["agent"], name] = {
                "agent": agent["agent"],
                "name": name,
                "key": name in keys,
                "value": estimate["value"],
                **{key: interval.get(key) for key in ("low", "high", "level")},
                "method": interval.get("method", ""),
                "unsure": estimate.get("reason", ""),
                "tasks": estimate["tasks"],
                "verdict": "",
                "bounds": [],
                "limits": [],
                **dict.fromkeys(("baseline", "change", "p")),
                "less": False,
            }
    for check in entry["checks"]:
        row = rows.get((wording.checked_agent(entry, check), check["name"]))
        if row is None or check["gate"] not in ("threshold", "baseline"):
            continue
        row["verdict"] = min(
            row["verdict"], check["verdict"], key=_SEVERITY.__getitem__
        )
        row["bounds"] += [wording.expected(check)] if check["bound"] else []
        if check["gate"] == "threshold":
            row["limits"] += [
                {"side": side, "at": float(at)}
                for side, at in _BOUND.findall(check["bound"])
            ]
            continue
        evidence = check["evidence"]
        less, allowed = (
            evidence.get("direction") == "lower",
            evidence.get("allowed_drop"),
        )
        change, baseline = wording.change_of(evidence), evidence.get("baseline")
        row |= {"baseline": baseline, "p": wording.p_value(evidence), "less": less}
        row["change"] = None if change[0] is None else change
        if allowed is not None and baseline is not None:
            at = baseline + (allowed if less else -allowed)
            row["limits"].append({"side": "<=" if less else ">=", "at": at})
    return sorted(rows.values(), key=lambda row: (not row["verdict"], not row["key"]))


# -- a benchmark in one row of the overview --------------------------------------------------

_REASON = 300  # characters
_COLUMNS = 20  # agents of the matrix


def in_order(entries: Sequence[Entry]) -> list[Entry]:
    """Order benchmarks by severity, with expected failures behind unexpected ones."""
    return sorted(entries, key=lambda e: (e["xfail"], _SEVERITY[e["verdict"]], e["id"]))


def overview(entry: Entry, metrics: Metrics) -> dict[str, Any]:
    """Summarize a benchmark in one row: its verdict, its main metric, and why it failed."""
    telling = min(
        metrics,
        key=lambda m: (
            _SEVERITY[m["verdict"]],
            not m["key"],
            m["name"].startswith("mean/"),
        ),
        default=None,
    )
    failing = [c for c in entry["checks"] if c["verdict"] == entry["verdict"] != "PASS"]
    several = len(entry["agents"]) > 1
    reasons = [(wording.of_agent(c) if several else "") + c["reason"] for c in failing]
    values = {
        m["agent"]: m["value"]
        for m in metrics
        if telling and m["name"] == telling["name"]
    }
    verdicts = _verdicts(entry)
    return {
        **{key: entry[key] for key in ("id", "name", "file", "verdict", "xfail")},
        "agents": len(entry["agents"]),
        **{
            key: sum(a[key] for a in entry["agents"])
            for key in ("tasks", "rollouts", "missing")
        },
        "metric": telling,
        "reason": reasons[0][:_REASON] if reasons else "",
        "reasons": len(failing),
        "by_agent": {
            agent: [verdict, values.get(agent)]
            for agent, verdict in [*verdicts.items()][: _COLUMNS if several else 0]
        },
    }


def _verdicts(entry: Entry) -> dict[str, str]:
    """Return each agent's worst verdict, the failing agents first."""
    verdicts: dict[str, str] = {agent["agent"]: "" for agent in entry["agents"]}
    for check in entry["checks"]:
        if (agent := wording.checked_agent(entry, check)) in verdicts:
            pair = verdicts[agent], check["verdict"]
            verdicts[agent] = min(pair, key=_SEVERITY.__getitem__)
    return dict(sorted(verdicts.items(), key=lambda item: _SEVERITY[item[1]]))


# -- a benchmark's page, but for its tasks ---------------------------------------------------

_TEXT = 2_000  # characters
_SHOWN, _SHORT = (200, 400, 50, 100), (8, 4, 2, 2)  # metrics, checks, notes, files
_LONG = (
    "flips",
    "judges",
    "judge_checks",
    "failed_rows",
    "recorded",
)  # not on a short page
_RUNS, _LINES = 60, 8  # of the history


def about(
    entry: Entry,
    metrics: Metrics,
    runs: Sequence[Mapping[str, Any]] = (),
    *,
    short: bool = False,
) -> dict[str, Any]:
    """Describe a benchmark without its tasks; `short` keeps little but the reasons of failures."""
    metrics_shown, checks_shown, notes_shown, files_shown = _SHORT if short else _SHOWN
    by_name = {agent["agent"]: agent for agent in entry["agents"]}
    agents = [by_name[name] for name in _verdicts(entry)]
    if short:
        checks = sorted(entry["checks"], key=lambda check: _SEVERITY[check["verdict"]])
        entry = {**entry, **dict.fromkeys(_LONG, ()), "checks": checks}
    notes = [
        *(f"changed: {change}" for change in entry.get("changes", ())),
        *entry["notes"],
    ]
    return {
        "description": entry["description"][:_TEXT],
        "line": entry["line"],
        "agents": [
            {k: agent[k] for k in ("agent", "tasks", "rollouts", "missing")}
            for agent in agents
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
        "recorded": wording.recorded_lines(entry["recorded"]),
        "short": short,
    }


def _check(entry: Entry, check: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{
            key: check[key]
            for key in ("gate", "name", "agent", "verdict", "value", "bound")
        },
        "reason": check["reason"][:_TEXT],
        "hint": check["hint"][:_TEXT],
        "line": check["line"] or entry["line"],
        "details": [
            line[:_TEXT] for line in wording.comparison_details(check["evidence"])
        ],
    }


def _failures(failures: Mapping[str, Any]) -> dict[str, Any]:
    """Describe the rows that a scorer could not score, by kind."""
    kinds = []
    for kind, count in failures["kinds"].items():
        rows = [row for row in failures["first"] if row["kind"] == kind]
        if not rows and (example := failures.get("examples", {}).get(kind)):
            rows = [example]  # of a rare kind
        shown = [
            {key: row[key][:_TEXT] for key in ("row", "reason", "hint")} for row in rows
        ]
        kinds.append({"kind": kind, "count": count, "rows": shown})
    return {
        **{key: failures[key] for key in ("scorer", "scores", "count")},
        "kinds": kinds,
    }


def history_of(
    entry: Entry, runs: Sequence[Mapping[str, Any]], metrics: Metrics = ()
) -> dict[str, Any]:
    """Describe the gated metrics over the last runs, with their intervals and baselines."""
    runs = runs[-_RUNS:]
    baselines = {(m["agent"], m["name"]): m["baseline"] for m in metrics}
    lines = []
    report = {"benchmarks": [entry], "history": {entry["id"]: runs}}
    for _, shown, metric, _ in wording.trends(report):
        agent = shown or entry["agents"][0]["agent"]
        points = [run["agents"].get(agent, {}).get(metric) or {} for run in runs]
        columns = {
            f"{key}s": [p.get(key) for p in points] for key in ("value", "low", "high")
        }
        baseline = baselines.get((agent, metric))
        lines.append(
            {"agent": shown, "metric": metric, "baseline": baseline, **columns}
        )
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
    """Write the summary of all tasks, the tasks that a page shows, and the most telling ones."""
    if not pictures:
        return {}
    listed = {agent: picture["tasks"] for agent, picture in pictures.items()}
    tasks = as_data(listed)
    while len(tasks) > _TASKS:
        share = _SPARE * _TASKS / len(tasks)
        listed = {
            agent: first(of, int(share * len(of["ids"])))
            for agent, of in listed.items()
        }
        tasks = as_data(listed)
    return {
        "about": as_data(
            {agent: picture["about"] for agent, picture in pictures.items()}
        ).decode(),
        "brief": as_data(
            {agent: first(of, _BRIEF) for agent, of in listed.items()}
        ).decode(),
        "tasks": tasks.decode(),
    }


# -- what fits into the page -----------------------------------------------------------------

LIMIT = 2_500_000  # bytes of data, but for the short pages of benchmarks that fail
_ROWS = 700_000  # of these for the overview
_ABOUT = 900_000  # for metrics, checks and distributions of benchmarks that pass
_FAILING = 1_500_000  # of those that fail; if there are more, each has a short page
_FULL = 0.99  # of a room: nothing more is written that would hardly fit


class PagePart(msgspec.Struct):
    """A benchmark of the page: the sizes of its texts, and which of them fit."""

    name: str
    row: bytes  # of the overview
    brief: int  # bytes of some of its tasks, and of all that a page may show of them
    tasks: int
    detailed: bool = True  # whether more than the row is to be shown
    fails: bool = False  # then it has a page, however many there are
    in_overview: bool = False
    about: bytes = b""  # everything but its tasks
    is_short: bool = False  # whether it has little more than the reasons of failures
    listed: Literal["", "tasks", "brief"] = ""  # its listed tasks


def fit(parts: Sequence[PagePart], about: Callable[..., bytes]) -> dict[str, int]:
    """Choose the parts that fit into the page; return how many benchmarks lack each part."""
    left, rows = LIMIT, _ROWS
    rooms, used = {True: _FAILING, False: _ABOUT}, {True: 0, False: 0}
    for part in parts:
        if not part.fails and len(part.row) > rows:
            continue
        rows, left = rows - len(part.row), left - len(part.row)
        part.in_overview = True
        if not part.detailed:
            continue
        is_full = used[part.fails] > _FULL * rooms[part.fails]
        text = b"" if is_full else about(part.name)
        if text and used[part.fails] + len(text) <= rooms[part.fails]:
            used[part.fails] += len(text)
            part.about = text
        elif part.fails:
            part.about, part.is_short = about(part.name, short=True), True
    left -= sum(len(part.about) for part in parts)
    with_tasks = [
        part for part in parts if part.about and not part.is_short and part.brief
    ]
    for part in with_tasks:
        if part.tasks <= left:
            part.listed, left = "tasks", left - part.tasks
        elif part.brief <= left:
            part.listed, left = "brief", left - part.brief
    return {
        "rows": sum(not part.in_overview for part in parts),
        "about": sum(part.in_overview and not part.about for part in parts),
        "short": sum(part.is_short for part in parts),
        "tasks": sum(not part.listed for part in with_tasks),
        "brief": sum(part.listed == "brief" for part in with_tasks),
    }


# -- the file --------------------------------------------------------------------------------

_LISTED = 1000  # benchmarks without a result
_STYLES = ("uplot/uPlot.min.css", "base.css", "page.css")
_SCRIPTS = (
    *(
        "dom.js",
        "numbers.js",
        "theme.js",
        "sorting.js",
        "bars.js",
        "charts.js",
        "overview.js",
    ),
    *("tasks.js", "answers.js", "benchmark.js", "site.js", "noise.js", "main.js"),
)


def page(
    report: Mapping[str, Any], kept: Artifacts, origin: Mapping[str, str | None]
) -> Iterator[bytes]:
    """Write the page, one benchmark at a time; `origin` says when it ran, and on which commit."""
    entries = {entry["id"]: entry for entry in in_order(report["benchmarks"])}

    def about_of(name: str, *, short: bool = False) -> bytes:
        runs = report.get("history", {}).get(name, ())
        text = as_data(
            about(entries[name], metrics_of(entries[name]), runs, short=short)
        )
        # the summary of its tasks is put in as the text that it is
        summary = b"" if short else kept.read(name, "about")
        return b'{"pictures":%b,%b' % (summary or b"{}", text[1:])

    parts = []
    for name, entry in entries.items():
        brief, tasks = kept.size(name, "brief"), kept.size(name, "tasks")
        part = PagePart(name, as_data(overview(entry, metrics_of(entry))), brief, tasks)
        part.detailed = bool(brief) or entry["verdict"] != "PASS"
        part.fails = Verdict(entry["verdict"]).fails and not entry["xfail"]
        parts.append(part)
    left_out = fit(parts, about_of)
    head, tail = _shell()
    yield head
    yield _element("run", as_data(_run(report, left_out, origin)))
    shown = [part for part in parts if part.in_overview]
    yield _element("overview", b"[%b]" % b",\n".join(part.row for part in shown))
    for i, part in enumerate(shown):
        if part.about:
            yield _element(f"about-{i}", part.about)
        if part.listed:
            yield _element(f"tasks-{i}", kept.read(part.name, part.listed))
    yield tail


def page_of(name: Literal["site", "noise"], data: Any) -> Iterator[bytes]:
    """Write the first page of a site, or the page of a calibration."""
    head, tail = _shell()
    yield from (head, _element(name, as_data(data)), tail)


def _run(
    report: Mapping[str, Any],
    left_out: Mapping[str, int],
    origin: Mapping[str, str | None],
) -> dict[str, Any]:
    entries = report["benchmarks"]
    # an expected failure doesn't count
    counted = [
        e["verdict"]
        for e in entries
        if not (e["xfail"] and Verdict(e["verdict"]).fails)
    ]
    lost, skipped = report["not_evaluated"], report.get("skipped", [])
    return {
        "verdict": report["verdict"],
        "benchmarks": len(entries),
        "counts": {
            v: counted.count(v) for v in ("FAIL", "INCONCLUSIVE", "WARN", "PASS")
        },
        "known_to_fail": len(entries) - len(counted),
        "not_evaluated": lost[:_LISTED],
        "lost": len(lost),
        "broken_off": sorted(wording.broken_off(report).intersection(lost[:_LISTED])),
        "skipped": skipped[:_LISTED],
        "skips": len(skipped),
        "deselected": len(report.get("deselected", ())),
        "left_out": left_out,
        "origin": {key: value for key, value in origin.items() if value},
        "causes": wording.triage(report),
        "chance": wording.false_alarms(entries),
    }


def _element(name: str, data: bytes) -> bytes:
    return b'<script type="application/json" id="%b">%b</script>\n' % (
        name.encode(),
        data,
    )


def _shell() -> tuple[bytes, bytes]:
    """Assemble the page from its assets and data; its policy allows no other script."""
    style = "\n".join(asset(name) for name in _STYLES)
    library = asset("uplot/uPlot.iife.min.js")
    code = (
        '"use strict";\n(() => {\n'
        + "\n".join(asset(name) for name in _SCRIPTS)
        + "\n})();\n"
    )
    policy = (
        f"default-src 'none'; script-src {_hash(library)} {_hash(code)}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
    page = asset("page.html").replace("{{policy}}", policy).replace("{{style}}", style)
    head, _, tail = page.partition("{{data}}\n")
    tail = tail.replace("{{library}}", library).replace("{{code}}", code)
    return head.encode(), tail.encode()


def asset(name: str) -> str:
    """Return one of the page's own files."""
    return (
        resources.files(__package__)
        .joinpath("assets", *name.split("/"))
        .read_text("utf-8")
    )


def _hash(text: str) -> str:
    return (
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
    )


# -- a site over many runs -------------------------------------------------------------------

_RUN_DATA = re.compile(
    rb'<script type="application/json" id="run">(.*?)</script>', re.DOTALL
)


def build_site(folder: Path, output: Path) -> tuple[Path, list[str]]:
    """Write a static site over all runs below a folder; return its first page, and notes."""
    runs, notes = [], []
    for file in sorted(folder.rglob("*report.json")):
        if file.is_relative_to(output):
            continue
        try:
            runs.append(_site_run(folder, file))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            notes.append(
                f"{file}: no report that can be read: {type(error).__name__}: {error}"
            )
    if not runs:
        hint = "name the folder that holds the artifacts of runs, each in a folder of its own"
        what = "no run: there is no report.json below it"
        raise EvalMetricsError(what, file=str(folder), hint=hint)
    runs.sort(key=lambda run: (run["time"], run["name"]))
    site = {
        "runs": [
            {k: v for k, v in run.items() if k not in ("report", "page")}
            for run in runs
        ],
        "benchmarks": list(_site_benchmarks(runs)),
    }
    index = output / "index.html"
    try:
        for run in runs:
            if run["page"] is not None:
                target = output / "runs" / run["slug"] / "report.html"
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(run["page"], target)
        write_whole(index, page_of("site", site))
    except OSError as error:
        raise EvalMetricsError(
            f"can't be written: {error.strerror}", file=str(output)
        ) from error
    return index, notes


def _site_run(folder: Path, file: Path) -> dict[str, Any]:
    """Read one run; its page says when it ended, and what it judged."""
    report = json.loads(file.read_bytes())
    page = file.with_name(file.name.removesuffix("json") + "html")
    run_data = _RUN_DATA.search(page.read_bytes()) if page.is_file() else None
    origin = json.loads(run_data[1]).get("origin", {}) if run_data else {}
    name = file.relative_to(folder).as_posix().removesuffix("report.json").strip("/_")
    verdicts = [entry["verdict"] for entry in report["benchmarks"]]
    written = datetime.fromtimestamp(file.stat().st_mtime, UTC).strftime(
        "%Y-%m-%dT%H:%M:%SZ"
    )
    slug = re.sub(r"[^\w.-]+", "-", name).strip("-.") or "run"
    return {
        "name": name or file.parent.resolve().name,
        "slug": slug,
        "href": f"runs/{quote(slug)}/report.html" if page.is_file() else "",
        "verdict": report["verdict"],
        "benchmarks": len(verdicts),
        "red": sum(verdict in ("FAIL", "INCONCLUSIVE") for verdict in verdicts),
        **{key: str(origin.get(key) or "") for key in ("commit", "branch", "url")},
        "time": str(origin.get("time") or written),
        "report": report,
        "page": page if page.is_file() else None,
    }


def _site_benchmarks(runs: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Follow each benchmark through the runs; those that fail in the last run come first."""
    from pytest_evalmetrics.stats.drift import levels  # of a site alone

    entries = {
        entry["id"]: entry for run in runs for entry in run["report"]["benchmarks"]
    }
    for entry in in_order(list(entries.values())):
        lines = [
            {
                **{key: run[key] for key in ("time", "commit", "url", "href", "name")},
                "verdict": own["verdict"],
                "agents": {
                    agent["agent"]: {
                        name: {
                            "value": estimate["value"],
                            **(estimate["interval"] or {}),
                        }
                        for name, estimate in agent["estimates"].items()
                    }
                    for agent in own["agents"]
                },
            }
            for run in runs
            for own in run["report"]["benchmarks"]
            if own["id"] == entry["id"]
        ]
        history = history_of(entry, lines) or {"runs": [], "lines": []}
        for line in history["lines"]:
            defined = [i for i, value in enumerate(line["values"]) if value is not None]
            starts = levels([line["values"][i] for i in defined], len(history["lines"]))
            line["changes"] = [defined[start] for start in starts[1:]]
        yield {
            **{key: entry[key] for key in ("id", "name", "file", "verdict")},
            "in_last": any(
                e["id"] == entry["id"] for e in runs[-1]["report"]["benchmarks"]
            ),
            **history,
        }
