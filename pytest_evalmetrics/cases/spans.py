"""The spans of a trace, whatever tool recorded them, and the case in them."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import msgspec

from pytest_evalmetrics.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pytest_evalmetrics.cases.payloads import Message

_LISTED = 5  # traces that a message names


class Span(msgspec.Struct, frozen=True):
    """One step of a trace; a text is empty where the export has none."""

    span_id: str
    trace_id: str
    parent_id: str = ""
    name: str = ""
    question: str = ""
    answer: str = ""
    messages: tuple[Message, ...] = ()
    # texts that the step retrieved or that a tool returned
    context: tuple[str, ...] = ()
    error: str = ""
    # the span as the export holds it, in which known fields hold names
    record: dict[str, object] = msgspec.field(default_factory=dict)


class TracedCase(msgspec.Struct, frozen=True):
    """What a person reported: the question, what the system saw, and its wrong answer."""

    trace_id: str
    span_id: str
    question: str
    wrong_answer: str
    messages: tuple[Message, ...]
    context: tuple[str, ...]
    error: str
    records: tuple[dict[str, object], ...]


def case_of(spans: Sequence[Span], wanted: str, file: str) -> TracedCase:
    """Find the case in a trace.

    Parameters
    ----------
    spans
        The spans of an export, of one trace or of several.
    wanted
        The id of a span or of a trace; empty for the only trace.
    file
        The export, for messages.

    Returns
    -------
    TracedCase
        Of the topmost span with a question. Its answer, or else that of the spans below.

    Raises
    ------
    DataError
        If no span, or more than one trace, is meant; or nothing was asked.
    """
    children = _children(spans)
    roots = _roots(spans, wanted, file)
    tree = list(_breadth_first(roots, children))
    asked = next((span for span in tree if span.question), None)
    if asked is None:
        raise DataError(
            f"none of the {len(tree)} spans of this trace has an input",
            file=file,
            hint="export the trace with its inputs and outputs; many tools leave them out "
            "unless recording content is switched on",
        )
    below = list(_breadth_first([asked], children))
    first_answer = next((span.answer for span in below if span.answer), "")
    first_error = next((span.error for span in below if span.error), "")
    context: dict[str, None] = {}
    for span in below:
        context.update(dict.fromkeys(span.context))
    return TracedCase(
        trace_id=asked.trace_id,
        span_id=asked.span_id,
        question=asked.question,
        wrong_answer=first_answer,
        messages=asked.messages,
        context=tuple(context),
        error=first_error,
        records=tuple(span.record for span in tree),
    )


def _children(spans: Iterable[Span]) -> Mapping[str, list[Span]]:
    children: dict[str, list[Span]] = defaultdict(list)
    for span in spans:
        children[span.parent_id].append(span)
    return children


def _roots(spans: Sequence[Span], wanted: str, file: str) -> list[Span]:
    """Find where the wanted trace begins."""
    if wanted:
        matches = [span for span in spans if span.span_id == wanted]
        if matches:
            return matches
    of_trace = _of_trace(spans, wanted, file)
    ids = {span.span_id for span in of_trace}
    return [span for span in of_trace if span.parent_id not in ids]


def _of_trace(spans: Sequence[Span], wanted: str, file: str) -> Sequence[Span]:
    """Choose the spans of the wanted trace, or all where there is only one."""
    traces = list(dict.fromkeys(span.trace_id for span in spans))
    if wanted and wanted not in traces:
        raise DataError(
            f"there is no span and no trace {wanted!r}",
            file=file,
            hint=f"it has {_listed(traces)}",
        )
    if not wanted and len(traces) > 1:
        raise DataError(
            f"the file holds {len(traces)} traces: {_listed(traces)}",
            file=file,
            hint="name one of them, or a span, with --span ID",
        )
    return [span for span in spans if not wanted or span.trace_id == wanted]


def _listed(names: Sequence[str]) -> str:
    more = ""
    if len(names) > _LISTED:
        more = f" and {len(names) - _LISTED} more"
    return ", ".join(names[:_LISTED]) + more


def _breadth_first(
    roots: Sequence[Span], children: Mapping[str, list[Span]]
) -> Iterator[Span]:
    level = list(roots)
    seen: set[str] = set()
    while level:
        below: list[Span] = []
        for span in level:
            if span.span_id in seen:
                continue
            seen.add(span.span_id)
            yield span
            below.extend(children.get(span.span_id, ()))
        level = below
