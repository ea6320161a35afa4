"""Rows of JSON, CSV and Parquet to columns of numbers and labels, by the role of each place."""

from __future__ import annotations

import json
import math
import struct
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias
from zlib import adler32

import msgspec
import numpy as np

from pytest_evalmetrics.errors import (
    DataError,
    NoTaskError,
    WordScoreError,
    did_you_mean,
)
from pytest_evalmetrics.model.rollout_table import (
    TaskId,
    content_hash,
    join_versions,
    question_of,
)
from pytest_evalmetrics.rollouts.error_signs import ErrorSigns
from pytest_evalmetrics.rollouts.loader import Chunk, NotFinite, Request
from pytest_evalmetrics.rollouts.number_texts import NumberTexts, is_number_text
from pytest_evalmetrics.rollouts.row_schema import (
    FLOAT,
    KINDS,
    LIST,
    NUMBER,
    Node,
    Record,
)
from pytest_evalmetrics.rollouts.source import (
    NEMO_GYM_TASK,
    Source,
    SourceRow,
    score_paths,
    shown_json,
    task_paths,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.json_types import JsonObject, JsonValue

    #: Reads the texts among the values of a score as numbers.
    ReadTexts: TypeAlias = Callable[[Sequence[JsonValue]], Sequence[JsonValue]]


_MAX_DOTS = 9  # in a path; each one doubles its possible meanings
_MAX_SAMPLE = 2**63
_TEXT: set[type] = {str, type(None)}
_ID_PARTS: set[type] = {int, str, type(None)}
_QUESTION = (
    "responses_create_params.input",
)  # of NeMo Gym; the rest is how it is asked
_SAY_WHICH = "say which key holds it, under rollouts: `fields: {{{}: KEY}}`"
_NO_SAMPLE = "leave sample: out of fields:; the list numbers the attempts"
_NAME_A_NUMBER = (
    "write it as a number, or name what holds the number: `reward: NAME`, "
    "or `fields: {reward: PATH}` under rollouts"
)


class _Numbers(msgspec.Struct):
    """What is learnt of the numbers of a chunk while its columns are made."""

    not_finite: list[NotFinite] = msgspec.field(default_factory=list)
    fractional: set[str] = msgspec.field(default_factory=set)


class Columns:
    """The columns met so far: NeMo Gym's reading of a row, changed by what ``fields:`` says.

    A row's numbers are the numbers and booleans at its top, then those of
    ``response.usage`` and ``usage``. Where a thing may stand in several places, the first
    one that holds something counts; for a score, the first one that holds a number.
    """

    def __init__(
        self,
        request: Request,
        *,
        of_table: bool = False,
        derived_from: Mapping[str, str] | None = None,
    ) -> None:
        """Declare what is read; `derived_from` are the paths behind scores made of others."""
        self.root = Node()  # the structure of the rows so far
        self.root.open = True
        self._by_position = request.by_position
        self._fields = fields = request.fields
        self._mapped = {
            n: self._declare(path) for n, path in score_paths(fields).items()
        }
        #: For each part of the task's id, the places that may hold it.
        self._task_parts = {
            path: self._declare(path) for path in task_paths(fields) or (NEMO_GYM_TASK,)
        }
        self.task = list(chain.from_iterable(self._task_parts.values()))
        self.sample = self._declare(fields.sample or "_ng_rollout_index")
        self.agent = self._declare(fields.agent or "agent_ref.name")
        # a field with a role is not also a score under its own name
        self._taken = {*self.task, *self.sample, *self.agent}
        self._taken.update(*self._mapped.values())
        self._labels = {name: self._declare(name) for name in request.categories}
        question = () if of_table else _QUESTION
        self._contents = [
            self._declare(path, whole=True) for path in fields.content or question
        ]
        self._taken.update(*self._contents)
        self._usage_nodes = [
            self.root.field("response").field("usage"),
            self.root.field("usage"),
            self.root.field("metadata").field("usage"),
        ]
        for node in self._usage_nodes:
            node.open = True
        self._signs = ErrorSigns(
            self.root, {**score_paths(fields), **(derived_from or {})}
        )
        self._needed = {*request.scores, *self._mapped}
        # NeMo Gym writes numbers; the rows of others may hold texts and lists of them
        self._lenient = bool(of_table or fields.task or fields.reward)
        self._texts: dict[str, NumberTexts] = {}
        self._decimal = request.decimal
        for nodes in self._mapped.values() if self._lenient else ():
            for node in nodes:
                node.verdicts = True
        # names, in the order of their first appearance
        self._scores: dict[str, None] = {}
        self._usage: dict[str, None] = {}
        # rows, or columns of a table
        self._learnt = 0
        self._reported = 0
        # checksums of contents as written
        self._hashed: dict[tuple[str | None, TaskId], int] = {}

    def _declare(self, path: str, *, whole: bool = False) -> list[Node]:
        """Declare a place to be read; a whole one is read as text unless its value is needed."""
        if path.count(".") > _MAX_DOTS:
            message = f"the path {path!r} has more than {_MAX_DOTS + 1} parts"
            raise DataError(message, hint="write the rows flatter")
        nodes = self.root.declare(path)
        for node in nodes:
            if whole and (node.fields or node.items):
                message = (
                    f"the content {path!r} holds fields that are read on their own"
                )
                hint = (
                    "name its parts under rollouts: `fields: {content: [PATH, PATH]}`"
                )
                raise DataError(message, hint=hint)
            node.whole = whole and not node.wanted
            node.wanted = True
        return nodes

    def _listed_nodes(self) -> list[Node]:
        """List the places of the mapped scores that have held lists."""
        nodes = list(chain.from_iterable(self._mapped.values()))
        return [node for node in nodes if node.kinds & LIST and not node.items]

    def _scores_at(self, node: Node) -> Iterator[tuple[str, bool]]:
        """List the scores of a place, by its values so far."""
        name = node.key
        for mapped, nodes in self._mapped.items():
            if node in nodes:
                yield mapped, False
        if name in self._mapped or name.startswith("_"):
            return
        if name not in self._needed and (
            node in self._taken or not node.kinds & NUMBER
        ):
            return
        if self.root.fields.get(name) is node:
            yield name, False
        elif any(usage.fields.get(name) is node for usage in self._usage_nodes):
            yield name, True

    def in_order(self, nodes: Iterable[Node]) -> list[Node]:
        """Sort the columns of a table: the scores that ``fields:`` maps come last."""
        mapped = list(chain.from_iterable(self._mapped.values()))
        return sorted(
            nodes, key=lambda node: mapped.index(node) if node in mapped else -1
        )

    def _places_of(self, score: str, *, usage: bool) -> list[Node]:
        """Get the places that may hold a score, or its namesake of the usage."""
        if score in self._mapped:
            return self._mapped[score]
        above = self._usage_nodes if usage else [self.root]
        return [node.fields[score] for node in above if score in node.fields]

    # -- refusing -------------------------------------------------------------------------

    def _problems(self, record: Record) -> Iterator[tuple[str, str]]:
        """Yield the problems of a row's values as messages and hints."""
        if not self._by_position:
            yield from self._problems_of_task(record)
        sample = _first_in(record, self.sample)
        is_sample = type(sample) is int and 0 <= sample < _MAX_SAMPLE
        if sample is not None and not is_sample:
            problem = f"the sample index is {shown_json(sample)}"
            yield (
                f"{problem}; expected a whole number from 0",
                _SAY_WHICH.format("sample"),
            )
        agent = _first_in(record, self.agent)
        if agent is not None and type(agent) is not str:
            problem = f"the agent's name is {shown_json(agent)}; expected text"
            yield problem, _SAY_WHICH.format("agent")
        yield from self._problems_of_lists(record)
        for name, nodes in self._labels.items():
            label = _first_in(record, nodes)
            if isinstance(label, dict | list):
                wrong = f"{name!r} is {shown_json(label)}; expected text, a number or a boolean"
                yield wrong, f"name what holds a single value, such as {name}.KEY"
        yield from self._problems_of_scores(record)

    def _problems_of_scores(self, record: Record) -> Iterator[tuple[str, str]]:
        """Yield the needed scores that are no numbers."""
        for name in sorted(self._needed):
            places = [
                *self._places_of(name, usage=True),
                *self._places_of(name, usage=False),
            ]
            held = [record[node] for node in places if record.get(node) is not None]
            if held and not any(map(self._may_be_number, held)):
                wrong = f"the score {name!r} is {shown_json(held[0])}"
                yield f"{wrong}; expected a number, true, false or null", _NAME_A_NUMBER

    def _problems_of_lists(self, record: Record) -> Iterator[tuple[str, str]]:
        """Yield the problems of a row's lists of verdicts."""
        lists: dict[str, list[JsonValue]] = {}
        for name, nodes in self._mapped.items():
            for node in nodes:
                held = record.get(node)
                if isinstance(held, list):
                    lists[name] = held
        if lists and any(record.get(node) is not None for node in self.sample):
            problem = f"{next(iter(lists))!r} is a list of verdicts, which are a task's"
            yield f"{problem} attempts, and the row has a sample index", _NO_SAMPLE
        lengths = {name: len(values) for name, values in lists.items()}
        if len(set(lengths.values())) > 1:
            shown = ", ".join(f"{name} {count}" for name, count in lengths.items())
            problem = f"the lists of verdicts differ in length: {shown}"
            yield problem, "each score needs a verdict for each attempt"

    def _problems_of_task(self, record: Record) -> Iterator[tuple[str, str]]:
        """Yield the problems of the values that make up a row's task id."""
        values: list[JsonValue] = []
        for path, nodes in self._task_parts.items():
            met = any(node.kinds for node in nodes)
            value = _first_in(record, nodes)
            values.append(value)
            if value is not None and type(value) not in (int, str):
                problem = f"the task id is {shown_json(value)}"
                problem += "; expected a whole number or text"
                yield problem, _SAY_WHICH.format("task")
            elif not met or (value is None and len(self._task_parts) == 1):
                yield self._no_task(path, record)
                return
        if all(value is None for value in values):
            yield self._no_task(next(iter(self._task_parts)), record)

    def _no_task(self, path: str, record: Record) -> tuple[str, str]:
        keys = sorted(
            node.key for node in record if self.root.fields.get(node.key) is node
        )
        if any(node in record for node in self._task_parts[path]):
            what = f"{path!r} is null; the row's keys: {', '.join(keys)}"
        else:
            guess = did_you_mean(path, keys, what="the row's keys")
            what = f"{path!r} is not there; {guess}"
        return f"this row has no task id: {what}", _SAY_WHICH.format("task")

    def _may_be_number(self, value: JsonValue) -> bool:
        """Check for a number, or for a text or a list that is read as numbers."""
        if isinstance(value, int | float):
            return True
        if not self._lenient:
            return False
        if isinstance(value, list):
            return all(part is None or self._may_be_number(part) for part in value)
        return isinstance(value, str) and is_number_text(value)

    # -- learning -------------------------------------------------------------------------

    def learn(
        self, value: JsonObject, row: SourceRow, source: Source
    ) -> tuple[Record, bool]:
        """Learn the kinds of a parsed row's values, and check it."""
        record: Record = {}
        self._learnt += 1
        new = self.root.learn(value, (self._learnt, row.place), record)
        if new:
            self.find_scores(record)
        for message, hint in self._problems(record):
            kind = self._kind_of_error(record)
            error = source.error(message, row, hint=hint, kind=kind)
            raise self._with_score(error, record)
        return record, new

    def _kind_of_error(self, record: Record) -> type[DataError]:
        """Tell the errors for which other keys of the benchmark file may be the way out."""
        lacks_task = not any(node in record for node in self.task)
        if lacks_task and not self._by_position:
            return NoTaskError
        return DataError if self._word_score(record) is None else WordScoreError

    def _word_score(self, record: Record) -> str | None:
        """Find a score that a row has as text."""
        for name in sorted(self._needed):
            places = self._places_of(name, usage=False)
            if any(isinstance(record.get(node), str) for node in places):
                return name
        return None

    def _with_score(self, error: DataError, record: Record) -> DataError:
        """Name the score that is text in an error about one."""
        score = self._word_score(record)
        if isinstance(error, WordScoreError) and score is not None:
            error.score = score
        return error

    def learn_column(
        self, node: Node, values: Sequence[JsonValue], places: NDArray[np.int64]
    ) -> None:
        """Learn the kinds of a table's column of numbers, texts and None."""
        self._learnt += 1
        for kind in set(map(type, values)):
            node.kinds |= KINDS[kind]
            if kind is str and node.not_number is None:
                first = next(
                    at for at, value in enumerate(values) if type(value) is str
                )
                node.not_number = self._learnt, int(places[first])
        self.find_scores([node])

    def check(self, record: Record, source: Source, place: int) -> None:
        """Refuse a table's row whose values are invalid."""
        for message, hint in self._problems(record):
            kind = self._kind_of_error(record)
            error = source.error_at(place, message, hint, kind)
            raise self._with_score(error, record)

    def find_scores(self, nodes: Iterable[Node]) -> None:
        """Find the scores among places that hold another kind of value than before."""
        for node in nodes:
            for name, usage in self._scores_at(node):
                (self._usage if usage else self._scores).setdefault(name)
                node.wanted = True

    def is_needed(self, node: Node) -> bool:
        """Check whether a place holds a score that has to be a number."""
        return any(name in self._needed for name, _ in self._scores_at(node))

    def must_be_clear(self, source: Source) -> None:
        """Refuse a file of which a needed score has cells that can be read in two ways."""
        for name, texts in self._texts.items():
            if name in self._needed:
                texts.must_be_clear(source)

    def chunk(self, values: Values, source: Source) -> Chunk:
        """Make columns of some rows."""
        attempts = self._attempts(values)
        if attempts is not None:
            values = values.unlisted(self._listed_nodes(), attempts)
        numbers = _Numbers()
        scores = {
            name: self._numbers(name, values, source, numbers) for name in self._scores
        }
        usage = {
            name: self._numbers(name, values, source, numbers, usage=True)
            for name in self._usage
        }
        task = self._task_ids(values)
        agent = values.texts(self.agent)
        sample = self._samples(values, attempts)
        if not self._by_position:
            values.must_be({int, str}, task)
        chunk = Chunk(
            places=values.places,
            task=task,
            sample=sample,
            agent=agent,
            scores=scores,
            usage=usage,
            labels=self._labels_of(values),
            fractional=frozenset(numbers.fractional),
            not_finite=sorted(numbers.not_finite, key=lambda bad: bad.place),
            other_kinds=self._other_kinds(),
            keys=tuple(key for key, node in self.root.fields.items() if node.kinds),
            content={} if self._by_position else self._content(values, agent, task),
            dealt=bool(self._contents) and self._fields.content is None,
            positional=self._fields.task is None and int in set(map(type, task)),
        )
        return self._signs.void(chunk, sorted(self._needed), values.first)

    def _samples(
        self, values: Values, attempts: Sequence[int] | None
    ) -> Sequence[int | None]:
        """Return the attempts' numbers: those of the rows, or of their lists of verdicts."""
        if attempts is not None:
            return [index for count in attempts for index in range(count)]
        sample = values.first(self.sample)
        values.must_be({int, type(None)}, sample)
        for index, number in enumerate(sample):
            if number is not None and not 0 <= number < _MAX_SAMPLE:
                values.check(index)
        return sample

    def _labels_of(self, values: Values) -> dict[str, Sequence[str | None]]:
        """Return the labels of each category that any row so far has."""
        labels: dict[str, Sequence[str | None]] = {}
        for name, nodes in self._labels.items():
            if any(node.kinds for node in nodes):
                labels[name] = values.texts(nodes)
        return labels

    def _attempts(self, values: Values) -> Sequence[int] | None:
        """Count the attempts of each row; None if no row holds a list of verdicts."""
        if not self._lenient:
            return None
        listed = self._listed_nodes()
        if not listed:
            return None
        values.must_be({type(None)}, values.first(self.sample))
        return values.attempts(listed)

    def _numbers(
        self,
        name: str,
        values: Values,
        source: Source,
        numbers: _Numbers,
        *,
        usage: bool = False,
    ) -> NDArray[np.float64]:
        """Make the column of a score, NaN where it is missing."""
        nodes = self._places_of(name, usage=usage)
        is_needed = name in self._needed
        texts = self._texts.get(name)
        if texts is None and self._lenient:
            texts = self._texts[name] = NumberTexts(name, self._decimal)
        read_texts = None
        if texts is not None:
            read_texts = partial(
                texts.read, places=values.places, source=source, needed=is_needed
            )
        column, given = values.numbers(nodes, needed=is_needed, read_texts=read_texts)
        if given is not None:
            for index in np.flatnonzero(given & ~np.isfinite(column)).tolist():
                what = "NaN" if math.isnan(column[index]) else "infinite or too large"
                place = int(values.places[index])
                numbers.not_finite.append(NotFinite(name, what, place))
                column[index] = math.nan
        has_fractions = texts is not None and texts.fractional
        if has_fractions or any(node.kinds & FLOAT for node in nodes):
            numbers.fractional.add(name)
        return column

    def _task_ids(self, values: Values) -> Sequence[Any]:
        """Return the rows' task ids; None where a row has none."""
        parts = [values.first(nodes) for nodes in self._task_parts.values()]
        if len(parts) == 1:
            return parts[0]
        return [
            joint_id(ids) if _ID_PARTS.issuperset(map(type, ids)) else None
            for ids in zip(*parts, strict=True)
        ]

    def _content(
        self, values: Values, agent: Sequence[str | None], task: Sequence[TaskId]
    ) -> dict[tuple[str | None, TaskId], str]:
        """Hash the content of each task: one row of it, and each that is written otherwise."""
        parts = [
            [values.at(node) for node in nodes if node.kinds]
            for nodes in self._contents
        ]
        columns = [_checksums(column) for part in parts for column in part]
        contents: dict[tuple[str | None, TaskId], str] = {}
        keys = zip(agent, task, strict=True)
        for row, (key, checksums) in enumerate(
            zip(keys, zip(*columns, strict=True), strict=False)
        ):
            checksum = hash(checksums)
            if self._hashed.get(key) == checksum:
                continue
            held = [_content_part(part, row) for part in parts]
            if any(value is not None for value in held):
                content = content_hash(question_of(held[0]) if len(held) == 1 else held)
                self._hashed[key] = checksum
                contents[key] = join_versions(contents.get(key, content), content)
        return contents

    def _other_kinds(self) -> dict[tuple[str, bool], int]:
        """Report where text and the like was first met, if rows were learnt from since."""
        if self._reported == self._learnt:
            return {}
        self._reported = self._learnt
        names = [(name, False) for name in {*self.root.fields, *self._mapped}]
        names += [(name, True) for usage in self._usage_nodes for name in usage.fields]
        first: dict[tuple[str, bool], int] = {}
        for name, of_usage in names:
            texts = self._texts.get(name)
            if name in self._mapped or (texts is not None and texts.all_read):
                continue
            nodes = self._places_of(name, usage=of_usage)
            met = [node.not_number for node in nodes if node.not_number is not None]
            if met:
                first[name, of_usage] = min(met)[1]
        return first


class Values:
    """The values of some rows by place."""

    def __init__(
        self,
        places: NDArray[np.int64],
        decoded: Mapping[Node, Sequence[Any]],
        check: Callable[[int], object],
        *,
        parsed: Mapping[int, Record] | None = None,
        numbers: Mapping[Node, Sequence[JsonValue]] | None = None,
    ) -> None:
        self.places = places
        self.check = check  # refuses a row with invalid values, with the reason
        self._decoded = decoded
        self._parsed = parsed  # rows that were parsed instead, by their index
        self._numbers = numbers  # in place of the same values as text

    def at(self, node: Node) -> Sequence[Any]:
        """Return the values of a place in all rows."""
        # nothing if the place was met only after these rows had been decoded
        values = self._decoded.get(node) or [None] * len(self.places)
        if self._parsed:
            values = list(values)
            for index, record in self._parsed.items():
                values[index] = record.get(node)
        return values

    def first(self, nodes: Sequence[Node]) -> Sequence[Any]:
        """Take the first value of several places that is not null, row by row."""
        columns = [self.at(node) for node in nodes if node.kinds]
        values = columns[0] if columns else [None] * len(self.places)
        for column in columns[1:]:
            values = [
                b if a is None else a for a, b in zip(values, column, strict=True)
            ]
        return values

    def attempts(self, nodes: Sequence[Node]) -> Sequence[int]:
        """Count the verdicts of each row's lists; 1 for a row without a list."""
        counts = []
        columns = [self.at(node) for node in nodes]
        for index, held in enumerate(zip(*columns, strict=True)):
            lengths = {len(value) for value in held if isinstance(value, list)}
            if len(lengths) > 1:
                self.check(index)
            counts.append(max(lengths, default=1) or 1)
        return counts

    def unlisted(self, nodes: Sequence[Node], attempts: Sequence[int]) -> Values:
        """Give each verdict of a row's lists a row of its own."""
        rows = [row for row, count in enumerate(attempts) for _ in range(count)]
        columns: dict[Node, Sequence[Any]] = {}
        for node in {*self._decoded, *(key for r in self._records() for key in r)}:
            held = self.at(node)
            columns[node] = [held[row] for row in rows]
        for node in nodes:
            verdicts: list[JsonValue] = []
            for value, count in zip(self.at(node), attempts, strict=True):
                given = value if isinstance(value, list) else [value]
                verdicts += given[:count] + [None] * (count - len(given))
            columns[node] = verdicts
        return Values(self.places[rows], columns, lambda row: self.check(rows[row]))

    def _records(self) -> Iterable[Record]:
        return (self._parsed or {}).values()

    def must_be(self, kinds: set[type], values: Sequence[object]) -> None:
        """Check the rows whose values are of other kinds."""
        if not kinds.issuperset(map(type, values)):
            for index, value in enumerate(values):
                if type(value) not in kinds:
                    self.check(index)

    def texts(self, nodes: Sequence[Node]) -> Sequence[str | None]:
        """Return the first values as texts or None."""
        values = self.first(nodes)
        if _TEXT.issuperset(map(type, values)):
            return values
        self.must_be({*_TEXT, int, float, bool}, values)
        return [v if type(v) in _TEXT else json.dumps(v) for v in values]

    def numbers(
        self, nodes: Sequence[Node], *, needed: bool, read_texts: ReadTexts | None
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_] | None]:
        """Return values as numbers or NaN, and which of them are given."""
        get = self.at if self._numbers is None else self._numbers.get
        columns = [
            get(node) or [None] * len(self.places) for node in nodes if node.kinds
        ]
        values = columns[0]
        if len(columns) > 1:
            values = list(map(_number_first, zip(*columns, strict=True)))
        code, kind = (
            ("d", np.float64)
            if any(n.kinds & FLOAT for n in nodes)
            else ("q", np.int64)
        )
        try:  # several times faster than numpy, which checks each object's type
            packed = struct.pack(f"{len(values)}{code}", *values)
            column = np.frombuffer(packed, kind).astype(np.float64, copy=False)
            if np.isfinite(column).all():
                return column, None
        except (
            struct.error,
            OverflowError,
        ):  # something else than a number, or a very large one
            pass
        if read_texts is not None and str in set(map(type, values)):
            values = read_texts(values)
        given = np.array([isinstance(value, int | float) for value in values])
        for index in np.flatnonzero(~given).tolist() if needed else ():
            if values[index] is not None:
                self.check(index)
        return np.array(list(map(_float, values))), given


