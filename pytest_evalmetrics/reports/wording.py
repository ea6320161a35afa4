"""Numbers, cells and single lines as people read them, shared by all writers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.layout import amount, capped, listed, many, of_many, visible
from pytest_evalmetrics.reports.console import columns_of, padded

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_evalmetrics.model.results import BenchmarkResult, RecordedBaseline
    from pytest_evalmetrics.model.scores import (
        CallTotals,
        JudgeUse,
        RowFailure,
        ScorerFailures,
    )

# -- numbers and tables ----------------------------------------------------------------------


def number(value: float | None) -> str:
    """Write a number in at most six significant digits, whole ones without a point."""
    if value is None:
        return ""
    # beyond it floats skip integers
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    if 0.001 <= abs(value) < 100:
        return f"{value:.4f}"
    return f"{value:.6g}"


_ROUNDING = 1e-12  # of a difference of two means


def signed(value: float | None) -> str:
    """Write a change, with its sign; what is left of rounding is none."""
    if value is None:
        return ""
    if abs(value) < _ROUNDING:
        return "0"
    sign = "+" if value > 0 else ""
    return sign + number(value)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Align rows below a header, without the columns that are empty."""
    used = [i for i in range(len(header)) if any(row[i] for row in rows)]
    lines = [[header[i] for i in used]]
    lines += [[visible(row[i]) for i in used] for row in rows]
    widths = [max(columns_of(line[i]) for line in lines) for i in range(len(used))]
    aligned = []
    for line in lines:
        cells = map(padded, line, widths)
        aligned.append("  ".join(cells).rstrip())
    return aligned


def fitted_table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int | None,
    dispensable: Sequence[str],
    left_out: Iterable[str] = (),
) -> list[str]:
    """Align rows, without the columns that the width has no room for, the first ones first."""
    gone = set(left_out)
    waiting = list(dispensable)
    while True:
        kept = [i for i, name in enumerate(header) if name not in gone]
        lines = table(
            [header[i] for i in kept], [[row[i] for i in kept] for row in rows]
        )
        fits = width is None or max(map(columns_of, lines)) <= width
        if fits or not waiting:
            return lines
        gone.add(waiting.pop(0))


_BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float]) -> str:
    """Draw values as bars: the lowest is the lowest bar, and equal values are one level."""
    low = min(values, default=0.0)
    high = max(values, default=0.0)
    if high == low:
        return _BARS[3] * len(values)
    highest = len(_BARS) - 1
    bars = []
    for value in values:
        step = (value - low) / (high - low) * highest
        bars.append(_BARS[int(step + 0.5)])
    return "".join(bars)


# -- calls of models and endpoints -----------------------------------------------------------


def judge_lines(judges: Iterable[JudgeUse]) -> list[str]:
    """Sum up the calls of judges in one line; none if nothing was asked."""
    by_model: dict[str, list[JudgeUse]] = {}
    for use in judges:
        if use.calls:
            by_model.setdefault(use.model, []).append(use)
    models = [_judge_model(model, uses) for model, uses in by_model.items()]
    return [f"judges: {'; '.join(models)}"] if models else []


def _judge_model(model: str, uses: Sequence[JudgeUse]) -> str:
    answers = sum(use.calls for use in uses)
    parts = [f"{model}: {many(answers, 'answer')}"]
    tokens = sum(use.total_tokens for use in uses)
    if tokens:
        parts.append(many(tokens, "token"))
    cost = _total(use.cost for use in uses)
    if cost is not None:
        parts.append(f"cost {amount(cost)}")
    slowest = max(use.latency_s["p95"] for use in uses)
    parts.append(f"95 % within {slowest:.2g} s")
    return ", ".join(parts)


def replayed_note(totals: Sequence[CallTotals]) -> str:
    """Say that nothing was called, where every answer came from the journal; else ""."""
    answered = sum(total.calls for total in totals)
    from_journal = sum(total.from_journal for total in totals)
    requests = sum(total.requests for total in totals)
    if not answered or requests or from_journal < answered:
        return ""
    return f"nothing was called: the journal gave {_all_of(answered)}"


def _all_of(answers: int) -> str:
    return "the only answer" if answers == 1 else f"all {answers} answers"


