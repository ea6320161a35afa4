"""Numbers and single lines as people read them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.layout import many, of_many, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pytest_evalmetrics.results import Estimate, RowFailure, ScorerFailures

__all__ = [
    "broken_off",
    "calls_line",
    "failed_row_cause",
    "failed_row_groups",
    "failed_row_notes",
    "false_alarms",
    "interval",
    "judge_lines",
    "lost_ones",
    "number",
    "recorded_count",
    "recorded_lines",
    "sparkline",
    "table",
    "trends",
]


def number(value: float | None) -> str:
    """Write a number in at most six significant digits, whole ones without a point."""
    if value is None:
        return ""
    if value == int(value) and abs(value) < 1e15:  # noqa: PLR2004 - beyond it floats skip integers
        return str(int(value))
    return f"{value:.4f}" if 0.001 <= abs(value) < 100 else f"{value:.6g}"  # noqa: PLR2004 - a shape


def false_alarms(benchmarks: Sequence[Mapping[str, Any]]) -> str:
    """Tell how many benchmarks are expected to fail by chance; empty where none is tested."""
    levels = []
    for entry in benchmarks:
        tested = [e for c in entry["checks"] if (e := c.get("evidence", {})).get("p") is not None]
        tested = [e for e in tested if e.get("rule") in ("practical", "statistical")]
        if tested:
            levels.append(max(e["alpha"] / e.get("benchmarks", 1) for e in tested))
    if not levels:
        return ""
    count = f"{len(levels)} benchmarks are" if len(levels) > 1 else "1 benchmark is"
    red = -math.expm1(sum(math.log1p(-level) for level in levels))
    share = "100" if red > 0.99 else f"{100 * red:.2g}"  # noqa: PLR2004 - not 1e+02
    return (
        f"{count} tested: without any change up to {sum(levels):.2g} are expected to fail by "
        f"chance, and at most {share} % of such runs are red"
    )


def interval(estimate: Estimate | None) -> str:
    """Write an estimate's interval as ``[low, high]``."""
    if estimate is None or estimate.interval is None:
        return ""
    return f"[{number(estimate.interval.low)}, {number(estimate.interval.high)}]"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Align rows below a header; columns without any content are left out."""
    used = [i for i in range(len(header)) if any(row[i] for row in rows)]
    lines = [[header[i] for i in used], *([visible(row[i]) for i in used] for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(used))]
    return [
        "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]


def lost_ones(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Say of each benchmark and test that was not evaluated what is not known of it."""
    half = broken_off(report)
    return [
        (item, "was not evaluated" + (" to its end" if item in half else ""))
        for item in report["not_evaluated"]
    ]


def broken_off(report: Mapping[str, Any]) -> set[str]:
    """Find the tests that ended by themselves after a check, which has an entry."""
    ids = [entry["id"] for entry in report["benchmarks"]]
    tests = {*ids, *(i.rpartition("::")[0] for i in ids)}  # a check may have a name of its own
    return tests.intersection(report["not_evaluated"])


_BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float]) -> str:
    """Draw values as bars: the lowest is the lowest bar, and equal values are one level."""
    if not values:
        return ""
    low, high = min(values), max(values)
    if high == low:
        return _BARS[3] * len(values)
    steps = [(value - low) / (high - low) * (len(_BARS) - 1) for value in values]
    return "".join(_BARS[int(step + 0.5)] for step in steps)


def trends(
    report: Mapping[str, Any],
) -> Iterator[tuple[Mapping[str, Any], str, str, list[float]]]:
    """Go through the key metrics of which there is more than one run."""
    for entry in report["benchmarks"]:
        runs = report.get("history", {}).get(entry["id"], ())
        gated = {check["name"] for check in entry["checks"] if check["gate"] != "expect"}
        for agent in entry["agents"]:
            several = len(entry["agents"]) > 1
            names = list(agent["key_metrics"])
            telling = [n for n in names if n in gated or not n.startswith("mean/")]
            for name in telling or names:
                points = [run["agents"].get(agent["agent"], {}).get(name) for run in runs]
                values = [point["value"] for point in points if point is not None]
                if len(values) > 1:
                    yield entry, agent["agent"] if several else "", name, values


def judge_lines(judges: Sequence[dict[str, Any]]) -> list[str]:
    """Tell what judges took, in one line; none where nothing was asked."""
    by_model: dict[str, list[dict[str, Any]]] = {}
    for one in judges:
        if one["calls"]:
            by_model.setdefault(one["model"], []).append(one)
    return [f"judges: {'; '.join(_one(*item) for item in by_model.items())}"] if by_model else []


