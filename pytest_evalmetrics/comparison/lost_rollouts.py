"""Whether what is lost depends on the side, and on how well its tasks did before.

Rollouts that are lost at random cost precision and nothing else. Where a run loses more
than its baseline did, and loses it in tasks that did better or worse than the others,
the loss hides an outcome.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from pytest_evalmetrics import stats

if TYPE_CHECKING:
    from pytest_evalmetrics.model.comparison import Floats, LostRollouts

_PERMUTATIONS = 2_000
_MOST_PERMUTED = 2_000  # tasks; of more the sum is normal


class LossTest(msgspec.Struct, frozen=True):
    """Two tests of what a run lost; each p is small where the loss is not at random."""

    p_side: float  # one-sided, that the run loses no more than the baseline
    p_outcome: float  # two-sided, that any task loses as much as any other


def loss_test(lost: LostRollouts, *, seed: int) -> LossTest:
    """Test whether a loss depends on the side, and on the tasks' rewards before.

    The side: an exact sign test over the tasks that lost more on one side (McNemar
    1947), which is Fisher's exact test where tasks are the units. The outcome: the sum
    of losses times rewards, with the losses dealt to the tasks at random (Pitman 1937).
    """
    more = lost.now - lost.before
    return LossTest(
        p_side=stats.sign_test(more).p,
        p_outcome=_p_of_outcome(np.maximum(more, 0.0), lost.values, seed=seed),
    )


def _p_of_outcome(losses: Floats, values: Floats, *, seed: int) -> float:
    """Return the two-sided p of losses and rewards that have nothing to do together."""
    n = len(losses)
    centred = values - values.mean() if n else values
    spread = float(centred @ centred) * float(((losses - losses.mean()) ** 2).sum())
    if n < stats.FEWEST or spread <= 0:
        return 1.0
    seen = float(losses @ centred)
    if n > _MOST_PERMUTED:
        return 2 * stats.normal_sf(abs(seen) / math.sqrt(spread / (n - 1)))
    rng = np.random.Generator(np.random.PCG64(seed))
    dealt = np.tile(losses, (_PERMUTATIONS, 1))
    sums = rng.permuted(dealt, axis=1) @ centred
    as_far = int((np.abs(sums) >= abs(seen) * (1 - 1e-9)).sum())
    return (1 + as_far) / (1 + _PERMUTATIONS)
