"""report.html: one file that opens without a network and interprets nothing of a row."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec
from msgspec import structs

from pytest_evalmetrics.model.verdicts import Verdict
from pytest_evalmetrics.reports import check_wording, run_wording, triage
from pytest_evalmetrics.reports.html.benchmark_view import (
    about,
    in_order,
    metrics_of,
    overview,
)
from pytest_evalmetrics.reports.html.conversations import fitting
from pytest_evalmetrics.reports.html.picture import first
from pytest_evalmetrics.reports.html.static_page import static_page

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_evalmetrics.model.history import HistoryRun
    from pytest_evalmetrics.model.results import BenchmarkResult, RunReport, SkippedItem
    from pytest_evalmetrics.reports.html.picture import Picture
    from pytest_evalmetrics.reports.triage import CauseLines
    from pytest_evalmetrics.run_origin import RunOrigin

# in JSON these occur in strings only, where an escape is equivalent
_ESCAPED = "&<>\u2028\u2029"


def as_data(value: object) -> bytes:
    """Write a record or builtins as JSON for a ``<script type="application/json">``."""
    data = msgspec.json.encode(value)
    for character in _ESCAPED:
        data = data.replace(character.encode(), b"\\u%04x" % ord(character))
    return data


# -- the tasks of a benchmark, written where it is evaluated ---------------------------------

_TASKS = 1_500_000  # bytes of one benchmark's tasks
_TALKS = 1_200_000  # bytes of the conversations of one benchmark
_BRIEF = 50  # tasks
_SPARE = 0.9  # the tasks that are left may be longer than those that are not


def page_texts(pictures: Mapping[str, Picture]) -> dict[str, str]:
    """Write the summary of all tasks, the tasks that a page shows, and the most telling ones."""
    if not pictures:
        return {}
    listed = {agent: picture.tasks for agent, picture in pictures.items()}
    tasks = as_data(listed)
    while len(tasks) > _TASKS:
        share = _SPARE * _TASKS / len(tasks)
        for agent, columns in listed.items():
            listed[agent] = first(columns, int(share * len(columns.ids)))
        tasks = as_data(listed)
    summaries = {agent: picture.about for agent, picture in pictures.items()}
    brief = {agent: first(columns, _BRIEF) for agent, columns in listed.items()}
    return {
        "about": as_data(summaries).decode(),
        "brief": as_data(brief).decode(),
        "tasks": tasks.decode(),
        "talks": _conversations(pictures),
    }


def _conversations(pictures: Mapping[str, Picture]) -> str:
    """Write the conversations of tasks that changed; empty without any."""
    most = _TALKS // len(pictures)
    talks = {
        agent: fitting(picture.conversations, most)
        for agent, picture in pictures.items()
    }
    if not any(talks.values()):
        return ""
    return as_data(talks).decode()


# -- what fits into the page -----------------------------------------------------------------

LIMIT = 2_500_000  # bytes of data, but for the short pages of benchmarks that fail
_ROWS = 700_000  # of these for the overview
_ABOUT = 900_000  # for metrics, checks and distributions of benchmarks that pass
# of those that fail; if there are more, each has a short page
_FAILING = 1_500_000
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
    talks: int = 0  # bytes of its conversations
    has_talks: bool = False  # whether they are shown


class LeftOut(msgspec.Struct, frozen=True):
    """How many benchmarks lack each part."""

    rows: int
    about: int
    short: int
    tasks: int
    brief: int


class KeptTexts(Protocol):
    """The texts of benchmarks, by kind."""

    def read(self, item_id: str, kind: str) -> bytes:
        """Return a text; empty if there is none."""
        ...

    def size(self, item_id: str, kind: str) -> int:
        """Return the number of its bytes."""
        ...


class Describe(Protocol):
    """Writes a benchmark's page without its tasks."""

    def __call__(self, name: str, *, short: bool = False) -> bytes:
        """Write it; `short` keeps little but the reasons of failures."""
        ...


def fit(parts: Sequence[PagePart], describe: Describe) -> LeftOut:
    """Choose the parts that fit into the page; return what is left out."""
    _list_rows(parts)
    passing = _Room(_ABOUT)
    failing = _Room(_FAILING)
    for part in parts:
        if not part.in_overview or not part.detailed:
            continue
        room = passing
        if part.fails:
            room = failing
        part.about = room.taken_by(part, describe)
        if part.fails and not part.about:
            part.about = describe(part.name, short=True)
            part.is_short = True
    used = sum(len(part.row) for part in parts if part.in_overview)
    used += sum(len(part.about) for part in parts)
    _list_tasks(parts, LIMIT - used)
    return _left_out(parts)


