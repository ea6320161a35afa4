"""Traces of MLflow with their assessments: ``trace.to_json()`` on each line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.rollouts import json_values
from pytest_evalmetrics.rollouts.documents import rows_of
from pytest_evalmetrics.rollouts.not_judged import RolloutError
from pytest_evalmetrics.rollouts.tool_loader import ChunkBuilder, Rollout, ToolLoader

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_evalmetrics.json_types import JsonObject, JsonValue
    from pytest_evalmetrics.rollouts.source import Source

# the ratings of MLflow's judges, as its own aggregates count them
_RATINGS: Final = {"yes": 1, "no": 0}


class MlflowTraces(ToolLoader):
    """Reads traces: a trace is a task, which is recognised by its request.

    The feedback of a trace is its scores by their names; a trace without one is missing, and so is
    an assessment that failed.
    """

    def rollouts(self, source: Source, builder: ChunkBuilder) -> Iterator[Rollout]:
        """Yield the rollouts of one file."""
        traces = [(source.at(place), row) for place, row in rows_of(source)]
        graded = [_feedback(row) for _, row in traces]
        names = dict.fromkeys(name for scores, _ in graded for name in scores)
        for name in names:
            builder.measured(f"mlflow {name}", (name,), {})
        for (at, row), (scores, error) in zip(traces, graded, strict=True):
            info = json_values.mapping(row.get("info"))
            yield Rollout(
                record=row,
                name=at,
                task=json_values.first(info, "trace_id", "request_id"),
                sample=0,
                scores={**dict.fromkeys(names), **scores},
                error=error,
                content=json_values.first(row, "info.request_preview", "data.request"),
            )


def _feedback(
    row: Mapping[str, JsonValue],
) -> tuple[JsonObject, RolloutError | None]:
    """Read the feedback of a trace that is valid, and the first that failed."""
    scores: JsonObject = {}
    error: RolloutError | None = None
    assessments = json_values.lookup(row, "info.assessments")
    for assessment in json_values.objects(assessments):
        feedback = assessment.get("feedback")
        if not isinstance(feedback, dict) or assessment.get("valid") is False:
            continue  # an expectation, or feedback that another one replaces
        name = str(json_values.first(assessment, "assessment_name", "name"))
        value = feedback.get("value")
        scores[name] = _RATINGS.get(value, value) if isinstance(value, str) else value
        stated = json_values.first(feedback, "error.error_message", "error.error_code")
        if stated is not None:
            scores[name] = None
            kind = f"{name} was not judged"
            error = error or RolloutError(kind, str(stated), of_grader=True)
    return scores, error
