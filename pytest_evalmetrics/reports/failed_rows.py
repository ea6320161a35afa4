"""Rows that have no score: how many, why, and the first of each kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.layout import of_many

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_evalmetrics.results import RowFailure, ScorerFailures

__all__ = ["failed_row_cause", "failed_row_groups", "failed_row_notes"]


def failed_row_notes(failures: Sequence[ScorerFailures]) -> Iterator[str]:
    """Tell each kind in a line of its own, for a run that goes on without such rows."""
    for found in failures:
        for kind, count in found.kinds.items():
            yield f"{_rows(count, found)} ({kind}), {_example(count, found.examples[kind])}"


def failed_row_groups(failures: Sequence[ScorerFailures]) -> list[str]:
    """Tell them where they are why a benchmark fails: the sum first, then each kind."""
    lines = []
    for found in failures:
        lines.append(f"{_rows(found.count, found)}:")
        lines += [
            f"  {count} ({kind}), {_example(count, found.examples[kind])}"
            for kind, count in found.kinds.items()
        ]
    return lines


def failed_row_cause(failures: Sequence[ScorerFailures], score: str) -> str:
    """Say in one line why a score is missing; nothing where no scorer lacks it."""
    for found in failures:
        if score in found.scores:
            kinds = ", ".join(
                kind if len(found.kinds) == 1 else f"{kind}: {count}"
                for kind, count in found.kinds.items()
            )
            first = next(iter(found.kinds))
            told = _example(found.kinds[first], found.examples[first])
            return f"{_rows(found.count, found)} ({kinds}), {told}"
    return ""


def _rows(count: int, found: ScorerFailures) -> str:
    return f"{of_many(count, found.rows, 'row', 'has')} no {', '.join(found.scores)}"


def _example(count: int, first: RowFailure) -> str:
    hint = f" ({first.hint})" if first.hint else ""
    return f"{'at' if count == 1 else 'such as'} {first.row}: {first.reason}{hint}"
