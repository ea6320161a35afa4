"""Appending a task to a data set, in the data set's own keys."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import msgspec

from pytest_evalmetrics.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_IDS: Final = ("id", "task_id", "task", "question_id", "name", "key")
_QUESTIONS: Final = ("question", "query", "user_input", "prompt", "input", "problem")
_REFERENCES: Final = (
    "reference",
    "expected",
    "expected_output",
    "ground_truth",
    "target",
    "answer",
)
_CONTEXTS: Final = ("context", "contexts", "retrieved_contexts", "documents")


class Keys(msgspec.Struct, frozen=True):
    """What a data set calls the parts of a task."""

    id: str
    question: str
    reference: str
    context: str


def read_rows(path: Path) -> list[dict[str, object]]:
    """Read a data set of JSON Lines; a file that does not exist yet has no rows.

    Raises
    ------
    DataError
        If it has another format, or a line that can't be read.
    """
    if path.suffix not in (".jsonl", ".ndjson"):
        raise DataError(
            f"a case is appended to a data set of JSON Lines, and this is {path.suffix or 'no'!r}",
            file=str(path),
            hint="name a file that ends in .jsonl; a benchmark may list several under dataset:",
        )
    if not path.exists():
        return []
    rows = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise DataError(
                f"this line is not JSON: {error}", file=str(path), line=number
            ) from None
        if not isinstance(row, dict):
            raise DataError(
                "this line is no object, expected one task", file=str(path), line=number
            )
        rows.append(row)
    return rows


def keys_of(rows: Sequence[dict[str, object]]) -> Keys:
    """Find what the rows call a task's id, question, reference and context."""
    first = rows[0] if rows else {}

    def called(names: Sequence[str]) -> str:
        return next((name for name in names if name in first), names[0])

    return Keys(
        id=called(_IDS),
        question=called(_QUESTIONS),
        reference=called(_REFERENCES),
        context=called(_CONTEXTS),
    )


def append(path: Path, row: dict[str, object]) -> None:
    """Append one row; the lines above keep their bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.read_bytes() if path.exists() else b""
    start = b"\n" if before and not before.endswith(b"\n") else b""
    line = json.dumps(row, ensure_ascii=False).encode()
    with path.open("ab") as file:
        file.write(start + line + b"\n")
