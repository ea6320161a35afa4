"""What the gates of a new benchmark can detect, in a line for each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pytest_evalmetrics.layout import many
from pytest_evalmetrics.reports import wording

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_evalmetrics.model.results import Power


def detectable_lines(powers: Sequence[Power]) -> Iterator[str]:
    """Say which drop each gate detects, and what a smaller one takes."""
    agents = {power.agent for power in powers}
    for power in powers:
        of_agent = f"{power.agent}, " if len(agents) > 1 else ""
        name = f"{of_agent}{power.metric}"
        if not math.isfinite(power.mde):
            yield f"{name}: not known: {power.reason}"
            continue
        size = f"{many(power.tasks, 'task')} x {many(power.rollouts, 'rollout')}"
        yield f"{name}: a drop of {wording.number(power.mde)} over {size}{_needed(power)}"


def _needed(power: Power) -> str:
    """Say how many rollouts the drop that matters takes, where it is not detected."""
    # a drop of more than 1 is one of points, to which no common size applies
    if power.mde <= power.max_drop or power.mde > 1:
        return ""
    drop = wording.number(power.max_drop)
    if power.needed is None:
        return f"; {drop} takes more tasks"
    return f"; {drop} takes {power.needed} rollouts of each task"
