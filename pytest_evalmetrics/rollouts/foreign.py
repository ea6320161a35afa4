"""Common ground of the loaders of other tools: values, documents, and rollouts to a chunk."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import datetime
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import numpy as np

from pytest_evalmetrics.data import STATED_COUNT, STATED_ERROR, content_hash, join_versions
from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.rollouts.files import RolloutFile
from pytest_evalmetrics.rollouts.json_files import JsonArray, JsonLines
from pytest_evalmetrics.rollouts.json_rows import decode_row
from pytest_evalmetrics.rollouts.loader import Chunk, Failure, NotFinite, Request
from pytest_evalmetrics.rollouts.source import (
    open_source,
    score_paths,
    short,
    shortened,
    shown_json,
)
from pytest_evalmetrics.spec import FieldMap
from pytest_evalmetrics.spec.metric_names import MARK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import TaskId
    from pytest_evalmetrics.rollouts.source import Source

_TOLERANCE: Final = 1e-6  # tools round what they print
_SHOWN: Final = 160  # characters of an error's message
_parts = msgspec.json.Decoder(dict[str, msgspec.Raw])
_items = msgspec.json.Decoder(list[msgspec.Raw])


USAGE: Final = (
    *("latency_s", "prompt_tokens", "completion_tokens", "cached_tokens"),
    *("total_tokens", "cost_usd"),
)


def usage(**amounts: Any) -> dict[str, float]:
    """Name what a rollout took by `USAGE`, without what is unknown; parts make a total needless."""
    if None not in (amounts.get("prompt_tokens"), amounts.get("completion_tokens")):
        amounts.pop("total_tokens", None)
    return {
        name: amount for name, value in amounts.items() if (amount := number(value)) is not None
    }


def mapping(value: Any) -> dict[str, Any]:
    """Take a value as an object; what is none is an empty one."""
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> list[dict[str, Any]]:
    """Take the objects of a list; what is no list has none."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def number(value: Any) -> float | None:
    """Take a value as a number; None for what is none. Whole numbers stay whole."""
    if isinstance(value, bool):
        return int(value)
    if not isinstance(value, int | float):
        return None
    try:
        float(value)
    except OverflowError:
        return math.inf
    return value


def total(values: Iterable[Any]) -> float | None:
    """Add what is a number; None where nothing is."""
    found = [n for v in values if (n := number(v)) is not None]
    return reduce(add, found) if found else None  # sum() adds otherwise from Python 3.12 on


def seconds(text: Any) -> float | None:
    """Read a time such as ``2026-08-25T03:42:29.858Z``; None where there is none."""
    if not isinstance(text, str):
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return None


def lookup(record: Any, path: str) -> Any:
    """Follow a dotted path; a key that holds dots comes first. None where it leads nowhere."""
    if isinstance(record, dict):
        if path in record:
            return record[path]
        for end in [i for i, sign in enumerate(path) if sign == "."][::-1]:
            if path[:end] in record:
                found = lookup(record[path[:end]], path[end + 1 :])
                if found is not None:
                    return found
    elif isinstance(record, list):
        head, _, rest = path.partition(".")
        if head.isdecimal() and int(head) < len(record):
            return lookup(record[int(head)], rest) if rest else record[int(head)]
    return None


def paths_of(request: Request) -> list[str]:
    """List the paths that ``fields:`` names."""
    fields = request.fields
    ids = (fields.task, fields.sample, fields.agent)
    paths = (*ids, *score_paths(fields).values(), *(fields.content or ()))
    return [path for path in paths if path is not None]


def slim(record: Mapping[str, Any], request: Request) -> dict[str, Any]:
    """Leave of a record what a benchmark may ask for: its keys, and the values behind paths."""
    if request.whole:
        return dict(record)
    wanted = (*paths_of(request), *request.categories)
    return {
        key: value if any(p == key or p.startswith(f"{key}.") for p in wanted) else None
        for key, value in record.items()
    }


def aggregate(
    name: str, value: Any, error: float | None, samples: float | None
) -> dict[str, float | None]:
    """Name a score that is an aggregate, with its standard error and what it is of."""
    return {name: value, STATED_ERROR + name: error, STATED_COUNT + name: samples}


def agree(one: float, other: float) -> bool:
    """Whether two aggregates are the same, but for rounding."""
    return math.isclose(one, other, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)


def brief(content: Any) -> str:
    """Write a task's content on a short line."""
    if isinstance(content, str):
        return shortened(" ".join(content.split()))
    return shortened(json.dumps(content, ensure_ascii=False, sort_keys=True, default=str))


