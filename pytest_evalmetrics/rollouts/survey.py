"""What recorded rollouts hold, and a benchmark file to start from."""

from __future__ import annotations

import glob
import json
import os
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.layout import many, visible
from pytest_evalmetrics.rollouts.files import RolloutFile
from pytest_evalmetrics.rollouts.foreign import usage
from pytest_evalmetrics.rollouts.formats import recognise
from pytest_evalmetrics.rollouts.harbor import is_trials_folder
from pytest_evalmetrics.rollouts.recorded import load, records
from pytest_evalmetrics.rollouts.source import open_source
from pytest_evalmetrics.spec import FieldMap, RolloutsSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import RolloutTable

# as evaluation tools and data sets name them, the most telling first
_TASK: Final = (
    "task_id",
    "task",
    "task_index",
    "problem_id",
    "question_id",
    "instance_id",
    "example_id",
    "doc_id",
    "item_id",
    "id",
)
_SAMPLE: Final = ("sample", "sample_index", "sample_id", "attempt", "trial", "epoch", "repeat")
_REWARDS: Final = (
    *("reward", "score", "resolved", "correct", "is_correct", "passed", "pass", "success"),
    *("solved", "accuracy", "acc", "exact_match", "grade", "rating", "f1", "win"),
)
_FILES: Final = ("jsonl", "jsonl.gz", "jsonl.zst", "json", "parquet", "csv", "eval")  # of a folder
_DEPTH: Final = 3  # of the keys that are looked at
_LISTED: Final = 10  # names on a line
_TIMES: Final = 9e8  # seconds since 1970 are larger
_USAGE: Final = frozenset(
    usage(
        latency_s=0,
        prompt_tokens=0,
        completion_tokens=0,
        cached_tokens=0,
        cost_usd=0,
    )
) | {"total_tokens"}
_names_no_reward = re.compile(
    r"(^|[_.\s-])(id|ids|index|idx|seed|epoch|attempt|trial|repeat|sample|step|line|row|rank|number|"
    r"num|count|tokens|length|size|bytes|turns|time|times|timestamp|date|created|started|ended|at|"
    r"duration|latency|seconds|secs|ms|s|cost|usd|price|version|year)$",
    re.IGNORECASE,
).search
_is_plain = re.compile(r"[A-Za-z_.][\w./-]*").fullmatch


def guessed_fields(spec: RolloutsSpec, base: Path) -> FieldMap | None:
    """Guess by the first row; None where no key looks like a task's id."""
    for _, first in records(spec, base):
        row = dict(_flattened(first))
        task = _first_of(_TASK, row, lambda value: type(value) in (int, str))
        if task is None:
            return None
        numbers = [key for key in row if _is_number(row[key]) and not _names_no_reward(key)]
        nested = not any("." not in key for key in numbers)  # numbers at the top are found anyway
        return FieldMap(
            task=task,
            sample=_first_of(_SAMPLE, row, lambda value: str(value).isdecimal()),
            reward=_first_of(_REWARDS, row, _is_number) if nested else None,
        )
    return None


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


def _first_of(
    names: tuple[str, ...], row: Mapping[str, Any], fits: Callable[[Any], bool]
) -> str | None:
    """Find the path that ends in the most telling name."""
    paths = [path for path, value in row.items() if fits(value)]
    last = {path: path.rpartition(".")[2] for path in paths}
    return next((path for name in names for path in paths if last[path] == name), None)


def _is_number(value: Any) -> bool:
    if isinstance(value, str):  # a cell of a CSV file
        return bool(re.fullmatch(r"\s*(-?\d+(\.\d*)?|true|false)\s*", value, re.IGNORECASE))
    return isinstance(value, int | float)


def survey(pattern: str, base: Path) -> str:
    """Read rollouts, and tell what was recognised, found and missing."""
    if (base / pattern).is_dir():
        pattern = _files_in(pattern, base)
    spec, table = _read_guessing(pattern, base)
    rewards = _rewards(table)
    reward = next(iter(rewards), None)
    lines = [
        *_source_lines(table, base),
        *_attempt_lines(table),
        *_score_lines(table, reward),
        *table.notes,
        "",
        f"# a benchmark file to start from, such as {_name(pattern)}.bench.yaml",
        *_benchmark(table, _place(pattern, spec.fields), pattern, rewards),
    ]
    # names and ids may hold anything, and no line of it is more than a line
    return "\n".join(map(visible, lines)) + "\n"


def _files_in(folder: str, base: Path) -> str:
    """Write the glob for the files of a folder, unless the folder is a format's own."""
    names = [name for _, _, some in os.walk(base / folder) for name in some]
    ends = {end: sum(name.endswith(f".{end}") for name in names) for end in _FILES}
    end = max(ends, key=ends.__getitem__)
    if is_trials_folder(base / folder) or not ends[end]:
        return folder
    flat = any(name.endswith(f".{end}") for name in os.listdir(base / folder))  # noqa: PTH208
    return f"{folder.rstrip('/')}/{'' if flat else '**/'}*.{end}"


