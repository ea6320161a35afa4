"""What the failure of a benchmark says: what got worse, why, which tasks, and the way out."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from msgspec import structs

from pytest_evalmetrics.failure_lines import (
    Failure,
    Line,
    LineKind,
    Picture,
    Row,
    Table,
)
from pytest_evalmetrics.layout import capped, listed, many, visible
from pytest_evalmetrics.model import reasons as kinds
from pytest_evalmetrics.model.scoring_notes import UnscoredRows
from pytest_evalmetrics.model.verdicts import Acceptance, Direction, Gate, Verdict
from pytest_evalmetrics.reports import check_wording, flipped_tasks, triage, wording
from pytest_evalmetrics.reports.sentences import (
    allowed_text,
    bound_of,
    hint_of,
    is_compared,
    reason_of,
    values_text,
)
from pytest_evalmetrics.reports.sentences.brief import brief
from pytest_evalmetrics.reports.sentences.changes import change_texts
from pytest_evalmetrics.reports.sentences.notes import note_text
from pytest_evalmetrics.reports.sentences.separators import (
    separator_basis,
    separator_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_evalmetrics.failure_lines import Block
    from pytest_evalmetrics.model.results import BenchmarkResult, Check

    Blocks = Iterator[Block]

_NOTES = 3  # of a kind
_SLICES = 3  # in the table
_DRAWN = 2  # changes
_AGENTS = 5  # with the same reason
_ALIKE = 8  # times that the largest of changes on one scale may be another
_VALUES = ("verdict", "agent", "metric", "value", "95% interval", "tasks", "expected")
_COMPARED = (
    "verdict",
    "agent",
    "metric",
    "baseline",
    "now",
    "change",
    "95% interval",
    "p",
    "tasks",
    "worse",
    "better",
    "direction",
    "expected",
)
# what a narrow terminal goes without, the first to go first
_DISPENSABLE = ("direction", "tasks", "expected", "better", "worse", "95% interval")

# -- what it holds ---------------------------------------------------------------------------


def failure_of_result(
    result: BenchmarkResult, item: str = "", *, titled: bool = False
) -> Failure:
    """Explain a benchmark that failed, for the reader of a CI log.

    Parameters
    ----------
    result
        The benchmark.
    item
        The pytest item that evaluates it, for the commands; empty without any.
    titled
        Whether the benchmark's name comes first: a test may check several.
    """
    blocks: list[Block] = []
    if titled:
        outcome = "failed" if result.verdict is Verdict.FAIL else "could not be judged"
        blocks.append(Line(visible(f"{result.name} {outcome}")))
    if result.failed_rows:  # the reason for missing rewards below
        groups = wording.failed_row_groups(result.failed_rows)
        blocks += [Line(visible(text), LineKind.PART) for text in groups]
    compared = _compared(result)
    several = _fails_several(compared)
    blocks += _comparisons(result, compared, several=several)
    blocks += _reasons(result, said_above=compared if several else ())
    blocks += flipped_tasks.task_lines(result)
    blocks += _shared(result)
    blocks.append(Line(_more(result), LineKind.MORE))
    blocks += _hints(dict.fromkeys(map(_hint, filter(_is_worse, compared))))
    blocks += _commands(result, item)
    blocks += _values_table(result.checks)
    blocks += _remarks(result)
    return Failure(_first_reason(result), blocks, result.id)


def failure_of_warning(result: BenchmarkResult, item: str) -> Failure:
    """Explain a benchmark that warns where a filter makes errors of warnings."""
    failure = failure_of_result(result, item)
    why = Line("a warning, which fails here because of -W error:")
    return structs.replace(failure, blocks=[why, *failure.blocks])


def failure_of_words(words: str) -> Failure:
    """Show the words of an error as they are."""
    lines = words.split("\n")
    return Failure(lines[0], [Line(line) for line in lines])


def joined(failures: Sequence[Failure]) -> Failure:
    """Show several failures of one test, the first one as the summary."""
    blocks: list[Block] = []
    for failure in failures:
        blocks += [Line(), *failure.blocks]
    return structs.replace(failures[0], blocks=blocks[1:])


def below_the_call(call: Iterable[str], failure: Failure) -> Failure:
    """Show a failure below the test's own lines that it comes from."""
    return structs.replace(failure, blocks=[*map(Line, call), Line(), *failure.blocks])


