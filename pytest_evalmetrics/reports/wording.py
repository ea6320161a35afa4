"""Numbers, cells and single lines as people read them, shared by all writers."""

from __future__ import annotations

import math
import re
import shlex
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

from pytest_evalmetrics.layout import capped, listed, many, of_many, visible
from pytest_evalmetrics.model.results import RowFailure, ScorerFailures, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

# -- numbers and tables ----------------------------------------------------------------------


def number(value: float | None) -> str:
    """Write a number in at most six significant digits, whole ones without a point."""
    if value is None:
        return ""
    if value == int(value) and abs(value) < 1e15:  # beyond it floats skip integers
        return str(int(value))
    return f"{value:.4f}" if 0.001 <= abs(value) < 100 else f"{value:.6g}"  # a shape


def signed(value: float | None) -> str:
    """Write a change, with its sign."""
    return ("+" if value is not None and value > 0 else "") + number(value)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Align rows below a header, without the columns that are empty."""
    used = [i for i in range(len(header)) if any(row[i] for row in rows)]
    lines = [
        [header[i] for i in used],
        *([visible(row[i]) for i in used] for row in rows),
    ]
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
    """Return the prefix with a check's agent; empty for the only agent."""
    return f"{check['agent']}: " if check["agent"] else ""


def checked_agent(entry: Mapping[str, Any], check: Mapping[str, Any]) -> str:
    """Return the agent that a check concerns: the only one, where the check names none."""
    agents = entry["agents"]
    return check["agent"] or (agents[0]["agent"] if len(agents) == 1 else "")


