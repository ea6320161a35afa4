"""The base of the loaders of other tools: the rollouts of a file become one chunk."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.layout import shortened
from pytest_evalmetrics.model.rollout_notes import OtherNumberStated
from pytest_evalmetrics.model.rollout_table import (
    STATED_COUNT,
    STATED_ERROR,
    STATED_TOTAL,
    TaskId,
    content_hash,
    join_versions,
)
from pytest_evalmetrics.rollouts import json_values
from pytest_evalmetrics.rollouts.columns import joint_id
from pytest_evalmetrics.rollouts.loader import Chunk, Failure, NotFinite, Request
from pytest_evalmetrics.rollouts.not_judged import RolloutError
from pytest_evalmetrics.rollouts.source import Source, score_paths, shown_json
from pytest_evalmetrics.spec import FieldMap
from pytest_evalmetrics.spec.metric_names import MARK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.json_types import JsonObject, JsonValue
    from pytest_evalmetrics.model.metric_facts import DirectionName
    from pytest_evalmetrics.model.notes import Note

_TOLERANCE: Final = 1e-6  # tools round the numbers that they print
_SHOWN: Final = 160  # characters of an error's message


def aggregate(
    name: str,
    value: JsonValue,
    *,
    error: JsonValue,
    samples: float | None,
    documents: float | None,
) -> JsonObject:
    """Name a score that is an aggregate, with its standard error and what it is computed over.

    `samples` are the documents that it counts, of the `documents` of the data set.
    """
    return {
        name: value,
        STATED_ERROR + name: json_values.number(error),
        STATED_COUNT + name: samples,
        STATED_TOTAL + name: documents,
    }


def _flat(
    name: str, value: JsonValue | Mapping[str, JsonValue]
) -> Iterator[tuple[str, JsonValue]]:
    """Flatten settings (``provider id`` -> ``m``), without those that are not set."""
    if isinstance(value, list) and any(isinstance(part, dict | list) for part in value):
        for index, part in enumerate(value):
            yield from _flat(f"{name} {index}".strip(), part)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(f"{name} {key}".strip(), inner)
    elif value is not None and value not in ("", []):
        yield name, value


def _wrong_id(
    what: str, path: str | tuple[str, ...] | None, value: JsonValue, rollout: Rollout
) -> DataError:
    message = f"the {what} is {shown_json(value, _SHOWN)}"
    if path is not None:
        message = (
            f"the {what}, which {path!r} is to hold, is {shown_json(value, _SHOWN)}"
        )
    hint = f"say which key holds it, under rollouts: `fields: {{{what}: KEY}}`"
    return DataError(message, file=rollout.name, hint=hint)


class Rollout(msgspec.Struct, frozen=True):
    """One attempt as a tool recorded it."""

    #: What the tool recorded of it.
    record: Mapping[str, JsonValue]
    #: Its name in messages.
    name: str
    task: JsonValue
    #: The attempt's number from 0; None if attempts are numbered as they come.
    sample: JsonValue = None
    #: A value that is not text is ignored.
    agent: JsonValue = None
    #: Score -> number, or any value that is none.
    scores: Mapping[str, JsonValue] = msgspec.field(default_factory=dict)
    usage: Mapping[str, float] = msgspec.field(default_factory=dict)
    error: RolloutError | None = None
    #: Seconds.
    started: float | None = None
    #: The scores that may be the reward; None for all.
    rewards: Sequence[str] | None = None
    content: JsonValue = None
    #: The id that the tool gave to this record alone.
    record_id: str | None = None


def _agree(own: float, stated: float) -> bool:
    """Check whether a number is the one that a tool states: a count exactly, others rounded."""
    if isinstance(own, int):
        return own == stated
    return math.isclose(own, stated, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)


class ChunkBuilder:
    """Collects the rollouts of one file as columns.

    Attributes
    ----------
    notes
        What a reader should know of the file.
    lower
        The scores that the file declares as lower is better.
    positional
        Whether task ids are positions in a data set rather than names.
    versioned
        Whether content is a version of a task, of which it may have many.
    attempts
        Whether each rollout is an attempt at its task by its format, also in several files.
    """

    def __init__(self, request: Request, source: Source) -> None:
        self._request = request
        self._source = source
        self._paths = score_paths(request.fields)
        # one entry a rollout
        self._tasks: list[TaskId] = []
        self._samples: list[int | None] = []
        self._agents: list[str | None] = []
        self._numbers: list[Mapping[str, float | None]] = []
        self._usage: list[Mapping[str, float]] = []
        self._names: list[str] = []
        self._started: list[float | None] = []
        self._record_ids: list[str | None] = []
        self._records: list[Mapping[str, JsonValue]] = []
        self._labels: dict[str, list[str | None]] = {
            name: [] for name in request.categories
        }
        self._not_finite: list[NotFinite] = []
        self._not_numbers: dict[str, str] = {}
        self._failures: list[Failure] = []
        self._keys: dict[str, None] = {}
        self._rewards: dict[str, None] = {}
        self._content: dict[tuple[str | None, TaskId], str] = {}
        self._ruler: Counter[tuple[str, str, str]] = Counter()
        self._of_tasks: set[tuple[str, str, str]] = set()
        self.scores: dict[str, None] = {}  # the names so far
        self.notes: list[str | Note] = []
        self.directions: dict[str, DirectionName] = {}
        self.versioned = False
        self.positional = False
        self.attempts = False

    def add(self, rollout: Rollout) -> None:
        """Add one rollout; one that has neither a score nor an error was not scored."""
        grades = list(rollout.scores)
        if rollout.rewards is not None:
            grades = list(rollout.rewards)
        scores = self._scores_of(rollout)
        graded = any(scores.get(name) is not None for name in ("reward", *grades))
        task = self._task_of(rollout)
        agent = self._agent_of(rollout)
        self._rewards.update(dict.fromkeys(grades))
        self._keys.update(dict.fromkeys(rollout.record))
        self._tasks.append(task)
        self._samples.append(self._sample_of(rollout))
        self._agents.append(agent)
        for name, labels in self._labels.items():
            labels.append(self._label(rollout, name))
        self._add_content(rollout, agent, task)
        failed = self._add_failure(rollout, graded=graded)
        if self._request.whole:
            self._records.append(_marked(rollout.record, failed))
        self.scores.update(dict.fromkeys(scores))
        self._numbers.append(scores)
        self._usage.append(_measured_usage(rollout, graded=graded))
        self._names.append(rollout.name)
        self._started.append(rollout.started)
        self._record_ids.append(rollout.record_id)

    def _add_content(self, rollout: Rollout, agent: str | None, task: TaskId) -> None:
        """Keep the hash of a task's content, joined with those of its other versions."""
        content = self._content_of(rollout)
        if content is not None:
            hashed = content_hash(content)
            before = self._content.get((agent, task), hashed)
            self._content[agent, task] = join_versions(before, hashed)

    def _add_failure(self, rollout: Rollout, *, graded: bool) -> Failure | None:
        """Keep what went wrong in a rollout; return it if the rollout itself failed."""
        error = rollout.error
        if error is None and not graded:
            error = RolloutError(kind="not scored", of_grader=True)
        if error is None:
            return None
        failure = self._failure(error, graded=graded)
        self._failures.append(failure)
        if graded or error.of_grader:
            return None
        return failure

    def _scores_of(self, rollout: Rollout) -> dict[str, float | None]:
        """Read the scores of a rollout, and those that ``fields:`` maps, as finite numbers."""
        scores = dict(rollout.scores)
        for derived in self._request.derived:
            held = {**rollout.record, **rollout.scores}
            scores[derived.name] = derived.of(held, rollout.name)
        for name, path in self._paths.items():
            if path in scores:
                scores[name] = scores[path]
            else:
                scores[name] = json_values.lookup(rollout.record, path)
        return {
            name: self._amount(name, value, rollout) for name, value in scores.items()
        }

    def _content_of(self, rollout: Rollout) -> JsonValue:
        paths = self._request.fields.content
        if paths is None:
            return rollout.content
        parts = [json_values.lookup(rollout.record, path) for path in paths]
        if all(part is None for part in parts):
            return None
        return parts

    def _failure(self, error: RolloutError, *, graded: bool) -> Failure:
        return Failure(
            row=len(self._numbers),
            kind=error.kind or "error",
            message=shortened(" ".join(error.message.split()), _SHOWN),
            graded=graded,
        )

    def measured(
        self,
        name: str,
        scores: Iterable[str],
        settings: Mapping[str, JsonValue],
        own: str = "",
    ) -> None:
        """Add what scored; a value that tasks have of their own counts where most have it."""
        entries = [(name, "scores", score) for score in scores]
        for key, value in _flat("", settings):
            text = value
            if not isinstance(text, str):
                text = json.dumps(value, sort_keys=True)
            entries.append((name, key, text))
            if own and key.partition(" ")[0] == own:
                self._of_tasks.add((name, key, text))
        self._ruler.update(entries)

    def compare(
        self, claim: str, stated: JsonValue, *computed: float, where: str = ""
    ) -> None:
        """Note a number that the tool states, and that the rollouts give in no way of computing."""
        theirs = json_values.number(stated)
        if theirs is None or not computed:
            return
        if any(_agree(own, theirs) for own in computed):
            return
        note = OtherNumberStated(
            file=where or self._source.shown,
            claim=claim,
            stated=theirs,
            computed=computed[0],
        )
        self.notes.append(note)

    def _ruler_entries(self) -> Iterator[tuple[str, str, str]]:
        """Yield what measures; of what tasks have of their own, what most have."""
        for entry, count in self._ruler.items():
            if entry not in self._of_tasks or 2 * count > len(self._tasks):
                yield entry
            scorer, key, score = entry
            if key != "scores":
                continue
            # ``fields:`` takes scores from it, or from an unknown place
            for name, path in self._paths.items():
                if path == score or path not in self.scores:
                    yield scorer, "scores", name

    def _ruler_of_derived(self) -> Iterator[tuple[str, str, str]]:
        for derived in self._request.derived:
            yield from derived.ruler

    def _amount(self, name: str, value: JsonValue, rollout: Rollout) -> float | None:
        """Take a score as a finite number; note why it is none."""
        amount = json_values.number(value)
        if amount is None and value is not None:
            if name in self._request.scores or name in self._paths:
                message = f"the score {name!r} is {shown_json(value, _SHOWN)}"
                message += "; expected a number, true, false or null"
                hint = "name what holds a number: `reward: NAME`, or `fields: {reward: PATH}` "
                hint += "under rollouts"
                raise DataError(message, file=rollout.name, hint=hint)
            self._not_numbers.setdefault(name, rollout.name)
        if amount is None or math.isfinite(amount):
            return amount
        what = "NaN" if math.isnan(amount) else "infinite or too large"
        self._not_finite.append(NotFinite(name, what, len(self._numbers) + 1))
        return None

    def _task_of(self, rollout: Rollout) -> TaskId:
        path = self._request.fields.task
        value = rollout.task
        if isinstance(path, tuple):
            value = joint_id(
                [json_values.lookup(rollout.record, part) for part in path]
            )
        elif path is not None:
            value = json_values.lookup(rollout.record, path)
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise _wrong_id("task", path, value, rollout)
        return value

    def _sample_of(self, rollout: Rollout) -> int | None:
        path = self._request.fields.sample
        value = rollout.sample
        if path is not None:
            value = json_values.lookup(rollout.record, path)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise _wrong_id("sample", path, value, rollout)
        return value

    def _agent_of(self, rollout: Rollout) -> str | None:
        path = self._request.fields.agent
        if path is None:
            return rollout.agent if isinstance(rollout.agent, str) else None
        value = json_values.lookup(rollout.record, path)
        if value is not None and not isinstance(value, str):
            raise _wrong_id("agent", path, value, rollout)
        return value

    def _label(self, rollout: Rollout, name: str) -> str | None:
        value = json_values.lookup(rollout.record, name)
        if isinstance(value, dict | list):
            shown = f"{name!r} is {shown_json(value, _SHOWN)}"
            message = f"{shown}; expected text, a number or a boolean"
            hint = f"name what holds a single value, such as {name}.KEY"
            raise DataError(message, file=rollout.name, hint=hint)
        return value if value is None or isinstance(value, str) else json.dumps(value)

    def chunk(self) -> Chunk:
        """Make columns of the rollouts."""
        numbers = chain.from_iterable(
            amounts.items() for amounts in (*self._numbers, *self._usage)
        )
        directions = dict(self.directions)
        for name, path in self._paths.items():
            if path in self.directions:
                directions[name] = self.directions[path]
        return Chunk(
            places=np.arange(1, len(self._tasks) + 1),
            task=self._tasks,
            sample=self._samples,
            agent=self._agents,
            scores=_columns(self._numbers),
            usage=_columns(self._usage),
            labels={
                name: labels
                for name, labels in self._labels.items()
                if any(label is not None for label in labels)
            },
            fractional=frozenset(
                name for name, amount in numbers if isinstance(amount, float)
            ),
            not_finite=self._not_finite,
            not_numbers=self._not_numbers,
            keys=tuple(self._keys),
            names=self._names,
            started=np.array(self._started, np.float64),
            failures=self._failures,
            notes=self.notes,
            rewards=tuple(self._rewards),
            records=self._records,
            content=self._content,
            versioned=self.versioned,
            positional=self.positional and self._request.fields.task is None,
            ruler=(*self._ruler_entries(), *self._ruler_of_derived()),
            directions=directions,
            record_ids=self._record_ids,
            attempts=self.attempts,
        )


