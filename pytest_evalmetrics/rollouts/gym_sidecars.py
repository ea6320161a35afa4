"""The files that NeMo Gym writes beside ``<stem>.jsonl``, by name.

``<stem>_failures.jsonl`` holds attempts that failed; `not_judged.FAILURE_CLASS` in their rows says
how. ``<stem>_materialized_inputs.jsonl`` holds the inputs of the run, without answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pytest_evalmetrics.rollouts.source import RolloutFile

_FAILURES: Final = "_failures"
_INPUTS: Final = "_materialized_inputs"


def without_sidecars(files: Sequence[RolloutFile]) -> list[RolloutFile]:
    """Leave out the inputs of runs, and empty lists of failures, of rollouts among the files."""
    paths = {file.path for file in files}
    return [file for file in files if not _is_left_out(file, paths)]


def _is_left_out(file: RolloutFile, paths: set[Path]) -> bool:
    if _rollouts_of(file.path, _INPUTS) in paths:
        return True
    if _rollouts_of(file.path, _FAILURES) not in paths:
        return False
    # one that does not exist any more is reported when it is opened
    return file.url is None and file.path.is_file() and not file.path.stat().st_size


def _rollouts_of(sidecar: Path, suffix: str) -> Path | None:
    """Name the rollouts that a file with such a name is written beside."""
    stem, dot, extensions = sidecar.name.partition(".")
    if not stem.endswith(suffix):
        return None
    return sidecar.with_name(stem.removesuffix(suffix) + dot + extensions)
