"""Rows that are none: the first line of a CSV file without names, and a last row of totals."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.rollouts.number_texts import is_number_text
from pytest_evalmetrics.rollouts.source import task_paths

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_evalmetrics.rollouts.guess.seen_columns import SeenColumn
    from pytest_evalmetrics.rollouts.source import Source
    from pytest_evalmetrics.spec.sources import FieldMap

_TOTALS: Final = frozenset(
    (
        "total",
        "totals",
        "sum",
        "mean",
        "average",
        "avg",
        "overall",
        "all",
        "summary",
        "gesamt",
        "summe",
        "mittelwert",
        "durchschnitt",
        "moyenne",
        "promedio",
        "media",
    )
)
_digits = re.compile(r"\d+")


def must_have_header(
    source: Source, columns: Mapping[str, SeenColumn], fields: FieldMap
) -> None:
    """Refuse a CSV file whose first line holds values in place of names.

    Raises
    ------
    DataError
        If the reward's name is a number, or the task's name counts on with its values.
    """
    reward = fields.reward if isinstance(fields.reward, str) else ""
    tasks = [path for path in task_paths(fields) if path in columns]
    counts_on = any(_counts_on(path, columns[path]) for path in tasks)
    if not is_number_text(reward) and not counts_on:
        return
    first = source.head.partition(b"\n")[0].decode(errors="replace").strip()
    raise source.error(
        f"the first line is {first!r}: values, in place of the names of the columns",
        line=1,
        hint="write a header above it, such as: task,reward",
    )


def _counts_on(name: str, column: SeenColumn) -> bool:
    """Check whether a name is one of the ids below it: ``q0`` above ``q1``, ``q2``."""
    if not any(character.isdigit() for character in name) or not column.are_texts:
        return False
    form = _digits.sub("0", name)
    return all(_digits.sub("0", text) == form for text in column.texts)


def must_have_no_total(
    source: Source, columns: Mapping[str, SeenColumn], fields: FieldMap
) -> None:
    """Refuse rows of which the last is a total of the others, by its id.

    Raises
    ------
    DataError
        If the last row's id is a word such as total or mean, and no other one is.
    """
    for path in task_paths(fields):
        if path not in columns:
            continue
        *ids, last = columns[path].texts
        if last.strip().casefold() in _TOTALS and last not in ids:
            raise source.error(
                f"the last row, {path}: {last}, looks like a total of the others",
                hint="remove it, or leave it out with where:",
            )
