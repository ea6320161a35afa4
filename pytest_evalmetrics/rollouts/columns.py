"""Rows made into columns of numbers and labels."""

from __future__ import annotations

import json
import math
import struct
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from pytest_evalmetrics.data.content import content_hash
from pytest_evalmetrics.masks import all_of
from pytest_evalmetrics.rollouts.not_finite import restored
from pytest_evalmetrics.rollouts.roles import Roles
from pytest_evalmetrics.rollouts.schema import FLOAT, NOT_NUMBER
from pytest_evalmetrics.rollouts.seam import Chunk, NotFinite
from pytest_evalmetrics.rollouts.values import asked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import TaskId
    from pytest_evalmetrics.rollouts.decode import Decoded
    from pytest_evalmetrics.rollouts.schema import Node, Record
    from pytest_evalmetrics.rollouts.seam import Request
    from pytest_evalmetrics.rollouts.source import Row, Source

__all__ = ["Columns"]

_MAX_SAMPLE = 2**63


class Columns:
    """Knows the columns met so far, and fills them.

    Parameters
    ----------
    request
        What the benchmark wants.
    """

    def __init__(self, request: Request) -> None:
        self._roles = Roles(request)
        self._by_position = request.by_position
        self._scores: dict[str, None] = {}  # names, in the order of their first appearance
        self._usage: dict[str, None] = {}
        self._learnt = self._told = 0  # rows
        self._identified: set[tuple[str | None, TaskId]] = set()

    @property
    def root(self) -> Node:
        """What rows look like, as far as it is known."""
        return self._roles.root

    def learn(self, value: dict[str, Any], row: Row, source: Source) -> tuple[Record, bool]:
        """Take in a row as ``json.loads`` gives it, and check it.

        Returns
        -------
        record, new
            Its values by place, and whether there was anything new in it.

        Raises
        ------
        DataError
            If it lacks a task's id, or holds something else where a number has to be.
        """
        record: Record = {}
        self._learnt += 1
        new = self.root.learn(value, (self._learnt, row.place), record)
        for node in record if new else ():
            for name, usage in self._roles.scores_at(node):
                (self._usage if usage else self._scores).setdefault(name)
                node.wanted = True
        self._roles.check(record, row, source)
        return record, new

    def chunk(
        self,
        decoded: Decoded,
        places: NDArray[np.int64],
        odd: Mapping[int, Record],
        check: Callable[[int], object],
        *,
        stood_in: bool = False,
    ) -> Chunk:
        """Make columns of decoded rows.

        Parameters
        ----------
        decoded
            The rows.
        places
            Where each row stands in its file, shape (rows,).
        odd
            The rows that could not be decoded, by index, as `learn` gives them.
        check
            Looks closely at the row of an index, and raises if there is cause.
        stood_in
            Something stands in for NaN and infinities, see `not_finite`.
        """
        found = decoded.values()
        if stood_in:
            found = {n: v if n.whole else restored(v) for n, v in found.items()}
        values = _Values(len(places), found, odd, check, finite=not (odd or stood_in))
        bad: list[NotFinite] = []
        fractional: set[str] = set()
        columns: list[dict[str, NDArray[np.float64]]] = [{}, {}]
        for usage, names in enumerate((self._scores, self._usage)):
            for name in tuple(names):
                nodes = self._roles.places_of(name, usage=bool(usage))
                needed = name in self._roles.needed
                column, not_finite = values.numbers(nodes, needed=needed)
                columns[usage][name] = column
                bad += [NotFinite(name, what, int(places[i])) for i, what in not_finite]
                if any(node.kinds & FLOAT for node in nodes):
                    fractional.add(name)
        task = values.of(self._roles.task, None if self._by_position else {int, str})
        agent = values.of(self._roles.agent, {str, type(None)})
        return Chunk(
            places=places,
            task=task,
            sample=values.samples(self._roles.sample),
            agent=agent,
            scores=columns[0],
            usage=columns[1],
            labels={
                name: values.labels(nodes)
                for name, nodes in self._roles.labels.items()
                if any(node.kinds for node in nodes)
            },
            fractional=frozenset(fractional),
            not_finite=sorted(bad, key=lambda each: each.place),
            other_kinds=self._other_kinds(),
            keys=tuple(key for key, node in self.root.fields.items() if node.kinds),
            content={} if self._by_position else self._content(values, agent, task),
            positional=not self._roles.names_tasks and all(type(each) is int for each in task),
        )

    def _content(
        self, values: _Values, agent: Sequence[str | None], task: Sequence[TaskId]
    ) -> dict[tuple[str | None, TaskId], str]:
        """Hash the content of the tasks that were not met before: one row of each."""
        places = [[node for node in nodes if node.kinds] for nodes in self._roles.content]
        if not any(places):
            return {}
        new: dict[tuple[str | None, TaskId], int] = {}
        for row, key in enumerate(zip(agent, task, strict=True)):
            if key not in self._identified:
                new.setdefault(key, row)
        self._identified.update(new)
        parts = [[values.whole(node) for node in nodes] for nodes in places] if new else []
        found = {}
        for key, row in new.items():
            held = [next((v for n in part if (v := n(row)) is not None), None) for part in parts]
            if any(value is not None for value in held):
                found[key] = content_hash(asked(held[0]) if len(held) == 1 else held)
        return found

    def _other_kinds(self) -> dict[tuple[str, bool], int]:
        """Tell where text and the like was first met; what was told once need not be again."""
        if self._told == self._learnt:
            return {}
        self._told = self._learnt
        found: dict[tuple[str, bool], int] = {}
        for name, usage in self._roles.names():
            nodes = self._roles.places_of(name, usage=usage)
            met = [node.not_number for node in nodes if node.not_number is not None]
            if met:
                found[name, usage] = min(met)[1]
        return found