def _first_reason(result: BenchmarkResult) -> str:
    """Say why the benchmark does not hold, in one line."""
    first = triage.leading(result)
    unmet = [check for check in result.checks if check.verdict is not Verdict.PASS]
    unmet.sort(key=lambda check: not check.verdict.fails)
    for check in unmet if first is None else [first, *unmet]:
        reason = _short(check)
        if reason:
            word = check_wording.word_of(check)
            prefix = "" if check.verdict is Verdict.FAIL else f"{word}: "
            return visible(f"{prefix}{check_wording.of_agent(check)}{reason}")
    return visible(result.name)


def _short(check: Check) -> str:
    """Say the reason for one line; the failure has what surrounds it."""
    facts = check.comparison
    if check.reasons or facts is None or not is_compared(check):
        return check_wording.own_reason(brief(check))
    text = values_text(check.name, facts)
    return text if facts.p_adjusted is None else f"{text}, p {facts.p_adjusted:.2g}"


# -- metrics against their baseline ----------------------------------------------------------


def _compared(result: BenchmarkResult) -> list[Check]:
    """List the checks that belong into the table of comparisons, the surest first."""
    checks = [
        check
        for check in result.checks
        if check_wording.is_set_against_reference(check)
        or check_wording.worse_slices(check)
    ]
    return triage.in_turn(checks)


def _fails_several(compared: Sequence[Check]) -> bool:
    """Whether a table says it shorter than sentences: several changes are worse."""
    return sum(map(_is_worse, compared)) > 1


def _is_worse(check: Check) -> bool:
    if check.verdict is Verdict.PASS:
        return False
    return is_compared(check) or bool(check_wording.worse_slices(check))


def _comparisons(
    result: BenchmarkResult, compared: Sequence[Check], *, several: bool
) -> Blocks:
    """Write a table of the changes below what is worse, and draw the first ones."""
    worse = [check for check in compared if _is_worse(check)]
    if several:
        yield Line(_head(result, worse), LineKind.REASON, worse[0].verdict)
    rows: list[Row] = []
    for check in compared:
        slices = check_wording.worse_slices(check)[:_SLICES]
        rows += [Row(_slice_row(check, one), check.verdict) for one in slices]
        if not slices:
            rows.append(Row(_compared_row(check), check.verdict))
    if rows:
        yield Table(
            header=_COMPARED,
            rows=_without_twins(rows),
            dispensable=_DISPENSABLE,
            is_folded=not several,
        )
    if several:
        yield from _pictures(worse)


def _pictures(checks: Sequence[Check]) -> Blocks:
    """Draw the intervals of the surest changes, each named, on one scale."""
    several = len({check.agent for check in checks}) > 1
    pictures = []
    for check in checks:
        picture = change_picture(check)
        if picture is not None:
            agent = check_wording.of_agent(check) if several else ""
            label = visible(f"{agent}{check.name}")
            pictures.append(structs.replace(picture, label=label))
    for picture in pictures[:_DRAWN]:  # a scale shows no change of another size
        ratio = _extent(picture) / (_extent(pictures[0]) or 1.0)
        if 1 / _ALIKE <= ratio <= _ALIKE:
            yield picture


def _extent(picture: Picture) -> float:
    """Return the largest change that a picture shows."""
    return max(abs(picture.low), abs(picture.high))


def _head(result: BenchmarkResult, worse: Sequence[Check]) -> str:
    """Name what is worse, than what, and over how much it was measured."""
    first = worse[0]
    agents = dict.fromkeys(check.agent for check in worse if check.agent)
    place = "the history" if first.acceptance is Acceptance.HISTORY else "its baseline"
    worse_than = f"worse than {place}"
    if first.verdict is not Verdict.FAIL:
        worse_than = f"perhaps {worse_than}"
    text = worse_than
    if agents:  # the benchmark's name stands above
        are = "are" if len(agents) > 1 else "is"
        text = f"{listed(list(agents), 3)} {are} {worse_than}"
    measured = next((check for check in worse if check.comparison), None)
    if measured is not None:
        text += f", {check_wording.size_of(measured)}"
    return _at(result, first, text)


