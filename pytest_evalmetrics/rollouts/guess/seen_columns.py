"""The values of rows by their paths."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, Final

import msgspec

from pytest_evalmetrics.rollouts.guess.verdict_words import meaning
from pytest_evalmetrics.rollouts.number_texts import approximate, is_number_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_evalmetrics.json_types import JsonValue

_DEPTH: Final = 8  # of the examined keys
_MOST: Final = 2000  # columns that are examined
_FEW: Final = 0.2  # of the values are words among numbers
_STRANGE: Final = 3  # different ones
_MOSTLY: Final = 0.8  # of the values occur several times
_HALF: Final = 0.5
_WORDS: Final = 3  # of a label at most
_LABEL: Final = 60  # characters of a label at most
_hash = re.compile(r"[0-9a-f]{8,}", re.IGNORECASE).fullmatch
_time = re.compile(
    r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d.*)?|1[0-9]{9}(\.\d+)?|1[0-9]{12}|\d{8}T\d{6}Z?"
).fullmatch
_random_id = re.compile(
    r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{24,}|[0-9A-HJKMNP-TV-Z]{26}|"
    r"(?=.*\d)(?=.*[A-Za-z])[A-Za-z0-9_-]{20,}",
    re.IGNORECASE,
).fullmatch


class SeenColumn(msgspec.Struct, frozen=True, dict=True):
    """The values at one path of the rows; None where a row has none."""

    path: str
    values: Sequence[JsonValue]

    @cached_property
    def given(self) -> list[JsonValue]:
        """The values that are there."""
        return [value for value in self.values if value is not None]

    @cached_property
    def texts(self) -> list[str]:
        """The values as texts, which tell 1 and 1.0 apart."""
        return [str(value) for value in self.values]

    @cached_property
    def distinct(self) -> int:
        """The number of different values, of which None is one."""
        return len(set(self.texts))

    @cached_property
    def is_full(self) -> bool:
        """Whether each row has a value."""
        return len(self.given) == len(self.values)

    @cached_property
    def is_unique(self) -> bool:
        """Whether each row has a value of its own."""
        return self.is_full and self.distinct == len(self.values)

    @cached_property
    def recurs(self) -> bool:
        """Whether each value occurs several times, and all equally often."""
        counts = set(Counter(self.texts).values())
        return len(counts) == 1 and counts.pop() > 1

    @cached_property
    def mostly_recurs(self) -> bool:
        """Whether most values occur several times, as where a few attempts got lost."""
        counts = Counter(self.texts).values()
        several = sum(count > 1 for count in counts)
        return several >= _MOSTLY * len(counts)

    @cached_property
    def are_prose(self) -> bool:
        """Whether most values are texts of several words or of some length, not labels."""
        texts = [value for value in self.given if isinstance(value, str)]
        prose = [text for text in texts if _is_prose(text)]
        return len(prose) > _HALF * len(self.given)

    @cached_property
    def is_random(self) -> bool:
        """Whether the values look like ids that were drawn at random, or like hashes."""
        texts = [value for value in self.given if isinstance(value, str)]
        if len(texts) < len(self.given):
            return False
        return all(map(_random_id, texts)) or _are_hashes(texts)

    @cached_property
    def are_times(self) -> bool:
        """Whether all values are times: ISO 8601, or seconds or milliseconds since 1970."""
        return bool(self.given) and all(map(_is_time, map(str, self.given)))

    @cached_property
    def similar(self) -> tuple[str, str] | None:
        """Two values that differ in blanks, case or the form of their accents alone."""
        first: dict[str, str] = {}
        for text in dict.fromkeys(self.texts):
            form = unicodedata.normalize("NFKC", text).casefold().strip()
            before = first.setdefault(form, text)
            if before != text:
                return before, text
        return None

    @cached_property
    def are_ids(self) -> bool:
        """Whether all values are texts or whole numbers."""
        return bool(self.given) and all(
            type(value) in (int, str) for value in self.given
        )

    @cached_property
    def are_texts(self) -> bool:
        """Whether all values are texts."""
        return bool(self.given) and all(isinstance(value, str) for value in self.given)

    @cached_property
    def are_lists(self) -> bool:
        """Whether all values are lists of single values."""
        return bool(self.given) and all(isinstance(value, list) for value in self.given)

    @cached_property
    def gaps(self) -> tuple[str, ...]:
        """The words among numbers that say that nobody judged, such as ``N/A``."""
        texts = {value for value in self.given if isinstance(value, str)}
        return tuple(sorted(text for text in texts if meaning(text).is_not_judged))

    @cached_property
    def strange_words(self) -> tuple[str, ...]:
        """The few words among numbers of which nothing is known, such as ``#DIV/0!``."""
        words = [
            value
            for value in self.given
            if isinstance(value, str) and not is_number_text(value)
        ]
        distinct = tuple(sorted(set(words) - set(self.gaps)))
        are_few = len(words) <= _FEW * len(self.given) and len(distinct) <= _STRANGE
        return distinct if are_few else ()

    @cached_property
    def numbers(self) -> list[float] | None:
        """The values as numbers, texts such as ``85 %`` included; None if some are none.

        The words of `gaps` are left out.
        """
        numbers: list[float] = []
        for value in self.given:
            if value in self.gaps:
                continue
            if isinstance(value, int | float):
                numbers.append(float(value))
            elif isinstance(value, str) and is_number_text(value):
                numbers.append(approximate(value))
            else:
                return None
        return numbers or None


def _is_time(text: str) -> bool:
    return bool(_time(text))


def _is_prose(text: str) -> bool:
    return len(text) > _LABEL or len(text.split()) > _WORDS


def _are_hashes(texts: Sequence[str]) -> bool:
    """Check for hexadecimal digits of one length, letters among them in most."""
    if len(set(map(len, texts))) != 1 or not all(map(_hash, texts)):
        return False
    mixed = [text for text in texts if not text.isdecimal() and not text.isalpha()]
    return len(mixed) > _HALF * len(texts)


def seen_columns(rows: Sequence[Mapping[str, JsonValue]]) -> dict[str, SeenColumn]:
    """Collect the values of rows by their paths, those at the top first."""
    columns: dict[str, list[JsonValue]] = {}
    for number, row in enumerate(rows):
        for path, value in _flattened(row, "", 1):
            if path not in columns:
                if len(columns) == _MOST:
                    continue
                columns[path] = [None] * len(rows)
            columns[path][number] = value
    return {
        path: SeenColumn(path=path, values=values) for path, values in columns.items()
    }


def _finite(value: JsonValue) -> JsonValue:
    """Take NaN, infinity and numbers that no float64 holds as missing, as they count later."""
    if not isinstance(value, int | float):
        return value
    try:
        return value if math.isfinite(value) else None
    except OverflowError:
        return None


def _flattened(
    row: Mapping[str, JsonValue], above: str, depth: int
) -> Iterator[tuple[str, JsonValue]]:
    inner = []
    for key, value in row.items():
        path = above + key
        if isinstance(value, dict):
            inner.append((f"{path}.", value))
        elif isinstance(value, list):
            if value and not any(isinstance(part, dict | list) for part in value):
                yield path, [_finite(part) for part in value]
        else:
            yield path, _finite(value)
    for path, holder in inner if depth < _DEPTH else ():
        yield from _flattened(holder, path, depth + 1)