class _Values:
    """The values of some rows by place."""

    def __init__(
        self,
        rows: int,
        found: dict[Node, Sequence[Any]],
        odd: Mapping[int, Record],
        check: Callable[[int], object],
        *,
        finite: bool,
    ) -> None:
        self._finite = finite
        self._rows = rows
        self._found = found
        self._odd = odd
        self._check = check

    def _at(self, node: Node) -> Sequence[Any]:
        values = self._found.get(node)
        if values is None:  # met only after these rows had been decoded
            values = [None] * self._rows
        if self._odd:
            values = list(values)
            for index, record in self._odd.items():
                values[index] = record.get(node)
        return values

    def of(self, nodes: Sequence[Node], kinds: set[type] | None = None) -> Sequence[Any]:
        """Take the first value of several places that is not null, row by row.

        Where `kinds` are given and a value is of another one, its row is checked.
        """
        values: Sequence[Any] | None = None
        for node in nodes:
            if node.kinds:
                more = self._at(node)
                if values is not None:
                    more = [b if a is None else a for a, b in zip(values, more, strict=True)]
                values = more
        if values is None:
            values = [None] * self._rows
        if kinds is not None and not kinds.issuperset(map(type, values)):
            for index, value in enumerate(values):
                if type(value) not in kinds:
                    self._check(index)
        return values

    def whole(self, node: Node) -> Callable[[int], Any]:
        """Give a function that decodes what stands at a place in a row."""
        values = self._at(node)

        def decoded(row: int) -> Any:
            value = values[row]
            if not isinstance(value, msgspec.Raw):
                return value
            try:
                return msgspec.json.decode(value)
            except (msgspec.DecodeError, RecursionError):  # the half of a surrogate pair
                return bytes(value).decode(errors="replace")

        return decoded

    def samples(self, nodes: Sequence[Node]) -> Sequence[int | None]:
        """Take whole numbers from 0."""
        values = self.of(nodes, {int, type(None)})
        try:
            sound = min(values) >= 0 and max(values) < _MAX_SAMPLE
        except TypeError:  # some are None
            sound = all(v is None or 0 <= v < _MAX_SAMPLE for v in values)
        for index in () if sound else range(self._rows):
            self._check(index)
        return values

    def labels(self, nodes: Sequence[Node]) -> list[str | None]:
        """Take values as text, what is no text in JSON's spelling."""
        kinds = {str, int, float, bool, type(None)}
        return [v if v is None or type(v) is str else json.dumps(v) for v in self.of(nodes, kinds)]

    def numbers(
        self, nodes: Sequence[Node], *, needed: bool
    ) -> tuple[NDArray[np.float64], list[tuple[int, str]]]:
        """Take values as numbers, NaN where there is none.

        Returns
        -------
        column, not_finite
            The numbers, shape (rows,); index and kind of those that are no finite ones.
        """
        columns = [self._at(node) for node in nodes if node.kinds]
        values = (
            columns[0]
            if len(columns) == 1
            else list(map(_number_first, zip(*columns, strict=True)))
        )
        if not any(node.kinds & NOT_NUMBER for node in nodes):
            whole = not any(node.kinds & FLOAT for node in nodes)
            try:
                column = _packed(values, whole=whole)
            except OverflowError:  # a whole number that no float64 can hold
                pass
            else:
                if self._finite or all_of(np.isfinite(column)):
                    return column, []
        column = np.full(self._rows, math.nan)
        not_finite: list[tuple[int, str]] = []
        for index, value in enumerate(values):
            if isinstance(value, int | float):
                number = _float(value)
                if math.isfinite(number):
                    column[index] = number
                else:
                    what = "NaN" if math.isnan(number) else "infinite or too large"
                    not_finite.append((index, what))
            elif value is not None and needed:
                self._check(index)
        return column, not_finite


def _number_first(values: tuple[Any, ...]) -> Any:
    """Choose a number, or else what is not null: a list of tokens does not hide their number."""
    given = [v for v in values if v is not None]
    return next((v for v in given if isinstance(v, int | float)), given[0] if given else None)


def _packed(values: Sequence[Any], *, whole: bool) -> NDArray[np.float64]:
    """Make an array of numbers and None."""
    try:
        # several times as fast as numpy, which looks at each object's type
        if whole:
            packed = struct.pack(f"{len(values)}q", *values)
            return np.frombuffer(packed, np.int64).astype(np.float64)
        return np.frombuffer(struct.pack(f"{len(values)}d", *values))
    except struct.error:  # some value is None, or a very large number
        return np.fromiter(values, np.float64, len(values))


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf
