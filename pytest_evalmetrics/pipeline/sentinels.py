"""A number that may stand for "not judged" where the baseline has none of its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.layout import many

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_evalmetrics.model.rollout_table import RolloutTable


def sentinel_remarks(
    reward: str, before: RolloutTable, now: RolloutTable
) -> Iterator[str]:
    """Ask about the only negative reward of a run whose baseline has none: -1, as a rule."""
    if reward not in before.scores or reward not in now.scores:
        return
    rewards = now.scores[reward]
    negative = rewards[rewards < 0]
    if not negative.size or bool((before.scores[reward] < 0).any()):
        return
    values = np.unique(negative)
    if len(values) > 1:
        return
    rollouts = many(len(negative), "rollout", "has")
    yield (
        f"{rollouts} the reward {values[0]:g}, and none of the baseline is negative: if it "
        f"means that nobody judged them, write `missing: [{values[0]:g}]` under rollouts"
    )
