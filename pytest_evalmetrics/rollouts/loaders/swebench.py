"""Reports of SWE-bench: ``<model>.<run>.json``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.model.rollout_notes import (
    AmbiguousFailures,
    UnsubmittedInstances,
)
from pytest_evalmetrics.rollouts import json_values
from pytest_evalmetrics.rollouts.documents import Document
from pytest_evalmetrics.rollouts.not_judged import RolloutError
from pytest_evalmetrics.rollouts.repeated_reports import RepeatedReports
from pytest_evalmetrics.rollouts.tool_loader import ChunkBuilder, Rollout, ToolLoader

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_evalmetrics.json_types import JsonMapping
    from pytest_evalmetrics.rollouts.loader import Request
    from pytest_evalmetrics.rollouts.source import Source

_WHAT: Final = "a report of SWE-bench"
_VERSIONS: Final = (None, 1, 2)
_RESOLVED: Final = "resolved_ids"
# lists of instances that were judged: a patch that is empty resolves nothing
_UNRESOLVED: Final = ("unresolved_ids", "empty_patch_ids")
# lists of instances without a verdict, and the kind of failure; the first list that has one counts.
# The harness leaves infrastructure failures in unresolved_ids or error_ids, too.
_NOT_JUDGED: Final = {
    "infra_failure_ids": "infrastructure failure",
    "error_ids": "error",
}
# lists of instances that a reader should know of, and the words of the note
_UNSUBMITTED: Final = "incomplete_ids"
_AMBIGUOUS: Final = "ambiguous_failure_ids"
_COUNTS: Final = {
    "resolved_instances": _RESOLVED,
    "unresolved_instances": "unresolved_ids",
    "error_instances": "error_ids",
    "submitted_instances": "",
}


class SweBench(ToolLoader):
    """Reads the report of a run: an instance is a task with one rollout, resolved or not.

    Instances that hit an infrastructure failure or an error are missing; those of the data set
    that the run did not submit are left out. Further reports of the same instances are attempts.
    """

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self._reports = RepeatedReports()
        self._model: str | None = None  # of the first report, by its name

    def rollouts(self, source: Source, builder: ChunkBuilder) -> Iterator[Rollout]:
        """Yield the rollouts of one file."""
        report = Document.of(source, _WHAT).whole()
        version = report.get("schema_version")
        if version not in _VERSIONS:
            raise source.error(
                f"this is {_WHAT} of the schema version {version!r}; known is 2",
                hint="update pytest-evalmetrics",
            )
        lists = _id_lists(report)
        judged: dict[str, None] = {}
        for name in (_RESOLVED, *_UNRESOLVED, *_NOT_JUDGED):
            judged.update(dict.fromkeys(lists.get(name, ())))
        self._must_be_of_one_model(source)
        self._reports.add(source, judged)
        members = {name: frozenset(ids) for name, ids in lists.items()}
        reasons = json_values.mapping(report.get("failure_reasons"))
        for instance in judged:
            error = _error(instance, members, reasons)
            resolved = int(instance in members.get(_RESOLVED, ()))
            yield Rollout(
                record={"instance_id": instance},
                name=f"{source.shown}: {instance}",
                task=instance,
                sample=self._reports.sample(instance),
                scores={"reward": None if error else resolved},
                error=error,
            )
        note = self._reports.note(source)
        if note is not None:
            builder.notes.append(note)
        unsubmitted = len(lists.get(_UNSUBMITTED, ()))
        if unsubmitted:
            builder.notes.append(UnsubmittedInstances(source.shown, unsubmitted))
        ambiguous = len(lists.get(_AMBIGUOUS, ()))
        if ambiguous:
            builder.notes.append(AmbiguousFailures(source.shown, ambiguous))
        for key, name in _COUNTS.items():
            count = len(lists.get(name, ())) if name else len(judged)
            builder.compare(key, report.get(key), count)

    def _must_be_of_one_model(self, source: Source) -> None:
        """Refuse reports whose names are of several models: ``<model>.<run>.json``."""
        model, _, _ = source.path.stem.rpartition(".")
        if self._model is None:
            self._model = model
        elif model != self._model:
            raise source.error(
                f"the reports are of several models by their names: {self._model or 'none'} "
                f"and {model or 'none'}",
                hint="give each its own benchmark",
            )


def _id_lists(report: JsonMapping) -> dict[str, list[str]]:
    """Read the lists of instances by their names."""
    lists = {}
    for name, value in report.items():
        if name.endswith("_ids") and isinstance(value, list):
            lists[name] = [item for item in value if isinstance(item, str)]
    return lists


def _error(
    instance: str,
    members: Mapping[str, frozenset[str]],
    reasons: JsonMapping,
) -> RolloutError | None:
    if instance in members.get(_RESOLVED, ()):
        return None
    for name, kind in _NOT_JUDGED.items():
        if instance in members.get(name, ()):
            return RolloutError(kind=kind, message=str(reasons.get(instance) or ""))
    return None