def calls_line(totals: Sequence[CallTotals]) -> list[str]:
    """Sum up the calls of all benchmarks in one line; none if nothing was called."""
    if not totals:
        return []
    answered = f"{sum(each.calls for each in totals)} answered"
    from_journal = sum(each.from_journal for each in totals)
    if from_journal:
        answered += f" ({from_journal} by the journal)"
    parts = [answered]
    failed = sum(each.failed for each in totals)
    if failed:
        parts.append(f"{failed} failed")
    requests = sum(each.requests for each in totals)
    parts.append(f"{many(requests, 'request')} sent")
    tokens = sum(each.total_tokens for each in totals)
    if tokens:
        parts.append(many(tokens, "token"))
    paid = _total(each.cost_now for each in totals)
    worth = _total(each.cost for each in totals)
    if paid is not None:
        parts.append(f"cost {amount(paid)}")
        if from_journal and worth is not None:
            parts.append(f"saved {amount(worth - paid)}")
    return [f"calls: {', '.join(parts)}"]


def _total(costs: Iterable[float | None]) -> float | None:
    """Add up costs; None if one of them is unknown."""
    total = 0.0
    for cost in costs:
        if cost is None:
            return None
        total += cost
    return total


# -- baselines -------------------------------------------------------------------------------

_NAMED = 8  # changed metrics of a benchmark; all of them are in the report


def recorded_lines(recorded: RecordedBaseline | None) -> list[str]:
    """Describe the baseline that a benchmark recorded; nothing if it recorded none."""
    if recorded is None:
        return []
    changed = []
    same = []
    for name, (before, now) in recorded.metrics.items():
        if before == now:
            same.append(name)
        else:
            changed.append(f"    {name} {_change(before, now)}")
    what = "recorded" if recorded.written else "unchanged"
    lines = [f"{what} {recorded.file}"]
    lines += capped(changed, _NAMED, "    ... and {} more: see report.json")
    if same and recorded.written:
        lines.append(f"    as before: {listed(same, _NAMED)}")
    return lines


def recorded_count(results: Iterable[BenchmarkResult]) -> list[str]:
    """Count the baselines that all benchmarks recorded in one line; none if none did."""
    written = [result.recorded.written for result in results if result.recorded]
    parts = [(written.count(True), "recorded"), (written.count(False), "unchanged")]
    counted = ", ".join(f"{count} {what}" for count, what in parts if count)
    return [f"baselines: {counted}"] if counted else []


def _change(before: float | None, now: float | None) -> str:
    if before is None:
        return f"{number(now)} (new)"
    if now is None:
        return f"{number(before)} -> no longer recorded"
    old = number(before)
    new = number(now)
    if old == new:  # the difference is in digits that are usually not shown
        old = f"{before:.12g}"
        new = f"{now:.12g}"
    return f"{old} -> {new}"


# -- rows that could not be scored -----------------------------------------------------------


def failed_row_groups(failures: Iterable[ScorerFailures]) -> Iterator[str]:
    """Describe the reason why a benchmark fails: the sum first, then each kind."""
    for failed in failures:
        yield f"{_rows(failed.count, failed)}:"
        for kind, count in failed.kinds.items():
            yield f"  {count} ({kind}), {_example(count, failed.examples[kind])}"


def failed_rows_line(failed: ScorerFailures) -> str:
    """Explain in one line why the scores of a scorer are missing."""
    kinds = list(failed.kinds)
    counts = kinds[0]
    if len(kinds) > 1:
        counts = ", ".join(f"{kind}: {count}" for kind, count in failed.kinds.items())
    example = _example(failed.kinds[kinds[0]], failed.examples[kinds[0]])
    return f"{_rows(failed.count, failed)} ({counts}), {example}"


def _rows(count: int, failed: ScorerFailures) -> str:
    return f"{of_many(count, failed.rows, 'row', 'has')} no {', '.join(failed.scores)}"


def _example(count: int, first: RowFailure) -> str:
    such_as = "at" if count == 1 else "such as"
    text = f"{such_as} {first.row}: {first.reason}"
    if first.hint:
        text += f" ({first.hint})"
    return text
