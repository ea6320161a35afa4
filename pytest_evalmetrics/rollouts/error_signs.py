"""Errors that plain rows state, and the scores beside them that nobody judged."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.layout import shortened
from pytest_evalmetrics.rollouts.loader import Failure
from pytest_evalmetrics.rollouts.not_judged import (
    FAILURE_CLASS,
    SIGNS,
    SIGNS_BESIDE,
    error_in,
    is_verdict,
    judged,
)
from pytest_evalmetrics.rollouts.row_schema import NULL, Node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.json_types import JsonObject, JsonValue
    from pytest_evalmetrics.rollouts.loader import Chunk
    from pytest_evalmetrics.rollouts.not_judged import RolloutError
    from pytest_evalmetrics.rollouts.row_schema import Decoded

_SHOWN: Final = 160  # characters of an error's message
_ERROR: Final = "error"
_PARTS: Final = ("error.type", "error.message")  # of an error that is an object


class _Holder(msgspec.Struct, frozen=True):
    """An object in a row that may state an error: the row itself, or what holds a score."""

    #: The places that may state an error, by their paths within it.
    places: Mapping[str, list[Node]]
    #: The scores that it holds; None for the row, which holds all.
    scores: frozenset[str] | None

    def holds(self, score: str) -> bool:
        """Check whether an error here is one of a score."""
        return self.scores is None or score in self.scores

    @property
    def is_met(self) -> bool:
        """Whether any row so far has more than null at one of the places."""
        nodes = chain.from_iterable(self.places.values())
        return any(node.kinds & ~NULL for node in nodes)

    def signs_of_rows(
        self, values_at: Callable[[Sequence[Node]], Sequence[Decoded]]
    ) -> Iterator[tuple[int, Mapping[str, JsonValue]]]:
        """Yield the rows that have a value at one of the places, with these values."""
        columns = {path: values_at(nodes) for path, nodes in self.places.items()}
        for row, values in enumerate(zip(*columns.values(), strict=True)):
            if any(value is not None for value in values):
                yield row, _whole(dict(zip(columns, values, strict=True)))


class ErrorSigns:
    """The places in rows that may state an error, see `not_judged`."""

    def __init__(self, root: Node, score_paths: Mapping[str, str]) -> None:
        """Declare the places; `score_paths` are those of the scores inside of objects."""
        self._holders = [_Holder(places=_places(root, ""), scores=None)]
        holders: dict[str, set[str]] = {}
        for score, path in score_paths.items():
            above = path.rpartition(".")[0]
            if above:
                holders.setdefault(above, set()).add(score)
        for above, scores in holders.items():
            places = _places(root, f"{above}.")
            self._holders.append(_Holder(places=places, scores=frozenset(scores)))

    def void(
        self,
        chunk: Chunk,
        rewards: Sequence[str],
        values_at: Callable[[Sequence[Node]], Sequence[Decoded]],
    ) -> Chunk:
        """Void the scores of rows that state an error, where no reward shows a judgement."""
        for holder in self._holders:
            chunk = _voided(chunk, holder, rewards, values_at)
        return chunk


def _voided(
    chunk: Chunk,
    holder: _Holder,
    rewards: Sequence[str],
    values_at: Callable[[Sequence[Node]], Sequence[Decoded]],
) -> Chunk:
    """Void the scores beside the errors of one kind of object."""
    held = [name for name in rewards if name in chunk.scores and holder.holds(name)]
    if not held or not holder.is_met:
        return chunk
    scores = _Scores(chunk, holder, held)
    failures: list[Failure] = []
    retried: list[int] = []
    for row, signs in holder.signs_of_rows(values_at):
        error = error_in(signs)
        if error is None:
            continue
        graded = scores.void(row, error)
        message = shortened(" ".join(error.message.split()), _SHOWN)
        failures.append(Failure(row, error.kind, message, graded))
        if signs.get(FAILURE_CLASS) is not None:
            retried.append(row)
    if not failures:
        return chunk
    return structs.replace(
        chunk,
        scores={**chunk.scores, **scores.columns},
        failures=[*chunk.failures, *failures],
        retried=[*chunk.retried, *retried],
    )


class _Scores:
    """Copies of a chunk's scores beside which an object may state errors."""

    def __init__(self, chunk: Chunk, holder: _Holder, rewards: Sequence[str]) -> None:
        self._rewards = rewards
        self.columns: dict[str, NDArray[np.float64]] = {}
        for name, column in chunk.scores.items():
            if holder.holds(name):
                self.columns[name] = np.array(column)

    def void(self, row: int, error: RolloutError) -> bool:
        """Void what nobody judged in a row with an error; return whether a reward is left."""
        scores = {name: float(column[row]) for name, column in self.columns.items()}
        kept = judged(scores, error, self._rewards)
        for name, value in scores.items():
            # beside a judged zero, other numbers may be counts of the rollout
            if kept[name] is None and (error.voids or not value):
                self.columns[name][row] = np.nan
        return any(is_verdict(kept[name]) for name in self._rewards)


def _places(root: Node, above: str) -> dict[str, list[Node]]:
    """Declare the places of errors: those of rows, or those beside a score in an object."""
    signs = SIGNS_BESIDE if above else SIGNS
    places = {path: _declared(root, f"{above}{path}") for path in (*signs, *_PARTS)}
    return {path: nodes for path, nodes in places.items() if nodes}


def _whole(signs: Mapping[str, Decoded]) -> dict[str, JsonValue]:
    """Put an object back together of which only the parts were decoded."""
    values: JsonObject = {
        path: value
        for path, value in signs.items()
        if not isinstance(value, msgspec.Struct | msgspec.Raw)
    }
    error = signs.get(_ERROR)
    if isinstance(error, msgspec.Struct) and not error.__struct_config__.array_like:
        stated: JsonObject = {}
        for path in _PARTS:
            part = values.get(path)
            if part is not None:
                stated[path.removeprefix(f"{_ERROR}.")] = part
        values[_ERROR] = stated or True
    return values


def _declared(root: Node, path: str) -> list[Node]:
    """Declare a place to be read, unless what holds it is read as text."""
    holder = root.fields.get(path.partition(".")[0])
    if holder is not None and holder.whole:
        return []
    nodes = root.declare(path)
    for node in nodes:
        node.wanted = True
    return nodes
