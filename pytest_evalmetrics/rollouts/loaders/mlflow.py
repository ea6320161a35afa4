"""Traces of MLflow with their assessments: ``trace.to_json()`` on each line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from pytest_evalmetrics.rollouts import json_values
from pytest_evalmetrics.rollouts.documents import rows_of
from pytest_evalmetrics.rollouts.not_judged import RolloutError, judged
from pytest_evalmetrics.rollouts.tool_loader import ChunkBuilder, Rollout, ToolLoader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_evalmetrics.json_types import JsonMapping, JsonObject
    from pytest_evalmetrics.rollouts.source import Source

_FAILED: Final = "ERROR"  # the state of a trace
# the ratings of MLflow's judges, as its own aggregates count them
_RATINGS: Final = {"yes": 1, "no": 0}


class MlflowTraces(ToolLoader):
    """Reads traces: a trace is a task, which is recognised by its request.

    The feedback of a trace is its scores by their names; a trace without one is missing, and so is
    an assessment that failed.
    """

    def rollouts(self, source: Source, builder: ChunkBuilder) -> Iterator[Rollout]:
        """Yield the rollouts of one file."""
        traces = [
            Trace(name=source.at(place), row=row) for place, row in rows_of(source)
        ]
        graded = [_grades(trace.row) for trace in traces]
        names = dict.fromkeys(name for grades in graded for name in grades.scores)
        for name in names:
            builder.measured(f"mlflow {name}", (name,), {})
        for trace, grades in zip(traces, graded, strict=True):
            info = json_values.mapping(trace.row.get("info"))
            yield Rollout(
                record=trace.row,
                name=trace.name,
                task=json_values.first(info, "trace_id", "request_id"),
                sample=0,
                scores={**dict.fromkeys(names), **grades.scores},
                error=grades.error,
                content=json_values.first(
                    trace.row, "info.request_preview", "data.request"
                ),
            )


class Trace(msgspec.Struct, frozen=True):
    """A trace, and its name in messages."""

    name: str
    row: JsonObject


class TraceGrades(msgspec.Struct, frozen=True):
    """The feedback of a trace, None where nobody judged, and why the first of it is."""

    scores: JsonObject
    error: RolloutError | None


def _grades(row: JsonMapping) -> TraceGrades:
    """Read the feedback of a trace that is valid, and the first that failed."""
    scores: JsonObject = {}
    error = _crash(row)
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
    # scorers are run for a trace that failed, too
    is_crash = error is not None and not error.of_grader
    return TraceGrades(scores=judged(scores, error if is_crash else None), error=error)


def _crash(row: JsonMapping) -> RolloutError | None:
    """Find why a trace failed: the first of its spans that says so."""
    if json_values.first(row, "info.state", "info.status") != _FAILED:
        return None
    spans = json_values.objects(json_values.lookup(row, "data.spans"))
    messages = (json_values.lookup(span, "status.message") for span in spans)
    message = next(filter(None, messages), "")
    return RolloutError(kind="the trace failed", message=str(message))
