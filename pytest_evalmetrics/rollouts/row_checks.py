"""Checks of single plain rows: whether the values at the places with a role can be used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.errors import (
    DataError,
    NoTaskError,
    WordScoreError,
    did_you_mean,
)
from pytest_evalmetrics.rollouts.number_texts import is_number_text
from pytest_evalmetrics.rollouts.row_places import first_in
from pytest_evalmetrics.rollouts.source import shown_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_evalmetrics.json_types import JsonValue
    from pytest_evalmetrics.rollouts.row_places import RowPlaces
    from pytest_evalmetrics.rollouts.row_schema import Record
    from pytest_evalmetrics.rollouts.source import Source, SourceRow

MAX_SAMPLE: Final = 2**63
_SAY_WHICH: Final = "say which key holds it, under rollouts: `fields: {{{}: KEY}}`"
_NO_SAMPLE: Final = "leave sample: out of fields:; the list numbers the attempts"
_NAME_A_NUMBER: Final = (
    "write it as a number, or name what holds the number: `reward: NAME`, "
    "or `fields: {reward: PATH}` under rollouts"
)


class RowChecks:
    """Refuses rows whose values can't be used.

    `lenient` rows may hold numbers as text, and lists of numbers; rows `by_position` need no id of
    a task.
    """

    def __init__(self, places: RowPlaces, *, lenient: bool, by_position: bool) -> None:
        self._places = places
        self._lenient = lenient
        self._by_position = by_position

    def must_be_valid(
        self, record: Record, source: Source, row: SourceRow | int
    ) -> None:
        """Raise the first problem of a row, which is given or named by its place."""
        for message, hint in self._problems(record):
            kind = self._kind_of_error(record)
            if isinstance(row, int):
                error = source.error_at(row, message, hint, kind)
            else:
                error = source.error(message, row, hint=hint, kind=kind)
            if isinstance(error, WordScoreError):
                error.score = self._word_score(record) or error.score
            raise error

    def _kind_of_error(self, record: Record) -> type[DataError]:
        """Tell the errors for which other keys of the benchmark file may be the way out."""
        has_task = any(node in record for node in self._places.task)
        if not has_task and not self._by_position:
            return NoTaskError
        if self._word_score(record) is None:
            return DataError
        return WordScoreError

    def _word_score(self, record: Record) -> str | None:
        """Find a score that a row has as text."""
        for name in sorted(self._places.needed):
            nodes = self._places.of_score(name, usage=False)
            if any(isinstance(record.get(node), str) for node in nodes):
                return name
        return None

    def _problems(self, record: Record) -> Iterator[tuple[str, str]]:
        """Yield the problems of a row's values as messages and hints."""
        if not self._by_position:
            yield from self._problems_of_task(record)
        yield from self._problems_of_attempt(record)
        yield from self._problems_of_lists(record)
        for name, nodes in self._places.labels.items():
            label = first_in(record, nodes)
            if isinstance(label, dict | list):
                message = f"{name!r} is {shown_json(label)}; expected text, a number or a boolean"
                yield message, f"name what holds a single value, such as {name}.KEY"
        yield from self._problems_of_scores(record)

    def _problems_of_task(self, record: Record) -> Iterator[tuple[str, str]]:
        """Yield the problems of the values that make up a row's task id."""
        task_parts = self._places.task_parts
        values: list[JsonValue] = []
        for path, nodes in task_parts.items():
            is_met = any(node.kinds for node in nodes)
            value = first_in(record, nodes)
            values.append(value)
            if value is not None and type(value) not in (int, str):
                found = f"the task id is {shown_json(value)}"
                yield f"{found}; expected a whole number or text", _say_which("task")
            elif not is_met or (value is None and len(task_parts) == 1):
                yield self._no_task(path, record)
                return
        if all(value is None for value in values):
            yield self._no_task(next(iter(task_parts)), record)

    def _no_task(self, path: str, record: Record) -> tuple[str, str]:
        fields = self._places.root.fields
        keys = sorted(node.key for node in record if fields.get(node.key) is node)
        if any(node in record for node in self._places.task_parts[path]):
            what = f"{path!r} is null; the row's keys: {', '.join(keys)}"
        else:
            guess = did_you_mean(path, keys, what="the row's keys")
            what = f"{path!r} is not there; {guess}"
        return f"this row has no task id: {what}", _say_which("task")

    def _problems_of_attempt(self, record: Record) -> Iterator[tuple[str, str]]:
        """Yield the problems of a row's number of the attempt and of its agent's name."""
        sample = first_in(record, self._places.sample)
        is_index = type(sample) is int and 0 <= sample < MAX_SAMPLE
        if sample is not None and not is_index:
            found = f"the sample index is {shown_json(sample)}"
            yield f"{found}; expected a whole number from 0", _say_which("sample")
        agent = first_in(record, self._places.agent)
        if agent is not None and not isinstance(agent, str):
            found = f"the agent's name is {shown_json(agent)}"
            yield f"{found}; expected text", _say_which("agent")

    def _problems_of_lists(self, record: Record) -> Iterator[tuple[str, str]]:
        """Yield the problems of a row's lists of verdicts."""
        lengths: dict[str, int] = {}
        for name, nodes in self._places.scores.items():
            for node in nodes:
                held = record.get(node)
                if isinstance(held, list):
                    lengths[name] = len(held)
        if lengths and first_in(record, self._places.sample) is not None:
            found = f"{next(iter(lengths))!r} is a list of verdicts, which are a task's"
            yield f"{found} attempts, and the row has a sample index", _NO_SAMPLE
        if len(set(lengths.values())) > 1:
            shown = ", ".join(f"{name} {count}" for name, count in lengths.items())
            message = f"the lists of verdicts differ in length: {shown}"
            yield message, "each score needs a verdict for each attempt"

    def _problems_of_scores(self, record: Record) -> Iterator[tuple[str, str]]:
        """Yield the needed scores that are no numbers."""
        for name in sorted(self._places.needed):
            nodes = [
                *self._places.of_score(name, usage=True),
                *self._places.of_score(name, usage=False),
            ]
            held = [record[node] for node in nodes if record.get(node) is not None]
            if held and not any(map(self._may_be_number, held)):
                found = f"the score {name!r} is {shown_json(held[0])}"
                yield f"{found}; expected a number, true, false or null", _NAME_A_NUMBER

    def _may_be_number(self, value: JsonValue) -> bool:
        """Check for a number, or for a text or a list that is read as numbers."""
        if isinstance(value, int | float):
            return True
        if not self._lenient:
            return False
        if isinstance(value, list):
            return all(part is None or self._may_be_number(part) for part in value)
        return isinstance(value, str) and is_number_text(value)


def _say_which(role: str) -> str:
    return _SAY_WHICH.format(role)
