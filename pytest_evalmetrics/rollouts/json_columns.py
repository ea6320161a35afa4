"""JSON rows to columns of numbers and labels."""

from __future__ import annotations

import json
import math
import struct
from typing import TYPE_CHECKING, Any
from zlib import adler32

import msgspec
import numpy as np

from pytest_evalmetrics.data import content_hash, join_versions, question_of
from pytest_evalmetrics.errors import DataError, did_you_mean
from pytest_evalmetrics.rollouts.loader import Chunk, NotFinite
from pytest_evalmetrics.rollouts.row_schema import FLOAT, NUMBER, Node
from pytest_evalmetrics.rollouts.source import score_paths, shown_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import TaskId
    from pytest_evalmetrics.rollouts.loader import Request
    from pytest_evalmetrics.rollouts.row_schema import Record
    from pytest_evalmetrics.rollouts.source import Source, SourceRow

_MAX_DOTS = 9  # in a path: each one doubles what the path may mean
_MAX_SAMPLE = 2**63
_QUESTION = "responses_create_params.input"  # of NeMo Gym; the rest is how it is asked
_SAY_WHICH = "say which key holds it, under rollouts: `fields: {{{}: KEY}}`"
_NAME_A_NUMBER = (
    "write it as a number, or name what holds the number: `reward: NAME`, "
    "or `fields: {reward: PATH}` under rollouts"
)


class Roles:
    """NeMo Gym's reading of a row, changed by what ``fields:`` says.

    A row's numbers are the numbers and booleans at its top, then those of
    ``response.usage`` and ``usage``. Where a thing may stand in several places, the first
    one that holds something counts; for a score, the first one that holds a number.
    """

    def __init__(self, request: Request) -> None:
        self.root = Node()
        self.root.open = True
        fields = request.fields
        self._mapped = {n: self._declare(path) for n, path in score_paths(fields).items()}
        self._task_path = fields.task or "_ng_task_index"
        self.task = self._declare(self._task_path)
        self.sample = self._declare(fields.sample or "_ng_rollout_index")
        self.agent = self._declare(fields.agent or "agent_ref.name")
        # what is read as one thing is no score under its own name as well
        self._taken = {*self.task, *self.sample, *self.agent}
        self._taken.update(*self._mapped.values())
        self.labels = {name: self._declare(name) for name in request.categories}
        self.names_tasks = fields.task is not None
        self.content = [self._declare(path, whole=True) for path in fields.content or (_QUESTION,)]
        self.names_content = fields.content is not None
        self._taken.update(*self.content)
        self._usage = [self.root.field("response").field("usage"), self.root.field("usage")]
        for node in self._usage:
            node.open = True
        self.needed = {*request.scores, *self._mapped}
        self._by_position = request.by_position

    def _declare(self, path: str, *, whole: bool = False) -> list[Node]:
        """Ask for a place; a whole one is read as text, unless something else needs its value."""
        if path.count(".") > _MAX_DOTS:
            raise DataError(
                f"the path {path!r} has more than {_MAX_DOTS + 1} parts",
                hint="write the rows flatter",
            )
        nodes = self.root.declare(path)
        for node in nodes:
            if whole and (node.fields or node.items):
                raise DataError(
                    f"the content {path!r} holds fields that are read on their own",
                    hint="name its parts under rollouts: `fields: {content: [PATH, PATH]}`",
                )
            node.whole = whole and not node.wanted
            node.wanted = True
        return nodes

    def scores_at(self, node: Node) -> Iterator[tuple[str, bool]]:
        """Tell which scores a place holds by what it has held so far."""
        name = node.key
        for mapped, nodes in self._mapped.items():
            if node in nodes:
                yield mapped, False
        if name in self._mapped or name.startswith("_"):
            return
        if name not in self.needed and (node in self._taken or not node.kinds & NUMBER):
            return
        if self.root.fields.get(name) is node:
            yield name, False
        elif any(usage.fields.get(name) is node for usage in self._usage):
            yield name, True

    def names(self) -> set[tuple[str, bool]]:
        """Name what may be a score, and tell whether it is one of the usage."""
        tops = {(name, False) for name in (*self.root.fields, *self._mapped)}
        return tops | {(name, True) for usage in self._usage for name in usage.fields}

    def places_of(self, score: str, *, usage: bool) -> list[Node]:
        """Get the places that may hold a score, or its namesake of the usage."""
        if score in self._mapped:
            return self._mapped[score]
        above = self._usage if usage else [self.root]
        return [node.fields[score] for node in above if score in node.fields]

    # -- refusing -------------------------------------------------------------------------

    def problems(self, record: Record) -> Iterator[tuple[str, str]]:
        """Find what is wrong with a row's values: messages and hints."""
        task = _first_value(self.task, record)
        if self._by_position:
            pass
        elif task is None:
            yield self._no_task(record), _SAY_WHICH.format("task")
        elif type(task) not in (int, str):
            yield _refusal("the task id", task, "a whole number or text", "task")
        sample = _first_value(self.sample, record)
        if sample is not None and (type(sample) is not int or not 0 <= sample < _MAX_SAMPLE):
            yield _refusal("the sample index", sample, "a whole number from 0", "sample")
        agent = _first_value(self.agent, record)
        if agent is not None and not isinstance(agent, str):
            yield _refusal("the agent's name", agent, "text", "agent")
        for name, nodes in self.labels.items():
            label = _first_value(nodes, record)
            if isinstance(label, dict | list):
                yield (
                    f"{name!r} is {shown_json(label)}; expected text, a number or a boolean",
                    f"name what holds a single value, such as {name}.KEY",
                )
        for name in sorted(self.needed):
            places = self.places_of(name, usage=True) + self.places_of(name, usage=False)
            found = [record[node] for node in places if record.get(node) is not None]
            if found and not any(isinstance(value, int | float) for value in found):
                wrong = f"the score {name!r} is {shown_json(found[0])}"
                yield f"{wrong}; expected a number, true, false or null", _NAME_A_NUMBER

    def _no_task(self, record: Record) -> str:
        keys = [node.key for node in record if self.root.fields.get(node.key) is node]
        if any(node in record for node in self.task):
            what = f"{self._task_path!r} is null; the row's keys: {', '.join(sorted(keys))}"
        else:
            guess = did_you_mean(self._task_path, keys, what="the row's keys")
            what = f"{self._task_path!r} is not there; {guess}"
        return f"this row has no task id: {what}"


