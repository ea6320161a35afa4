"""What recorded rollouts hold, and a benchmark file to start from."""

from __future__ import annotations

import glob
import json
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
from pytest_evalmetrics.rollouts.recorded import load, records
from pytest_evalmetrics.rollouts.source import open_source
from pytest_evalmetrics.spec import FieldMap, RolloutsSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
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
_LISTED: Final = 10  # names on a line
_USAGE: Final = frozenset(
    usage(
        latency_s=0,
        prompt_tokens=0,
        completion_tokens=0,
        cached_tokens=0,
        cost_usd=0,
    )
) | {"total_tokens"}
_is_plain = re.compile(r"[A-Za-z_.][\w./-]*").fullmatch


def guessed_fields(spec: RolloutsSpec, base: Path) -> FieldMap | None:
    """Guess by the first row; None where no key looks like a task's id."""
    for _, first in records(spec, base):
        task = _first_of(_TASK, first, (int, str))
        return (
            None if task is None else FieldMap(task=task, sample=_first_of(_SAMPLE, first, (int,)))
        )
    return None


def _first_of(
    names: tuple[str, ...], row: Mapping[str, Any], kinds: tuple[type, ...]
) -> str | None:
    return next((name for name in names if type(row.get(name)) in kinds), None)


def survey(pattern: str, base: Path) -> str:
    """Read rollouts, and tell what was recognised, found and missing."""
    spec, table = _read_guessing(pattern, base)
    reward = _reward(table)
    lines = [
        *_source_lines(table, base),
        *_attempt_lines(table),
        *_score_lines(table, reward),
        *table.notes,
        "",
        f"# a benchmark file to start from, such as {_name(pattern)}.bench.yaml",
        *_benchmark(table, _place(pattern, spec.fields), pattern, reward),
    ]
    # names and ids may hold anything, and no line of it is more than a line
    return "\n".join(map(visible, lines)) + "\n"


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
    named = {"task": fields.task, "sample": fields.sample}
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


def _reward(table: RolloutTable) -> str | None:
    names = [name for name in table.scores if name not in _USAGE]
    return "reward" if "reward" in names else next(iter(names), None)


def _benchmark(table: RolloutTable, place: str, pattern: str, reward: str | None) -> Iterator[str]:
    yield "benchmark:"
    yield f"  name: {_name(pattern)}"
    yield f"  rollouts: {place}"
    others = [name for name in table.scores if name not in _USAGE and name != reward]
    if reward not in (None, "reward"):
        yield f"  reward: {_text(str(reward))}" + (f"  # or {', '.join(others)}" if others else "")
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
