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
    yield from _of_numbers(before, now)
    then = _sequences(before)
    today = _sequences(now)
    ranked = _ranked_tools(then, today)
    yield from _of_tools(then, today, ranked[:_TOOLS])
    yield from _of_shapes(then, today, ranked[:_TOOLS])
    yield from _of_orders(then, today, ranked[:_ORDERED])
    yield from _of_labels(before, now, FeatureKind.LANGUAGE, LANGUAGE)
    yield from _of_labels(before, now, FeatureKind.STOP, STOP)


def _of_numbers(before: RolloutTable, now: RolloutTable) -> Iterator[Feature]:
    for name, numbers in now.scores.items():
        if name not in before.scores:
            continue
        kind = FeatureKind.NUMBER
        if name in RATES:
            kind = FeatureKind.RATE
        yield Feature(kind, name, before=before.scores[name], now=numbers)


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

    def counted(self) -> Iterator[tuple[tuple[SeenCall, ...], int]]:
        """Yield each distinct sequence, and how many rollouts have it."""
        counts = np.bincount(self.codes, minlength=len(self.distinct))
        yield from zip(self.distinct, counts.tolist(), strict=True)

    def rollouts_of(self) -> Counter[str]:
        """Count the rollouts that call each tool."""
        rollouts: Counter[str] = Counter()
        for calls, count in self.counted():
            for name in {call.name for call in calls}:
                rollouts[name] += count
        return rollouts

    def shapes_of(self, tool: str) -> Counter[str]:
        """Count the shapes of a tool's arguments."""
        shapes: Counter[str] = Counter()
        for calls, count in self.counted():
            for call in calls:
                if call.name == tool:
                    shapes[call.shape] += count
        return shapes


def _sequences(table: RolloutTable) -> _Sequences:
    category = table.categories[CALLS]
    return _Sequences(
        codes=category.codes,
        distinct=[seen_calls(label) for label in category.labels],
        is_read=_is_read(table),
    )


def _is_read(table: RolloutTable) -> Floats:
    """Return 1 for each rollout with a transcript, and NaN for the others."""
    return np.where(np.isnan(table.scores[NUMBERS[0]]), np.nan, 1.0)


def _ranked_tools(then: _Sequences, today: _Sequences) -> list[str]:
    """Return the tools, those that most rollouts of both sides call first."""
    rollouts = then.rollouts_of() + today.rollouts_of()
    return sorted(rollouts, key=lambda tool: (-rollouts[tool], tool))


def _of_tools(
    then: _Sequences, today: _Sequences, tools: Sequence[str]
) -> Iterator[Feature]:
    for tool in tools:
        calls = _calls(tool)
        yield Feature(
            FeatureKind.TOOL, tool, before=then.column(calls), now=today.column(calls)
        )


def _of_shapes(
    then: _Sequences, today: _Sequences, tools: Sequence[str]
) -> Iterator[Feature]:
    """Compare the usual shape of a tool's arguments, where it has several."""
    for tool in tools:
        shapes_today = today.shapes_of(tool)
        shapes = then.shapes_of(tool) or shapes_today
        if len({*shapes, *shapes_today}) < _FEWEST:
            continue
        usual = max(shapes, key=lambda shape: (shapes[shape], shape))
        has_shape = _has_shape(tool, usual)
        yield Feature(
            FeatureKind.SHAPE,
            tool,
            before=then.column(has_shape),
            now=today.column(has_shape),
        )


def _of_orders(
    then: _Sequences, today: _Sequences, tools: Sequence[str]
) -> Iterator[Feature]:
    for first, second in combinations(sorted(tools), 2):
        is_before = _is_before(first, second)
        yield Feature(
            FeatureKind.ORDER,
            first,
            before=then.column(is_before),
            now=today.column(is_before),
            second=second,
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


def _of_labels(
    before: RolloutTable, now: RolloutTable, kind: FeatureKind, column: str
) -> Iterator[Feature]:
    for label in _labels(before, now, column):
        yield Feature(
            kind,
            label,
            before=_has_label(before, column, label),
            now=_has_label(now, column, label),
        )


def _has_label(table: RolloutTable, column: str, label: str) -> Floats:
    category = table.categories[column]
    values = np.array([float(other == label) for other in category.labels])
    labelled: Floats = values[category.codes] * _is_read(table)
    return labelled