def _first_value(nodes: Iterable[Node], record: Record) -> Any:
    return next((record[n] for n in nodes if record.get(n) is not None), None)


def _refusal(what: str, value: Any, expected: str, field: str) -> tuple[str, str]:
    return f"{what} is {shown_json(value)}; expected {expected}", _SAY_WHICH.format(field)


class Columns:
    """Knows the columns met so far, and fills them."""

    def __init__(self, request: Request) -> None:
        self._roles = Roles(request)
        self.root = self._roles.root  # what rows look like, as far as it is known
        self._by_position = request.by_position
        self._scores: dict[str, None] = {}  # names, in the order of their first appearance
        self._usage: dict[str, None] = {}
        self._learnt = self._reported = 0  # rows
        self._hashed: dict[tuple[str | None, TaskId], int] = {}  # checksums of contents as written

    def learn(self, value: dict[str, Any], row: SourceRow, source: Source) -> tuple[Record, bool]:
        """Take in a row as ``json.loads`` gives it, and check it."""
        record: Record = {}
        self._learnt += 1
        new = self.root.learn(value, (self._learnt, row.place), record)
        for node in record if new else ():
            for name, usage in self._roles.scores_at(node):
                (self._usage if usage else self._scores).setdefault(name)
                node.wanted = True
        for message, hint in self._roles.problems(record):
            raise source.error(message, row, hint=hint)
        return record, new

    def chunk(
        self,
        decoded: Mapping[Node, Sequence[Any]],
        places: NDArray[np.int64],
        parsed: Mapping[int, Record],
        check: Callable[[int], object],
    ) -> Chunk:
        """Make columns of decoded rows, of which some were parsed instead, by their index.

        `check` refuses a row whose values are no good, with the reason.
        """
        values = _Values(len(places), decoded, parsed, check)
        roles = self._roles
        bad: list[NotFinite] = []
        fractional: set[str] = set()
        columns: list[dict[str, NDArray[np.float64]]] = [{}, {}]
        for usage, names in enumerate((self._scores, self._usage)):
            for name in names:
                nodes = roles.places_of(name, usage=bool(usage))
                column, not_finite = values.numbers(nodes, needed=name in roles.needed)
                columns[usage][name] = column
                bad += [NotFinite(name, what, int(places[i])) for i, what in not_finite]
                if any(node.kinds & FLOAT for node in nodes):
                    fractional.add(name)
        task = values.first(roles.task, None if self._by_position else {int, str})
        agent = values.first(roles.agent, {str, type(None)})
        sample = values.first(roles.sample, {int, type(None)})
        for index, number in enumerate(sample):
            if number is not None and not 0 <= number < _MAX_SAMPLE:
                check(index)
        kinds = {str, int, float, bool, type(None)}
        return Chunk(
            places=places,
            task=task,
            sample=sample,
            agent=agent,
            scores=columns[0],
            usage=columns[1],
            labels={
                name: [
                    label if label is None or type(label) is str else json.dumps(label)
                    for label in values.first(nodes, kinds)
                ]
                for name, nodes in roles.labels.items()
                if any(node.kinds for node in nodes)
            },
            fractional=frozenset(fractional),
            not_finite=sorted(bad, key=lambda each: each.place),
            other_kinds=self._other_kinds(),
            keys=tuple(key for key, node in self.root.fields.items() if node.kinds),
            content={} if self._by_position else self._content(values, agent, task),
            dealt=not roles.names_content,
            positional=not roles.names_tasks and int in set(map(type, task)),
        )

    def _content(
        self, values: _Values, agent: Sequence[str | None], task: Sequence[TaskId]
    ) -> dict[tuple[str | None, TaskId], str]:
        """Hash the content of each task: one row of it, and each that is written otherwise."""
        parts = [[values.at(node) for node in nodes if node.kinds] for nodes in self._roles.content]
        columns = [map(_checksum, column) for part in parts for column in part]
        contents: dict[tuple[str | None, TaskId], str] = {}
        for row, checksums in enumerate(zip(*columns, strict=True)):
            key, checksum = (agent[row], task[row]), hash(checksums)
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
        first: dict[tuple[str, bool], int] = {}
        for name, usage in self._roles.names():
            nodes = self._roles.places_of(name, usage=usage)
            met = [node.not_number for node in nodes if node.not_number is not None]
            if met:
                first[name, usage] = min(met)[1]
        return first


