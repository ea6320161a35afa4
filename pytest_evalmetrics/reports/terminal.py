"""The terminal: the section of benchmarks at a run's end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pytest_evalmetrics.layout import capped, many, visible
from pytest_evalmetrics.model.verdicts import Verdict
from pytest_evalmetrics.reports import run_wording, triage, wording
from pytest_evalmetrics.reports.benchmark_lines import (
    Reading,
    colour_of,
    entry,
    short_line,
    short_lines,
)
from pytest_evalmetrics.reports.console import beginning, broken, limited
from pytest_evalmetrics.reports.failure_layout import COLOURS
from pytest_evalmetrics.reports.sentences.notes import note_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pytest_evalmetrics.model.results import BenchmarkResult, RunReport

    Lines = Iterator[tuple[str, str | None]]  # with a colour

_OTHERS_SHOWN = 10
_STALE = 3  # baselines
_MANY = 5  # benchmarks; from so many on, the expected false alarms are mentioned
_PASSING_SHOWN = 30  # passing benchmarks; -v shows all
_WHOLE_LINES = 40  # of an overview; where more are needed each benchmark has one
_QUIET_SHOWN = 50  # lines of -q
_FEW = 15  # benchmarks; each may take two lines where it is short
_CASE = 156  # columns of a cause's case
_CASE_LINES = 2  # of it


def section(
    report: RunReport, written: Sequence[str], reading: Reading
) -> list[tuple[str, str | None]]:
    """Write the section: lines, each with a colour or None."""
    lines = _lines(report, written, reading)
    return [(visible(line), colour) for line, colour in lines]


def _lines(report: RunReport, written: Sequence[str], reading: Reading) -> Lines:
    results = run_wording.by_evidence(report.benchmarks)
    if not reading.is_verbose:
        yield from _causes(results, reading)
    if reading.is_quiet:
        yield from _quiet(report, results, reading)
    else:
        drifts = run_wording.drifts_by_benchmark(report)
        yield from _overview(results, reading, drifts)
        yield from _without_result(report, reading)
    for note in _notes(results, reading):
        yield f"note: {note}", None
    for text in _stale_baselines(results, reading):
        yield f"warning: {text}", "yellow"
    if written:
        yield f"artifacts: {', '.join(written)}", None


# -- many failures ---------------------------------------------------------------------------


def _causes(results: Sequence[BenchmarkResult], reading: Reading) -> Lines:
    """Group what fails; where each failure is shown above, it says that already."""
    if not _folded(results, reading):
        return
    for cause in triage.triage(results):
        yield cause.head, "red"
        if cause.first in reading.explained:
            continue
        case = beginning(" ".join(cause.case.split()), _CASE)
        if case:
            lines = broken(f"    {case}", reading.width)
            for line in limited(lines, _CASE_LINES, reading.width):
                yield line, None
        if cause.command:
            yield f"    {cause.command}", None


def _folded(
    results: Sequence[BenchmarkResult], reading: Reading
) -> list[BenchmarkResult]:
    """List those of many failing benchmarks whose failures are not shown above."""
    failing = triage.failing(results)
    if len(failing) <= triage.FOLDED:
        return []
    return [result for result in failing if result.id not in reading.explained]


# -- with -q ---------------------------------------------------------------------------------


def _quiet(
    report: RunReport, results: Sequence[BenchmarkResult], reading: Reading
) -> Lines:
    """Write one line a benchmark, and one for all."""
    if reading.verbosity == -1:
        drifts = run_wording.drifts_by_benchmark(report)
        for result in results[:_QUIET_SHOWN]:
            yield short_line(result, reading), colour_of(result)
            yield from _drift_lines(drifts.get(result.id, ()), reading)
        if len(results) > _QUIET_SHOWN:
            yield f"... and {len(results) - _QUIET_SHOWN} more", None
    total = many(len(results), "benchmark")
    counts = run_wording.verdict_counts(report)
    yield f"{total}: {counts}", COLOURS[report.verdict]
    for line in wording.recorded_count(results):
        yield line, None


# -- each benchmark --------------------------------------------------------------------------


class _Chosen(msgspec.Struct, frozen=True):
    """The benchmarks that have one line, and those that have none, by id."""

    short: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()


def _overview(
    results: Sequence[BenchmarkResult],
    reading: Reading,
    drifts: Mapping[str, Sequence[str]],
) -> Lines:
    """Write each benchmark, the failing first; of many one line each, and the first ones."""
    chosen = _chosen(results, reading, drifts)
    red = {result.id for result in triage.failing(results)}
    failing = [result for result in results if result.id in red]
    others = [result for result in results if result.id not in red]
    for group, end, colour in ((failing, "fail", "red"), (others, "pass", "green")):
        shown = [result for result in group if result.id not in chosen.hidden]
        for result in shown:
            if result.id in chosen.short:
                in_full = len(results) <= _FEW
                for line in short_lines(result, reading, in_full=in_full):
                    yield line, colour_of(result)
            else:
                yield from entry(result, reading)
            yield from _drift_lines(drifts.get(result.id, ()), reading)
        hidden = len(group) - len(shown)
        if hidden:
            yield f"... and {hidden} more that {end} (-v shows them)", colour


def _chosen(
    results: Sequence[BenchmarkResult],
    reading: Reading,
    drifts: Mapping[str, Sequence[str]],
) -> _Chosen:
    """Choose what is written briefly, or not at all; with -v everything is whole."""
    if reading.is_verbose:
        return _Chosen()
    folded = [result.id for result in _folded(results, reading)]
    passing = [
        result.id
        for result in results
        if _passes_as_before(result) and result.id not in drifts
    ]
    short = set(folded)
    if _is_long(results, reading):
        short |= {result.id for result in results if not _records(result)}
    hidden = {*folded[triage.FOLDED :], *passing[_PASSING_SHOWN:]}
    return _Chosen(short=frozenset(short), hidden=frozenset(hidden))


def _is_long(results: Sequence[BenchmarkResult], reading: Reading) -> bool:
    """Whether whole entries would take more lines than an overview may have."""
    count = 0
    for result in results:
        lines = list(entry(result, reading))
        count += len(lines)
        if count > _WHOLE_LINES:
            return True
    return False


def _drift_lines(drifts: Sequence[str], reading: Reading) -> Lines:
    """Warn of a benchmark's drift where its verdict stands, which does not tell of it."""
    for text in drifts:
        for line in broken(f"    warning: drift: {text}", reading.width):
            yield line, "yellow"


