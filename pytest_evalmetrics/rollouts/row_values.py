"""The decoded values of some rows by place, as ids, texts and numbers."""

from __future__ import annotations

import json
import math
import struct
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

import numpy as np

from pytest_evalmetrics.rollouts.row_schema import FLOAT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.json_types import JsonValue
    from pytest_evalmetrics.rollouts.row_schema import Decoded, Node, Record

    #: Reads the texts among the values of a score as numbers.
    ReadTexts: TypeAlias = Callable[[Sequence[Decoded]], Sequence[Decoded]]

_TEXT: set[type] = {str, type(None)}
_SINGLE: set[type] = {*_TEXT, int, float, bool}


class Values:
    """The values of some rows by place."""

    def __init__(
        self,
        places: NDArray[np.int64],
        decoded: Mapping[Node, Sequence[Decoded]],
        check: Callable[[int], object],
        *,
        parsed: Mapping[int, Record] | None = None,
        numbers: Mapping[Node, Sequence[JsonValue]] | None = None,
    ) -> None:
        self.places = places
        self.check = check  # refuses a row with invalid values, with the reason
        self._decoded = decoded
        self._parsed = parsed or {}  # rows that were parsed instead, by their index
        self._numbers = numbers  # in place of the same values as text

    def at(self, node: Node) -> Sequence[Decoded]:
        """Return the values of a place in all rows."""
        values = self._decoded.get(node)
        if not values:
            # the place was met only after these rows had been decoded
            values = [None] * len(self.places)
        if self._parsed:
            values = list(values)
            for index, record in self._parsed.items():
                values[index] = record.get(node)
        return values

    def first(self, nodes: Sequence[Node]) -> Sequence[Decoded]:
        """Take the first value of several places that is not null, row by row."""
        columns = [self.at(node) for node in nodes if node.kinds]
        if not columns:
            return [None] * len(self.places)
        values = columns[0]
        for column in columns[1:]:
            values = [
                other if value is None else value
                for value, other in zip(values, column, strict=True)
            ]
        return values

    def attempts(self, nodes: Sequence[Node]) -> Sequence[int]:
        """Count the verdicts of each row's lists; 1 for a row without a list."""
        counts = []
        columns = [self.at(node) for node in nodes]
        for index, held in enumerate(zip(*columns, strict=True)):
            lengths = {len(value) for value in held if isinstance(value, list)}
            if len(lengths) > 1:
                self.check(index)
            # a row with an empty list is one attempt without a verdict
            counts.append(max(lengths, default=1) or 1)
        return counts

    def unlisted(self, nodes: Sequence[Node], attempts: Sequence[int]) -> Values:
        """Give each verdict of a row's lists a row of its own."""
        rows: list[int] = []
        for row, count in enumerate(attempts):
            rows += [row] * count
        known = set(self._decoded)
        for record in self._parsed.values():
            known.update(record)
        columns: dict[Node, Sequence[Decoded]] = {}
        for node in known:
            held = self.at(node)
            columns[node] = [held[row] for row in rows]
        for node in nodes:
            columns[node] = _verdicts(self.at(node), attempts)
        return Values(self.places[rows], columns, lambda row: self.check(rows[row]))

    def must_be(self, kinds: set[type], values: Sequence[Decoded]) -> None:
        """Check the rows whose values are of other kinds."""
        if kinds.issuperset(map(type, values)):
            return
        for index, value in enumerate(values):
            if type(value) not in kinds:
                self.check(index)

    def texts(self, nodes: Sequence[Node]) -> Sequence[str | None]:
        """Return the first values as texts or None."""
        values = self.first(nodes)
        if _are_texts(values):
            return values
        self.must_be(_SINGLE, values)
        return [
            value if value is None or isinstance(value, str) else json.dumps(value)
            for value in values
        ]

    def numbers(
        self, nodes: Sequence[Node], *, needed: bool, read_texts: ReadTexts | None
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None]:
        """Return values as numbers or NaN, and which of them are given; None for all."""
        values = self._numbers_at(nodes)
        packed = _packed(
            values, has_fractions=any(node.kinds & FLOAT for node in nodes)
        )
        if packed is not None:
            return packed, None
        if read_texts is not None and str in set(map(type, values)):
            values = read_texts(values)
        given = np.array([isinstance(value, int | float) for value in values])
        if needed:
            for index in np.flatnonzero(~given).tolist():
                if values[index] is not None:
                    self.check(index)
        return np.array(list(map(_float, values))), given

    def _numbers_at(self, nodes: Sequence[Node]) -> Sequence[Decoded]:
        """Return the value of each row at the first place that holds a number."""
        columns = [self._numeric(node) for node in nodes if node.kinds]
        if len(columns) == 1:
            return columns[0]
        return list(map(_number_first, zip(*columns, strict=True)))

    def _numeric(self, node: Node) -> Sequence[Decoded]:
        """Return the values of a place, of a table those that were read as numbers."""
        if self._numbers is None:
            return self.at(node)
        return self._numbers.get(node) or [None] * len(self.places)


def _are_texts(values: Sequence[Decoded]) -> TypeGuard[Sequence[str | None]]:
    return _TEXT.issuperset(map(type, values))


def _verdicts(values: Sequence[Decoded], attempts: Sequence[int]) -> list[Decoded]:
    """Return the verdicts of all rows, None where a list has fewer than its row has attempts."""
    verdicts: list[Decoded] = []
    for value, count in zip(values, attempts, strict=True):
        given = value if isinstance(value, list) else [value]
        verdicts += given[:count]
        verdicts += [None] * (count - len(given))
    return verdicts


def _packed(
    values: Sequence[Decoded], *, has_fractions: bool
) -> NDArray[np.float64] | None:
    """Make a column of finite numbers; None if there is anything else among the values.

    It is several times faster than NumPy, which checks the type of each object.
    """
    code = "q"
    kind: type[np.int64 | np.float64] = np.int64
    if has_fractions:
        code = "d"
        kind = np.float64
    try:
        packed = struct.pack(f"{len(values)}{code}", *values)
    except (struct.error, OverflowError):
        # something else than a number, or a very large one
        return None
    column = np.frombuffer(packed, kind).astype(np.float64, copy=False)
    return column if np.isfinite(column).all() else None


def _float(value: Decoded) -> float:
    """Convert a number; NaN of anything else."""
    if not isinstance(value, int | float):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _number_first(values: Iterable[Decoded]) -> Decoded:
    """Choose the first number, else the first value that is not None."""
    given = [value for value in values if value is not None]
    for value in given:
        if isinstance(value, int | float):
            return value
    return given[0] if given else None
