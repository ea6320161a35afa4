"""The terminal: one line per benchmark at a run's end, and the plan's table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pytest_evalmetrics.layout import capped, listed, many, visible
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.reports import check_wording, run_wording, triage, wording
from pytest_evalmetrics.reports.console import (
    CUT,
    beginning,
    broken,
    columns_of,
    filled,
    isolated,
)
from pytest_evalmetrics.reports.failure_layout import COLOURS
from pytest_evalmetrics.reports.sentences import (
    behaviour_details,
    blind_text,
    bound_of,
    reason_of,
)
from pytest_evalmetrics.reports.sentences.brief import brief
from pytest_evalmetrics.reports.sentences.changes import change_texts
from pytest_evalmetrics.reports.sentences.notes import note_text, note_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pytest_evalmetrics.model.results import (
        AgentResult,
        BenchmarkResult,
        Check,
        RunReport,
    )

    Lines = Iterator[tuple[str, str | None]]  # with a colour

# -- the end of a run ------------------------------------------------------------------------

_METRICS_NAMED = 3  # on a benchmark's line; all of them are in the report
_OTHERS_SHOWN = 10
_BLIND_NAMED = 5
_STALE = 3  # baselines
_CHANGES = 3  # of a benchmark
_MANY = 5  # benchmarks; from so many on, the expected false alarms are mentioned
_PASSING_SHOWN = 30  # passing benchmarks; -v shows all
_WHOLE_LINES = 40  # of an overview; where more are needed each benchmark has one
_QUIET_SHOWN = 50  # lines of -q
_FEW = 15  # benchmarks; each may take two lines where it is short
_CASE = 156  # columns of a cause's case: two lines of a narrow terminal
_SHORT = 2  # lines of a benchmark that is written briefly
_INDENT = " " * 6
_ADVISORY_COLOUR = "cyan"


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """How the section is read."""

    verbosity: int = 0
    width: int | None = None  # of the terminal; None leaves lines as they are
    # the benchmarks whose failures are shown above
    explained: frozenset[str] = frozenset()


def section(
    report: RunReport, written: Sequence[str], reading: Reading
) -> list[tuple[str, str | None]]:
    """Write the section: lines, each with a colour or None."""
    lines = _lines(report, written, reading)
    return [(visible(line), colour) for line, colour in lines]


def _lines(report: RunReport, written: Sequence[str], reading: Reading) -> Lines:
    results = run_wording.by_evidence(report.benchmarks)
    verbosity = reading.verbosity
    if verbosity <= 0:
        yield from _causes(results, reading)
    if verbosity < 0:
        yield from _quiet(report, results, reading)
    else:
        yield from _overview(results, reading, run_wording.drifts_by_benchmark(report))
        yield from _without_result(report, everything=verbosity > 0)
    if verbosity == 0:
        yield from _plain(f"note: {note}" for note in _common_notes(results))
    yield from _plain(f"note: {note}" for note in _blind_gates(results))
    if verbosity >= 0 and len(results) >= _MANY:
        chance = run_wording.false_alarms(results)
        if chance:
            yield f"note: {chance}", None
    unknown_noise = run_wording.unknown_noise(results)
    if verbosity >= 0 and unknown_noise:
        yield f"note: {unknown_noise}", None
    for text in _stale_baselines(results, verbosity):
        yield f"warning: {text}", "yellow"
    if written:
        yield f"artifacts: {', '.join(written)}", None


def _stale_baselines(results: Sequence[BenchmarkResult], verbosity: int) -> list[str]:
    """Name the baselines that are too old: with -v all of them, with -q how many there are."""
    stale = run_wording.stale_baselines(results)
    if verbosity > 0:
        return stale
    shown = _STALE if verbosity == 0 else 0
    return capped(
        stale, shown, "and {} more baselines that are too old (-v shows them)"
    )


def _plain(lines: Iterable[str]) -> Lines:
    yield from ((line, None) for line in lines)


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
            yield from _plain(broken(f"    {case}", reading.width))
        if cause.command:
            yield f"    {cause.command}", None


def _colour(result: BenchmarkResult) -> str:
    """Let a benchmark stand out that fails as expected, or may have got worse unproven."""
    unproven = result.verdict is Verdict.PASS and run_wording.has_unproven_drop(result)
    if result.xfail or unproven:
        return "yellow"
    is_advisory = check_wording.word_of_result(result) == check_wording.ADVISORY
    return _ADVISORY_COLOUR if is_advisory else COLOURS[result.verdict]


def _quiet(
    report: RunReport, results: Sequence[BenchmarkResult], reading: Reading
) -> Lines:
    """Write one line a benchmark, and one for all."""
    drifts = run_wording.drifts_by_benchmark(report)
    if reading.verbosity == -1:
        for result in results[:_QUIET_SHOWN]:
            yield _short_line(result, reading), _colour(result)
            yield from _drift_lines(drifts.get(result.id, ()), reading)
        if len(results) > _QUIET_SHOWN:
            yield f"... and {len(results) - _QUIET_SHOWN} more", None
    total = many(len(results), "benchmark")
    counts = run_wording.verdict_counts(report)
    yield f"{total}: {counts}", COLOURS[report.verdict]
    yield from _plain(wording.recorded_count(results))


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
    in_full = len(results) <= _FEW
    for group, end, colour in ((failing, "fail", "red"), (others, "pass", "green")):
        for result in group:
            if result.id in chosen.hidden:
                continue
            if result.id in chosen.short:
                lines = _short_lines(result, reading, in_full=in_full)
                yield from ((line, _colour(result)) for line in lines)
            else:
                yield from _entry(result, reading)
            yield from _drift_lines(drifts.get(result.id, ()), reading)
        hidden = sum(result.id in chosen.hidden for result in group)
        if hidden:
            yield f"... and {hidden} more that {end} (-v shows them)", colour


def _chosen(
    results: Sequence[BenchmarkResult],
    reading: Reading,
    drifts: Mapping[str, Sequence[str]],
) -> _Chosen:
    """Choose what is written briefly, or not at all; with -v everything is whole."""
    if reading.verbosity > 0:
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
    lines = 0
    for result in results:
        lines += len(list(_entry(result, reading)))
        if lines > _WHOLE_LINES:
            return True
    return False


def _drift_lines(drifts: Sequence[str], reading: Reading) -> Lines:
    """Warn of a benchmark's drift where its verdict stands, which does not tell of it."""
    for text in drifts:
        lines = broken(f"    warning: drift: {text}", reading.width)
        yield from ((line, "yellow") for line in lines)


