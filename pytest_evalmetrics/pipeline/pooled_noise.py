"""Noise between runs of other benchmarks, by their committed baselines of several runs.

The baselines beside a benchmark's own are read, and none of the run's items: the verdict
of a benchmark does not depend on which others are selected.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from pytest_evalmetrics import baselines
from pytest_evalmetrics.comparison import RunScatter, means_of, scatter_of
from pytest_evalmetrics.errors import EvalMetricsError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pytest_evalmetrics.model.baseline import BaselineDocument
    from pytest_evalmetrics.model.rollout_table import RolloutTable

_REWARD = "reward"  # the score of a baseline whose ruler names none


class _Provenance(msgspec.Struct, frozen=True):
    """The runs of a baseline, not read."""

    runs: tuple[msgspec.Raw, ...] = ()


class _RunsAlone(msgspec.Struct, frozen=True):
    """A baseline of which its number of runs is read alone."""

    provenance: _Provenance = _Provenance()


class BaselineScatter(msgspec.Struct, frozen=True):
    """How the runs of one committed baseline scatter."""

    file: Path
    scatter: RunScatter


def scatters_in(folder: Path) -> tuple[BaselineScatter, ...]:
    """Measure the rates of all baselines of several runs below a folder.

    A baseline that can't be read is left to its own benchmark.
    """
    return tuple(
        BaselineScatter(file, scatter)
        for file in sorted(folder.glob("*/*.json"))
        for scatter in _scatters_of(file)
    )


def _scatters_of(file: Path) -> Iterator[RunScatter]:
    try:
        data = file.read_bytes()
        header = msgspec.json.decode(data, type=_RunsAlone)
    except (OSError, msgspec.DecodeError):
        return
    if len(header.provenance.runs) < 2:
        return
    with suppress(EvalMetricsError, UnicodeDecodeError):
        document = baselines.parse(data.decode(), file=file.name)
        score = _reward_of(document)
        for runs in baselines.tables(document, file=file.name).values():
            scatter = _scatter_of_rates(runs, score)
            if scatter is not None:
                yield scatter


def _reward_of(document: BaselineDocument) -> str:
    ruler = document.provenance.ruler or {}
    score = ruler.get("reward", {}).get("score", _REWARD)
    return score if isinstance(score, str) else _REWARD


def _scatter_of_rates(runs: Sequence[RolloutTable], score: str) -> RunScatter | None:
    """Measure the mean reward of each run; None if it is no rate of the same tasks."""
    values = []
    for run in runs:
        if score not in run.scores or run.tasks != runs[0].tasks:
            return None
        rewards = run.rewards(score)
        if not (rewards.counts > 0).all():
            return None
        values.append(means_of(rewards))
    by_run = np.array(values)
    if by_run.shape[1] < 2 or by_run.min() < 0 or by_run.max() > 1:
        return None
    return scatter_of(by_run)
