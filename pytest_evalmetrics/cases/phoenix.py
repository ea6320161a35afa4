"""Spans of Phoenix: ``GET /v1/projects/PROJECT/spans``, and its data frame of spans as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.cases.conventions import content_of, flat
from pytest_evalmetrics.cases.payloads import items, mapping
from pytest_evalmetrics.cases.spans import Span

if TYPE_CHECKING:
    from collections.abc import Iterator

_COLUMN = "attributes."


def recognises(document: dict[str, object]) -> bool:
    """Check for a span with its context, or a row of the data frame."""
    return "context" in document or "context.span_id" in document


def spans(document: dict[str, object]) -> Iterator[Span]:
    """Yield the span of one record."""
    context = mapping(document.get("context"))
    attributes = _attributes_of(document)
    events = [mapping(event) for event in items(document.get("events"))]
    content = content_of(attributes, events)
    error = ""
    if document.get("status_code") == "ERROR":
        error = str(document.get("status_message") or "failed")
    yield Span(
        span_id=str(context.get("span_id") or document.get("context.span_id")),
        trace_id=str(context.get("trace_id") or document.get("context.trace_id")),
        parent_id=str(document.get("parent_id") or ""),
        name=str(document.get("name", "")),
        question=content.question,
        answer=content.answer,
        messages=content.messages,
        context=content.context,
        error=error,
        record=attributes,
    )


def _attributes_of(document: dict[str, object]) -> dict[str, object]:
    """Read the attributes, which the data frame has as columns."""
    attributes = flat(mapping(document.get("attributes")))
    for column, value in document.items():
        if column.startswith(_COLUMN) and value is not None:
            attributes |= flat({column.removeprefix(_COLUMN): value})
    kind = document.get("span_kind")
    if kind is not None:
        attributes.setdefault("openinference.span.kind", kind)
    return attributes
