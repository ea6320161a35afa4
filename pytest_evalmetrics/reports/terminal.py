"""The terminal: one line per benchmark at a run's end, and the plan's table."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from pytest_evalmetrics.layout import capped, listed, many, visible
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.reports import check_wording, run_wording, triage, wording
from pytest_evalmetrics.reports.failure import COLOURS
from pytest_evalmetrics.reports.sentences import (
    blind_text,
    bound_of,
    reason_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_evalmetrics.model.results import (
        AgentResult,
        BenchmarkResult,
        Power,
        RunReport,
    )

    Lines = Iterator[tuple[str, str | None]]  # with a colour

# -- the end of a run ------------------------------------------------------------------------

_METRICS_NAMED = 3  # on a benchmark's line; all of them are in the report
_AGENTS_SHOWN = 3
_OTHERS_SHOWN = 10
_BLIND_NAMED = 5
_MANY = 5  # benchmarks; from so many on, the expected false alarms are mentioned
_WIDTH = 156  # two lines of a narrow terminal
_PASSING_SHOWN = 30  # lines of passing benchmarks; -v shows all


def section(
    report: RunReport, written: Sequence[str], *, verbosity: int
) -> list[tuple[str, str | None]]:
    """Write the section: lines, each with a colour or None; with -q one line for all benchmarks."""
    lines = _lines(report, written, verbosity)
    return [(visible(line), colour) for line, colour in lines]


def _lines(report: RunReport, written: Sequence[str], verbosity: int) -> Lines:
    results = report.benchmarks
    red = triage.failing(results)
    if verbosity <= 0:
        yield from _causes(results)
    if verbosity < 0:
        total = many(len(results), "benchmark")
        counts = run_wording.verdict_counts(report)
        yield f"{total}: {counts}", COLOURS[report.verdict]
        yield from _plain(wording.recorded_count(results))
    elif verbosity == 0 and len(red) > triage.FOLDED:
        yield from _strongest(results, red, written)
    else:
        yield from _each(results, everything=verbosity > 0)
    if verbosity >= 0:
        yield from _without_result(report, everything=verbosity > 0)
    if verbosity == 0:
        yield from _plain(f"note: {note}" for note in _common_notes(results))
    yield from _plain(f"note: {note}" for note in _blind_gates(results))
    if verbosity >= 0 and len(results) >= _MANY:
        chance = run_wording.false_alarms(results)
        if chance:
            yield f"note: {chance}", None
    if written:
        yield f"artifacts: {', '.join(written)}", None


def _plain(lines: Iterable[str]) -> Lines:
    yield from ((line, None) for line in lines)


def _causes(results: Sequence[BenchmarkResult]) -> Lines:
    for cause in triage.triage(results):
        yield cause.head, "red"
        for text in (cause.case, cause.command):
            line = " ".join(text.split())
            if len(line) > _WIDTH:
                line = f"{line[: _WIDTH - 3]}..."
            if line:
                yield f"    {line}", None


def _each(results: Sequence[BenchmarkResult], *, everything: bool) -> Lines:
    """Write each benchmark's line, and what belongs to it; the first of those that pass."""
    hidden: set[str] = set()
    if not everything:
        passing = [result.id for result in results if _passes_as_before(result)]
        hidden = set(passing[_PASSING_SHOWN:])
    for result in results:
        if result.id in hidden:
            continue
        yield _line(result), _colour(result)
        details = list(_details(result) if everything else _task_lists(result))
        details += [f"changed: {text}" for text in result.changes]
        details += wording.recorded_lines(result.recorded)
        details += wording.judge_lines(result.judges)
        yield from _plain(f"    {text}" for text in details)
    if hidden:
        yield f"... and {len(hidden)} more that pass (-v shows them)", "green"


def _colour(result: BenchmarkResult) -> str:
    """Let a benchmark stand out that fails as expected, or may have got worse unproven."""
    unproven = any(map(check_wording.is_unproven_drop, result.checks))
    if result.xfail or (unproven and result.verdict is Verdict.PASS):
        return "yellow"
    return COLOURS[result.verdict]


def _passes_as_before(result: BenchmarkResult) -> bool:
    """Whether a benchmark passes, and records no new baseline, which is always reported."""
    records = result.recorded is not None and result.recorded.written
    return result.verdict is Verdict.PASS and not records


def _strongest(
    results: Sequence[BenchmarkResult],
    red: Sequence[BenchmarkResult],
    written: Sequence[str],
) -> Lines:
    """Write the benchmarks with the strongest evidence, and count the others."""
    for result in red[: triage.FOLDED]:
        yield _line(result), COLOURS[result.verdict]
    named = [path for path in written if path.endswith(("summary.md", "report.html"))]
    where = f"{named[0]}, or -v shows them" if named else "-v shows them"
    yield f"... and {len(red) - triage.FOLDED} more that fail: {where}", "red"
    ids = {result.id for result in red}
    others = Counter(
        "known failures" if result.xfail else str(result.verdict)
        for result in results
        if result.id not in ids
    )
    if others:
        counts = ", ".join(f"{count} {what}" for what, count in others.items())
        yield f"... and {counts} (-v shows them)", None
    yield from _plain(wording.recorded_count(results))


def _line(result: BenchmarkResult) -> str:
    mark = " (xfail)" if result.xfail else ""
    parts = [f"{result.verdict:<12}  {result.id}{mark}"]
    failing = {
        check.agent for check in result.checks if check.verdict is not Verdict.PASS
    }
    ordered = sorted(result.agents, key=lambda agent: agent.agent not in failing)
    agents = [_agent(result, agent) for agent in ordered]
    more = many(len(agents) - _AGENTS_SHOWN, "more agent")
    parts += capped(agents, _AGENTS_SHOWN, f"and {more}")
    if not agents:
        parts += _worst_reasons(result)[:1]
    return "  ".join(parts)


