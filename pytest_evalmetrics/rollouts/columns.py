"""Rows of JSON, CSV and Parquet to columns of numbers and labels, by the role of each place."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Final, TypeGuard

import msgspec
import numpy as np

from pytest_evalmetrics.rollouts.error_signs import ErrorSigns
from pytest_evalmetrics.rollouts.loader import Chunk, NotFinite, Request
from pytest_evalmetrics.rollouts.number_texts import NumberTexts
from pytest_evalmetrics.rollouts.row_checks import MAX_SAMPLE, RowChecks
from pytest_evalmetrics.rollouts.row_contents import RowContents
from pytest_evalmetrics.rollouts.row_places import RowPlaces
from pytest_evalmetrics.rollouts.row_schema import FLOAT, KINDS, Node, Record
from pytest_evalmetrics.rollouts.source import Source, SourceRow, score_paths

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.json_types import JsonObject, JsonValue
    from pytest_evalmetrics.model.rollout_table import TaskId
    from pytest_evalmetrics.rollouts.row_schema import Decoded
    from pytest_evalmetrics.rollouts.row_values import ReadTexts, Values

_ID: Final[set[type]] = {int, str}
_ID_PART: Final[set[type]] = {*_ID, type(None)}
_SAMPLE: Final[set[type]] = {int, type(None)}


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
        fields = request.fields
        self._request = request
        self.places = RowPlaces(request, of_table=of_table)
        # NeMo Gym writes numbers; the rows of others may hold texts and lists of them
        self._lenient = bool(of_table or fields.task or fields.reward)
        if self._lenient:
            self.places.read_lists()
        self._checks = RowChecks(
            self.places, lenient=self._lenient, by_position=request.by_position
        )
        self._contents = RowContents(self.places.contents)
        paths = {**score_paths(fields), **(derived_from or {})}
        self._signs = ErrorSigns(self.root, paths)
        self._texts: dict[str, NumberTexts] = {}
        # names, in the order of their first appearance
        self._scores: dict[str, None] = {}
        self._usage: dict[str, None] = {}
        # rows, or columns of a table
        self._learnt = 0
        self._reported = 0

    @property
    def root(self) -> Node:
        """The structure of the rows so far."""
        return self.places.root

    def learn(
        self, value: JsonObject, row: SourceRow, source: Source
    ) -> tuple[Record, bool]:
        """Learn the kinds of a parsed row's values, and check it."""
        record: Record = {}
        self._learnt += 1
        new = self.root.learn(value, (self._learnt, row.place), record)
        if new:
            self.find_scores(record)
        self._checks.must_be_valid(record, source, row)
        return record, new

    def learn_column(
        self, node: Node, values: Sequence[JsonValue], places: NDArray[np.int64]
    ) -> None:
        """Learn the kinds of a table's column of numbers, texts and None."""
        self._learnt += 1
        types = set(map(type, values))
        for kind in types:
            node.kinds |= KINDS[kind]
        if str in types and node.not_number is None:
            first = list(map(type, values)).index(str)
            node.not_number = self._learnt, int(places[first])
        self.find_scores([node])

    def check(self, record: Record, source: Source, place: int) -> None:
        """Refuse a table's row whose values are invalid."""
        self._checks.must_be_valid(record, source, place)

    def find_scores(self, nodes: Iterable[Node]) -> None:
        """Find the scores among places that hold another kind of value than before."""
        for node in nodes:
            for name, is_usage in self.places.scores_at(node):
                names = self._usage if is_usage else self._scores
                names.setdefault(name)
                node.wanted = True

    def is_needed(self, node: Node) -> bool:
        """Check whether a place holds a score that has to be a number."""
        needed = self.places.needed
        return any(name in needed for name, _ in self.places.scores_at(node))

    def must_be_clear(self, source: Source) -> None:
        """Refuse a file of which a needed score has cells that can be read in two ways."""
        for name, texts in self._texts.items():
            if name in self.places.needed:
                texts.must_be_clear(source)

    def chunk(self, values: Values, source: Source) -> Chunk:
        """Make columns of some rows."""
        fields = self._request.fields
        attempts = self._attempts(values)
        if attempts is not None:
            values = values.unlisted(self.places.listed, attempts)
        numbers = _Numbers()
        scores: dict[str, NDArray[np.float64]] = {}
        for name in self._scores:
            scores[name] = self._numbers(name, values, source, numbers, usage=False)
        usage: dict[str, NDArray[np.float64]] = {}
        for name in self._usage:
            usage[name] = self._numbers(name, values, source, numbers, usage=True)
        agent = values.texts(self.places.agent)
        sample = self._samples(values, attempts)
        task = self._task_ids(values)
        content: dict[tuple[str | None, TaskId], str] = {}
        if not self._request.by_position:
            content = self._contents.hashes(values, agent, task)
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
            content=content,
            dealt=bool(self._contents) and fields.content is None,
            positional=fields.task is None and int in set(map(type, task)),
        )
        return self._signs.void(chunk, sorted(self.places.needed), values.first)

    def _attempts(self, values: Values) -> Sequence[int] | None:
        """Count the attempts of each row; None if no row holds a list of verdicts."""
        listed = self.places.listed
        if not self._lenient or not listed:
            return None
        values.must_be({type(None)}, values.first(self.places.sample))
        return values.attempts(listed)

    def _task_ids(self, values: Values) -> Sequence[TaskId]:
        """Return the rows' task ids; none where each row is a task of its own."""
        if self._request.by_position:
            return ()
        parts = [values.first(nodes) for nodes in self.places.task_parts.values()]
        ids = parts[0] if len(parts) == 1 else _joint_ids(parts)
        if not _are_ids(ids):
            values.must_be(_ID, ids)
            return [task for task in ids if isinstance(task, int | str)]
        return ids

    def _samples(
        self, values: Values, attempts: Sequence[int] | None
    ) -> Sequence[int | None]:
        """Return the attempts' numbers: those of the rows, or of their lists of verdicts."""
        if attempts is not None:
            numbers: list[int | None] = []
            for count in attempts:
                numbers += range(count)
            return numbers
        samples = values.first(self.places.sample)
        if not _are_samples(samples):
            values.must_be(_SAMPLE, samples)
            return [value if isinstance(value, int) else None for value in samples]
        for index, number in enumerate(samples):
            if number is not None and not 0 <= number < MAX_SAMPLE:
                values.check(index)
        return samples

    def _labels_of(self, values: Values) -> dict[str, Sequence[str | None]]:
        """Return the labels of each category that any row so far has."""
        labels: dict[str, Sequence[str | None]] = {}
        for name, nodes in self.places.labels.items():
            if any(node.kinds for node in nodes):
                labels[name] = values.texts(nodes)
        return labels

    def _numbers(
        self,
        name: str,
        values: Values,
        source: Source,
        numbers: _Numbers,
        *,
        usage: bool,
    ) -> NDArray[np.float64]:
        """Make the column of a score, NaN where it is missing."""
        nodes = self.places.of_score(name, usage=usage)
        is_needed = name in self.places.needed
        texts = self._texts_of(name)
        read_texts: ReadTexts | None = None
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

    def _texts_of(self, name: str) -> NumberTexts | None:
        """Get what reads the texts of a score; None where texts are no numbers."""
        if not self._lenient:
            return None
        if name not in self._texts:
            self._texts[name] = NumberTexts(name, self._request.decimal)
        return self._texts[name]

    def _other_kinds(self) -> dict[tuple[str, bool], int]:
        """Report where text and the like was first met, if rows were learnt from since."""
        if self._reported == self._learnt:
            return {}
        self._reported = self._learnt
        first: dict[tuple[str, bool], int] = {}
        for name, is_usage in self.places.names_of_numbers():
            if name in self.places.scores or self._are_all_read(name):
                continue
            nodes = self.places.of_score(name, usage=is_usage)
            met = [node.not_number for node in nodes if node.not_number is not None]
            if met:
                first[name, is_usage] = min(met)[1]
        return first

    def _are_all_read(self, name: str) -> bool:
        """Check whether all texts of a score were read as numbers."""
        texts = self._texts.get(name)
        return texts is not None and texts.all_read


def _are_ids(values: Sequence[Decoded]) -> TypeGuard[Sequence[TaskId]]:
    return _ID.issuperset(map(type, values))


def _are_samples(values: Sequence[Decoded]) -> TypeGuard[Sequence[int | None]]:
    return _SAMPLE.issuperset(map(type, values))


def _joint_ids(parts: Sequence[Sequence[Decoded]]) -> list[Decoded]:
    """Join the parts of each row's task id; None where one can't be a part."""
    ids: list[Decoded] = []
    for row in zip(*parts, strict=True):
        is_valid = _ID_PART.issuperset(map(type, row))
        ids.append(joint_id(row) if is_valid else None)
    return ids


def joint_id(parts: Sequence[Decoded]) -> str | None:
    r"""Join the parts of a task id with slashes: ``algebra/12``; None without any.

    A slash or a backslash within a part is escaped, and null is written ``null``, so that no
    two tasks share an id.
    """
    if all(part is None for part in parts):
        return None
    return "/".join(map(_id_part, parts))


def _id_part(part: Decoded) -> str:
    if part is None:
        return "null"
    if part == "null":
        return r"\null"
    return str(part).replace("\\", r"\\").replace("/", r"\/")
