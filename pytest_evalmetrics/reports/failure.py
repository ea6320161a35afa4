"""What the failure of a benchmark says: what got worse, why, which tasks, and the way out."""

from __future__ import annotations

import shlex
from itertools import zip_longest
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
from pytest_evalmetrics.model.verdicts import Acceptance, Gate, Verdict
from pytest_evalmetrics.reports import (
    check_wording,
    drawing,
    flipped_tasks,
    triage,
    wording,
)
from pytest_evalmetrics.reports.sentences import (
    allowed_text,
    bound_of,
    hint_of,
    is_compared,
    reason_of,
    values_text,
)
from pytest_evalmetrics.reports.sentences.brief import brief, brief_change
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
    compared = _compared(result)
    worse = [check for check in compared if _is_worse(check)]
    blocks: list[Block] = []
    if titled:
        blocks.append(_title(result))
    # the reason for missing rewards below
    unscored = wording.failed_row_groups(result.failed_rows)
    blocks += [Line(visible(text), LineKind.PART) for text in unscored]
    if len(worse) > 1:  # a table says it shorter than sentences
        blocks += _table_of_worse(result, compared, worse)
        blocks += _reasons(result, said_above=compared)
    else:
        blocks += _comparison_table(compared, is_folded=True)
        blocks += _reasons(result, said_above=())
    blocks += flipped_tasks.task_lines(result)
    blocks += _shared(result)
    blocks.append(Line(_more(result), LineKind.MORE))
    blocks += _hints(dict.fromkeys(map(_hint, worse)))
    blocks += _commands(result, item)
    blocks += _values_table(result.checks)
    blocks += _remarks(result)
    return Failure(_first_reason(result), blocks, result.id)


def _title(result: BenchmarkResult) -> Line:
    outcome = "could not be judged"
    if result.verdict is Verdict.FAIL:
        outcome = "failed"
    return Line(visible(f"{result.name} {outcome}"))


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
    first, *others = failures
    blocks = list(first.blocks)
    for failure in others:
        blocks += [Line(), *failure.blocks]
    return structs.replace(first, blocks=blocks)


def below_the_call(call: Iterable[str], failure: Failure) -> Failure:
    """Show a failure below the test's own lines that it comes from."""
    return structs.replace(failure, blocks=[*map(Line, call), Line(), *failure.blocks])


def _first_reason(result: BenchmarkResult) -> str:
    """Say why the benchmark does not hold, in one line."""
    unmet = check_wording.unmet(result.checks)
    unmet.sort(key=lambda check: not check.verdict.fails)
    leading = triage.leading(result)
    if leading is not None:
        unmet.insert(0, leading)
    for check in unmet:
        reason = _short(check)
        if reason:
            text = f"{check_wording.of_agent(check)}{reason}"
            if check.verdict is not Verdict.FAIL:
                text = f"{check_wording.word_of(check)}: {text}"
            return visible(text)
    return visible(result.name)


def _short(check: Check) -> str:
    """Say the reason for one line; the failure has what surrounds it."""
    facts = check.comparison
    if facts is None or not is_compared(check):
        return check_wording.own_reason(brief(check))
    cause = check_wording.cause_of(check)
    if cause:
        return f"{check.name}: {cause}"
    text = values_text(check.name, facts)
    if facts.p_adjusted is not None:
        text += f", p {wording.two_digits(facts.p_adjusted)}"
    return text


# -- metrics against their baseline ----------------------------------------------------------


def _compared(result: BenchmarkResult) -> list[Check]:
    """List the checks that belong into the table of comparisons, the surest first."""
    checks = []
    for check in result.checks:
        is_of_slices = bool(check_wording.worse_slices(check))
        if is_of_slices or check_wording.is_set_against_reference(check):
            checks.append(check)
    return triage.in_turn(checks)


def _is_worse(check: Check) -> bool:
    if check.verdict is Verdict.PASS:
        return False
    return is_compared(check) or bool(check_wording.worse_slices(check))


