"""What recorded rollouts hold, and a benchmark file to start from."""

from __future__ import annotations

import glob
import json
import os
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from pytest_evalmetrics.errors import DataError, EvalMetricsError
from pytest_evalmetrics.layout import many, visible
from pytest_evalmetrics.rollouts.files import RolloutFile
from pytest_evalmetrics.rollouts.foreign import usage
from pytest_evalmetrics.rollouts.formats import recognise
from pytest_evalmetrics.rollouts.harbor import is_trials_folder
from pytest_evalmetrics.rollouts.migrate import migrated
from pytest_evalmetrics.rollouts.propose import REWARDS, TIMES, Proposal, names_no_reward, propose
from pytest_evalmetrics.rollouts.recorded import load
from pytest_evalmetrics.rollouts.source import open_source
from pytest_evalmetrics.spec import RolloutsSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.data import RolloutTable

_FILES: Final = ("jsonl", "jsonl.gz", "jsonl.zst", "json", "parquet", "csv", "eval")  # of a folder
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
_SHORT: Final = 60  # characters that go on the line of the path
_is_word = re.compile(
    r"(?!(yes|no|true|false|on|off|y|n|null)$)[A-Za-z][\w -]*", re.IGNORECASE
).fullmatch
_is_plain = re.compile(r"[A-Za-z_.][\w./-]*").fullmatch


def survey(pattern: str, base: Path) -> str:
    """Read rollouts, and tell what was recognised, found and missing."""
    told, file = _surveyed(pattern, base)
    lines = [*told, "", f"# a benchmark file to start from, such as {file.name}", *file.lines]
    # names and ids may hold anything, and no line of it is more than a line
    return "\n".join(map(visible, lines)) + "\n"


def write_benchmark(pattern: str, base: Path) -> tuple[Path, str]:
    """Write a benchmark file for rollouts of any shape, or for another tool's settings.

    Returns
    -------
    path, text
        The file, and what was found; nothing of settings, which have no rollouts yet.

    Raises
    ------
    DataError
        There is such a file already, or the rollouts can't be read.
    """
    source = base / pattern
    lines = migrated(source) if source.suffix in (".yaml", ".yml") and source.is_file() else None
    if lines is not None:
        told: list[str] = []
        file = BenchmarkText(f"{_name(pattern)}.bench.yaml", lines)
    else:
        told, file = _surveyed(pattern, base)
        file.lines[-1] = "  baseline: true"
    path = base / file.name
    text = "\n".join(map(visible, ("# written by pytest --evalmetrics-init", *file.lines))) + "\n"
    try:
        with path.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        hint = "change it by hand, or rename it and start anew"
        raise DataError(
            "there is such a benchmark file already", file=file.name, hint=hint
        ) from None
    except OSError as error:
        raise DataError(f"it can't be written: {error.strerror}", file=file.name) from None
    return path, "\n".join(map(visible, told)) + "\n"


class BenchmarkText(NamedTuple):
    """A benchmark file to be."""

    name: str
    lines: list[str]


def _surveyed(pattern: str, base: Path) -> tuple[list[str], BenchmarkText]:
    if (base / pattern).is_dir():
        pattern = _files_in(pattern, base)
    proposal, table = _read_guessing(pattern, base)
    rewards = _rewards(table)
    reward = next(iter(rewards), None)
    if proposal.spec.fields.reward or proposal.spec.map or proposal.spec.lists:
        rewards, reward = ["reward", *(name for name in rewards if name != "reward")], "reward"
    told = [
        *_source_lines(table, base),
        *_attempt_lines(table),
        *_score_lines(table, reward),
        *table.notes,
    ]
    lines = [*(f"# {why}" for why in proposal.reasons)]
    lines += _benchmark(table, _place(pattern, proposal.spec), pattern, rewards)
    return told, BenchmarkText(f"{_name(pattern)}.bench.yaml", lines)


def _files_in(folder: str, base: Path) -> str:
    """Write the glob for the files of a folder, unless the folder is a format's own."""
    names = [name for _, _, some in os.walk(base / folder) for name in some]
    ends = {end: sum(name.endswith(f".{end}") for name in names) for end in _FILES}
    end = max(ends, key=ends.__getitem__)
    if is_trials_folder(base / folder) or not ends[end]:
        return folder
    flat = any(name.endswith(f".{end}") for name in os.listdir(base / folder))  # noqa: PTH208
    return f"{folder.rstrip('/')}/{'' if flat else '**/'}*.{end}"