def _folded(
    results: Sequence[BenchmarkResult], reading: Reading
) -> list[BenchmarkResult]:
    """List those of many failing benchmarks whose failures are not shown above."""
    failing = triage.failing(results)
    if len(failing) <= triage.FOLDED:
        return []
    return [one for one in failing if one.id not in reading.explained]


def _passes_as_before(result: BenchmarkResult) -> bool:
    return result.verdict is Verdict.PASS and not _records(result)


def _records(result: BenchmarkResult) -> bool:
    """Whether a benchmark records a new baseline, which is always reported."""
    return result.recorded is not None and result.recorded.written


# -- a benchmark -----------------------------------------------------------------------------


def _title(result: BenchmarkResult) -> str:
    mark = " (xfail)" if result.xfail else ""
    word = check_wording.word_of_result(result)
    return f"{word}  {isolated(result.id)}{mark}"


def _short_line(result: BenchmarkResult, reading: Reading) -> str:
    """Write one line: the check that says most of a benchmark, its numbers whole."""
    phrases = _short_phrases(result)
    title = _title(result)
    line = f"{title}  {', '.join(phrases)}".rstrip()
    if reading.width is None or columns_of(line) <= reading.width:
        return line
    first = phrases[0] if phrases else ""
    others = phrases[1:]
    room = reading.width - columns_of(f"  {first}")
    if others:
        room -= columns_of(CUT)
    if columns_of(title) > room:
        title = _short_title(result)
    line = f"{title}  {first}"
    if columns_of(line) > reading.width or not others:
        return beginning(line, reading.width)
    for phrase in others:
        longer = f"{line}, {phrase}"
        if columns_of(longer) + columns_of(CUT) > reading.width:
            return f"{line}{CUT}"
        line = longer
    return line


def _short_title(result: BenchmarkResult) -> str:
    """Leave out the folders and the file of a benchmark, which its report names."""
    name = result.id.rpartition("::")[2]
    mark = " (xfail)" if result.xfail else ""
    word = check_wording.word_of_result(result)
    return f"{word}  {isolated(f'{CUT}::{name}')}{mark}"


def _short_lines(
    result: BenchmarkResult, reading: Reading, *, in_full: bool
) -> list[str]:
    """Write one line, or two so that numbers are whole; name a failure that is shown above."""
    if result.id in reading.explained:
        line = f"{_title(result)}  {', '.join(_failing_names(result))}"
        if reading.width is not None:
            line = beginning(line, reading.width)
        return [line]
    stands_out = _colour(result) != COLOURS[Verdict.PASS]
    if not (stands_out or in_full):
        return [_short_line(result, reading)]
    lines = _phrases(_title(result), _short_phrases(result), reading.width)
    if len(lines) <= _SHORT or reading.width is None:
        return lines[:_SHORT]
    rest = " ".join(line.strip() for line in lines[_SHORT - 1 :])
    last = beginning(f"{_INDENT}{rest}", reading.width)
    return [*lines[: _SHORT - 1], last]


