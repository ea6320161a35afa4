"""``report.html``: one file that opens without a network, and interprets nothing of a row."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

from pytest_evalmetrics.reports.html.entries import about, in_order, overview
from pytest_evalmetrics.reports.html.fitting import Fitting, Size
from pytest_evalmetrics.reports.html.metrics import metrics_of
from pytest_evalmetrics.reports.html.safe import as_data
from pytest_evalmetrics.reports.lost import broken_off
from pytest_evalmetrics.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_evalmetrics.reports.html.pieces import PagePieces

__all__ = ["write_page"]

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
    "benchmark.js",
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
) -> None:
    """Write the page, one benchmark at a time."""
    entries = {entry["id"]: entry for entry in in_order(report["benchmarks"])}
    rows = {name: as_data(overview(e, metrics_of(e))) for name, e in entries.items()}
    sizes = [(name, _size(entries[name], rows[name], pieces.get(name))) for name in rows]

    def said_of(name: str) -> bytes:
        entry, found = entries[name], pieces.get(name)
        text = as_data(about(entry, metrics_of(entry), report.get("history", {}).get(name, ())))
        # the summary of its tasks is put in as the text that it is
        summary = read(found.about) if found and found.about[1] else b"{}"
        return b'{"pictures":%b,%b' % (summary, text[1:])

    fits = Fitting.of(sizes, said_of)
    shell = _shell()
    file.write(shell.head)
    _write_run(file, report, fits.left_out)
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


def _size(entry: Mapping[str, Any], row: bytes, found: PagePieces | None) -> Size:
    brief, tasks = (0, 0) if found is None else (found.brief[1], found.tasks[1])
    return Size(len(row), brief, tasks, detailed=bool(brief) or entry["verdict"] != Verdict.PASS)


def _write_run(file: BinaryIO, report: Mapping[str, Any], left_out: Mapping[str, int]) -> None:
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
