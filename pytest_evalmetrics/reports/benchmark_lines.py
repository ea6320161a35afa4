"""One benchmark in the terminal: whole, briefly, or in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pytest_evalmetrics.layout import capped, many
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.reports import check_wording, run_wording, triage, wording
from pytest_evalmetrics.reports.console import (
    CUT,
    beginning,
    broken,
    columns_of,
    filled,
    isolated,
    limited,
)
from pytest_evalmetrics.reports.failure_layout import COLOURS
from pytest_evalmetrics.reports.sentences import (
    behaviour_details,
    bound_of,
    reason_of,
)
from pytest_evalmetrics.reports.sentences.brief import brief, brief_change
from pytest_evalmetrics.reports.sentences.changes import change_texts
from pytest_evalmetrics.reports.sentences.notes import note_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_evalmetrics.model.results import AgentResult, BenchmarkResult, Check

    Lines = Iterator[tuple[str, str | None]]  # with a colour

_METRICS_NAMED = 3  # on a benchmark's line; all of them are in the report
_CHANGES = 3  # of a benchmark
_REASON_LINES = 4  # of a check that warns
_SHORT = 2  # lines of a benchmark that is written briefly
_INDENT = " " * 6
_ADVISORY_COLOUR = "cyan"


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """How the section is read."""

    verbosity: int = 0
    width: int | None = None  # of the terminal; None leaves lines as they are
    # the benchmarks whose failures are shown above
    explained: frozenset[str] = frozenset()

    @property
    def is_verbose(self) -> bool:
        """Whether -v asks for everything."""
        return self.verbosity > 0

    @property
    def is_quiet(self) -> bool:
        """Whether -q asks for one line a benchmark."""
        return self.verbosity < 0

    def fits(self, line: str) -> bool:
        """Check whether a line has room."""
        return self.width is None or columns_of(line) <= self.width

    def cut(self, line: str) -> str:
        """Keep what has room of a line."""
        if self.width is None:
            return line
        return beginning(line, self.width)


def colour_of(result: BenchmarkResult) -> str:
    """Let a benchmark stand out that fails as expected, or may have got worse unproven."""
    if result.xfail:
        return "yellow"
    if result.verdict is Verdict.PASS and run_wording.has_unproven_drop(result):
        return "yellow"
    if check_wording.word_of_result(result) == check_wording.ADVISORY:
        return _ADVISORY_COLOUR
    return COLOURS[result.verdict]


# -- its title -------------------------------------------------------------------------------


def _title(result: BenchmarkResult) -> str:
    return _titled(result, result.id)


def _short_title(result: BenchmarkResult) -> str:
    """Leave out the folders and the file of a benchmark, which its report names."""
    name = result.id.rpartition("::")[2]
    return _titled(result, f"{CUT}::{name}")


def _titled(result: BenchmarkResult, name: str) -> str:
    word = check_wording.word_of_result(result)
    title = f"{word}  {isolated(name)}"
    if result.xfail:
        title += " (xfail)"
    return title


def _agent_title(agent: AgentResult) -> str:
    return f"{_INDENT}{isolated(agent.agent)}:"


# -- in one line, or two ---------------------------------------------------------------------


def short_line(result: BenchmarkResult, reading: Reading) -> str:
    """Write one line: the check that says most of a benchmark, its numbers whole."""
    phrases = _short_phrases(result)
    title = _title(result)
    line = f"{title}  {', '.join(phrases)}".rstrip()
    if reading.width is None or reading.fits(line):
        return line
    first, *others = phrases or [""]
    room = reading.width - columns_of(f"  {first}")
    if others:
        room -= columns_of(CUT)
    line = f"{_title_within(result, room)}  {first}"
    if not others or not reading.fits(line):
        return beginning(line, reading.width)
    return _with_phrases(line, others, reading)


def _title_within(result: BenchmarkResult, room: int) -> str:
    title = _title(result)
    if columns_of(title) > room:
        return _short_title(result)
    return title


def _with_phrases(line: str, phrases: Sequence[str], reading: Reading) -> str:
    """Add whole phrases to a line as long as the mark of the cut fits behind them."""
    for phrase in phrases:
        longer = f"{line}, {phrase}"
        if not reading.fits(f"{longer}{CUT}"):
            return f"{line}{CUT}"
        line = longer
    return line


def short_lines(
    result: BenchmarkResult, reading: Reading, *, in_full: bool
) -> list[str]:
    """Write one line, or two so that numbers are whole; name a failure that is shown above."""
    if result.id in reading.explained:
        names = ", ".join(_failing_names(result))
        return [reading.cut(f"{_title(result)}  {names}")]
    stands_out = colour_of(result) != COLOURS[Verdict.PASS]
    if not stands_out and not in_full:
        return [short_line(result, reading)]
    lines = _phrases(_title(result), _short_phrases(result), reading)
    return limited(lines, _SHORT, reading.width)


def _short_phrases(result: BenchmarkResult) -> list[str]:
    """Say what a benchmark's one line says: the check that matters most, or its numbers."""
    check = triage.leading(result)
    if check is not None and check.verdict is not Verdict.PASS:
        return [_unmet_text(check)]
    if not result.agents:
        return []
    agent = _leading_agent(result, check)
    phrases = _metric_phrases(result, agent, briefly=True)
    others = len(result.agents) - 1
    if not others:
        return [*phrases, *_size_phrases(agent)]
    first = ", ".join(phrases[:1])
    return [f"{isolated(agent.agent)}: {first}", many(others, "more agent")]


