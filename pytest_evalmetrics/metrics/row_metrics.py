"""The metrics over rows that a benchmark file defines by ``type``.

Most weigh rows: drawing tasks again changes the weights alone.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_evalmetrics.spec import metric_keys
from pytest_evalmetrics.sums import reaches

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pytest_evalmetrics.metrics.metric import MetricOptions
    from pytest_evalmetrics.model.rollout_table import TaskRows

    Floats = NDArray[Any]

_TRUE = ("1", "true")  # the positive labels by default


def _nonzero(divisor: Any) -> Any:
    """Replace 0 by NaN, so that a quotient is undefined."""
    return np.where(divisor == 0, np.nan, divisor)


def _code(rows: TaskRows, label: str) -> int:
    """Return a label's code; -2 for one that no row has."""
    return rows.labels.index(label) if label in rows.labels else -2


def _positive(rows: TaskRows, column: str, label: str | None) -> int:
    """Return the code of the positive label."""
    if label is not None:
        return _code(rows, label)
    positives = [name for name in _TRUE if name in rows.labels]
    if not positives and not set(rows.labels) <= {"0", "false"}:
        shown = ", ".join(map(repr, rows.labels[:10]))
        raise ValueError(
            f"say which label of {column} is positive, with `positive:`: {shown}"
        )
    return _code(rows, positives[0]) if positives else -2


def _sums(rows: TaskRows, values: Floats) -> Floats:
    return np.bincount(rows.task, values, len(rows))


def _means(rows: TaskRows, values: Floats) -> Floats:
    return np.asarray(_sums(rows, values) / _nonzero(rows.counts))


def _rank(rows: TaskRows) -> Floats:
    """Return each row's place within its task, from 0."""
    return np.arange(len(rows.values)) - np.repeat(rows.offsets[:-1], rows.counts)


class _OverRows:
    """A metric over columns that its keys name; by default the worth of a row is its reward."""

    def __init__(self, keys: Any, options: MetricOptions) -> None:
        self.keys, self.options = keys, options
        self.labels = frozenset(keys.labels)
        reward = (options.reward,) if keys.of_reward else ()
        self.columns = tuple(dict.fromkeys((*keys.labels, *keys.numbers, *reward)))
        self.direction = keys.facts.direction
        self.limits = keys.facts.limits
        self.bounded = self.limits == (0.0, 1.0)

    def worth(self, rows: TaskRows) -> Floats:
        return np.asarray(rows[self.options.reward], dtype=np.float64)