def _short_phrases(result: BenchmarkResult) -> list[str]:
    """Say what a benchmark's one line says: the check that matters most, or its numbers."""
    check = triage.leading(result)
    if check is not None and check.verdict is not Verdict.PASS:
        return [_unmet_text(check)]
    if not result.agents:
        return []
    agent = result.agents[0]
    if check is not None:
        name = check_wording.checked_agent(result, check)
        agent = next((one for one in result.agents if one.agent == name), agent)
    phrases = _metric_phrases(result, agent, briefly=True)
    others = len(result.agents) - 1
    if not others:
        return phrases + _size_phrases(agent)
    first = ", ".join(phrases[:1])
    return [f"{isolated(agent.agent)}: {first}", many(others, "more agent")]


def _unmet_text(check: Check) -> str:
    agent = check_wording.of_agent(check)
    baseline, now = check_wording.sides_of(check)
    p = check_wording.p_value(check)
    is_judged = check.verdict is not Verdict.INCONCLUSIVE
    if check.comparison is None or baseline is None or not is_judged:
        return f"{agent}{check_wording.own_reason(brief(check))}"
    held = f"was {wording.number(baseline)}"
    if p is not None:
        held += f", p {p:.2g}"
    return f"{agent}{check.name} {wording.number(now)} ({held})"


def _entry(result: BenchmarkResult, reading: Reading) -> Lines:
    """Write a benchmark with what every agent's metrics were held against."""
    everything = reading.verbosity > 0
    is_explained = result.id in reading.explained
    colour = _colour(result)
    lines = _agent_lines(result, reading)
    if is_explained:
        lines = _explained_lines(result, reading)
    for line in lines:
        yield line, colour
    details: list[str] = []
    if not is_explained:
        details += _details(result) if everything else _remarkable(result)
        changes = [f"changed: {text}" for text in change_texts(result.changes)]
        more = many(len(changes) - _CHANGES, "more change")
        most = len(changes) if everything else _CHANGES
        details += capped(changes, most, f"... and {more} (-v shows them)")
    details += wording.recorded_lines(result.recorded)
    details += wording.judge_lines(result.judges)
    for text in details:
        line = f"    {text}"
        if reading.width is not None and not everything:
            line = beginning(line, reading.width)
        yield from _plain(broken(line, reading.width))


def _agent_lines(result: BenchmarkResult, reading: Reading) -> list[str]:
    """Write one agent behind the benchmark, or each of several below it."""
    title = _title(result)
    if not result.agents:
        return _phrases(title, _worst_reasons(result)[:1], reading.width)
    if len(result.agents) == 1:
        phrases = _agent_phrases(result, result.agents[0])
        return _phrases(title, phrases, reading.width)
    unmet = _failing_agents(result)
    ordered = sorted(result.agents, key=lambda agent: agent.agent not in unmet)
    sizes = {tuple(_size_phrases(agent)) for agent in ordered}
    about = [many(len(ordered), "agent")]
    if len(sizes) == 1:  # then once
        tasks, *others = sizes.pop()
        about += [f"each {tasks}", *others]
    seen = check_wording.seen_losses(result.checks)
    if seen:
        about.append(seen)
    lines = _phrases(title, about, reading.width)
    for agent in ordered:
        phrases = _metric_phrases(result, agent)
        if sizes:
            phrases += _size_phrases(agent)
        lines += _phrases(_agent_title(agent), phrases, reading.width, between=" ")
    return lines


def _explained_lines(result: BenchmarkResult, reading: Reading) -> list[str]:
    """Name what fails as shown above, and write briefly the agents that don't."""
    lines = _phrases(_title(result), _failing_names(result), reading.width)
    if len(result.agents) < 2:
        return lines
    unmet = _failing_agents(result)
    for agent in result.agents:
        if agent.agent not in unmet:
            phrases = _metric_phrases(result, agent)[:1]
            lines += _phrases(_agent_title(agent), phrases, reading.width, between=" ")
    return lines


def _agent_title(agent: AgentResult) -> str:
    return f"{_INDENT}{isolated(agent.agent)}:"


def _failing_agents(result: BenchmarkResult) -> set[str]:
    unmet = (check for check in result.checks if check.verdict is not Verdict.PASS)
    return {check.agent for check in unmet}


def _failing_names(result: BenchmarkResult) -> list[str]:
    """Name what fails, and for which agents."""
    agents: dict[str, dict[str, None]] = {}
    for check in result.checks:
        if check.verdict is not Verdict.PASS:
            agents.setdefault(check.name, {})[check.agent] = None
    texts = []
    for name, of_name in agents.items():
        text = name
        if any(of_name):
            text += f" ({', '.join(map(isolated, of_name))})"
        texts.append(text)
    return texts


