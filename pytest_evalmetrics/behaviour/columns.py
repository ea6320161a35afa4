"""The fingerprints of many rollouts as columns of a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.behaviour.fingerprint import NUMBERS, fingerprint_of
from pytest_evalmetrics.behaviour.sketches import sketch
from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.model.rollout_table import Category

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from pytest_evalmetrics.model.comparison import Floats
    from pytest_evalmetrics.model.rollout_table import RolloutTable
    from pytest_evalmetrics.transcripts.turns import Turn

#: The columns of texts: sequences of calls, languages, reasons of the end, sketches.
CALLS: Final = "calls"
LANGUAGE: Final = "language"
STOP: Final = "stop"
ANSWER: Final = "answer"
#: The column of numbers that tells the run of each row of a baseline.
RUN: Final = "(run)"
TEXTS: Final = (CALLS, LANGUAGE, STOP, ANSWER)


class OwnFeature(msgspec.Struct, frozen=True):
    """A feature that is not built in."""

    name: str
    function: Callable[[Sequence[Turn]], float | bool | None]


class Observer:
    """Collects what each row of a table does; a row without a transcript does nothing.

    Attributes
    ----------
    numbers
        One column a number, shape (rows,); NaN where a row has no transcript.
    texts
        One list a column of texts, of so many rows; empty where a row has none.
    unread
        How many of the observed rows have no transcript.

    Parameters
    ----------
    rows
        How many there are.
    own
        The features that are not built in.
    sketched
        The places whose answers are kept; None for all.
    kept
        What is kept of an answer; default a sketch.
    """

    def __init__(
        self,
        rows: int,
        own: Sequence[OwnFeature] = (),
        sketched: Collection[int] | None = None,
        kept: Callable[[str], str] = sketch,
    ) -> None:
        self._own = own
        self._kept = kept
        self._sketched = range(rows) if sketched is None else sketched
        names = (*NUMBERS, *(feature.name for feature in own))
        self.numbers: dict[str, Floats] = {
            name: np.full(rows, np.nan) for name in names
        }
        self.texts: dict[str, list[str]] = {name: [""] * rows for name in TEXTS}
        self.unread = 0

    def observe(self, place: int, turns: Sequence[Turn], *, where: str = "") -> None:
        """Add the conversation of the row at a place."""
        if not any(turn.role == "assistant" for turn in turns):
            self.unread += 1
            return
        seen = fingerprint_of(turns)
        for name, number in zip(NUMBERS, seen.numbers, strict=True):
            self.numbers[name][place] = number
        self.texts[CALLS][place] = seen.calls
        self.texts[LANGUAGE][place] = seen.language
        self.texts[STOP][place] = seen.stop
        if place in self._sketched:
            self.texts[ANSWER][place] = self._kept(seen.answer)
        for feature in self._own:
            self.numbers[feature.name][place] = _own_number(feature, turns, where)


def _own_number(feature: OwnFeature, turns: Sequence[Turn], where: str) -> float:
    """Ask a user's feature; None means that it has no value for this rollout."""
    try:
        number = feature.function(tuple(turns))
    except Exception as error:  # of a user's function
        raise DataError(
            f"the behaviour {feature.name!r} failed for {where or 'a row'}: "
            f"{type(error).__name__}: {error}",
            hint="it is called with the turns of a rollout, and returns a number or None",
        ) from error
    if number is None:
        return math.nan
    if not isinstance(number, bool | int | float):
        raise DataError(
            f"the behaviour {feature.name!r} returned {number!r} for {where or 'a row'}, "
            "expected a number, true, false or None"
        )
    return float(number)


def observed_of(table: RolloutTable, observer: Observer) -> RolloutTable:
    """Return a table of the same rollouts whose columns are what they do."""
    return with_columns(table, observer.numbers, observer.texts)


def with_columns(
    table: RolloutTable,
    numbers: Mapping[str, Floats],
    texts: Mapping[str, Sequence[str]],
) -> RolloutTable:
    """Replace a table's columns by those of behaviour."""
    return structs.replace(
        table,
        scores=dict(numbers),
        integers=frozenset(),
        categories={name: _coded(column) for name, column in texts.items()},
    )


def _coded(column: Sequence[str]) -> Category:
    codes = {label: code for code, label in enumerate(dict.fromkeys(column))}
    return Category(
        codes=np.array([codes[label] for label in column], dtype=np.int32),
        labels=tuple(codes),
    )


def texts_of(table: RolloutTable, name: str) -> list[str]:
    """Return a column of texts, one for each row."""
    category = table.categories[name]
    return [category.labels[code] for code in category.codes.tolist()]