def _at(result: BenchmarkResult, check: Check, text: str) -> str:
    where = f"{result.file}:{check.line}: " if check.line else ""
    return visible(f"{check_wording.word_of(check)}  {where}{text}")


def _compared_row(check: Check) -> tuple[str, ...]:
    baseline, now = check_wording.sides_of(check)
    change, low, high = check_wording.change_of(check)
    interval = ""
    if low is not None and high is not None:
        interval = f"[{wording.signed(low)}, {wording.signed(high)}]"
    p = check_wording.p_value(check)
    counts = check_wording.task_counts(check)
    return (
        check_wording.word_of(check),
        check.agent,
        check.name,
        wording.number(baseline),
        wording.number(now),
        wording.signed(change),
        interval,
        "" if p is None else f"{p:.2g}",
        *(("", "", "") if counts is None else map(str, counts)),
        check_wording.better_way(check),
        bound_of(check),
    )


def _slice_row(check: Check, one: kinds.WorseSlice) -> tuple[str, ...]:
    return (
        check_wording.word_of(check),
        check.agent,
        one.name,
        wording.number(one.before),
        wording.number(one.now),
        wording.signed(one.now - one.before),
        "",
        f"{one.p:.2g}",
        str(one.tasks),
        str(one.worse),
        "",
        "",
        bound_of(check),
    )


_METRIC = _COMPARED.index("metric")


def _without_twins(rows: Sequence[Row]) -> list[Row]:
    """Write metrics with the same numbers in one row: pass@1 of one rollout is the mean."""
    twins: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        others = (*row.cells[:_METRIC], *row.cells[_METRIC + 1 :])
        twins.setdefault((row.verdict, others), []).append(row)
    merged = []
    for same in twins.values():
        cells = list(same[0].cells)
        cells[_METRIC] = ", ".join(row.cells[_METRIC] for row in same)
        merged.append(Row(cells, same[0].verdict))
    return merged


# -- values with thresholds ------------------------------------------------------------------


def _values_table(checks: Sequence[Check]) -> Blocks:
    """Write the values that are held against bounds; the reasons say it shorter."""
    rows = [
        Row(_value_row(check), check.verdict)
        for check in checks
        if check.bound is not None
        and check.gate is not Gate.DATA
        and not check_wording.is_set_against_reference(check)
    ]
    rows.sort(key=lambda row: row.verdict == Verdict.PASS)
    if rows:
        yield Table(header=_VALUES, rows=rows, is_folded=True)


def _value_row(check: Check) -> tuple[str, ...]:
    value, interval = check_wording.measured(check, check.estimate)
    tasks = "" if check.estimate is None else str(check.estimate.tasks)
    head = (check_wording.word_of(check), check.agent, check.name)
    return (*head, value, interval, tasks, bound_of(check))


# -- pictures --------------------------------------------------------------------------------


def change_picture(check: Check) -> Picture | None:
    """Draw a change with its interval, 0 and the change that matters; None without these."""
    change, low, high = check_wording.change_of(check)
    if change is None or low is None or high is None:
        return None
    return Picture(
        low=low,
        value=change,
        high=high,
        limit=check_wording.change_that_matters(check),
        shows_zero=True,
        label="",
        text=_gate(check),
    )


def _gate(check: Check) -> str:
    """Say what the gate lets pass; where less is better, readers don't expect it."""
    rule = check_wording.rule_of(check)
    allowed = "" if rule is None else allowed_text(rule)
    if rule is None or not allowed:
        return ""
    better = ", lower is better" if rule.direction is Direction.LOWER else ""
    return f"gate: {allowed}{better}"


def _value_picture(check: Check) -> Picture | None:
    """Draw a value with its interval and the bound that it misses."""
    missed = next((r for r in check.reasons if isinstance(r, kinds.OutOfBounds)), None)
    estimate = check.estimate
    if missed is None or estimate is None or estimate.interval is None:
        return None
    low, high = estimate.interval.low, estimate.interval.high
    interval = f"95 % interval {wording.number(low)} to {wording.number(high)}"
    return Picture(
        low=low,
        value=estimate.value,
        high=high,
        limit=missed.bound,
        shows_zero=False,
        label="",
        text=f"{wording.number(missed.bound)}; {interval}",
    )


