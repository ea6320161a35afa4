"""Scores that are not a number of the row itself: ``map:``, ``missing:``, ``all:``, ``any:``."""

from __future__ import annotations

import json
import math
from enum import Enum
from typing import TYPE_CHECKING, Final

import msgspec

from pytest_evalmetrics.errors import ShapeError, did_you_mean
from pytest_evalmetrics.rollouts.json_values import lookup
from pytest_evalmetrics.rollouts.number_texts import approximate
from pytest_evalmetrics.rollouts.source import short
from pytest_evalmetrics.spec.sources import JointField

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_evalmetrics.json_types import JsonValue
    from pytest_evalmetrics.spec.sources import FieldMap, RolloutsSpec

_SHOWN: Final = 60  # characters of a value in a hint


def value_text(value: JsonValue) -> str:
    """Write a value as a key of ``map:``, such as 1 for 1.0."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, default=str)


class Join(Enum):
    """What several values of a row make up."""

    LEAST = "all of"
    LARGEST = "any of"
    ATTEMPTS = "attempts"


class DerivedScore(msgspec.Struct, frozen=True):
    """How a score is made of the values of a row."""

    name: str
    paths: tuple[str, ...]
    join: Join  # of several values
    points: Mapping[str, float | None]  # value -> number; empty without ``map:``
    missing: frozenset[str]  # values that mean not judged

    def of(self, row: Mapping[str, JsonValue], at: str) -> JsonValue:
        """Make the score of a row; None if it was not judged.

        Raises
        ------
        ShapeError
            If ``map:`` has no number for a value, or one of several values is no number.
        """
        values = [self._number(lookup(row, path), at) for path in self.paths]
        if self.join is Join.ATTEMPTS:
            return values
        if len(values) == 1:
            return values[0]
        if any(value is None for value in values):
            return None
        numbers: list[float] = []
        for path, value in zip(self.paths, values, strict=True):
            if not isinstance(value, int | float):
                raise self._no_number(path, value, at)
            numbers.append(value)
        return min(numbers) if self.join is Join.LEAST else max(numbers)

    def _number(self, value: JsonValue, at: str) -> JsonValue:
        """Take a value as ``map:`` and ``missing:`` say; each of a list of attempts."""
        if isinstance(value, list) and len(self.paths) == 1:
            return [self._number(verdict, at) for verdict in value]
        text = value_text(value)
        if text in self.missing:
            return None
        if not self.points:
            return value
        if value is None and "null" not in self.points:
            return None
        key = self._key(value, text)
        if key not in self.points:
            raise self._no_points(value, key, at)
        return self.points[key]

    def _key(self, value: JsonValue, text: str) -> str:
        """Return the key of ``map:`` for a value; 1.000 is the code 1."""
        if text in self.points or not isinstance(value, str):
            return text
        number = approximate(text)
        return value_text(number) if math.isfinite(number) else text

    def _no_points(self, value: JsonValue, text: str, at: str) -> ShapeError:
        """Make the error of a value that ``map:`` has no number for."""
        guess = did_you_mean(text, self.points, what="it has")
        message = f"no number for {short(text)}; {guess}"
        entry = f"map: {{{self.name}: {{{json.dumps(text)[:_SHOWN]}: null}}}}"
        hint = f"add it, or null where it is none: {entry}"
        if isinstance(value, int | float) and not self._worths:
            unjudged = ", ".join(self.points)
            hint = f"numbers that mean not judged are missing: [{unjudged}]"
        return _error(at, ("map", self.name), message, hint)

    def _no_number(self, path: str, value: JsonValue, at: str) -> ShapeError:
        """Make the error of a value that is no number among several of a row."""
        message = f"{path!r} is {short(value_text(value))}; expected a number"
        hint = f"say what texts are worth: map: {{{self.name}: {{TEXT: NUMBER}}}}"
        return _error(at, ("fields", self.name), message, hint)

    @property
    def _worths(self) -> list[float]:
        """The numbers of ``map:``; none where it only says what was not judged."""
        return [worth for worth in self.points.values() if worth is not None]

    @property
    def ruler(self) -> list[tuple[str, str, str]]:
        """The numbers behind values, which are part of what measures."""
        entries = []
        if self.points:
            label = f"map {self.name}"
            points = json.dumps(self.points, sort_keys=True)
            entries += [(label, "values", points), (label, "scores", self.name)]
        if self.missing:
            label = f"missing {self.name}"
            values = json.dumps(sorted(self.missing))
            entries += [(label, "values", values), (label, "scores", self.name)]
        if len(self.paths) > 1:
            label = self.join.value
            paths = json.dumps(self.paths)
            entries += [(label, "fields", paths), (label, "scores", self.name)]
        return entries


def derived_scores(spec: RolloutsSpec) -> list[DerivedScore]:
    """List the scores of a benchmark's rows that are derived from values."""
    names = dict.fromkeys((*spec.map, *spec.missing, *spec.fields.joint))
    return [_derived(name, spec) for name in names]


def _derived(name: str, spec: RolloutsSpec) -> DerivedScore:
    path = _path(name, spec.fields)
    return DerivedScore(
        name=name,
        paths=path.paths if isinstance(path, JointField) else (path,),
        join=_join_of(path),
        points=spec.map.get(name, {}),
        missing=frozenset(map(value_text, spec.missing.get(name, ()))),
    )


def _join_of(path: str | JointField) -> Join:
    if isinstance(path, JointField) and path.attempts is not None:
        return Join.ATTEMPTS
    if isinstance(path, JointField) and path.all is not None:
        return Join.LEAST
    return Join.LARGEST


def _path(name: str, fields: FieldMap) -> str | JointField:
    path = fields.reward if name == "reward" else None
    return path or fields.scores.get(name) or name


def _error(at: str, key: tuple[str, ...], message: str, hint: str) -> ShapeError:
    return ShapeError(f"{at}: {': '.join(key)}: {message}", key=key, hint=hint)