def _list_rows(parts: Sequence[PagePart]) -> None:
    """Choose the benchmarks of the overview: those that fail, and others that fit."""
    left = _ROWS
    for part in parts:
        if part.fails or len(part.row) <= left:
            part.in_overview = True
            left -= len(part.row)


class _Room:
    """A number of bytes for the pages of benchmarks."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._used = 0

    def taken_by(self, part: PagePart, describe: Describe) -> bytes:
        """Return a benchmark's page without its tasks; empty if there is no room for it."""
        if self._used > _FULL * self._size:
            return b""
        text = describe(part.name)
        if self._used + len(text) > self._size:
            return b""
        self._used += len(text)
        return text


def _left_out(parts: Sequence[PagePart]) -> LeftOut:
    with_tasks = [part for part in parts if _has_tasks(part)]
    return LeftOut(
        rows=sum(not part.in_overview for part in parts),
        about=sum(part.in_overview and not part.about for part in parts),
        short=sum(part.is_short for part in parts),
        tasks=sum(not part.listed for part in with_tasks),
        brief=sum(part.listed == "brief" for part in with_tasks),
    )


def _has_tasks(part: PagePart) -> bool:
    return bool(part.about and not part.is_short and part.brief)


def _list_tasks(parts: Sequence[PagePart], left: int) -> None:
    """Choose whose tasks are listed in so many bytes, and how many of them."""
    for part in parts:
        if not _has_tasks(part):
            continue
        if part.talks + part.brief <= left:
            part.has_talks = part.talks > 0
            left -= part.talks
        if part.tasks <= left:
            part.listed = "tasks"
            left -= part.tasks
        elif part.brief <= left:
            part.listed = "brief"
            left -= part.brief


# -- the file --------------------------------------------------------------------------------

_WARNINGS = 50
_EXAMPLES = 3  # tasks of a benchmark in the overview
_WITH_EXAMPLES = 8  # benchmarks that have them
_LISTED = 1000  # benchmarks without a result
_STYLES = ("uplot/uPlot.min.css", "base.css", "page.css")
_SCRIPTS = (
    "dom.js",
    "numbers.js",
    "theme.js",
    "sorting.js",
    "changes.js",
    "charts.js",
    "differences.js",
    "turns.js",
    "overview.js",
    "answers.js",
    "transitions.js",
    "tasks.js",
    "benchmark.js",
    "site.js",
    "noise.js",
    "main.js",
)


def page(
    report: RunReport, kept: KeptTexts, origin: RunOrigin | None
) -> Iterator[bytes]:
    """Write the page, one benchmark at a time; `origin` says when it ran, and on which commit."""
    results = {result.id: result for result in in_order(report.benchmarks)}

    def describe(name: str, *, short: bool = False) -> bytes:
        result = results[name]
        runs = report.history.get(name, ())
        view = about(result, metrics_of(result), runs, short=short)
        # the summary of its tasks is put in as the text that it is
        summary = b""
        if not short:
            summary = kept.read(name, "about")
        return b'{"pictures":%b,%b' % (summary or b"{}", as_data(view)[1:])

    parts = _parts(report, list(results.values()), kept)
    left_out = fit(parts, describe)
    head, tail = _shell(static_page(report))
    yield head
    yield _element("run", as_data(_run(report, left_out, origin)))
    shown = [part for part in parts if part.in_overview]
    yield _element("overview", b"[%b]" % b",\n".join(part.row for part in shown))
    for at, part in enumerate(shown):
        yield from _elements_of(part, at, kept)
    yield tail


def _parts(
    report: RunReport, results: Sequence[BenchmarkResult], kept: KeptTexts
) -> list[PagePart]:
    """Describe the benchmarks in one row each; the first ones with tasks that got worse."""
    parts = []
    examples = _EXAMPLES
    for at, result in enumerate(results):
        if at == _WITH_EXAMPLES:
            examples = 0
        runs = report.history.get(result.id, ())
        parts.append(_part(result, kept, runs, examples=examples))
    return parts


def _elements_of(part: PagePart, at: int, kept: KeptTexts) -> Iterator[bytes]:
    """Write what the page shows of a benchmark below its row."""
    if part.about:
        yield _element(f"about-{at}", part.about)
    if part.listed:
        yield _element(f"tasks-{at}", kept.read(part.name, part.listed))
    if part.has_talks:
        yield _element(f"talks-{at}", kept.read(part.name, "talks"))