# -- reasons ---------------------------------------------------------------------------------

# they say the same of each metric
_NOT_COMPARED = (
    kinds.NothingInCommon,
    kinds.LowCoverage,
    kinds.ManyMissing,
    kinds.MeasurementChanged,
)


def _reasons(result: BenchmarkResult, said_above: Sequence[Check]) -> Blocks:
    """Write why each check does not hold, and the way out where it is not the next one's."""
    failing = [
        check
        for check in result.checks
        if check.verdict is not Verdict.PASS and reason_of(check)
    ]
    failing.sort(key=lambda check: not check.verdict.fails)
    groups = _alike(failing)
    for group, following in zip(groups, [*groups[1:], None], strict=True):
        check = group[0]
        is_above = any(check is other for other in said_above)
        if is_above:
            yield from _beside_the_table(check)
        else:
            yield _reason(result, group)
            yield from _drawn(check)
        for line in check_wording.comparison_details(check):
            yield Line(f"    {visible(line)}", LineKind.DETAIL)
        # the way out of a change stands below the tasks
        hint = "" if _is_worse(check) else _hint(check)
        if following is None or hint != _hint(following[0]):
            yield from _hints([hint])


def _drawn(check: Check) -> Blocks:
    """Draw what was held against the gate; without an interval say what the gate is."""
    picture = _value_picture(check) or change_picture(check)
    if picture is not None:
        yield picture
    elif is_compared(check) and _gate(check):
        yield Line(f"  {_gate(check)}")


def _alike(checks: Sequence[Check]) -> list[list[Check]]:
    """Group checks of several agents, and then of metrics, that fail for the same reason."""
    of_agents: dict[tuple[object, ...], list[Check]] = {}
    for check in checks:
        key = (check.gate, check.name, check.verdict, check.line, reason_of(check))
        of_agents.setdefault(key, []).append(check)
    of_metrics: dict[tuple[object, ...], list[Check]] = {}
    for group in of_agents.values():
        agents = tuple(check.agent for check in group)
        anonymous = _naming(group[0], "")
        which = (agents, anonymous.gate, anonymous.verdict, reason_of(anonymous))
        of_metrics.setdefault((anonymous.name, *which), []).extend(group)
    return list(of_metrics.values())


def _naming(check: Check, metrics: str) -> Check:
    """Let a check that compared nothing, and its reasons, name other metrics."""
    if not any(isinstance(reason, _NOT_COMPARED) for reason in check.reasons):
        return check
    reasons = tuple(
        structs.replace(reason, metric=metrics)
        if isinstance(reason, _NOT_COMPARED)
        else reason
        for reason in check.reasons
    )
    return structs.replace(check, name=metrics, reasons=reasons)


def _hint(check: Check) -> str:
    """Give the way out; a regression has a command instead."""
    return "" if is_accepted_by_update(check) else hint_of(check)


def _hints(hints: Iterable[str]) -> Blocks:
    for hint in hints:
        if hint:
            yield from (
                Line(line, LineKind.HINT) for line in f"  -> {hint}".split("\n")
            )


def _beside_the_table(check: Check) -> Blocks:
    """Write what the table does not say of a check: why a change is judged so."""
    rest = structs.replace(brief(check), comparison=None)
    if check_wording.worse_slices(check):
        kept = [r for r in rest.reasons if not isinstance(r, kinds.WorseSlices)]
        rest = structs.replace(rest, reasons=tuple(kept))
    words = check_wording.own_reason(rest)
    full = visible(
        f"{check_wording.word_of(check)}  {check_wording.of_agent(check)}"
        f"{check_wording.own_reason(check)}"
    )
    if words:
        name = f"{check_wording.of_agent(check)}{check.name}"
        text = visible(f"{check_wording.word_of(check)}  {name}: {words}")
        yield Line(text, LineKind.BESIDE, check.verdict, full)
    else:
        yield Line(full, LineKind.DETAIL, check.verdict)


