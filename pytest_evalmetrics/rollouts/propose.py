"""How to read a file that nobody has described: its shape, and what its fields are."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.layout import many
from pytest_evalmetrics.records import record
from pytest_evalmetrics.rollouts.recorded import records
from pytest_evalmetrics.rollouts.shape import PlacedRow, documents
from pytest_evalmetrics.rollouts.source import find_files, open_source
from pytest_evalmetrics.spec import FieldMap, RolloutsSpec
from pytest_evalmetrics.spec.sources import PivotSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

# as evaluation tools and data sets name them, the most telling first
_TASK: Final = (
    *("task_id", "task", "task_index", "problem_id", "question_id", "instance_id", "example_id"),
    *("doc_id", "item_id", "case_id", "test_id", "sample_id", "qid", "uid", "id", "index", "idx"),
)
_QUESTION: Final = (
    *("question", "prompt", "problem", "instruction", "query", "input", "inputs", "case", "name"),
)
_SAMPLE: Final = (
    *("sample", "sample_index", "sample_id", "attempt", "trial", "epoch", "repeat", "repetition"),
    *("rollout", "rollout_index", "run", "seed", "try"),
)
_AGENT: Final = ("model", "agent", "model_name", "agent_name", "model_id", "system", "engine")
REWARDS: Final = (
    *("reward", "score", "resolved", "correct", "is_correct", "passed", "pass", "success"),
    *("solved", "accuracy", "acc", "exact_match", "grade", "rating", "f1", "win"),
    *("verdict", "result", "outcome", "status", "judgement", "judgment", "label", "value"),
)
_WORDS: Final[dict[str, float | None]] = {
    **dict.fromkeys(("pass", "passed", "correct", "true", "yes", "success", "succeeded"), 1.0),
    **dict.fromkeys(("resolved", "solved", "right", "win", "won", "ok", "good", "c"), 1.0),
    **dict.fromkeys(("fail", "failed", "failure", "incorrect", "wrong", "false", "no"), 0.0),
    **dict.fromkeys(("unresolved", "unsolved", "loss", "lose", "lost", "bad", "i"), 0.0),
    **dict.fromkeys(("tie", "draw", "partial", "partially correct", "p"), 0.5),
    **dict.fromkeys(("error", "errored", "timeout", "skipped", "invalid", "n/a", "na", ""), None),
    **dict.fromkeys(("incomplete", "missing"), None),
}
_ROWS: Final = 1000  # that are looked at
_DEPTH: Final = 3  # of the keys that are looked at
_LONG: Final = 5  # least entries of an object of bare numbers that is taken for tasks
_LISTED: Final = 10  # different whole numbers that may be a reward; more are identifiers
_FEW: Final = 20  # different values of an agent, or of a metric's name
_TIMES: Final = 9e8  # seconds since 1970 are larger
_names_no_reward: Final = re.compile(
    r"(^|[_.\s-])(id|ids|index|idx|seed|epoch|attempt|trial|repeat|sample|step|line|row|rank|number|"
    r"num|count|tokens|length|size|bytes|turns|time|times|timestamp|date|created|started|ended|at|"
    r"duration|latency|seconds|secs|ms|s|cost|usd|price|version|year)$",
    re.IGNORECASE,
).search


@record
class Proposal:
    """How rollouts may be read, and why."""

    spec: RolloutsSpec
    reasons: tuple[str, ...] = ()  # one line each, with a second choice where there is one


class _Columns:
    """The values of rows by their paths; None where a row has none."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self.rows = len(rows)
        self.values: dict[str, list[Any]] = {}
        for number, row in enumerate(rows):
            for path, value in _flattened(row):
                self.values.setdefault(path, [None] * len(rows))[number] = value

    def kept(self, fits: Callable[[Any], bool]) -> dict[str, list[Any]]:
        """Keep the columns whose values all fit, where they have one."""
        return {
            path: column
            for path, column in self.values.items()
            if (given := [v for v in column if v is not None]) and all(map(fits, given))
        }