def _first_in(record: Record, nodes: Iterable[Node]) -> JsonValue:
    """Take the first value of a row's places that is not null."""
    return next((record[n] for n in nodes if record.get(n) is not None), None)


def joint_id(parts: Sequence[JsonValue]) -> str | None:
    r"""Join the parts of a task id with slashes: ``algebra/12``; None without any.

    A slash or a backslash within a part is escaped, and null is written ``null``, so that no
    two tasks share an id.
    """
    if all(part is None for part in parts):
        return None
    return "/".join(map(_id_part, parts))


def _id_part(part: JsonValue) -> str:
    if part is None:
        return "null"
    if part == "null":
        return r"\null"
    return str(part).replace("\\", r"\\").replace("/", r"\/")


def _float(value: JsonValue) -> float:
    try:
        return float(value) if isinstance(value, int | float) else math.nan
    except OverflowError:
        return math.inf


def _number_first(values: tuple[JsonValue, ...]) -> JsonValue:
    """Choose the first number, else the first value that is not None."""
    given = [v for v in values if v is not None]
    return next(
        (v for v in given if isinstance(v, int | float)), given[0] if given else None
    )


def _checksums(column: Sequence[JsonValue | msgspec.Raw]) -> list[int]:
    """Return a checksum of each value of a place."""
    raw = [value for value in column if isinstance(value, msgspec.Raw)]
    if len(raw) == len(column):
        return list(map(adler32, raw))
    return [
        adler32(value) if isinstance(value, msgspec.Raw) else hash(repr(value))
        for value in column
    ]


def _content_part(
    columns: Sequence[Sequence[JsonValue | msgspec.Raw]], row: int
) -> JsonValue:
    """Decode the first value of a row among several places."""
    for column in columns:
        value = column[row]
        if isinstance(value, msgspec.Raw):
            try:
                value = msgspec.json.decode(value)
            except (
                msgspec.DecodeError,
                RecursionError,
            ):  # the half of a surrogate pair
                value = bytes(value).decode(errors="replace")
        if value is not None:
            return value
    return None
