"""Numbers, cells and single lines as people read them, shared by all writers."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.layout import capped, listed, many, of_many, visible
from pytest_evalmetrics.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pytest_evalmetrics.results import RowFailure, ScorerFailures

# -- numbers and tables ----------------------------------------------------------------------


def number(value: float | None) -> str:
    """Write a number in at most six significant digits, whole ones without a point."""
    if value is None:
        return ""
    if value == int(value) and abs(value) < 1e15:  # noqa: PLR2004 - beyond it floats skip integers
        return str(int(value))
    return f"{value:.4f}" if 0.001 <= abs(value) < 100 else f"{value:.6g}"  # noqa: PLR2004 - a shape


def signed(value: float | None) -> str:
    """Write a change, with its sign."""
    return ("+" if value is not None and value > 0 else "") + number(value)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Align rows below a header, without the columns that are empty."""
    used = [i for i in range(len(header)) if any(row[i] for row in rows)]
    lines = [[header[i] for i in used], *([visible(row[i]) for i in used] for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(used))]
    return [
        "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]


_BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float]) -> str:
    """Draw values as bars: the lowest is the lowest bar, and equal values are one level."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    if high == low:
        return _BARS[3] * len(values)
    steps = [(value - low) / (high - low) * (len(_BARS) - 1) for value in values]
    return "".join(_BARS[int(step + 0.5)] for step in steps)


# -- checks, as builtins ---------------------------------------------------------------------


def of_agent(check: Mapping[str, Any]) -> str:
    """Write the agent of a check before what is said of it; empty for the only one."""
    return f"{check['agent']}: " if check["agent"] else ""


def checked_agent(entry: Mapping[str, Any], check: Mapping[str, Any]) -> str:
    """Return the agent that a check concerns: the only one, where the check names none."""
    agents = entry["agents"]
    return check["agent"] or (agents[0]["agent"] if len(agents) == 1 else "")


def estimate_below(entry: Mapping[str, Any], check: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the estimate of a check's metric that stands below its agent; None without one."""
    name = checked_agent(entry, check)
    estimates = (agent["estimates"] for agent in entry["agents"] if agent["agent"] == name)
    return next(estimates, {}).get(check["name"])


def measured(
    check: Mapping[str, Any], estimate: Mapping[str, Any] | None, between: str = "[{}, {}]"
) -> tuple[str, str]:
    """Write a check's value and its interval; the latter is empty where there is none."""
    bounds = (estimate or {}).get("interval")
    interval = between.format(number(bounds["low"]), number(bounds["high"])) if bounds else ""
    return number((estimate or check)["value"]), interval


def expected(check: Mapping[str, Any]) -> str:
    """Write what a check requires, and which direction is better."""
    return ", ".join(filter(None, (check["bound"], better_way(check["evidence"]))))


def better_way(evidence: Mapping[str, Any]) -> str:
    """Say which direction is better; empty where nothing is compared."""
    direction = evidence.get("direction")
    return f"{direction} is better" if direction else ""


def change_of(evidence: Mapping[str, Any]) -> tuple[float | None, float | None, float | None]:
    """Return a metric's change from its baseline, and the change's interval."""
    drop, low, high = (evidence.get(key) for key in ("drop", "drop_low", "drop_high"))
    if evidence.get("direction") == "lower":
        return drop, low, high
    change, from_, to = (None if value is None else -value for value in (drop, high, low))
    return change, from_, to


def p_value(evidence: Mapping[str, Any]) -> float | None:
    """Return a comparison's p value, adjusted for the other metrics where it is."""
    p: float | None = evidence.get("p_adjusted", evidence.get("p"))
    return p


# -- a run -----------------------------------------------------------------------------------


