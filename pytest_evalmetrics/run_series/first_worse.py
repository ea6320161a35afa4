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
    *,
    may_be_rate: bool,
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
    may_be_rate
        Whether the metric is a rate if all values of tasks lie in [0, 1].

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
    on_unit = bool(((values >= 0) & (values <= 1)).all())
    change = _likeliest_change(
        values,
        lower=rule.direction is Direction.LOWER,
        is_rate=on_unit and may_be_rate,
    )
    if change is None:
        return "no run is worse than those before it (p = 1)", 1.0
    if change.p >= rule.alpha:
        return f"no run is worse than those before it (p = {change.p:.2g})", change.p
    return _described(change, values, names), change.p


def _described(
    change: _Change, values: NDArray[np.float64], names: Sequence[str]
) -> str:
    """Say which run is the first worse one, and how sure that is."""
    before = values[: change.first].mean()
    after = values[change.first :].mean()
    # never entirely sure
    share = min(100 * change.shares[change.first - 1], 99.9)
    words = (
        f"{names[change.first]} is the first worse run, {share:.3g} % sure: from "
        f"{before:.4g} to {after:.4g} over {many(values.shape[1], 'task')} "
        f"(p = {change.p:.2g} that nothing changed)"
    )
    low, high = sure_range(change.shares, change.first - 1)
    if low < high:
        words += (
            f"; {100 * _SURE:g} % sure: one of {names[low + 1]} to {names[high + 1]}"
        )
    return words


def _likeliest_change(
    values: NDArray[np.float64], *, lower: bool, is_rate: bool
) -> _Change | None:
    """Weigh the places of a change by likelihood; None where no later run is worse."""
    runs = len(values)
    badness = values.mean(axis=1)
    error = _error_of_one_run(values)
    if not lower:
        badness = -badness
    elif not is_rate and badness.min() > 0:
        # runs differ by a factor, see `comparison.noise_scale`
        error = _error_of_one_run(values / badness[:, None])
        badness = np.log(badness)
    prior = run_noise.prior_of(error, is_rate=is_rate)
    # of one run's value, for each noise between runs, shape (noises,)
    variance = error**2 + prior.sds**2
    splits = [_Split.of(badness, at) for at in range(1, runs)]
    rest = np.array([split.rest for split in splits])
    drops = np.array([split.drop for split in splits])
    # of each place and each noise, shape (places, noises)
    log_likelihood = -rest[:, None] / (2 * variance)
    log_likelihood -= (runs - 2) / 2 * np.log(variance)
    log_likelihood += np.log(prior.weights)
    likelihood = np.exp(log_likelihood - log_likelihood.max())
    of_places = np.where(drops > 0, likelihood.sum(axis=1), 0.0)
    if not of_places.any():
        return None
    likeliest = int(of_places.argmax())
    first = likeliest + 1
    errors_of_drop = np.sqrt(variance * (1 / first + 1 / (runs - first)))
    noise_weights = likelihood[likeliest] / likelihood[likeliest].sum()
    p = run_noise.tail_of(float(drops[likeliest]), errors_of_drop, noise_weights)
    # any of the places may be the likeliest
    p_of_any = min(1.0, (runs - 1) * p)
    return _Change(first=first, shares=of_places / of_places.sum(), p=p_of_any)


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


def sure_range(shares: NDArray[np.float64], likeliest: int) -> tuple[int, int]:
    """Widen the likeliest place of a change until the change is sure to lie within.

    Parameters
    ----------
    shares
        How likely each place is, shape (places,), summing to 1.
    likeliest
        The likeliest place, from 0.

    Returns
    -------
    The first and the last place.
    """
    last = len(shares) - 1
    low = likeliest
    high = likeliest
    while shares[low : high + 1].sum() < _SURE:
        # towards the likelier neighbour
        if high == last or (low > 0 and shares[low - 1] > shares[high + 1]):
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
        aligned, _ = metrics.align(tables[-1], table)
        source = metrics.SampleSource(aligned, plan.spec.reward)
        parts = metric.parts(source.sample(metric).rewards)
        if parts is None or parts.combine is not None:
            raise DataError(f"{text} is not a mean over tasks: name one with --metric")
        value_of_task: dict[str, float] = {}
        for place in np.flatnonzero(parts.held).tolist():
            value_of_task[str(aligned.tasks[place])] = float(parts.values[place])
        runs.append(value_of_task)
    tasks_of_runs = [set(run) for run in runs]
    common = sorted(set.intersection(*tasks_of_runs))
    values = np.empty((len(runs), len(common)))
    for row, value_of_task in enumerate(runs):
        values[row] = [value_of_task[task] for task in common]
    return values


# -- the runs of commits ---------------------------------------------------------------------


class _CommitRun(msgspec.Struct, frozen=True):
    """The artifacts of one commit."""

    place: int  # of the commit among all
    name: str
    path: str


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
    for place, commit in enumerate(commits):
        path = _artifacts_of(commit, pattern)
        if path is not None:
            runs.append(_CommitRun(place, commit[:7], path))
    notes = []
    for earlier, later in pairwise(runs):
        between = later.place - earlier.place - 1
        if between:
            notes.append(
                f"{many(between, 'commit')} without artifacts between {earlier.name} "
                f"and {later.name}"
            )
    return [run.name for run in runs], [run.path for run in runs], notes


def _artifacts_of(commit: str, pattern: str) -> str | None:
    """Return the artifacts that are named by a commit, or by its first digits."""
    for digits in _SHORT:
        path = pattern.replace("{commit}", commit[:digits])
        if Path(path).exists():
            return path
    return None


def _git(*args: str) -> list[str]:
    command = ["git", *args]  # the user's own, wherever it is
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - two fixed commands
    if done.returncode:
        raise EvalMetricsError(f"git {' '.join(args)}: {done.stderr.strip()}")
    return done.stdout.split()
