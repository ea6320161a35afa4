"""Guesses how to read an unknown file: its shape, and the meaning of its fields."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, replace
from itertools import compress, islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.rollouts.direction_hint import should_be_low
from pytest_evalmetrics.rollouts.recorded import records
from pytest_evalmetrics.rollouts.shape import PlacedRow, documents
from pytest_evalmetrics.rollouts.source import find_files, open_source
from pytest_evalmetrics.spec.sources import FieldMap, PivotSpec, RolloutsSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    Columns: TypeAlias = Mapping[
        str, Sequence[Any]
    ]  # values by path; None if a row has none

# as evaluation tools and data sets name them, the most telling first
_TASK: Final = (
    *(
        "task_id",
        "task",
        "task_index",
        "problem_id",
        "question_id",
        "instance_id",
        "example_id",
    ),
    *(
        "doc_id",
        "item_id",
        "case_id",
        "test_id",
        "sample_id",
        "qid",
        "uid",
        "id",
        "index",
        "idx",
    ),
)
_ROW_IDS: Final = ("id", "uid", "index", "idx")  # may number rows instead of tasks
_QUESTION: Final = (
    "question",
    "prompt",
    "problem",
    "instruction",
    "query",
    "input",
    "inputs",
)
_SAMPLE: Final = (
    *(
        "sample",
        "sample_index",
        "sample_id",
        "attempt",
        "trial",
        "epoch",
        "repeat",
        "repetition",
    ),
    *("rollout", "rollout_index", "run", "seed", "try"),
)
_AGENT: Final = (
    "model",
    "agent",
    "model_name",
    "agent_name",
    "model_id",
    "system",
    "engine",
)
_METRIC: Final = ("metric", "metric_name", "scorer", "evaluator", "score_name", "name")
REWARDS: Final = (
    *(
        "reward",
        "score",
        "resolved",
        "correct",
        "is_correct",
        "passed",
        "pass",
        "success",
    ),
    *("solved", "accuracy", "acc", "exact_match", "grade", "rating", "f1", "win"),
    *(
        "verdict",
        "result",
        "outcome",
        "status",
        "judgement",
        "judgment",
        "label",
        "value",
    ),
)
_WORDS: Final[dict[str, float | None]] = {
    **dict.fromkeys(
        ("pass", "passed", "correct", "true", "yes", "success", "succeeded"), 1
    ),
    **dict.fromkeys(
        ("resolved", "solved", "right", "win", "won", "ok", "good", "c"), 1
    ),
    **dict.fromkeys(
        ("fail", "failed", "failure", "incorrect", "wrong", "false", "no"), 0
    ),
    **dict.fromkeys(("unresolved", "unsolved", "loss", "lose", "lost", "bad", "i"), 0),
    **dict.fromkeys(("tie", "draw", "partial", "partially correct", "p"), 0.5),
    **dict.fromkeys(
        ("error", "errored", "timeout", "skipped", "invalid", "n/a", "na", ""), None
    ),
    **dict.fromkeys(("incomplete", "missing"), None),
}
_ROWS: Final = 1000  # examined
_DEPTH: Final = 3  # of the examined keys
_LONG: Final = 5  # least entries of an object of bare numbers that is taken for tasks
_LISTED: Final = (
    10  # different whole numbers that may be a reward; more are identifiers
)
_FEW: Final = 20  # different values of an agent, or of a metric's name
_TIMES: Final = 9e8  # seconds since 1970 are larger
_names_no_reward: Final = re.compile(
    r"(^|[_.\s-])(id|ids|index|idx|seed|epoch|attempt|trial|repeat|sample|step|line|row|rank|number|"
    r"num|count|tokens|length|size|bytes|turns|time|times|timestamp|date|created|started|ended|at|"
    r"duration|latency|seconds|secs|ms|s|cost|usd|price|version|year)$",
    re.IGNORECASE,
).search
_is_numeric_cell = re.compile(
    r"\s*(-?\d+(\.\d*)?|true|false)\s*", re.IGNORECASE
).fullmatch


class Proposal(msgspec.Struct, frozen=True):
    """A proposed way to read rollouts, with its reasons."""

    spec: RolloutsSpec
    reasons: tuple[str, ...] = ()  # one line each, with a second choice if there is one
    worth: tuple[bool, bool, int] = (
        False,
        False,
        0,
    )  # has a reward, has a task, its rows
    reward: str | None = (
        None  # the path of the likeliest one, also where `spec` does not name it
    )

    @property
    def keys(self) -> dict[str, Any]:
        """The keys of ``rollouts:`` for this proposal, without its path."""
        keys = asdict(self.spec)
        keys["fields"] = {name: path for name, path in keys["fields"].items() if path}
        if self.spec.pivot:
            keys["pivot"]["by"] = self.spec.pivot.by[0]
        names = ("rows", "keyed", "lists", "pivot", "fields", "map")
        return {name: keys[name] for name in names if keys[name]}


def propose(pattern: str, base: Path) -> Proposal | None:
    """Propose how to read files of an unknown format; None if nothing looks like a row."""
    first = next(iter(documents(open_source(find_files((pattern,), base)[0]))), None)
    proposals = []
    for shape, reason in _shapes(first):
        spec = RolloutsSpec(path=(pattern,), **shape)
        with suppress(EvalMetricsError):
            rows = [row for _, row in islice(records(spec, base), _ROWS)]
            proposals += (
                [_proposal(spec, rows, [reason] if reason else [])] if rows else []
            )
    return max(proposals, key=lambda proposal: proposal.worth, default=None)


# -- where the rows are ----------------------------------------------------------------------


def _shapes(
    first: PlacedRow | list[Any] | None,
) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the shapes that a file may have, each with its reason."""
    yield {}, ""
    if isinstance(first, PlacedRow):
        if lists := _rewards_of_lists(first.value):
            yield {"lists": lists}, f"lists of ids: {', '.join(lists)}, by their names"
        yield from _shapes_of_object(first.value)
    elif first is not None:
        yield from _lists_inside(first, "")


