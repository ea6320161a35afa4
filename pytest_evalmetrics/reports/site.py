"""A static site over many runs: each run's page, and each benchmark's trend and changes."""

from __future__ import annotations

import json
import re
import shutil
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pytest_evalmetrics.errors import ArtifactError
from pytest_evalmetrics.reports.html.page import history_of, in_order, write_other
from pytest_evalmetrics.stats.drift import levels

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_RUN_DATA = re.compile(rb'<script type="application/json" id="run">(.*?)</script>', re.DOTALL)


def build_site(folder: Path, output: Path) -> tuple[Path, list[str]]:
    """Write the site of all runs below a folder; return its first page, and notes for the user.

    The artifacts of each run are in a folder of their own, at any depth; a run that can't be read
    is left out with a note. Each run's page goes below ``runs``. ArtifactError says that there is
    no run, or that the site can't be written.
    """
    runs, notes = [], []
    for file in sorted(folder.rglob("*report.json")):
        if file.is_relative_to(output):
            continue
        try:
            runs.append(_run(folder, file))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            notes.append(f"{file}: no report that can be read: {type(error).__name__}: {error}")
    if not runs:
        raise ArtifactError(
            "no run: there is no report.json below it",
            file=str(folder),
            hint="name the folder that holds the artifacts of runs, each in a folder of its own",
        )
    runs.sort(key=lambda run: (run["time"], run["name"]))
    site = {
        "runs": [{k: v for k, v in run.items() if k not in ("report", "page")} for run in runs],
        "benchmarks": list(_benchmarks(runs)),
    }
    index = output / "index.html"
    try:
        for run in runs:
            if run["page"] is not None:
                target = output / "runs" / run["slug"] / "report.html"
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(run["page"], target)
        output.mkdir(parents=True, exist_ok=True)
        with index.open("wb") as page:
            write_other(page, "site", site)
    except OSError as error:
        raise ArtifactError(f"can't be written: {error.strerror}", file=str(output)) from error
    return index, notes


def _run(folder: Path, file: Path) -> dict[str, Any]:
    """Read one run; its page says when it ended, and what it judged."""
    report = json.loads(file.read_bytes())
    page = file.with_name(file.name.removesuffix("json") + "html")
    found = _RUN_DATA.search(page.read_bytes()) if page.is_file() else None
    origin = json.loads(found[1]).get("origin", {}) if found else {}
    name = file.relative_to(folder).as_posix().removesuffix("report.json").strip("/_")
    verdicts = [entry["verdict"] for entry in report["benchmarks"]]
    written = datetime.fromtimestamp(file.stat().st_mtime, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
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


def _benchmarks(runs: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Follow each benchmark through the runs; those that fail in the last run come first."""
    entries = {entry["id"]: entry for run in runs for entry in run["report"]["benchmarks"]}
    for entry in in_order(list(entries.values())):
        lines = [
            {
                **{key: run[key] for key in ("time", "commit", "url", "href", "name")},
                "verdict": own["verdict"],
                "agents": {a["agent"]: _points(a) for a in own["agents"]},
            }
            for run in runs
            for own in run["report"]["benchmarks"]
            if own["id"] == entry["id"]
        ]
        history = history_of(entry, lines) or {"runs": [], "lines": []}
        for line in history["lines"]:
            known = [i for i, value in enumerate(line["values"]) if value is not None]
            starts = levels([line["values"][i] for i in known], len(history["lines"]))
            line["changes"] = [known[start] for start in starts[1:]]
        yield {
            **{key: entry[key] for key in ("id", "name", "file", "verdict")},
            "in_last": any(e["id"] == entry["id"] for e in runs[-1]["report"]["benchmarks"]),
            **history,
        }


def _points(agent: Mapping[str, Any]) -> dict[str, Mapping[str, float | None]]:
    estimates = {name: agent["estimates"].get(name) for name in agent["key_metrics"]}
    return {
        name: {"value": estimate["value"], **(estimate["interval"] or {})}
        for name, estimate in estimates.items()
        if estimate is not None
    }