def _phrases(
    title: str, phrases: Sequence[str], width: int | None, between: str = "  "
) -> list[str]:
    """Write phrases behind a title, and on further lines where they don't fit."""
    if not phrases:
        return [title]
    together = f"{title}{between}{', '.join(phrases)}"
    if width is None or columns_of(together) <= width:
        return [together]
    pieces = _pieces(phrases)
    first = f"{title}{between}{pieces[0]}"
    if columns_of(first) <= width:
        return filled([first, *pieces[1:]], width, indent=len(_INDENT))
    return [title, *filled(pieces, width, indent=len(_INDENT), begins=_INDENT)]


def _pieces(phrases: Sequence[str]) -> list[str]:
    """Cut phrases where a line may end: between them, and at the semicolons within."""
    pieces: list[str] = []
    for phrase in phrases:
        pieces += f"{phrase},".replace("; ", ";\n").split("\n")
    pieces[-1] = pieces[-1].removesuffix(",")
    return pieces


def _agent_phrases(result: BenchmarkResult, agent: AgentResult) -> list[str]:
    seen = check_wording.seen_losses(result.checks)
    phrases = _metric_phrases(result, agent) + _size_phrases(agent)
    if seen:
        phrases.append(seen)
    return phrases


def _size_phrases(agent: AgentResult) -> list[str]:
    phrases = [many(agent.tasks, "task"), many(agent.rollouts, "rollout")]
    if agent.missing:
        phrases.append(f"{agent.missing} missing")
    return phrases


def _metric_phrases(
    result: BenchmarkResult, agent: AgentResult, *, briefly: bool = False
) -> list[str]:
    gated = run_wording.gated_names(result)
    headline = run_wording.headline_metrics(gated, agent.key_metrics)
    return [
        f"{name} {wording.number(value)}"
        f"{_held_against(result, agent.agent, name, briefly=briefly)}"
        for name, value in list(headline.items())[:_METRICS_NAMED]
    ]


def _held_against(
    result: BenchmarkResult, agent: str, metric: str, *, briefly: bool
) -> str:
    """Say what a value was held against; empty where nothing was."""
    parts: list[str] = []
    for check in result.checks:
        if check.name != metric or check_wording.checked_agent(result, check) != agent:
            continue
        if check.gate is Gate.THRESHOLD and check.bound is not None:
            parts.append(bound_of(check))
        elif check.gate is Gate.BASELINE:
            parts += check_wording.before_and_now(check, briefly=briefly)
    return f" ({'; '.join(parts)})" if parts else ""


def _worst_reasons(result: BenchmarkResult) -> list[str]:
    verdict = result.verdict
    return [
        check_wording.own_reason(brief(check))
        for check in result.checks
        if check.verdict is verdict
    ]


def _remarkable(result: BenchmarkResult) -> Iterator[str]:
    """Say what a metric's numbers don't: why a gate warns, and which tasks differ."""
    for check in result.checks:
        agent = check_wording.of_agent(check)
        passes = check.verdict is Verdict.PASS
        if passes and check_wording.changes_task_list(check):
            yield agent + reason_of(check)
        elif not passes and check.reasons and result.agents:
            word = check_wording.word_of(check)
            yield f"{word}  {agent}{check_wording.own_reason(brief(check))}"


def _details(result: BenchmarkResult) -> Iterator[str]:
    for check in result.checks:
        word = check_wording.word_of(check)
        line = f"{word:<12}  {check_wording.of_agent(check)}{check.name}"
        if check.bound is not None:
            measured = check_wording.measured(check, check.estimate)
            line += f" {' '.join(part for part in measured if part)}"
            line += f" (expected {bound_of(check)})"
        reason = check_wording.own_reason(check)
        yield f"{line}: {reason}" if reason else line
    for facts in result.behaviour:
        yield from behaviour_details(facts)
    yield from (f"note: {text}" for text in note_texts(result.notes))


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


def _without_result(report: RunReport, *, everything: bool) -> Lines:
    lost = [
        f"INCONCLUSIVE  {item}  {why}" for item, why in run_wording.lost_ones(report)
    ]
    skipped = [f"{'SKIPPED':<12}  {item.id}  {item.reason}" for item in report.skipped]
    if not everything:
        rest = "... and {} more that were not evaluated (-v shows them)"
        lost = capped(lost, _OTHERS_SHOWN, rest)
        rest = "... and {} more skipped (-v shows them)"
        skipped = capped(skipped, _OTHERS_SHOWN, rest)
    for line in lost:
        yield line, "red"
    for line in skipped:
        yield line, "yellow"