def distinct(names: Sequence[str], contents: Sequence[Any]) -> list[str]:
    """Tell tasks of the same name apart by what they hold."""
    keys: dict[str, set[str]] = defaultdict(set)
    for name, content in zip(names, contents, strict=True):
        keys[name].add(json.dumps(content, sort_keys=True, default=str))
    return [
        name if len(keys[name]) == 1 else f"{name} [{brief(content)}]"
        for name, content in zip(names, contents, strict=True)
    ]


def flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Take settings apart (``provider id`` -> ``m``), without what is not set."""
    if isinstance(value, list) and any(isinstance(each, dict | list) for each in value):
        value = {str(n): each for n, each in enumerate(value)}
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from flat(f"{name} {key}".strip(), inner)
    elif value is not None and value not in ("", []):
        yield name, value


class Ungraded(NamedTuple):
    """What went wrong in the grading alone: the attempt is there, and can be scored anew."""

    kind: str
    said: str = ""


@dataclass(slots=True)
class Rollout:
    """One attempt as a tool recorded it."""

    record: Mapping[str, Any]
    name: str
    task: TaskId
    sample: int | None = None
    agent: str | None = None
    scores: dict[str, Any] = field(default_factory=dict)
    usage: dict[str, float] = field(default_factory=dict)
    error: tuple[str, str] | None = None
    started: float | None = None
    rewards: Sequence[str] | None = None
    content: Any = None


class ChunkBuilder:
    """Collects the rollouts of one file, or of a part of it."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._fields = request.fields
        self._paths = score_paths(request.fields)
        self._needed = {*request.scores, *self._paths}
        # task, sample, agent, time of the start, name, and labels of each row
        self._rows: list[tuple[TaskId, int | None, str | None, float, str, list[str | None]]] = []
        self._records: list[Mapping[str, Any]] = []
        self._scores: dict[str, dict[int, float]] = {}
        self._usage: dict[str, dict[int, float]] = defaultdict(dict)
        self._fractional: set[str] = set()
        self._not_finite: list[NotFinite] = []
        self._not_numbers: dict[str, str] = {}
        self._failures: list[Failure] = []
        self._keys: dict[str, None] = {}
        self._rewards: dict[str, None] = {}
        self._content: dict[tuple[str | None, TaskId], str] = {}
        self._ruler: Counter[tuple[str, str, str]] = Counter()
        self._of_tasks: set[tuple[str, str, str]] = set()
        self.notes: list[str] = []
        self.versioned = self.positional = False

    @property
    def graded(self) -> tuple[str, ...]:
        """The names of the scores so far."""
        return tuple(self._scores)

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, rollout: Rollout) -> None:
        """Add one rollout."""
        row, record, fields = len(self._rows), rollout.record, self._fields
        grades = rollout.scores if rollout.rewards is None else rollout.rewards
        self._rewards.update(dict.fromkeys(grades))
        scores = dict(rollout.scores)
        for name, path in self._paths.items():
            scores[name] = scores[path] if path in scores else lookup(record, path)
        numbers = {name for name, value in scores.items() if self._add_score(name, value, rollout)}
        graded = not numbers.isdisjoint({"reward", *grades})
        for name, amount in rollout.usage.items():
            column = self._usage[name]
            # what a failed call is said to cost or to have read was not measured
            if math.isfinite(amount) and (graded or amount):
                column[row] = float(amount)
                if isinstance(amount, float):
                    self._fractional.add(name)
        kind, message = rollout.error or ("", "")
        message = shortened(" ".join(message.split()), _SHOWN)
        if rollout.error is not None:
            self._failures.append(Failure(row, kind, message, graded))
        task = self._of(rollout, fields.task, "task", rollout.task, (int, str))
        sample = self._of(rollout, fields.sample, "sample", rollout.sample, (int, type(None)))
        agent = self._of(rollout, fields.agent, "agent", rollout.agent, (str, type(None)))
        self._identify(rollout, (agent, task))
        started = math.nan if rollout.started is None else rollout.started
        labels = [self._label(rollout, name) for name in self._request.categories]
        self._rows.append((task, sample, agent, started, rollout.name, labels))
        self._keys.update(dict.fromkeys(record))
        if self._request.whole:
            failed = rollout.error is not None and not isinstance(rollout.error, Ungraded)
            mark = {MARK: {"failed": [kind, message or kind]}} if failed and not graded else {}
            self._records.append({**record, **mark} if mark else record)

    def measured(
        self, name: str, scores: Iterable[str], settings: Mapping[str, Any], own: str = ""
    ) -> None:
        """Add what scored; a value that tasks have of their own counts where most have it."""
        entries = [(name, "scores", score) for score in scores]
        for key, value in flat("", settings):
            text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
            entries.append((name, key, text))
            if own and key.partition(" ")[0] == own:
                self._of_tasks.add(entries[-1])
        self._ruler.update(entries)

    def _measuring(self) -> Iterator[tuple[str, str, str]]:
        for entry, count in self._ruler.items():
            if entry not in self._of_tasks or 2 * count > len(self._rows):
                yield entry
            if entry[1] == "scores":  # what ``fields:`` takes from it, or from who knows where
                for name, path in self._paths.items():
                    if path == entry[2] or path not in self._scores:
                        yield entry[0], "scores", name

    def _identify(self, rollout: Rollout, key: tuple[str | None, TaskId]) -> None:
        content, paths = rollout.content, self._fields.content
        if paths is not None:
            parts = [lookup(rollout.record, path) for path in paths]
            content = parts if any(part is not None for part in parts) else None
        if content is None:
            return
        hashed = content_hash(content)
        before = self._content.setdefault(key, hashed)
        if before != hashed and self.versioned:
            self._content[key] = join_versions(before, hashed)
        elif before != hashed:
            raise DataError(
                f"the task {key[1]!r} has rollouts of different questions",
                file=rollout.name,
                hint="was the data set changed in the middle of the run? name what tells its tasks "
                "apart: `fields: {task: KEY}` under rollouts",
            )

    def _add_score(self, name: str, value: Any, rollout: Rollout) -> bool:
        column = self._scores.setdefault(name, {})
        if value is None:
            return False
        amount = number(value)
        if amount is None:
            if name in self._needed:
                raise DataError(
                    f"the score {name!r} is {shown_json(value, _SHOWN)}; expected a number, true, "
                    "false or null",
                    file=rollout.name,
                    hint="name what holds a number: `reward: NAME`, or `fields: {reward: PATH}` "
                    "under rollouts",
                )
            self._not_numbers.setdefault(name, rollout.name)
            return False
        if not math.isfinite(amount):
            what = "NaN" if math.isnan(amount) else "infinite or too large"
            self._not_finite.append(NotFinite(name, what, len(self._rows) + 1))
            return False
        if isinstance(value, float):
            self._fractional.add(name)
        column[len(self._rows)] = amount
        return True

    def _of(
        self, rollout: Rollout, path: str | None, what: str, given: Any, kinds: tuple[type, ...]
    ) -> Any:
        value = given if path is None else lookup(rollout.record, path)
        if type(value) not in kinds or (type(value) is int and what == "sample" and value < 0):
            key = "" if path is None else f", which {path!r} is to hold,"
            raise DataError(
                f"the {what}{key} is {shown_json(value, _SHOWN)}",
                file=rollout.name,
                hint=f"say which key holds it, under rollouts: `fields: {{{what}: KEY}}`",
            )
        return value

    def _label(self, rollout: Rollout, name: str) -> str | None:
        value = lookup(rollout.record, name)
        if isinstance(value, dict | list):
            raise DataError(
                f"{name!r} is {shown_json(value, _SHOWN)}; expected text, a number or a boolean",
                file=rollout.name,
                hint=f"name what holds a single value, such as {name}.KEY",
            )
        return value if value is None or isinstance(value, str) else json.dumps(value)

    def chunk(self) -> Chunk:
        """Make columns of what was added."""
        rows = len(self._rows)
        task, sample, agent, started, names, labels = zip(*self._rows, strict=True)
        by_category = zip(self._request.categories, zip(*labels, strict=True), strict=True)

        def column(values: Mapping[int, float]) -> NDArray[np.float64]:
            made = np.full(rows, math.nan)
            made[list(values)] = list(values.values())
            return made

        return Chunk(
            places=np.arange(1, rows + 1),
            task=task,
            sample=sample,
            agent=agent,
            scores={name: column(values) for name, values in self._scores.items()},
            usage={name: column(values) for name, values in self._usage.items() if values},
            labels={n: v for n, v in by_category if any(x is not None for x in v)},
            fractional=frozenset(self._fractional),
            not_finite=self._not_finite,
            not_numbers=self._not_numbers,
            keys=tuple(self._keys),
            names=names,
            started=np.array(started, np.float64),
            failures=self._failures,
            notes=self.notes,
            rewards=tuple(self._rewards),
            records=self._records,
            content=self._content,
            versioned=self.versioned,
            positional=self.positional and self._fields.task is None,
            ruler=tuple(self._measuring()),
        )


