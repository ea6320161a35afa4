"""What says how far runs scatter, beside the runs of a benchmark's own baseline."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.comparison import (
    RunScatter,
    error_of_current,
    lone_run,
    pool_shows_noise,
    scatter_of_successive,
)
from pytest_evalmetrics.errors import BaselineError
from pytest_evalmetrics.model.verdicts import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pytest_evalmetrics.comparison import Runs
    from pytest_evalmetrics.model.comparison import PairedMetric
    from pytest_evalmetrics.model.history import HistoryPoint, HistoryRun

# the last runs of a history that count: older ones are of other servers
_MOST = 60
# how many tasks and rollouts a run has at least, as a share of those of another
_ALIKE = 0.9


class NoiseElsewhere(msgspec.Struct, frozen=True, kw_only=True):
    """Runs of other benchmarks, and earlier runs of this one."""

    # of other benchmarks of the project, where they are rates
    neighbours: tuple[RunScatter, ...] = ()
    # earlier runs, the oldest first
    past: tuple[HistoryRun, ...] = ()

    def of(
        self, runs: Runs | None, pair: PairedMetric, *, agent: str, is_rate: bool
    ) -> Runs | None:
        """Add what is known to the runs of a baseline; None where nothing is.

        Beside a lone run, neighbours count if they show noise.
        """
        history = None
        history_of_logs = None
        stretches = _stretches(self.past, pair, agent)
        if stretches:
            history = scatter_of_successive(stretches, error_of_current(pair))
            history_of_logs = _scatter_of_logs(stretches, pair)
        neighbours = self.neighbours if is_rate else ()
        if runs is not None:
            return structs.replace(
                runs,
                history=history,
                history_of_logs=history_of_logs,
                pool=neighbours,
            )
        if history is None and not pool_shows_noise(neighbours):
            return None
        return lone_run(
            pair,
            is_rate=is_rate,
            history=history,
            history_of_logs=history_of_logs,
            pool=neighbours,
        )


def _scatter_of_logs(
    stretches: Sequence[Sequence[float]], pair: PairedMetric
) -> RunScatter | None:
    """Measure how the logarithms of runs scatter; None where a value is not positive."""
    now = pair.value_current
    smallest = min(min(stretch) for stretch in stretches)
    if not (now > 0 and smallest > 0):
        return None
    logs = [np.log(stretch).tolist() for stretch in stretches]
    return scatter_of_successive(logs, error_of_current(pair) / now)


NOTHING: Final = NoiseElsewhere()


def past_runs(history: Path | None, label: str) -> tuple[HistoryRun, ...]:
    """Read the earlier runs of a benchmark; the end of the run reports a broken history."""
    if history is None:
        return ()
    from pytest_evalmetrics.history import read_history  # if there is one

    with suppress(BaselineError):
        of_benchmarks, _ = read_history(history, history.name)
        judged = [run for run in of_benchmarks.get(label, ()) if _is_judged(run)]
        return tuple(judged[-_MOST:])
    return ()


def _is_judged(run: HistoryRun) -> bool:
    """Check whether a run has a verdict.

    Runs that failed count: without them the rest would scatter less than all runs do.
    """
    return run.verdict in (Verdict.PASS, Verdict.WARN, Verdict.FAIL)


def _stretches(
    past: Sequence[HistoryRun], pair: PairedMetric, agent: str
) -> list[list[float]]:
    """Return the values of runs like the current one, by what was accepted between them.

    A run that accepts a change begins a stretch, and so does one that is measured
    otherwise than the run before it.
    """
    stretches: list[list[float]] = []
    last: HistoryRun | None = None
    for run in past:
        # the same rollouts again
        if last is not None and run.agents == last.agents:
            continue
        point = _point(run, agent, pair.name)
        if point is None or not _is_like(point, pair):
            last = None
            continue
        if last is None or run.starts or run.ruler != last.ruler:
            stretches.append([])
        stretches[-1].append(point.value)
        last = run
    return stretches


def _point(run: HistoryRun, agent: str, metric: str) -> HistoryPoint | None:
    points = run.agents.get(agent)
    if points is None and len(run.agents) == 1:  # it may have been renamed
        (points,) = run.agents.values()
    return None if points is None else points.get(metric)


def _is_like(point: HistoryPoint, pair: PairedMetric) -> bool:
    """Check whether a run had about as many tasks and rollouts as the current one."""
    rollouts = len(pair.rewards_current.values)
    return _are_alike(point.tasks, len(pair.tasks)) and _are_alike(
        point.rollouts, rollouts
    )


def _are_alike(one: int, other: int) -> bool:
    return min(one, other) >= _ALIKE * max(one, other)
