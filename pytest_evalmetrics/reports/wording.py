"""Numbers, cells and single lines as people read them, shared by all writers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.layout import amount, capped, listed, many, of_many, visible
from pytest_evalmetrics.reports.console import columns_of, padded

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from pytest_evalmetrics.model.results import BenchmarkResult, RecordedBaseline
    from pytest_evalmetrics.model.scores import (
        CallTotals,
        JudgeUse,
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
    if 100 <= abs(value) < 1e5:
        return f"{value:.1f}"
    return f"{value:.6g}"


_ROUNDING = 1e-12  # of a difference of two means


def signed(value: float | None) -> str:
    """Write a change, with its sign; what is left of rounding is none."""
    if value is None:
        return ""
    if abs(value) < _ROUNDING:
        return "0"
    if value > 0:
        return f"+{number(value)}"
    return number(value)


def two_digits(value: float | None) -> str:
    """Write a p value."""
    if value is None:
        return ""
    return f"{value:.2g}"


def size_of_loss(value: float | None) -> str:
    """Write which loss is seen, as precisely as that is known."""
    if value is None:
        return ""
    rounded = float(f"{value:.2g}")
    return f"{rounded:.12g}"  # 130, not 1.3e+02


def signed_interval(low: float | None, high: float | None) -> str:
    """Write the interval of a change: ``[-0.2, +0.1]``; empty without one."""
    if low is None or high is None:
        return ""
    return f"[{signed(low)}, {signed(high)}]"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Align rows below a header, without the columns that are empty."""
    used = used_columns(rows)
    lines = [_chosen(header, used)]
    for row in rows:
        cells = _chosen(row, used)
        lines.append([visible(cell) for cell in cells])
    widths = [max(map(columns_of, column)) for column in zip(*lines, strict=True)]
    aligned = []
    for line in lines:
        cells = list(map(padded, line, widths))
        aligned.append("  ".join(cells).rstrip())
    return aligned


def used_columns(rows: Sequence[Sequence[str]]) -> list[int]:
    """List the places of the columns that are not empty in all rows."""
    columns = zip(*rows, strict=True)
    return [at for at, column in enumerate(columns) if any(column)]


def _chosen(row: Sequence[str], places: Iterable[int]) -> list[str]:
    return [row[at] for at in places]


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
    lines = _table_without(gone, header, rows)
    while waiting and not _fits(lines, width):
        gone.add(waiting.pop(0))
        lines = _table_without(gone, header, rows)
    return lines


def _table_without(
    gone: Collection[str], header: Sequence[str], rows: Sequence[Sequence[str]]
) -> list[str]:
    kept = [at for at, name in enumerate(header) if name not in gone]
    kept_rows = [_chosen(row, kept) for row in rows]
    return table(_chosen(header, kept), kept_rows)


def _fits(lines: Sequence[str], width: int | None) -> bool:
    return width is None or max(map(columns_of, lines)) <= width


_BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float]) -> str:
    """Draw values as bars: the lowest is the lowest bar, and equal values are one level."""
    if not values:
        return ""
    low = min(values)
    high = max(values)
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
    uses_by_model: dict[str, list[JudgeUse]] = {}
    for use in judges:
        if use.calls:
            uses_by_model.setdefault(use.model, []).append(use)
    if not uses_by_model:
        return []
    models = [_judge_model(model, uses) for model, uses in uses_by_model.items()]
    return [f"judges: {'; '.join(models)}"]


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
    answers = "the only answer"
    if answered > 1:
        answers = f"all {answered} answers"
    return f"nothing was called: the journal gave {answers}"


def calls_line(totals: Sequence[CallTotals]) -> list[str]:
    """Sum up the calls of all benchmarks in one line; none if nothing was called."""
    if not totals:
        return []
    answered = f"{sum(total.calls for total in totals)} answered"
    from_journal = sum(total.from_journal for total in totals)
    if from_journal:
        answered += f" ({from_journal} by the journal)"
    parts = [answered]
    failed = sum(total.failed for total in totals)
    if failed:
        parts.append(f"{failed} failed")
    requests = sum(total.requests for total in totals)
    parts.append(f"{many(requests, 'request')} sent")
    tokens = sum(total.total_tokens for total in totals)
    if tokens:
        parts.append(many(tokens, "token"))
    parts += _cost_parts(totals, uses_journal=from_journal > 0)
    return [f"calls: {', '.join(parts)}"]


def _cost_parts(totals: Sequence[CallTotals], *, uses_journal: bool) -> list[str]:
    """Say what the calls cost, and what the journal saved; nothing if one cost is unknown."""
    paid = _total(total.cost_now for total in totals)
    if paid is None:
        return []
    parts = [f"cost {amount(paid)}"]
    worth = _total(total.cost for total in totals)
    if uses_journal and worth is not None:
        parts.append(f"saved {amount(worth - paid)}")
    return parts


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
    what = "unchanged"
    if recorded.written:
        what = "recorded"
    lines = [f"{what} {recorded.file}"]
    lines += capped(changed, _NAMED, "    ... and {} more: see report.json")
    if same and recorded.written:
        lines.append(f"    as before: {listed(same, _NAMED)}")
    return lines


def recorded_count(results: Iterable[BenchmarkResult]) -> list[str]:
    """Count the baselines that all benchmarks recorded in one line; none if none did."""
    written = [result.recorded.written for result in results if result.recorded]
    if not written:
        return []
    counts = {"recorded": written.count(True), "unchanged": written.count(False)}
    parts = [f"{count} {what}" for what, count in counts.items() if count]
    return [f"baselines: {', '.join(parts)}"]


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
        yield f"{_unscored(failed)}:"
        for kind, count in failed.kinds.items():
            yield f"  {count} ({kind}), {_example(failed, kind)}"


def failed_rows_line(failed: ScorerFailures) -> str:
    """Explain in one line why the scores of a scorer are missing."""
    kinds = list(failed.kinds)
    counts = kinds[0]
    if len(kinds) > 1:
        counts = ", ".join(f"{kind}: {count}" for kind, count in failed.kinds.items())
    example = _example(failed, kinds[0])
    return f"{_unscored(failed)} ({counts}), {example}"


def _unscored(failed: ScorerFailures) -> str:
    rows = of_many(failed.count, failed.rows, "row", "has")
    return f"{rows} no {', '.join(failed.scores)}"


def _example(failed: ScorerFailures, kind: str) -> str:
    """Name a row that failed so, with its reason."""
    such_as = "such as"
    if failed.kinds[kind] == 1:
        such_as = "at"
    row = failed.examples[kind]
    text = f"{such_as} {row.row}: {row.reason}"
    if row.hint:
        text += f" ({row.hint})"
    return text
