"""The first worse of several runs in their order, and how sure that is."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from pytest_evalmetrics import metrics
from pytest_evalmetrics.errors import DataError, EvalMetricsError
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.stats import normal_sf

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import RolloutTable

_SURE = 0.95  # of the range of runs
_FEW, _NO_NOISE = 7, (0.98, 0.5)  # the prior weight of no noise between few runs, and more
_SHORT = (40, 12, 10, 8, 7)  # digits of a commit in the name of its artifacts


class Suspect(msgspec.Struct, frozen=True):
    """The run at which a metric got worse, by places of runs."""

    first: int  # the likeliest
    sure: float  # the probability that it is this one, given that one is worse
    low: int  # the runs that hold it with 95 %
    high: int
    before: float  # the mean of the runs before it
    after: float  # of it and those after it
    p: float  # of such a drop anywhere, where nothing changed
    tasks: int


def first_worse(
    plan: metrics.Plan, text: str, tables: Sequence[RolloutTable], *, lower: bool
) -> Suspect:
    """Find the run from which on a metric is worse; `lower` says that less of it is better.

    A run's value has an error by its tasks' rollouts, the median of what neighbouring runs show,
    and one by noise between runs, of which the prior is that of the gate: some weight on none, the
    rest on a half-Cauchy distribution of 4 standard errors (Gelman 2006). The likelihood of two
    levels, averaged over that noise, weighs the places of the change; p is that of the likeliest
    one times their number (Bonferroni).
    """
    values = _task_values(plan, text, tables)
    n, tasks = values.shape
    if tasks < 2:  # noqa: PLR2004 - no spread
        raise DataError(f"{many(tasks, 'task')} in all of these runs: two or more are needed")
    y = values.mean(axis=1) * (1 if lower else -1)  # more is worse
    spread = np.median(np.diff(values, axis=0).var(axis=1, ddof=1)) / 2 / tasks
    scale = math.sqrt(max(float(spread), 1e-12 / tasks))
    between = np.concatenate(([0.0], np.geomspace(0.02, 60, 160))) * scale
    prior = np.gradient(between) / (1 + (between / (4 * scale)) ** 2)
    none = _NO_NOISE[n >= _FEW]
    prior[0] = 0.0
    prior *= (1 - none) / prior.sum()
    prior[0] = none
    variance = scale**2 + between**2
    places = range(1, n)
    drops = np.array([y[at:].mean() - y[:at].mean() for at in places])
    rest = np.array([y[:at].var() * at + y[at:].var() * (n - at) for at in places])
    log = -(n - 2) / 2 * np.log(variance) - rest[:, None] / (2 * variance) + np.log(prior)
    weights = np.exp(log - log.max())  # of each place, and each noise
    by_place = np.where(drops > 0, weights.sum(axis=1), 0.0)
    if not by_place.any():
        return Suspect(0, 0.0, 0, n - 1, *(float(values.mean()),) * 2, 1.0, tasks)
    by_place /= by_place.sum()
    at = int(by_place.argmax())
    first = places[at]
    errors = np.sqrt(variance * (1 / first + 1 / (n - first)))
    noise = weights[at] / weights[at].sum()
    tails = [normal_sf(float(drops[at] / error)) for error in errors]
    low = high = at
    while by_place[low : high + 1].sum() < _SURE:
        left = by_place[low - 1] if low else -1.0
        right = by_place[high + 1] if high + 1 < len(by_place) else -1.0
        low, high = (low - 1, high) if left > right else (low, high + 1)
    return Suspect(
        first=first,
        sure=float(by_place[at]),
        low=places[low],
        high=places[high],
        before=float(values[:first].mean()),
        after=float(values[first:].mean()),
        p=min(1.0, (n - 1) * float(noise @ np.array(tails))),
        tasks=tasks,
    )


def _task_values(
    plan: metrics.Plan, text: str, tables: Sequence[RolloutTable]
) -> NDArray[np.float64]:
    """Compute a metric's value of each task that all runs have, shape (runs, tasks)."""
    metric = plan.names.bind(text)
    runs: list[dict[str, float]] = []
    for table in tables:
        aligned = metrics.align(tables[-1], table)[0]
        rewards = metrics.SampleSource(aligned, plan.spec.reward).sample(metric).rewards
        parts = metric.parts(rewards)
        if parts is None or parts.combine is not None:
            raise DataError(f"{text} is no mean over tasks: name one with --metric")
        names = [str(task) for task, held in zip(aligned.tasks, parts.held, strict=True) if held]
        runs.append(dict(zip(names, parts.values[parts.held].tolist(), strict=True)))
    common = [task for task in runs[-1] if all(task in run for run in runs)]
    return np.array([[run[task] for task in common] for run in runs], dtype=np.float64)


def described(name: str, suspect: Suspect, runs: Sequence[str], *, alpha: float) -> str:
    """Say in words which run is the first worse one."""
    if suspect.p >= alpha:
        return f"{name}: no run is worse than those before it (p = {suspect.p:.2g})"
    text = (
        f"{name}: {runs[suspect.first]} is the first worse run, {100 * suspect.sure:.3g} % sure: "
        f"from {suspect.before:.4g} to {suspect.after:.4g} over {many(suspect.tasks, 'task')} "
        f"(p = {suspect.p:.2g} that nothing changed)"
    )
    if suspect.low < suspect.high:
        text += f"; {100 * _SURE:g} % sure: one of {runs[suspect.low]} to {runs[suspect.high]}"
    return text


def runs_of_commits(asked: str) -> tuple[list[str], list[str], list[str]]:
    """Find the artifacts of commits: ``FROM..TO=PATTERN``, where ``{commit}`` is their hash.

    Returns the names of runs, their paths, and a note for each run after commits without artifacts.
    """
    span, _, pattern = asked.partition("=")
    first, _, last = span.partition("..")
    if "{commit}" not in pattern:
        raise EvalMetricsError(f"{asked}: expected {{commit}} in the pattern of the artifacts")
    commits = _git("rev-parse", f"{first}^{{commit}}")
    commits += _git("rev-list", "--reverse", "--first-parent", f"{first}..{last}")
    names, paths, notes, without = [], [], [], 0
    for commit in commits:
        places = (pattern.replace("{commit}", commit[:digits]) for digits in _SHORT)
        path = next((place for place in places if Path(place).exists()), None)
        if path is None:
            without += 1
            continue
        names.append(commit[:7])
        paths.append(path)
        if without and len(names) > 1:
            before = many(without, "commit")
            notes.append(f"{before} without artifacts between {names[-2]} and {names[-1]}")
        without = 0
    return names, paths, notes


def _git(*args: str) -> list[str]:
    command = ["git", *args]  # the user's own, wherever it is
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - two fixed commands
    if done.returncode:
        raise EvalMetricsError(f"git {' '.join(args)}: {done.stderr.strip()}")
    return done.stdout.split()