def page_of(name: Literal["site", "noise"], data: object) -> Iterator[bytes]:
    """Write the first page of a site, or the page of a calibration."""
    head, tail = _shell(_NEEDS_SCRIPT)
    yield head
    yield _element(name, as_data(data))
    yield tail


def _part(
    result: BenchmarkResult,
    kept: KeptTexts,
    runs: Sequence[HistoryRun],
    *,
    examples: int,
) -> PagePart:
    brief = kept.size(result.id, "brief")
    row = overview(result, metrics_of(result), runs, examples=examples)
    return PagePart(
        name=result.id,
        row=as_data(row),
        brief=brief,
        tasks=kept.size(result.id, "tasks"),
        talks=kept.size(result.id, "talks"),
        detailed=bool(brief) or result.verdict is not Verdict.PASS,
        fails=result.verdict.fails and not result.xfail,
    )


class _RunView(msgspec.Struct, frozen=True, kw_only=True):
    """The run, above its benchmarks."""

    verdict: str
    benchmarks: int
    counts: dict[str, int]  # by verdict, without expected failures
    known_to_fail: int
    not_evaluated: tuple[str, ...]
    lost: int  # all of these
    broken_off: tuple[str, ...]
    skipped: tuple[SkippedItem, ...]
    skips: int  # all of these
    deselected: int
    left_out: LeftOut
    origin: dict[str, str]
    causes: tuple[CauseLines, ...]
    chance: str
    drifts: tuple[str, ...]
    stale: tuple[str, ...]  # baselines that are too old


def _known(origin: RunOrigin | None) -> dict[str, str]:
    """Return what is known of a run's origin."""
    if origin is None:
        return {}
    return {key: value for key, value in structs.asdict(origin).items() if value}


def _run(report: RunReport, left_out: LeftOut, origin: RunOrigin | None) -> _RunView:
    results = report.benchmarks
    words = []
    for result in results:
        is_known = result.xfail and result.verdict.fails
        if not is_known:
            words.append(check_wording.word_of_result(result))
    lost = report.not_evaluated[:_LISTED]
    broken_off = run_wording.broken_off(report).intersection(lost)
    return _RunView(
        verdict=report.verdict,
        benchmarks=len(results),
        counts={verdict: words.count(verdict) for verdict in _BY_SEVERITY},
        known_to_fail=len(results) - len(words),
        not_evaluated=lost,
        lost=len(report.not_evaluated),
        broken_off=tuple(sorted(broken_off)),
        skipped=report.skipped[:_LISTED],
        skips=len(report.skipped),
        deselected=len(report.deselected),
        left_out=left_out,
        origin=_known(origin),
        causes=tuple(triage.triage(results)),
        chance=run_wording.false_alarms(results),
        drifts=tuple(run_wording.drifts_of(report)[:_WARNINGS]),
        stale=tuple(run_wording.stale_baselines(results)[:_WARNINGS]),
    )


_BY_SEVERITY = (
    Verdict.FAIL,
    Verdict.INCONCLUSIVE,
    check_wording.ADVISORY,
    Verdict.WARN,
    Verdict.PASS,
)


def _element(name: str, data: bytes) -> bytes:
    element = b'<script type="application/json" id="%b">%b</script>\n'
    return element % (name.encode(), data)


_NEEDS_SCRIPT = "<noscript><p>This page draws itself with a script.</p></noscript>"


def _shell(static: str) -> tuple[bytes, bytes]:
    """Assemble the page from its assets; its policy allows no other script.

    `static` is the HTML that a reader sees without scripts.
    """
    style = "\n".join(asset(name) for name in _STYLES)
    library = asset("uplot/uPlot.iife.min.js")
    scripts = "\n".join(asset(name) for name in _SCRIPTS)
    code = f'"use strict";\n(() => {{\n{scripts}\n}})();\n'
    policy = (
        f"default-src 'none'; script-src {_hash(library)} {_hash(code)}; style-src {_hash(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )
    page = asset("page.html").replace("{{policy}}", policy).replace("{{style}}", style)
    begin, _, end = page.partition("{{static}}")
    middle, _, tail = end.partition("{{data}}\n")
    head = f"{begin}{static}{middle}"
    tail = tail.replace("{{library}}", library).replace("{{code}}", code)
    return head.encode(), tail.encode()


def asset(name: str) -> str:
    """Return one of the page's own files."""
    files = resources.files(__package__)
    return files.joinpath("assets", *name.split("/")).read_text("utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