def _flattened(
    row: Mapping[str, Any], above: str = "", depth: int = 1
) -> Iterator[tuple[str, Any]]:
    """Go through the values of a row by their paths, those at the top first."""
    inner = []
    for key, value in row.items():
        if isinstance(value, dict):
            inner.append((f"{above}{key}.", value))
        elif "." not in key:
            yield above + key, value
    for path, value in inner if depth < _DEPTH else ():
        yield from _flattened(value, path, depth + 1)


def propose(pattern: str, base: Path) -> Proposal | None:
    """Propose how to read files whose format is not known; None where nothing looks like a row.

    The first file is read: where its rows are, then which field of them is the task, the sample,
    the agent, the reward and the question, by their names and by what their values are like.
    """
    best: tuple[tuple[bool, bool, int], Proposal] | None = None
    for shape, reasons in _shapes_of(pattern, base):
        spec = RolloutsSpec(path=(pattern,), **shape)
        try:
            rows = [row for _, row in islice(records(spec, base), _ROWS)]
        except EvalMetricsError:
            continue
        if not rows:
            continue
        proposal, worth = _roles(spec, _Columns(rows), reasons)
        if best is None or worth > best[0]:
            best = worth, proposal
    return None if best is None else best[1]


# -- where the rows are ----------------------------------------------------------------------


def _shapes_of(pattern: str, base: Path) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """Go through the shapes that the first file may have, each with its reason."""
    first = next(iter(documents(open_source(find_files((pattern,), base)[0]))), None)
    yield {}, []
    if isinstance(first, PlacedRow):
        yield from _shapes(first.value)
    elif first is not None:
        yield from _lists_inside(first, "")


def _shapes(value: Mapping[str, Any], path: str = "", depth: int = 1) -> Iterator[Any]:
    lists = _rewards_of_lists(value) if not path else {}
    if lists:
        yield {"lists": lists}, [f"lists of ids: {', '.join(lists)}, by their names"]
    what = _keyed(list(value.values()))
    if what:
        where = f"in {path!r}" if path else "at the top"
        at = {"rows": path} if path else {}
        yield {**at, "keyed": "id"}, [f"rows: the {len(value)} {what} {where}, by their keys"]
    for key, each in value.items():
        if "." in key:
            continue
        below = f"{path}.{key}" if path else key
        if _is_objects(each):
            yield {"rows": below}, [f"rows: the {many(len(each), 'object')} of the list {below!r}"]
            yield from _lists_inside(each, f"{below}.")
        elif isinstance(each, list) and each and isinstance(value.get("columns"), list):
            yield {"rows": below}, [f"rows: the {many(len(each), 'line')} of the table {below!r}"]
        elif isinstance(each, dict) and depth < _DEPTH:
            yield from _shapes(each, below, depth + 1)


def _keyed(inner: Sequence[Any]) -> str:
    """Name the values of an object whose keys may be ids; empty if they may not."""
    if len(inner) > 1 and all(isinstance(each, dict) for each in inner):
        return "objects" if set.intersection(*(set(each) for each in inner)) else ""
    if len(inner) > 1 and all(_is_objects(each) for each in inner):
        return "lists"
    return "numbers" if len(inner) >= _LONG and all(map(_is_number, inner)) else ""


def _lists_inside(rows: Sequence[Any], above: str) -> Iterator[Any]:
    """Find lists of objects in the objects of a list: the attempts at each task, say."""
    first = rows[0] if rows and isinstance(rows[0], dict) else {}
    for key in first:
        if "." not in key and all(_is_objects(row.get(key)) for row in rows[:_ROWS]):
            path = f"{above}*.{key}"
            yield {"rows": path}, [f"rows: the objects of the lists at {path!r}"]


def _is_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(x, dict) for x in value)