def _shapes_of_object(
    value: Mapping[str, Any], path: str = "", depth: int = 1
) -> Iterator[Any]:
    if _are_runs(list(value.values())):
        keyed = "id" if isinstance(next(iter(value.values())), dict) else None
        runs = {"rows": f"{path}.*" if path else "*", "keyed": keyed}
        yield runs, f"rows: the runs of {', '.join(value)}, which share tasks"
    if kind := _keyed(list(value.values())):
        where = f"in {path!r}" if path else "at the top"
        shape = {"rows": path or None, "keyed": "id"}
        yield shape, f"rows: the {len(value)} {kind} {where}, by their keys"
    for key, each in value.items():
        if "." in key:
            continue
        below = f"{path}.{key}" if path else key
        if _is_objects(each):
            yield (
                {"rows": below},
                f"rows: the {many(len(each), 'object')} of the list {below!r}",
            )
            yield from _lists_inside(each, f"{below}.")
        elif isinstance(each, list) and each and isinstance(value.get("columns"), list):
            yield (
                {"rows": below},
                f"rows: the {many(len(each), 'line')} of the table {below!r}",
            )
        elif isinstance(each, dict) and depth < _DEPTH:
            yield from _shapes_of_object(each, below, depth + 1)


def _keyed(inner: Sequence[Any]) -> str:
    """Return the kind of values of an object whose keys may be ids; empty if they may not."""
    if len(inner) > 1 and all(isinstance(each, dict) for each in inner):
        return "objects" if set.intersection(*map(set, inner)) else ""
    if len(inner) > 1 and all(map(_is_objects, inner)):
        return "lists"
    return "numbers" if len(inner) >= _LONG and all(map(_is_number, inner)) else ""


def _are_runs(values: Sequence[Any]) -> bool:
    """Check whether values are runs of several agents: lists or objects with the same tasks."""
    ids = (
        [_ids_in(value) for value in values]
        if 1 < len(values) <= _FEW
        else [set[str]()]
    )
    shared, most = len(set.intersection(*ids)), max(map(len, ids))
    return all(ids) and most >= len(values) and 2 * shared >= most


def _ids_in(value: Any) -> set[str]:
    """Return the ids of the tasks in a list or an object; empty if they are unknown."""
    if isinstance(value, dict):
        is_keyed = _keyed(list(value.values())) and not by_name(value, REWARDS)
        return set(value) if is_keyed else set()
    key = next(iter(by_name(value[0], _TASK)), None) if _is_objects(value) else None
    return {str(row.get(key)) for row in value} if key else set()


def _lists_inside(rows: Sequence[Any], above: str) -> Iterator[Any]:
    """Find lists of objects inside the objects of a list, such as the attempts at each task."""
    for key in rows[0] if rows and isinstance(rows[0], dict) else ():
        if "." not in key and all(_is_objects(row.get(key)) for row in rows[:_ROWS]):
            path = f"{above}*.{key}"
            yield {"rows": path}, f"rows: the objects of the lists at {path!r}"


def _is_objects(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(x, dict) for x in value)
    )