def verdict_counts(report: Mapping[str, Any]) -> str:
    """Count the benchmarks by verdict, and those without one."""
    verdicts = Counter(entry["verdict"] for entry in report["benchmarks"])
    parts = [f"{verdicts[v]} {v}" for v in map(str, Verdict) if v in verdicts]
    red = [entry for entry in report["benchmarks"] if Verdict(entry["verdict"]).fails]
    if marked := sum(entry["xfail"] for entry in red):
        parts[-1] += f" ({marked} known, by xfail)"
    others = ("not_evaluated", "skipped", "deselected")
    parts += [f"{len(report[key])} {key.replace('_', ' ')}" for key in others if report.get(key)]
    return ", ".join(parts)


def false_alarms(benchmarks: Sequence[Mapping[str, Any]]) -> str:
    """Say how many benchmarks are expected to fail by chance; empty where none is tested."""
    levels = []
    for entry in benchmarks:
        tested = [e for c in entry["checks"] if (e := c.get("evidence", {})).get("p") is not None]
        tested = [e for e in tested if e.get("rule") in ("practical", "statistical")]
        if tested:
            levels.append(max(e["alpha"] / e.get("benchmarks", 1) for e in tested))
    if not levels:
        return ""
    red = -math.expm1(sum(math.log1p(-level) for level in levels))
    share = "100" if red > 0.99 else f"{100 * red:.2g}"  # noqa: PLR2004 - not 1e+02
    return (
        f"{many(len(levels), 'benchmark', 'is')} tested: without any change up to "
        f"{sum(levels):.2g} are expected to fail by chance, and at most {share} % of such runs "
        "are red"
    )


def lost_ones(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List the benchmarks and tests without a result, each with what is unknown of it."""
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


def headline_metrics(entry: Mapping[str, Any], agent: Mapping[str, Any]) -> dict[str, float]:
    """Choose an agent's key metrics: without means that nothing gates, where there are others."""
    gated = {check["name"] for check in entry["checks"] if check["gate"] != "expect"}
    metrics: dict[str, float] = agent["key_metrics"]
    chosen = {n: v for n, v in metrics.items() if n in gated or not n.startswith("mean/")}
    return dict(sorted((chosen or metrics).items(), key=lambda item: item[0] not in gated))


def trends(report: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str, str, list[float]]]:
    """Go through the headline metrics that are known of more than one run."""
    for entry in report["benchmarks"]:
        runs = report.get("history", {}).get(entry["id"], ())
        several = len(entry["agents"]) > 1
        for agent in entry["agents"]:
            for name in sorted(headline_metrics(entry, agent), key=[*agent["key_metrics"]].index):
                points = [run["agents"].get(agent["agent"], {}).get(name) for run in runs]
                values = [point["value"] for point in points if point is not None]
                if len(values) > 1:
                    yield entry, agent["agent"] if several else "", name, values


# -- calls of models and endpoints -----------------------------------------------------------


def judge_lines(judges: Iterable[Mapping[str, Any]]) -> list[str]:
    """Sum up the calls of judges in one line; none where nothing was asked."""
    by_model: dict[str, list[Mapping[str, Any]]] = {}
    for use in judges:
        if use["calls"]:
            by_model.setdefault(use["model"], []).append(use)
    models = []
    for model, uses in by_model.items():
        parts = [f"{model}: {many(sum(use['calls'] for use in uses), 'answer')}"]
        if tokens := sum(use["total_tokens"] for use in uses):
            parts.append(many(tokens, "token"))
        costs = [use["cost"] for use in uses]
        if None not in costs:
            parts.append(f"cost {sum(costs):.4g}")
        slowest = max(use["latency_s"]["p95"] for use in uses)
        models.append(", ".join([*parts, f"95 % within {slowest:.2g} s"]))
    return [f"judges: {'; '.join(models)}"] if models else []