def _rewards_of_lists(value: Mapping[str, Any]) -> dict[str, float | None]:
    """Give the tasks of ``resolved_ids`` and the like their rewards."""
    rewards: dict[str, float | None] = {}
    for name, ids in value.items():
        word = name.removesuffix("_ids").replace("_", " ").lower()
        is_known = word in _WORDS or word.startswith("empty")
        if is_known and isinstance(ids, list) and all(type(each) in (int, str) for each in ids):
            rewards[name] = _WORDS.get(word, 0.0)
    return rewards if {0.0, 1.0} <= set(rewards.values()) else {}


# -- what the fields are ---------------------------------------------------------------------


def _roles(
    spec: RolloutsSpec, columns: _Columns, reasons: Sequence[str]
) -> tuple[Proposal, tuple[bool, bool, int]]:
    """Choose the fields of rows, and say how good that is: a reward, a task, how many rows."""
    lines = list(reasons)
    if spec.lists:
        return Proposal(spec, tuple(lines)), (True, True, columns.rows)
    pivot = _pivot(columns)
    if pivot is not None:
        names = Counter(columns.values[pivot.name]).most_common()
        lines.append(f"each line is one score: {pivot.name!r} has {len(names)} names")
        first = str(names[0][0])
        lines.append(f"reward: {first}" + (f"; or {names[1][0]}" if names[1:] else ""))
        spec = replace(spec, pivot=pivot, fields=FieldMap(task=pivot.by[0], reward=first))
        return Proposal(spec, tuple(lines)), (True, True, columns.rows)
    task = spec.keyed or _task(columns, lines)
    sample = None if task is None else _sample(columns, task, lines)
    agent = _named(columns.kept(lambda v: isinstance(v, str)), _AGENT)
    if agent is not None and len(set(columns.values[agent])) > _FEW:
        agent = None
    reward, words = _reward(columns, {task, sample, agent}, lines)
    question = _named(columns.values, tuple(q for q in _QUESTION if q not in ("name", "case")))
    at_top = reward is not None and "." not in reward and not words
    fields = FieldMap(
        task=None if spec.keyed is not None else task,
        sample=sample,
        agent=agent,
        reward=None if at_top and spec.keyed is None else reward,
        content=(question,) if question not in (None, task) else None,
    )
    if agent is not None:
        lines.append(f"agent: {agent}, by its name")
    spec = replace(spec, fields=fields, map={"reward": words} if words else {})
    return Proposal(spec, tuple(lines)), (reward is not None, task is not None, columns.rows)


def _ranked(paths: Iterable[str], names: Sequence[str]) -> list[str]:
    """Find the paths that end in one of the names, the most telling name first."""
    last = {path: path.rpartition(".")[2].lower() for path in paths}
    return [path for name in names for path in last if last[path] == name]


def _named(paths: Iterable[str], names: Sequence[str]) -> str | None:
    return next(iter(_ranked(paths, names)), None)


def _evenly(column: Sequence[Any]) -> bool:
    """Check whether each value occurs several times, and all equally often."""
    counts = set(Counter(map(str, column)).values())
    return len(counts) == 1 and counts.pop() > 1


def _task(columns: _Columns, lines: list[str]) -> str | None:
    filled = {
        path: column
        for path, column in columns.kept(_is_id).items()
        if None not in column and (len(set(map(str, column))) > 1 or columns.rows == 1)
    }
    different = {path: len(set(map(str, column))) for path, column in filled.items()}
    ids = _ranked(filled, _TASK)
    ids += [path for path in filled if path not in ids and re.search(r"(_id|Id|ID)$", path)]
    paths = ids + _ranked(filled, _QUESTION)
    if not paths:  # the first text of its own, or that comes back
        texts = [path for path, column in filled.items() if isinstance(column[0], str)]
        paths = [p for p in texts if different[p] == columns.rows or _evenly(filled[p])]
    if not paths:
        return None
    # an id of its own for each row says less than a question that comes back
    if _ranked(paths[:1], ("id", "uid", "index", "idx")) and different[paths[0]] == columns.rows:
        again = [path for path in paths[1:] if _evenly(filled[path])][:1]
        paths = [*again, *(path for path in paths if path not in again)]
    task, *others = paths
    why = f"{many(different[task], 'value')} in {many(columns.rows, 'row')}"
    lines.append(f"task: {task}, {why}" + (f"; or {others[0]}" if others else ""))
    return task


