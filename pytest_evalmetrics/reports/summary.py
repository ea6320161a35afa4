"""summary.md: what failed, how sure it is, which tasks, and what to do."""

from __future__ import annotations

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
from pytest_evalmetrics.reports.judged_checks import (
    JudgedCheck,
    checks_by_evidence,
    checks_of,
    joined_by_reason,
    unmet_checks,
)
from pytest_evalmetrics.reports.markdown import (
    as_html,
    folded,
    link,
    one_line,
    paragraph,
    picture,
    plain,
    table,
)
from pytest_evalmetrics.reports.sentences import bound_of, is_compared
from pytest_evalmetrics.reports.sentences.brief import brief
from pytest_evalmetrics.reports.sentences.changes import change_texts
from pytest_evalmetrics.reports.sentences.separators import (
    separator_basis,
    separator_text,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.failure_lines import Picture
    from pytest_evalmetrics.model.results import BenchmarkResult, Check, RunReport
    from pytest_evalmetrics.reports.flipped_tasks import WorseTask
    from pytest_evalmetrics.reports.run_wording import Trend


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
_UNPROVEN = "🔸 drop not proven"
SIGNS = {
    Verdict.PASS: "✅",
    Verdict.WARN: "⚠️",
    Verdict.INCONCLUSIVE: "❔",
    Verdict.FAIL: "❌",
}


# -- the whole -------------------------------------------------------------------------------


def summary(report: RunReport, remark: str = "") -> str:
    """Write the report as Markdown, in which texts of files and rows are escaped.

    `remark` is said of the run as a whole.
    """
    lines = head(report, WHOLE)
    lines += _remark(remark)
    lines += failing_part(report, WHOLE)
    lines += _titled("Changed since the baseline:", _changes(report, WHOLE))
    lines += _reasons(report, WHOLE)
    lines += passing_part(report, WHOLE.passing)
    lines += _trends(report, WHOLE)
    lines += without_result(report, WHOLE)
    return "\n".join(lines).rstrip() + "\n"


def _remark(text: str) -> list[str]:
    """Write a text as a sentence of its own; nothing for an empty one."""
    if not text:
        return []
    return [f"{text[0].upper()}{text[1:]}.", ""]


def _titled(title: str, lines: Sequence[str]) -> list[str]:
    """Write lines below a title; nothing without lines."""
    if not lines:
        return []
    return [title, "", *lines, ""]


# -- the head --------------------------------------------------------------------------------


def head(report: RunReport, size: Size) -> list[str]:
    """Write the verdict, the counts, and what is worth a warning of the run as a whole."""
    lines = [f"## {SIGNS[report.verdict]} Benchmarks: {report.verdict}", ""]
    lines += [run_wording.verdict_counts(report), ""]
    for text in run_wording.blind_gates(report.benchmarks):
        lines += _remark(text)
    lines += _remark(run_wording.false_alarms(report.benchmarks))
    lines += _remark(run_wording.unknown_noise(report.benchmarks))
    lines += _remark(run_wording.unseen_tasks(report.benchmarks))
    warnings = [f"- ⚠️ drift: {plain(text)}" for text in run_wording.drifts_of(report)]
    stale = run_wording.stale_baselines(report.benchmarks)
    warnings += [f"- ⚠️ {plain(text)}" for text in stale]
    shown = capped(warnings, size.others, "- and {} more, in report.json")
    lines += paragraph(shown)
    lines += _lead(report)
    lines += paragraph(_causes(report, with_cases=size.with_cases))
    return lines


def _lead(report: RunReport) -> list[str]:
    """Say of the surest failing benchmark why it fails, whether it is noise, and what to do."""
    failing = triage.failing(report.benchmarks)
    if not failing:
        return []
    surest = failing[0]
    check = triage.leading(surest)
    if check is None:
        return []
    name = plain(JudgedCheck(surest, check).name)
    lines = [f"**{name}**: {plain(_lead_sentence(check))}", ""]
    hint = what_to_do(surest, check)
    if hint:
        lines += [f"What to do: {plain(hint)}", ""]
    return lines


def _lead_sentence(check: Check) -> str:
    facts = check.comparison
    if facts is None or check.verdict is not Verdict.FAIL or not is_compared(check):
        return f"{check_wording.own_reason(brief(check))}."
    before, now = check_wording.sides_of(check)
    values = f"from {wording.number(before)} to {wording.number(now)}"
    worse = f"{facts.worse} of {many(facts.tasks, 'task')} worse"
    text = f"{check.name} went {values}: {worse}, {facts.better} better"
    p = check_wording.p_value(check)
    if p is not None and check_wording.is_tested(check):
        text += f"; unlikely to be noise (p = {wording.two_digits(p)})"
    return f"{text}."


def _causes(report: RunReport, *, with_cases: bool) -> list[str]:
    """List the causes of many failures, each with its strongest case."""
    lines = []
    for cause in triage.triage(report.benchmarks):
        lines.append(f"- **{plain(cause.head)}**")
        if with_cases and cause.case:
            lines.append(f"  - {plain(cause.case)}")
        if with_cases and cause.command:
            lines.append(f"  - {plain(cause.command)}")
    return lines


# -- what does not hold ----------------------------------------------------------------------

_HEADER = ("", "benchmark", "metric", "now", "held against", "change", "p")


def failing_part(report: RunReport, size: Size, page: str = "") -> list[str]:
    """Write the gates that do not hold, draw the surest changes, and show their tasks."""
    unmet = unmet_checks(report)
    lines = _unmet_table(unmet, size.failing, page)
    lines += paragraph(picture(_drawn(unmet, size.drawn)))
    results = {
        judged.result.id: judged.result for judged in unmet if not judged.result.xfail
    }
    shown = list(results.values())[: size.benchmarks_with_tasks]
    lines += paragraph(_tasks(shown, size.tasks, page))
    lines += paragraph(_shared(shown, size.shared))
    return lines


def _unmet_table(unmet: Sequence[JudgedCheck], most: int, page: str) -> list[str]:
    rows: list[list[str]] = []
    for judged in _joined_by_row(unmet):
        rows += _rows(judged, page)
    lines = paragraph(table(_HEADER, rows[:most]))
    if len(rows) > most:
        more = len(rows) - most
        lines += [f"and {more} more that do not hold, in report.json", ""]
    return lines


def _joined_by_row(unmet: Sequence[JudgedCheck]) -> list[JudgedCheck]:
    """Join the checks of a benchmark's agents that say the same."""
    joined: dict[tuple[str, ...], JudgedCheck] = {}
    for judged in unmet:
        key = (judged.result.id, *_row(judged, name=""))
        if check_wording.worse_slices(judged.check):
            key = (*key, judged.check.agent)
        if key in joined:
            joined[key] = joined[key].and_of(judged.check.agent)
        else:
            joined[key] = judged
    return list(joined.values())


def _rows(judged: JudgedCheck, page: str) -> list[list[str]]:
    """Write a row of a check, or one for each slice that got worse."""
    address = ""
    if page:
        address = f"{page}{addresses.of_benchmark(judged.result.id)}"
    name = link(judged.name, address)
    slices = check_wording.worse_slices(judged.check)
    if not slices:
        return [_row(judged, name)]
    rows = []
    for one in slices:
        cells = [
            _sign(judged.check),
            name,
            plain(one.name),
            wording.number(one.now),
            f"was {wording.number(one.before)}",
            wording.signed(one.now - one.before),
            wording.two_digits(one.p),
        ]
        rows.append(cells)
    return rows


def _row(judged: JudgedCheck, name: str) -> list[str]:
    check = judged.check
    return [
        _sign(check),
        name,
        plain(check.name),
        _now(judged),
        plain(_held_against(check)),
        _change(check),
        wording.two_digits(check_wording.p_value(check)),
    ]


def _sign(check: Check) -> str:
    if check_wording.word_of(check) == check_wording.ADVISORY:
        return _ADVISORY
    return SIGNS[check.verdict]


def _now(judged: JudgedCheck) -> str:
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


def _drawn(unmet: Sequence[JudgedCheck], most: int) -> list[str]:
    """Draw the surest changes that do not hold on one scale, with 0 and what matters."""
    names: list[str] = []
    shapes: list[Picture] = []
    for judged in unmet:
        shape = change_picture(judged.check)
        if shape is None or len(shapes) == most:
            continue
        # beside a change of another size no other one can be seen
        if not shapes or drawing.share_scale(shape, shapes[0]):
            name = one_line(f"{judged.name} {judged.check.name}")
            names.append(both_ends(name, _LABEL))
            shapes.append(shape)
    if not shapes:
        return []
    scale = drawing.scale_of(shapes, _DRAWN)
    width = max(map(columns_of, names))
    lines = []
    for name, shape in zip(names, shapes, strict=True):
        interval = drawing.drawn(shape, scale, drawing.LINES)
        lines.append(f"{padded(name, width)}  {interval}")
    lines.append(f"{padded('', width)}  {_legend(shapes)}")
    return lines


def _legend(shapes: Sequence[Picture]) -> str:
    """Explain the marks; where gates differ, each has its own in the table."""
    shape = shapes[0]
    if len({shape.text for shape in shapes}) > 1:
        shape = structs.replace(shape, text="gate")
    return drawing.legend(shape, drawing.LINES)


def _shared(results: Sequence[BenchmarkResult], most: int) -> list[str]:
    """Say what the tasks that got worse have in common."""
    lines = []
    for result in results:
        for separator in result.separators[:most]:
            name = plain(_whose(result, separator.agent))
            words = f"{separator_text(separator)}; {separator_basis(separator)}"
            lines.append(f"- in common, {name}: {plain(words)}")
    return lines


def _whose(result: BenchmarkResult, agent: str) -> str:
    """Name a benchmark, and the agent where it has several."""
    if len(result.agents) > 1:
        return f"{result.name} / {agent}"
    return result.name


_TASKS_HEADER = ("task that got worse", "rewards", "expected", "was", "now", "why")


def _tasks(results: Sequence[BenchmarkResult], most: int, page: str) -> list[str]:
    """Show the tasks that got worse most, with what was said before and now."""
    rows: list[list[str]] = []
    for result in results:
        worse = flipped_tasks.worse_tasks(result, most)
        rows += [_task_row(result, task, page) for task in worse]
    return table(_TASKS_HEADER, rows)


def _task_row(result: BenchmarkResult, task: WorseTask, page: str) -> list[str]:
    address = ""
    if page:
        address = f"{page}{addresses.of_task(result, task.agent, task.task)}"
    return [
        link(f"{_whose(result, task.agent)}: {task.task}", address),
        plain(task.rewards),
        _excerpt(task.expected),
        _excerpt(task.was or ""),
        _excerpt(task.now),
        _excerpt(task.reason),
    ]


def _excerpt(text: str) -> str:
    return plain(both_ends(one_line(text), _EXCERPT))


# -- reasons ---------------------------------------------------------------------------------


def _changes(report: RunReport, size: Size) -> list[str]:
    lines = []
    for result in report.benchmarks:
        name = plain(result.name)
        lines += [f"- {name}: {plain(text)}" for text in change_texts(result.changes)]
    return capped(lines, size.others, "- and {} more, in report.json")


def _reasons(report: RunReport, size: Size) -> list[str]:
    """Write a folded section for each check that does not hold."""
    explained = [
        judged for judged in checks_by_evidence(report) if _is_explained(judged.check)
    ]
    joined = joined_by_reason(explained)
    lines: list[str] = []
    for judged in joined[: size.reasons]:
        lines += [*_reason(judged), ""]
    more = len(joined) - size.reasons
    if more > 0:
        lines += [f"{many(more, 'more reason', 'is')} in report.json.", ""]
    return lines


def _is_explained(check: Check) -> bool:
    return check.verdict is not Verdict.PASS or check_wording.changes_task_list(check)


def _reason(judged: JudgedCheck) -> list[str]:
    check = judged.check
    reason = check_wording.own_reason(check)
    if not reason:
        return []
    lines = list(check_wording.comparison_details(check))
    hint = what_to_do(judged.result, check)
    if hint:
        lines.append(hint)
    lines.append(f"{judged.result.file}, line {judged.line}")
    title = f"{_sign(check)} {as_html(judged.name)}: {as_html(reason)}"
    return folded(title, [f"- {plain(line)}" for line in lines])


# -- what passes -----------------------------------------------------------------------------


def passing_part(report: RunReport, most: int, where: str = "report.json") -> list[str]:
    """Fold the metrics that pass; drops that are not proven come first, and are marked."""
    passing = [
        judged for judged in checks_of(report) if _is_passing_metric(judged.check)
    ]
    if not passing:
        return []
    unproven = [judged for judged in passing if _is_unproven(judged)]
    passing.sort(key=_is_unproven, reverse=True)
    rows = [_passing_row(judged) for judged in passing[:most]]
    lines = table(("", *_HEADER[1:], "sees losses from"), rows)
    if len(passing) > most:
        lines += ["", f"and {len(passing) - most} more that pass, in {where}"]
    title = "1 gate passes"
    if len(passing) > 1:
        title = f"{len(passing)} gates pass"
    if unproven:
        title += f", {many(len(unproven), 'drop')} of them not proven"
    return paragraph(folded(title, lines))


def _is_unproven(judged: JudgedCheck) -> bool:
    return check_wording.is_unproven_drop(judged.check)


def _is_passing_metric(check: Check) -> bool:
    is_metric = check.gate not in (Gate.EXPECT, Gate.DATA)
    has_value = check.comparison is not None or check.estimate is not None
    return is_metric and has_value and check.verdict is Verdict.PASS


def _passing_row(judged: JudgedCheck) -> list[str]:
    cells = _row(judged, plain(judged.name))
    if _is_unproven(judged):
        cells[0] = _UNPROVEN
    seen = None
    if judged.check.comparison is not None:
        seen = judged.check.comparison.detectable_drop
    return [*cells, wording.size_of_loss(seen)]


# -- the last runs, and what has no result ---------------------------------------------------

_TRENDS_HEADER = ("benchmark", "metric", "trend", "last values")


def _trends(report: RunReport, size: Size) -> list[str]:
    """Draw the metrics over the last runs, with the reasons of accepted changes."""
    rows = [
        _trend_row(result, trend) for result, trend in run_wording.trends_of(report)
    ]
    if not rows:
        return []
    lines = table(_TRENDS_HEADER, rows[: size.trends])
    more = len(rows) - size.trends
    if more > 0:
        lines += ["", f"and {more} more"]
    accepted = _accepted_changes(report)[-size.trends :]
    return [
        *_titled("### The last runs", lines),
        *_titled("Accepted changes:", accepted),
    ]


def _trend_row(result: BenchmarkResult, trend: Trend) -> list[str]:
    last = map(wording.number, trend.values[-_LAST_VALUES:])
    return [
        plain(_whose(result, trend.agent)),
        plain(trend.metric),
        wording.sparkline(trend.values),
        ", ".join(last),
    ]


def _accepted_changes(report: RunReport) -> list[str]:
    lines = []
    for result in report.benchmarks:
        for run in report.history.get(result.id, ()):
            if run.reason:
                day = run.time[:10]
                lines.append(f"- {plain(result.name)}, {day}: {plain(run.reason)}")
    return lines


def without_result(report: RunReport, size: Size) -> list[str]:
    """Name what was not evaluated, and what was skipped."""
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
