"""The mean that labels would have, from a judge's scores and the labels of a few rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from pytest_evalmetrics.stats.basics import vector
from pytest_evalmetrics.stats.distributions import normal_ppf
from pytest_evalmetrics.stats.proportions import clopper_pearson
from pytest_evalmetrics.sums import squares

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from pytest_evalmetrics.stats.basics import Bounds, Floats, Ints

_MOST_STRATA = 5  # more different scores are put into as many groups of equal size
_SHOWN = 10  # labels off their stratum's usual one, that show how far tasks repeat them


class LabelledMean(msgspec.Struct, frozen=True):
    """A mean of labels with its interval, in their unit; NaN without a label."""

    mean: float
    low: float
    high: float
    labelled: int  # independent units: tasks, or clusters of them


class _Rows(msgspec.Struct, frozen=True, kw_only=True):
    """All rows; arrays of shape (rows,)."""

    labels: Floats  # from 0 to 1; NaN without
    is_labelled: NDArray[np.bool_]
    codes: Ints  # of strata, from 0
    units: Ints  # of tasks, from 0


class _Stratum(msgspec.Struct, frozen=True):
    """The rows to which the judge gave the same score, or one of a few next to it."""

    share: float  # of all rows
    labels: Floats  # of its labelled rows, from 0 to 1
    mean: float  # of these; without any the judge's

    def interval(self, level: float, design_effect: float) -> Bounds:
        """Return the interval of the mean of all labels in it.

        Clopper and Pearson's, of as many labels as are worth one each: fewer where a
        task has several, more where labels differ less than passes and failures.
        """
        n = len(self.labels)
        if not n:
            return 0.0, 1.0
        spread_of_passes = self.mean * (1 - self.mean)
        squared = float(((self.labels - self.mean) ** 2).sum())
        spread = (squared + 0.5 / n) / n
        alike = max(spread_of_passes / spread, 1.0)
        worth = max(n * alike / design_effect, 1.0)
        return clopper_pearson(self.mean * worth, worth, level)


def labelled_mean(
    predicted: ArrayLike, labels: ArrayLike, clusters: ArrayLike, *, level: float = 0.95
) -> LabelledMean:
    """Return the mean of what labels would be, by a judge's scores and some labels.

    Parameters
    ----------
    predicted
        The judge's score of each row, shape (rows,).
    labels
        The label of each row, on the same scale; NaN where it has none. Which rows have
        one has to be chance.
    clusters
        The task of each row: rows of one task are not independent.
    level
        Of the two-sided interval.

    Notes
    -----
    Rows are put into strata by the judge's score, and the mean label of each stratum is
    weighted by its share of all rows (post-stratification: Holt and Smith 1979, Journal
    of the Royal Statistical Society A 142, 33; of prediction-powered inference Fisch et
    al. 2024, arXiv 2406.04291). The interval combines those of the strata by the
    distances of their ends (MOVER: Zou and Donner 2008, Statistics in Medicine 27,
    1693). Each is exact, so that labels that all agree with the judge do not show that
    it never errs, and a stratum without labels may hold anything.
    """
    scores = vector(predicted)
    given = np.asarray(labels, dtype=np.float64)
    is_labelled = ~np.isnan(given)
    _, units = np.unique(np.asarray(clusters), return_inverse=True)
    labelled = len(np.unique(units[is_labelled]))
    if not labelled:
        return LabelledMean(math.nan, math.nan, math.nan, 0)
    lowest, span = _range(scores, given[is_labelled])
    on_unit = (given - lowest) / span
    scores_on_unit = (scores - lowest) / span
    codes = _strata_of(scores)
    strata = [
        _stratum(codes == code, on_unit, scores_on_unit)
        for code in range(int(codes.max()) + 1)
    ]
    mean = math.fsum(stratum.share * stratum.mean for stratum in strata)
    rows = _Rows(labels=on_unit, is_labelled=is_labelled, codes=codes, units=units)
    effect = _design_effect(strata, rows)
    below = _share_error(strata, rows, level) ** 2
    above = below
    for stratum in strata:
        low, high = stratum.interval(level, effect)
        below += (stratum.share * (stratum.mean - low)) ** 2
        above += (stratum.share * (high - stratum.mean)) ** 2
    return LabelledMean(
        mean=lowest + span * mean,
        low=lowest + span * max(mean - math.sqrt(below), 0.0),
        high=lowest + span * min(mean + math.sqrt(above), 1.0),
        labelled=labelled,
    )


def _range(scores: Floats, labels: Floats) -> tuple[float, float]:
    """Return the lowest value that labels can have, and how far the highest is above."""
    both = np.concatenate((scores, labels))
    lowest = float(both.min())
    highest = float(both.max())
    if lowest >= 0 and highest <= 1:
        return 0.0, 1.0
    return lowest, (highest - lowest) or 1.0


def _strata_of(scores: Floats) -> Ints:
    """Return each row's stratum, from 0, shape (rows,)."""
    values, codes = np.unique(scores, return_inverse=True)
    if len(values) <= _MOST_STRATA:
        return codes
    cuts = np.quantile(scores, np.arange(1, _MOST_STRATA) / _MOST_STRATA)
    _, codes = np.unique(np.searchsorted(cuts, scores), return_inverse=True)
    return codes


def _stratum(rows: NDArray[np.bool_], labels: Floats, scores: Floats) -> _Stratum:
    labels_or_nan = labels[rows]
    own = labels_or_nan[~np.isnan(labels_or_nan)]
    mean = float(scores[rows].mean())
    if len(own):
        mean = float(own.mean())
    return _Stratum(share=float(rows.mean()), labels=own, mean=mean)


def _design_effect(strata: list[_Stratum], rows: _Rows) -> float:
    """Return how many labels are worth one independent one, by how tasks repeat them.

    The covariance of a task's labels with its judge's scores counts as theirs.
    """
    unit = rows.units[rows.is_labelled]
    of_each = len(unit) / len(np.unique(unit))
    if of_each == 1:
        return 1.0
    means = np.array([stratum.mean for stratum in strata])
    labels_per_share = np.array(
        [stratum.share / max(len(stratum.labels), 1) for stratum in strata]
    )
    code = rows.codes[rows.is_labelled]
    rest = rows.labels[rows.is_labelled] - means[code]
    # of few labels that are off, nothing shows whether they come by the task
    if int((np.abs(rest) > 0.5).sum()) < _SHOWN:
        return of_each
    of_labels = np.zeros(len(rows.codes))
    of_labels[rows.is_labelled] = rest * labels_per_share[code]
    of_scores = _score_influence(strata, rows)
    whole = _clustered(of_labels + of_scores, rows.units)
    alone = whole - _clustered(of_scores, rows.units)
    return max(alone / squares(of_labels), 1.0)


def _share_error(strata: list[_Stratum], rows: _Rows, level: float) -> float:
    """Return half the interval's width by what the judge's scores vary between tasks."""
    variance = _clustered(_score_influence(strata, rows), rows.units)
    return -normal_ppf((1 - level) / 2) * math.sqrt(variance)


def _score_influence(strata: list[_Stratum], rows: _Rows) -> Floats:
    """Return what each row's score adds to the mean, by its stratum, shape (rows,)."""
    means = np.array([stratum.mean for stratum in strata])[rows.codes]
    return np.asarray((means - means.mean()) / len(means))


def _clustered(influence: Floats, units: Ints) -> float:
    """Return the variance of a sum over rows, of which those of a unit depend."""
    sums = np.bincount(units, weights=influence).astype(np.float64)
    count = len(sums)
    if count == 1:
        return 0.0
    return squares(sums) * count / (count - 1)
