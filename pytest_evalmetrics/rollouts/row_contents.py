"""The contents of tasks in plain rows, as hashes that tell one question from another."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, TypeAlias
from zlib import adler32

import msgspec

from pytest_evalmetrics.model.rollout_table import (
    TaskId,
    content_hash,
    join_versions,
    question_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.json_types import JsonValue
    from pytest_evalmetrics.rollouts.row_schema import Decoded, Node
    from pytest_evalmetrics.rollouts.row_values import Values

#: The name of an agent, and the id of a task.
_AgentTask: TypeAlias = tuple[str | None, TaskId]


class RowContents:
    """Hashes the content of each task: one row of it, and each that is written otherwise."""

    def __init__(self, parts: Sequence[Sequence[Node]]) -> None:
        """Take the places that may hold each part of the content."""
        self._parts = parts
        # checksums of contents as written
        self._checksums: dict[_AgentTask, int] = {}

    def __bool__(self) -> bool:
        """Whether the content is read at all."""
        return bool(self._parts)

    def hashes(
        self, values: Values, agent: Sequence[str | None], task: Sequence[TaskId]
    ) -> dict[_AgentTask, str]:
        """Return the hashes of the tasks that were not hashed before, or not with this content."""
        parts = [
            [values.at(node) for node in nodes if node.kinds] for nodes in self._parts
        ]
        columns = [_checksums(column) for column in chain.from_iterable(parts)]
        hashes: dict[_AgentTask, str] = {}
        keys = zip(agent, task, strict=True)
        # there are no checksums where no row has a content
        rows = zip(keys, zip(*columns, strict=True), strict=False)
        for row, (key, checksums) in enumerate(rows):
            checksum = hash(checksums)
            if self._checksums.get(key) == checksum:
                continue
            content = _content_hash([_decoded(part, row) for part in parts])
            if content is not None:
                self._checksums[key] = checksum
                hashes[key] = join_versions(hashes.get(key, content), content)
        return hashes


def _content_hash(parts: list[JsonValue]) -> str | None:
    """Hash the parts of a content; None if all of them are null."""
    if all(part is None for part in parts):
        return None
    if len(parts) == 1:
        return content_hash(question_of(parts[0]))
    return content_hash(parts)


def _checksums(column: Sequence[Decoded]) -> list[int]:
    """Return a checksum of each value of a place."""
    raw = [value for value in column if isinstance(value, msgspec.Raw)]
    if len(raw) == len(column):
        return list(map(adler32, raw))
    return [
        adler32(value) if isinstance(value, msgspec.Raw) else hash(repr(value))
        for value in column
    ]


def _decoded(columns: Sequence[Sequence[Decoded]], row: int) -> JsonValue:
    """Decode the first value of a row among several places."""
    for column in columns:
        value = column[row]
        if isinstance(value, msgspec.Raw):
            value = _from_json(value)
        # a struct would be a place of which parts are read, which is refused before
        if value is not None and not isinstance(value, msgspec.Struct):
            return value
    return None


def _from_json(raw: msgspec.Raw) -> JsonValue:
    """Decode a text; one with the half of a surrogate pair stays as it is written."""
    try:
        value: JsonValue = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return bytes(raw).decode(errors="replace")
    return value
