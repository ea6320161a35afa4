"""The rows that a baseline keeps, and what was asked and answered before and now."""

from __future__ import annotations

import gzip
import json
import math
import zlib
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np

from pytest_evalmetrics.data import Row
from pytest_evalmetrics.errors import BaselineError, EvalMetricsError, RowError
from pytest_evalmetrics.pipeline.row_choice import reading_order
from pytest_evalmetrics.records import record
from pytest_evalmetrics.reports.html.picture import means
from pytest_evalmetrics.results import Attempt, Flip
from pytest_evalmetrics.rollouts import records

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from pytest_evalmetrics.data import RolloutTable, RowScores
    from pytest_evalmetrics.spec.sources import FilesSpec

    # rows as their scorers saw them, and why some could not be scored
    Rows = Iterable[tuple[Row, RowError | None]]

_WORSE, _BETTER = 15, 5  # tasks
_ATTEMPTS: Final = 4  # of a task, on each side
_TEXT: Final = 4_000  # characters of one text
_ALL: Final = 300_000  # characters of a benchmark, so that its page stays small
_RESTORE: Final = "restore it from version control, or record a new baseline with --snapshot-update"
_REASON: Final = "judge's reason"  # the key of a kept row
_PROMPTS: Final = (
    *("responses_create_params", "prompt", "question", "problem", "instruction", "query"),
    *("user_input", "input", "inputs", "messages"),
)
_ANSWERS: Final = (
    *("output_text", "response", "output", "outputs", "completion", "generation", "prediction"),
    *("model_output", "resps", "answer"),
)
_REFERENCES: Final = (
    *("reference", "expected", "expected_output", "expected_answer", "target", "ground_truth"),
    *("gold", "correct_answer", "text", "label", "answer"),
)


# -- the rows that a baseline keeps ----------------------------------------------------------


class _KeptRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """A row as a scorer sees it; without `sample_data` that is the item itself."""

    agent: str
    task: str
    sample: int
    item: dict[str, Any]
    sample_data: dict[str, Any] | None = None
    failed: tuple[str, str] | None = None


def keep(rows: Rows, table: RolloutTable) -> tuple[bytes, dict[str, Any]]:
    """Compress rows, in the order of a table, and describe them; what it left out is not kept."""
    order = reading_order(table)
    places = dict(zip(order.tolist(), range(len(order)), strict=True))
    lines = [b""] * len(order)
    encode = msgspec.json.Encoder(enc_hook=str).encode
    for row, failure in rows:
        if row.index in places:
            item, sample_data = dict(row.item), dict(row.sample_data)
            failed = None if failure is None else (failure.kind, failure.message)
            own = None if sample_data == item else sample_data
            kept = _KeptRow(row.agent, str(row.task), row.sample, item, own, failed)
            lines[places[row.index]] = encode(kept)
    data = b"".join(line + b"\n" for line in lines)
    return gzip.compress(data, mtime=0), {"count": len(lines), "digest": _digest(data)}


def kept_rows(
    data: bytes | None, recorded: Mapping[str, Any], tables: Mapping[str, RolloutTable]
) -> tuple[list[tuple[Row, RowError | None]], dict[str, list[int]]]:
    """Read the kept rows of a baseline; return them, and the places of each agent's."""
    if data is None:
        raise BaselineError("the file with the baseline's rows is gone", hint=_RESTORE)
    text, kept = _decoded(data)
    places = {agent: [at for at, r in enumerate(kept) if r.agent == agent] for agent in tables}
    if _digest(text) != recorded.get("digest") or any(
        [kept[at].task for at in places[agent]] != [str(table.tasks[t]) for t in table.task]
        for agent, table in tables.items()
    ):
        raise BaselineError("the file holds other rows than the baseline's", hint=_RESTORE)
    rows: list[tuple[Row, RowError | None]] = []
    for index, r in enumerate(kept):
        sample_data = r.item if r.sample_data is None else r.sample_data
        where = f"the baseline's row {index + 1}"
        row = Row(index, r.agent, r.task, r.sample, r.item, sample_data, where)
        rows.append((row, None if r.failed is None else RowError(*r.failed)))
    return rows, places


