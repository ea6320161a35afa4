"""The judge or the system: rows with people's labels that each run's judge scores too.

A judge that scores the anchors as it did when the baseline was recorded has not moved, and a fall
of the benchmark's score is the system's. One that scores them otherwise, beyond its noise, may
have caused the change of the score, and the comparison is not judged.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics import stats
from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.model.gate_notes import NoAnchorScores
from pytest_evalmetrics.model.reasons import Attributed, JudgeShift, MovedBy
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.spec.metric_names import parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.model.results import Check
    from pytest_evalmetrics.pipeline.references import Reference

# of the interval of the judge's shift: a false alarm leaves a run without a verdict
_LEVEL = 0.99
# rows that both runs scored: fewer show no noise
_FEWEST = 3
_SAME = 1e-9
# metrics on the scale of the score
_MEANS = ("mean_reward", "mean", "avg")


class AnchorScores(msgspec.Struct, frozen=True):
    """A judge's scores of the anchors, as a baseline keeps them."""

    # the score that the judge gives
    score: str
    # by the content of a row: the judge's score, and a person's
    rows: dict[str, tuple[float, float]]


def recorded_scores(recorded: object) -> AnchorScores | None:
    """Read the scores that a baseline keeps; None if it keeps none that can be used."""
    try:
        return msgspec.convert(recorded, AnchorScores)
    except msgspec.ValidationError:
        return None


def judge_shift(before: AnchorScores, now: AnchorScores) -> JudgeShift | None:
    """Compare a judge's scores of the anchors; None with fewer than three in common.

    The interval is Student's, of the anchors' differences. A judge that changes every anchor by
    the same amount has no spread, and its interval is that amount.
    """
    keys = [key for key in now.rows if key in before.rows]
    if before.score != now.score or len(keys) < _FEWEST:
        return None
    then = np.array([before.rows[key] for key in keys], dtype=np.float64)
    today = np.array([now.rows[key] for key in keys], dtype=np.float64)
    estimate = stats.mean_se(today[:, 0] - then[:, 0])
    low, high = stats.t_interval(estimate, _LEVEL)
    if math.isnan(low):
        low = high = estimate.mean
    return JudgeShift(
        score=now.score,
        anchors=len(keys),
        shift=estimate.mean,
        low=low,
        high=high,
        agreed_before=_agreed(then),
        agreed_now=_agreed(today),
    )


def notes(shift: JudgeShift | None, reference: Reference) -> Iterator[Note]:
    """Note anchors that say nothing, because the reference has too few of the same."""
    if shift is None:
        yield NoAnchorScores(reference.acceptance)


def _agreed(rows: NDArray[np.float64]) -> int:
    """Count the rows of shape (anchors, 2) whose score is the label."""
    return int((np.abs(rows[:, 0] - rows[:, 1]) <= _SAME).sum())


def attribute(checks: Iterable[Check], shift: JudgeShift, reward: str) -> list[Check]:
    """Put changes of a judge's score down to the judge or to the system.

    Where the judge moved, comparisons of its score are INCONCLUSIVE. Where it held, those that
    fail say that it is the system, or that the anchors can't tell. Other checks stay.

    Parameters
    ----------
    reward
        The score of metrics that name none.
    """
    return [_attributed(check, shift, reward) for check in checks]


def _attributed(check: Check, shift: JudgeShift, reward: str) -> Check:
    if check.gate is not Gate.BASELINE or _score_of(check, reward) != shift.score:
        return check
    if shift.has_moved and check.verdict is not Verdict.INCONCLUSIVE:
        reason = Attributed(MovedBy.JUDGE, shift)
        return structs.replace(
            check, verdict=Verdict.INCONCLUSIVE, reasons=(reason, *check.reasons)
        )
    if shift.has_moved or check.verdict not in (Verdict.FAIL, Verdict.WARN):
        return check
    drop = _drop_of_mean(check)
    moved_by = MovedBy.SYSTEM
    if drop is not None and shift.explains(drop):
        moved_by = MovedBy.UNCLEAR
    reason = Attributed(moved_by, shift)
    return structs.replace(check, reasons=(*check.reasons, reason))


def _score_of(check: Check, reward: str) -> str:
    """Return the score that a comparison is of; empty if it is of none."""
    if check.comparison is None:
        return ""
    if check.estimate is not None and check.estimate.score:
        return check.estimate.score
    try:
        score = parse(check.name).score
    except MetricError:
        return ""
    return reward if score is None else score


def _drop_of_mean(check: Check) -> float | None:
    """Return the drop of a mean, which is on the scale of the score; None for other metrics."""
    if check.comparison is None or parse(check.name).metric not in _MEANS:
        return None
    return check.comparison.drop
