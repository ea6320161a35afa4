"""summary.md and the comment on a pull request: what failed, how sure, which tasks, what to do."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from pytest_evalmetrics.layout import capped, many
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.reports import (
    addresses,
    check_wording,
    drawing,
    flipped_tasks,
    run_wording,
    triage,
    wording,
)
from pytest_evalmetrics.reports.console import both_ends, columns_of, padded
from pytest_evalmetrics.reports.failure import change_picture, what_to_do
from pytest_evalmetrics.reports.markdown import (
    as_html,
    folded,
    link,
    one_line,
    picture,
    plain,
    table,
)
from pytest_evalmetrics.reports.sentences import (
    bound_of,
    is_compared,
    reason_of,
)
from pytest_evalmetrics.reports.sentences.brief import brief
from pytest_evalmetrics.reports.sentences.changes import change_texts
from pytest_evalmetrics.reports.sentences.separators import (
    separator_basis,
    separator_text,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.model.results import BenchmarkResult, Check, RunReport


class Size(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a report is written; each is a number of rows or entries."""

    failing: int
    passing: int
    reasons: int
    tasks: int  # of a benchmark
    benchmarks_with_tasks: int
    shared: int = 3  # of a benchmark, what its worse tasks have in common
    drawn: int = 5  # changes in the picture
    others: int  # skipped, changed, drifting ones
    trends: int
    with_cases: bool  # of causes: the table has them where it is short


# a page has to open, and GitHub drops a summary of more than 1 MiB
WHOLE = Size(
    failing=500,
    passing=1_000,
    reasons=100,
    tasks=3,
    benchmarks_with_tasks=20,
    others=100,
    trends=50,
    with_cases=True,
)
_EXCERPT = 60  # letters of an answer
_LAST_VALUES = 5
_DRAWN = 30  # columns of an interval
_LABEL = 40  # columns of the name beside it

_ADVISORY = "🔷 advisory"
SIGNS = {
    Verdict.PASS: "✅",
    Verdict.WARN: "⚠️",
    Verdict.INCONCLUSIVE: "❔",
    Verdict.FAIL: "❌",
}


class _Judged(msgspec.Struct, frozen=True):
    """A check, and the benchmark that it is of."""

    result: BenchmarkResult
    check: Check
    others: tuple[str, ...] = ()  # agents of which the same is said

    @property
    def agent(self) -> str:
        """The agent that the check is of; empty for the only one."""
        return self.check.agent

    @property
    def name(self) -> str:
        """The benchmark, and the agent where it has several."""
        mark = " (xfail)" if self.result.xfail else ""
        agents = ", ".join(agent for agent in (self.agent, *self.others) if agent)
        whose = f" / {agents}" if agents else ""
        return f"{self.result.name}{mark}{whose}"


# -- the whole -------------------------------------------------------------------------------


def summary(report: RunReport, remark: str = "") -> str:
    """Write the report as Markdown, in which texts of files and rows are escaped.

    `remark` is said of the run as a whole.
    """
    lines = head(report, WHOLE)
    if remark:
        lines += [f"{remark[0].upper()}{remark[1:]}.", ""]
    lines += failing_part(report, WHOLE)
    lines += _block(["Changed since the baseline:", ""], _changes(report, WHOLE))
    lines += _reasons(report, WHOLE)
    lines += passing_part(report, WHOLE.passing)
    lines += _trends(report, WHOLE)
    lines += _without_result(report, WHOLE)
    return "\n".join(lines).rstrip() + "\n"


def _block(header: Sequence[str], lines: Sequence[str]) -> list[str]:
    return [*header, *lines, ""] if lines else []


# -- the head --------------------------------------------------------------------------------


