"""The features that two runs are compared by, made of the columns of both."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from pytest_evalmetrics.behaviour.columns import CALLS, LANGUAGE, STOP
from pytest_evalmetrics.behaviour.fingerprint import NUMBERS, RATES, seen_calls
from pytest_evalmetrics.model.behaviour import FeatureKind
from pytest_evalmetrics.transcripts.turns import LENGTH as _LENGTH
from pytest_evalmetrics.transcripts.turns import STOP as _STOP

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from pytest_evalmetrics.behaviour.fingerprint import SeenCall
    from pytest_evalmetrics.model.comparison import Floats
    from pytest_evalmetrics.model.rollout_table import RolloutTable

    Codes: TypeAlias = NDArray[np.int32]

_TOOLS: Final = 20  # the most frequent ones
_ORDERED: Final = 6  # tools whose order is compared, pair by pair
_LABELS: Final = 4  # languages, and reasons of the end
_FEWEST: Final = 2  # shapes of a tool's arguments that can be told apart


class Feature(msgspec.Struct, frozen=True):
    """A feature on both sides: a column each, NaN where a rollout has no value."""

    kind: FeatureKind
    name: str
    before: Floats
    now: Floats
    second: str = ""

    @property
    def is_rate(self) -> bool:
        """Whether each value is 0 or 1."""
        return self.kind is not FeatureKind.NUMBER


def features_of(before: RolloutTable, now: RolloutTable) -> Iterator[Feature]:
    """Make the features of two tables of behaviour, those of numbers first."""
    for name, numbers in now.scores.items():
        if name not in before.scores:
            continue
        kind = FeatureKind.NUMBER
        if name in RATES:
            kind = FeatureKind.RATE
        yield Feature(kind, name, before.scores[name], numbers)
    yield from _of_tools(before, now)
    for kind, column in ((FeatureKind.LANGUAGE, LANGUAGE), (FeatureKind.STOP, STOP)):
        for label in _labels(before, now, column):
            yield Feature(
                kind,
                label,
                _is_label(before, column, label),
                _is_label(now, column, label),
            )


# -- tools -----------------------------------------------------------------------------------


class _Sequences(msgspec.Struct, frozen=True):
    """The calls of a side: each distinct sequence once."""

    codes: Codes
    distinct: Sequence[tuple[SeenCall, ...]]
    is_read: Floats  # 1, or NaN for a rollout without a transcript

    def column(self, value: Callable[[tuple[SeenCall, ...]], float]) -> Floats:
        """Compute a column from each distinct sequence."""
        values = np.array([value(calls) for calls in self.distinct])
        column: Floats = values[self.codes] * self.is_read
        return column

    def rollouts_of(self) -> Counter[str]:
        """Count the rollouts that call each tool."""
        counts = np.bincount(self.codes, minlength=len(self.distinct))
        rollouts: Counter[str] = Counter()
        for calls, count in zip(self.distinct, counts.tolist(), strict=True):
            for name in {call.name for call in calls}:
                rollouts[name] += count
        return rollouts

    def shapes_of(self, tool: str) -> Counter[str]:
        """Count the shapes of a tool's arguments."""
        counts = np.bincount(self.codes, minlength=len(self.distinct))
        shapes: Counter[str] = Counter()
        for calls, count in zip(self.distinct, counts.tolist(), strict=True):
            for call in calls:
                if call.name == tool:
                    shapes[call.shape] += count
        return shapes


def _sequences(table: RolloutTable) -> _Sequences:
    category = table.categories[CALLS]
    return _Sequences(
        codes=category.codes,
        distinct=[seen_calls(label) for label in category.labels],
        is_read=np.where(np.isnan(table.scores[NUMBERS[0]]), np.nan, 1.0),
    )


def _of_tools(before: RolloutTable, now: RolloutTable) -> Iterator[Feature]:
    then = _sequences(before)
    today = _sequences(now)
    rollouts = then.rollouts_of() + today.rollouts_of()
    ranked = sorted(rollouts, key=lambda tool: (-rollouts[tool], tool))
    tools = ranked[:_TOOLS]
    for tool in tools:
        calls = _calls(tool)
        yield Feature(FeatureKind.TOOL, tool, then.column(calls), today.column(calls))
    for tool in tools:
        shapes = then.shapes_of(tool) or today.shapes_of(tool)
        if len({*shapes, *today.shapes_of(tool)}) >= _FEWEST:
            usual = max(shapes, key=lambda shape: (shapes[shape], shape))
            has_shape = _has_shape(tool, usual)
            yield Feature(
                FeatureKind.SHAPE,
                tool,
                then.column(has_shape),
                today.column(has_shape),
            )
    for first, second in combinations(sorted(ranked[:_ORDERED]), 2):
        is_before = _is_before(first, second)
        yield Feature(
            FeatureKind.ORDER,
            first,
            then.column(is_before),
            today.column(is_before),
            second,
        )


def _calls(tool: str) -> Callable[[tuple[SeenCall, ...]], float]:
    return lambda calls: float(any(call.name == tool for call in calls))


def _has_shape(tool: str, usual: str) -> Callable[[tuple[SeenCall, ...]], float]:
    def value(calls: tuple[SeenCall, ...]) -> float:
        shapes = {call.shape for call in calls if call.name == tool}
        if not shapes:
            return math.nan
        return float(shapes == {usual})

    return value


def _is_before(first: str, second: str) -> Callable[[tuple[SeenCall, ...]], float]:
    """Whether the first call of one tool comes before that of another."""

    def value(calls: tuple[SeenCall, ...]) -> float:
        names = [call.name for call in calls]
        if first not in names or second not in names:
            return math.nan
        return float(names.index(first) < names.index(second))

    return value


# -- labels ----------------------------------------------------------------------------------


def _labels(before: RolloutTable, now: RolloutTable, column: str) -> list[str]:
    """Choose the labels that are compared: the most frequent but one, which is the rest."""
    counts: Counter[str] = Counter()
    for table in (before, now):
        category = table.categories[column]
        sizes = np.bincount(category.codes, minlength=len(category.labels)).tolist()
        for label, size in zip(category.labels, sizes, strict=True):
            counts[label] += size
    ranked = sorted(counts, key=lambda label: (-counts[label], label))
    # `truncated` counts those that end at a limit, and empty labels are unknown
    left_out = ("", _STOP, _LENGTH)
    chosen = [label for label in ranked if label not in left_out and counts[label]]
    if column == LANGUAGE and len(chosen) == 1:
        return chosen  # against no language
    return chosen[:_LABELS]


def _is_label(table: RolloutTable, column: str, label: str) -> Floats:
    category = table.categories[column]
    values = np.array([float(other == label) for other in category.labels])
    is_read = np.where(np.isnan(table.scores[NUMBERS[0]]), np.nan, 1.0)
    found: Floats = values[category.codes] * is_read
    return found