def _leading_agent(result: BenchmarkResult, check: Check | None) -> AgentResult:
    """Return the agent of the leading check, or the first one."""
    if check is not None:
        name = check_wording.checked_agent(result, check)
        for agent in result.agents:
            if agent.agent == name:
                return agent
    return result.agents[0]


def _unmet_text(check: Check) -> str:
    """Say what does not hold: both values of a metric that was compared, or the reason."""
    agent = check_wording.of_agent(check)
    baseline, now = check_wording.sides_of(check)
    is_judged = check.verdict is not Verdict.INCONCLUSIVE
    if check.comparison is None or baseline is None or not is_judged:
        return f"{agent}{check_wording.own_reason(brief(check))}"
    before = f"was {wording.number(baseline)}"
    p = check_wording.p_value(check)
    if p is not None:
        before += f", p {wording.two_digits(p)}"
    text = f"{agent}{check.name} {wording.number(now)} ({before})"
    cause = check_wording.cause_of(check)
    if cause:
        text += f": {cause}"
    return text


# -- whole -----------------------------------------------------------------------------------


def entry(result: BenchmarkResult, reading: Reading) -> Lines:
    """Write a benchmark with what every agent's metrics were held against."""
    is_explained = result.id in reading.explained
    if is_explained:
        lines = _explained_lines(result, reading)
    else:
        lines = _agent_lines(result, reading)
    colour = colour_of(result)
    for line in lines:
        yield line, colour
    details: list[str] = []
    if not is_explained:
        for text in _check_details(result, reading):
            yield from _detail_lines(text, reading, most=_REASON_LINES)
        details += _change_details(result, reading)
    details += wording.recorded_lines(result.recorded)
    details += wording.judge_lines(result.judges)
    for text in details:
        yield from _detail_lines(text, reading, most=1)


def _detail_lines(text: str, reading: Reading, *, most: int) -> Lines:
    """Write a text below a benchmark, in at most so many lines but with -v."""
    lines = broken(f"    {text}", reading.width)
    if not reading.is_verbose:
        lines = limited(lines, most, reading.width)
    for line in lines:
        yield line, None


def _change_details(result: BenchmarkResult, reading: Reading) -> list[str]:
    """Write what changed since the baseline: the first ones, with -v all."""
    if reading.is_verbose:
        return [f"changed: {text}" for text in change_texts(result.changes)]
    short = change_texts(map(brief_change, result.changes))
    changes = [f"changed: {text}" for text in short]
    more = many(len(changes) - _CHANGES, "more change")
    return capped(changes, _CHANGES, f"... and {more} (-v shows them)")


def _agent_lines(result: BenchmarkResult, reading: Reading) -> list[str]:
    """Write one agent behind the benchmark, or each of several below it."""
    title = _title(result)
    if not result.agents:
        return _phrases(title, _worst_reasons(result)[:1], reading)
    if len(result.agents) == 1:
        phrases = _only_agent_phrases(result, result.agents[0])
        return _phrases(title, phrases, reading)
    return _several_agents(result, reading)


def _several_agents(result: BenchmarkResult, reading: Reading) -> list[str]:
    """Write each agent on lines of its own, the failing first; what all share once."""
    failing = _failing_agents(result)
    agents = sorted(result.agents, key=lambda agent: agent.agent not in failing)
    sizes = {tuple(_size_phrases(agent)) for agent in agents}
    have_one_size = len(sizes) == 1
    shared = [many(len(agents), "agent")]
    if have_one_size:
        tasks, *others = sizes.pop()
        shared += [f"each {tasks}", *others]
    seen = check_wording.seen_losses(result.checks)
    if seen:
        shared.append(seen)
    lines = _phrases(_title(result), shared, reading)
    for agent in agents:
        phrases = _metric_phrases(result, agent)
        if not have_one_size:
            phrases += _size_phrases(agent)
        lines += _phrases(_agent_title(agent), phrases, reading, between=" ")
    return lines


def _explained_lines(result: BenchmarkResult, reading: Reading) -> list[str]:
    """Name what fails as shown above, and write briefly the agents that don't."""
    lines = _phrases(_title(result), _failing_names(result), reading)
    if len(result.agents) < 2:
        return lines
    failing = _failing_agents(result)
    for agent in result.agents:
        if agent.agent not in failing:
            phrases = _metric_phrases(result, agent)[:1]
            lines += _phrases(_agent_title(agent), phrases, reading, between=" ")
    return lines


