"""A site over many runs: their reports, and each benchmark's course through them."""

from __future__ import annotations

import re
import shutil
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec
from msgspec import structs

from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.model.history import HistoryPoint
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.reports.html.benchmark_view import (
    RUNS_SHOWN,
    HistoryLine,
    ShownRun,
    history_lines,
)
from pytest_evalmetrics.reports.html.page import page_of
from pytest_evalmetrics.whole_files import write_whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_RUN_DATA = re.compile(
    rb'<script type="application/json" id="run">(.*?)</script>', re.DOTALL
)
_SEVERITY = {
    Verdict.FAIL: 0,
    Verdict.INCONCLUSIVE: 1,
    Verdict.WARN: 2,
    Verdict.PASS: 3,
}

# -- what is read of a run: in report.json of the versions 1 and 2 alike ---------------------


class _Interval(msgspec.Struct, frozen=True):
    low: float
    high: float


class _Estimate(msgspec.Struct, frozen=True):
    value: float
    tasks: int = 0
    rollouts: int = 0
    interval: _Interval | None = None


class _Agent(msgspec.Struct, frozen=True):
    agent: str
    key_metrics: dict[str, float]
    estimates: dict[str, _Estimate]


class _Check(msgspec.Struct, frozen=True):
    gate: Gate
    name: str


class _Benchmark(msgspec.Struct, frozen=True):
    id: str
    name: str
    file: str
    verdict: Verdict
    xfail: bool
    agents: tuple[_Agent, ...]
    checks: tuple[_Check, ...]


class _Report(msgspec.Struct, frozen=True):
    verdict: Verdict
    benchmarks: tuple[_Benchmark, ...]


class _Origin(msgspec.Struct, frozen=True):
    time: str = ""
    commit: str = ""
    branch: str = ""
    url: str = ""


class _RunData(msgspec.Struct, frozen=True):
    """What a run's page says of it."""

    origin: _Origin = _Origin()


# -- what the site shows ---------------------------------------------------------------------


class SiteRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run of the site."""

    name: str
    slug: str
    href: str  # of its own page; empty if it has none
    verdict: Verdict
    benchmarks: int
    red: int  # of them
    commit: str
    branch: str
    url: str
    time: str


class SiteLine(HistoryLine, frozen=True, kw_only=True):
    """A metric over the runs, and where its level changed."""

    changes: tuple[int, ...]


class SiteBenchmark(msgspec.Struct, frozen=True, kw_only=True):
    """A benchmark over the runs."""

    id: str
    name: str
    file: str
    verdict: Verdict  # in the last run that has it
    in_last: bool
    runs: tuple[ShownRun, ...]
    lines: tuple[SiteLine, ...]


class Site(msgspec.Struct, frozen=True):
    """The first page of a site."""

    runs: tuple[SiteRun, ...]
    benchmarks: tuple[SiteBenchmark, ...]


class _Read(msgspec.Struct, frozen=True):
    """A run as it was read."""

    run: SiteRun
    report: _Report
    page: Path | None


def build_site(folder: Path, output: Path) -> tuple[Path, list[str]]:
    """Write a static site over all runs below a folder; return its first page, and notes."""
    runs, notes = _read_all(folder, output)
    site = Site(
        runs=tuple(read.run for read in runs),
        benchmarks=tuple(_benchmarks(runs)),
    )
    index = output / "index.html"
    try:
        for read in runs:
            if read.page is not None:
                target = output / "runs" / read.run.slug / "report.html"
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(read.page, target)
        write_whole(index, page_of("site", site))
    except OSError as error:
        what = f"can't be written: {error.strerror}"
        raise EvalMetricsError(what, file=str(output)) from error
    return index, notes


def _read_all(folder: Path, output: Path) -> tuple[list[_Read], list[str]]:
    """Read the runs below a folder, the oldest first; return notes on those that can't be read."""
    runs = []
    notes = []
    for file in sorted(folder.rglob("*report.json")):
        if file.is_relative_to(output):
            continue
        try:
            runs.append(_read(folder, file))
        except (
            OSError,
            msgspec.DecodeError,
            UnicodeDecodeError,
            RecursionError,
        ) as error:
            why = f"{type(error).__name__}: {error}"
            notes.append(f"{file}: no report that can be read: {why}")
    if not runs:
        hint = "name the folder that holds the artifacts of runs, each in a folder of its own"
        what = "no run: there is no report.json below it"
        raise EvalMetricsError(what, file=str(folder), hint=hint)
    runs.sort(key=lambda read: (read.run.time, read.run.name))
    return runs, notes


