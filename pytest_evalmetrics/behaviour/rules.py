"""Rules that each rollout has to keep: tools, sequences of calls, and limits of numbers."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from pytest_evalmetrics.behaviour.columns import CALLS
from pytest_evalmetrics.behaviour.fingerprint import NUMBERS, seen_calls
from pytest_evalmetrics.layout import in_natural_order
from pytest_evalmetrics.model.behaviour import RolloutRule, RuleKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.model.rollout_table import RolloutTable
    from pytest_evalmetrics.spec.behaviour_keys import BehaviourSpec

    Breaks = NDArray[np.bool_]  # shape (rows,)

_NAMED: Final = 10  # tasks


class Violations(msgspec.Struct, frozen=True):
    """How many rollouts break a rule."""

    rule: RolloutRule
    key: tuple[str | int, ...]  # of the benchmark file, below `behaviour`
    count: int
    rollouts: int  # that have a transcript
    tasks: tuple[str, ...]  # of rollouts that break it, the first ten
    task_count: int


def violations(spec: BehaviourSpec, table: RolloutTable) -> Iterator[Violations]:
    """Count the rollouts that break each rule of a benchmark file.

    Parameters
    ----------
    spec
        The rules.
    table
        The behaviour of one agent.
    """
    for rule, key, breaks in _rules(spec, table):
        is_read = ~np.isnan(table.scores[NUMBERS[0]])
        broken = np.flatnonzero(breaks & is_read)
        tasks = in_natural_order(
            str(table.tasks[at]) for at in np.unique(table.task[broken])
        )
        yield Violations(
            rule=rule,
            key=key,
            count=len(broken),
            rollouts=int(np.count_nonzero(is_read)),
            tasks=tuple(tasks[:_NAMED]),
            task_count=len(tasks),
        )


def _rules(
    spec: BehaviourSpec, table: RolloutTable
) -> Iterator[tuple[RolloutRule, tuple[str | int, ...], Breaks]]:
    calls = _Calls(table)
    for pattern in spec.tools.forbid:
        rule = RolloutRule(RuleKind.FORBIDDEN_TOOL, (pattern,))
        yield rule, ("tools", "forbid"), calls.which(_calls_any(pattern))
    for pattern in spec.tools.require:
        rule = RolloutRule(RuleKind.REQUIRED_TOOL, (pattern,))
        yield rule, ("tools", "require"), ~calls.which(_calls_any(pattern))
    for sequence in spec.sequences.forbid:
        rule = RolloutRule(RuleKind.FORBIDDEN_SEQUENCE, sequence)
        yield rule, ("sequences", "forbid"), calls.which(_calls_in_order(sequence))
    for sequence in spec.sequences.require:
        rule = RolloutRule(RuleKind.REQUIRED_SEQUENCE, sequence)
        yield rule, ("sequences", "require"), ~calls.which(_calls_in_order(sequence))
    for name, limit in spec.all_limits.items():
        key = spec.path_of(name)
        column = table.scores[name]
        if limit.max is not None:
            rule = RolloutRule(RuleKind.MOST, (name,), limit.max)
            yield rule, (*key, "max"), column > limit.max
        if limit.min is not None:
            rule = RolloutRule(RuleKind.LEAST, (name,), limit.min)
            yield rule, (*key, "min"), column < limit.min


class _Calls:
    """The sequences of calls of a table, each distinct one looked at once."""

    def __init__(self, table: RolloutTable) -> None:
        category = table.categories[CALLS]
        self._codes = category.codes
        self._distinct = [
            [call.name for call in seen_calls(label)] for label in category.labels
        ]

    def which(self, breaks: Callable[[Sequence[str]], bool]) -> Breaks:
        """Find the rows whose calls fulfil a condition."""
        values = np.array([breaks(names) for names in self._distinct], dtype=bool)
        found: Breaks = values[self._codes]
        return found


def _calls_any(pattern: str) -> Callable[[Sequence[str]], bool]:
    return lambda names: any(fnmatchcase(name, pattern) for name in names)


def _calls_in_order(sequence: Sequence[str]) -> Callable[[Sequence[str]], bool]:
    def fulfils(names: Sequence[str]) -> bool:
        place = 0
        for name in names:
            if place < len(sequence) and fnmatchcase(name, sequence[place]):
                place += 1
        return place == len(sequence)

    return fulfils