def _decoded(data: bytes) -> tuple[bytes, list[_KeptRow]]:
    try:
        text = gzip.decompress(data)
        return text, msgspec.json.Decoder(_KeptRow).decode_lines(text)
    except (OSError, EOFError, zlib.error, msgspec.DecodeError) as error:
        reason = f"the file with the baseline's rows can't be read: {error}"
        raise BaselineError(reason, hint=_RESTORE) from None


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=8).hexdigest()


def texts_alone(
    rows: Rows, hide: Callable[[str], str], scores: RowScores | None
) -> Iterator[tuple[Row, None]]:
    """Reduce rows to their texts and judges' reasons, for a later run to show."""
    for row, _ in rows:
        prompt, answer, reference = map(hide, texts_of({**row.item, **row.sample_data}))
        reason = "" if scores is None else hide(_reasons(scores, row.index))
        item = {"prompt": prompt, "response": answer, "reference": reference, _REASON: reason}
        yield replace(row, item={k: v for k, v in item.items() if v}, sample_data={}), None


def recorded_rows(
    spec: FilesSpec,
    wanted: Iterable[int] | None = None,
    *,
    base: Path,
    table: RolloutTable,
    most: float = math.inf,
) -> Iterator[tuple[Row, RowError | None]]:
    """Go through the wanted rows of files of at most so many bytes again, each with its task."""
    if table.read_as is None or sum(source.size or 0 for source in table.sources) > most:
        return
    places = dict(zip(table.read_as.tolist(), range(len(table)), strict=True))
    if wanted is not None:
        places = {index: places[index] for index in wanted}
    for index, (_, item) in enumerate(records(spec, base)):
        if (at := places.get(index)) is not None:
            agent, task = table.agents[table.agent[at]], table.tasks[table.task[at]]
            yield Row(index, agent, task, int(table.sample[at]), item), None


# -- texts out of rows -----------------------------------------------------------------------


def texts_of(row: Mapping[str, Any]) -> tuple[str, str, str]:
    """Find what a row asked, what was answered, and what was expected; empty where it has none."""
    answered = next((name for name in _ANSWERS if row.get(name) not in (None, "")), None)
    asked = next((row[name] for name in _PROMPTS if row.get(name)), None)
    expected = next((row[n] for n in _REFERENCES if n != answered and row.get(n) is not None), None)
    return _text(asked), _text(None if answered is None else row[answered]), _text(expected)


def _text(value: Any) -> str:
    text = _flat(value)
    return text if len(text) <= _TEXT else f"{text[:_TEXT]} …"


