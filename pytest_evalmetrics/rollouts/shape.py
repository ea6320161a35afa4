"""Rows out of files that are not one row per line: `rows`, `keyed`, `lists`, `where` ... `map`.

A file is read whole; each step turns rows into rows, and the last ones are read as JSON Lines are.
"""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.errors import ShapeError, did_you_mean
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.rollouts.columns import Columns, Values
from pytest_evalmetrics.rollouts.derived_scores import derived_scores, value_text
from pytest_evalmetrics.rollouts.file_search import find_files
from pytest_evalmetrics.rollouts.formats import recognise
from pytest_evalmetrics.rollouts.json_files import (
    JsonArray,
    JsonLines,
    parse,
    read_document,
)
from pytest_evalmetrics.rollouts.json_values import lookup
from pytest_evalmetrics.rollouts.loader import Chunk, Request, RowLoader
from pytest_evalmetrics.rollouts.pages import Pages
from pytest_evalmetrics.rollouts.source import (
    Source,
    SourceRow,
    open_source,
    short,
    task_paths,
)
from pytest_evalmetrics.rollouts.stated_totals import failures_stated
from pytest_evalmetrics.spec.sources import (
    FieldMap,
    JoinSpec,
    PivotSpec,
    RolloutsSpec,
    ShapeSpec,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

_BATCH: Final = 512  # rows of a chunk
_LISTED: Final = 8  # values in a message
_TABLES: Final = ("csv", "parquet", "arrow")
_PLAIN: Final = Request(FieldMap())
_is_number = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?").fullmatch
_CELLS: Final[dict[str, Any]] = {"": None, "true": True, "false": False}
_VERDICT: Final = (bool, int, float, type(None))  # of a list that is a task's attempts
_OTLP: Final = {"resourceSpans", "resourceLogs"}
_PARENT: Final = "_parent"  # the field for the values that enclose a row
_KEY: Final = "_key"  # the field for the key of an object's value
_LINE: Final = "_line"  # the field for the first line of a row that was put together


# -- files -> documents --------------------------------------------------------------------


class PlacedRow(msgspec.Struct, frozen=True):
    """A row, its place in its file, and the same for messages."""

    place: int
    value: dict[str, Any]
    at: str
    file: str

    @classmethod
    def of(cls, source: Source, place: int, value: dict[str, Any]) -> PlacedRow:
        """Make a row of a file."""
        return cls(place=place, value=value, at=source.at(place), file=source.shown)


def documents(source: Source) -> Iterator[PlacedRow | list[Any]]:
    """Yield the content of a file: rows or lines, or one document that may be a list."""
    kind = recognise(source)
    if kind.name in _TABLES:
        loader = cast("RowLoader", kind.load()(_PLAIN))
        for place, cells in loader.rows(source):
            if kind.name == "csv":
                cells = {name: _cell(cell) for name, cell in cells.items()}  # noqa: PLW2901
            yield PlacedRow.of(source, place, cells)
        return
    source.must_be_text()
    if source.is_objects or (not source.is_array and _is_lines(source)):
        lines: JsonLines
        lines = JsonArray(_PLAIN) if source.is_objects else JsonLines(_PLAIN)
        for row in lines.texts(source):
            yield PlacedRow.of(source, row.place, parse(row, source))
        return
    document = read_document(source)
    yield (
        PlacedRow.of(source, 1, document) if isinstance(document, dict) else document
    )


def _is_lines(source: Source) -> bool:
    """Check for JSON Lines: the first line is a value of its own, and not the whole file."""
    with source.open() as stream:
        lines = (line for line in stream if line.strip())
        try:
            json.loads(next(lines, b""))
        except ValueError:
            return False
        return next(lines, None) is not None


def _cell(cell: str) -> Any:
    """Parse a cell of CSV; ids such as 007 stay text."""
    text = cell.strip()
    match = _is_number(text)
    if match is None:
        return _CELLS.get(text.lower(), cell)
    return float(text) if match[2] or match[3] else int(text)


def _viewed(source: Source, spec: ShapeSpec) -> Source:
    """Count places by row, or by line if rows are lines of the file."""
    of_rows = (
        bool(spec.rows or spec.keyed or spec.lists or spec.pivot) or source.is_array
    )
    is_text = source.head[:1] != b"{"
    by_line = not of_rows and (is_text or _is_lines(source))
    return structs.replace(source, counts="line" if by_line else "row")


# -- the loader ------------------------------------------------------------------------------


class Shape:
    """The loader of one benchmark's shaped files."""

    def __init__(self, spec: RolloutsSpec, base: Path, request: Request) -> None:
        self._spec = spec
        self._task = task_paths(request.fields)
        self._derived = derived_scores(spec)
        self._pages = Pages()
        self._filters = _filters(spec, task=self._task)
        self._columns = Columns(request)
        self._partners = _Partners(spec.join, base) if spec.join is not None else None
        self._met: set[str] = set()  # the derived scores of which a row has a value

    def open(self, source: Source) -> Source:
        """Choose how the file's places are counted."""
        spec = self._spec
        if spec.format not in (None, "json", "jsonl", *_TABLES):
            message = f"the rows of format: {spec.format} have a shape of their own; rows:, map: "
            message += "and the like are for JSON, CSV and Parquet"
            raise ShapeError(message, key=("format",))
        return _viewed(source, spec)

    def read(self, source: Source) -> Iterator[Chunk]:
        """Read one file."""
        notes: list[str] = []
        rows = self._rows(source, notes)
        while batch := list(islice(rows, _BATCH)):
            parsed = {}
            for index, placed in enumerate(batch):
                line = placed.place if source.unit == "line" else 0
                row = SourceRow(placed.place, line, memoryview(b""))
                parsed[index], _ = self._columns.learn(placed.value, row, source)
            places = np.array([row.place for row in batch], np.int64)
            chunk = self._columns.chunk(
                Values(places, {}, lambda _: None, parsed=parsed), source
            )
            yield structs.replace(chunk, notes=tuple(notes), ruler=self._ruler())
            notes.clear()

    def rows(self, source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the rows, see `RowLoader`."""
        return ((row.place, row.value) for row in self._rows(source, []))

    def finish(self) -> Sequence[str]:
        """Check all files together, and return notes."""
        for score in self._derived:
            if score.name not in self._met:
                paths = ", ".join(map(repr, score.paths))
                part = "map" if score.points else "fields"
                raise ShapeError(
                    f"{part}: {score.name}: no row has a value at {paths}",
                    key=(part, score.name),
                )
        self._pages.must_be_complete()
        notes = [note for row_filter in self._filters for note in row_filter.finish()]
        return notes + ([] if self._partners is None else self._partners.unused())

    @property
    def may_be_empty(self) -> bool:
        """Whether a file may hold no row that is wanted."""
        return bool(self._spec.where)

    def _rows(self, source: Source, notes: list[str]) -> Iterator[PlacedRow]:
        finder = _Rows(source, self._spec, self._filters, self._pages)
        rows = finder.find(documents(source))
        if self._partners is not None:
            rows = self._partners.joined(rows, notes)
        some = rows[:_BATCH]
        for path in self._task:
            if some and all(lookup(row.value, path) is None for row in some):
                raise _no_path(path, rows, source.shown, "fields", "task")
        for row in rows:
            for score in self._derived:
                values = [lookup(row.value, path) for path in score.paths]
                if any(value is not None for value in values) or "null" in score.points:
                    self._met.add(score.name)
                row.value[score.name] = score.of(row.value, row.at)
            yield row

    def _ruler(self) -> tuple[tuple[str, str, str], ...]:
        """List the numbers behind texts and lists, which are part of what measures."""
        ruler = [entry for score in self._derived for entry in score.ruler]
        if self._spec.lists is not None:
            values = json.dumps(self._spec.lists, sort_keys=True)
            ruler += [("lists", "values", values), ("lists", "scores", "reward")]
        return tuple(ruler)


# -- which rows --------------------------------------------------------------------------


class _Filter:
    """One path of ``where:``, and what it did to the rows of all files."""

    def __init__(
        self,
        path: str,
        accepted: frozenset[str],
        key: tuple[str, ...],
        task: Sequence[str] = (),
    ) -> None:
        self._path = path
        self._task = task  # the paths of a task's id
        self._kept_tasks: set[str] = set()
        self._other_tasks: dict[str, None] = {}  # of the rows that are left out
        self._accepted = accepted
        self._key = key
        self._first: list[PlacedRow] = []  # some rows, for messages
        self._met: dict[str, None] = {}  # some values
        self._files: dict[str, None] = {}
        self._count = 0
        self._kept = 0

    def kept(self, rows: list[PlacedRow]) -> list[PlacedRow]:
        """Leave out the rows that have another value."""
        kept = []
        for row in rows:
            text = value_text(lookup(row.value, self._path))
            if len(self._met) < _LISTED:
                self._met.setdefault(text)
            ids = [value_text(lookup(row.value, path)) for path in self._task]
            task = " / ".join(ids)
            if text in self._accepted:
                kept.append(row)
                self._kept_tasks.add(task)
            else:
                self._other_tasks.setdefault(task)
        for row in rows:
            stated = failures_stated(row.value)
            if stated is not None and stated != len(kept):
                message = (
                    f"this line counts {stated} failures, and {len(kept)} are listed"
                )
                hint = "was the evaluation or the copy interrupted? evaluate again"
                raise _error(row.at, (*self._key, self._path), message, hint)
        self._first += rows[: _LISTED - len(self._first)]
        self._files |= dict.fromkeys(row.file for row in rows[:1])
        self._count += len(rows)
        self._kept += len(kept)
        return kept

    def finish(self) -> list[str]:
        """Refuse a filter that no row passes, and note how many do not."""
        if self._kept == self._count:
            return []
        file = next(iter(self._files))
        if set(self._met) == {"null"} and not self._kept:
            raise _no_path(self._path, self._first, file, *self._key)
        wanted = " or ".join(sorted(self._accepted))
        if not self._kept:
            met = ", ".join(map(short, self._met))
            message = f"no row has {wanted} at {self._path!r}; there is {met}"
            raise _error(file, (*self._key, self._path), message)
        note = f"leaves out {self._count - self._kept} of {many(self._count, 'row')}"
        where = f"{file}: " if len(self._files) == 1 else ""
        note = f"{where}where: {note}, whose {self._path} is not {wanted}"
        lost = [task for task in self._other_tasks if task not in self._kept_tasks]
        if self._task and lost:
            have = "has" if len(lost) == 1 else "have"
            note += f"; {many(len(lost), 'task')} {have} no row left, such as {short(lost[0])}"
        return [note]


def _filters(spec: ShapeSpec, *above: str, task: Sequence[str] = ()) -> list[_Filter]:
    return [
        _Filter(path, frozenset(map(value_text, accepted)), (*above, "where"), task)
        for path, accepted in spec.where.items()
    ]


def find_rows(
    source: Source, spec: ShapeSpec, read: Iterable[PlacedRow | list[Any]]
) -> list[PlacedRow]:
    """Find the rows in some documents of a file, see `documents`."""
    return _Rows(source, spec, _filters(spec), Pages()).find(read)


# -- documents -> rows ---------------------------------------------------------------------


class _Rows:
    """The rows of one file: found, then filtered, then put together."""

    def __init__(
        self,
        source: Source,
        spec: ShapeSpec,
        filters: Sequence[_Filter],
        pages: Pages,
        *key: str,
    ) -> None:
        self._filters = filters
        self._pages = pages
        self._source = source
        self._spec = spec
        self._key = key  # of the benchmark file, above those of the shape

    def _error(self, message: str, *key: str, hint: str | None = None) -> ShapeError:
        return _error(self._source.shown, (*self._key, *key), message, hint)

    def find(self, read: Iterable[PlacedRow | list[Any]]) -> list[PlacedRow]:
        """Find the rows in the documents of the file."""
        spec = self._spec
        rows: list[PlacedRow] = []
        for document in read:
            if isinstance(document, PlacedRow) and not (
                spec.rows or spec.keyed or spec.lists
            ):
                rows.append(document)
                continue
            value = document.value if isinstance(document, PlacedRow) else document
            self._pages.add(value, self._source.shown)
            if isinstance(value, dict) and not _OTLP.isdisjoint(value):
                value = _attributes(value)
            for inner, parent in self._inner(value, spec.rows or "", {}):
                for row in self._listed(inner):
                    around = {_PARENT: parent} if parent else {}
                    place = len(rows) + 1
                    rows.append(PlacedRow.of(self._source, place, {**around, **row}))
        for row_filter in self._filters:
            rows = row_filter.kept(rows)
        return rows if spec.pivot is None else self._pivoted(rows, spec.pivot)

    def _inner(
        self, value: Any, path: str, parent: dict[str, Any]
    ) -> Iterator[tuple[Any, dict[str, Any]]]:
        """Follow the path of `rows`; yield each value with the object that encloses it."""
        keyed = path == "*" and self._spec.keyed is not None  # whose keys are ids
        if not path:
            yield value, parent
        elif (path == "*" or path.startswith("*.")) and isinstance(value, dict | list):
            for name, each in (
                value.items() if isinstance(value, dict) else enumerate(value)
            ):
                inner, around = each, parent
                if isinstance(value, dict) and isinstance(each, dict) and not keyed:
                    inner = {_KEY: name, **each}
                elif isinstance(value, dict):
                    around = {**parent, _KEY: name}
                yield from self._inner(inner, path[2:], around)
        elif isinstance(value, dict):
            ends = [len(path), *(i for i, sign in enumerate(path) if sign == ".")]
            end = next(
                (end for end in sorted(ends, reverse=True) if path[:end] in value), None
            )
            if end is None:
                guess = did_you_mean(path, value, what="there is")
                raise self._error(f"there is no {path!r} here; {guess}", "rows")
            around = {name: each for name, each in value.items() if name != path[:end]}
            parent = {**_scalars(around), **({_PARENT: parent} if parent else {})}
            inner, rest = value[path[:end]], path[end + 1 :]
            table = inner if rest else self._table(inner, value.get("columns"))
            yield from self._inner(table, rest, parent)
        else:
            what = "a list: write * for each value of it"
            what = what if isinstance(value, list) else short(value_text(value))
            raise self._error(f"there is no {path!r} in {what}", "rows")

    def _table(self, rows: Any, columns: Any) -> Any:
        """Turn the lists of a table's cells into objects, by the names of its columns."""
        lists = (
            isinstance(rows, list)
            and rows
            and all(isinstance(row, list) for row in rows)
        )
        if not lists or not isinstance(columns, list):
            return rows
        for number, row in enumerate(rows, 1):
            if len(row) != len(columns):
                cells, width = many(len(row), "cell"), many(len(columns), "column")
                raise self._error(
                    f"row {number} has {cells}, and the table {width}", "rows"
                )
        names = list(map(value_text, columns))
        if len(set(names)) < len(names):
            raise self._error("two columns of the table have one name", "rows")
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _listed(self, value: Any) -> Iterator[dict[str, Any]]:
        """Take the rows out of a list, of an object with ids as keys, or of lists of ids."""
        spec = self._spec
        if spec.lists is not None:
            yield from self._of_lists(value, spec.lists)
        elif spec.keyed is not None:
            yield from self._of_keys(value, spec.keyed)
        else:
            listed = value if isinstance(value, list) else [value]
            if not listed and "*" in (spec.rows or ""):
                listed = [{}]  # the enclosing object is a task all the same
            for number, each in enumerate(listed, 1):
                if isinstance(each, _VERDICT):
                    yield {"value": each}
                    continue
                if not isinstance(each, dict):
                    message = (
                        f"row {number} is {short(value_text(each))}; expected an object"
                    )
                    hint = (
                        "lists of ids are read by lists:, numbers behind ids by keyed:"
                    )
                    raise self._error(message, "rows", hint=hint)
                yield each

    def _of_keys(self, value: Any, field: str) -> Iterator[dict[str, Any]]:
        if not isinstance(value, dict):
            what = "a list" if isinstance(value, list) else short(value_text(value))
            raise self._error(
                f"is for an object with ids as its keys; found {what}", "keyed"
            )
        for name, under in value.items():
            for each in (under or [{}]) if isinstance(under, list) else [under]:
                row = dict(each) if isinstance(each, dict) else {"value": each}
                if value_text(row.setdefault(field, name)) != name:
                    own = (
                        f"a field {field!r} of its own, {short(value_text(row[field]))}"
                    )
                    message = f"what is under {short(name)} has {own}"
                    raise self._error(
                        message, "keyed", hint="choose another name for the keys"
                    )
                yield row

    def _of_lists(
        self, value: Any, lists: Mapping[str, float | None]
    ) -> Iterator[dict[str, Any]]:
        if not isinstance(value, dict):
            raise self._error(
                f"is for an object; found {short(value_text(value))}", "lists"
            )
        ids = {
            name: each
            for name, each in value.items()
            if isinstance(each, list) and all(type(item) in (int, str) for item in each)
        }
        homes: dict[Any, str] = {}
        for name, reward in lists.items():
            if name not in ids:
                guess = did_you_mean(name, ids, what="there are")
                raise self._error(
                    f"no list of ids is named {name!r}; {guess}", "lists", name
                )
            for item in ids[name]:
                if item in homes:
                    also = f"and in {name}" if homes[item] != name else "twice"
                    raise self._error(
                        f"{item!r} is in {homes[item]} {also}", "lists", name
                    )
                homes[item] = name
                yield {"id": item, "reward": reward, "list": name}
        for name, items in ids.items():
            others = [item for item in items if item not in homes]
            if others and (name.endswith("_ids") or len(others) < len(items)):
                message = (
                    f"{name} has {many(len(others), 'id')} of no list that is named"
                )
                hint = f"name their list, or say what they are worth: lists: {{{name}: null}}"
                raise self._error(
                    f"{message}, such as {others[0]!r}", "lists", hint=hint
                )

    def _pivoted(self, rows: list[PlacedRow], pivot: PivotSpec) -> list[PlacedRow]:
        """Put the lines of each group together: a field for each name."""
        key = (*self._key, "pivot")
        groups: dict[tuple[str, ...], PlacedRow] = {}
        places: dict[tuple[tuple[str, ...], str], PlacedRow] = {}
        for row in rows:
            by = {path: _single(row, path, *key, "by") for path in pivot.by}
            group = tuple(map(value_text, by.values()))
            merged = groups.setdefault(
                group, structs.replace(row, value={**by, _LINE: row.value})
            )
            if row.value.keys() <= {_PARENT}:  # a list without lines
                continue
            name = value_text(_single(row, pivot.name, *key, "name"))
            first = places.setdefault((group, name), row)
            if first is not row:
                group_by = ", ".join(pivot.by)
                message = f"{short(name)} was there before for the same {group_by}, at {first.at}"
                hint = "add to by: what tells them apart, or leave one out with where:"
                raise _error(row.at, key, message, hint)
            if name in by:
                raise _error(row.at, key, f"{short(name)} is also a field of by:")
            merged.value[name] = lookup(row.value, pivot.value)
        if rows and all(lookup(row.value, pivot.value) is None for row in rows):
            raise _no_path(pivot.value, rows, self._source.shown, *key, "value")
        return list(groups.values())


def _attributes(value: Any) -> Any:
    """Make objects of OTLP's attributes, which are lists of {key:, value: {intValue: "1"}}."""
    if isinstance(value, list):
        pairs = [
            isinstance(each, dict) and each.keys() == {"key", "value"} for each in value
        ]
        if value and all(pairs):
            return {each["key"]: _attribute(each["value"]) for each in value}
        return [_attributes(each) for each in value]
    if isinstance(value, dict):
        return {name: _attributes(inner) for name, inner in value.items()}
    return value


def _attribute(value: Any) -> Any:
    if not isinstance(value, dict) or len(value) != 1:
        return value
    ((kind, inner),) = value.items()
    if kind == "intValue" and isinstance(inner, str) and inner.lstrip("-").isdecimal():
        return int(inner)
    if kind in ("arrayValue", "kvlistValue") and isinstance(inner, dict):
        inner = _attributes(inner.get("values", []))
        return (
            [_attribute(each) for each in inner] if isinstance(inner, list) else inner
        )
    return inner


def _scalars(value: Mapping[str, Any]) -> dict[str, Any]:
    """Copy an object without its lists, at any depth."""
    return {
        name: _scalars(inner) if isinstance(inner, dict) else inner
        for name, inner in value.items()
        if not isinstance(inner, list)
    }


# -- two files -----------------------------------------------------------------------------


class _Partners:
    """The other halves of rows, by what they have in common."""

    def __init__(self, spec: JoinSpec, base: Path) -> None:
        self._spec = spec
        self._base = base
        self._used: set[tuple[str, ...]] = set()
        self._rows: dict[tuple[str, ...], PlacedRow] | None = None
        self._pages = Pages()
        self._filters = _filters(spec, "join")

    def _read(self) -> dict[tuple[str, ...], PlacedRow]:
        rows: dict[tuple[str, ...], PlacedRow] = {}
        for file in find_files(self._spec.path, self._base):
            source = _viewed(open_source(file), self._spec)
            finder = _Rows(source, self._spec, self._filters, self._pages, "join")
            for row in finder.find(documents(source)):
                first = rows.setdefault(self._key(row), row)
                if first is not row:
                    message = f"the same {', '.join(self._spec.on)} as {first.at}"
                    hint = "add to on: what tells them apart"
                    raise _error(row.at, ("join", "on"), message, hint)
            source.must_be_unchanged()
        return rows

    def _key(self, row: PlacedRow) -> tuple[str, ...]:
        return tuple(
            value_text(_single(row, path, "join", "on")) for path in self._spec.on
        )

    def joined(self, rows: list[PlacedRow], notes: list[str]) -> list[PlacedRow]:
        """Add to each row the fields of its other half."""
        if self._rows is None:
            self._rows = self._read()
        joined, alone = [], []
        for row in rows:
            key = self._key(row)
            partner = self._rows.get(key)
            if partner is None:
                alone.append(row)
                joined += [row] if self._spec.unmatched == "keep" else []
                continue
            self._used.add(key)
            for name in row.value.keys() & partner.value.keys():
                here, there = row.value[name], partner.value[name]
                if here != there:
                    own, other = short(value_text(here)), short(value_text(there))
                    values = f"{own} here and {other} at {partner.at}"
                    hint = "the two halves must not say different things under one name"
                    raise _error(row.at, ("join",), f"{name!r} is {values}", hint)
            joined.append(structs.replace(row, value={**partner.value, **row.value}))
        notes += self._report(alone)
        return joined

    def unused(self) -> list[str]:
        """Report the other halves that no row has."""
        rows = self._rows or {}
        notes = [note for row_filter in self._filters for note in row_filter.finish()]
        return notes + self._report(
            [row for key, row in rows.items() if key not in self._used]
        )

    def _report(self, rows: Sequence[PlacedRow]) -> list[str]:
        """Note the rows without the other half, or refuse them."""
        if not rows:
            return []
        alone = many(len(rows), "row")
        message = f"join: {alone} without the other half, the first at {rows[0].at}"
        if self._spec.unmatched == "error":
            hint = "are both files of the same run? unmatched: keep, or drop, allows it"
            raise ShapeError(message, key=("join",), hint=hint)
        return [message]


# -- values --------------------------------------------------------------------------------


def _single(row: PlacedRow, path: str, *key: str) -> Any:
    """Read the text or the number at a path."""
    value = lookup(row.value, path)
    if value is None and path in _paths(row.value):
        raise _error(row.at, key, f"{path!r} is null; expected text or a number")
    if value is None:
        raise _no_path(path, [row], row.at, *key)
    if isinstance(value, dict | list):
        raise _error(
            row.at,
            key,
            f"{path!r} is {short(value_text(value))}; expected text or a number",
        )
    return value


def _error(
    at: str, key: tuple[str, ...], message: str, hint: str | None = None
) -> ShapeError:
    """Create the error for a key of the benchmark file that does not fit a file or a row."""
    return ShapeError(f"{at}: {': '.join(key[:2])}: {message}", key=key, hint=hint)


def _no_path(path: str, rows: Sequence[PlacedRow], at: str, *key: str) -> ShapeError:
    names = dict.fromkeys(name for row in rows[:_LISTED] for name in _paths(row.value))
    guess = did_you_mean(path, names, what="a row has")
    at = rows[0].at if len(rows) == 1 else at
    return _error(at, key, f"no row has {path!r}; {guess}")


def _paths(value: Mapping[str, Any], above: str = "", depth: int = 3) -> Iterator[str]:
    for name, inner in value.items():
        if isinstance(inner, dict) and inner and depth > 1:
            yield from _paths(inner, f"{above}{name}.", depth - 1)
        else:
            yield f"{above}{name}"