def _one(model: str, uses: Sequence[dict[str, Any]]) -> str:
    parts = [f"{model}: {many(sum(u['calls'] for u in uses), 'answer')}"]
    tokens = sum(u["total_tokens"] for u in uses)
    if tokens:
        parts.append(many(tokens, "token"))
    costs = [u["cost"] for u in uses]
    if all(cost is not None for cost in costs):
        parts.append(f"cost {sum(costs):.4g}")
    slowest = max(u["latency_s"]["p95"] for u in uses)
    parts.append(f"95 % within {slowest:.2g} s")
    return ", ".join(parts)


def calls_line(usage: Iterable[Mapping[str, Any]]) -> list[str]:
    """Sum up what all benchmarks used."""
    found = [u for u in usage if u]
    if not found:
        return []

    def total(key: str) -> int:
        return sum(u[key] for u in found)

    parts = [f"{total('calls')} answered"]
    if total("from_journal"):
        parts[0] += f" ({total('from_journal')} by the journal)"
    if total("failed"):
        parts.append(f"{total('failed')} failed")
    parts.append(f"{many(total('requests'), 'request')} sent")
    if total("total_tokens"):
        parts.append(many(total("total_tokens"), "token"))
    costs = [u["cost_now"] for u in found]
    if all(cost is not None for cost in costs):
        paid = sum(costs)
        parts.append(f"cost {paid:.4g}")
        whole = [u["cost"] for u in found]
        if total("from_journal") and all(cost is not None for cost in whole):
            parts[-1] += f", saved {sum(whole) - paid:.4g}"
    return [f"calls: {', '.join(parts)}"]


_NAMED = 8  # changed metrics of a benchmark; all of them are in the report


def recorded_lines(recorded: Mapping[str, Any]) -> list[str]:
    """Tell what one benchmark recorded; nothing where it recorded nothing."""
    if not recorded:
        return []
    metrics: Mapping[str, Sequence[float | None]] = recorded["metrics"]
    changed = [(name, was, now) for name, (was, now) in metrics.items() if was != now]
    same = [name for name, (was, now) in metrics.items() if was == now]
    lines = [f"{'recorded' if recorded['written'] else 'unchanged'} {recorded['file']}"]
    lines += [f"    {name} {_change(was, now)}" for name, was, now in changed[:_NAMED]]
    if len(changed) > _NAMED:
        lines.append(f"    ... and {len(changed) - _NAMED} more: see report.json")
    if same and recorded["written"]:
        more = f" and {len(same) - _NAMED} more" if len(same) > _NAMED else ""
        lines.append(f"    as before: {', '.join(same[:_NAMED])}{more}")
    return lines


def recorded_count(recorded: Sequence[Mapping[str, Any]]) -> str:
    """Count what all benchmarks recorded; empty where none did."""
    told = [r["written"] for r in recorded if r]
    parts = [(told.count(True), "recorded"), (told.count(False), "unchanged")]
    counted = ", ".join(f"{n} {what}" for n, what in parts if n)
    return f"baselines: {counted}" if counted else ""


def _change(was: float | None, now: float | None) -> str:
    if was is None:
        return f"{number(now)} (new)"
    if now is None:
        return f"{number(was)} -> no longer recorded"
    old, new = number(was), number(now)
    if old == new:  # the difference is in what is usually not shown
        old, new = f"{was:.12g}", f"{now:.12g}"
    return f"{old} -> {new}"


def failed_row_notes(failures: Sequence[ScorerFailures]) -> Iterator[str]:
    """Tell each kind in a line of its own, for a run that goes on without such rows."""
    for found in failures:
        for kind, count in found.kinds.items():
            yield f"{_rows(count, found)} ({kind}), {_example(count, found.examples[kind])}"


def failed_row_groups(failures: Sequence[ScorerFailures]) -> list[str]:
    """Tell them where they are why a benchmark fails: the sum first, then each kind."""
    lines = []
    for found in failures:
        lines.append(f"{_rows(found.count, found)}:")
        lines += [
            f"  {count} ({kind}), {_example(count, found.examples[kind])}"
            for kind, count in found.kinds.items()
        ]
    return lines


def failed_row_cause(failures: Sequence[ScorerFailures], score: str) -> str:
    """Say in one line why a score is missing; nothing where no scorer lacks it."""
    for found in failures:
        if score in found.scores:
            kinds = ", ".join(
                kind if len(found.kinds) == 1 else f"{kind}: {count}"
                for kind, count in found.kinds.items()
            )
            first = next(iter(found.kinds))
            told = _example(found.kinds[first], found.examples[first])
            return f"{_rows(found.count, found)} ({kinds}), {told}"
    return ""


def _rows(count: int, found: ScorerFailures) -> str:
    return f"{of_many(count, found.rows, 'row', 'has')} no {', '.join(found.scores)}"


def _example(count: int, first: RowFailure) -> str:
    hint = f" ({first.hint})" if first.hint else ""
    return f"{'at' if count == 1 else 'such as'} {first.row}: {first.reason}{hint}"
