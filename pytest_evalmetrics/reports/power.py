"""What the gates of a run can detect: a table for each benchmark."""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.layout import visible
from pytest_evalmetrics.model.results import PowerSource
from pytest_evalmetrics.reports import wording
from pytest_evalmetrics.reports.console import broken
from pytest_evalmetrics.reports.sentences.power_gaps import gap_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_evalmetrics.model.results import Power

_HEADER: Final = (
    "metric",
    "tasks",
    "rollouts",
    "detects",
    "max_drop",
    "needs",
)
_DISPENSABLE: Final = ("tasks", "rollouts")
_SOURCES: Final = {
    PowerSource.BASELINE: ", by its baseline",
    PowerSource.ROLLOUTS: ", by its rollouts",
    PowerSource.BASELINE_AND_ROLLOUTS: ", by its baseline and rollouts",
    PowerSource.ASSUMPTION: ", if pass rates are spread evenly",
    PowerSource.NOTHING: "",
}
_NOTE: Final = (
    "detects: the smallest drop that is found in 80 % of runs, if only sampling varies between "
    "them; needs: the rollouts of each task, on both sides, that detect max_drop."
)
_WORST: Final = (
    "<=: one rollout of each task doesn't show how much a task varies from run to run. This is "
    "the number if all variation between tasks were such variation; several rollouts of each "
    "task, or a second run, show the real one."
)


def power_lines(
    planned: Sequence[tuple[str, Sequence[Power]]], width: int | None
) -> Iterator[str]:
    """Write a table for each benchmark, with a line for each gated metric.

    Parameters
    ----------
    planned
        The id of each benchmark, with what its gates can detect.
    width
        The columns of a terminal; None leaves lines as they are.
    """
    notes = []
    is_worst = False
    for item, powers in planned:
        agents = {power.agent for power in powers}
        for (agent, source), group in groupby(
            powers, key=lambda power: (power.agent, power.source)
        ):
            of_agent = f", {agent}" if len(agents) > 1 else ""
            together = list(group)
            yield from broken(visible(f"{item}{of_agent}{_SOURCES[source]}"), width)
            rows = [_cells(power) for power in together]
            room = None if width is None else width - 2
            table = wording.fitted_table(_HEADER, rows, room, _DISPENSABLE)
            yield from (f"  {line}" for line in table)
            is_worst = is_worst or any(power.is_worst for power in together)
        yield ""
        for power in powers:
            gap = gap_text(power)
            if gap:
                metric = f"{power.metric}: " if power.metric else ""
                notes.append(f"note: {item}: {metric}{gap}")
    for text in [_NOTE, *([_WORST] if is_worst else []), *notes]:
        yield from broken(visible(text), width, indent=2)


def _cells(power: Power) -> tuple[str, ...]:
    """Write the cells of a line."""
    mark = "<= " if power.is_worst else ""
    detects = "unknown"
    needed = "-"
    if math.isfinite(power.mde):
        detects = f"{mark}{wording.number(power.mde)}"
        if power.needed is not None and power.max_drop > 0:
            needed = f"{mark}{power.needed}"
        elif (
            power.max_drop > 0 and power.source is not PowerSource.BASELINE_AND_ROLLOUTS
        ):
            needed = "more than 1024"
    return (
        power.metric,
        str(power.tasks),
        str(power.rollouts),
        detects,
        wording.number(power.max_drop),
        needed,
    )
