"""Lists beside the rows that hold what was not judged: ``errors``, ``failed``, ``skipped``.

A run over the rows alone would lose their tasks without a word. A task of such a list that no row
has becomes a row without a reward; a list whose tasks are not clear is reported.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

import msgspec

from pytest_evalmetrics.model.rollout_notes import UnreadList
from pytest_evalmetrics.rollouts.derived_scores import value_text
from pytest_evalmetrics.rollouts.file_documents import PlacedRow
from pytest_evalmetrics.rollouts.json_values import first, lookup
from pytest_evalmetrics.rollouts.name_words import last_part, word_set, words_of
from pytest_evalmetrics.rollouts.not_judged import SIGNS, error_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pytest_evalmetrics.json_types import JsonObject, JsonValue
    from pytest_evalmetrics.rollouts.source import Source
    from pytest_evalmetrics.spec.sources import JointField, RolloutsSpec

_FAILURE_LISTS: Final = word_set(
    "errors error errored failures failed skipped missing crashed crashes timeouts "
    "incomplete invalid excluded pending unfinished dropped "
    "exceptions exception rejected aborted unjudged ungraded unscored"
)
_MESSAGES: Final = ("message", "reason", "detail", "exception_message", "error_message")
_digits = re.compile(r"\d+")


def lists_failures(path: str) -> bool:
    """Check whether a list holds what was not judged, by its name."""
    return bool(_FAILURE_LISTS.intersection(words_of(last_part(path))))


class UnjudgedList(msgspec.Struct, frozen=True):
    """A list beside the rows, or an object with ids as keys, of what was not judged."""

    path: str
    values: Sequence[JsonValue]
    # the ids of the values; empty for a list
    keys: Sequence[str] = ()


def unjudged_lists(
    holder: Mapping[str, JsonValue], rows_key: str, above: str
) -> Iterator[UnjudgedList]:
    """Find the lists of what was not judged beside the rows in an object."""
    for name, value in holder.items():
        if name == rows_key or not lists_failures(name) or not value:
            continue
        if isinstance(value, list):
            yield UnjudgedList(path=above + name, values=value)
        elif isinstance(value, dict) and not _counts_kinds(value):
            values = list(value.values())
            yield UnjudgedList(path=above + name, values=values, keys=list(value))


def _counts_kinds(value: Mapping[str, JsonValue]) -> bool:
    """Check for the numbers of failures of each kind."""
    return any(isinstance(held, int | float) for held in value.values())


class UnjudgedTasks:
    """The tasks of one file that its rows hold, and those that they lack."""

    def __init__(
        self, spec: RolloutsSpec, task: Sequence[str], rows: Iterable[PlacedRow]
    ) -> None:
        self._task = task
        self._reward = spec.fields.reward
        self._keyed = spec.keyed
        # rows that are selected, put together or numbered can't be completed
        self._may_add = not (spec.where or spec.pivot or spec.fields.sample)
        all_ids = [self._ids(row.value) for row in rows]
        self._counts = Counter(ids for ids in all_ids if ids)
        self._most = max(self._counts.values(), default=1)
        self._forms = set()
        if len(task) == 1:
            self._forms = {_form(ids[0]) for ids in self._counts}

    def _ids(self, row: Mapping[str, JsonValue]) -> tuple[str, ...]:
        """Read the parts of a task's id; empty if one of them is not there."""
        values = [lookup(row, path) for path in self._task]
        if any(value is None for value in values):
            return ()
        return tuple(map(value_text, values))

    def rows_and_notes(
        self, lists: Iterable[UnjudgedList], source: Source, place: int
    ) -> tuple[list[PlacedRow], list[UnreadList]]:
        """Make rows of the tasks that lack one, and a note on each list that is not read.

        A task lacks a row if it has none, or fewer than the task with the most.
        """
        rows: list[PlacedRow] = []
        unread: Counter[str] = Counter()
        for unjudged in lists:
            keys: Sequence[str | None] = unjudged.keys or [None] * len(unjudged.values)
            for key, value in zip(keys, unjudged.values, strict=True):
                row = self._row(value, key, unjudged.path)
                ids = () if row is None else self._ids(row)
                if row is None or not ids:
                    unread[unjudged.path] += 1
                elif self._counts[ids] < self._most:
                    self._counts[ids] += 1
                    rows.append(PlacedRow.of(source, place + len(rows) + 1, row))
        notes = [
            UnreadList(file=source.shown, path=path, values=count)
            for path, count in unread.items()
        ]
        return rows, notes

    def _row(self, value: JsonValue, key: str | None, name: str) -> JsonObject | None:
        """Make a row without a reward of what was not judged; None if it names no task."""
        if not self._may_add:
            return None
        if isinstance(value, dict):
            row = dict(value)
            if key is not None and self._keyed:
                row.setdefault(self._keyed, key)
            return _unjudged(row, self._reward, name)
        if len(self._task) != 1:
            return None
        if key is not None and _form(key) in self._forms:
            return {self._task[0]: key, "error": f"{name}: {value_text(value)}"}
        is_id = key is None and isinstance(value, str | int)
        if is_id and _form(value_text(value)) in self._forms:
            return {self._task[0]: value, "error": f"in the list {name}"}
        return None


def _unjudged(
    row: JsonObject, reward: str | JointField | None, name: str
) -> JsonObject:
    """Take away the reward of a row, and say that it was not judged."""
    if isinstance(reward, str):
        row.pop(reward.partition(".")[0], None)
    row.pop("reward", None)
    if error_in({path: lookup(row, path) for path in SIGNS}) is None:
        message = first(row, *_MESSAGES)
        row["error"] = f"in {name}"
        if message is not None:
            row["error"] = f"{name}: {value_text(message)}"
    return row


def _form(task: str) -> str:
    """Write an id with a zero for each number: ``q12`` and ``q3`` have the form ``q0``."""
    return _digits.sub("0", task)
