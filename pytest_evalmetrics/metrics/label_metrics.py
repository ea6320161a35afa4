"""Metrics of labels and probabilities: agreement, forecasts, and the share of a label."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from pytest_evalmetrics.metrics.over_rows import (
    OverRows,
    code_of,
    nonzero,
    positive_code,
    task_sums,
    weigh,
)
from pytest_evalmetrics.spec.metric_keys import (
    AgreementKeys,
    ProbabilityKeys,
    ShareKeys,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_evalmetrics.model.rollout_table import TaskRows

    Floats = NDArray[np.float64]


class LabelWeights(msgspec.Struct, frozen=True):
    """The weights of the rows of each label, shapes (labels,).

    Attributes
    ----------
    right
        Of the rows whose true and predicted label are this one.
    gold, predicted
        Of the rows whose true, or predicted, label is this one.
    """

    right: Floats
    gold: Floats
    predicted: Floats


class LabelAgreement(OverRows[AgreementKeys]):
    """accuracy, precision, recall, F1, balanced accuracy, MCC and Cohen's kappa.

    Manning, Raghavan and Schuetze 2008, Introduction to Information Retrieval, chapters 8 and 13:
    macro averages over the labels, micro counts all decisions at once. Balanced accuracy: Brodersen
    et al. 2010. MCC of several labels: Gorodkin 2004. Kappa: Cohen 1960, weighted Cohen 1968, by
    the distance of labels that are numbers, else of their places. As scikit-learn, which calls
    what is undefined 0.
    """

    def worth(self, rows: TaskRows) -> Floats:
        """Return 1 for rows whose labels agree, else 0."""
        agree = rows[self.keys.gold] == rows[self.keys.predicted]
        return np.asarray(agree, dtype=np.float64)

    def undefined(self, rows: TaskRows) -> str:
        """Name the label that has no share of right answers; empty if each has one."""
        keys = self.keys
        weights = np.ones(len(rows.values))
        if keys.type in ("mcc", "kappa"):
            if math.isnan(self.weighted(rows, weights)):
                return f"{keys.gold} or {keys.predicted} is one label alone"
            return ""
        whose = {"precision": "predicted", "recall": "true", "f1": "true or predicted"}
        if keys.type not in whose or keys.average == "micro":
            return ""
        label = self._label_without_share(rows, self._label_weights(rows, weights))
        if label is None:
            return ""
        return f"no label is {whose[keys.type]} that is {label!r}"

    def _label_without_share(self, rows: TaskRows, weights: LabelWeights) -> str | None:
        """Return the first label that nothing is a share of; None if there is none."""
        divisor = self._divisor(weights)
        if self.keys.average == "macro":
            occurs = weights.gold + weights.predicted > 0
            empty = np.flatnonzero((divisor == 0) & occurs)
            if not len(empty):
                return None
            first: str = rows.labels[empty[0]]
            return first
        code = positive_code(rows, self.keys.gold, self.keys.positive)
        if code < 0:
            return self.keys.positive or "positive"
        if divisor[code]:
            return None
        return rows.labels[code]

    def weighted(self, rows: TaskRows, weights: Floats) -> float:
        """Compute it from the weights of each label, and of its right answers."""
        keys = self.keys
        of_labels = self._label_weights(rows, weights)
        if keys.type == "accuracy" or keys.average == "micro":
            return float(of_labels.right.sum()) / float(of_labels.gold.sum())
        if keys.type == "balanced_accuracy":
            return float(np.nanmean(of_labels.right / nonzero(of_labels.gold)))
        if keys.type == "mcc":
            return _mcc(of_labels)
        if keys.type == "kappa":
            return self._kappa(rows, weights, of_labels)
        shares = of_labels.right / nonzero(self._divisor(of_labels))
        if keys.average == "macro":
            return float(np.nanmean(shares))
        return float(shares[positive_code(rows, keys.gold, keys.positive)])

    def _divisor(self, weights: LabelWeights) -> Floats:
        """Return what each label's right answers are a share of, for precision, recall and F1."""
        if self.keys.type == "precision":
            return weights.predicted
        if self.keys.type == "recall":
            return weights.gold
        return (weights.gold + weights.predicted) / 2

    def _label_weights(self, rows: TaskRows, weights: Floats) -> LabelWeights:
        gold = rows[self.keys.gold]
        predicted = rows[self.keys.predicted]
        agree = rows.once("agree", lambda: np.flatnonzero(gold == predicted))
        count = len(rows.labels)
        return LabelWeights(
            right=weigh(gold[agree], weights[agree], count),
            gold=weigh(gold, weights, count),
            predicted=weigh(predicted, weights, count),
        )

    def _kappa(self, rows: TaskRows, weights: Floats, of_labels: LabelWeights) -> float:
        """Compare the distances of labels with those that independent labels would have."""
        count = len(rows.labels)
        pairs = rows.once(
            "pairs", lambda: rows[self.keys.gold] * count + rows[self.keys.predicted]
        )
        table = weigh(pairs, weights, count * count).reshape(count, count)
        distance = self._distances(rows)
        whole = float(of_labels.gold.sum())
        observed = (table * distance).sum()
        expected = of_labels.gold @ distance @ of_labels.predicted / whole
        return float(1 - observed / nonzero(expected))

    def _distances(self, rows: TaskRows) -> Floats:
        """Return the distance of each two labels, shape (labels, labels)."""
        try:
            places = np.array([float(label) for label in rows.labels])
        except ValueError:
            places = np.arange(len(rows.labels), dtype=np.float64)
        apart: Floats = np.abs(places[:, None] - places)
        if self.keys.weights == "linear":
            return apart
        if self.keys.weights == "quadratic":
            return np.asarray(apart**2)
        return (apart > 0).astype(np.float64)


