"""The plan: what each benchmark's gate can see, as a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pytest_evalmetrics.layout import visible
from pytest_evalmetrics.reports.numbers import number, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.results import Power

__all__ = ["power_table"]


def power_table(planned: Sequence[tuple[str, Sequence[Power]]]) -> list[str]:
    """Write one line per benchmark and gated metric."""
    header = (
        "benchmark",
        "agent",
        "metric",
        "tasks",
        "rollouts",
        "sees a drop of",
        "max_drop",
        "rollouts needed",
        "by",
    )
    rows, notes = [], []
    for item, powers in planned:
        several = len({p.agent for p in powers}) > 1
        for p in powers:
            rows.append(
                (
                    item,
                    p.agent if several else "",
                    p.metric,
                    str(p.tasks),
                    str(p.rollouts),
                    number(p.mde) if math.isfinite(p.mde) else "?",
                    number(p.max_drop),
                    _needed(p),
                    p.source,
                )
            )
            if p.reason:
                notes.append(f"note: {item}: {p.metric + ': ' if p.metric else ''}{p.reason}")
    told = (
        "A drop is seen with 80 % power where no task truly changes; rollouts needed are those of "
        "each task, on both sides, that see max_drop."
    )
    return [*table(header, rows), "", told, *map(visible, notes)]


def _needed(power: Power) -> str:
    if power.max_drop <= 0 or not math.isfinite(power.mde):
        return "-"
    return str(power.needed) if power.needed is not None else "more than 1024"
