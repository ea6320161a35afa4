"""What a page shows without scripts, and without style where a server forbids both.

Jenkins serves archived pages so: tables have borders as attributes, which no policy blocks.
"""

from __future__ import annotations

import shlex
from html import escape
from typing import TYPE_CHECKING

from pytest_evalmetrics.layout import many, visible
from pytest_evalmetrics.model.verdicts import Verdict
from pytest_evalmetrics.reports import (
    check_wording,
    flipped_tasks,
    run_wording,
    triage,
)
from pytest_evalmetrics.reports.failure import what_to_do
from pytest_evalmetrics.reports.html.benchmark_view import in_order
from pytest_evalmetrics.reports.sentences.separators import separator_text
from pytest_evalmetrics.reports.wording import number, signed, two_digits, used_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_evalmetrics.model.results import BenchmarkResult, Check, RunReport

_ROWS = 200  # benchmarks of the table
_EXPLAINED = 20  # benchmarks that do not pass
_REASONS = 10  # of a benchmark
_TASKS = 20
_SEPARATORS = 3
_LETTERS = 120  # of a text, from both of its ends
_KINDS = {
    Verdict.FAIL: "fail",
    Verdict.INCONCLUSIVE: "unsure",
    Verdict.WARN: "warn",
    Verdict.PASS: "pass",
}


def static_page(report: RunReport) -> str:
    """Write a run as HTML that needs no script; every text of a row is escaped."""
    results = in_order(report.benchmarks)
    counts = _text(run_wording.verdict_counts(report))
    lines = [
        f'<div class="verdict {_KINDS[report.verdict]}">',
        f"<h1>{report.verdict}</h1>",
        f'<p class="lead">{counts}</p>',
    ]
    lines += [f"<p>Drift: {_text(text)}</p>" for text in run_wording.drifts_of(report)]
    lines.append("</div>")
    lines += _benchmarks(results[:_ROWS])
    if len(results) > _ROWS:
        more = many(len(results) - _ROWS, "more benchmark")
        lines.append(f"<p>and {more}, in summary.md beside this page</p>")
    unmet = [result for result in results if result.verdict is not Verdict.PASS]
    for result in unmet[:_EXPLAINED]:
        lines += _explained(result)
    return "\n".join(lines)


def _text(text: str) -> str:
    return f'<bdi dir="auto">{escape(visible(text))}</bdi>'


def _excerpt(text: str) -> str:
    flat = " ".join(text.split())
    if not flat:
        return ""
    if len(flat) > _LETTERS:
        half = _LETTERS // 2
        flat = f"{flat[:half]} ... {flat[-half:]}"
    return _text(flat)


def _table(
    caption: str, names: Sequence[str], rows: Sequence[Sequence[str]]
) -> Iterator[str]:
    """Write rows of HTML, of which the second cell names what the row is about.

    Columns that are empty are left out.
    """
    used = used_columns(rows)
    head = "".join(f'<th scope="col">{names[at]}</th>' for at in used)
    yield '<div class="scroll"><table border="1" cellpadding="4">'
    yield f"<caption>{caption}</caption>"
    yield f"<thead><tr>{head}</tr></thead>"
    yield "<tbody>"
    for row in rows:
        yield f"<tr>{''.join(_cell(row, at) for at in used)}</tr>"
    yield "</tbody></table></div>"


_NAME = 1  # the column that names what a row is about


def _cell(row: Sequence[str], at: int) -> str:
    if at == _NAME:
        return f'<th scope="row">{row[at]}</th>'
    return f"<td>{row[at]}</td>"


# -- the table of benchmarks -----------------------------------------------------------------

_COLUMNS = ("Verdict", "Benchmark", "Metric", "Before", "Now", "Change", "p")


def _benchmarks(results: Sequence[BenchmarkResult]) -> Iterator[str]:
    if results:
        rows = [_benchmark(result) for result in results]
        yield from _table("Benchmarks", _COLUMNS, rows)


def _benchmark(result: BenchmarkResult) -> list[str]:
    cells = [check_wording.word_of_result(result), _excerpt(result.name)]
    leading = triage.leading(result)
    if leading is None:
        return [*cells, "", "", "", "", ""]
    return [*cells, *_numbers(leading)]


def _numbers(check: Check) -> list[str]:
    before, now = check_wording.sides_of(check)
    change, _, _ = check_wording.change_of(check)
    return [
        _text(f"{check_wording.of_agent(check)}{check.name}"),
        number(before),
        number(now),
        signed(change),
        two_digits(check_wording.p_value(check)),
    ]


# -- why it does not pass --------------------------------------------------------------------


def _explained(result: BenchmarkResult) -> Iterator[str]:
    """Say why a benchmark does not pass, what to do, and which tasks got worse."""
    word = check_wording.word_of_result(result)
    unmet = check_wording.unmet(result.checks)
    ordered = triage.in_turn(unmet)[:_REASONS]
    yield f"<h2>{_excerpt(result.name)}: {word}</h2>"
    yield "<ul>"
    for check in ordered:
        text = f"{check_wording.of_agent(check)}{check_wording.own_reason(check)}"
        yield f"<li>{check_wording.word_of(check)}: {_text(text)}</li>"
    for separator in result.separators[:_SEPARATORS]:
        text = separator_text(separator)
        yield f"<li>the worse tasks have in common: {_text(text)}</li>"
    yield "</ul>"
    for way in dict.fromkeys(what_to_do(result, check) for check in ordered):
        if way:
            yield f"<p>What to do: {_text(way)}</p>"
    if result.file:
        command = f"pytest {shlex.quote(result.id)}"
        yield f"<p>Run again: <code>{_text(command)}</code></p>"
    yield from _worse_tasks(result)


_TASK_COLUMNS = ("Rewards", "Task", "Expected", "Before", "Now")


def _worse_tasks(result: BenchmarkResult) -> Iterator[str]:
    tasks = flipped_tasks.worse_tasks(result, _TASKS)
    if not tasks:
        return
    rows = []
    for task in tasks:
        name = task.task
        if len(result.agents) > 1:
            name = f"{task.agent}: {task.task}"
        rewards = task.rewards.replace("->", "\N{RIGHTWARDS ARROW}")
        cells = [
            escape(rewards),
            _excerpt(name),
            _excerpt(task.expected),
            _excerpt(task.was or ""),
            _excerpt(task.now),
        ]
        rows.append(cells)
    yield from _table("Tasks that got worse", _TASK_COLUMNS, rows)