def _read_guessing(pattern: str, base: Path) -> tuple[RolloutsSpec, RolloutTable]:
    """Read the rollouts; where their rows don't say which task they are of, by a guess."""
    spec = RolloutsSpec(path=(pattern,))
    try:
        return spec, load(spec, base, scores=())
    except DataError:
        with suppress(DataError):
            fields = guessed_fields(spec, base)
            if fields is not None:
                spec = replace(spec, fields=fields)
                return spec, load(spec, base, scores=())
        raise


def _place(pattern: str, fields: FieldMap) -> str:
    """Write where the rollouts are, as a benchmark file says it."""
    if fields.task is None:
        return _text(pattern)
    named = {"task": fields.task, "sample": fields.sample, "reward": fields.reward}
    keys = ", ".join(f"{what}: {_text(key)}" for what, key in named.items() if key is not None)
    return f"{{path: {_text(pattern)}, fields: {{{keys}}}}}"


def _source_lines(table: RolloutTable, base: Path) -> Iterator[str]:
    for source in table.sources[:_LISTED]:
        yield f"{source.path}: {_format_of(base / source.path)}{many(source.rows, 'rollout')}"
    if len(table.sources) > _LISTED:
        yield f"and {many(len(table.sources) - _LISTED, 'more file')}"


def _format_of(path: Path) -> str:
    if not path.exists():  # it lies elsewhere
        return ""
    return f"{recognise(open_source(RolloutFile(path, path.name))).name}, "


def _attempt_lines(table: RolloutTable) -> Iterator[str]:
    for agent, part in table.by_agent():
        least, most = _sample_range(part)
        each = str(least) if least == most else f"{least} to {most}"
        shown = ", ".join(map(str, part.tasks[:_LISTED]))
        more = ", ..." if len(part.tasks) > _LISTED else ""
        yield f"agent {agent}: {many(len(part.tasks), 'task')} ({shown}{more}), {each} each"


def _sample_range(table: RolloutTable) -> tuple[int, int]:
    counts = np.diff(table.offsets)
    return int(counts.min()), int(counts.max())


def _score_lines(table: RolloutTable, reward: str | None) -> Iterator[str]:
    width = max(map(len, table.scores), default=0)
    for name, column in table.scores.items():
        given = column[np.isfinite(column)]
        missing = len(column) - len(given)
        said = "nothing but missing values"
        if len(given):
            said = f"mean {given.mean():.4g}, from {given.min():.4g} to {given.max():.4g}"
            said += f", {missing} missing" if missing else ""
        yield f"  {name:{width}}  {said}{'  <- the reward' if name == reward else ''}"


def _rewards(table: RolloutTable) -> list[str]:
    """List what may be the reward, the likeliest first; no identifier, no time, no usage."""

    def likelihood(name: str) -> tuple[int, bool]:
        last = re.split(r"[./]", name.lower())[-1]
        place = _REWARDS.index(last) if last in _REWARDS else len(_REWARDS)
        return place, not _is_share(table.scores[name])

    def may_be(name: str) -> bool:
        values = table.scores[name][np.isfinite(table.scores[name])]
        if name in _USAGE or _names_no_reward(name) or (values > _TIMES).any():
            return False
        different = len(values) > _LISTED and len(np.unique(values)) == len(values)
        return not (different and name in table.integers)  # as identifiers are

    return sorted(filter(may_be, table.scores), key=likelihood)


def _is_share(column: NDArray[np.float64]) -> bool:
    values = column[np.isfinite(column)]
    return bool(len(values) and values.min() >= 0 and values.max() <= 1)


def _benchmark(
    table: RolloutTable, place: str, pattern: str, rewards: Sequence[str]
) -> Iterator[str]:
    reward = next(iter(rewards), None)
    yield "benchmark:"
    yield f"  name: {_name(pattern)}"
    yield f"  rollouts: {place}"
    if reward is not None and reward != "reward":
        why = "by its name" if reward.lower() in _REWARDS else "by its values"
        others = f"; or {', '.join(rewards[1:])}" if rewards[1:] else ""
        yield f"  reward: {_text(reward)}  # {why}{others}"
    column = table.scores[reward] if reward is not None else np.empty(0)
    counts = [_sample_range(part) for _, part in table.by_agent()]
    least, most = min(a for a, _ in counts), max(b for _, b in counts)
    if least == most:
        yield f"  num_samples: {most}"
    yield f"  metrics: [{', '.join(_metrics(column, least))}]"
    tasks = {len(part.tasks) for _, part in table.by_agent()}
    expect = [f"tasks: {tasks.pop()}"] if len(tasks) == 1 else []
    if np.isnan(column).any():
        expect.append("missing_reward: error")
    if expect:
        yield f"  expect: {{{', '.join(expect)}}}"
    yield "  baseline: true  # record it with: pytest --snapshot-update"


def _metrics(column: NDArray[np.float64], samples: int) -> list[str]:
    given = column[np.isfinite(column)]
    if not len(given) or not np.isin(given, (0, 1)).all():
        return ["mean_reward"]
    return ["pass@1"] if samples == 1 else ["pass@1", f"pass@{samples}", f"pass^{samples}"]


def _name(pattern: str) -> str:
    names = [part for part in Path(pattern).parts if not glob.has_magic(part)]
    stem = names[-1].partition(".")[0] if names else ""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", stem).strip("-") or "benchmark"


def _text(text: str) -> str:
    return text if _is_plain(text) else json.dumps(text)