class _LabelAgreement(_OverRows):
    """accuracy, precision, recall, F1, balanced accuracy, MCC and Cohen's kappa.

    Manning, Raghavan and Schuetze 2008, Introduction to Information Retrieval, chapters 8 and 13:
    macro averages over the labels, micro counts all decisions at once. Balanced accuracy: Brodersen
    et al. 2010. MCC of several labels: Gorodkin 2004. Kappa: Cohen 1960, weighted Cohen 1968, by
    the distance of labels that are numbers, else of their places. As scikit-learn, which calls
    what is undefined 0.
    """

    def worth(self, rows: TaskRows) -> Floats:
        return np.asarray(
            rows[self.keys.gold] == rows[self.keys.predicted], dtype=np.float64
        )

    def undefined(self, rows: TaskRows) -> str:
        """Name the label that has no share of right answers."""
        keys, ones = self.keys, np.ones(len(rows.values))
        if keys.type in ("mcc", "kappa"):
            undefined = math.isnan(self.weighted(rows, ones))
            return (
                f"{keys.gold} or {keys.predicted} is one label alone"
                if undefined
                else ""
            )
        whose = {"precision": "predicted", "recall": "true", "f1": "true or predicted"}
        if keys.type not in whose or keys.average == "micro":
            return ""
        _, gold, predicted = self._counts(rows, ones)
        divisor = self._divisor(gold, predicted)
        if keys.average == "macro":
            empty = np.flatnonzero((divisor == 0) & (gold + predicted > 0)).tolist()
        else:
            at = _positive(rows, keys.gold, keys.positive)
            empty = [] if at >= 0 and divisor[at] else [at]
        if not empty:
            return ""
        label = rows.labels[empty[0]] if empty[0] >= 0 else keys.positive or "positive"
        return f"no label is {whose[keys.type]} that is {label!r}"

    def weighted(self, rows: TaskRows, weights: Floats) -> float:
        """Compute it from the weights of each label, and of its right answers."""
        keys, size = self.keys, len(rows.labels)
        right, gold, predicted = self._counts(rows, weights)
        whole = float(gold.sum())
        if keys.type == "accuracy" or keys.average == "micro":
            return float(right.sum()) / whole
        if keys.type == "balanced_accuracy":
            return float(np.nanmean(right / _nonzero(gold)))
        if keys.type == "mcc":
            spread = (whole**2 - gold @ gold) * (whole**2 - predicted @ predicted)
            return float(
                (right.sum() * whole - gold @ predicted) / math.sqrt(_nonzero(spread))
            )
        if keys.type == "kappa":
            pairs = rows.once(
                "pairs", lambda: rows[keys.gold] * size + rows[keys.predicted]
            )
            table = np.bincount(pairs, weights, size * size).reshape(size, size)
            distance = self._distances(rows)
            expected = gold @ distance @ predicted / whole
            return float(1 - (table * distance).sum() / _nonzero(expected))
        shares = right / _nonzero(self._divisor(gold, predicted))
        if keys.average == "macro":
            return float(np.nanmean(shares))
        return float(shares[_positive(rows, keys.gold, keys.positive)])

    def _divisor(self, gold: Floats, predicted: Floats) -> Floats:
        """Return what each label's right answers are a share of, for precision, recall and F1."""
        divisors = {"precision": predicted, "recall": gold}
        return divisors.get(self.keys.type, (gold + predicted) / 2)

    def _counts(self, rows: TaskRows, weights: Floats) -> tuple[Floats, Floats, Floats]:
        gold, predicted, size = (
            rows[self.keys.gold],
            rows[self.keys.predicted],
            len(rows.labels),
        )
        agree = rows.once("agree", lambda: np.flatnonzero(gold == predicted))
        return (
            np.bincount(gold[agree], weights[agree], size),
            np.bincount(gold, weights, size),
            np.bincount(predicted, weights, size),
        )

    def _distances(self, rows: TaskRows) -> Floats:
        try:
            place = np.array([float(label) for label in rows.labels])
        except ValueError:
            place = np.arange(len(rows.labels), dtype=np.float64)
        apart = np.abs(place[:, None] - place)
        power = {"linear": apart, "quadratic": apart**2}
        return np.asarray(power.get(self.keys.weights, (apart > 0).astype(np.float64)))


class _Forecast(_OverRows):
    """AUROC, Brier score, expected calibration error and log loss.

    AUROC: the chance that a positive row has the higher score, ties half (Hanley and McNeil 1982).
    Brier 1950. ECE: bins of equal width, closed above (Guo et al. 2017, arXiv 1706.04599). Log
    loss: Good 1952; a probability of 0 for what happened is an error, where scikit-learn clips it.
    """

    def _outcome(self, rows: TaskRows) -> NDArray[np.bool_]:
        at = _positive(rows, self.keys.gold, self.keys.positive)
        outcome: NDArray[np.bool_] = rows.once(
            "outcome", lambda: rows[self.keys.gold] == at
        )
        return outcome

    def worth(self, rows: TaskRows) -> Floats:
        """Value a row by its loss; of AUROC by the score, reversed where it should be low."""
        outcome, score = self._outcome(rows), rows[self.keys.score]
        if self.keys.type == "auroc":
            return np.where(outcome, score, -score)
        return self._loss(outcome, score)

    def _loss(self, outcome: NDArray[np.bool_], score: Floats) -> Floats:
        if self.keys.type == "log_loss":
            with np.errstate(divide="ignore", invalid="ignore"):
                return -np.log(np.where(outcome, score, 1 - score))
        return (score - outcome) ** 2

    def undefined(self, rows: TaskRows) -> str:
        outcome, score = self._outcome(rows), rows[self.keys.score]
        if self.keys.type == "auroc":
            one = outcome.all() or not outcome.any()
            return f"all rows of {self.keys.gold} have one outcome" if one else ""
        bad = score[(score < 0) | (score > 1)]
        if len(bad):
            return f"{self.keys.score} is {bad[0]:.6g}, where a probability is expected"
        if self.keys.type == "log_loss" and np.isinf(self._loss(outcome, score)).any():
            return f"{self.keys.score} gives what happened a probability of 0"
        return ""

    def weighted(self, rows: TaskRows, weights: Floats) -> float:
        """Compute it from the weights of ranks or bins, or as a mean."""
        outcome, score = self._outcome(rows), rows[self.keys.score]
        if self.keys.type == "auroc":
            ranks = rows.once("ranks", lambda: np.unique(score, return_inverse=True)[1])
            good, bad = (
                np.bincount(ranks, weights * held) for held in (outcome, ~outcome)
            )
            below = np.cumsum(bad) - bad / 2
            return float(good @ below / _nonzero(good.sum() * bad.sum()))
        if self.keys.type == "ece":
            bins = self.keys.bins or 10
            at = np.clip(np.ceil(score * bins) - 1, 0, bins - 1).astype(int)
            gap = np.bincount(at, weights * (score - outcome), bins)
            return float(np.abs(gap).sum() / weights.sum())
        loss = rows.once("loss", lambda: self._loss(outcome, score))
        return float(loss @ weights / weights.sum())


