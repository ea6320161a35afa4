"""What a page shows without scripts: the verdicts, the table, and the tasks that flipped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from pytest_evalmetrics.layout import many, visible
from pytest_evalmetrics.model.verdicts import Verdict
from pytest_evalmetrics.reports import check_wording, run_wording
from pytest_evalmetrics.reports.html.benchmark_view import in_order
from pytest_evalmetrics.reports.sentences import reason_of
from pytest_evalmetrics.reports.wording import number, signed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_evalmetrics.model.results import (
        Attempt,
        BenchmarkResult,
        Check,
        Flip,
        RunReport,
    )

_ROWS = 200  # benchmarks of the table
_EXPLAINED = 20  # benchmarks that do not pass
_REASONS = 10  # of a benchmark
_FLIPS = 20
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
    unmet = [result for result in results if result.verdict is not Verdict.PASS]
    lines = [
        f'<div class="verdict {_KINDS[report.verdict]}">',
        f"<h1>{report.verdict}</h1>",
        f'<p class="lead">{_text(run_wording.verdict_counts(report))}</p>',
        "</div>",
        *_table(results[:_ROWS]),
    ]
    if len(results) > _ROWS:
        more = many(len(results) - _ROWS, "more benchmark")
        lines.append(f"<p>and {more}, in summary.md beside this page</p>")
    for result in unmet[:_EXPLAINED]:
        lines += _explained(result)
    return "\n".join(lines)


def _text(text: str) -> str:
    return f'<bdi dir="auto">{escape(visible(text))}</bdi>'


def _head(names: Sequence[str]) -> str:
    cells = "".join(f'<th scope="col">{name}</th>' for name in names)
    return f"<thead><tr>{cells}</tr></thead>"


def _excerpt(text: str) -> str:
    flat = " ".join(text.split())
    if len(flat) > _LETTERS:
        half = _LETTERS // 2
        flat = f"{flat[:half]} ... {flat[-half:]}"
    return _text(flat)


# -- the table of benchmarks -----------------------------------------------------------------


def _table(results: Sequence[BenchmarkResult]) -> Iterator[str]:
    if not results:
        return
    yield '<div class="scroll"><table>'
    yield "<caption>Benchmarks</caption>"
    names = ("Verdict", "Benchmark", "Metric", "Before", "Now", "Change", "p")
    yield _head(names)
    yield "<tbody>"
    for result in results:
        yield f"<tr>{''.join(_cells(result))}</tr>"
    yield "</tbody></table></div>"


def _cells(result: BenchmarkResult) -> Iterator[str]:
    yield f"<td>{result.verdict}</td>"
    yield f'<th scope="row">{_excerpt(result.name)}</th>'
    compared = [check for check in result.checks if check.comparison is not None]
    compared.sort(key=lambda check: check.verdict is not result.verdict)
    if not compared:
        yield "<td></td>" * 5
        return
    yield from _change(compared[0])


def _change(check: Check) -> Iterator[str]:
    before, now = check_wording.sides_of(check)
    p = check_wording.p_value(check)
    name = f"{check_wording.of_agent(check)}{check.name}"
    yield f"<td>{_text(name)}</td>"
    yield f"<td>{number(before)}</td><td>{number(now)}</td>"
    yield f"<td>{signed(check_wording.change_of(check)[0])}</td>"
    yield f"<td>{'' if p is None else f'{p:.2g}'}</td>"


# -- why it does not pass --------------------------------------------------------------------


def _explained(result: BenchmarkResult) -> Iterator[str]:
    yield f"<h2>{_excerpt(result.name)}: {result.verdict}</h2>"
    unmet = [check for check in result.checks if check.verdict is not Verdict.PASS]
    yield "<ul>"
    for check in unmet[:_REASONS]:
        text = f"{check_wording.of_agent(check)}{reason_of(check)}"
        yield f"<li>{check.verdict}: {_text(text)}</li>"
    yield "</ul>"
    if result.flips:
        yield from _flips(result.flips[:_FLIPS])


def _flips(flips: Sequence[Flip]) -> Iterator[str]:
    yield '<div class="scroll"><table><caption>Tasks that flipped</caption>'
    names = ("Task", "Rewards", "Expected", "Before", "Now")
    yield _head(names)
    yield "<tbody>"
    for flip in flips:
        rewards = f"{_rewards(flip.before)} → {_rewards(flip.now)}"
        texts = (flip.reference, _answer(flip.before), _answer(flip.now))
        cells = "".join(f"<td>{_excerpt(text)}</td>" for text in texts)
        yield (
            f'<tr><th scope="row">{_excerpt(flip.task)}</th><td>{rewards}</td>{cells}</tr>'
        )
    yield "</tbody></table></div>"


def _rewards(attempts: Sequence[Attempt]) -> str:
    return " ".join(number(attempt.reward) for attempt in attempts)


def _answer(attempts: Sequence[Attempt]) -> str:
    return attempts[0].text if attempts else ""
