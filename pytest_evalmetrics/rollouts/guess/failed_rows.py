"""Rows that state an error: left out of the guess, or without their zeros."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import structs

from pytest_evalmetrics.rollouts.guess.keyed_values import is_error
from pytest_evalmetrics.rollouts.json_values import lookup
from pytest_evalmetrics.rollouts.not_judged import SIGNS, SIGNS_BESIDE, error_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_evalmetrics.json_types import JsonValue
    from pytest_evalmetrics.rollouts.guess.seen_columns import SeenColumn

_MOSTLY: Final = 0.8  # of the rows are no errors


def without_errors(
    rows: Sequence[Mapping[str, JsonValue]],
) -> Sequence[Mapping[str, JsonValue]]:
    """Leave out rows that are nothing but an error, where most rows are none."""
    kept = [row for row in rows if not is_error(row)]
    if len(kept) < _MOSTLY * len(rows):
        return rows
    return kept


class FailedRows:
    """The rows that state an error, of themselves or beside a score in an object."""

    def __init__(self, rows: Sequence[Mapping[str, JsonValue]]) -> None:
        self._rows = rows
        self._numbers: dict[str, frozenset[int]] = {}  # by the path of the object

    def without_zeros(self, column: SeenColumn) -> SeenColumn:
        """Leave out the zeros beside errors, which are missing when they are read."""
        above = column.path.rpartition(".")[0]
        failed = self._failed("") | self._failed(above)
        if not failed:
            return column
        values = list(column.values)
        for number in failed:
            if _is_zero(values[number]):
                values[number] = None
        return structs.replace(column, values=values)

    def _failed(self, above: str) -> frozenset[int]:
        """Find the rows whose object at a path states an error."""
        if above not in self._numbers:
            self._numbers[above] = frozenset(
                number
                for number, row in enumerate(self._rows)
                if _states_an_error(row, above)
            )
        return self._numbers[above]


def _states_an_error(row: Mapping[str, JsonValue], above: str) -> bool:
    if not above:
        return error_in({path: lookup(row, path) for path in SIGNS}) is not None
    beside = {path: lookup(row, f"{above}.{path}") for path in SIGNS_BESIDE}
    return error_in(beside) is not None


def _is_zero(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not value
