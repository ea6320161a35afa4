"""Rows inside of documents: `rows`, `keyed`, `lists` and `pivot`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from msgspec import structs

from pytest_evalmetrics.errors import ShapeError, did_you_mean
from pytest_evalmetrics.json_types import list_of
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.rollouts.derived_scores import value_text
from pytest_evalmetrics.rollouts.described_objects import without_descriptions
from pytest_evalmetrics.rollouts.file_documents import PlacedRow
from pytest_evalmetrics.rollouts.json_values import lookup
from pytest_evalmetrics.rollouts.otlp_attributes import is_otlp, plain_attributes
from pytest_evalmetrics.rollouts.pages import Pages
from pytest_evalmetrics.rollouts.row_filters import RowFilter, row_filters
from pytest_evalmetrics.rollouts.row_paths import no_path, shape_error, single_value
from pytest_evalmetrics.rollouts.source import Source, short
from pytest_evalmetrics.rollouts.unjudged_lists import UnjudgedList, unjudged_lists

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pytest_evalmetrics.json_types import JsonObject, JsonValue
    from pytest_evalmetrics.spec.sources import PivotSpec, ShapeSpec

_PARENT: Final = "_parent"  # the field for the values that enclose a row
_KEY: Final = "_key"  # the field for the key of an object's value
_LINE: Final = "_line"  # the field for the first line of a row that was put together
_VERDICT: Final = (bool, int, float, type(None))  # of a list that is a task's attempts


def find_rows(
    source: Source, spec: ShapeSpec, read: Iterable[PlacedRow | list[JsonValue]]
) -> list[PlacedRow]:
    """Find the rows in some documents of a file, see `documents`."""
    return RowFinder(source, spec, row_filters(spec), Pages()).find(read)


class RowFinder:
    """The rows of one file: found, then filtered, then put together."""

    def __init__(
        self,
        source: Source,
        spec: ShapeSpec,
        filters: Sequence[RowFilter],
        pages: Pages,
        *key: str,
    ) -> None:
        self._filters = filters
        self._pages = pages
        self._source = source
        self._spec = spec
        self._key = key  # of the benchmark file, above those of the shape
        self.found: list[PlacedRow] = []  # before they are filtered
        self.documents: list[JsonObject] = []  # that hold the rows
        # beside the rows, in the objects on the way to them
        self.unjudged: list[UnjudgedList] = []

    def _error(self, message: str, *key: str, hint: str | None = None) -> ShapeError:
        return shape_error(self._source.shown, (*self._key, *key), message, hint)

    def find(self, read: Iterable[PlacedRow | list[JsonValue]]) -> list[PlacedRow]:
        """Find the rows in the documents of the file."""
        spec = self._spec
        rows: list[PlacedRow] = []
        for document in read:
            if isinstance(document, list):
                self._add_rows_of(document, rows)
            elif spec.rows or spec.keyed or spec.lists:
                self._add_rows_of(document.value, rows)
            else:
                rows.append(document)
        if spec.parse_json is not None:
            rows = [self._parsed(row, spec.parse_json) for row in rows]
        self.found = rows
        for row_filter in self._filters:
            rows = row_filter.kept(rows)
        if spec.pivot is not None:
            return self._pivoted(rows, spec.pivot)
        return rows

    def _add_rows_of(
        self, document: JsonObject | list[JsonValue], rows: list[PlacedRow]
    ) -> None:
        """Find the rows in one document."""
        path = self._spec.rows or ""
        self._pages.add(document, self._source.shown, path)
        value: JsonValue = document
        if isinstance(document, dict):
            self.documents.append(document)
            if is_otlp(document):
                value = plain_attributes(document)
        for inner, parent in self._inner(value, path, {}):
            around: JsonObject = {}
            if parent:
                around = {_PARENT: parent}
            for row in self._listed(inner):
                place = len(rows) + 1
                rows.append(PlacedRow.of(self._source, place, {**around, **row}))

    def _parsed(self, row: PlacedRow, paths: Sequence[str]) -> PlacedRow:
        """Parse the JSON that some fields hold as text."""
        value = row.value
        for path in paths:
            text = lookup(value, path)
            if not isinstance(text, str):
                continue
            try:
                parsed = json.loads(text)
            except ValueError as error:
                found = short(text)
                message = f"{path!r} is not JSON: {found}"
                key = (*self._key, "parse_json")
                raise shape_error(row.at, key, message) from error
            value = _replaced(value, path, parsed)
        return structs.replace(row, value=value)

    def _inner(
        self, value: JsonValue, path: str, parent: JsonObject
    ) -> Iterator[tuple[JsonValue, JsonObject]]:
        """Follow the path of `rows`; yield each value with the object that encloses it."""
        goes_through_all = path == "*" or path.startswith("*.")
        if not path:
            yield value, parent
        elif isinstance(value, list) and goes_through_all:
            for inner in value:
                yield from self._inner(inner, path[2:], parent)
        elif isinstance(value, dict) and goes_through_all:
            yield from self._values(value, path, parent)
        elif isinstance(value, dict):
            yield from self._under_key(value, path, parent)
        elif isinstance(value, list):
            message = f"there is no {path!r} in a list: write * for each value of it"
            raise self._error(message, "rows")
        else:
            found = short(value_text(value))
            raise self._error(f"there is no {path!r} in {found}", "rows")

    def _under_key(
        self, value: JsonObject, path: str, parent: JsonObject
    ) -> Iterator[tuple[JsonValue, JsonObject]]:
        """Go on under the key that a path starts with."""
        key = self._key_of(value, path)
        rest = path[len(key) + 1 :]
        above = (self._spec.rows or "").removesuffix(path)
        self.unjudged += unjudged_lists(value, key, above)
        inner = value[key]
        if not rest:
            inner = self._table(inner, value.get("columns"))
        yield from self._inner(inner, rest, _enclosing(value, key, parent))

    def _values(
        self, value: JsonObject, path: str, parent: JsonObject
    ) -> Iterator[tuple[JsonValue, JsonObject]]:
        """Go on in each value of an object, and keep its key."""
        # with keyed: the keys of the last objects are ids, and become a field of their own
        are_ids = path == "*" and self._spec.keyed is not None
        for key, inner in without_descriptions(value).items():
            if isinstance(inner, dict) and not are_ids:
                yield from self._inner({_KEY: key, **inner}, path[2:], parent)
            else:
                yield from self._inner(inner, path[2:], {**parent, _KEY: key})

    def _key_of(self, value: Mapping[str, JsonValue], path: str) -> str:
        """Find the key that a path starts with: the longest, for keys may hold dots."""
        parts = path.split(".")
        for count in range(len(parts), 0, -1):
            key = ".".join(parts[:count])
            if key in value:
                return key
        guess = did_you_mean(path, value, what="there is")
        raise self._error(f"there is no {path!r} here; {guess}", "rows")

    def _table(self, rows: JsonValue, columns: JsonValue) -> JsonValue:
        """Turn the lists of a table's cells into objects, by the names of its columns."""
        if not isinstance(rows, list) or not isinstance(columns, list):
            return rows
        lines = [row for row in rows if isinstance(row, list)]
        if not rows or len(lines) < len(rows):
            return rows
        for number, line in enumerate(lines, 1):
            if len(line) != len(columns):
                cells = many(len(line), "cell")
                width = many(len(columns), "column")
                message = f"row {number} has {cells}, and the table {width}"
                raise self._error(message, "rows")
        names = list(map(value_text, columns))
        if len(set(names)) < len(names):
            raise self._error("two columns of the table have one name", "rows")
        return [dict(zip(names, line, strict=True)) for line in lines]

    def _listed(self, value: JsonValue) -> Iterator[JsonObject]:
        """Take the rows out of a list, of an object with ids as keys, or of lists of ids."""
        spec = self._spec
        if spec.lists is not None:
            yield from self._of_lists(value, spec.lists)
        elif spec.keyed is not None:
            yield from self._of_keys(value, spec.keyed)
        elif isinstance(value, list):
            yield from self._of_list(value)
        else:
            yield from self._of_list([value])

    def _of_list(self, values: list[JsonValue]) -> Iterator[JsonObject]:
        if not values and "*" in (self._spec.rows or ""):
            yield {}  # the enclosing object is a task all the same
        for number, value in enumerate(values, 1):
            if isinstance(value, dict):
                yield value
            elif isinstance(value, _VERDICT):
                yield {"value": value}
            else:
                found = short(value_text(value))
                message = f"row {number} is {found}; expected an object"
                hint = "lists of ids are read by lists:, numbers behind ids by keyed:"
                raise self._error(message, "rows", hint=hint)

    def _of_keys(self, value: JsonValue, field: str) -> Iterator[JsonObject]:
        message = "is for an object with ids as its keys; found"
        if isinstance(value, list):
            hint = "leave keyed: out; rows: is enough for a list"
            raise self._error(f"{message} a list", "keyed", hint=hint)
        if not isinstance(value, dict):
            raise self._error(f"{message} {short(value_text(value))}", "keyed")
        for key, under in without_descriptions(value).items():
            attempts = under if isinstance(under, list) else [under]
            for attempt in attempts or [{}]:
                yield self._with_key(attempt, field, key)

    def _with_key(self, attempt: JsonValue, field: str, key: str) -> JsonObject:
        """Make a row of what is under a key, with the key as a field."""
        row: JsonObject = {"value": attempt}
        if isinstance(attempt, dict):
            row = dict(attempt)
        own = row.setdefault(field, key)
        if value_text(own) != key:
            message = (
                f"what is under {short(key)} has a field {field!r} of its own, "
                f"{short(value_text(own))}"
            )
            hint = "choose another name for the keys"
            raise self._error(message, "keyed", hint=hint)
        return row

    def _of_lists(
        self, value: JsonValue, lists: Mapping[str, float | None]
    ) -> Iterator[JsonObject]:
        if not isinstance(value, dict):
            found = short(value_text(value))
            raise self._error(f"is for an object; found {found}", "lists")
        ids = {name: list_of(held) for name, held in value.items() if _are_ids(held)}
        homes: dict[JsonValue, str] = {}
        for name, reward in lists.items():
            if name not in ids:
                guess = did_you_mean(name, ids, what="there are")
                message = f"no list of ids is named {name!r}; {guess}"
                raise self._error(message, "lists", name)
            for task in ids[name]:
                if task in homes:
                    also = "twice"
                    if homes[task] != name:
                        also = f"and in {name}"
                    message = f"{task!r} is in {homes[task]} {also}"
                    raise self._error(message, "lists", name)
                homes[task] = name
                yield {"id": task, "reward": reward, "list": name}
        for name, tasks in ids.items():
            self._must_be_named(name, tasks, homes)

    def _must_be_named(
        self, name: str, tasks: Sequence[JsonValue], homes: Mapping[JsonValue, str]
    ) -> None:
        """Refuse a list of tasks of which no list that is named holds all."""
        others = [task for task in tasks if task not in homes]
        if not others:
            return
        if name.endswith("_ids") or len(others) < len(tasks):
            counted = many(len(others), "id")
            message = (
                f"{name} has {counted} of no list that is named, such as {others[0]!r}"
            )
            hint = (
                f"name their list, or say what they are worth: lists: {{{name}: null}}"
            )
            raise self._error(message, "lists", hint=hint)

    def _pivoted(self, rows: list[PlacedRow], pivot: PivotSpec) -> list[PlacedRow]:
        """Put the lines of each group together: a field for each name."""
        key = (*self._key, "pivot")
        groups: dict[tuple[str, ...], PlacedRow] = {}
        places: dict[tuple[tuple[str, ...], str], PlacedRow] = {}
        for row in rows:
            by = {path: single_value(row, path, *key, "by") for path in pivot.by}
            group = tuple(map(value_text, by.values()))
            merged = groups.setdefault(
                group, structs.replace(row, value={**by, _LINE: row.value})
            )
            if row.value.keys() <= {_PARENT}:  # a list without lines
                continue
            name = value_text(single_value(row, pivot.name, *key, "name"))
            first = places.setdefault((group, name), row)
            if first is not row:
                group_by = ", ".join(pivot.by)
                message = f"{short(name)} was there before for the same {group_by}, at {first.at}"
                hint = "add to by: what tells them apart, or leave one out with where:"
                raise shape_error(row.at, key, message, hint)
            if name in by:
                raise shape_error(row.at, key, f"{short(name)} is also a field of by:")
            merged.value[name] = lookup(row.value, pivot.value)
        if rows and all(lookup(row.value, pivot.value) is None for row in rows):
            raise no_path(pivot.value, rows, self._source.shown, *key, "value")
        return list(groups.values())


def _replaced(value: JsonObject, path: str, inner: JsonValue) -> JsonObject:
    """Copy an object with another value at a dotted path."""
    if path in value:
        return {**value, path: inner}
    head, _, rest = path.partition(".")
    held = value.get(head)
    if not isinstance(held, dict):
        return value
    return {**value, head: _replaced(held, rest, inner)}


def _are_ids(value: JsonValue) -> bool:
    return isinstance(value, list) and all(type(id_) in (int, str) for id_ in value)


def _enclosing(
    value: Mapping[str, JsonValue], key: str, parent: JsonObject
) -> JsonObject:
    """Return what rows under a key see of the object that encloses them."""
    seen = _scalars({name: inner for name, inner in value.items() if name != key})
    if parent:
        seen[_PARENT] = parent
    return seen


def _scalars(value: Mapping[str, JsonValue]) -> JsonObject:
    """Copy an object without its lists, at any depth."""
    return {
        name: _scalars(inner) if isinstance(inner, dict) else inner
        for name, inner in value.items()
        if not isinstance(inner, list)
    }
