"""Append the failure in a trace to a data set, as a task; and what the terminal shows of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pytest_evalmetrics.cases.data_set import Keys, append, keys_of, read_rows
from pytest_evalmetrics.cases.exports import read_export
from pytest_evalmetrics.cases.removal import Redactor
from pytest_evalmetrics.cases.spans import TracedCase, case_of
from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.layout import many

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence
    from pathlib import Path

    from pytest_evalmetrics.cases.removal import Removed

_PREVIEW = 72  # characters of a text that the terminal shows


class Added(msgspec.Struct, frozen=True):
    """A task that was appended."""

    row: dict[str, object]
    keys: Keys
    removed: tuple[Removed, ...]


def add_case(given: Namespace) -> Added:
    """Append the case of a trace to a data set.

    Raises
    ------
    DataError
        If the trace or the data set can't be read, or the case is in the data set already.
    """
    if not given.reason.strip():
        raise DataError(
            "a case needs a reason",
            hint="say why the answer is wrong with --reason TEXT",
        )
    rows = read_rows(given.dataset)
    keys = keys_of(rows)
    export = read_export(given.trace)
    case = case_of(export.spans, given.span, str(given.trace))
    redactor = Redactor(case.records, given.keep)
    row = _row(case, given, keys, redactor, export.tool)
    _refuse_twice(row, rows, keys, given.dataset)
    append(given.dataset, row)
    return Added(row=row, keys=keys, removed=tuple(redactor.removed()))


def _row(
    case: TracedCase, given: Namespace, keys: Keys, redactor: Redactor, tool: str
) -> dict[str, object]:
    """Write the case as a row of the data set."""
    # marks are numbered in the order of the texts
    question = redactor.marked(case.question)
    expected: str | None = None
    if given.expected is not None:
        expected = redactor.marked(given.expected)
    row: dict[str, object] = {
        keys.id: given.id or f"case-{case.span_id[:12]}",
        keys.question: question,
        keys.reference: expected,
        keys.context: [redactor.marked(text) for text in case.context],
        "wrong_answer": redactor.marked(case.wrong_answer),
        "reason": redactor.marked(given.reason),
    }
    turns = [message for message in case.messages if message.role != "system"]
    if len(turns) > 1:  # the question needs what was said before it
        row["messages"] = [
            {"role": turn.role, "content": redactor.marked(turn.text)} for turn in turns
        ]
    if case.error:
        row["error"] = redactor.marked(case.error)
    row["source"] = {"tool": tool, "trace": case.trace_id, "span": case.span_id}
    row["removed"] = {removed.mark: removed.kind for removed in redactor.removed()}
    return row


def _refuse_twice(
    row: dict[str, object], rows: Sequence[dict[str, object]], keys: Keys, path: Path
) -> None:
    for number, other in enumerate(rows, start=1):
        for key in (keys.id, keys.question, "source"):
            if other.get(key) != row[key]:
                continue
            hint = "the case is in the data set already"
            if key == keys.id:
                hint = "give the task another id with --id, or leave it as it is"
            message = f"row {number} has the same {key}: nothing was appended"
            raise DataError(message, file=str(path), hint=hint)


def shown(added: Added, given: Namespace) -> str:
    """Say what was appended, and what to do with it."""
    row = added.row
    keys = added.keys
    lines = [
        f"appended task {row[keys.id]} to {given.dataset}",
        f"  question      {_short(row[keys.question])}",
        f"  wrong answer  {_short(row['wrong_answer']) or '(none)'}",
        f"  reason        {_short(row['reason'])}",
    ]
    lines.extend(
        f"  removed       {removed.mark}, in {many(removed.places, 'place')}"
        for removed in added.removed
    )
    if row[keys.reference] is None:
        lines.append(
            f"  -> write the right answer under {keys.reference!r}, or give it with --expected"
        )
    lines.append(
        "  -> read the row before you commit it: a name that no field holds is not found"
    )
    return "\n".join(lines)


def _short(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _PREVIEW else f"{text[: _PREVIEW - 3]}..."