def _table_of_worse(
    result: BenchmarkResult, compared: Sequence[Check], worse: Sequence[Check]
) -> Blocks:
    """Write a table of the changes below what is worse, and draw the first ones."""
    yield Line(_head(result, worse), LineKind.REASON, worse[0].verdict)
    yield from _comparison_table(compared, is_folded=False)
    yield from _pictures(worse)


def _comparison_table(compared: Sequence[Check], *, is_folded: bool) -> Blocks:
    """Write a row for each comparison, or one for each of its worst slices."""
    rows: list[Row] = []
    for check in compared:
        slices = check_wording.worse_slices(check)
        if slices:
            rows += [
                Row(_slice_row(check, one), check.verdict) for one in slices[:_SLICES]
            ]
        else:
            rows.append(Row(_compared_row(check), check.verdict))
    if rows:
        yield Table(
            header=_COMPARED,
            rows=_without_twins(rows),
            dispensable=_DISPENSABLE,
            is_folded=is_folded,
        )


def _pictures(checks: Sequence[Check]) -> Blocks:
    """Draw the intervals of the surest changes, each named, on one scale."""
    agents = {check.agent for check in checks}
    pictures = []
    for check in checks:
        picture = change_picture(check)
        if picture is None:
            continue
        label = check.name
        if len(agents) > 1:
            label = f"{check_wording.of_agent(check)}{check.name}"
        pictures.append(structs.replace(picture, label=visible(label)))
    for picture in pictures[:_DRAWN]:
        if drawing.share_scale(picture, pictures[0]):
            yield picture


def _head(result: BenchmarkResult, worse: Sequence[Check]) -> str:
    """Name what is worse, than what, and over how much it was measured."""
    first = worse[0]
    reference = "its baseline"
    if first.acceptance is Acceptance.HISTORY:
        reference = "the history"
    text = f"worse than {reference}"
    if first.verdict is not Verdict.FAIL:
        text = f"perhaps {text}"
    # the benchmark's name stands above
    agents = list(dict.fromkeys(check.agent for check in worse if check.agent))
    if len(agents) == 1:
        text = f"{agents[0]} is {text}"
    elif agents:
        text = f"{listed(agents, 3)} are {text}"
    for check in worse:
        if check.comparison is not None:
            text += f", {check_wording.size_of(check)}"
            break
    return _at(result, first, text)


def _at(result: BenchmarkResult, check: Check, text: str) -> str:
    """Write a text behind a check's verdict, and the line of the file that asks for it."""
    where = ""
    if check.line:
        where = f"{result.file}:{check.line}: "
    return visible(f"{check_wording.word_of(check)}  {where}{text}")


def _compared_row(check: Check) -> tuple[str, ...]:
    baseline, now = check_wording.sides_of(check)
    change, low, high = check_wording.change_of(check)
    tasks, worse, better = _count_cells(check)
    return (
        check_wording.word_of(check),
        check.agent,
        check.name,
        wording.number(baseline),
        wording.number(now),
        wording.signed(change),
        wording.signed_interval(low, high),
        wording.two_digits(check_wording.p_value(check)),
        tasks,
        worse,
        better,
        check_wording.better_way(check),
        bound_of(check),
    )


def _count_cells(check: Check) -> tuple[str, str, str]:
    """Write the numbers of paired, worse and better tasks; empty without any pairing."""
    counts = check_wording.task_counts(check)
    if counts is None:
        return "", "", ""
    tasks, worse, better = counts
    return str(tasks), str(worse), str(better)


def _slice_row(check: Check, one: kinds.WorseSlice) -> tuple[str, ...]:
    return (
        check_wording.word_of(check),
        check.agent,
        one.name,
        wording.number(one.before),
        wording.number(one.now),
        wording.signed(one.now - one.before),
        "",
        wording.two_digits(one.p),
        str(one.tasks),
        str(one.worse),
        "",
        "",
        bound_of(check),
    )


_METRIC = _COMPARED.index("metric")


def _without_twins(rows: Sequence[Row]) -> list[Row]:
    """Write metrics with the same numbers in one row: pass@1 of one rollout is the mean."""
    twins: dict[Row, list[str]] = {}
    for row in rows:
        twins.setdefault(_naming_metric(row, ""), []).append(row.cells[_METRIC])
    return [_naming_metric(row, ", ".join(metrics)) for row, metrics in twins.items()]


def _naming_metric(row: Row, metric: str) -> Row:
    cells = list(row.cells)
    cells[_METRIC] = metric
    return Row(tuple(cells), row.verdict)


# -- values with thresholds ------------------------------------------------------------------


def _values_table(checks: Sequence[Check]) -> Blocks:
    """Write the values that are held against bounds; the reasons say it shorter."""
    rows = [
        Row(_value_row(check), check.verdict)
        for check in checks
        if _is_held_against_bound(check)
    ]
    rows.sort(key=lambda row: row.verdict == Verdict.PASS)
    if rows:
        yield Table(header=_VALUES, rows=rows, is_folded=True)


def _is_held_against_bound(check: Check) -> bool:
    if check.bound is None or check.gate is Gate.DATA:
        return False
    return not check_wording.is_set_against_reference(check)


def _value_row(check: Check) -> tuple[str, ...]:
    value, interval = check_wording.measured(check, check.estimate)
    tasks = ""
    if check.estimate is not None:
        tasks = str(check.estimate.tasks)
    return (
        check_wording.word_of(check),
        check.agent,
        check.name,
        value,
        interval,
        tasks,
        bound_of(check),
    )


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
    """Say what the gate lets pass."""
    rule = check_wording.rule_of(check)
    if rule is None:
        return ""
    allowed = allowed_text(rule)
    if not allowed:
        return ""
    return f"gate: {allowed}"


def _value_picture(check: Check) -> Picture | None:
    """Draw a value with its interval and the bound that it misses."""
    bound = _missed_bound(check)
    estimate = check.estimate
    if bound is None or estimate is None or estimate.interval is None:
        return None
    low = estimate.interval.low
    high = estimate.interval.high
    interval = f"95 % interval {wording.number(low)} to {wording.number(high)}"
    return Picture(
        low=low,
        value=estimate.value,
        high=high,
        limit=bound,
        shows_zero=False,
        label="",
        text=f"{wording.number(bound)}; {interval}",
    )


def _missed_bound(check: Check) -> float | None:
    """Return the bound that a value misses; None without one."""
    for reason in check.reasons:
        if isinstance(reason, kinds.OutOfBounds):
            return reason.bound
    return None


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
        check for check in check_wording.unmet(result.checks) if reason_of(check)
    ]
    failing.sort(key=lambda check: not check.verdict.fails)
    groups = _alike(failing)
    for group, following in zip_longest(groups, groups[1:]):
        check = group[0]
        is_above = any(check is other for other in said_above)
        if is_above:
            yield _beside_the_table(check)
        else:
            yield _reason(result, group)
            yield from _drawn(check)
        for line in check_wording.comparison_details(check):
            yield Line(f"    {visible(line)}", LineKind.DETAIL)
        # the way out of a change stands below the tasks
        hint = ""
        if not _is_worse(check):
            hint = _hint(check)
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
        unnamed = _naming(group[0], "")
        what = (unnamed.gate, unnamed.name, unnamed.verdict, reason_of(unnamed))
        of_metrics.setdefault((agents, *what), []).extend(group)
    return list(of_metrics.values())


def _naming(check: Check, metrics: str) -> Check:
    """Let a check that compared nothing, and its reasons, name other metrics."""
    reasons: list[kinds.Reason] = []
    is_compared_with_nothing = False
    for reason in check.reasons:
        if isinstance(reason, _NOT_COMPARED):
            is_compared_with_nothing = True
            reasons.append(structs.replace(reason, metric=metrics))
        else:
            reasons.append(reason)
    if not is_compared_with_nothing:
        return check
    return structs.replace(check, name=metrics, reasons=tuple(reasons))


def _hint(check: Check) -> str:
    """Give the way out; a regression has a command instead."""
    if is_accepted_by_update(check):
        return ""
    return hint_of(check)


