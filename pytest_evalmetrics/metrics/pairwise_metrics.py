"""Metrics of comparisons of two: the win rate, and Elo ratings."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from pytest_evalmetrics.metrics.over_rows import (
    OverRows,
    code_of,
    column,
    task_means,
    weigh,
)
from pytest_evalmetrics.spec.metric_keys import EloKeys, WinRateKeys

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_evalmetrics.model.rollout_table import TaskRows

    Floats = NDArray[np.float64]

_STEPS = 100  # of Newton's method
_STILL = 1e-13  # a step so small moves nothing any more


class WinRate(OverRows[WinRateKeys]):
    """The share of comparisons won, a tie counting half: each task weighs the same.

    As AlpacaEval's win rate (Dubois et al. 2024, arXiv 2404.04475).
    """

    def worth(self, rows: TaskRows) -> Floats:
        """Return 1 for a row that is won, 0.5 for a tie, 0 for one that is lost."""
        keys = self.keys
        if keys.winner is None:
            gap = column(rows, keys.score) - column(rows, keys.reference)
            return np.asarray(np.heaviside(gap, 0.5))
        winner = rows[keys.winner]
        won = winner == code_of(rows, keys.of)
        tied = winner == code_of(rows, keys.tie)
        return np.where(tied, 0.5, won)

    def task_values(self, rows: TaskRows) -> Floats:
        """Average each task, shape (tasks,)."""
        return task_means(rows, self.worth(rows))


class Wins(msgspec.Struct, frozen=True):
    """How often players beat each other.

    Attributes
    ----------
    players
        The codes of the players that have played, ascending, shape (players,).
    counts
        How often each beat each other, a tie half, shape (players, players).
    """

    players: NDArray[np.intp]
    counts: Floats


class Elo(OverRows[EloKeys]):
    """A player's rating on Elo's scale, from the model of Bradley and Terry.

    P(a beats b) = 1 / (1 + 10^((R_b - R_a) / 400)); the ratings of greatest likelihood (Bradley
    and Terry 1952; Hunter 2004), a tie as half a win of both, as Chatbot Arena computes them
    (Chiang et al. 2024, arXiv 2403.04132). They exist where each player has beaten another one of
    any two groups (Ford 1957); else the rating is undefined.
    """

    def worth(self, rows: TaskRows) -> Floats:
        """Return 1 for a win of the rated player, and 0.5 for rows without it."""
        rated = code_of(rows, self.keys.of)
        score = np.nan_to_num(self._score_of_first(rows), nan=0.5)
        as_second = np.where(rows[self.keys.b] == rated, 1 - score, 0.5)
        return np.where(rows[self.keys.a] == rated, score, as_second)

    def undefined(self, rows: TaskRows) -> str:
        """Say why there is no rating; empty if there is one."""
        keys = self.keys
        unknown = np.isnan(self._score_of_first(rows))
        if unknown.any():
            label = rows.labels[rows[keys.winner][unknown][0]]
            return f"{keys.winner} is {label!r}, which is not a player of its row, and no tie"
        wins = self._wins(rows, np.ones(len(rows.values)))
        for name in (keys.of, keys.against):
            if name is not None and code_of(rows, name) not in wins.players:
                return f"there is no player {name!r}"
        if not _all_reach_all(wins.counts > 0):
            return "a group of players never lost to the others, or never won"
        return ""

    def weighted(self, rows: TaskRows, weights: Floats) -> float:
        """Maximise the likelihood by Newton's method."""
        wins = self._wins(rows, weights)
        strengths = _strengths(wins.counts)
        if strengths is None:
            return math.nan
        players = wins.players.tolist()
        strength_of = dict(zip(players, strengths.tolist(), strict=True))
        rated = strength_of.get(code_of(rows, self.keys.of), math.nan)
        anchor = 0.0
        if self.keys.against is not None:
            anchor = strength_of.get(code_of(rows, self.keys.against), math.nan)
        return float(1000 + 400 / math.log(10) * (rated - anchor))

    def _score_of_first(self, rows: TaskRows) -> Floats:
        """Return the first player's score of each row: 1, 0.5 or 0, or NaN if it is unknown."""
        keys = self.keys
        winner = rows[keys.winner]
        # the winner is a player's name, or the name of the player's column
        first_wins = (winner == rows[keys.a]) | (winner == code_of(rows, keys.a))
        second_wins = (winner == rows[keys.b]) | (winner == code_of(rows, keys.b))
        score = np.full(len(winner), np.nan)
        score[second_wins] = 0.0
        score[first_wins] = 1.0
        score[winner == code_of(rows, keys.tie)] = 0.5
        return score

    def _wins(self, rows: TaskRows, weights: Floats) -> Wins:
        count = len(rows.labels)
        score = rows.once("score", lambda: self._score_of_first(rows))
        pairs = rows[self.keys.a] * count + rows[self.keys.b]
        of_first = weigh(pairs, weights * score, count * count)
        of_second = weigh(pairs, weights * (1 - score), count * count)
        shape = (count, count)
        counts = of_first.reshape(shape) + of_second.reshape(shape).T
        games = (counts + counts.T).sum(axis=1)
        players = np.flatnonzero(games > 0)
        return Wins(players, counts[np.ix_(players, players)])


def _all_reach_all(beat: NDArray[np.bool_]) -> bool:
    """Check whether each player beat each other one, if only through others."""
    reach = beat
    # each step doubles the number of others that a player may go through
    for _ in range(len(beat).bit_length()):
        through_others = reach.astype(np.float64) @ reach > 0
        reach = reach | through_others
    is_oneself = np.eye(len(beat), dtype=bool)
    return bool((reach | is_oneself).all())


def _strengths(wins: Floats) -> Floats | None:
    """Return the players' strengths, whose sum is 0; None if they don't converge."""
    games = wins + wins.T
    strengths = np.zeros(len(wins))
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(strengths - strengths[:, None]))
        expected_wins = (games * chance).sum(axis=1)
        gradient = wins.sum(axis=1) - expected_wins
        curvature = games * chance * (1 - chance)
        # what is added fixes the sum of the strengths, which the games leave open
        hessian = np.diag(curvature.sum(axis=1)) - curvature + 1 / len(wins)
        step = np.linalg.solve(hessian, gradient)
        strengths += np.clip(step, -1, 1)
        if np.abs(step).max() < _STILL:
            return strengths
    return None
