"""Errors that plain rows state, and the scores beside them that nobody judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.layout import shortened
from pytest_evalmetrics.rollouts.loader import Failure
from pytest_evalmetrics.rollouts.not_judged import (
    FAILURE_CLASS,
    SIGNS,
    error_in,
    is_verdict,
    judged,
)
from pytest_evalmetrics.rollouts.row_schema import NULL, Node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.rollouts.loader import Chunk

_SHOWN: Final = 160  # characters of an error's message
_ERROR: Final = "error"
_PARTS: Final = ("error.type", "error.message")  # of an error that is an object


class ErrorSigns:
    """The places in rows that may state an error, see `not_judged`."""

    def __init__(self, root: Node) -> None:
        self._places: dict[str, list[Node]] = {}
        for path in (*SIGNS, *_PARTS):
            nodes = _declared(root, path)
            if nodes:
                self._places[path] = nodes

    def void(
        self,
        chunk: Chunk,
        rewards: Sequence[str],
        values_at: Callable[[Sequence[Node]], Sequence[Any]],
    ) -> Chunk:
        """Void the scores of rows that state an error, where no reward shows a judgement."""
        rewards = [name for name in rewards if name in chunk.scores]
        if not rewards or not self._is_met():
            return chunk
        columns = {name: np.array(column) for name, column in chunk.scores.items()}
        failures: list[Failure] = []
        retried: list[int] = []
        for row, signs in self._signs_of_rows(values_at):
            error = error_in(signs)
            if error is None:
                continue
            scores = _scores_of(columns, row)
            kept = judged(scores, error, rewards)
            for name, value in scores.items():
                # beside a judged zero, other numbers may be counts of the rollout
                if kept[name] is None and (error.voids or not value):
                    columns[name][row] = np.nan
            graded = any(is_verdict(kept[name]) for name in rewards)
            message = shortened(" ".join(error.message.split()), _SHOWN)
            failures.append(Failure(row, error.kind, message, graded))
            if signs.get(FAILURE_CLASS) is not None:
                retried.append(row)
        if not failures:
            return chunk
        return structs.replace(
            chunk,
            scores=columns,
            failures=[*chunk.failures, *failures],
            retried=[*chunk.retried, *retried],
        )

    def _is_met(self) -> bool:
        """Check whether any row so far has more than null at one of the places."""
        nodes = [node for places in self._places.values() for node in places]
        return any(node.kinds & ~NULL for node in nodes)

    def _signs_of_rows(
        self, values_at: Callable[[Sequence[Node]], Sequence[Any]]
    ) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Yield the rows that have a value at one of the places, with these values."""
        columns = {path: values_at(nodes) for path, nodes in self._places.items()}
        for row, values in enumerate(zip(*columns.values(), strict=True)):
            if any(value is not None for value in values):
                yield row, _whole(dict(zip(columns, values, strict=True)))


def _whole(signs: dict[str, Any]) -> dict[str, Any]:
    """Put an object back together of which only the parts were decoded."""
    error = signs.get(_ERROR)
    if isinstance(error, msgspec.Struct) and not error.__struct_config__.array_like:
        parts = {path.removeprefix(f"{_ERROR}."): signs.get(path) for path in _PARTS}
        stated = {name: value for name, value in parts.items() if value is not None}
        signs[_ERROR] = stated or True
    return signs


def _declared(root: Node, path: str) -> list[Node]:
    """Declare a place to be read, unless what holds it is read as text."""
    holder = root.fields.get(path.partition(".")[0])
    if holder is not None and holder.whole:
        return []
    nodes = root.declare(path)
    for node in nodes:
        node.wanted = True
    return nodes


def _scores_of(
    columns: Mapping[str, NDArray[np.float64]], row: int
) -> dict[str, float]:
    return {name: float(column[row]) for name, column in columns.items()}