class Document:
    """One JSON object of which only what is asked for is decoded."""

    def __init__(self, text: bytes, source: Source, what: str) -> None:
        self._source = source
        self._what = what
        try:
            self._parts: dict[str, Any] = dict(_parts.decode(text))
        except (msgspec.DecodeError, RecursionError):  # NaN, or the standard library says why
            self._parts = _parsed(text, source, what)

    @classmethod
    def of(cls, source: Source, what: str) -> Document:
        """Read the object that fills a file."""
        source.must_be_text()
        with source.open() as stream:
            return cls(stream.read(), source, what)

    @property
    def keys(self) -> tuple[str, ...]:
        """The object's keys."""
        return tuple(self._parts)

    def get(self, key: str) -> Any:
        """Decode what stands under a key; None where there is nothing."""
        return _decoded(self._parts.get(key))

    def object(self, key: str) -> dict[str, Any]:
        """Decode an object; an empty one where there is none."""
        value = self.get(key)
        return {} if value is None else self._expect(dict, value, repr(key), "an object")

    def items(self, key: str) -> Iterator[dict[str, Any]]:
        """Decode the objects of a list one by one; none where there is no list."""
        value = self._parts.get(key)
        if isinstance(value, msgspec.Raw):
            try:
                value = _items.decode(value)
            except msgspec.DecodeError:
                value = _decoded(value)
        items = self._expect(list, [] if value is None else value, repr(key), "a list")
        for at, each in enumerate(items):
            yield self._expect(dict, _decoded(each), f"{key}[{at}]", "an object")

    def _expect(self, kind: type, value: Any, name: str, expected: str) -> Any:
        if isinstance(value, kind):
            return value
        raise self._source.error(
            f"this looks like {self._what}, and {name} is {short(json.dumps(value))}; expected "
            f"{expected}",
            hint="was it written by another version of the tool, or changed since?",
        )