def estimate_below(
    entry: Mapping[str, Any], check: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """Return the estimate of a check's metric among those of its agent, or None."""
    name = checked_agent(entry, check)
    estimates = (
        agent["estimates"] for agent in entry["agents"] if agent["agent"] == name
    )
    return next(estimates, {}).get(check["name"])


def measured(
    check: Mapping[str, Any],
    estimate: Mapping[str, Any] | None,
    between: str = "[{}, {}]",
) -> tuple[str, str]:
    """Write a check's value and its interval, which may be empty."""
    bounds = (estimate or {}).get("interval")
    interval = (
        between.format(number(bounds["low"]), number(bounds["high"])) if bounds else ""
    )
    return number((estimate or check)["value"]), interval


def expected(check: Mapping[str, Any]) -> str:
    """Write the bound of a check, and the direction of its metric."""
    return ", ".join(filter(None, (check["bound"], better_way(check["evidence"]))))


def better_way(evidence: Mapping[str, Any]) -> str:
    """Name the better direction; empty if nothing is compared."""
    return f"{evidence['direction']} is better" if evidence.get("direction") else ""


def change_of(
    evidence: Mapping[str, Any],
) -> tuple[float | None, float | None, float | None]:
    """Return a metric's change from its baseline, and the change's interval."""
    drop, low, high = (evidence.get(key) for key in ("drop", "drop_low", "drop_high"))
    if evidence.get("direction") == "lower":
        return drop, low, high
    change, from_, to = (
        None if value is None else -value for value in (drop, high, low)
    )
    return change, from_, to


def p_value(evidence: Mapping[str, Any]) -> float | None:
    """Return a comparison's p value, adjusted for the other metrics where it is."""
    p: float | None = evidence.get("p_adjusted", evidence.get("p"))
    return p


_TASKS_NAMED = 10  # on a line
_REWARDS = 8  # of a task


def comparison_details(evidence: Mapping[str, Any]) -> Iterator[str]:
    """Describe the flipped tasks, the basis of the test, and its power."""
    if worst := evidence.get("worst_tasks"):
        flips = [
            f"{t['task']} ({_rewards(t['baseline'])} -> {_rewards(t['current'])})"
            for t in worst
        ]
        yield f"worse: task {listed(flips, len(flips), evidence['worse'])}"
    if evidence.get("test"):
        units, tasks = evidence.get("units"), evidence["tasks"]
        clustered = f" in {many(units, 'cluster')}" if units and units != tasks else ""
        p, adjusted = evidence.get("p"), evidence.get("p_adjusted")
        is_adjusted = (
            p is not None and adjusted is not None and adjusted > p * 1.0000001
        )
        adjusted = (
            f"; p = {adjusted:.2g} adjusted for the other metrics"
            if is_adjusted
            else ""
        )
        before, now = (
            many(evidence["rollouts_baseline"], "rollout"),
            evidence["rollouts_current"],
        )
        test = f"{evidence['test']} over {many(tasks, 'task')}{clustered}"
        yield f"{test}, {before} before and {now} now{adjusted}"
    if evidence.get("mde"):
        yield f"80 % power to see a loss of {number(evidence['mde'])} or more"
    if evidence.get("unseen_flips"):
        yield f"no task differs; up to {evidence['unseen_flips']:.1%} of the tasks may flip unseen"
    for key, what in (
        ("added", "only in this run"),
        ("removed", "only in the baseline"),
    ):
        if count := evidence.get(key):
            named = listed(evidence[f"{key}_tasks"], _TASKS_NAMED, count)
            yield f"{many(count, 'task', 'is')} {what}: {named}"
    if excluded := evidence.get("excluded_tasks"):
        yield f"without a value on one side, and left out: task {listed(excluded, _TASKS_NAMED)}"


def _rewards(rewards: Sequence[float]) -> str:
    return " ".join(capped([number(r) for r in rewards], _REWARDS, "..."))


# -- a run -----------------------------------------------------------------------------------


def verdict_counts(report: Mapping[str, Any]) -> str:
    """Count the benchmarks by verdict, and those without one."""
    verdicts = Counter(entry["verdict"] for entry in report["benchmarks"])
    parts = [f"{verdicts[v]} {v}" for v in map(str, Verdict) if v in verdicts]
    ungated = sum(
        entry["verdict"] == "PASS"
        and {c["gate"] for c in entry["checks"]} <= {"data", "expect"}
        for entry in report["benchmarks"]
    )
    if ungated:  # PASS is the first
        parts[0] += f" ({ungated} with nothing gated)"
    red = [entry for entry in report["benchmarks"] if Verdict(entry["verdict"]).fails]
    if marked := sum(entry["xfail"] for entry in red):
        parts[-1] += f" ({marked} known, by xfail)"
    others = ("not_evaluated", "skipped", "deselected")
    parts += [
        f"{len(report[key])} {key.replace('_', ' ')}"
        for key in others
        if report.get(key)
    ]
    return ", ".join(parts)


def false_alarms(benchmarks: Sequence[Mapping[str, Any]]) -> str:
    """Estimate how many benchmarks fail by chance; empty if none is tested."""
    levels = []
    for entry in benchmarks:
        tested = [
            e
            for c in entry["checks"]
            if (e := c.get("evidence", {})).get("p") is not None
        ]
        tested = [e for e in tested if e.get("rule") in ("practical", "statistical")]
        if tested:
            levels.append(max(e["alpha"] / e.get("benchmarks", 1) for e in tested))
    if not levels:
        return ""
    red = -math.expm1(sum(math.log1p(-level) for level in levels))
    share = "100" if red > 0.99 else f"{100 * red:.2g}"  # not 1e+02
    benchmarks_tested = many(len(levels), "benchmark", "is")
    chance = f"up to {sum(levels):.2g} would fail by chance, and at most {share} % of such runs"
    return f"{benchmarks_tested} tested: without any change {chance} would be red"


def lost_ones(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List the benchmarks and tests without a complete result, each with the reason."""
    ends, why = dict.fromkeys(broken_off(report), " to its end"), "was not evaluated"
    return [(item, why + ends.get(item, "")) for item in report["not_evaluated"]]


def broken_off(report: Mapping[str, Any]) -> set[str]:
    """Find the tests that ended by themselves after a check, which has an entry."""
    ids = [entry["id"] for entry in report["benchmarks"]]
    tests = {
        *ids,
        *(i.rpartition("::")[0] for i in ids),
    }  # a check may have a name of its own
    return tests.intersection(report["not_evaluated"])


def headline_metrics(
    entry: Mapping[str, Any], agent: Mapping[str, Any]
) -> dict[str, float]:
    """Choose an agent's key metrics: without means that nothing gates, if there are others."""
    gated = {check["name"] for check in entry["checks"] if check["gate"] != "expect"}
    metrics: dict[str, float] = agent["key_metrics"]
    chosen = {
        n: v for n, v in metrics.items() if n in gated or not n.startswith("mean/")
    }
    return dict(
        sorted((chosen or metrics).items(), key=lambda item: item[0] not in gated)
    )


def trends(
    report: Mapping[str, Any],
) -> Iterator[tuple[Mapping[str, Any], str, str, list[float]]]:
    """Yield the headline metrics that have values in several runs."""
    for entry in report["benchmarks"]:
        runs = report.get("history", {}).get(entry["id"], ())
        several = len(entry["agents"]) > 1
        for agent in entry["agents"]:
            for name in sorted(
                headline_metrics(entry, agent), key=[*agent["key_metrics"]].index
            ):
                points = [
                    run["agents"].get(agent["agent"], {}).get(name) for run in runs
                ]
                values = [point["value"] for point in points if point is not None]
                if len(values) > 1:
                    yield entry, agent["agent"] if several else "", name, values


# -- why a run is red: the checks that fail, grouped by cause ---------------------------------

FOLDED = 10  # failing benchmarks that a log shows one by one
_EXPLAINED = 2  # of more of them
_GROUPED = 5  # with fewer of them, each is read by itself
_CAUSES_SHOWN = 8
_PARTS_SHOWN = 6
_RED = ("FAIL", "INCONCLUSIVE")
_PLACE = re.compile(r"^\S+:\d+: ")
_VARYING = re.compile(r"'[^']*'|\"[^\"]*\"|\d[\w.%-]*")


def strength(check: Mapping[str, Any]) -> tuple[int, float, float]:
    """Rank a check: the verdict, then the p value, then the loss."""
    evidence = check.get("evidence", {})
    p = evidence.get("p_adjusted")
    rank = _RED.index(check["verdict"]) if check["verdict"] in _RED else len(_RED)
    return rank, 1.0 if p is None else p, -(evidence.get("drop") or 0.0)


def failing(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List the benchmarks that make the run red, the strongest evidence first."""
    red = [e for e in report["benchmarks"] if e["verdict"] in _RED and not e["xfail"]]
    return sorted(
        red,
        key=lambda entry: min(map(strength, entry["checks"]), default=(2, 1.0, 0.0)),
    )


def folded(report: Mapping[str, Any]) -> set[str]:
    """Return the failing benchmarks that a log does not explain, if there are many."""
    red = {entry["id"] for entry in failing(report)}
    if len(red) <= FOLDED:
        return set()
    return red - {next(iter(cause.ids)) for cause in _causes(report)[:_EXPLAINED]}


def triage(report: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Describe each cause: the benchmarks it concerns, the strongest case, a command for that."""
    red = len(failing(report))
    if red < _GROUPED:
        return []
    causes = _causes(report)
    lines = []
    for cause in causes[:_CAUSES_SHOWN]:
        where = ", ".join(filter(None, [cause.agent, *cause.metrics]))
        head = f"{cause.verdict} {of_many(len(cause.ids), red, 'failing benchmark')}"
        head += f": {where}" if where else ""
        head += f", in {listed(list(cause.parts), _PARTS_SHOWN)}" if cause.parts else ""
        first = next(iter(cause.ids))
        case = f"first {first.rpartition('::')[2]}: {cause.reason}"
        lines.append((head, case, f"pytest {shlex.quote(first)}"))
    if len(causes) > _CAUSES_SHOWN:
        lines.append((f"and {many(len(causes) - _CAUSES_SHOWN, 'more cause')}", "", ""))
    return lines


class _Cause(msgspec.Struct):
    """A reason that several benchmarks fail for; the keys are in the order of their evidence."""

    verdict: str
    agent: str
    reason: str  # of the first benchmark
    metrics: dict[str, None] = {}
    parts: dict[str, None] = {}  # of broken-down metrics
    ids: dict[str, None] = {}  # of the benchmarks


def _causes(report: Mapping[str, Any]) -> list[_Cause]:
    """Group failing checks by verdict, agent and metric; without a number, by the reason."""
    several = (
        len({a["agent"] for entry in report["benchmarks"] for a in entry["agents"]}) > 1
    )
    causes: dict[tuple[str, ...], _Cause] = {}
    checks = [(entry, check) for entry in failing(report) for check in entry["checks"]]
    for entry, check in sorted(checks, key=lambda pair: strength(pair[1])):
        verdict = check["verdict"]
        if verdict not in _RED:
            continue
        agent = checked_agent(entry, check)
        metric, _, part = check["name"].partition("[")
        reason = _PLACE.sub("", check["reason"])
        kind = metric if verdict == "FAIL" else _VARYING.sub("_", reason)
        new = _Cause(verdict, agent if several else "", reason)
        cause = causes.setdefault((verdict, agent, kind), new)
        cause.ids[entry["id"]] = None
        if verdict == "FAIL":
            cause.metrics[metric] = None
        if part:
            cause.parts[part.removesuffix("]")] = None
    joined: dict[tuple[object, ...], _Cause] = {}
    for key, cause in causes.items():
        # the metrics that the same benchmarks of an agent fail for are one cause
        same = (
            (cause.verdict, cause.agent, frozenset(cause.ids)) if cause.metrics else key
        )
        first = joined.setdefault(same, cause)
        first.metrics |= cause.metrics
        first.parts |= cause.parts
    return sorted(joined.values(), key=lambda c: (_RED.index(c.verdict), -len(c.ids)))


# -- calls of models and endpoints -----------------------------------------------------------


def judge_lines(judges: Iterable[Mapping[str, Any]]) -> list[str]:
    """Sum up the calls of judges in one line; none if nothing was asked."""
    by_model: dict[str, list[Mapping[str, Any]]] = {}
    for use in judges:
        if use["calls"]:
            by_model.setdefault(use["model"], []).append(use)
    models = []
    for model, uses in by_model.items():
        parts = [f"{model}: {many(sum(use['calls'] for use in uses), 'answer')}"]
        tokens = sum(use["total_tokens"] for use in uses)
        parts += [many(tokens, "token")] if tokens else []
        costs = [use["cost"] for use in uses]
        if None not in costs:
            parts.append(f"cost {sum(costs):.4g}")
        slowest = max(use["latency_s"]["p95"] for use in uses)
        models.append(", ".join([*parts, f"95 % within {slowest:.2g} s"]))
    return [f"judges: {'; '.join(models)}"] if models else []


def calls_line(usage: Iterable[Mapping[str, Any]]) -> list[str]:
    """Sum up the calls of all benchmarks in one line; none if nothing was called."""
    uses = [use for use in usage if use]
    if not uses:
        return []
    counted = ("calls", "from_journal", "failed", "requests", "total_tokens")
    calls, from_journal, failed, requests, tokens = (
        sum(u[key] for u in uses) for key in counted
    )
    parts = [
        f"{calls} answered"
        + (f" ({from_journal} by the journal)" if from_journal else "")
    ]
    parts += [f"{failed} failed"] if failed else []
    parts.append(f"{many(requests, 'request')} sent")
    parts += [many(tokens, "token")] if tokens else []
    paid, worth = ([use[key] for use in uses] for key in ("cost_now", "cost"))
    if None not in paid:
        parts.append(f"cost {sum(paid):.4g}")
        if from_journal and None not in worth:
            parts.append(f"saved {sum(worth) - sum(paid):.4g}")
    return [f"calls: {', '.join(parts)}"]


# -- baselines -------------------------------------------------------------------------------

_NAMED = 8  # changed metrics of a benchmark; all of them are in the report


def recorded_lines(recorded: Mapping[str, Any]) -> list[str]:
    """Describe the baseline that a benchmark recorded; nothing if it recorded none."""
    if not recorded:
        return []
    metrics: Mapping[str, Sequence[float | None]] = recorded["metrics"]
    changed = [
        f"    {n} {_change(*pair)}" for n, pair in metrics.items() if pair[0] != pair[1]
    ]
    same = [name for name, (was, now) in metrics.items() if was == now]
    lines = [f"{'recorded' if recorded['written'] else 'unchanged'} {recorded['file']}"]
    lines += capped(changed, _NAMED, "    ... and {} more: see report.json")
    if same and recorded["written"]:
        lines.append(f"    as before: {listed(same, _NAMED)}")
    return lines


def recorded_count(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    """Count the baselines that all benchmarks recorded in one line; none if none did."""
    written = [entry["recorded"]["written"] for entry in entries if entry["recorded"]]
    parts = [(written.count(True), "recorded"), (written.count(False), "unchanged")]
    counted = ", ".join(f"{count} {what}" for count, what in parts if count)
    return [f"baselines: {counted}"] if counted else []


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
    """Explain in one line why a score is missing; empty if no scorer lacks it."""
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
