"""What the gates of a run can detect: a table for each benchmark."""

from __future__ import annotations

import math
from itertools import chain, groupby
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
_MARGIN: Final = "  "
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
    remarks = [_NOTE]
    if _has_worst(planned):
        remarks.append(_WORST)
    for item, powers in planned:
        yield from _tables(item, powers, width)
        yield ""
        remarks += _gaps(item, powers)
    for text in remarks:
        yield from broken(visible(text), width, indent=2)


def _has_worst(planned: Sequence[tuple[str, Sequence[Power]]]) -> bool:
    """Whether a number is that of the worst case."""
    shown = chain.from_iterable(powers for _, powers in planned)
    return any(power.is_worst for power in shown)


def _tables(item: str, powers: Sequence[Power], width: int | None) -> Iterator[str]:
    """Write a table for each agent of a benchmark, and each source of its numbers."""
    agents = {power.agent for power in powers}
    room = width
    if room is not None:
        room -= len(_MARGIN)
    for (agent, source), group in groupby(powers, key=_group_of):
        title = item
        if len(agents) > 1:
            title += f", {agent}"
        yield from broken(visible(f"{title}{_SOURCES[source]}"), width)
        rows = [_cells(power) for power in group]
        for line in wording.fitted_table(_HEADER, rows, room, _DISPENSABLE):
            yield f"{_MARGIN}{line}"


def _group_of(power: Power) -> tuple[str, PowerSource]:
    return power.agent, power.source


def _gaps(item: str, powers: Sequence[Power]) -> Iterator[str]:
    """Say why a number is not known."""
    for power in powers:
        gap = gap_text(power)
        if gap and power.metric:
            yield f"note: {item}: {power.metric}: {gap}"
        elif gap:
            yield f"note: {item}: {gap}"


def _cells(power: Power) -> tuple[str, ...]:
    """Write the cells of a line."""
    detects = "unknown"
    if math.isfinite(power.mde):
        detects = f"{_mark(power)}{wording.size_of_loss(power.mde)}"
    return (
        power.metric,
        str(power.tasks),
        str(power.rollouts),
        detects,
        wording.number(power.max_drop),
        _needed(power),
    )


def _mark(power: Power) -> str:
    if power.is_worst:
        return "<= "
    return ""


def _needed(power: Power) -> str:
    """Write how many rollouts of each task detect the drop that matters."""
    if not math.isfinite(power.mde) or power.max_drop <= 0:
        return "-"
    if power.needed is not None:
        return f"{_mark(power)}{power.needed}"
    if power.source is PowerSource.BASELINE_AND_ROLLOUTS:
        return "-"
    return "more than 1024"
