"""Objects of rows by number, which hold what describes them too: ``{"type": "GEN", "0": {}}``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.rollouts.name_words import word_set, words_of

if TYPE_CHECKING:
    from pytest_evalmetrics.json_types import JsonObject, JsonValue

_DESCRIPTIONS: Final = word_set(
    "type kind name title model dataset benchmark subset split version date timestamp "
    "created seed abbr accuracy score mean average total count num number samples"
)


def without_descriptions(value: JsonObject) -> JsonObject:
    """Leave out what describes an object of rows.

    Such an entry is a text or a number under a name such as `type`, where all others are objects
    under keys with digits. Anything else stays: a text in place of a row may be its error.
    """
    rows: JsonObject = {
        key: inner for key, inner in value.items() if isinstance(inner, dict)
    }
    if len(rows) < 2 or not all(map(_has_digit, rows)):
        return value
    for key, inner in value.items():
        if key not in rows and not _describes(key, inner):
            return value
    return rows


def _describes(key: str, value: JsonValue) -> bool:
    words = words_of(key)
    is_named = bool(words) and _DESCRIPTIONS.issuperset(words)
    return is_named and isinstance(value, str | int | float)


def _has_digit(key: str) -> bool:
    return any(map(str.isdecimal, key))
