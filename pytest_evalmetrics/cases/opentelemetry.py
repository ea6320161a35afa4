"""Spans in OTLP's JSON, as the collector's file exporter and most backends write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.cases.conventions import content_of, flat
from pytest_evalmetrics.cases.payloads import items, mapping
from pytest_evalmetrics.cases.spans import Span
from pytest_evalmetrics.rollouts.otlp_attributes import plain_attributes

if TYPE_CHECKING:
    from collections.abc import Iterator


def recognises(document: dict[str, object]) -> bool:
    """Check for a document of OTLP, or one of its spans."""
    is_span = "traceId" in document and "startTimeUnixNano" in document
    return "resourceSpans" in document or is_span


def spans(document: dict[str, object]) -> Iterator[Span]:
    """Yield the spans of all resources and scopes."""
    if "resourceSpans" not in document:
        yield _span(document)
    for resource in items(document.get("resourceSpans")):
        fields = mapping(resource)
        scopes = items(fields.get("scopeSpans"))
        for scope in scopes or items(fields.get("instrumentationLibrarySpans")):
            for span in items(mapping(scope).get("spans")):
                yield _span(mapping(span))


def _span(record: dict[str, object]) -> Span:
    attributes = flat(mapping(plain_attributes(record.get("attributes"))))
    events = []
    for event in items(record.get("events")):
        fields = mapping(event)
        plain = plain_attributes(fields.get("attributes"))
        events.append({"name": fields.get("name"), "attributes": plain})
    content = content_of(attributes, events)
    status = mapping(record.get("status"))
    error = ""
    if status.get("code") in (2, "STATUS_CODE_ERROR"):
        error = str(status.get("message") or "failed")
    return Span(
        span_id=str(record.get("spanId", "")),
        trace_id=str(record.get("traceId", "")),
        parent_id=str(record.get("parentSpanId") or ""),
        name=str(record.get("name", "")),
        question=content.question,
        answer=content.answer,
        messages=content.messages,
        context=content.context,
        error=error,
        record=attributes,
    )