def _read_guessing(pattern: str, base: Path) -> tuple[Proposal, RolloutTable]:
    """Read the rollouts; where their rows don't say which task they are of, by a guess."""
    spec = RolloutsSpec(path=(pattern,))
    try:
        return Proposal(spec), load(spec, base, scores=())
    except DataError as error:
        proposal = None
        with suppress(EvalMetricsError):
            proposal = propose(pattern, base)
        if proposal is None:
            raise
        fields = proposal.spec.fields
        for each in (fields, replace(fields, content=None)):
            with suppress(EvalMetricsError):
                found = replace(proposal, spec=replace(proposal.spec, fields=each))
                return found, load(found.spec, base, scores=())
        raise error  # noqa: TRY201 - what the plain way said


def _place(pattern: str, spec: RolloutsSpec) -> list[str]:
    """Write where the rollouts are, as a benchmark file says it."""
    fields = spec.fields
    named = {name: getattr(fields, name) for name in ("task", "sample", "agent", "reward")}
    keys = [f"{name}: {_text(path)}" for name, path in named.items() if path is not None]
    if fields.content:
        keys.append(f"content: [{', '.join(map(_text, fields.content))}]")
    shape = [f"{name}: {_text(v)}" for name in ("rows", "keyed") if (v := getattr(spec, name))]
    if spec.lists:
        shape.append(f"lists: {_flow(spec.lists)}")
    if spec.pivot:
        by, pivot = _text(spec.pivot.by[0]), spec.pivot
        inner = f"by: {by}, name: {_text(pivot.name)}, value: {_text(pivot.value)}"
        shape.append(f"pivot: {{{inner}}}")
    if keys:
        shape.append(f"fields: {{{', '.join(keys)}}}")
    shape += [f"map: {{{_text(name)}: {_flow(words)}}}" for name, words in spec.map.items()]
    if not shape:
        return [f"rollouts: {_text(pattern)}"]
    if len(shape) == 1 and len(shape[0]) < _SHORT:
        return [f"rollouts: {{path: {_text(pattern)}, {shape[0]}}}"]
    return ["rollouts:", f"  path: {_text(pattern)}", *(f"  {line}" for line in shape)]


def _flow(values: Mapping[str, float | None]) -> str:
    entries = ("null" if value is None else f"{value:g}" for value in values.values())
    names = (name if _is_word(name) else json.dumps(name) for name in values)
    return f"{{{', '.join(f'{n}: {v}' for n, v in zip(names, entries, strict=True))}}}"


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
        place = REWARDS.index(last) if last in REWARDS else len(REWARDS)
        return place, not _is_share(table.scores[name])

    def may_be(name: str) -> bool:
        values = table.scores[name][np.isfinite(table.scores[name])]
        if name in _USAGE or names_no_reward(name) or (values > TIMES).any():
            return False
        different = len(values) > _LISTED and len(np.unique(values)) == len(values)
        return not (different and name in table.integers)  # as identifiers are

    return sorted(filter(may_be, table.scores), key=likelihood)


def _is_share(column: NDArray[np.float64]) -> bool:
    values = column[np.isfinite(column)]
    return bool(len(values) and values.min() >= 0 and values.max() <= 1)


def _benchmark(
    table: RolloutTable, place: Sequence[str], pattern: str, rewards: Sequence[str]
) -> Iterator[str]:
    reward = next(iter(rewards), None)
    yield "benchmark:"
    yield f"  name: {_name(pattern)}"
    yield from (f"  {line}" for line in place)
    if reward is not None and reward != "reward":
        why = "by its name" if reward.lower() in REWARDS else "by its values"
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
    yield from _thresholds(table)
    yield "  baseline: true  # record it with: pytest --snapshot-update"


def _thresholds(table: RolloutTable) -> Iterator[str]:
    """Take over the thresholds that the files say each score was held against, as deepeval's do."""
    bounds = {
        score: settings["threshold"][0]
        for settings in table.ruler.values()
        if len(settings.get("threshold", ())) == 1
        for score in settings.get("scores", ())
        if score in table.scores and score != "success"
    }
    if bounds:
        yield "  thresholds:  # as the files say"
        for score, bound in bounds.items():
            yield f"    {json.dumps(f'mean/{score}')}: {{min: {bound}}}"


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