def _flat(value: Any) -> str:
    """Write a text, a conversation or an answer of an API as a person reads it."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list):
        return "\n".join(filter(None, map(_flat, value)))
    if not isinstance(value, dict):
        return json.dumps(value)
    for name in ("output_text", "output", "choices", "message", "content", "text", "input"):
        if value.get(name):
            text, role = _flat(value[name]), value.get("role")
            return f"{role}: {text}" if isinstance(role, str) else text
    called = value.get("function", value)
    if isinstance(called, dict) and isinstance(called.get("name"), str) and "arguments" in called:
        return f"{called['name']}({_flat(called['arguments'])})"
    return "" if value.get("type") == "reasoning" else json.dumps(value, ensure_ascii=False)


# -- the tasks that changed most -------------------------------------------------------------


@record
class AnswerSide:
    """One side of a comparison, with where its rows are."""

    table: RolloutTable
    rows: Callable[[Collection[int]], Rows] = lambda _: ()
    kept: bytes | None = None  # the rows beside a committed baseline, compressed
    scores: RowScores | None = None  # with the reasons of judges


def flips_of(
    agent: str,
    now: AnswerSide,
    was: AnswerSide,
    at: Any,
    reward: str,
    *,
    lower: bool,
    hide: Callable[[str], str] = str,
) -> list[Flip]:
    """Show the tasks that changed most, the worse first; `at` are their places in the baseline."""
    if reward not in now.table.scores or reward not in was.table.scores:
        return []
    places = np.arange(len(now.table.tasks)) if at is None else np.asarray(at)
    there = np.flatnonzero(places >= 0)
    change = means(now.table, reward)[there] - means(was.table, reward)[places[there]]
    change = np.where(np.isfinite(change), -change if lower else change, 0.0)
    order = np.argsort(change, kind="stable")
    chosen = [*order[:_WORSE][change[order[:_WORSE]] < 0]]
    chosen += [*order[::-1][:_BETTER][change[order[::-1][:_BETTER]] > 0]]
    tasks = [(int(there[i]), int(places[there[i]])) for i in chosen]
    try:
        ours = _attempts(now, [task for task, _ in tasks], reward, hide)
        theirs = _attempts(was, [task for _, task in tasks], reward, hide)
    except EvalMetricsError:  # the files have changed since, or have no rows of their own
        return []
    flips, left = [], _ALL
    for (task, _), (asked, after), (asked_then, before) in zip(tasks, ours, theirs, strict=True):
        prompt, reference = asked or asked_then or ("", "")
        attempts = (*after, *before)
        left -= len(prompt) + len(reference) + sum(len(a.text) + len(a.reason) for a in attempts)
        if left < 0:
            break
        if any(a.text for a in attempts):
            name = str(now.table.tasks[task])
            flips.append(Flip(agent, name, prompt, reference, tuple(before), tuple(after)))
    return flips


def _attempts(
    side: AnswerSide, tasks: list[int], reward: str, hide: Callable[[str], str]
) -> list[tuple[tuple[str, str] | None, list[Attempt]]]:
    """Give what each task asked and expected, and its first attempts."""
    table = side.table
    bounds = [(int(table.offsets[t]), int(table.offsets[t + 1])) for t in tasks]
    spans = [range(first, min(last, first + _ATTEMPTS)) for first, last in bounds]
    texts = _texts(side, [at for span in spans for at in span])
    of_tasks: list[tuple[tuple[str, str] | None, list[Attempt]]] = []
    for span in spans:
        attempts, asked = [], None
        for at in span:
            prompt, answer, reference, reason = map(hide, texts.get(at, ("", "", "", "")))
            asked = asked or ((prompt, reference) if prompt or reference else None)
            value = float(table.scores[reward][at])
            score = None if np.isnan(value) else value
            attempts.append(Attempt(int(table.sample[at]), score, answer, reason))
        of_tasks.append((asked, attempts))
    return of_tasks


def _texts(side: AnswerSide, wanted: list[int]) -> dict[int, tuple[str, str, str, str]]:
    """Give what each row asked, answered and expected, and why it was scored so, if kept."""
    table, texts = side.table, {}
    if table.read_as is not None:
        places = {int(table.read_as[at]): at for at in wanted}
        for row, _ in islice(side.rows(places), len(places)):
            reason = "" if side.scores is None else _reasons(side.scores, row.index)
            texts[places[row.index]] = *texts_of({**row.item, **row.sample_data}), reason
    elif side.kept is not None:
        keys = {(str(table.tasks[table.task[at]]), int(table.sample[at])): at for at in wanted}
        for kept in _decoded(side.kept)[1]:
            at = keys.get((kept.task, kept.sample))
            if at is not None and kept.agent in table.agents:
                item = {**kept.item, **(kept.sample_data or {})}
                reason = item.pop(_REASON, "")
                texts[at] = *texts_of(item), reason
    return texts


def _reasons(scores: RowScores, index: int) -> str:
    reasons = msgspec.json.decode(scores.reasons(index))
    return _text("\n".join(each["reason"] for each in reasons))