class _Values:
    """The values of some rows by place."""

    def __init__(
        self,
        rows: int,
        decoded: Mapping[Node, Sequence[Any]],
        parsed: Mapping[int, Record],
        check: Callable[[int], object],
    ) -> None:
        self._rows = rows
        self._decoded = decoded
        self._parsed = parsed
        self._check = check

    def at(self, node: Node) -> Sequence[Any]:
        """Get what stands at a place in each row."""
        # nothing where the place was met only after these rows had been decoded
        values = self._decoded.get(node) or [None] * self._rows
        if self._parsed:
            values = list(values)
            for index, record in self._parsed.items():
                values[index] = record.get(node)
        return values

    def first(self, nodes: Sequence[Node], kinds: set[type] | None) -> Sequence[Any]:
        """Take the first value of several places that is not null, row by row.

        Where a value is of another kind than these, its row is checked.
        """
        columns = [self.at(node) for node in nodes if node.kinds]
        values = columns[0] if columns else [None] * self._rows
        for column in columns[1:]:
            values = [b if a is None else a for a, b in zip(values, column, strict=True)]
        if kinds is not None and not kinds.issuperset(map(type, values)):
            for index, value in enumerate(values):
                if type(value) not in kinds:
                    self._check(index)
        return values

    def numbers(
        self, nodes: Sequence[Node], *, needed: bool
    ) -> tuple[NDArray[np.float64], list[tuple[int, str]]]:
        """Take values as numbers, NaN where there is none."""
        columns = [self.at(node) for node in nodes if node.kinds]
        values = columns[0]
        if len(columns) > 1:
            values = list(map(_number_first, zip(*columns, strict=True)))
        code, kind = ("d", np.float64) if any(n.kinds & FLOAT for n in nodes) else ("q", np.int64)
        try:  # several times as fast as numpy, which looks at each object's type
            packed = struct.pack(f"{len(values)}{code}", *values)
            column = np.frombuffer(packed, kind).astype(np.float64, copy=False)
            if np.isfinite(column).all():
                return column, []
        except (struct.error, OverflowError):  # something else than a number, or a very large one
            pass
        column = np.full(self._rows, math.nan)
        not_finite: list[tuple[int, str]] = []
        for index, value in enumerate(values):
            if isinstance(value, int | float):
                try:
                    number = float(value)
                except OverflowError:
                    number = math.inf
                if math.isfinite(number):
                    column[index] = number
                else:
                    what = "NaN" if math.isnan(number) else "infinite or too large"
                    not_finite.append((index, what))
            elif value is not None and needed:
                self._check(index)
        return column, not_finite


def _number_first(values: tuple[Any, ...]) -> Any:
    """Choose a number, or else what is not null: a list of tokens does not hide their number."""
    given = [v for v in values if v is not None]
    return next((v for v in given if isinstance(v, int | float)), given[0] if given else None)


def _checksum(value: Any) -> int:
    return adler32(value) if type(value) is msgspec.Raw else hash(repr(value))


def _content_part(columns: Sequence[Sequence[Any]], row: int) -> Any:
    """Decode what the first place of several holds in a row."""
    for column in columns:
        value = column[row]
        if isinstance(value, msgspec.Raw):
            try:
                value = msgspec.json.decode(value)
            except (msgspec.DecodeError, RecursionError):  # the half of a surrogate pair
                value = bytes(value).decode(errors="replace")
        if value is not None:
            return value
    return None
