"""The scores of a table's rows as columns, and the reward among them."""

from __future__ import annotations

import math
from array import array
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.model.rollout_table import STATED

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from pytest_evalmetrics.model.metric_facts import DirectionName
    from pytest_evalmetrics.rollouts.loader import Chunk, Request


class TableScores:
    """The columns of numbers, NaN where a row has none, and what files say of them."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._rows = 0
        # by name, and whether of the usage
        self._columns: dict[tuple[str, bool], array[float]] = {}
        # names with a value that is written as a fraction
        self._fractional: set[str] = set()
        # the scores in place of a reward; None if no file is of a format without one
        self._rewards: dict[str, None] | None = None
        # what measures: the scorer's name, a setting and its value
        self._ruler: dict[tuple[str, str, str], None] = {}
        self.directions: dict[str, DirectionName] = {}

    @property
    def columns(self) -> Collection[tuple[str, bool]]:
        """The columns by name, and whether they are of the usage."""
        return self._columns.keys()

    def add(self, chunk: Chunk) -> None:
        """Lengthen each column; those that a chunk does not have by missing numbers."""
        rows = len(chunk.places)
        added: set[tuple[str, bool]] = set()
        for numbers_of, is_usage in ((chunk.scores, False), (chunk.usage, True)):
            for name, numbers in numbers_of.items():
                added.add((name, is_usage))
                self._extend((name, is_usage), numbers)
        for key in self._columns.keys() - added:
            self._columns[key].frombytes(_missing(rows).tobytes())
        self._rows += rows
        self._fractional |= chunk.fractional
        self._ruler.update(dict.fromkeys(chunk.ruler))
        self.directions |= chunk.directions
        if chunk.rewards is not None:
            self._rewards = self._rewards or {}
            self._rewards.update(dict.fromkeys(chunk.rewards))

    def _extend(self, key: tuple[str, bool], numbers: NDArray[np.float64]) -> None:
        if key not in self._columns:
            self._columns[key] = array("d", _missing(self._rows).tobytes())
        self._columns[key].frombytes(np.asarray(numbers, np.float64).tobytes())

    def merged(self) -> dict[str, NDArray[np.float64]]:
        """Get the scores, then the usage, which wins over a score of the same name."""
        of_usage = {name for name, is_usage in self._columns if is_usage}
        scores: dict[str, NDArray[np.float64]] = {}
        for name, is_usage in self._columns:
            if not is_usage and name not in of_usage:
                scores[name] = np.frombuffer(self._columns[name, False])
        for name, is_usage in self._columns:
            if not is_usage:
                continue
            numbers = np.frombuffer(self._columns[name, True])
            if (name, False) in self._columns:
                score = np.frombuffer(self._columns[name, False])
                numbers = np.where(np.isnan(numbers), score, numbers)
            scores[name] = numbers
        return scores

    def with_missing(
        self, scores: dict[str, NDArray[np.float64]]
    ) -> dict[str, NDArray[np.float64]]:
        """Add the needed scores of a format without a reward, if all of its rows failed."""
        has_scores = any(not is_usage for _, is_usage in self._columns)
        if self._rewards is None or has_scores:
            return scores
        missing = dict.fromkeys(self._request.scores, _missing(self._rows))
        return {**missing, **scores}

    def add_reward(
        self, scores: dict[str, NDArray[np.float64]], file: str | None
    ) -> None:
        """Let the only score of a format that has no reward be the reward."""
        is_named = self._request.fields.reward is not None
        is_wanted = "reward" in self._request.scores and not is_named
        if not self._rewards or "reward" in scores or not is_wanted:
            return
        if len(self._rewards) > 1:
            raise DataError(
                "several scores could be the reward: " + ", ".join(self._rewards),
                file=file,
                hint=f"say which: `reward: {next(iter(self._rewards))}`, beside rollouts",
            )
        for name in self._rewards:
            self._take_as_reward(name, scores, file)

    def _take_as_reward(
        self, name: str, scores: dict[str, NDArray[np.float64]], file: str | None
    ) -> None:
        """Add a score as the reward, with what a file states of it, and what measures it."""
        if self.directions.get(name) == "lower":
            message = f"the only score is {name!r}, and of a reward more is better"
            hint = (
                f"write `reward: {name}` beside rollouts, and a baseline's `direction:`"
            )
            raise DataError(message, file=file, hint=hint)
        if name in self._fractional:
            self._fractional.add("reward")
        for prefix in ("", *STATED):
            if prefix + name in scores:
                scores[prefix + "reward"] = scores[prefix + name]
        for scorer, key, score in list(self._ruler):
            if (key, score) == ("scores", name):
                self._ruler.setdefault((scorer, "scores", "reward"))

    def integers(self, scores: Mapping[str, NDArray[np.float64]]) -> frozenset[str]:
        """List the scores whose values are all whole, as they are written."""
        return frozenset(
            name
            for name, column in scores.items()
            if name not in self._fractional and not np.isnan(column).any()
        )

    def ruler(self) -> dict[str, dict[str, list[str]]]:
        """Group what measures: scorer -> setting -> values."""
        ruler: dict[str, dict[str, list[str]]] = {}
        for scorer, key, value in sorted(self._ruler):
            ruler.setdefault(scorer, {}).setdefault(key, []).append(value)
        return ruler

    def in_order(
        self,
        scores: dict[str, NDArray[np.float64]],
        order: NDArray[np.int64] | slice,
    ) -> dict[str, NDArray[np.float64]]:
        """Sort the columns, and let each go at once: there is never a copy of them all."""
        ordered: dict[str, NDArray[np.float64]] = {}
        for name in tuple(scores):
            ordered[name] = scores.pop(name)[order]
            for is_usage in (False, True):
                self._columns.pop((name, is_usage), None)
        return ordered


def _missing(rows: int) -> NDArray[np.float64]:
    return np.full(rows, math.nan)
