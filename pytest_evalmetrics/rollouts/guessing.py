"""Which keys of a row look like the task's id and the attempt's number, where nobody says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.rollouts.records import records
from pytest_evalmetrics.spec import FieldMap, RolloutsSpec

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from typing import Any

__all__ = ["guessed_fields"]

# as evaluation tools and data sets name them, the most telling first
_TASK: Final = (
    "task_id",
    "task",
    "task_index",
    "problem_id",
    "question_id",
    "instance_id",
    "example_id",
    "doc_id",
    "item_id",
    "id",
)
_SAMPLE: Final = ("sample", "sample_index", "sample_id", "attempt", "trial", "epoch", "repeat")


def guessed_fields(spec: RolloutsSpec, base: Path) -> FieldMap | None:
    """Guess by the first row; None where no key looks like a task's id."""
    for _, first in records(spec, base):
        task = _first(_TASK, first, (int, str))
        return None if task is None else FieldMap(task=task, sample=_first(_SAMPLE, first, (int,)))
    return None


def _first(names: tuple[str, ...], row: Mapping[str, Any], kinds: tuple[type, ...]) -> str | None:
    return next((name for name in names if type(row.get(name)) in kinds), None)
