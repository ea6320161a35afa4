"""Metrics of what is ranked or chosen: retrieval, majority votes, best of n, budgets."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.metrics.over_rows import (
    OverRows,
    column,
    nonzero,
    rank_in_task,
    task_means,
    task_sums,
)
from pytest_evalmetrics.spec.metric_keys import (
    BestOfKeys,
    BudgetedPassKeys,
    MajorityKeys,
    RetrievalKeys,
)
from pytest_evalmetrics.sums import reaches

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_evalmetrics.metrics.metric import MetricOptions
    from pytest_evalmetrics.model.rollout_table import TaskRows

    Floats = NDArray[np.float64]

_ROUNDING = 1e-12  # the share by which rounding may exceed a budget


class Retrieval(OverRows[RetrievalKeys]):
    """recall@k, precision@k, nDCG@k and MRR: rows are documents, tasks are queries.

    Documents of equal rank keep the order of the file. nDCG: gains as they are, discounted by
    log2(rank + 1) (Jarvelin and Kekalainen 2002), as scikit-learn's. MRR: Voorhees 1999.
    """

    def worth(self, rows: TaskRows) -> Floats:
        """Return each document's relevance."""
        return np.asarray(rows[self.keys.relevance], dtype=np.float64)

    def undefined(self, rows: TaskRows) -> str:
        """Count the queries that no document is relevant to; empty if there are none."""
        if self.keys.type in ("precision_at_k", "mrr"):
            return ""
        has_none = (rows.counts > 0) & ~(self._relevant(rows) > 0)
        count = int(np.count_nonzero(has_none))
        if not count:
            return ""
        return f"{count} of {len(rows)} queries have no relevant document"

    def task_values(self, rows: TaskRows) -> Floats:
        """Compute it for each query, shape (tasks,)."""
        gain = self.worth(rows)[self._order(rows)]
        rank = rank_in_task(rows)
        counted = rank < (self.keys.k or len(gain))
        if self.keys.type == "ndcg_at_k":
            return _ndcg(rows, gain, counted / np.log2(rank + 2))
        relevant = (gain > 0) & counted
        if self.keys.type == "mrr":
            return _reciprocal_rank(rows, relevant, rank)
        hits = task_sums(rows, relevant.astype(np.float64))
        share = hits / self._divisor(rows)
        return np.where(rows.counts > 0, share, np.nan)

    def _divisor(self, rows: TaskRows) -> Floats:
        """Return what the relevant documents among the best k are a share of."""
        if self.keys.type == "precision_at_k" and self.keys.k is not None:
            return np.full(len(rows), float(self.keys.k))
        return self._relevant(rows)

    def _order(self, rows: TaskRows) -> NDArray[np.intp]:
        """Sort the rows of each task, the best first; rows of a task follow each other."""
        if self.keys.score is not None:
            return np.lexsort((-rows[self.keys.score], rows.task))
        return np.lexsort((column(rows, self.keys.rank), rows.task))

    def _relevant(self, rows: TaskRows) -> Floats:
        """Return how many relevant documents each query has, shape (tasks,)."""
        if self.keys.relevant is not None:
            return task_means(rows, rows[self.keys.relevant])
        is_relevant = rows[self.keys.relevance] > 0
        return task_sums(rows, is_relevant.astype(np.float64))


def _ndcg(rows: TaskRows, gain: Floats, discount: Floats) -> Floats:
    best_first = np.lexsort((-gain, rows.task))
    ideal = task_sums(rows, gain[best_first] * discount)
    found = task_sums(rows, gain * discount)
    return np.asarray(found / nonzero(ideal))


def _reciprocal_rank(
    rows: TaskRows, relevant: NDArray[np.bool_], rank: NDArray[np.int64]
) -> Floats:
    first = np.full(len(rows), np.inf)
    np.minimum.at(first, rows.task[relevant], rank[relevant] + 1.0)
    return np.where(rows.counts > 0, 1 / first, np.nan)


