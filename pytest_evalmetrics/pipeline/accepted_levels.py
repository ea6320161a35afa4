"""Changes against a report or a history that a file of the repository accepts, once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics import gates
from pytest_evalmetrics.model.bounds import RuleBound, SingleTasksBound, SlicesBound
from pytest_evalmetrics.model.gate_notes import AcceptedBefore, AcceptedNow
from pytest_evalmetrics.model.verdicts import Acceptance, Direction, Gate
from pytest_evalmetrics.sums import reaches, stays_within

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_evalmetrics.model.accepted_levels import AcceptedLevel
    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.model.results import Check
    from pytest_evalmetrics.pipeline.references import Reference

_BY_FILE = (Acceptance.REPORT, Acceptance.HISTORY)


def open_levels(
    levels: Iterable[AcceptedLevel], reference: Reference
) -> list[AcceptedLevel]:
    """Return the changes that no run before has honoured."""
    spent = set(reference.provenance.accepted_levels or ())
    return [level for level in levels if level.mark not in spent]


def with_accepted_levels(
    checks: Sequence[Check], levels: Sequence[AcceptedLevel]
) -> list[Check]:
    """Let metrics pass that reach an accepted level, with the tasks and slices behind it."""
    agents = {
        check.agent
        for check in checks
        if any(_is_accepted(check, level) for level in levels)
    }
    settled = []
    for check in checks:
        is_part = isinstance(check.bound, SingleTasksBound | SlicesBound)
        by_level = any(_is_accepted(check, level) for level in levels)
        if by_level or (is_part and check.agent in agents and check.verdict.fails):
            settled.append(gates.accepted(check))
        else:
            settled.append(check)
    return settled


def _is_accepted(check: Check, level: AcceptedLevel) -> bool:
    """Check whether a metric fails against its reference, and reaches an accepted level."""
    if (
        check.gate is not Gate.BASELINE
        or check.acceptance not in _BY_FILE
        or check.name != level.metric
        or not check.verdict.fails
        or check.comparison is None
        or check.comparison.current is None
        or not isinstance(check.bound, RuleBound)
    ):
        return False
    value = check.comparison.current
    if check.bound.settings.direction is Direction.LOWER:
        return stays_within(value, level.level)
    return reaches(value, level.level)


def known_marks(
    levels: Iterable[AcceptedLevel], reference: Reference, checks: Sequence[Check]
) -> tuple[str, ...]:
    """Return the marks of changes that were honoured, in this run or before."""
    spent = set(reference.provenance.accepted_levels or ())
    honoured = {check.name for check in checks if check.accepted}
    return tuple(
        level.mark
        for level in levels
        if level.mark in spent or level.metric in honoured
    )


def notes(
    levels: Iterable[AcceptedLevel], reference: Reference, checks: Sequence[Check]
) -> Iterator[Note]:
    """Say which changes are accepted in this run, and which have been before."""
    spent = set(reference.provenance.accepted_levels or ())
    for level in levels:
        if level.mark in spent:
            yield AcceptedBefore(level.metric, level.level)
        for check in checks:
            if check.accepted and check.name == level.metric and check.comparison:
                yield AcceptedNow(
                    metric=level.metric,
                    before=check.comparison.baseline or 0.0,
                    now=check.comparison.current or 0.0,
                    words=level.reason,
                )
