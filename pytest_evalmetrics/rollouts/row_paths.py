"""Values of rows by their paths, and the errors where there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.errors import ShapeError, did_you_mean
from pytest_evalmetrics.rollouts.derived_scores import value_text
from pytest_evalmetrics.rollouts.json_values import lookup
from pytest_evalmetrics.rollouts.source import short

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_evalmetrics.json_types import JsonValue
    from pytest_evalmetrics.rollouts.file_documents import PlacedRow

LISTED: Final = 8  # values in a message


def single_value(row: PlacedRow, path: str, *key: str) -> JsonValue:
    """Read the text or the number at a path."""
    value = lookup(row.value, path)
    if value is None and path in paths_of(row.value):
        raise shape_error(
            row.at,
            key,
            f"{path!r} is null; expected text or a number",
            hint="name a field that each row has, or select rows with where:",
        )
    if value is None:
        raise no_path(path, [row], row.at, *key)
    if isinstance(value, dict | list):
        raise shape_error(
            row.at,
            key,
            f"{path!r} is {short(value_text(value))}; expected text or a number",
        )
    return value


def shape_error(
    at: str, key: tuple[str, ...], message: str, hint: str | None = None
) -> ShapeError:
    """Create the error for a key of the benchmark file that does not fit a file or a row."""
    return ShapeError(f"{at}: {': '.join(key[:2])}: {message}", key=key, hint=hint)


def no_path(path: str, rows: Sequence[PlacedRow], at: str, *key: str) -> ShapeError:
    """Create the error for a path that no row has."""
    names = dict.fromkeys(name for row in rows[:LISTED] for name in paths_of(row.value))
    guess = did_you_mean(path, names, what="a row has")
    at = rows[0].at if len(rows) == 1 else at
    return shape_error(at, key, f"no row has {path!r}; {guess}")


def paths_of(
    value: Mapping[str, JsonValue], above: str = "", depth: int = 3
) -> Iterator[str]:
    """List the paths of a row's values."""
    for name, inner in value.items():
        if isinstance(inner, dict) and inner and depth > 1:
            yield from paths_of(inner, f"{above}{name}.", depth - 1)
        else:
            yield f"{above}{name}"
