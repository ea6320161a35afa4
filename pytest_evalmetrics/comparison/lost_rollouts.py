"""Whether what is lost depends on the side, and on how well its tasks did before.

Rollouts that are lost at random cost precision and nothing else. Where a run loses more
than its baseline did, and loses it in tasks that did better or worse than the others,
the loss hides an outcome. Tasks that lost all their rollouts are lost at random, too, if
there are no more of them than the losses of the other tasks explain.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from pytest_evalmetrics import stats

if TYPE_CHECKING:
    from pytest_evalmetrics.model.comparison import Floats, Ints, LostRollouts

# the share of a rule's alpha at which a loss fails, beside that of the mean itself: an
# unchanged run that loses at random is red in 1.5 % at most
LOSS_SHARE = 0.5
# the chance of so many tasks without a rollout, below which the loss is not at random
_RARE = 0.0025
_PERMUTATIONS = 2_000
_MOST_PERMUTED = 2_000  # tasks; of more the sum is normal
_STEPS = 40  # of a bisection


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


def may_be_gone_by_chance(usual: Ints, left: Ints) -> bool:
    """Check whether tasks may have lost all their rollouts one by one, at random.

    The share that is lost is estimated by the tasks that have any left. Single rollouts
    show none: a task that loses its only one is lost.

    Parameters
    ----------
    usual
        The rollouts that each task of the baseline would have, shape (tasks,).
    left
        Those that it has, 0 for a task that is gone.
    """
    is_gone = left == 0
    gone = int(is_gone.sum())
    share = _share_lost(usual[~is_gone], left[~is_gone])
    expected = float((share ** usual[usual > 0]).sum())
    if gone <= expected:
        return True
    if expected <= 0:
        return False
    tasks = len(usual)
    return stats.log_binom_sf(gone, tasks, expected / tasks) >= math.log(_RARE)


def _share_lost(usual: Ints, left: Ints) -> float:
    """Estimate the chance that a rollout is lost, by tasks that did not lose all."""
    lost = float((usual - left).sum())
    if lost <= 0:
        return 0.0

    def too_many(share: float) -> float:
        """Return by how much more than was lost is expected of such tasks."""
        all_lost = share**usual
        return float((usual * (share - all_lost) / (1 - all_lost)).sum()) - lost

    low = 0.0
    high = 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if too_many(middle) > 0:
            high = middle
        else:
            low = middle
    return low


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