def head(report: RunReport, size: Size) -> list[str]:
    """Write the verdict, the counts, and what is worth a warning of the run as a whole."""
    lines = [f"## {SIGNS[report.verdict]} Benchmarks: {report.verdict}", ""]
    lines += [run_wording.verdict_counts(report), ""]
    chance = run_wording.false_alarms(report.benchmarks)
    if chance:
        lines += [f"{chance[0].upper()}{chance[1:]}.", ""]
    unknown_noise = run_wording.unknown_noise(report.benchmarks)
    if unknown_noise:
        lines += [f"{unknown_noise[0].upper()}{unknown_noise[1:]}.", ""]
    warnings = [f"- ⚠️ drift: {plain(text)}" for text in run_wording.drifts_of(report)]
    stale = run_wording.stale_baselines(report.benchmarks)
    warnings += [f"- ⚠️ {plain(text)}" for text in stale]
    lines += _block((), capped(warnings, size.others, "- and {} more, in report.json"))
    lines += _lead(report)
    return lines + _causes(report, with_cases=size.with_cases)


def _lead(report: RunReport) -> list[str]:
    """Say of the surest failing benchmark why it fails, whether it is noise, and what to do."""
    failing = triage.failing(report.benchmarks)
    check = triage.leading(failing[0]) if failing else None
    if check is None:
        return []
    name = plain(_Judged(failing[0], check).name)
    lines = [f"**{name}**: {plain(_lead_sentence(check))}", ""]
    hint = what_to_do(failing[0], check)
    if hint:
        lines += [f"What to do: {plain(hint)}", ""]
    return lines


def _lead_sentence(check: Check) -> str:
    facts = check.comparison
    if facts is None or check.verdict is not Verdict.FAIL or not is_compared(check):
        return f"{check_wording.own_reason(brief(check))}."
    before, now = check_wording.sides_of(check)
    text = (
        f"{check.name} went from {wording.number(before)} to {wording.number(now)}: "
        f"{facts.worse} of {many(facts.tasks, 'task')} worse, {facts.better} better"
    )
    p = check_wording.p_value(check)
    if p is not None and check_wording.is_tested(check):
        text += f"; unlikely to be noise (p = {p:.2g})"
    return f"{text}."


def _causes(report: RunReport, *, with_cases: bool) -> list[str]:
    """List the causes of many failures, each with its strongest case."""
    lines = []
    for cause in triage.triage(report.benchmarks):
        lines.append(f"- **{plain(cause.head)}**")
        if with_cases:
            texts = (cause.case, cause.command)
            lines += [f"  - {plain(text)}" for text in texts if text]
    return [*lines, ""] if lines else []


# -- what does not hold ----------------------------------------------------------------------

_HEADER = ("", "benchmark", "metric", "now", "held against", "change", "p")


def failing_part(report: RunReport, size: Size, page: str = "") -> list[str]:
    """Write the gates that do not hold, draw the surest changes, and show their tasks."""
    unmet = unmet_checks(report)
    rows = [row for group in _alike(unmet) for row in _rows(group, page)]
    lines = _block((), table(_HEADER, rows[: size.failing]))
    more = len(rows) - size.failing
    if more > 0:
        lines += [f"and {more} more that do not hold, in report.json", ""]
    lines += _block((), picture(_drawn(unmet, size.drawn)))
    results = list({each.result.id: each.result for each in unmet}.values())
    failing = [one for one in results if not one.xfail]
    shown = failing[: size.benchmarks_with_tasks]
    lines += _tasks(shown, size.tasks, page)
    lines += _shared(shown, size.shared)
    return lines


def _alike(unmet: Sequence[_Judged]) -> list[_Judged]:
    """Join the checks of a benchmark's agents that say the same."""
    groups: dict[tuple[str, ...], _Judged] = {}
    for judged in unmet:
        key = (judged.result.id, *_row(judged, name=""))
        if check_wording.worse_slices(judged.check):
            key = (*key, judged.agent)
        first = groups.get(key)
        if first is None:
            groups[key] = judged
        else:
            agents = (*first.others, judged.agent)
            groups[key] = structs.replace(first, others=agents)
    return list(groups.values())


def unmet_checks(report: RunReport) -> list[_Judged]:
    """List the checks that do not hold: those of the surest benchmarks first."""
    return [
        _Judged(result, check)
        for result in run_wording.by_evidence(report.benchmarks)
        for check in triage.in_turn(result.checks)
        if check.verdict is not Verdict.PASS
    ]