def _agent(result: BenchmarkResult, agent: AgentResult) -> str:
    gated = run_wording.gated_names(result)
    headline = run_wording.headline_metrics(gated, agent.key_metrics)
    parts = [
        f"{name} {wording.number(value)}{_held_against(result, agent.agent, name)}"
        for name, value in list(headline.items())[:_METRICS_NAMED]
    ]
    parts += [many(agent.tasks, "task"), many(agent.rollouts, "rollout")]
    if agent.missing:
        parts.append(f"{agent.missing} missing")
    name = f"{agent.agent}: " if len(result.agents) > 1 else ""
    return name + ", ".join(parts)


def _held_against(result: BenchmarkResult, agent: str, metric: str) -> str:
    """Say what a value was held against; empty where nothing was."""
    parts: list[str] = []
    for check in result.checks:
        if check.name != metric or check_wording.checked_agent(result, check) != agent:
            continue
        if check.gate is Gate.THRESHOLD and check.bound is not None:
            parts.append(bound_of(check))
        elif check.gate is Gate.BASELINE:
            parts += check_wording.before_and_now(check)
    return f" ({'; '.join(parts)})" if parts else ""


def _worst_reasons(result: BenchmarkResult) -> list[str]:
    verdict = result.verdict
    return [reason_of(check) for check in result.checks if check.verdict is verdict]


def _task_lists(result: BenchmarkResult) -> Iterator[str]:
    """List the tasks that differ from the baseline's where the benchmark passes all the same."""
    for check in result.checks:
        passes = check.verdict is Verdict.PASS
        if passes and check_wording.changes_task_list(check):
            yield check_wording.of_agent(check) + reason_of(check)


def _details(result: BenchmarkResult) -> Iterator[str]:
    for check in result.checks:
        line = f"{check.verdict:<12}  {check_wording.of_agent(check)}{check.name}"
        if check.bound is not None:
            measured = check_wording.measured(check, check.estimate)
            line += f" {' '.join(part for part in measured if part)}"
            line += f" (expected {bound_of(check)})"
        reason = reason_of(check)
        yield f"{line}: {reason}" if reason else line
    yield from (f"note: {note}" for note in result.notes)


def _blind_gates(results: Iterable[BenchmarkResult]) -> Iterator[str]:
    """Name the gates that pass, and could not have failed for want of tasks."""
    blind: dict[str, list[str]] = {}
    for result in results:
        for check in result.checks:
            cause = check_wording.blindness_of(check)
            passes = check.verdict is Verdict.PASS
            if passes and cause is not None and check_wording.is_tested(check):
                gate = f"{result.name} {check.name}"
                blind.setdefault(blind_text(cause), []).append(gate)
    for reason, gates in blind.items():
        yield f"blind: {listed(gates, _BLIND_NAMED)}: {reason}"


def _common_notes(results: Iterable[BenchmarkResult]) -> Iterator[str]:
    """Write each kind of note once, with one example."""
    kinds: dict[str, list[str]] = {}
    for result in results:
        for note in result.notes:
            kind = note.partition(":")[0]
            kinds.setdefault(kind, []).append(f"{result.id}: {note}")
    for first, *others in kinds.values():
        more = f" (and {many(len(others), 'more such note')}: -v)" if others else ""
        yield first + more


def _without_result(report: RunReport, *, everything: bool) -> Lines:
    lost = [
        f"INCONCLUSIVE  {item}  {why}" for item, why in run_wording.lost_ones(report)
    ]
    skipped = [f"{'SKIPPED':<12}  {item.id}  {item.reason}" for item in report.skipped]
    most_lost = len(lost) if everything else _OTHERS_SHOWN
    most_skipped = len(skipped) if everything else _OTHERS_SHOWN
    rest = "... and {} more that were not evaluated (-v shows them)"
    for line in capped(lost, most_lost, rest):
        yield line, "red"
    for line in capped(
        skipped, most_skipped, "... and {} more skipped (-v shows them)"
    ):
        yield line, "yellow"


# -- the plan --------------------------------------------------------------------------------

_PLAN = (
    "benchmark",
    "agent",
    "metric",
    "tasks",
    "rollouts",
    "detects a drop of",
    "max_drop",
    "rollouts needed",
    "by",
)
_PLAN_NOTE = (
    "A drop is detected with 80 % power if only sampling varies between runs; rollouts needed "
    "are those of each task, on both sides, that detect max_drop."
)


def power_table(planned: Sequence[tuple[str, Sequence[Power]]]) -> list[str]:
    """Write one line per benchmark and gated metric."""
    rows = []
    notes = []
    for item, powers in planned:
        several = len({power.agent for power in powers}) > 1
        for power in powers:
            agent = power.agent if several else ""
            rows.append((item, agent, *_power_cells(power)))
            if power.reason:
                metric = f"{power.metric}: " if power.metric else ""
                notes.append(f"note: {item}: {metric}{power.reason}")
    return [*wording.table(_PLAN, rows), "", _PLAN_NOTE, *map(visible, notes)]


def _power_cells(power: Power) -> tuple[str, ...]:
    is_known = math.isfinite(power.mde)
    needed = "-"
    if is_known and power.max_drop > 0:
        needed = "more than 1024" if power.needed is None else str(power.needed)
    return (
        power.metric,
        str(power.tasks),
        str(power.rollouts),
        wording.number(power.mde) if is_known else "?",
        wording.number(power.max_drop),
        needed,
        power.source,
    )
