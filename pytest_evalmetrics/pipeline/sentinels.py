"""A number that may stand for "not judged" where the baseline has none of its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.model.changes import PerhapsNotJudged

if TYPE_CHECKING:
    from pytest_evalmetrics.model.rollout_table import RolloutTable


def sentinel_of(
    reward: str, before: RolloutTable, now: RolloutTable
) -> PerhapsNotJudged | None:
    """Find the only negative reward of a run whose baseline has none: -1, as a rule.

    None if there are several, or none.
    """
    if reward not in before.scores or reward not in now.scores:
        return None
    rewards = now.scores[reward]
    negative = rewards[rewards < 0]
    if not negative.size or bool((before.scores[reward] < 0).any()):
        return None
    values = np.unique(negative)
    if len(values) > 1:
        return None
    return PerhapsNotJudged(reward=float(values[0]), rollouts=len(negative))