def _decoded(value: Any) -> Any:
    return msgspec.json.decode(value) if isinstance(value, msgspec.Raw) else value


def rows_of(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    """Go through the rows of JSON Lines or of a JSON array, with their places."""
    loader = (JsonArray if source.is_array else JsonLines)(Request(FieldMap()))
    for row in loader.texts(source):
        yield row.place, decode_row(row, source)


def _parsed(text: bytes, source: Source, what: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except UnicodeDecodeError as error:
        raise source.error(
            f"this is not UTF-8 text: found the byte 0x{text[error.start]:02x}",
            line=text.count(b"\n", 0, error.start) + 1,
            hint="save the file as UTF-8",
        ) from error
    except json.JSONDecodeError as error:
        rest = error.doc[error.pos :].strip()
        if not rest or "Unterminated" in error.msg:
            raise source.error(
                f"this looks like {what}, and the file ends in the middle of it",
                line=error.lineno,
                hint="was the run, its copy or its download interrupted?",
            ) from error
        raise source.error(
            f"this looks like {what}, and is no JSON: {error.msg.removesuffix(' at')} at column "
            f"{error.colno}, near {short(rest)}",
            line=error.lineno,
            hint="was it changed by hand, or written by two processes at once?",
        ) from error
    except RecursionError as error:
        raise source.error(f"this {what} is nested too deeply to be read") from error
    if not isinstance(value, dict):
        raise source.error(f"this is no {what}: it is no JSON object")
    return value


class ToolLoader:
    """Base of a tool's loader: a file's rollouts become one chunk."""

    def __init__(self, request: Request) -> None:
        self._request = request

    def read(self, source: Source) -> Iterator[Chunk]:
        """Read one file."""
        builder = ChunkBuilder(self._request)
        self._fill(builder, source)
        if len(builder):
            yield builder.chunk()

    def _fill(self, builder: ChunkBuilder, source: Source) -> None:
        raise NotImplementedError


def document_beside(source: Source, name: str, what: str) -> Document | None:
    """Read the object in another file of the same folder; None where there is none."""
    path = source.path.with_name(name)
    if not path.is_file():
        return None
    shown = f"{source.shown.rpartition('/')[0]}/{name}".lstrip("/")
    return Document.of(open_source(RolloutFile(path, shown)), what)
