"""Runs of LangSmith: ``POST /runs/query``, a bulk export, or a run with its ``child_runs``."""

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
    """Check for a run, which has a type and inputs."""
    return "run_type" in document and "inputs" in document


def spans(document: dict[str, object]) -> Iterator[Span]:
    """Yield a run, and the runs below it."""
    inputs = decoded(document.get("inputs"))
    outputs = decoded(document.get("outputs"))
    step = texts_of(str(document.get("run_type")), outputs)
    run_id = str(document.get("id", ""))
    yield Span(
        span_id=run_id,
        trace_id=str(document.get("trace_id") or run_id),
        parent_id=str(document.get("parent_run_id") or ""),
        name=str(document.get("name", "")),
        question=question_in(inputs),
        answer=step.answer,
        messages=messages_in(inputs),
        context=step.context,
        error=str(document.get("error") or ""),
        record={
            "inputs": inputs,
            "outputs": outputs,
            "extra": decoded(document.get("extra")),
        },
    )
    for child in items(document.get("child_runs")):
        yield from spans(mapping(child))