def _reason(result: BenchmarkResult, checks: Sequence[Check]) -> Line:
    """Write a reason once, for all agents and metrics that have it."""
    metrics = dict.fromkeys(one.name for one in checks)
    check = _naming(checks[0], ", ".join(metrics))
    names = list(dict.fromkeys(one.agent for one in checks if one.agent))
    agents = f"{listed(names, _AGENTS)}: " if names else ""
    short = _at(result, check, f"{agents}{check_wording.own_reason(brief(check))}")
    every = f"{', '.join(names)}: " if names else ""
    full = _at(result, check, f"{every}{check_wording.own_reason(check)}")
    return Line(short, LineKind.REASON, check.verdict, full)


def _shared(result: BenchmarkResult) -> Blocks:
    """Say what the tasks that got worse have in common: the surest, with -v all of it."""
    several = len({separator.agent for separator in result.separators}) > 1
    for at, separator in enumerate(result.separators):
        agent = f"{separator.agent}: " if several else ""
        text = visible(f"  in common: {agent}{separator_text(separator)}")
        full = f"{text}; {separator_basis(separator)}"
        kind = LineKind.DETAIL if at else LineKind.SHARED
        yield Line(full if at else text, kind, full=full)


# -- where the rest is, and what to do -------------------------------------------------------


def _more(result: BenchmarkResult) -> str:
    """Count the tasks that are not shown."""
    check = flipped_tasks.strongest(result)
    if check is None or check.comparison is None:
        return ""
    facts = check.comparison
    hidden = facts.worse - min(flipped_tasks.SHOWN, facts.worse)
    better = f"{facts.better} better" if facts.better else ""
    worse = f"{hidden} more" if hidden else ""
    return ", ".join(part for part in (worse, better) if part)


def is_accepted_by_update(check: Check) -> bool:
    """Whether the way out is to fix the regression, or to record a new baseline."""
    if check.acceptance is not Acceptance.SNAPSHOT or not check.verdict.fails:
        return False
    # a remark on noise is no other fault
    is_plain = all(isinstance(one, kinds.UnknownRunNoise) for one in check.reasons)
    return check.gate is Gate.BASELINE and (
        (is_compared(check) and is_plain) or bool(check_wording.worse_slices(check))
    )


def accepting(result: BenchmarkResult, item: str) -> str:
    """Return the command that accepts a benchmark's change: what the last run showed."""
    if result.id == item and not result.file.endswith(".py"):
        return f'evalmetrics accept {shlex.quote(item)} --reason "..."'
    return f"pytest --evalmetrics-update {shlex.quote(item)}"  # of a test


FIX_OR_ACCEPT = "fix the regression; or, if the change is intended, accept it"


def what_to_do(result: BenchmarkResult, check: Check) -> str:
    """Give the way out of a check, with the command where a change can be accepted."""
    if result.file and is_accepted_by_update(check):
        return f"{FIX_OR_ACCEPT}: {accepting(result, result.id)}"
    return hint_of(check)


def _commands(result: BenchmarkResult, item: str) -> Blocks:
    """Write the command that evaluates the benchmark again, and the one that accepts it."""
    if not item:
        return
    name = visible(shlex.quote(item))
    yield Line(f"  again:  pytest {name}", LineKind.COMMAND)
    if any(map(is_accepted_by_update, result.checks)):
        yield Line(f"  accept: {visible(accepting(result, item))}", LineKind.COMMAND)


def _remarks(result: BenchmarkResult) -> Blocks:
    for check in result.checks:
        passes = check.verdict is Verdict.PASS
        if passes and check_wording.changes_task_list(check):
            text = visible(f"{check_wording.of_agent(check)}{reason_of(check)}")
            yield Line(text, LineKind.REMARK)
    for text in change_texts(result.changes):
        yield Line(f"changed: {visible(text)}", LineKind.REMARK)
    for note in _notes(result):
        yield Line(f"note: {visible(note)}", LineKind.DETAIL)


def _notes(result: BenchmarkResult) -> list[str]:
    """List the notes that no reason holds; of a group the first ones."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for note in result.notes:
        # the reasons of checks describe the run's own rows
        is_explained = isinstance(note, UnscoredRows) and not note.of_baseline
        if not is_explained:
            groups.setdefault(note.group, []).append(note_text(note))
    notes: list[str] = []
    for several in groups.values():
        more = many(len(several) - _NOTES, "more such note")
        notes += capped(several, _NOTES, f"and {more}, in report.json")
    return notes
