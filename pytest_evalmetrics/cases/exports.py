"""Exports of traces: which tool wrote a file, and the spans in it.

Each layout is a function that yields the spans of a document, beside the function that recognises
it. They are asked in the order of `LAYOUTS`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import msgspec

from pytest_evalmetrics.cases import langfuse, langsmith, opentelemetry, phoenix
from pytest_evalmetrics.cases.payloads import items, mapping
from pytest_evalmetrics.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pytest_evalmetrics.cases.spans import Span


class Layout(msgspec.Struct, frozen=True):
    """How one tool writes its traces."""

    tool: str
    recognises: Callable[[dict[str, object]], bool]
    spans: Callable[[dict[str, object]], Iterator[Span]]


class Export(msgspec.Struct, frozen=True):
    """The spans of a file, and the tool that wrote it."""

    tool: str
    spans: tuple[Span, ...]


LAYOUTS: Final = (
    Layout("opentelemetry", opentelemetry.recognises, opentelemetry.spans),
    Layout("langsmith", langsmith.recognises, langsmith.spans),
    Layout("phoenix", phoenix.recognises, phoenix.spans),
    Layout("langfuse", langfuse.recognises, langfuse.spans),
)
# where the answers of an API and downloads keep their rows
_ROWS = ("data", "runs", "spans", "traces")


def read_export(path: Path) -> Export:
    """Read the spans of a file: JSON, or JSON Lines.

    Raises
    ------
    DataError
        If the file can't be read, or no known tool wrote it.
    """
    records = list(_records(path))
    for layout in LAYOUTS:
        if records and layout.recognises(records[0]):
            spans: list[Span] = []
            for record in records:
                spans.extend(layout.spans(record))
            if spans:
                return Export(tool=layout.tool, spans=tuple(spans))
    keys = ", ".join(records[0]) if records else "nothing"
    raise DataError(
        f"this is no export of traces that is known: its first record has {keys}",
        file=str(path),
        hint="export the trace as JSON from OpenTelemetry (OTLP), Langfuse, Phoenix or LangSmith",
    )


def _records(path: Path) -> Iterator[dict[str, object]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        what = error.strerror or error
        raise DataError(f"the trace can't be read: {what}", file=str(path)) from None
    except UnicodeDecodeError:
        raise DataError("the trace is no UTF-8 text", file=str(path)) from None
    try:
        documents = [json.loads(text)]
    except ValueError:
        documents = list(_lines(text, path))
    for document in documents:
        yield from _rows(document)


def _lines(text: str, path: Path) -> Iterator[object]:
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            yield json.loads(line)
        except ValueError as error:
            raise DataError(
                f"this is neither JSON nor a line of JSON: {error}",
                file=str(path),
                line=number,
            ) from None


def _rows(document: object) -> Iterator[dict[str, object]]:
    for entry in items(document):
        yield from _rows(entry)
    fields = mapping(document)
    if not fields:
        return
    for key in _ROWS:
        rows = items(fields.get(key))
        if (
            rows and len(fields) <= 3
        ):  # beside them stand the numbers and links of pages
            for row in rows:
                yield mapping(row)
            return
    yield fields
