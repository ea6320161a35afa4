"""What the gates of a new benchmark can detect, in a line for each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pytest_evalmetrics.layout import many
from pytest_evalmetrics.reports import wording
from pytest_evalmetrics.reports.sentences.power_gaps import gap_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.model.results import Power

_WORST = """\
One rollout of each task doesn't show how much a task varies from run to run:
these numbers take all variation between tasks for it. Record several rollouts
to see the real ones.
"""


def detectable_text(powers: Sequence[Power]) -> str:
    """Say which drop each gate detects, and what a smaller one takes; empty without gates."""
    if not powers:
        return ""
    sizes = {_size(power) for power in powers}
    agents = {power.agent for power in powers}
    title = "What its gates detect with 80 % power"
    if len(sizes) == 1:
        title += f", over {_size(powers[0])}"
    metrics: dict[str, list[str]] = {}
    for power in powers:
        detected = _detected(power, is_sized=len(sizes) > 1)
        name = power.metric
        if len(agents) > 1:
            name = f"{power.agent}, {power.metric}"
        metrics.setdefault(detected, []).append(name)
    text = f"{title}:\n"
    for detected, names in metrics.items():
        text += f"  {', '.join(names)}: {detected}\n"
    if any(power.is_worst for power in powers):
        text += _WORST
    return text


def _size(power: Power) -> str:
    return f"{many(power.tasks, 'task')} x {many(power.rollouts, 'rollout')}"


def _detected(power: Power, *, is_sized: bool) -> str:
    """Say which drop a gate detects, and how many rollouts the drop that matters takes."""
    if not math.isfinite(power.mde):
        return f"not known: {gap_text(power)}"
    detected = f"a drop of {wording.size_of_loss(power.mde)}"
    if power.is_worst:
        detected += " at worst"
    if is_sized:
        detected += f" over {_size(power)}"
    # a drop of more than 1 is one of points, to which no common size applies
    if power.mde <= power.max_drop or power.mde > 1:
        return detected
    drop = wording.size_of_loss(power.max_drop)
    if power.needed is None:
        return f"{detected}; {drop} takes more tasks"
    return f"{detected}; {drop} takes {power.needed} rollouts of each task"
