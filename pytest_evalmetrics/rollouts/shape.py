"""Rows out of files that are not one row per line: `rows`, `keyed`, `lists`, `where` ... `map`.

A file is read whole; each step turns rows into rows, and what comes out is read as JSON Lines are.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pytest_evalmetrics.errors import ShapeError, did_you_mean
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.rollouts.files import find_files
from pytest_evalmetrics.rollouts.foreign import lookup
from pytest_evalmetrics.rollouts.formats import recognise
from pytest_evalmetrics.rollouts.json_files import JsonLines
from pytest_evalmetrics.rollouts.json_reader import (
    DuplicateKeyError,
    RowReader,
    decode,
    parse,
    short,
)
from pytest_evalmetrics.rollouts.loader import Request, RowLoader
from pytest_evalmetrics.rollouts.source import Source, SourceRow, open_source
from pytest_evalmetrics.spec import FieldMap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from pytest_evalmetrics.errors import DataError
    from pytest_evalmetrics.rollouts.loader import Chunk
    from pytest_evalmetrics.spec.sources import JoinSpec, PivotSpec, RolloutsSpec, ShapeSpec

_BATCH: Final = 512  # rows that are written as JSON at a time
_LISTED: Final = 8  # values in a message
PARENT: Final = "_parent"  # the field with what encloses a row
LINE: Final = "_line"  # the field with the first line of a row that was put together
_PLAIN: Final = Request(FieldMap())
_TABLES: Final = ("csv", "parquet", "arrow")
_is_number = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?").fullmatch
_CELLS: Final[dict[str, Any]] = {"": None, "true": True, "false": False}


class Row(NamedTuple):
    """A row and its place in its file, for messages."""

    place: int
    value: dict[str, Any]


@dataclass(frozen=True)
class ShapedSource(Source):
    """A file whose places count its rows, unless each row is a line."""

    by_line: bool = False

    @property
    def unit(self) -> Any:
        """What places count."""
        return "line" if self.by_line else "row"

    def error(
        self,
        message: str,
        row: SourceRow | None = None,
        *,
        line: int | None = None,
        hint: str | None = None,
    ) -> DataError:
        """Name the row where a line would mean nothing."""
        if row is None or self.by_line:
            return super().error(message, row, line=line, hint=hint)
        return super().error(f"row {row.place}: {message}", hint=hint)


def shaped_fields(spec: RolloutsSpec) -> FieldMap:
    """Say where shaped rows keep what is needed: what `map` gives is at the top."""
    fields = spec.fields
    task = fields.task or spec.keyed or ("id" if spec.lists is not None else None)
    if task is None and spec.pivot is not None and len(spec.pivot.by) == 1:
        task = spec.pivot.by[0]
    scores = {name: name if name in spec.map else path for name, path in fields.scores.items()}
    reward = "reward" if "reward" in spec.map else fields.reward
    return replace(fields, task=task, reward=reward, scores=scores)


class Shape:
    """The loader of one benchmark's shaped files."""

    def __init__(self, spec: RolloutsSpec, base: Path, request: Request | None = None) -> None:
        self._spec = spec
        self._fields = shaped_fields(spec)
        self._reader = RowReader(request or Request(self._fields))
        self._by_position = request is not None and request.by_position
        self._partners = _Partners(spec.join, base) if spec.join is not None else None
        self._mapped: set[str] = set()

    def open(self, source: Source) -> Source:
        """Choose how the file's places are counted."""
        spec = self._spec
        if spec.format not in (None, "json", "jsonl", *_TABLES):
            raise ShapeError(
                f"the rows of format: {spec.format} have a shape of their own; rows:, map: and "
                "the like are for JSON, CSV and Parquet",
                key=("format",),
            )
        made = spec.rows or spec.keyed or spec.lists or spec.pivot
        by_line = not made and not source.is_array and _is_lines(source)
        known = {name: getattr(source, name) for name in Source.__dataclass_fields__}
        return ShapedSource(**known, by_line=by_line)

    def read(self, source: Source) -> Iterator[Chunk]:
        """Read one file."""
        notes: list[str] = []
        rows = self._rows(source, notes)
        first = True
        while batch := list(islice(rows, _BATCH)):
            texts = [
                SourceRow(row.place, row.place, memoryview(json.dumps(row.value).encode()))
                for row in batch
            ]
            for chunk in self._reader.rows(texts, source):
                yield replace(chunk, notes=(*chunk.notes, *notes), ruler=self._ruler())
                notes.clear()
                first = False
        if first:
            raise source.error("the file holds no row", hint="did the run that writes it fail?")

    def rows(self, source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
        """Go through the rows, see `RowLoader`."""
        for row in self._rows(source, []):
            yield row.place, row.value

    def finish(self) -> Sequence[str]:
        """Check what only all files together can tell; return notes."""
        for name in self._spec.map:
            if name not in self._mapped:
                path = self._path_of(name)
                raise ShapeError(f"map: {name}: no row has a value at {path!r}", key=("map", name))
        return () if self._partners is None else self._partners.unused()

    def _rows(self, source: Source, notes: list[str]) -> Iterator[Row]:
        rows = _made(source, self._spec, (), notes)
        if self._partners is not None:
            rows = self._partners.joined(rows, source, notes)
        task = self._fields.task
        if task is not None and not self._by_position:
            missing = [row for row in rows[:_BATCH] if lookup(row.value, task) is None]
            if rows and len(missing) == len(rows[:_BATCH]):
                raise _no_path(task, rows, source, ("fields", "task"))
        for row in rows:
            if self._spec.map:
                row.value.update(self._numbers(row, source))
            yield row

    def _path_of(self, name: str) -> str:
        fields = self._spec.fields
        return (fields.reward if name == "reward" else fields.scores.get(name)) or name

    def _numbers(self, row: Row, source: Source) -> dict[str, float | None]:
        numbers: dict[str, float | None] = {}
        for name, points in self._spec.map.items():
            value = lookup(row.value, self._path_of(name))
            if value is None and "null" not in points:
                numbers[name] = None
                continue
            self._mapped.add(name)
            text = _text(value)
            if text not in points:
                raise ShapeError(
                    f"{source.at(row.place)}: map: {name} doesn't say which number {short(text)} "
                    f"is; {did_you_mean(text, points, what='it has')}",
                    key=("map", name),
                    hint=f"add it, or null where it is none: map: {{{name}: "
                    f"{{{json.dumps(text)[:60]}: null}}}}",
                )
            numbers[name] = points[text]
        return numbers

    def _ruler(self) -> tuple[tuple[str, str, str], ...]:
        """Make the numbers behind texts part of what measures."""
        tables = {f"map {name}": (name, points) for name, points in self._spec.map.items()}
        if self._spec.lists is not None:
            tables["lists"] = ("reward", self._spec.lists)
        entries = []
        for name, (score, points) in tables.items():
            entries.append((name, "values", json.dumps(points, sort_keys=True)))
            entries.append((name, "scores", score))
        return tuple(entries)


# -- files -> documents --------------------------------------------------------------------


def _is_lines(source: Source) -> bool:
    """Check for JSON Lines: the first line is a value of its own, and not the whole file."""
    with source.open() as stream:
        lines = (line for line in stream if line.strip())
        try:
            json.loads(next(lines, b""))
        except ValueError:
            return False
        return next(lines, None) is not None


def _documents(source: Source) -> Iterator[Row | list[Any]]:
    """Go through what a file holds: rows or lines, or one document that may be a list."""
    kind = recognise(source)
    if kind.name in _TABLES:
        loader = kind.load()(_PLAIN)
        if not isinstance(loader, RowLoader):
            raise source.error(f"the rows of the format {kind.name} can't be had one by one")
        for place, cells in loader.rows(source):
            if kind.name == "csv":
                cells = {name: _cell(cell) for name, cell in cells.items()}  # noqa: PLW2901
            yield Row(place, cells)
        return
    source.must_be_text()
    if not source.is_array and _is_lines(source):
        for line in JsonLines(_PLAIN).texts(source):
            yield Row(line.place, parse(line, source))
        return
    document = _whole(source)
    if isinstance(document, dict):
        yield Row(1, document)
    elif isinstance(document, list):
        yield document
    else:
        raise source.error(f"this is no JSON object or array: found {short(_text(document))}")


def _whole(source: Source) -> Any:
    with source.open() as stream:
        text = stream.read()
    try:
        return decode(text.decode())
    except UnicodeDecodeError as error:
        raise source.error("this is not UTF-8 text", hint="save the file as UTF-8") from error
    except json.JSONDecodeError as error:
        raise source.error(
            f"this is no JSON: {error.msg} at column {error.colno}",
            line=error.lineno,
            hint="was the run that writes it interrupted?",
        ) from error
    except DuplicateKeyError as error:
        raise source.error(
            f"the key {str(error)!r} stands twice in one object",
            hint="only one of the values can be meant: write the key once",
        ) from error
    except (RecursionError, ValueError) as error:
        raise source.error(f"this can't be read: {error}") from error


def _cell(cell: str) -> Any:
    """Read a cell of CSV, which knows no types; ids such as 007 stay text."""
    text = cell.strip()
    match = _is_number(text)
    if match is None:
        return _CELLS.get(text.lower(), cell)
    return float(text) if match[2] or match[3] else int(text)


# -- documents -> rows ---------------------------------------------------------------------


def _made(source: Source, spec: ShapeSpec, key: tuple[str, ...], notes: list[str]) -> list[Row]:
    """Make the rows of a file: found, then filtered, then put together."""
    made: list[Row] = []
    for document in _documents(source):
        if isinstance(document, Row) and not (spec.rows or spec.keyed or spec.lists):
            made.append(document)
            continue
        value = document.value if isinstance(document, Row) else document
        for inner, parent in _inner(value, spec.rows or "", {}, source, key):
            for row in _listed(inner, spec, source, key):
                if parent and PARENT not in row:
                    row = {**row, PARENT: parent}  # noqa: PLW2901
                made.append(Row(len(made) + 1, row))
    if spec.where:
        made = _filtered(made, spec, source, key, notes)
    if spec.pivot is not None:
        made = _pivoted(made, spec.pivot, source, key)
    return made


def _inner(
    value: Any, path: str, parent: dict[str, Any], source: Source, key: tuple[str, ...]
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Follow the path of `rows`; each place comes with what encloses it, without lists."""
    if not path:
        yield value, parent
        return
    if path == "*" or path.startswith("*."):
        if not isinstance(value, dict | list):
            raise _no_rows(source, f"{short(_text(value))} has no values for the *", key)
        for each in value.values() if isinstance(value, dict) else value:
            yield from _inner(each, path[2:], parent, source, key)
        return
    if isinstance(value, dict):
        ends = [len(path), *(i for i, sign in enumerate(path) if sign == ".")]
        for end in sorted(ends, reverse=True):
            if path[:end] in value:
                around = {name: each for name, each in value.items() if name != path[:end]}
                parent = {**_scalars(around), **({PARENT: parent} if parent else {})}
                inner, rest = value[path[:end]], path[end + 1 :]
                if not rest:
                    inner = _as_objects(inner, value.get("columns"), source, key)
                yield from _inner(inner, rest, parent, source, key)
                return
        raise _no_rows(source, did_you_mean(path, value, what="there is"), key, path)
    what = "a list: write * for each value of it" if isinstance(value, list) else _text(value)
    raise _no_rows(source, f"it would be in {short(what)}", key, path)


def _as_objects(rows: Any, columns: Any, source: Source, key: tuple[str, ...]) -> Any:
    """Name the cells of a table's rows by its columns, which stand beside them."""
    lists = isinstance(rows, list) and rows and all(isinstance(row, list) for row in rows)
    if not lists or not isinstance(columns, list) or len(set(map(str, columns))) < len(columns):
        return rows
    for number, row in enumerate(rows, 1):
        if len(row) != len(columns):
            raise ShapeError(
                f"{source.shown}: row {number} has {many(len(row), 'cell')}, and the table "
                f"{many(len(columns), 'column')}",
                key=(*key, "rows"),
            )
    return [dict(zip(map(str, columns), row, strict=True)) for row in rows]


def _no_rows(source: Source, why: str, key: tuple[str, ...], path: str = "") -> ShapeError:
    found = f" there is no {path!r} here;" if path else ""
    return ShapeError(f"{source.shown}: rows:{found} {why}", key=(*key, "rows"))


def _scalars(value: Mapping[str, Any]) -> dict[str, Any]:
    """Keep what is short of an object, at any depth: no lists."""
    return {
        name: _scalars(inner) if isinstance(inner, dict) else inner
        for name, inner in value.items()
        if not isinstance(inner, list)
    }


def _listed(
    value: Any, spec: ShapeSpec, source: Source, key: tuple[str, ...]
) -> Iterator[dict[str, Any]]:
    """Take the rows out of a list, of an object with ids as keys, or of lists of ids."""
    if spec.lists is not None:
        yield from _of_lists(value, spec.lists, source, key)
        return
    if spec.keyed is None:
        listed = value if isinstance(value, list) else [value]
        if not listed and "*" in (spec.rows or ""):
            listed = [{}]  # what encloses it is a task all the same
        for number, each in enumerate(listed, 1):
            if not isinstance(each, dict):
                raise ShapeError(
                    f"{source.shown}: row {number} is {short(_text(each))}; expected an object",
                    key=(*key, "rows"),
                    hint="lists of ids are read by lists:, numbers behind ids by keyed:",
                )
            yield dict(each)
        return
    if not isinstance(value, dict):
        raise ShapeError(
            f"{source.shown}: keyed: is for an object with ids as its keys; found "
            f"{'a list' if isinstance(value, list) else short(_text(value))}",
            key=(*key, "keyed"),
        )
    for name, under in value.items():
        for each in (under or [{}]) if isinstance(under, list) else [under]:
            row = dict(each) if isinstance(each, dict) else {"value": each}
            if _text(row.setdefault(spec.keyed, name)) != name:
                raise ShapeError(
                    f"{source.shown}: what is under {short(name)} has a field {spec.keyed!r} of "
                    f"its own, {short(_text(row[spec.keyed]))}",
                    key=(*key, "keyed"),
                    hint="choose another name for the keys",
                )
            yield row


def _of_lists(
    value: Any, lists: Mapping[str, float | None], source: Source, key: tuple[str, ...]
) -> Iterator[dict[str, Any]]:
    if not isinstance(value, dict):
        raise ShapeError(f"{source.shown}: lists: is for an object", key=(*key, "lists"))
    ids = {
        name: each
        for name, each in value.items()
        if isinstance(each, list) and all(type(item) in (int, str) for item in each)
    }
    homes: dict[Any, str] = {}
    for name, reward in lists.items():
        if name not in ids:
            known = did_you_mean(name, ids, what="there are")
            raise ShapeError(
                f"{source.shown}: no list of ids is named {name!r}; {known}",
                key=(*key, "lists", name),
            )
        for item in ids[name]:
            if item in homes:
                raise ShapeError(
                    f"{source.shown}: {item!r} is in {homes[item]}"
                    + (f" and in {name}" if homes[item] != name else " twice"),
                    key=(*key, "lists", name),
                )
            homes[item] = name
            yield {"id": item, "reward": reward, "list": name}
    for name, items in ids.items():
        others = [item for item in items if item not in homes]
        if others and (name.endswith("_ids") or len(others) < len(items)):
            raise ShapeError(
                f"{source.shown}: {name} has {many(len(others), 'id')} of no list that is named, "
                f"such as {others[0]!r}",
                key=(*key, "lists"),
                hint=f"say what they are worth, null for missing: lists: {{{name}: null}}, or "
                "name the list that they are in",
            )


def _filtered(
    rows: list[Row], spec: ShapeSpec, source: Source, key: tuple[str, ...], notes: list[str]
) -> list[Row]:
    for path, accepted in spec.where.items():
        texts = {_text(value) for value in accepted}
        values = Counter(_text(lookup(row.value, path)) for row in rows)
        if rows and set(values) == {"null"} and "null" not in texts:
            raise _no_path(path, rows, source, (*key, "where", path))
        kept = [row for row in rows if _text(lookup(row.value, path)) in texts]
        if rows and not kept:
            met = ", ".join(map(short, list(values)[:_LISTED]))
            raise ShapeError(
                f"{source.shown}: where: no row has {' or '.join(sorted(texts))} at {path!r}; "
                f"there is {met}",
                key=(*key, "where", path),
            )
        if len(kept) < len(rows):
            out = len(rows) - len(kept)
            notes.append(
                f"{source.shown}: where: leaves out {out} of {many(len(rows), 'row')}, whose "
                f"{path} is not {' or '.join(sorted(texts))}"
            )
        rows = kept
    return rows


def _pivoted(rows: list[Row], pivot: PivotSpec, source: Source, key: tuple[str, ...]) -> list[Row]:
    """Put the lines of each group together: a field for each name."""
    groups: dict[tuple[str, ...], Row] = {}
    places: dict[tuple[tuple[str, ...], str], int] = {}
    for row in rows:
        empty = row.value.keys() <= {PARENT}
        paths = pivot.by if empty else (*pivot.by, pivot.name)
        found = {path: lookup(row.value, path) for path in paths}
        for path, value in found.items():
            if value is None or isinstance(value, dict | list):
                which = (*key, "pivot", "name" if path == pivot.name else "by")
                if row is rows[0]:
                    raise _no_path(path, rows, source, which)
                raise ShapeError(
                    f"{source.at(row.place)}: pivot: {path!r} is {short(_text(value))}; expected "
                    "text or a number",
                    key=which,
                )
        name = "" if empty else _text(found.pop(pivot.name))
        group = tuple(map(_text, found.values()))
        if empty:
            groups.setdefault(group, Row(row.place, {**found, LINE: row.value}))
            continue
        first = places.setdefault((group, name), row.place)
        if first != row.place:
            raise ShapeError(
                f"{source.at(row.place)}: pivot: {short(name)} was there before for the same "
                f"{', '.join(pivot.by)}, at {source.at(first)}",
                key=(*key, "pivot"),
                hint="add to by: what tells them apart, or leave one out with where:",
            )
        if name in found:
            raise ShapeError(
                f"{source.at(row.place)}: pivot: a value has the name {short(name)}, as a field "
                "of by: has",
                key=(*key, "pivot", "name"),
            )
        whole = groups.setdefault(group, Row(row.place, {**found, LINE: row.value}))
        whole.value[name] = lookup(row.value, pivot.value)
    if rows and all(lookup(row.value, pivot.value) is None for row in rows):
        raise _no_path(pivot.value, rows, source, (*key, "pivot", "value"))
    return list(groups.values())


# -- two files -----------------------------------------------------------------------------


class _Partners:
    """The other halves of rows, by what they have in common."""

    def __init__(self, spec: JoinSpec, base: Path) -> None:
        self._spec = spec
        self._base = base
        self._where: dict[tuple[str, ...], str] = {}
        self._used: set[tuple[str, ...]] = set()
        self._notes: list[str] = []
        self._rows: dict[tuple[str, ...], dict[str, Any]] | None = None

    def _read(self) -> dict[tuple[str, ...], dict[str, Any]]:
        rows: dict[tuple[str, ...], dict[str, Any]] = {}
        for file in find_files(self._spec.path, self._base):
            source = open_source(file)
            made = _made(source, self._spec, ("join",), self._notes)
            for key, row in self._by_key(made, source):
                at = source.at(row.place)
                if key in rows:
                    raise ShapeError(
                        f"{at}: join: the same {', '.join(self._spec.on)} as {self._where[key]}",
                        key=("join", "on"),
                        hint="add to on: what tells them apart",
                    )
                rows[key], self._where[key] = row.value, at
            source.must_be_unchanged()
        return rows

    def _by_key(self, rows: Iterable[Row], source: Source) -> Iterator[tuple[tuple[str, ...], Row]]:
        for row in rows:
            values = [lookup(row.value, path) for path in self._spec.on]
            for path, value in zip(self._spec.on, values, strict=True):
                if value is None or isinstance(value, dict | list):
                    raise ShapeError(
                        f"{source.at(row.place)}: join: {path!r} is {short(_text(value))}; "
                        f"expected text or a number; {did_you_mean(path, row.value)}",
                        key=("join", "on"),
                    )
            yield tuple(map(_text, values)), row

    def joined(self, rows: list[Row], source: Source, notes: list[str]) -> list[Row]:
        """Add to each row what its other half has."""
        if self._rows is None:
            self._rows = self._read()
            notes.extend(self._notes)
        made, alone = [], []
        for key, row in self._by_key(rows, source):
            other = self._rows.get(key)
            if other is None:
                alone.append(row)
                if self._spec.unmatched == "keep":
                    made.append(row)
                continue
            self._used.add(key)
            for name in row.value.keys() & other.keys():
                if row.value[name] != other[name]:
                    raise ShapeError(
                        f"{source.at(row.place)}: join: {name!r} is "
                        f"{short(_text(row.value[name]))} here and {short(_text(other[name]))} at "
                        f"{self._where[key]}",
                        key=("join",),
                        hint="the two halves must not say different things under one name",
                    )
            made.append(Row(row.place, {**other, **row.value}))
        if alone:
            self._alone(len(alone), source.at(alone[0].place), notes)
        return made

    def unused(self) -> Sequence[str]:
        """Report the other halves that no row has."""
        notes: list[str] = []
        left = [at for key, at in self._where.items() if key not in self._used]
        if left:
            self._alone(len(left), left[0], notes)
        return notes

    def _alone(self, count: int, first: str, notes: list[str]) -> None:
        message = f"{many(count, 'row')} without the other half, the first at {first}"
        if self._spec.unmatched == "error":
            raise ShapeError(
                f"join: {message}",
                key=("join",),
                hint="are both files of the same run? unmatched: keep, or drop, allows it",
            )
        notes.append(f"join: {message}")


# -- values --------------------------------------------------------------------------------


def _text(value: Any) -> str:
    """Write a value as a key of a benchmark file says it: 1.0 as 1."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, default=str)


def _no_path(path: str, rows: Sequence[Row], source: Source, key: tuple[str, ...]) -> ShapeError:
    known = dict.fromkeys(name for row in rows[:_LISTED] for name in _paths(row.value))
    return ShapeError(
        f"{source.shown}: {': '.join(key[:2])}: no row has {path!r}; "
        f"{did_you_mean(path, known, what='a row has')}",
        key=key,
    )


def _paths(value: Mapping[str, Any], above: str = "", depth: int = 3) -> Iterator[str]:
    for name, inner in value.items():
        if isinstance(inner, dict) and inner and depth > 1:
            yield from _paths(inner, f"{above}{name}.", depth - 1)
        else:
            yield f"{above}{name}"