def _read(folder: Path, file: Path) -> _Read:
    """Read one run; its page says when it ended, and what it judged."""
    report = msgspec.json.decode(file.read_bytes(), type=_Report)
    name = file.relative_to(folder).as_posix().removesuffix("report.json").strip("/_")
    slug = re.sub(r"[^\w.-]+", "-", name).strip("-.") or "run"
    page: Path | None = file.with_name(file.name.removesuffix("json") + "html")
    origin = _Origin()
    href = ""
    if page is not None and page.is_file():
        origin = _origin(page)
        href = f"runs/{quote(slug)}/report.html"
    else:
        page = None
    written = datetime.fromtimestamp(file.stat().st_mtime, UTC)
    run = SiteRun(
        name=name or file.parent.resolve().name,
        slug=slug,
        href=href,
        verdict=report.verdict,
        benchmarks=len(report.benchmarks),
        red=sum(benchmark.verdict.fails for benchmark in report.benchmarks),
        commit=origin.commit,
        branch=origin.branch,
        url=origin.url,
        time=origin.time or f"{written:%Y-%m-%dT%H:%M:%SZ}",
    )
    return _Read(run, report, page)


def _origin(page: Path) -> _Origin:
    data = _RUN_DATA.search(page.read_bytes())
    if data is None:
        return _Origin()
    return msgspec.json.decode(data[1], type=_RunData).origin


def _benchmarks(runs: Sequence[_Read]) -> Iterator[SiteBenchmark]:
    """Follow each benchmark through the runs; those that fail in the last run come first."""
    newest: dict[str, _Benchmark] = {}
    for read in runs:
        newest |= {benchmark.id: benchmark for benchmark in read.report.benchmarks}
    in_last = {benchmark.id for benchmark in runs[-1].report.benchmarks}
    for benchmark in sorted(newest.values(), key=_order):
        yield _benchmark(benchmark, runs, in_last=benchmark.id in in_last)


def _order(benchmark: _Benchmark) -> tuple[bool, int, str]:
    return benchmark.xfail, _SEVERITY[benchmark.verdict], benchmark.id


def _benchmark(
    benchmark: _Benchmark, runs: Sequence[_Read], *, in_last: bool
) -> SiteBenchmark:
    shown = []
    points = []
    for read in runs:
        for own in read.report.benchmarks:
            if own.id == benchmark.id:
                shown.append(_shown(read.run, own))
                points.append({agent.agent: _points(agent) for agent in own.agents})
    gated = {check.name for check in benchmark.checks if check.gate is not Gate.EXPECT}
    lines = history_lines(
        gated,
        {agent.agent: agent.key_metrics for agent in benchmark.agents},
        points[-RUNS_SHOWN:],
        {},
    )
    if not lines:
        shown = []
    return SiteBenchmark(
        id=benchmark.id,
        name=benchmark.name,
        file=benchmark.file,
        verdict=benchmark.verdict,
        in_last=in_last,
        runs=tuple(shown[-RUNS_SHOWN:]),
        lines=tuple(_with_changes(line, len(lines)) for line in lines),
    )


def _shown(run: SiteRun, benchmark: _Benchmark) -> ShownRun:
    return ShownRun(
        time=run.time,
        verdict=benchmark.verdict,
        commit=run.commit,
        url=run.url,
        href=run.href,
    )


def _points(agent: _Agent) -> dict[str, HistoryPoint]:
    points = {}
    for name, estimate in agent.estimates.items():
        point = HistoryPoint(estimate.value, estimate.tasks, estimate.rollouts)
        if estimate.interval is not None:
            low = estimate.interval.low
            high = estimate.interval.high
            point = structs.replace(point, low=low, high=high)
        points[name] = point
    return points


def _with_changes(line: HistoryLine, lines: int) -> SiteLine:
    from pytest_evalmetrics.stats.drift import levels  # of a site alone

    defined = [at for at, value in enumerate(line.values) if value is not None]
    values = [value for value in line.values if value is not None]
    starts = levels(values, lines)
    changes = tuple(defined[start] for start in starts[1:])
    return SiteLine(
        agent=line.agent,
        metric=line.metric,
        baseline=line.baseline,
        values=line.values,
        lows=line.lows,
        highs=line.highs,
        changes=changes,
    )