def _passes_as_before(result: BenchmarkResult) -> bool:
    return result.verdict is Verdict.PASS and not _records(result)


def _records(result: BenchmarkResult) -> bool:
    """Whether a benchmark records a new baseline, which is always reported."""
    return result.recorded is not None and result.recorded.written


def _without_result(report: RunReport, reading: Reading) -> Lines:
    lost = [
        f"INCONCLUSIVE  {item}  {why}" for item, why in run_wording.lost_ones(report)
    ]
    skipped = [f"{'SKIPPED':<12}  {item.id}  {item.reason}" for item in report.skipped]
    if not reading.is_verbose:
        more_lost = "... and {} more that were not evaluated (-v shows them)"
        lost = capped(lost, _OTHERS_SHOWN, more_lost)
        more_skipped = "... and {} more skipped (-v shows them)"
        skipped = capped(skipped, _OTHERS_SHOWN, more_skipped)
    for line in lost:
        yield line, "red"
    for line in skipped:
        yield line, "yellow"


# -- all benchmarks --------------------------------------------------------------------------


def _notes(results: Sequence[BenchmarkResult], reading: Reading) -> Iterator[str]:
    """Say of all benchmarks together what limits their verdicts."""
    if reading.verbosity == 0:
        yield from _common_notes(results)
    yield from run_wording.blind_gates(results)
    if reading.is_quiet:
        return
    chance = run_wording.false_alarms(results)
    if chance and len(results) >= _MANY:
        yield chance
    unknown_noise = run_wording.unknown_noise(results)
    if unknown_noise:
        yield unknown_noise
    unseen_tasks = run_wording.unseen_tasks(results)
    if unseen_tasks:
        yield unseen_tasks


def _common_notes(results: Iterable[BenchmarkResult]) -> Iterator[str]:
    """Write each group of notes once, with one example."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for result in results:
        for note in result.notes:
            text = f"{result.id}: {note_text(note)}"
            groups.setdefault(note.group, []).append(text)
    for first, *others in groups.values():
        text = first
        if others:
            text += f" (and {many(len(others), 'more such note')}: -v)"
        yield text


def _stale_baselines(results: Sequence[BenchmarkResult], reading: Reading) -> list[str]:
    """Name the baselines that are too old: with -v all of them, with -q how many there are."""
    stale = run_wording.stale_baselines(results)
    if reading.is_verbose:
        return stale
    most = _STALE
    if reading.is_quiet:
        most = 0
    return capped(stale, most, "and {} more baselines that are too old (-v shows them)")
