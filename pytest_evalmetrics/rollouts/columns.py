"""Rows of JSON, CSV and Parquet to columns of numbers and labels, by the role of each place."""

from __future__ import annotations

import json
import math
import struct
from typing import TYPE_CHECKING, Any
from zlib import adler32

import msgspec
import numpy as np

from pytest_evalmetrics.errors import DataError, did_you_mean
from pytest_evalmetrics.model.rollout_table import (
    TaskId,
    content_hash,
    join_versions,
    question_of,
)
from pytest_evalmetrics.rollouts.error_signs import ErrorSigns
from pytest_evalmetrics.rollouts.loader import Chunk, NotFinite, Request
from pytest_evalmetrics.rollouts.row_schema import FLOAT, KINDS, NUMBER, Node, Record
from pytest_evalmetrics.rollouts.source import (
    Source,
    SourceRow,
    score_paths,
    shown_json,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray


_MAX_DOTS = 9  # in a path; each one doubles its possible meanings
_MAX_SAMPLE = 2**63
_TEXT: set[type] = {str, type(None)}
_QUESTION = (
    "responses_create_params.input",
)  # of NeMo Gym; the rest is how it is asked
_SAY_WHICH = "say which key holds it, under rollouts: `fields: {{{}: KEY}}`"
_NAME_A_NUMBER = (
    "write it as a number, or name what holds the number: `reward: NAME`, "
    "or `fields: {reward: PATH}` under rollouts"
)


class Columns:
    """The columns met so far: NeMo Gym's reading of a row, changed by what ``fields:`` says.

    A row's numbers are the numbers and booleans at its top, then those of
    ``response.usage`` and ``usage``. Where a thing may stand in several places, the first
    one that holds something counts; for a score, the first one that holds a number.
    """

    def __init__(self, request: Request, *, of_table: bool = False) -> None:
        self.root = Node()  # the structure of the rows so far
        self.root.open = True
        self._by_position = request.by_position
        self._fields = fields = request.fields
        self._mapped = {
            n: self._declare(path) for n, path in score_paths(fields).items()
        }
        self._task_path = fields.task or "_ng_task_index"
        self.task = self._declare(self._task_path)
        self.sample = self._declare(fields.sample or "_ng_rollout_index")
        self.agent = self._declare(fields.agent or "agent_ref.name")
        # a field with a role is not also a score under its own name
        self._taken = {*self.task, *self.sample, *self.agent}
        self._taken.update(*self._mapped.values())
        self._labels = {name: self._declare(name) for name in request.categories}
        question = () if of_table else _QUESTION
        self._contents = [
            self._declare(path, whole=True) for path in fields.content or question
        ]
        self._taken.update(*self._contents)
        self._usage_nodes = [
            self.root.field("response").field("usage"),
            self.root.field("usage"),
        ]
        for node in self._usage_nodes:
            node.open = True
        self._signs = ErrorSigns(self.root)
        self._needed = {*request.scores, *self._mapped}
        self._scores: dict[
            str, None
        ] = {}  # names, in the order of their first appearance
        self._usage: dict[str, None] = {}
        self._learnt = self._reported = 0  # rows, or columns of a table
        self._hashed: dict[
            tuple[str | None, TaskId], int
        ] = {}  # checksums of contents as written

    def _declare(self, path: str, *, whole: bool = False) -> list[Node]:
        """Declare a place to be read; a whole one is read as text unless its value is needed."""
        if path.count(".") > _MAX_DOTS:
            message = f"the path {path!r} has more than {_MAX_DOTS + 1} parts"
            raise DataError(message, hint="write the rows flatter")
        nodes = self.root.declare(path)
        for node in nodes:
            if whole and (node.fields or node.items):
                message = (
                    f"the content {path!r} holds fields that are read on their own"
                )
                hint = (
                    "name its parts under rollouts: `fields: {content: [PATH, PATH]}`"
                )
                raise DataError(message, hint=hint)
            node.whole = whole and not node.wanted
            node.wanted = True
        return nodes

    def _scores_at(self, node: Node) -> Iterator[tuple[str, bool]]:
        """List the scores of a place, by its values so far."""
        name = node.key
        for mapped, nodes in self._mapped.items():
            if node in nodes:
                yield mapped, False
        if name in self._mapped or name.startswith("_"):
            return
        if name not in self._needed and (
            node in self._taken or not node.kinds & NUMBER
        ):
            return
        if self.root.fields.get(name) is node:
            yield name, False
        elif any(usage.fields.get(name) is node for usage in self._usage_nodes):
            yield name, True

    def in_order(self, nodes: Iterable[Node]) -> list[Node]:
        """Sort the columns of a table: the scores that ``fields:`` maps come last."""
        mapped = [node for places in self._mapped.values() for node in places]
        return sorted(
            nodes, key=lambda node: mapped.index(node) if node in mapped else -1
        )

    def _places_of(self, score: str, *, usage: bool) -> list[Node]:
        """Get the places that may hold a score, or its namesake of the usage."""
        if score in self._mapped:
            return self._mapped[score]
        above = self._usage_nodes if usage else [self.root]
        return [node.fields[score] for node in above if score in node.fields]

    # -- refusing -------------------------------------------------------------------------

    def _problems(self, record: Record) -> Iterator[tuple[str, str]]:
        """Yield the problems of a row's values as messages and hints."""

        def first(nodes: Iterable[Node]) -> Any:
            return next((record[n] for n in nodes if record.get(n) is not None), None)

        task = None if self._by_position else first(self.task)
        sample, agent = first(self.sample), first(self.agent)
        is_sample = type(sample) is int and 0 <= sample < _MAX_SAMPLE
        if task is None and not self._by_position:
            keys = [
                node.key for node in record if self.root.fields.get(node.key) is node
            ]
            if any(node in record for node in self.task):
                what = f"{self._task_path!r} is null; the row's keys: {', '.join(sorted(keys))}"
            else:
                guess = did_you_mean(self._task_path, keys, what="the row's keys")
                what = f"{self._task_path!r} is not there; {guess}"
            yield f"this row has no task id: {what}", _SAY_WHICH.format("task")
        for field, what, value, fits, expected in (
            (
                "task",
                "task id",
                task,
                type(task) in (int, str),
                "a whole number or text",
            ),
            ("sample", "sample index", sample, is_sample, "a whole number from 0"),
            ("agent", "agent's name", agent, type(agent) is str, "text"),
        ):
            if value is not None and not fits:
                problem = f"the {what} is {shown_json(value)}; expected {expected}"
                yield problem, _SAY_WHICH.format(field)
        for name, nodes in self._labels.items():
            label = first(nodes)
            if isinstance(label, dict | list):
                wrong = f"{name!r} is {shown_json(label)}; expected text, a number or a boolean"
                yield wrong, f"name what holds a single value, such as {name}.KEY"
        for name in sorted(self._needed):
            places = self._places_of(name, usage=True) + self._places_of(
                name, usage=False
            )
            held = [record[node] for node in places if record.get(node) is not None]
            if held and not any(isinstance(value, int | float) for value in held):
                wrong = f"the score {name!r} is {shown_json(held[0])}"
                yield f"{wrong}; expected a number, true, false or null", _NAME_A_NUMBER

    # -- learning -------------------------------------------------------------------------

    def learn(
        self, value: dict[str, Any], row: SourceRow, source: Source
    ) -> tuple[Record, bool]:
        """Learn the kinds of a parsed row's values, and check it."""
        record: Record = {}
        self._learnt += 1
        new = self.root.learn(value, (self._learnt, row.place), record)
        if new:
            self.find_scores(record)
        for message, hint in self._problems(record):
            raise source.error(message, row, hint=hint)
        return record, new

    def learn_column(
        self, node: Node, values: Sequence[Any], places: NDArray[np.int64]
    ) -> None:
        """Learn the kinds of a table's column of numbers, texts and None."""
        self._learnt += 1
        for kind in set(map(type, values)):
            node.kinds |= KINDS[kind]
            if kind is str and node.not_number is None:
                first = next(
                    at for at, value in enumerate(values) if type(value) is str
                )
                node.not_number = self._learnt, int(places[first])
        self.find_scores([node])

    def check(self, record: Record, source: Source, place: int) -> None:
        """Refuse a table's row whose values are invalid."""
        for message, hint in self._problems(record):
            raise source.error_at(place, message, hint)

    def find_scores(self, nodes: Iterable[Node]) -> None:
        """Find the scores among places that hold another kind of value than before."""
        for node in nodes:
            for name, usage in self._scores_at(node):
                (self._usage if usage else self._scores).setdefault(name)
                node.wanted = True

    def chunk(self, values: Values) -> Chunk:
        """Make columns of some rows."""
        places = values.places
        bad: list[NotFinite] = []
        fractional: set[str] = set()
        columns: list[dict[str, NDArray[np.float64]]] = [{}, {}]
        for usage, names in enumerate((self._scores, self._usage)):
            for name in names:
                nodes = self._places_of(name, usage=bool(usage))
                column, given = values.numbers(nodes, needed=name in self._needed)
                for at in (
                    ()
                    if given is None
                    else np.flatnonzero(given & ~np.isfinite(column))
                ):
                    what = "NaN" if math.isnan(column[at]) else "infinite or too large"
                    bad.append(NotFinite(name, what, int(places[at])))
                    column[at] = math.nan
                columns[usage][name] = column
                if any(node.kinds & FLOAT for node in nodes):
                    fractional.add(name)
        task = values.first(self.task)
        agent = values.texts(self.agent)
        sample = values.first(self.sample)
        if not self._by_position:
            values.must_be({int, str}, task)
        values.must_be({int, type(None)}, sample)
        for index, number in enumerate(sample):
            if number is not None and not 0 <= number < _MAX_SAMPLE:
                values.check(index)
        chunk = Chunk(
            places=places,
            task=task,
            sample=sample,
            agent=agent,
            scores=columns[0],
            usage=columns[1],
            labels={
                name: values.texts(nodes)
                for name, nodes in self._labels.items()
                if any(node.kinds for node in nodes)
            },
            fractional=frozenset(fractional),
            not_finite=sorted(bad, key=lambda each: each.place),
            other_kinds=self._other_kinds(),
            keys=tuple(key for key, node in self.root.fields.items() if node.kinds),
            content={} if self._by_position else self._content(values, agent, task),
            dealt=bool(self._contents) and self._fields.content is None,
            positional=self._fields.task is None and int in set(map(type, task)),
        )
        return self._signs.void(chunk, sorted(self._needed), values.first)

    def _content(
        self, values: Values, agent: Sequence[str | None], task: Sequence[TaskId]
    ) -> dict[tuple[str | None, TaskId], str]:
        """Hash the content of each task: one row of it, and each that is written otherwise."""
        parts = [
            [values.at(node) for node in nodes if node.kinds]
            for nodes in self._contents
        ]
        columns = [
            (adler32(v) if type(v) is msgspec.Raw else hash(repr(v)) for v in column)
            for part in parts
            for column in part
        ]
        contents: dict[tuple[str | None, TaskId], str] = {}
        keys = zip(agent, task, strict=True)
        for row, (key, checksums) in enumerate(
            zip(keys, zip(*columns, strict=True), strict=False)
        ):
            checksum = hash(checksums)
            if self._hashed.get(key) == checksum:
                continue
            held = [_content_part(part, row) for part in parts]
            if any(value is not None for value in held):
                content = content_hash(question_of(held[0]) if len(held) == 1 else held)
                self._hashed[key] = checksum
                contents[key] = join_versions(contents.get(key, content), content)
        return contents

    def _other_kinds(self) -> dict[tuple[str, bool], int]:
        """Report where text and the like was first met, if rows were learnt from since."""
        if self._reported == self._learnt:
            return {}
        self._reported = self._learnt
        names = [(name, False) for name in {*self.root.fields, *self._mapped}]
        names += [(name, True) for usage in self._usage_nodes for name in usage.fields]
        first: dict[tuple[str, bool], int] = {}
        for name, of_usage in names:
            nodes = self._places_of(name, usage=of_usage)
            met = [node.not_number for node in nodes if node.not_number is not None]
            if met:
                first[name, of_usage] = min(met)[1]
        return first


class Values:
    """The values of some rows by place."""

    def __init__(
        self,
        places: NDArray[np.int64],
        decoded: Mapping[Node, Sequence[Any]],
        check: Callable[[int], object],
        *,
        parsed: Mapping[int, Record] | None = None,
        numbers: Mapping[Node, Sequence[Any]] | None = None,
    ) -> None:
        self.places = places
        self.check = check  # refuses a row with invalid values, with the reason
        self._decoded = decoded
        self._parsed = parsed  # rows that were parsed instead, by their index
        self._numbers = numbers  # in place of the same values as text

    def at(self, node: Node) -> Sequence[Any]:
        """Return the values of a place in all rows."""
        # nothing if the place was met only after these rows had been decoded
        values = self._decoded.get(node) or [None] * len(self.places)
        if self._parsed:
            values = list(values)
            for index, record in self._parsed.items():
                values[index] = record.get(node)
        return values

    def first(self, nodes: Sequence[Node]) -> Sequence[Any]:
        """Take the first value of several places that is not null, row by row."""
        columns = [self.at(node) for node in nodes if node.kinds]
        values = columns[0] if columns else [None] * len(self.places)
        for column in columns[1:]:
            values = [
                b if a is None else a for a, b in zip(values, column, strict=True)
            ]
        return values

    def must_be(self, kinds: set[type], values: Sequence[Any]) -> None:
        """Check the rows whose values are of other kinds."""
        if not kinds.issuperset(map(type, values)):
            for index, value in enumerate(values):
                if type(value) not in kinds:
                    self.check(index)

    def texts(self, nodes: Sequence[Node]) -> Sequence[str | None]:
        """Return the first values as texts or None."""
        values = self.first(nodes)
        if _TEXT.issuperset(map(type, values)):
            return values
        self.must_be({*_TEXT, int, float, bool}, values)
        return [v if type(v) in _TEXT else json.dumps(v) for v in values]

    def numbers(
        self, nodes: Sequence[Node], *, needed: bool
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None]:
        """Return values as numbers or NaN, and which of them are given."""
        get = self.at if self._numbers is None else self._numbers.get
        columns = [
            get(node) or [None] * len(self.places) for node in nodes if node.kinds
        ]
        values = columns[0]
        if len(columns) > 1:
            values = list(map(_number_first, zip(*columns, strict=True)))
        code, kind = (
            ("d", np.float64)
            if any(n.kinds & FLOAT for n in nodes)
            else ("q", np.int64)
        )
        try:  # several times faster than numpy, which checks each object's type
            packed = struct.pack(f"{len(values)}{code}", *values)
            column = np.frombuffer(packed, kind).astype(np.float64, copy=False)
            if np.isfinite(column).all():
                return column, None
        except (
            struct.error,
            OverflowError,
        ):  # something else than a number, or a very large one
            pass
        given = np.array([isinstance(value, int | float) for value in values])
        for index in np.flatnonzero(~given).tolist() if needed else ():
            if values[index] is not None:
                self.check(index)
        return np.array(list(map(_float, values))), given


def _float(value: Any) -> float:
    try:
        return float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:
        return math.inf


def _number_first(values: tuple[Any, ...]) -> Any:
    """Choose the first number, else the first value that is not None."""
    given = [v for v in values if v is not None]
    return next(
        (v for v in given if isinstance(v, int | float)), given[0] if given else None
    )


def _content_part(columns: Sequence[Sequence[Any]], row: int) -> Any:
    """Decode the first value of a row among several places."""
    for column in columns:
        value = column[row]
        if isinstance(value, msgspec.Raw):
            try:
                value = msgspec.json.decode(value)
            except (
                msgspec.DecodeError,
                RecursionError,
            ):  # the half of a surrogate pair
                value = bytes(value).decode(errors="replace")
        if value is not None:
            return value
    return None