def _rows(judged: _Judged, page: str) -> list[list[str]]:
    """Write a row of a check, or one for each slice that got worse."""
    address = f"{page}{addresses.of_benchmark(judged.result.id)}" if page else ""
    row = _row(judged, link(judged.name, address))
    slices = check_wording.worse_slices(judged.check)
    if not slices:
        return [row]
    return [
        [
            *row[:2],
            plain(one.name),
            wording.number(one.now),
            f"was {wording.number(one.before)}",
            wording.signed(one.now - one.before),
            f"{one.p:.2g}",
        ]
        for one in slices
    ]


def _row(judged: _Judged, name: str) -> list[str]:
    check = judged.check
    p = check_wording.p_value(check)
    return [
        _sign(check),
        name,
        plain(check.name),
        _now(judged),
        plain(_held_against(check)),
        _change(check),
        "" if p is None else f"{p:.2g}",
    ]


def _sign(check: Check) -> str:
    is_advisory = check_wording.word_of(check) == check_wording.ADVISORY
    return _ADVISORY if is_advisory else SIGNS[check.verdict]


def _now(judged: _Judged) -> str:
    """Write the value; with its own interval where that is what is judged."""
    check = judged.check
    estimate = check.estimate or check_wording.estimate_below(judged.result, check)
    value, interval = check_wording.measured(check, estimate, "{} to {}")
    if check.gate is Gate.THRESHOLD and interval:
        return f"{value} ({interval})"
    return value


def _held_against(check: Check) -> str:
    facts = check.comparison
    if facts is not None and facts.baseline is not None:
        return f"was {wording.number(facts.baseline)}"
    return bound_of(check)


def _change(check: Check) -> str:
    """Write the paired difference with its interval: what is tested, and not a side's own."""
    change, low, high = check_wording.change_of(check)
    if change is None:
        return ""
    text = wording.signed(change)
    if low is None or high is None:
        return text
    return f"{text} ({wording.signed(low)} to {wording.signed(high)})"


def _drawn(unmet: Sequence[_Judged], most: int) -> list[str]:
    """Draw the changes that do not hold on one scale, with 0 and the change that matters."""
    drawn = []
    for each in unmet:
        shape = change_picture(each.check)
        if shape is not None:
            name = both_ends(one_line(f"{each.name} {each.check.name}"), _LABEL)
            drawn.append((name, shape))
    shapes = [shape for _, shape in drawn[:most]]
    if not shapes:
        return []
    scale = drawing.scale_of(shapes, _DRAWN)
    width = max(columns_of(name) for name, _ in drawn[:most])
    lines = [
        f"{padded(name, width)}  {drawing.drawn(shape, scale, drawing.LINES)}"
        for name, shape in drawn[:most]
    ]
    return [*lines, f"{' ' * width}  {drawing.legend(shapes[0], drawing.LINES)}"]


def _shared(results: Sequence[BenchmarkResult], most: int) -> list[str]:
    """Say what the tasks that got worse have in common."""
    lines = []
    for result in results:
        for separator in result.separators[:most]:
            agent = f" / {separator.agent}" if len(result.agents) > 1 else ""
            name = plain(f"{result.name}{agent}")
            words = f"{separator_text(separator)}; {separator_basis(separator)}"
            lines.append(f"- in common, {name}: {plain(words)}")
    return _block((), lines)


_TASKS_HEADER = ("task that got worse", "passed", "expected", "was", "now", "why")


def _tasks(results: Sequence[BenchmarkResult], most: int, page: str) -> list[str]:
    """Show the tasks that got worse most, with what was said before and now."""
    rows = []
    for result in results:
        for task in flipped_tasks.worse_tasks(result, most):
            agent = f" / {task.agent}" if len(result.agents) > 1 else ""
            place = addresses.of_task(result, task.agent, task.task)
            name = f"{result.name}{agent}: {task.task}"
            rows.append(
                [
                    link(name, f"{page}{place}" if page else ""),
                    plain(task.rewards),
                    _excerpt(task.expected),
                    _excerpt(task.was or ""),
                    _excerpt(task.now),
                    _excerpt(task.reason),
                ]
            )
    return _block((), table(_TASKS_HEADER, rows))