def _marked(
    record: Mapping[str, JsonValue], failed: Failure | None
) -> Mapping[str, JsonValue]:
    """Mark the record of a failed attempt with what went wrong."""
    if failed is None:
        return record
    words: list[JsonValue] = [failed.kind, failed.message or failed.kind]
    return {**record, MARK: {"failed": words}}


def _measured_usage(rollout: Rollout, *, graded: bool) -> dict[str, float]:
    """Take the finite amounts; a failed call's cost and tokens of 0 were not measured."""
    return {
        name: amount
        for name, amount in rollout.usage.items()
        if math.isfinite(amount) and (graded or amount)
    }


def _columns(
    rows: Sequence[Mapping[str, float | None]],
) -> dict[str, NDArray[np.float64]]:
    """Make a column of each name, NaN where a row lacks it."""
    names = dict.fromkeys(chain.from_iterable(rows))
    return {
        name: np.array([row.get(name) for row in rows], np.float64) for name in names
    }


class ToolLoader:
    """Base of a tool's loader: a file's rollouts become one chunk.

    A subclass has a method `rollouts`. Numbers that are none, names of fields, labels, content and
    errors are handled here, alike for all tools.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        names_fields = bool(request.categories) or request.fields != FieldMap()
        #: Whether more of a record is read than the tool's own columns.
        self.reads_records = request.whole or names_fields

    def read(self, source: Source) -> Iterator[Chunk]:
        """Read one file."""
        builder = ChunkBuilder(self._request, source)
        for rollout in self.rollouts(source, builder):
            builder.add(rollout)
        chunk = builder.chunk()
        if chunk.task:
            yield chunk

    def rollouts(self, source: Source, builder: ChunkBuilder) -> Iterator[Rollout]:
        """Yield the rollouts of one file; pass what they share to the builder.

        Raises
        ------
        DataError
            If the file is broken, or of a version that is not known.
        """
        raise NotImplementedError

    def kept(self, record: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
        """Keep a record for later, or only its keys if nothing reads its values."""
        return record if self.reads_records else dict.fromkeys(record)