class _Share(_OverRows):
    """The share of rollouts with a label, each weighing the same."""

    def worth(self, rows: TaskRows) -> Floats:
        return np.asarray(
            rows[self.keys.of] == _code(rows, self.keys.label), dtype=np.float64
        )

    def task_parts(self, rows: TaskRows) -> tuple[Floats, Floats]:
        return _sums(rows, self.worth(rows)), rows.counts.astype(np.float64)


class _WinRate(_OverRows):
    """The share of comparisons won, a tie counting half: each task weighs the same.

    As AlpacaEval's win rate (Dubois et al. 2024, arXiv 2404.04475).
    """

    def worth(self, rows: TaskRows) -> Floats:
        keys = self.keys
        if keys.winner is None:
            gap = rows[keys.score] - rows[keys.reference]
            return np.where(gap == 0, 0.5, gap > 0)
        winner = rows[keys.winner]
        won, tied = (winner == _code(rows, label) for label in (keys.of, keys.tie))
        return np.where(tied, 0.5, won)

    def task_values(self, rows: TaskRows) -> Floats:
        return _means(rows, self.worth(rows))


class _Elo(_OverRows):
    """A player's rating on Elo's scale, from the model of Bradley and Terry.

    P(a beats b) = 1 / (1 + 10^((R_b - R_a) / 400)); the ratings of greatest likelihood (Bradley
    and Terry 1952; Hunter 2004), a tie as half a win of both, as Chatbot Arena computes them
    (Chiang et al. 2024, arXiv 2403.04132). They exist where each player has beaten another one of
    any two groups (Ford 1957); else the rating is undefined.
    """

    def _score(self, rows: TaskRows) -> Floats:
        """Return the first player's score of each row: 1, 0.5 or 0, or NaN if it is unknown."""
        keys = self.keys
        a, b, winner = rows[keys.a], rows[keys.b], rows[keys.winner]
        first = (winner == a) | (winner == _code(rows, keys.a))
        second = (winner == b) | (winner == _code(rows, keys.b))
        score = np.where(first, 1.0, np.where(second, 0.0, np.nan))
        return np.where(winner == _code(rows, keys.tie), 0.5, score)

    def worth(self, rows: TaskRows) -> Floats:
        """Return 1 for a win of the rated player, and 0.5 for rows without it."""
        at, score = _code(rows, self.keys.of), np.nan_to_num(self._score(rows), nan=0.5)
        lost = np.where(rows[self.keys.b] == at, 1 - score, 0.5)
        return np.where(rows[self.keys.a] == at, score, lost)

    def _wins(self, rows: TaskRows, weights: Floats) -> tuple[NDArray[np.intp], Floats]:
        """Return the players, and how often each beat each other, shape (players, players)."""
        size, score = len(rows.labels), rows.once("score", lambda: self._score(rows))
        pairs = rows[self.keys.a] * size + rows[self.keys.b]
        first = np.bincount(pairs, weights * score, size * size).reshape(size, size)
        second = np.bincount(pairs, weights * (1 - score), size * size).reshape(
            size, size
        )
        wins = first + second.T
        players = np.flatnonzero((wins + wins.T).sum(axis=1) > 0)
        return players, wins[np.ix_(players, players)]

    def undefined(self, rows: TaskRows) -> str:
        keys, score = self.keys, self._score(rows)
        if np.isnan(score).any():
            label = rows.labels[rows[keys.winner][np.isnan(score)][0]]
            return f"{keys.winner} is {label!r}, which is not a player of its row, and no tie"
        players, wins = self._wins(rows, np.ones(len(rows.values)))
        for name in (keys.of, keys.against):
            if name is not None and _code(rows, name) not in players:
                return f"there is no player {name!r}"
        reach = wins > 0
        for _ in range(len(players).bit_length()):
            reach = reach | (reach.astype(np.float64) @ reach > 0)
        if not (reach | np.eye(len(players), dtype=bool)).all():
            return "a group of players never lost to the others, or never won"
        return ""

    def weighted(self, rows: TaskRows, weights: Floats) -> float:
        """Maximise the likelihood by Newton's method."""
        players, wins = self._wins(rows, weights)
        games, strength = wins + wins.T, np.zeros(len(players))
        for _ in range(100):
            chance = 1 / (1 + np.exp(strength - strength[:, None]))
            gradient = wins.sum(axis=1) - (games * chance).sum(axis=1)
            curve = games * chance * (1 - chance)
            hessian = np.diag(curve.sum(axis=1)) - curve + 1 / len(players)
            step = np.linalg.solve(hessian, gradient)
            strength += np.clip(step, -1, 1)
            if np.abs(step).max() < 1e-13:  # nothing moves any more
                break
        else:
            return math.nan
        keys, ratings = (
            self.keys,
            dict(zip(players.tolist(), strength.tolist(), strict=True)),
        )
        anchor = (
            0.0
            if keys.against is None
            else ratings.get(_code(rows, keys.against), math.nan)
        )
        rated = ratings.get(_code(rows, keys.of), math.nan) - anchor
        return float(1000 + 400 / math.log(10) * rated)