class MajorityVote(OverRows[MajorityKeys]):
    """The reward of the answer that most of the first k rollouts give; tied answers share.

    maj@k, self-consistency: Wang et al. 2022, arXiv 2203.11171. The reward of an answer is the mean
    over the rollouts that give it.
    """

    def __init__(self, keys: MajorityKeys, options: MetricOptions) -> None:
        super().__init__(keys, options)
        self.samples_needed = keys.k
        if options.first_k:
            self.samples_needed = 1

    def task_values(self, rows: TaskRows) -> Floats:
        """Compute it for each task, shape (tasks,); NaN for an empty one."""
        votes_at = rank_in_task(rows) < self.keys.k
        # each task's answers are numbers of their own; -1 is a missing one
        width = len(rows.labels) + 1
        numbered = rows.task[votes_at] * width + rows[self.keys.answer][votes_at]
        answers, answer_of_row = np.unique(numbered, return_inverse=True)
        votes = np.bincount(answer_of_row)
        rewards = np.bincount(answer_of_row, self.worth(rows)[votes_at])
        reward_of_answer = rewards / votes
        task_of_answer = answers // width
        most_votes = np.zeros(len(rows), dtype=np.int64)
        np.maximum.at(most_votes, task_of_answer, votes)
        wins = votes == most_votes[task_of_answer]
        won_by = task_of_answer[wins]
        reward_of_task = np.bincount(won_by, reward_of_answer[wins], len(rows))
        winners = np.bincount(won_by, minlength=len(rows))
        return np.asarray(reward_of_task / nonzero(winners))


class BestOf(OverRows[BestOfKeys]):
    """The expected reward of the one that a verifier prefers among n rollouts of a task.

    The mean over all sets of n of the task's rollouts, with the formula of pass@k (Chen et al.
    2021, arXiv 2107.03374) on their order by score; equal scores share their rewards.
    """

    def __init__(self, keys: BestOfKeys, options: MetricOptions) -> None:
        super().__init__(keys, options)
        self.samples_needed = keys.n

    def task_values(self, rows: TaskRows) -> Floats:
        """Compute it for each task, shape (tasks,); NaN for one with fewer than n rollouts."""
        scores = rows[self.keys.by]
        rewards = self.worth(rows)
        values = np.full(len(rows), np.nan)
        for task in np.flatnonzero(rows.counts >= self.keys.n).tolist():
            own = slice(rows.offsets[task], rows.offsets[task + 1])
            values[task] = _best_of(scores[own], rewards[own], self.keys.n)
        return values


def _best_of(scores: Floats, rewards: Floats, n: int) -> float:
    """Average the reward of the best score over all sets of n of a task's rollouts."""
    _, rank = np.unique(scores, return_inverse=True)
    counts = np.bincount(rank)
    reward = np.bincount(rank, rewards) / counts
    sets = math.comb(len(rank), n)
    # the chance that no rollout of a set is above each rank
    up_to = [math.comb(count, n) / sets for count in np.cumsum(counts).tolist()]
    return float(np.diff(up_to, prepend=0.0) @ reward)


class PassWithin(OverRows[BudgetedPassKeys]):
    """The share of tasks with a rollout that passes before a budget is spent, in sample order."""

    def task_values(self, rows: TaskRows) -> Floats:
        """Return 1 for a task that is solved within its budget, shape (tasks,)."""
        spent = np.cumsum(rows[self.keys.of])
        before_task = np.concatenate(([0.0], spent))[rows.offsets[:-1]]
        of_task = spent - np.repeat(before_task, rows.counts)
        within = of_task <= self.keys.budget * (1 + _ROUNDING)
        solved = within & reaches(self.worth(rows), self.options.pass_threshold)
        count = task_sums(rows, solved.astype(np.float64))
        return np.where(rows.counts > 0, count > 0, np.nan)