def _excerpt(text: str) -> str:
    return plain(both_ends(one_line(text), _EXCERPT))


# -- reasons ---------------------------------------------------------------------------------


def _changes(report: RunReport, size: Size) -> list[str]:
    changes = [
        f"- {plain(result.name)}: {plain(text)}"
        for result in report.benchmarks
        for text in change_texts(result.changes)
    ]
    return capped(changes, size.others, "- and {} more, in report.json")


def _reasons(report: RunReport, size: Size) -> list[str]:
    """Write a folded section for each check that does not hold."""
    told = [
        _Judged(result, check)
        for result in run_wording.by_evidence(report.benchmarks)
        for check in triage.in_turn(result.checks)
        if check.verdict is not Verdict.PASS or check_wording.changes_task_list(check)
    ]
    sections = [[*_reason(judged), ""] for judged in _alike_reasons(told)]
    lines = [line for section in sections[: size.reasons] for line in section]
    more = len(sections) - size.reasons
    if more > 0:
        lines += [f"{many(more, 'more reason', 'is')} in report.json.", ""]
    return lines


def _alike_reasons(told: Sequence[_Judged]) -> list[_Judged]:
    """Join the checks of a benchmark's agents that have the same reason."""
    groups: dict[tuple[str, ...], _Judged] = {}
    for judged in told:
        check = judged.check
        reason = check_wording.own_reason(check)
        details = tuple(check_wording.comparison_details(check))
        key = (judged.result.id, check.name, str(check.verdict), reason, *details)
        first = groups.get(key)
        others = () if first is None else (*first.others, judged.agent)
        groups[key] = structs.replace(first or judged, others=others)
    return list(groups.values())


def _reason(judged: _Judged) -> list[str]:
    result = judged.result
    check = judged.check
    reason = check_wording.own_reason(check)
    if not reason:
        return []
    lines = list(check_wording.comparison_details(check))
    hint = what_to_do(result, check)
    if hint:
        lines.append(hint)
    lines.append(f"{result.file}, line {check.line or result.line}")
    name = as_html(judged.name)
    title = f"{_sign(check)} {name}: {as_html(reason)}"
    return folded(title, [f"- {plain(line)}" for line in lines])


# -- what passes -----------------------------------------------------------------------------


def passing_part(report: RunReport, most: int, where: str = "report.json") -> list[str]:
    """Fold the metrics that pass; drops that are not proven come first, and are marked."""
    passing = [
        _Judged(result, check)
        for result in report.benchmarks
        for check in result.checks
        if _is_passing_metric(check)
    ]
    if not passing:
        return []
    passing.sort(key=lambda each: not check_wording.is_unproven_drop(each.check))
    unproven = sum(check_wording.is_unproven_drop(each.check) for each in passing)
    title = many(len(passing), "gate") + (" passes" if len(passing) == 1 else " pass")
    if unproven:
        title += f", {many(unproven, 'drop')} of them not proven"
    rows = [_passing_row(each) for each in passing[:most]]
    lines = table(("", *_HEADER[1:], "sees losses from"), rows)
    if len(passing) > most:
        lines += ["", f"and {len(passing) - most} more that pass, in {where}"]
    return [*folded(title, lines), ""]


def _is_passing_metric(check: Check) -> bool:
    is_metric = check.gate not in (Gate.EXPECT, Gate.DATA)
    has_value = check.comparison is not None or check.estimate is not None
    return is_metric and has_value and check.verdict is Verdict.PASS


def _passing_row(judged: _Judged) -> list[str]:
    check = judged.check
    row = _row(judged, plain(judged.name))
    if check_wording.is_unproven_drop(check):
        row[0] = "🔸 drop not proven"
    facts = check.comparison
    seen = None if facts is None else facts.detectable_drop
    return [*row, "" if seen is None else f"{seen:.2g}"]


# -- the last runs, and what has no result ---------------------------------------------------

_TRENDS_HEADER = ("benchmark", "metric", "trend", "last values")


