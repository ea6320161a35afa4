"""The first run of a series that is worse than those before it."""

from __future__ import annotations

import math
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from pytest_evalmetrics import metrics
from pytest_evalmetrics.comparison import run_noise
from pytest_evalmetrics.errors import DataError, EvalMetricsError
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.model.verdicts import Direction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.model.comparison import RuleSettings
    from pytest_evalmetrics.model.rollout_table import RolloutTable

_SURE = 0.95  # of the range of runs that holds the first worse one
_NO_SPREAD = 1e-12  # in place of the variance of tasks that did not change
_SHORT = (40, 12, 10, 8, 7)  # digits of a commit in the name of its artifacts


class _Change(msgspec.Struct, frozen=True):
    """The likeliest place at which a series changes.

    Attributes
    ----------
    first
        The position of the first worse run, from 1.
    shares
        How likely each place is, shape (runs - 1,): the change before run 1, 2 ...
    p
        The chance of such a change, at any place, if nothing changed.
    """

    first: int
    shares: NDArray[np.float64]
    p: float


def first_worse(
    plan: metrics.Plan,
    text: str,
    tables: Sequence[RolloutTable],
    names: Sequence[str],
    rule: RuleSettings,
) -> tuple[str, float]:
    """Find the run from which on a metric is worse.

    A run's value has an error by its tasks' rollouts, the median of what neighbouring runs
    show, and one by noise between runs, with the prior of the gate (see
    `comparison.run_noise`). The likelihood of two levels, averaged over that noise, weighs the
    places of the change; p is that of the likeliest one times their number (Bonferroni).

    Parameters
    ----------
    plan
        The metrics of the benchmark.
    text
        The metric, a mean over tasks.
    tables
        The runs, the oldest first.
    names
        What the runs are called.
    rule
        The direction of the metric, and the level.

    Returns
    -------
    The result in words, and p that nothing changed.

    Raises
    ------
    DataError
        If the runs have fewer than two tasks in common, or the metric is no mean over tasks.
    """
    values = _task_values(plan, text, tables)
    tasks = values.shape[1]
    if tasks < 2:  # no spread
        raise DataError(
            f"{many(tasks, 'task')} in all of these runs: two or more are needed"
        )
    change = _likeliest_change(values, lower=rule.direction is Direction.LOWER)
    if change is None:
        return "no run is worse than those before it (p = 1)", 1.0
    if change.p >= rule.alpha:
        return f"no run is worse than those before it (p = {change.p:.2g})", change.p
    before = values[: change.first].mean()
    after = values[change.first :].mean()
    share = 100 * change.shares[change.first - 1]
    words = (
        f"{names[change.first]} is the first worse run, {share:.3g} % sure: from "
        f"{before:.4g} to {after:.4g} over {many(tasks, 'task')} "
        f"(p = {change.p:.2g} that nothing changed)"
    )
    low, high = _sure_range(change)
    if low < high:
        words += (
            f"; {100 * _SURE:g} % sure: one of {names[low + 1]} to {names[high + 1]}"
        )
    return words, change.p


def _likeliest_change(values: NDArray[np.float64], *, lower: bool) -> _Change | None:
    """Weigh the places of a change by likelihood; None where no later run is worse."""
    runs = len(values)
    badness = values.mean(axis=1)
    if not lower:
        badness = -badness
    scale = _error_of_one_run(values)
    is_rate = bool(((values >= 0) & (values <= 1)).all())
    prior = run_noise.prior_of(scale, is_rate=is_rate)
    variance = scale**2 + prior.sds**2
    splits = [_Split.of(badness, at) for at in range(1, runs)]
    rest = np.array([split.rest for split in splits])
    # of each place, shape (places, 1), and each noise
    log_likelihood = -rest[:, None] / (2 * variance)
    log_likelihood -= (runs - 2) / 2 * np.log(variance)
    log_likelihood += np.log(prior.weights)
    weights = np.exp(log_likelihood - log_likelihood.max())
    drops = np.array([split.drop for split in splits])
    by_place = np.where(drops > 0, weights.sum(axis=1), 0.0)
    if not by_place.any():
        return None
    at = int(by_place.argmax())
    first = at + 1
    errors = np.sqrt(variance * (1 / first + 1 / (runs - first)))
    noise = weights[at] / weights[at].sum()
    # any of the places may be the likeliest
    p = (runs - 1) * run_noise.tail_of(float(drops[at]), errors, noise)
    return _Change(first=first, shares=by_place / by_place.sum(), p=min(1.0, p))