def _hints(hints: Iterable[str]) -> Blocks:
    for hint in hints:
        if not hint:
            continue
        for line in f"  -> {hint}".split("\n"):
            yield Line(line, LineKind.HINT)


def _beside_the_table(check: Check) -> Line:
    """Write what the table does not say of a check: why a change is judged so."""
    lead = f"{check_wording.word_of(check)}  {check_wording.of_agent(check)}"
    full = visible(f"{lead}{check_wording.own_reason(check)}")
    words = check_wording.own_reason(_without_numbers(check))
    if not words:
        return Line(full, LineKind.DETAIL, check.verdict)
    text = visible(f"{lead}{check.name}: {words}")
    return Line(text, LineKind.BESIDE, check.verdict, full)


def _without_numbers(check: Check) -> Check:
    """Leave out of a check what its row in the table says."""
    reasons = brief(check).reasons
    if check_wording.worse_slices(check):
        others = [one for one in reasons if not isinstance(one, kinds.WorseSlices)]
        reasons = tuple(others)
    return structs.replace(brief(check), comparison=None, reasons=reasons)


def _reason(result: BenchmarkResult, checks: Sequence[Check]) -> Line:
    """Write a reason once, for all agents and metrics that have it."""
    metrics = dict.fromkeys(check.name for check in checks)
    agents = dict.fromkeys(check.agent for check in checks if check.agent)
    first_agents = ""
    all_agents = ""
    if agents:
        first_agents = f"{listed(list(agents), _AGENTS)}: "
        all_agents = f"{', '.join(agents)}: "
    check = _naming(checks[0], ", ".join(metrics))
    short = f"{first_agents}{check_wording.brief_reason(check)}"
    full = f"{all_agents}{check_wording.own_reason(check)}"
    return Line(
        _at(result, check, short),
        LineKind.REASON,
        check.verdict,
        full=_at(result, check, full),
    )


def _shared(result: BenchmarkResult) -> Blocks:
    """Say what the tasks that got worse have in common: the surest, with -v all of it."""
    agents = {separator.agent for separator in result.separators}
    for at, separator in enumerate(result.separators):
        text = separator_text(separator)
        if len(agents) > 1:
            text = f"{separator.agent}: {text}"
        text = visible(f"  in common: {text}")
        full = f"{text}; {separator_basis(separator)}"
        if at == 0:
            yield Line(text, LineKind.SHARED, full=full)
        else:
            yield Line(full, LineKind.DETAIL, full=full)


# -- where the rest is, and what to do -------------------------------------------------------


def _more(result: BenchmarkResult) -> str:
    """Count the tasks that are not shown."""
    check = flipped_tasks.strongest(result)
    if check is None or check.comparison is None:
        return ""
    facts = check.comparison
    parts = []
    if facts.worse > flipped_tasks.SHOWN:
        parts.append(f"{facts.worse - flipped_tasks.SHOWN} more")
    if facts.better:
        parts.append(f"{facts.better} better")
    return ", ".join(parts)


# reasons that are the regression itself
_REGRESSIONS = (kinds.WorseSlices, kinds.WorseTasks, kinds.BrokenTasks)


def is_accepted_by_update(check: Check) -> bool:
    """Whether the way out is to fix the regression, or to record a new baseline."""
    if check.gate is not Gate.BASELINE or not check.verdict.fails:
        return False
    if check.acceptance is not Acceptance.SNAPSHOT:
        return False
    if any(isinstance(one, _REGRESSIONS) for one in check.reasons):
        return True
    is_plain = all(isinstance(one, check_wording.REMARKS) for one in check.reasons)
    return is_plain and is_compared(check)


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
    short = change_texts(map(brief_change, result.changes))
    for text, full in zip(short, change_texts(result.changes), strict=True):
        yield Line(
            f"changed: {visible(text)}",
            LineKind.REMARK,
            full=f"changed: {visible(full)}",
        )
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
    for texts in groups.values():
        more = many(len(texts) - _NOTES, "more such note")
        notes += capped(texts, _NOTES, f"and {more}, in report.json")
    return notes
