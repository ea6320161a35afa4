"""``report.html``: one file that opens without a network, and interprets nothing of a row."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, BinaryIO

from pytest_evalmetrics.reports.html.entries import about, in_order, overview
from pytest_evalmetrics.reports.html.fitting import LIMIT, Fitting, Size
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


@dataclass(frozen=True)
class _Shell:
    """The page around its data."""

    head: bytes
    tail: bytes


def write_page(
    file: BinaryIO,
    report: Mapping[str, Any],
    pieces: Mapping[str, PagePieces],
    read: Callable[[tuple[int, int]], bytes],
) -> None:
    """Write the page, one benchmark at a time.

    Parameters
    ----------
    file
        Where to.
    report
        The report's document, without the scores of tasks.
    pieces
        Of each benchmark, where the texts about its tasks are kept.
    read
        Gives a text that is kept.
    """
    entries = in_order(report["benchmarks"])
    rows: dict[str, bytes] = {}
    details: dict[str, bytes] = {}
    sizes: list[tuple[str, Size]] = []
    held = 0
    for entry in entries:
        item, metrics = entry["id"], metrics_of(entry)
        found = pieces.get(item)
        rows[item] = as_data(overview(entry, metrics))
        # the summary of its tasks is put in as the text that it is
        text = as_data(about(entry, metrics, report.get("history", {}).get(item, ())))
        summary = read(found.about) if found and found.about[1] else b"{}"
        detail = b'{"pictures":%b,%b' % (summary, text[1:])
        size = Size(
            len(rows[item]),
            len(detail),
            *((0, 0) if found is None else (found.brief[1], found.tasks[1])),
        )
        sizes.append((item, size))
        held += size.about
        if held <= 2 * LIMIT:  # the first of them are chosen from
            details[item] = detail
    fits = Fitting.of(sizes)
    shell = _shell()
    file.write(shell.head)
    _write_run(file, report, fits.left_out)
    file.write(b'<script type="application/json" id="overview">[')
    shown = [item for item, _ in sizes if item in fits.rows]
    file.write(b",\n".join(rows[item] for item in shown))
    file.write(b"]</script>\n")
    for i, item in enumerate(shown):
        if item in details and item in fits.about:
            _write_data(file, f"about-{i}", details[item])
        if item in fits.tasks:
            kind = fits.tasks[item]
            found = pieces[item]
            _write_data(file, f"tasks-{i}", read(found.tasks if kind == "tasks" else found.brief))
    file.write(shell.tail)


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