def _failing_agents(result: BenchmarkResult) -> set[str]:
    return {check.agent for check in check_wording.unmet(result.checks)}


def _failing_names(result: BenchmarkResult) -> list[str]:
    """Name what fails, and for which agents."""
    agents_by_name: dict[str, dict[str, None]] = {}
    for check in check_wording.unmet(result.checks):
        agents_by_name.setdefault(check.name, {})[check.agent] = None
    texts = []
    for name, agents in agents_by_name.items():
        text = name
        if any(agents):
            text += f" ({', '.join(map(isolated, agents))})"
        texts.append(text)
    return texts


def _worst_reasons(result: BenchmarkResult) -> list[str]:
    reasons = [
        check_wording.own_reason(brief(check))
        for check in result.checks
        if check.verdict is result.verdict
    ]
    return [reason for reason in reasons if reason]


# -- phrases ---------------------------------------------------------------------------------


def _phrases(
    title: str, phrases: Sequence[str], reading: Reading, between: str = "  "
) -> list[str]:
    """Write phrases behind a title, and on further lines where they don't fit."""
    if not phrases:
        return [title]
    together = f"{title}{between}{', '.join(phrases)}"
    if reading.width is None or reading.fits(together):
        return [together]
    pieces = _pieces(phrases)
    first = f"{title}{between}{pieces[0]}"
    if reading.fits(first):
        return filled([first, *pieces[1:]], reading.width, indent=len(_INDENT))
    below = filled(pieces, reading.width, indent=len(_INDENT), begins=_INDENT)
    return [title, *below]


def _pieces(phrases: Sequence[str]) -> list[str]:
    """Cut phrases where a line may end: between them, and at the semicolons within."""
    pieces: list[str] = []
    for phrase in phrases:
        pieces += f"{phrase},".replace("; ", ";\n").split("\n")
    pieces[-1] = pieces[-1].removesuffix(",")
    return pieces


def _only_agent_phrases(result: BenchmarkResult, agent: AgentResult) -> list[str]:
    phrases = _metric_phrases(result, agent)
    phrases += _size_phrases(agent)
    quarantined = check_wording.count_in_quarantine(result.checks)
    if quarantined:
        phrases.append(f"{quarantined} in quarantine")
    seen = check_wording.seen_losses(result.checks)
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
    """Write the first headline metrics, each with what it was held against."""
    gated = run_wording.gated_names(result)
    headline = run_wording.headline_metrics(gated, agent.key_metrics)
    phrases = []
    for name in list(headline)[:_METRICS_NAMED]:
        phrase = f"{name} {wording.number(headline[name])}"
        against = _held_against(
            result, agent.agent, name, headline[name], briefly=briefly
        )
        if against:
            phrase += f" ({'; '.join(against)})"
        phrases.append(phrase)
    return phrases


def _held_against(
    result: BenchmarkResult, agent: str, metric: str, value: float, *, briefly: bool
) -> list[str]:
    """Say what a value was held against; empty where nothing was."""
    texts: list[str] = []
    for check in result.checks:
        if check.name != metric or check_wording.checked_agent(result, check) != agent:
            continue
        if check.gate is Gate.THRESHOLD and check.bound is not None:
            texts.append(bound_of(check))
        elif check.gate is Gate.BASELINE:
            texts += check_wording.before_and_now(check, value, briefly=briefly)
    return texts


# -- details ---------------------------------------------------------------------------------


def _check_details(result: BenchmarkResult, reading: Reading) -> Iterator[str]:
    if reading.is_verbose:
        return _details(result)
    return _remarkable(result)


def _remarkable(result: BenchmarkResult) -> Iterator[str]:
    """Say what a metric's numbers don't: why a gate warns, and which tasks differ."""
    for check in result.checks:
        agent = check_wording.of_agent(check)
        passes = check.verdict is Verdict.PASS
        if passes and check_wording.changes_task_list(check):
            yield f"{agent}{reason_of(check)}"
        elif not passes and check.reasons and result.agents:
            word = check_wording.word_of(check)
            yield f"{word}  {agent}{check_wording.brief_reason(check)}"


def _details(result: BenchmarkResult) -> Iterator[str]:
    """Write every check with its value, its bound and its reason, then the notes."""
    for check in result.checks:
        yield _detail(check)
    for facts in result.behaviour:
        yield from behaviour_details(facts)
    for text in note_texts(result.notes):
        yield f"note: {text}"


def _detail(check: Check) -> str:
    word = check_wording.word_of(check)
    line = f"{word:<12}  {check_wording.of_agent(check)}{check.name}"
    if check.bound is not None:
        measured = check_wording.measured(check, check.estimate)
        line += f" {' '.join(part for part in measured if part)}"
        line += f" (expected {bound_of(check)})"
    reason = check_wording.own_reason(check)
    if reason:
        line += f": {reason}"
    return line