class _Retrieval(_OverRows):
    """recall@k, precision@k, nDCG@k and MRR: rows are documents, tasks are queries.

    Documents of equal rank keep the order of the file. nDCG: gains as they are, discounted by
    log2(rank + 1) (Jarvelin and Kekalainen 2002), as scikit-learn's. MRR: Voorhees 1999.
    """

    def worth(self, rows: TaskRows) -> Floats:
        return np.asarray(rows[self.keys.relevance], dtype=np.float64)

    def undefined(self, rows: TaskRows) -> str:
        if self.keys.type in ("precision_at_k", "mrr"):
            return ""
        none = np.flatnonzero((rows.counts > 0) & ~(self._relevant(rows) > 0))
        of = f"{len(none)} of {len(rows)} queries"
        return f"{of} have no relevant document" if len(none) else ""

    def _relevant(self, rows: TaskRows) -> Floats:
        """Return how many relevant documents each query has."""
        if self.keys.relevant is not None:
            return _means(rows, rows[self.keys.relevant])
        return _sums(rows, (rows[self.keys.relevance] > 0).astype(np.float64))

    def task_values(self, rows: TaskRows) -> Floats:
        keys, gain = self.keys, self.worth(rows)
        best = rows[keys.rank] if keys.score is None else -rows[keys.score]
        order = np.lexsort(
            (best, rows.task)
        )  # stable: rows of a task follow each other
        rank, gain = _rank(rows), gain[order]
        counted = rank < (keys.k or len(order))
        if keys.type == "ndcg_at_k":
            discount = counted / np.log2(rank + 2)
            ideal = _sums(rows, gain[np.lexsort((-gain, rows.task))] * discount)
            return np.asarray(_sums(rows, gain * discount) / _nonzero(ideal))
        relevant = (gain > 0) & counted
        if keys.type == "mrr":
            first = np.full(len(rows), np.inf)
            np.minimum.at(first, rows.task[relevant], rank[relevant] + 1.0)
            return np.where(rows.counts > 0, 1 / first, np.nan)
        hits = _sums(rows, relevant.astype(np.float64))
        divisor = self._relevant(rows) if keys.type == "recall_at_k" else keys.k
        return np.asarray(np.where(rows.counts > 0, hits / divisor, np.nan))


