"""Traces of Langfuse: downloaded from its page, ``GET /api/public/traces/ID``, or observations.

A trace holds its observations; rows of the observations' API and of blob storage stand alone, in
camel case or in snake case.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.cases.payloads import (
    decoded,
    items,
    mapping,
    messages_in,
    question_in,
    texts_of,
)
from pytest_evalmetrics.cases.spans import Span

if TYPE_CHECKING:
    from collections.abc import Iterator


def recognises(document: dict[str, object]) -> bool:
    """Check for a trace, with or without its observations, or for an observation."""
    if "trace" in document and "observations" in document:
        return True
    has_content = "input" in document and "output" in document
    names = {"observations", "traceId", "trace_id", "sessionId", "session_id", "userId"}
    return has_content and not names.isdisjoint(document)


def spans(document: dict[str, object]) -> Iterator[Span]:
    """Yield a trace and its observations, or the observation of a row."""
    trace = mapping(document.get("trace")) or document
    observation_of = trace.get("traceId") or trace.get("trace_id")
    if observation_of:
        yield _span(trace, trace_id=str(observation_of), root="")
        return
    trace_id = str(trace.get("id", ""))
    yield _span(trace, trace_id=trace_id, root="")
    for observation in items(document.get("observations")):
        yield _span(mapping(observation), trace_id=trace_id, root=trace_id)


def _span(record: dict[str, object], *, trace_id: str, root: str) -> Span:
    given = decoded(record.get("input"))
    made = decoded(record.get("output"))
    step = texts_of(str(record.get("type", "")), made)
    parent = record.get("parentObservationId") or record.get("parent_observation_id")
    message = record.get("statusMessage") or record.get("status_message")
    error = ""
    if record.get("level") == "ERROR":
        error = str(message or "failed")
    return Span(
        span_id=str(record.get("id", "")),
        trace_id=trace_id,
        parent_id=str(parent or root),
        name=str(record.get("name") or ""),
        question=question_in(given),
        answer=step.answer,
        messages=messages_in(given),
        context=step.context,
        error=error,
        record={
            "input": given,
            "output": made,
            "metadata": decoded(record.get("metadata")),
            "userId": record.get("userId") or record.get("user_id"),
        },
    )