def _trends(report: RunReport, size: Size) -> list[str]:
    """Draw the metrics over the last runs, with the reasons of accepted changes."""
    rows = []
    for result, trend in run_wording.trends_of(report):
        agent = f" / {trend.agent}" if len(result.agents) > 1 else ""
        last = ", ".join(map(wording.number, trend.values[-_LAST_VALUES:]))
        name = plain(f"{result.name}{agent}")
        rows.append([name, plain(trend.metric), wording.sparkline(trend.values), last])
    if not rows:
        return []
    accepted = [
        f"- {plain(result.name)}, {run.time[:10]}: {plain(run.reason)}"
        for result in report.benchmarks
        for run in report.history.get(result.id, ())
        if run.reason
    ]
    more = len(rows) - size.trends
    shown = table(_TRENDS_HEADER, rows[: size.trends])
    if more > 0:
        shown += ["", f"and {more} more"]
    return [
        *_block(["### The last runs", ""], shown),
        *_block(["Accepted changes:", ""], accepted[-size.trends :]),
    ]


def _without_result(report: RunReport, size: Size) -> list[str]:
    lead = f"- {SIGNS[Verdict.INCONCLUSIVE]} "
    lost = [f"{lead}{plain(item)} {why}" for item, why in run_wording.lost_ones(report)]
    skipped = [
        f"- {plain(item.id)} was skipped: {plain(item.reason)}"
        for item in report.skipped
    ]
    return [
        *capped(lost, size.failing, f"{lead}and {{}} more were not evaluated"),
        *capped(skipped, size.others, "- and {} more were skipped"),
    ]


# -- the comment on a pull request -----------------------------------------------------------


def comment(report: RunReport, most: int, page: str = "") -> str:
    """Write the report in at most so many lines, for a pull request.

    Parameters
    ----------
    report
        The run's report.
    most
        The lines, at least 20.
    page
        The address of the run's page, for links; empty without one.
    """
    size = Size(
        failing=max(3, most // 6),
        passing=0,
        reasons=max(2, most // 15),
        tasks=3,
        benchmarks_with_tasks=1,
        shared=1,
        drawn=3,
        others=2,
        trends=0,
        with_cases=False,
    )
    lines = head(report, size)
    lines += failing_part(report, size, page)
    lines += _short_reasons(report, size)
    lost = _without_result(report, structs.replace(size, failing=3))
    lines += _block((), lost)
    # the fold, its table's head and the line for the rest
    room = most - len(lines) - _FOLD
    if room > 0:
        where = "the summary of the run"
        lines += passing_part(report, room, where)
    return "\n".join(_first(lines, most)).rstrip() + "\n"


_FOLD = 10


def _first(lines: Sequence[str], most: int) -> list[str]:
    """Keep the first lines, and close the picture or the fold that they may end in."""
    if len(lines) <= most:
        return list(lines)
    kept = list(lines[: most - 1])
    for begins, ends in (("<pre>", "</pre>"), ("<details>", "</details>")):
        if kept.count(begins) > kept.count(ends):
            kept.append(ends)
    return kept


def _command(text: str) -> str:
    return f"<code>{plain(text)}</code>"


def _short_reasons(report: RunReport, size: Size) -> list[str]:
    """Write the reasons that no number says, and how to accept an intended change."""
    unmet = [each for each in unmet_checks(report) if not each.result.xfail]
    failing = triage.failing(report.benchmarks)
    lead = triage.leading(failing[0]) if failing else None
    lines = []
    for each in _alike_reasons(unmet):
        if each.check is lead:  # the head says it
            continue
        reason = reason_of(each.check)
        is_row = bool(each.check.comparison or check_wording.worse_slices(each.check))
        if reason and not is_row:
            lines.append(f"- **{plain(each.name)}**: {plain(reason)}")
    lines = capped(lines, size.reasons, "- and {} more, in the summary of the run")
    if failing and lead is not None:
        result = failing[0]
        name = shlex.quote(result.id)
        lines.append(f"- again: {_command(f'pytest {name}')}")
    return [*lines, ""] if lines else []
