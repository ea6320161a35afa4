"""The worker process on a Ray node. It runs the project's own code and knows nothing of Ray."""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from pytest_evalmetrics.errors import EngineError, EvalMetricsError
from pytest_evalmetrics.generators import TargetGenerator
from pytest_evalmetrics.registry import scorers, targets
from pytest_evalmetrics.scorers import Row, Scores, Terms, make_scorers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_evalmetrics.spec import ScorerSpec
    from pytest_evalmetrics.spec.model_keys import TargetSpec


@dataclass(frozen=True, slots=True)
class Kit:
    """What a worker needs before its first task; no secrets."""

    version: str  # of this package
    registered: Mapping[str, Any]  # the project's scorers, by the names in the benchmark file
    target: Any  # the function behind `target:`, if any
    scorers: Mapping[int, ScorerSpec]
    target_spec: TargetSpec | None
    terms: Terms


class ScoreTask(NamedTuple):
    """Score a row by one of the scorers."""

    scorer: int
    row: Row


class AnswerTask(NamedTuple):
    """Call the target with a row."""

    row: Mapping[str, Any]
    sample: int


class Worker:
    """Scores rows and calls the target; errors are returned, as Ray would change their class."""

    async def begin(self, kit: bytes, path: list[str], folder: str) -> EvalMetricsError | None:
        """Import the project's code; return why that fails."""
        sys.path[:] = [*path, *(p for p in sys.path if p not in path)]
        with suppress(OSError):
            os.chdir(folder)
        try:
            self._make(pickle.loads(kit))  # noqa: S301 - from the run that this works for
        except EvalMetricsError as error:
            return error
        except Exception as error:  # noqa: BLE001 - the project's modules are imported here
            return EngineError(
                f"a worker of the cluster can't start: {type(error).__name__}: {error}",
                hint="what the project's code imports has to be installed on every node, or lie "
                "in the project's folder",
            )
        return None

    def _make(self, kit: Kit) -> None:
        here = version("pytest-evalmetrics")
        if here != kit.version:
            raise EngineError(
                f"a worker of the cluster has pytest-evalmetrics {here}, this run {kit.version}",
                hint="install the same version on every node",
            )
        for name, target in kit.registered.items():
            scorers.put(name, target)
        self._scorers = {
            number: make_scorers((spec,), kit.terms, lambda *_: 0)[0]
            for number, spec in kit.scorers.items()
        }
        if kit.target_spec is not None:
            targets.put(kit.target_spec.function, kit.target)
            self._target = TargetGenerator(kit.target_spec, kit.terms)

    async def work(
        self, tasks: Sequence[ScoreTask | AnswerTask]
    ) -> list[Scores | str | EvalMetricsError]:
        """Do tasks side by side; a scorer sees one row at a time."""
        return await asyncio.gather(*(self._do(task) for task in tasks))

    async def _do(self, task: ScoreTask | AnswerTask) -> Scores | str | EvalMetricsError:
        try:
            if isinstance(task, AnswerTask):
                return await self._target.answer(task.row, task.sample)
            return await self._scorers[task.scorer].score_with(task.row, cast("Any", None))
        except EvalMetricsError as error:
            return error
