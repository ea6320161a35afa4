"""Recorded runs against the first one, in text, Markdown and JSON."""

from __future__ import annotations

import json
import shutil
import sys
from textwrap import TextWrapper
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import structs

from pytest_evalmetrics.failure_lines import Picture
from pytest_evalmetrics.layout import visible
from pytest_evalmetrics.reports import drawing
from pytest_evalmetrics.reports.console import both_ends, columns_of, padded
from pytest_evalmetrics.reports.failure_layout import strokes_of
from pytest_evalmetrics.reports.markdown import plain, table
from pytest_evalmetrics.reports.sentences.separators import (
    separator_basis,
    separator_text,
)
from pytest_evalmetrics.reports.summary import SIGNS
from pytest_evalmetrics.reports.wording import (
    fitted_table,
    number,
    signed,
    signed_interval,
    size_of_loss,
    two_digits,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_evalmetrics.model.separators import Separator
    from pytest_evalmetrics.model.verdicts import Verdict

_EQUIVALENT: Final = 0.05  # the level of the equivalence test
_WITHOUT_TERMINAL: Final = 200  # columns
_NARROWEST: Final = 40  # columns
_PICTURE: Final = 24  # columns of an interval
_HEAD: Final = ("verdict", "run", "benchmark", "agent", "metric")
# what a narrow terminal goes without, the first to go first; the picture has the interval
_DISPENSABLE: Final = ("tasks", "better", "worse", "95% interval", "churn")


class Difference(msgspec.Struct, frozen=True):
    """One metric of one run, compared with the first run."""

    run: str
    benchmark: str  # of a report; empty for files
    agent: str  # where a run has several
    metric: str
    verdict: Verdict
    reason: str = ""
    baseline: float | None = None
    value: float | None = None
    change: float | None = None  # value - baseline
    low: float | None = None  # of the change: its 95 % interval
    high: float | None = None
    p: float | None = None  # for "no worse", adjusted for the other metrics
    tasks: int = 0  # compared
    worse: int = 0
    better: int = 0
    churn: float | None = None  # the share of rollouts whose answer changed
    margin: float | None = None  # of the equivalence test
    p_equivalent: float | None = None  # of two one-sided tests (Schuirmann 1987)
    detectable: float | None = None  # the least loss seen with 80 % power
    worst: tuple[str, ...] = ()  # the tasks that lost most
    # what the run's agents do otherwise, in words; with the first metric alone
    behaviour: str = ""

    @property
    def names(self) -> list[str]:
        """The run, and the benchmark and the agent where there are several."""
        return [name for name in (self.run, self.benchmark, self.agent) if name]

    @property
    def whose(self) -> str:
        """These names in one text."""
        return " ".join(self.names)

    @property
    def equivalent(self) -> bool | None:
        """Whether the runs differ by less than the margin; None if not asked."""
        if self.p_equivalent is None:
            return None
        return self.p_equivalent < _EQUIVALENT


class Finding(msgspec.Struct, frozen=True):
    """A difference, and the facts about it that only its readers need."""

    difference: Difference
    # the reason's sentence names the metric, so that no other name is written before it
    names_metric: bool = False
    lost_agent: str = ""  # of the first run, which the other one does not have
    # what the agent's worse tasks have in common; with its first metric alone
    separators: tuple[Separator, ...] = ()


# -- what both say ---------------------------------------------------------------------------


def _rows(findings: Sequence[Finding]) -> list[dict[str, str]]:
    """Return the rows of a table, without columns that are empty in all of them."""
    rows = [_cells(finding.difference) for finding in findings]
    used = [key for key in rows[0] if any(row[key] for row in rows)]
    return [{key: row[key] for key in used} for row in rows]


def _cells(difference: Difference) -> dict[str, str]:
    """Write the parts of a difference, each in the cell of its column."""
    cells = {
        "verdict": difference.verdict.value,
        "run": difference.run,
        "benchmark": difference.benchmark,
        "agent": difference.agent,
        "metric": difference.metric,
        "first": number(difference.baseline),
        "now": number(difference.value),
        "change": signed(difference.change),
        "95% interval": signed_interval(difference.low, difference.high),
        "p": two_digits(difference.p),
        "tasks": "",
        "worse": "",
        "better": "",
        "churn": "",
        "same": _same_cell(difference),
    }
    if difference.tasks:
        cells["tasks"] = str(difference.tasks)
        cells["worse"] = str(difference.worse)
        cells["better"] = str(difference.better)
    if difference.churn is not None:
        cells["churn"] = f"{difference.churn:.1%}"
    return cells


def _same_cell(difference: Difference) -> str:
    """Say whether the runs are shown to be alike; empty if not asked."""
    if difference.equivalent is None:
        return ""
    if difference.equivalent:
        return f"within {difference.margin}"
    return "not shown"


def _words(findings: Sequence[Finding]) -> Iterator[str]:
    """Say why differences fail, which tasks are worse, and what these have in common."""
    for finding in findings:
        difference = finding.difference
        name = difference.whose
        if not finding.names_metric:
            name += f" {difference.metric}"
        if difference.reason:
            yield f"{name}: {difference.reason}"
        yield from _cause_lines(finding)
        if difference.behaviour:
            yield f"{difference.run}: {difference.behaviour}"
        if not difference.reason and difference.detectable:
            least = f"a loss of {size_of_loss(difference.detectable)}"
            yield f"{name}: {least} would be seen with 80 % power"


def _cause_lines(finding: Finding) -> Iterator[str]:
    """Name the worse tasks, and what they have in common."""
    difference = finding.difference
    if difference.verdict.fails and difference.worst:
        yield f"  worse tasks: {_worst_names(difference)}"
    for separator in finding.separators:
        text = f"{separator_text(separator)}; {separator_basis(separator)}"
        yield f"  in common: {text}"


def _worst_names(difference: Difference) -> str:
    names = list(difference.worst)
    if difference.worse > len(names):
        names.append("...")
    return ", ".join(names)


# -- text ------------------------------------------------------------------------------------


def as_text(findings: Sequence[Finding], first: str) -> str:
    """Lay out as a table, or where that is too wide as a block for each difference."""
    terminal = shutil.get_terminal_size((_WITHOUT_TERMINAL, 24))
    width = max(terminal.columns, _NARROWEST)
    rows = _rows(findings)
    cells = [list(row.values()) for row in rows]
    lines = fitted_table(list(rows[0]), cells, width, _DISPENSABLE)
    if max(map(len, lines)) > width:
        lines = _as_blocks(rows)
    drawn = _drawn([finding.difference for finding in findings], width)
    title = f"against {visible(first)}"
    blocks = [[title], lines, drawn, _wrapped(_words(findings), width)]
    texts = ["\n".join(block) for block in blocks if block]
    return "\n\n".join(texts) + "\n"


def _wrapped(texts: Iterable[str], width: int) -> list[str]:
    wrapper = TextWrapper(
        width, subsequent_indent="    ", break_on_hyphens=False, break_long_words=False
    )
    lines = []
    for text in texts:
        lines += wrapper.wrap(visible(text))
    return lines


def _as_blocks(rows: Sequence[dict[str, str]]) -> list[str]:
    """Write each row below its head, a cell a line."""
    lines = []
    for row in rows:
        head = [row[key] for key in _HEAD if row.get(key)]
        lines.append("  ".join(map(visible, head)))
        for key, cell in row.items():
            if cell and key not in _HEAD:
                lines.append(f"  {key:13} {visible(cell)}")
    return lines


def _drawn(differences: Sequence[Difference], width: int) -> list[str]:
    """Draw the changes with their intervals on one scale for each metric."""
    pictures: dict[str, list[Picture]] = {}
    labels = []
    for difference in differences:
        picture = _picture(difference, width)
        if picture is not None:
            pictures.setdefault(difference.metric, []).append(picture)
            labels.append(columns_of(picture.label))
    if not pictures:
        return []
    strokes = strokes_of(sys.stdout.encoding)
    columns = max(labels)
    lines = []
    for of_metric in pictures.values():
        scale = drawing.scale_of(of_metric, _PICTURE)
        for picture in of_metric:
            interval = drawing.drawn(picture, scale, strokes)
            lines.append(f"{padded(picture.label, columns)}  {interval}")
    return _with_legend(lines, f"{strokes.zero} no change", width)


def _with_legend(lines: Sequence[str], legend: str, width: int) -> list[str]:
    """Explain a mark behind the first picture; where there is no room, below them all."""
    longest = max(map(columns_of, lines))
    if longest + columns_of(f"  {legend}") > width:
        return [*lines, legend]
    first, *others = lines
    return [f"{padded(first, longest)}  {legend}", *others]


def _picture(difference: Difference, width: int) -> Picture | None:
    """Describe the picture of a change; None without an interval."""
    change = difference.change
    if change is None or difference.low is None or difference.high is None:
        return None
    name = visible(f"{difference.whose} {difference.metric}")
    return Picture(
        low=difference.low,
        value=change,
        high=difference.high,
        limit=None,
        shows_zero=True,
        label=both_ends(name, width - _PICTURE - 4),
        text="",
    )


# -- Markdown --------------------------------------------------------------------------------

_HEADER: Final = (
    "",
    "run",
    "metric",
    "before -> now",
    "change",
    "p",
    "worse / better",
    "churn",
    "same",
)


def as_markdown(findings: Sequence[Finding], first: str) -> str:
    """Write a table as wide as GitHub's column, and the words below it."""
    rows = [_markdown_row(finding.difference) for finding in findings]
    words = [f"- {plain(line.strip())}" for line in _words(findings)]
    title = f"Against {plain(first)}:"
    lines = [title, "", *table(_HEADER, rows), "", *words]
    return "\n".join(lines).rstrip() + "\n"


def _markdown_row(difference: Difference) -> list[str]:
    cells = _cells(difference)
    change = cells["change"]
    if difference.low is not None:
        change += f" ({signed(difference.low)} to {signed(difference.high)})"
    flips = ""
    if difference.tasks:
        flips = f"{difference.worse} / {difference.better}"
    texts = [
        " / ".join(difference.names),
        difference.metric,
        f"{cells['first']} -> {cells['now']}",
        change,
        cells["p"],
        flips,
        cells["churn"],
        cells["same"],
    ]
    return [SIGNS[difference.verdict], *map(plain, texts)]


# -- JSON ------------------------------------------------------------------------------------


def as_json(findings: Sequence[Finding], first: str) -> str:
    """Write the differences alone."""
    entries = []
    for finding in findings:
        difference = finding.difference
        entry = structs.asdict(difference) | {"equivalent": difference.equivalent}
        entries.append(entry)
    return json.dumps({"first": first, "differences": entries}, indent=2) + "\n"