class _MajorityVote(_OverRows):
    """The reward of the answer that most of the first k rollouts give; tied answers share.

    maj@k, self-consistency: Wang et al. 2022, arXiv 2203.11171. The reward of an answer is the mean
    over the rollouts that give it.
    """

    def __init__(self, keys: Any, options: MetricOptions) -> None:
        super().__init__(keys, options)
        self.samples_needed = 1 if options.first_k else keys.k

    def task_values(self, rows: TaskRows) -> Floats:
        answers, rewards = rows[self.keys.answer], self.worth(rows)
        first = _rank(rows) < self.keys.k
        kinds, kind = np.unique(
            rows.task[first] * (len(rows.labels) + 1) + answers[first],
            return_inverse=True,
        )
        votes = np.bincount(kind)
        task = kinds // (len(rows.labels) + 1)
        most = np.zeros(len(rows), dtype=np.int64)
        np.maximum.at(most, task, votes)
        wins = votes == most[task]
        mean = np.bincount(kind, rewards[first]) / votes
        tops = np.bincount(task[wins], mean[wins], len(rows))
        return np.asarray(tops / _nonzero(np.bincount(task[wins], minlength=len(rows))))


class _BestOf(_OverRows):
    """The expected reward of the one that a verifier prefers among n rollouts of a task.

    The mean over all sets of n of the task's rollouts, with the formula of pass@k (Chen et al.
    2021, arXiv 2107.03374) on their order by score; equal scores share their rewards.
    """

    def __init__(self, keys: Any, options: MetricOptions) -> None:
        super().__init__(keys, options)
        self.samples_needed = keys.n

    def task_values(self, rows: TaskRows) -> Floats:
        values, n = np.full(len(rows), np.nan), self.keys.n
        scores, rewards = rows[self.keys.by], self.worth(rows)
        for task in np.flatnonzero(rows.counts >= n).tolist():
            held = slice(*rows.offsets[task : task + 2].tolist())
            _, kind = np.unique(scores[held], return_inverse=True)
            mean = np.bincount(kind, rewards[held]) / np.bincount(kind)
            upto = np.cumsum(np.bincount(kind)).tolist()
            ways = [math.comb(c, n) / math.comb(len(kind), n) for c in upto]
            values[task] = float(np.diff(ways, prepend=0.0) @ mean)
        return values


class _PassWithin(_OverRows):
    """The share of tasks with a rollout that passes before a budget is spent, in sample order."""

    def task_values(self, rows: TaskRows) -> Floats:
        spent = np.cumsum(rows[self.keys.of])
        before = np.concatenate(([0.0], spent))[rows.offsets[:-1]]
        within = spent - np.repeat(before, rows.counts) <= self.keys.budget * (
            1 + 1e-12
        )
        solved = within & reaches(self.worth(rows), self.options.pass_threshold)
        return np.where(
            rows.counts > 0, _sums(rows, solved.astype(np.float64)) > 0, np.nan
        )


# what computes a metric, by the class of its keys
CLASSES: dict[type, Callable[[Any, MetricOptions], Any]] = {
    metric_keys.AgreementKeys: _LabelAgreement,
    metric_keys.ProbabilityKeys: _Forecast,
    metric_keys.ShareKeys: _Share,
    metric_keys.WinRateKeys: _WinRate,
    metric_keys.EloKeys: _Elo,
    metric_keys.RetrievalKeys: _Retrieval,
    metric_keys.MajorityKeys: _MajorityVote,
    metric_keys.BestOfKeys: _BestOf,
    metric_keys.BudgetedPassKeys: _PassWithin,
}