def calls_line(usage: Iterable[Mapping[str, Any]]) -> list[str]:
    """Sum up the calls of all benchmarks in one line; none where nothing was called."""
    uses = [use for use in usage if use]
    if not uses:
        return []
    counted = ("calls", "from_journal", "failed", "requests", "total_tokens")
    total = {key: sum(use[key] for use in uses) for key in counted}
    journal = f" ({total['from_journal']} by the journal)" if total["from_journal"] else ""
    parts = [f"{total['calls']} answered{journal}"]
    if total["failed"]:
        parts.append(f"{total['failed']} failed")
    parts.append(f"{many(total['requests'], 'request')} sent")
    if total["total_tokens"]:
        parts.append(many(total["total_tokens"], "token"))
    paid, worth = ([use[key] for use in uses] for key in ("cost_now", "cost"))
    if None not in paid:
        parts.append(f"cost {sum(paid):.4g}")
        if total["from_journal"] and None not in worth:
            parts.append(f"saved {sum(worth) - sum(paid):.4g}")
    return [f"calls: {', '.join(parts)}"]


# -- baselines -------------------------------------------------------------------------------

_NAMED = 8  # changed metrics of a benchmark; all of them are in the report


def recorded_lines(recorded: Mapping[str, Any]) -> list[str]:
    """Describe the baseline that a benchmark recorded; nothing where it recorded none."""
    if not recorded:
        return []
    metrics: Mapping[str, Sequence[float | None]] = recorded["metrics"]
    changed = [f"    {n} {_change(*pair)}" for n, pair in metrics.items() if pair[0] != pair[1]]
    same = [name for name, (was, now) in metrics.items() if was == now]
    lines = [f"{'recorded' if recorded['written'] else 'unchanged'} {recorded['file']}"]
    lines += capped(changed, _NAMED, "    ... and {} more: see report.json")
    if same and recorded["written"]:
        lines.append(f"    as before: {listed(same, _NAMED)}")
    return lines


def recorded_count(entries: Iterable[Mapping[str, Any]]) -> str:
    """Count the baselines that all benchmarks recorded; empty where none did."""
    written = [entry["recorded"]["written"] for entry in entries if entry["recorded"]]
    parts = [(written.count(True), "recorded"), (written.count(False), "unchanged")]
    counted = ", ".join(f"{count} {what}" for count, what in parts if count)
    return f"baselines: {counted}" if counted else ""


def _change(was: float | None, now: float | None) -> str:
    if was is None:
        return f"{number(now)} (new)"
    if now is None:
        return f"{number(was)} -> no longer recorded"
    old, new = number(was), number(now)
    if old == new:  # the difference is in digits that are usually not shown
        old, new = f"{was:.12g}", f"{now:.12g}"
    return f"{old} -> {new}"


# -- rows that could not be scored -----------------------------------------------------------


def failed_row_notes(failures: Iterable[ScorerFailures]) -> Iterator[str]:
    """Describe each kind in a line of its own, for a run that goes on without such rows."""
    for failed in failures:
        for kind, count in failed.kinds.items():
            yield f"{_rows(count, failed)} ({kind}), {_example(count, failed.examples[kind])}"


def failed_row_groups(failures: Iterable[ScorerFailures]) -> Iterator[str]:
    """Describe the reason why a benchmark fails: the sum first, then each kind."""
    for failed in failures:
        yield f"{_rows(failed.count, failed)}:"
        for kind, count in failed.kinds.items():
            yield f"  {count} ({kind}), {_example(count, failed.examples[kind])}"


def failed_row_cause(failures: Iterable[ScorerFailures], score: str) -> str:
    """Say in one line why a score is missing; empty where no scorer lacks it."""
    for failed in failures:
        if score in failed.scores:
            (first, count), *others = failed.kinds.items()
            counts = ", ".join(f"{kind}: {n}" for kind, n in failed.kinds.items())
            example = _example(count, failed.examples[first])
            return f"{_rows(failed.count, failed)} ({counts if others else first}), {example}"
    return ""


def _rows(count: int, failed: ScorerFailures) -> str:
    return f"{of_many(count, failed.rows, 'row', 'has')} no {', '.join(failed.scores)}"


def _example(count: int, first: RowFailure) -> str:
    hint = f" ({first.hint})" if first.hint else ""
    return f"{'at' if count == 1 else 'such as'} {first.row}: {first.reason}{hint}"