def _error_of_one_run(values: NDArray[np.float64]) -> float:
    """Return the standard error of a run's value over its tasks, shape (runs, tasks).

    Of the differences between runs that follow each other, so that a change of the
    system is in one of them alone.
    """
    tasks = values.shape[1]
    spreads = np.diff(values, axis=0).var(axis=1, ddof=1) / 2
    return math.sqrt(max(float(np.median(spreads)), _NO_SPREAD) / tasks)


class _Split(msgspec.Struct, frozen=True):
    """The runs before and after a change."""

    drop: float  # of the mean of the later ones
    rest: float  # the sum of squares about both means

    @classmethod
    def of(cls, badness: NDArray[np.float64], at: int) -> _Split:
        """Split the runs before one."""
        before = badness[:at]
        after = badness[at:]
        return cls(
            drop=float(after.mean() - before.mean()),
            rest=float(before.var() * len(before) + after.var() * len(after)),
        )


def _sure_range(change: _Change) -> tuple[int, int]:
    """Widen the place of the change until it is sure to lie within."""
    shares = change.shares
    low = high = change.first - 1
    while shares[low : high + 1].sum() < _SURE:
        left = shares[low - 1] if low else -1.0
        right = shares[high + 1] if high + 1 < len(shares) else -1.0
        if left > right:
            low -= 1
        else:
            high += 1
    return low, high


def _task_values(
    plan: metrics.Plan, text: str, tables: Sequence[RolloutTable]
) -> NDArray[np.float64]:
    """Compute a metric's value of each task that all runs have, shape (runs, tasks)."""
    metric = plan.names.bind(text)
    runs = []
    for table in tables:
        aligned = metrics.align(tables[-1], table)[0]
        rewards = metrics.SampleSource(aligned, plan.spec.reward).sample(metric).rewards
        parts = metric.parts(rewards)
        if parts is None or parts.combine is not None:
            raise DataError(f"{text} is not a mean over tasks: name one with --metric")
        names = [
            str(task)
            for task, held in zip(aligned.tasks, parts.held, strict=True)
            if held
        ]
        runs.append(dict(zip(names, parts.values[parts.held].tolist(), strict=True)))
    common = [task for task in runs[-1] if all(task in run for run in runs)]
    return np.array([[run[task] for task in common] for run in runs], dtype=np.float64)


# -- the runs of commits ---------------------------------------------------------------------


def runs_of_commits(asked: str) -> tuple[list[str], list[str], list[str]]:
    """Find the artifacts of the commits in ``FROM..TO=PATTERN``: names, paths and notes."""
    span, _, pattern = asked.partition("=")
    first, _, last = span.partition("..")
    if "{commit}" not in pattern:
        raise EvalMetricsError(
            f"{asked}: expected {{commit}} in the pattern of the artifacts"
        )
    commits = _git("rev-parse", f"{first}^{{commit}}")
    commits += _git("rev-list", "--reverse", "--first-parent", f"{first}..{last}")
    runs = []
    for at, commit in enumerate(commits):
        places = (pattern.replace("{commit}", commit[:digits]) for digits in _SHORT)
        path = next((place for place in places if Path(place).exists()), None)
        if path is not None:
            runs.append((at, commit[:7], path))
    notes = [
        f"{many(at - before - 1, 'commit')} without artifacts between {earlier} and {name}"
        for (before, earlier, _), (at, name, _) in pairwise(runs)
        if at - before > 1
    ]
    return [name for _, name, _ in runs], [path for _, _, path in runs], notes


def _git(*args: str) -> list[str]:
    command = ["git", *args]  # the user's own, wherever it is
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - two fixed commands
    if done.returncode:
        raise EvalMetricsError(f"git {' '.join(args)}: {done.stderr.strip()}")
    return done.stdout.split()