def _rewards_of_lists(value: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the rewards that lists of ids such as ``resolved_ids`` stand for."""
    rewards: dict[str, float | None] = {}
    for name, ids in value.items():
        word = name.removesuffix("_ids").replace("_", " ").lower()
        is_known = word in _WORDS or word.startswith("empty")
        if is_known and isinstance(ids, list) and all(map(_is_id, ids)):
            rewards[name] = _WORDS.get(word, 0)
    return rewards if {0, 1} <= set(rewards.values()) else {}


# -- what the fields are ---------------------------------------------------------------------


def _proposal(
    spec: RolloutsSpec, rows: Sequence[Mapping[str, Any]], lines: list[str]
) -> Proposal:
    """Choose the fields of rows."""
    columns: dict[str, list[Any]] = {}
    for number, row in enumerate(rows):
        for path, value in _flattened(row):
            columns.setdefault(path, [None] * len(rows))[number] = value
    pivot = None if spec.lists else _pivot(columns)
    if pivot is not None:
        names = [str(name) for name, _ in Counter(columns[pivot.name]).most_common()]
        lines.append(f"each line is one score: {pivot.name!r} has {len(names)} names")
        lines.append(_reason("reward", names[:2]))
        of_first = [name == names[0] for name in columns[pivot.name]]
        task = _task(
            {path: [*compress(c, of_first)] for path, c in columns.items()}, lines
        )
        task = task or pivot.by[0]
        task = task if task == pivot.by[0] else f"_line.{task}"
        spec = replace(spec, pivot=pivot, fields=FieldMap(task=task, reward=names[0]))
    if spec.lists or pivot is not None:
        return Proposal(spec, tuple(lines), (True, True, len(rows)))
    task = spec.keyed or _task(columns, lines)
    sample = None if task is None else _sample(columns, task, lines)
    agents = by_name(_fitting(columns, lambda v: isinstance(v, str)), _AGENT)[:1]
    agent = next((path for path in agents if _distinct(columns[path]) <= _FEW), None)
    why = "by its name"
    if spec.rows and spec.rows.endswith("*") and "_parent._key" in columns:
        agent, why = "_parent._key", "the name of the run"
    reward, words = _reward(columns, {task, sample, agent}, lines)
    question = next(iter(by_name(columns, _QUESTION)), None)
    is_default = (
        reward is not None and "." not in reward and not words and spec.keyed is None
    )
    fields = FieldMap(
        task=None if spec.keyed else task,
        sample=sample,
        agent=agent,
        reward=None if is_default else reward,
        content=None if question in (None, task) else (question,),
    )
    lines += [_reason("agent", [agent], why)] if agent else []
    spec = replace(spec, fields=fields, map={"reward": words} if words else {})
    worth = (reward is not None, task is not None, len(rows))
    return Proposal(spec, tuple(lines), worth, reward)


def _flattened(
    row: Mapping[str, Any], above: str = "", depth: int = 1
) -> Iterator[tuple[str, Any]]:
    """Yield the values of a row by their paths, those at the top first."""
    inner = []
    for key, value in row.items():
        if isinstance(value, dict):
            inner.append((f"{above}{key}.", value))
        elif "." not in key:
            yield above + key, value
    for path, value in inner if depth < _DEPTH else ():
        yield from _flattened(value, path, depth + 1)


def _fitting(columns: Columns, fits: Callable[[Any], bool]) -> Columns:
    """Keep the columns that have values, all of which fit."""
    given = {
        path: [v for v in column if v is not None] for path, column in columns.items()
    }
    return {
        p: columns[p]
        for p, values in given.items()
        if values and all(map(fits, values))
    }


def by_name(paths: Iterable[str], names: Sequence[str]) -> list[str]:
    """Find the paths that end in one of the names, in the order of the names."""
    last = {path: re.split(r"[./]", path.lower())[-1] for path in paths}
    return [path for name in names for path in last if last[path] == name]


def _reason(role: str, choices: Sequence[str], why: str = "") -> str:
    others = f"; or {', '.join(choices[1:])}" if choices[1:] else ""
    return f"{role}: {choices[0]}{why and f', {why}'}{others}"


def _distinct(column: Iterable[Any]) -> int:
    return len(set(map(str, column)))


def _recurs(column: Sequence[Any]) -> bool:
    """Check whether each value occurs several times, and all equally often."""
    counts = set(Counter(map(str, column)).values())
    return len(counts) == 1 and counts.pop() > 1


def _task(columns: Columns, lines: list[str]) -> str | None:
    filled = {
        path: column
        for path, column in _fitting(columns, _is_id).items()
        if None not in column and (_distinct(column) > 1 or len(column) == 1)
    }
    paths = by_name(filled, _TASK)
    paths += [
        path for path in filled if path not in paths and re.search("(_id|Id|ID)$", path)
    ]
    paths += by_name(filled, (*_QUESTION, "case", "name"))
    own = {path for path, column in filled.items() if _distinct(column) == len(column)}
    again = {path for path, column in filled.items() if _recurs(column)}
    if not paths:  # the first text of its own, or that comes back
        paths = [
            p
            for p, column in filled.items()
            if p in own | again and type(column[0]) is str
        ]
    if not paths:
        return None
    # a question that recurs is a better task than an id that is unique to each row
    if by_name(paths[:1], _ROW_IDS) and paths[0] in own:
        paths = [
            *dict.fromkeys([*[path for path in paths if path in again][:1], *paths])
        ]
    column = filled[paths[0]]
    why = f"{many(_distinct(column), 'value')} in {many(len(column), 'row')}"
    lines.append(_reason("task", paths[:2], why))
    return paths[0]


def _sample(columns: Columns, task: str, lines: list[str]) -> str | None:
    for path in by_name(columns, _SAMPLE):
        texts = list(map(str, columns[path]))
        attempts = {
            (str(id_), text)
            for id_, text in zip(columns.get(task, ()), texts, strict=False)
        }
        if (
            path != task
            and len(attempts) == len(texts)
            and all(map(str.isdecimal, texts))
        ):
            lines.append(
                _reason("sample", [path], "which tells the rows of a task apart")
            )
            return path
    return None


def _is_id(value: Any) -> bool:
    return type(value) in (int, str)


def _is_number(value: Any) -> bool:
    if isinstance(value, str):  # a cell of a CSV file
        return bool(_is_numeric_cell(value))
    return isinstance(value, int | float)


def _reward(
    columns: Columns, taken: set[str | None], lines: list[str]
) -> tuple[str | None, dict[str, float | None]]:
    """Find the reward, not one that encloses all rows, and the numbers that its words mean."""
    numbers = [
        path
        for path, column in _fitting(columns, _is_number).items()
        if may_be_reward(path, column)
        and (path[:7] != "_parent" or _distinct(column) > 1)
    ]
    words = {
        path: {str(v): _worth(path, v) for v in column if v is not None}
        for path, column in _fitting(columns, lambda v: _word(v) in _WORDS).items()
        if path not in numbers
    }
    judged = [path for path, meanings in words.items() if {0, 1} & {*meanings.values()}]
    paths = [path for path in (*numbers, *judged) if path not in taken]
    named = by_name(paths, REWARDS)
    paths = [*dict.fromkeys([*named, *sorted(paths, key=should_be_low)])]
    if not paths:
        return None, {}
    lines.append(
        _reason("reward", paths[:3], "by its name" if named else "by its values")
    )
    return paths[0], words.get(paths[0], {})


def _worth(path: str, value: Any) -> float | None:
    """Return the reward that a word stands for; ``yes`` is 0 for a field such as `error`."""
    is_no = _word(value) in ("no", "false")
    turned = (is_no or _word(value) in ("yes", "true")) and should_be_low(path)
    return int(is_no) if turned else _WORDS[_word(value)]


def _word(value: Any) -> str:
    return value.strip().lower() if isinstance(value, str) else "no word"


def may_be_reward(name: str, column: Sequence[Any]) -> bool:
    """Return whether numbers may be a reward: no identifiers, times, counts or costs."""
    values = [value for value in column if value is not None]
    if _names_no_reward(name) or any(
        isinstance(v, int | float) and v > _TIMES for v in values
    ):
        return False
    different = len(values) > _LISTED and len(set(values)) == len(values)
    return not (
        different and all(type(value) is int for value in values)
    )  # as identifiers are


def _pivot(columns: Columns) -> PivotSpec | None:
    """Propose to pivot rows that are each one score of a task, with its name."""
    texts = _fitting(columns, lambda v: isinstance(v, str))
    name = next(iter(by_name(texts, _METRIC)), None)
    value = next(iter(by_name(_fitting(columns, _is_number), ("value", "score"))), None)
    if name is None or value is None or None in texts[name]:
        return None
    names = texts[name]
    if not 1 < len(set(names)) <= _FEW or not _recurs(names):
        return None
    for by, column in _fitting(columns, _is_id).items():
        ids = list(map(str, column))
        is_full = len(set(ids)) * len(set(names)) == len(names)
        once = len(set(zip(ids, names, strict=True))) == len(names)
        if by not in (name, value) and is_full and once and len(set(ids)) > 1:
            return PivotSpec(by=(by,), name=name, value=value)
    return None
