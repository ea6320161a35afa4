"""Files beside rollouts that hold none, by name: NeMo Gym's, and the artifacts of our own runs.

NeMo Gym writes beside ``<stem>.jsonl``: ``<stem>_failures.jsonl`` with the attempts that failed,
whose rows say how at `not_judged.FAILURE_CLASS`; ``<stem>_materialized_inputs.jsonl`` with the
inputs of the run; and ``<stem>_reward_profiling.jsonl``, ``<stem>_aggregate_metrics.json`` and
``<stem>_agent_metrics.json`` with numbers over its rollouts.
"""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from pytest_evalmetrics.rollouts.source import RolloutFile

_FAILURES: Final = "_failures"
_WITHOUT_ATTEMPTS: Final = (
    "_materialized_inputs",
    "_reward_profiling",
    "_aggregate_metrics",
    "_agent_metrics",
)
_ROLLOUTS: Final = ".jsonl"
#: Artifacts of a run of this plugin; a folder that holds all of them is one of its outputs.
_ARTIFACTS: Final = ("aggregate_metrics.json", "report.json")
_ROW_SCORES: Final = "row_scores.jsonl"


def without_sidecars(files: Sequence[RolloutFile]) -> list[RolloutFile]:
    """Leave out files that hold no attempts, and empty lists of failures."""
    paths = {file.path for file in files}
    sidecars = sidecars_among(paths)
    return [
        file
        for file in files
        if file.path not in sidecars and not _is_empty_failures(file, paths)
    ]


def sidecars_among(paths: Collection[Path]) -> set[Path]:
    """Find the files beside rollouts among these paths that hold no attempts."""
    return {
        path
        for path in paths
        if _is_without_attempts(path, paths) or _is_artifact(path, paths)
    }


def _is_without_attempts(path: Path, paths: Collection[Path]) -> bool:
    beside = map(partial(_rollouts_of, path), _WITHOUT_ATTEMPTS)
    return any(rollouts in paths for rollouts in chain.from_iterable(beside))


def _is_artifact(path: Path, paths: Collection[Path]) -> bool:
    if path.name not in (*_ARTIFACTS, _ROW_SCORES):
        return False
    return all(path.with_name(name) in paths for name in _ARTIFACTS)


def _is_empty_failures(file: RolloutFile, paths: Collection[Path]) -> bool:
    if not any(rollouts in paths for rollouts in _rollouts_of(file.path, _FAILURES)):
        return False
    # one that does not exist any more is reported when it is opened
    return file.url is None and file.path.is_file() and not file.path.stat().st_size


def _rollouts_of(sidecar: Path, suffix: str) -> list[Path]:
    """Name the rollouts that a file with such a name may be written beside."""
    stem, dot, extensions = sidecar.name.partition(".")
    if not stem.endswith(suffix):
        return []
    own = stem.removesuffix(suffix)
    names = (own + dot + extensions, own + _ROLLOUTS)
    return [sidecar.with_name(name) for name in names]