def _mcc(weights: LabelWeights) -> float:
    """Return the covariance of both labels over the root of their variances' product."""
    whole = float(weights.gold.sum())
    covariance = weights.right.sum() * whole - weights.gold @ weights.predicted
    variance_of_gold = whole**2 - weights.gold @ weights.gold
    variance_of_predicted = whole**2 - weights.predicted @ weights.predicted
    product = nonzero(variance_of_gold * variance_of_predicted)
    return float(covariance / math.sqrt(product))


class Forecast(OverRows[ProbabilityKeys]):
    """AUROC, Brier score, expected calibration error and log loss.

    AUROC: the chance that a positive row has the higher score, ties half (Hanley and McNeil 1982).
    Brier 1950. ECE: bins of equal width, closed above (Guo et al. 2017, arXiv 1706.04599). Log
    loss: Good 1952; a probability of 0 for what happened is an error, where scikit-learn clips it.
    """

    def worth(self, rows: TaskRows) -> Floats:
        """Value a row by its loss; of AUROC by the score, reversed where it should be low."""
        if self.keys.type == "auroc":
            score = rows[self.keys.score]
            return np.where(self._outcome(rows), score, -score)
        return self._loss(rows)

    def undefined(self, rows: TaskRows) -> str:
        """Say why it is not defined: one outcome alone, or a score that is no probability."""
        keys = self.keys
        outcome = self._outcome(rows)
        if keys.type == "auroc":
            has_both = outcome.any() and not outcome.all()
            if has_both:
                return ""
            return f"all rows of {keys.gold} have one outcome"
        score = rows[keys.score]
        outside = score[(score < 0) | (score > 1)]
        if len(outside):
            return f"{keys.score} is {outside[0]:.6g}, where a probability is expected"
        if keys.type == "log_loss" and np.isinf(self._loss(rows)).any():
            return f"{keys.score} gives what happened a probability of 0"
        return ""

    def weighted(self, rows: TaskRows, weights: Floats) -> float:
        """Compute it from the weights of ranks or bins, or as a mean."""
        if self.keys.type == "auroc":
            return self._auroc(rows, weights)
        if self.keys.type == "ece":
            return self._calibration_error(rows, weights)
        loss: Floats = rows.once("loss", lambda: self._loss(rows))
        return float(loss @ weights / weights.sum())

    def _outcome(self, rows: TaskRows) -> NDArray[np.bool_]:
        """Find the rows with the positive outcome, shape (rows,)."""
        code = positive_code(rows, self.keys.gold, self.keys.positive)
        outcome: NDArray[np.bool_] = rows.once(
            "outcome", lambda: rows[self.keys.gold] == code
        )
        return outcome

    def _loss(self, rows: TaskRows) -> Floats:
        """Return each row's log loss, or its squared error, shape (rows,)."""
        outcome = self._outcome(rows)
        score = rows[self.keys.score]
        if self.keys.type == "log_loss":
            chance = np.where(outcome, score, 1 - score)
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.asarray(-np.log(chance))
        return np.asarray((score - outcome) ** 2)

    def _auroc(self, rows: TaskRows, weights: Floats) -> float:
        score = rows[self.keys.score]
        outcome = self._outcome(rows)
        ranks = rows.once("ranks", lambda: np.unique(score, return_inverse=True)[1])
        positive = np.bincount(ranks, weights * outcome)
        negative = np.bincount(ranks, weights * ~outcome)
        below = np.cumsum(negative) - negative / 2
        pairs = positive.sum() * negative.sum()
        return float(positive @ below / nonzero(pairs))

    def _calibration_error(self, rows: TaskRows, weights: Floats) -> float:
        score = rows[self.keys.score]
        count = self.keys.bins or 10
        # closed above: a score of 0.1 is in the first of ten bins
        bins = np.clip(np.ceil(score * count) - 1, 0, count - 1).astype(int)
        error = score - self._outcome(rows)
        gap_of_bin = weigh(bins, weights * error, count)
        return float(np.abs(gap_of_bin).sum() / weights.sum())


class Share(OverRows[ShareKeys]):
    """The share of rollouts with a label, each weighing the same."""

    def worth(self, rows: TaskRows) -> Floats:
        """Return 1 for rows with the label, else 0."""
        has_label = rows[self.keys.of] == code_of(rows, self.keys.label)
        return np.asarray(has_label, dtype=np.float64)

    def task_parts(self, rows: TaskRows) -> tuple[Floats, Floats]:
        """Count each task's rows with the label, and its rows."""
        return task_sums(rows, self.worth(rows)), rows.counts.astype(np.float64)