def _sample(columns: _Columns, task: str, lines: list[str]) -> str | None:
    if task not in columns.values:
        return None
    tasks = list(map(str, columns.values[task]))

    def numbers(column: Sequence[Any]) -> bool:
        texts = list(map(str, column))
        pairs = set(zip(tasks, texts, strict=True))
        return all(text.isdecimal() for text in texts) and len(pairs) == columns.rows

    fitting = [p for p, column in columns.values.items() if p != task and numbers(column)]
    sample = _named(fitting, _SAMPLE)
    if sample is None and len(set(tasks)) < columns.rows:
        most = max(Counter(tasks).values())
        ranges = ({str(n) for n in range(most)}, {str(n) for n in range(1, most + 1)})
        sample = next((p for p in fitting if set(map(str, columns.values[p])) in ranges), None)
    if sample is not None:
        lines.append(f"sample: {sample}, which tells the rows of a task apart")
    return sample


def _is_id(value: Any) -> bool:
    return type(value) in (int, str)


def _is_number(value: Any) -> bool:
    if isinstance(value, str):  # a cell of a CSV file
        return bool(re.fullmatch(r"\s*(-?\d+(\.\d*)?|true|false)\s*", value, re.IGNORECASE))
    return isinstance(value, int | float)


def _reward(
    columns: _Columns, taken: set[str | None], lines: list[str]
) -> tuple[str | None, dict[str, float | None]]:
    """Find the reward, and what its words mean where it is no number."""
    numbers = {
        path: column
        for path, column in columns.kept(_is_number).items()
        if may_be_reward(path, [value for value in column if value is not None])
    }
    words = {
        path: column
        for path, column in columns.kept(lambda v: _word(v) in _WORDS).items()
        if path not in numbers and {0.0, 1.0} & {_WORDS[_word(v)] for v in column if v is not None}
    }
    paths = [path for path in (*numbers, *words) if path not in taken]
    named = _ranked(paths, REWARDS)
    paths = [*named, *(path for path in paths if path not in named)]
    if not paths:
        return None, {}
    reward, *others = paths
    why = "by its name" if named else "by its values"
    lines.append(f"reward: {reward}, {why}" + (f"; or {', '.join(others[:2])}" if others else ""))
    if reward in numbers:
        return reward, {}
    texts = dict.fromkeys(str(value) for value in words[reward] if value is not None)
    return reward, {text: _WORDS[_word(text)] for text in texts}


def _word(value: Any) -> str:
    return value.strip().lower() if isinstance(value, str) else "no word"


def may_be_reward(name: str, values: Sequence[Any]) -> bool:
    """Return whether numbers may be a reward: no identifiers, times, counts or costs."""
    if _names_no_reward(name) or any(isinstance(v, int | float) and v > _TIMES for v in values):
        return False
    different = len(values) > _LISTED and len(set(values)) == len(values)
    return not (different and all(type(value) is int for value in values))  # as identifiers are


def _pivot(columns: _Columns) -> PivotSpec | None:
    """Propose to pivot rows that are each one score of a task, with its name."""
    texts = columns.kept(lambda v: isinstance(v, str))
    name = _named(texts, ("metric", "metric_name", "scorer", "evaluator", "score_name", "name"))
    value = _named(columns.kept(_is_number), ("value", "score"))
    if name is None or value is None or None in texts[name]:
        return None
    names = texts[name]
    if not 1 < len(set(names)) <= _FEW or not _evenly(names):
        return None
    for by, column in columns.kept(_is_id).items():
        ids = list(map(str, column))
        is_full = len(set(ids)) * len(set(names)) == columns.rows
        once = len(set(zip(ids, names, strict=True))) == columns.rows
        if by not in (name, value) and is_full and once and len(set(ids)) > 1:
            return PivotSpec(by=(by,), name=name, value=value)
    return None
