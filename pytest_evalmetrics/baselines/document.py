"""The baseline's file: made for reading in a pull request, the same bytes for the same run.

Key metrics first, then one line per task with its scores, then where it all came from. What is
read back, from there or from an earlier run's ``report.json``, is trusted in nothing.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NotRequired, TypedDict

import msgspec
import numpy as np

from pytest_evalmetrics.errors import BaselineError, did_you_mean
from pytest_evalmetrics.gc_pause import collector_paused
from pytest_evalmetrics.layout import one_per_line, spaced
from pytest_evalmetrics.model.rollout_table import (
    HASH_SIZE,
    MISSING,
    Category,
    RolloutTable,
)
from pytest_evalmetrics.run_folder import finished_report
from pytest_evalmetrics.spec.metric_names import fields_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from pytest_evalmetrics.model.results import AgentResult

SCHEMA_VERSION: Final = 1
_WHOLE = 2**53  # above it floats skip whole numbers
# covered by the digest beside the numbers, where present
_SEALED = ("ruler", "under_test", "gates", "rows")
_RECORD = "record a new one with --snapshot-update"
_TAKE_AGAIN = f"take it from version control again, or {_RECORD}"


class MetricDocument(TypedDict, total=False):
    """A key metric with its interval; of several runs `value` is their mean, newest last."""

    value: float | None
    runs: list[float | None]
    tasks: int
    rollouts: int
    interval: list[float | None]


# a column's numbers or labels of one task: of each rollout, or of several runs a list for each
_Cells = Sequence[float | str | Sequence[float | str | None] | None]


class AgentDocument(TypedDict):
    """One agent's run: key metrics, and per task and column each rollout's number or label."""

    # `ids` is ``positions`` where task ids are no names; `content` is a hash per task.

    key_metrics: dict[str, MetricDocument]
    tasks: dict[str, dict[str, _Cells]]
    ids: NotRequired[str]
    content: NotRequired[dict[str, str]]


class BaselineDocument(TypedDict):
    """A whole baseline."""

    schema_version: Literal[1]
    benchmark: str
    agents: dict[str, AgentDocument]
    provenance: dict[str, Any]


@collector_paused()
def agent_document(
    result: AgentResult,
    table: RolloutTable,
    columns: Iterable[str],
    *,
    gated: Sequence[str] = (),
) -> AgentDocument:
    """Describe one agent's run, with `columns` of each rollout; `gated` metrics come first."""
    first = {
        result.estimates[name].name: result.estimates[name].value for name in gated
    }
    # the order of the rest would be the order in which rows happen to name their scores
    values = first | dict(
        sorted(kv for kv in result.key_metrics.items() if kv[0] not in first)
    )
    bounds = table.offsets.tolist()
    groups = fields_of(gated) - {result.estimates[name].score for name in gated}
    kept = {name: _column(table, name, of_group=name in groups) for name in columns}
    described: AgentDocument = {
        "key_metrics": {
            name: _metric(result, name, value) for name, value in values.items()
        },
        "tasks": {
            str(task): {name: column[start:stop] for name, column in kept.items()}
            for task, (start, stop) in zip(table.tasks, pairwise(bounds), strict=True)
        },
    }
    if table.positional:
        described["ids"] = "positions"
    contents = table.contents
    if contents is not None:
        texts = contents.astype(str).tolist()
        described["content"] = dict(zip(map(str, table.tasks), texts, strict=True))
    return described


def document(
    benchmark: str, agents: Mapping[str, AgentDocument], provenance: Mapping[str, Any]
) -> BaselineDocument:
    """Put the whole baseline together, whatever the order in which rows name their agents."""
    return {
        "schema_version": SCHEMA_VERSION,
        "benchmark": benchmark,
        "agents": dict(sorted(agents.items())),
        "provenance": dict(provenance),
    }


@collector_paused()
def render(doc: BaselineDocument) -> str:
    """Write a baseline as text: indented, but a metric, and a task, on one line."""

    def described(agent: AgentDocument) -> str:
        parts = [
            f'"{key}": {one_per_line(agent[key], 6)}'
            for key in ("key_metrics", "tasks")
        ]
        parts += [f'"ids": {spaced(agent["ids"])}'] if "ids" in agent else []
        parts += (
            [f'"content": {one_per_line(agent["content"], 6)}']
            if "content" in agent
            else []
        )
        return ",\n      ".join(parts)

    agents = ",\n".join(
        f"    {spaced(name)}: {{\n      {described(agent)}\n    }}"
        for name, agent in doc["agents"].items()
    )
    head = {"schema_version": doc["schema_version"], "benchmark": doc["benchmark"]}
    head_lines = one_per_line(head, 0).removesuffix("\n}")
    provenance = json.dumps(
        doc["provenance"], indent=2, ensure_ascii=False, allow_nan=False
    )
    return (
        f'{head_lines},\n  "agents": {{\n{agents}\n  }},\n'
        f'  "provenance": {provenance.replace(chr(10), chr(10) + "  ")}\n}}\n'
    )


def _metric(result: AgentResult, name: str, value: float) -> MetricDocument:
    estimate = result.estimates.get(name)
    described: MetricDocument = {"value": _number(value)}
    if estimate is not None:
        described |= {"tasks": estimate.tasks, "rollouts": estimate.rollouts}
        if estimate.interval is not None:
            ends = estimate.interval.low, estimate.interval.high
            described["interval"] = [_number(float(f"{end:.6g}")) for end in ends]
    return described


def _column(table: RolloutTable, name: str, *, of_group: bool) -> list[Any]:
    """Write numbers, or labels where not all are numbers or groups have them, row by row."""
    category, scores = (
        table.categories.get(name),
        None if of_group else table.scores.get(name),
    )
    if scores is not None and (category is None or not np.isnan(scores).any()):
        return _plain(scores)
    assert category is not None  # noqa: S101 - the column is one of the table's
    labels = [None if label == MISSING else label for label in category.labels]
    return [labels[code] for code in category.codes.tolist()]


def _plain(column: NDArray[np.float64]) -> list[Any]:
    """Convert a column for JSON: whole numbers to integers, missing values to None."""
    finite = np.isfinite(column)
    whole = finite & (np.trunc(column) == column) & (np.abs(column) < _WHOLE)
    if whole.all():
        integers: list[Any] = column.astype(np.int64).tolist()
        return integers
    plain = column.astype(object)
    plain[whole] = column[whole].astype(np.int64)
    plain[~finite] = None
    return list(plain.tolist())


def _number(value: Any) -> Any:
    """Convert a value for JSON: a whole number to an integer, a non-finite one to None."""
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return None
    return int(value) if value == int(value) and abs(value) < _WHOLE else value


def text_of(path: Path, shown: str) -> str | None:
    """Read a baseline's file, called `shown` in messages; return None if it does not exist."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        what = f"this baseline is not UTF-8: {error.reason} at byte {error.start}"
    except OSError as error:
        what = f"this baseline can't be read: {error.strerror or error}"
    raise BaselineError(what, file=shown, hint=_TAKE_AGAIN)


@collector_paused()
def parse(text: str, *, file: str, benchmark: str | None = None) -> BaselineDocument:
    """Read a baseline's text, of a given benchmark or of any."""
    try:
        doc = msgspec.json.decode(text, type=BaselineDocument)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _unreadable(text, error, file) from None
    if benchmark is not None and doc["benchmark"] != benchmark:
        what = f"this is the baseline of {doc['benchmark']!r}, expected that of {benchmark!r}"
        hint = f"{_RECORD}; or, where the benchmark was renamed, rename it in this file too"
        raise BaselineError(what, file=file, hint=hint)
    return doc


@collector_paused()
def tables(doc: BaselineDocument, *, file: str) -> dict[str, tuple[RolloutTable, ...]]:
    """Turn a baseline into one table of each run of each agent, newest last; task ids are text."""
    read: dict[str, tuple[RolloutTable, ...]] = {}
    for agent, described in doc["agents"].items():
        rows: Any = described["tasks"]
        runs = [rows]
        first: Any = next(
            (cells for row in rows.values() for cells in row.values()), []
        )
        if first and isinstance(first[0], list):
            count = len(first)
            for task, row in rows.items():
                for cells in row.values():
                    if len(cells) != count or not all(
                        isinstance(run, list) for run in cells
                    ):
                        what = f"task {task!r} of {agent} has not the numbers of {count} runs"
                        raise _invalid(what, file)
            runs = [
                {
                    t: {n: cells[run] for n, cells in row.items()}
                    for t, row in rows.items()
                }
                for run in range(count)
            ]
        read[agent] = tuple(_table(agent, described, run, file) for run in runs)
    return read


def why_not_added(old: BaselineDocument, new: BaselineDocument) -> str:
    """Explain why a run can't be added to a baseline; empty if it repeats its runs."""
    before, after = old["provenance"], new["provenance"]
    for key, what in (
        ("ruler", "it was scored otherwise"),
        ("under_test", "another system ran"),
    ):
        if before.get(key) != after.get(key):
            return f"{what} than in the runs before"
    if "rows" in after:
        return "`rescore:` keeps the rows of one run alone"
    if old["agents"].keys() != new["agents"].keys():
        return f"its agents are {', '.join(new['agents'])}, and were {', '.join(old['agents'])}"
    for name, agent in new["agents"].items():
        was = old["agents"][name]
        same_content = was.get("content") == agent.get("content")
        if not same_content or was["tasks"].keys() != agent["tasks"].keys():
            return "it has other tasks than the runs before"
        if any(
            was["tasks"][task].keys() != row.keys()
            for task, row in agent["tasks"].items()
        ):
            return "it keeps other scores than the runs before"
    return ""


def add_run(
    old: BaselineDocument, new: BaselineDocument, *, keep: int
) -> BaselineDocument:
    """Add a run to a baseline, which keeps the newest `keep` runs."""

    def apart(numbers: Sequence[Any]) -> list[Any]:
        several = numbers and isinstance(numbers[0], list)
        return [
            [_number(x) for x in run] for run in (numbers if several else [numbers])
        ]

    def metric(
        was: MetricDocument | None, now: MetricDocument, before: int
    ) -> MetricDocument:
        earlier = (
            [None] * before if was is None else was.get("runs", [was.get("value")])
        )
        runs = [*earlier, now["value"]][-keep:]
        numbers = [value for value in runs if value is not None]
        # the interval is that of one run
        mean = float(f"{math.fsum(numbers) / len(numbers):.15g}") if numbers else None
        tasks: MetricDocument = {"tasks": now["tasks"]} if "tasks" in now else {}
        return {"value": mean, **tasks, "runs": runs}

    agents: dict[str, AgentDocument] = {}
    for name, agent in new["agents"].items():
        was = old["agents"][name]
        before = max(
            (len(m.get("runs", [0])) for m in was["key_metrics"].values()), default=1
        )
        agents[name] = {
            **agent,
            "key_metrics": {
                text: metric(was["key_metrics"].get(text), now, before)
                for text, now in agent["key_metrics"].items()
            },
            "tasks": {
                task: {
                    score: [*apart(was["tasks"][task][score]), numbers][-keep:]
                    for score, numbers in row.items()
                }
                for task, row in agent["tasks"].items()
            },
        }
    past, now = old["provenance"], new["provenance"]
    last, this = (
        {key: of.get(key) for key in ("recorded", "files")} for of in (past, now)
    )
    runs = [*(past.get("runs") or [last]), this][-keep:]
    return {**new, "agents": agents, "provenance": {**now, "runs": runs}}


def values(doc: BaselineDocument, agent: str) -> dict[str, float]:
    """Return an agent's recorded key metrics, by name."""
    metrics = doc["agents"][agent]["key_metrics"] if agent in doc["agents"] else {}
    recorded = {name: metric.get("value") for name, metric in metrics.items()}
    return {name: value for name, value in recorded.items() if value is not None}


@collector_paused()
def stamped(doc: BaselineDocument) -> BaselineDocument:
    """Add a digest of the numbers, by which a later change of them is seen."""
    floats = msgspec.convert(
        doc, BaselineDocument
    )  # 1 and 1.0 are the same to a reader
    return {**doc, "provenance": {**doc["provenance"], "digest": _digest(floats)}}


@collector_paused()
def is_edited(doc: BaselineDocument) -> bool:
    """Detect a baseline that changed after it was recorded, by hand or in a merge."""
    return bool(doc["provenance"].get("digest") != _digest(doc))


def _digest(doc: BaselineDocument) -> str:
    sealed = {
        key: doc["provenance"][key] for key in _SEALED if key in doc["provenance"]
    }
    data = msgspec.json.encode(doc["agents"], order="sorted")
    if sealed:
        data += msgspec.json.encode(sealed, order="sorted")
    return blake2b(data, digest_size=8).hexdigest()


def _unreadable(text: str, error: Exception, file: str) -> BaselineError:
    line, hint = None, _TAKE_AGAIN
    if "<<<<<<<" in text:
        what = "this baseline holds the marks of a merge conflict"
        line = text.count("\n", 0, text.index("<<<<<<<")) + 1
        hint = f"take one side of it from version control, or {_RECORD}"
    elif not text.strip():
        what = "this baseline is empty"
    else:
        try:
            parsed: Any = json.loads(text)
        except (ValueError, RecursionError) as broken:
            what, line = (
                f"this baseline is not JSON: {broken}",
                getattr(broken, "lineno", None),
            )
        else:
            version = parsed.get("schema_version") if isinstance(parsed, dict) else None
            if version in (None, SCHEMA_VERSION):
                return _invalid(f"this is not a baseline: {error}", file)
            versions = f"the schema version {version!r}, and {SCHEMA_VERSION} is known"
            what = f"this baseline has {versions}"
            hint = f"{_RECORD}, or use the version of pytest-evalmetrics that wrote it"
    return BaselineError(what, file=file, line=line, hint=hint)


def _table(
    agent: str,
    described: AgentDocument,
    tasks: Mapping[str, Mapping[str, Any]],
    file: str,
) -> RolloutTable:
    rows = list(tasks.values())
    names = rows[0].keys() if rows else set()
    counts = [len(next(iter(row.values()), ())) for row in rows]
    for (task, row), count in zip(tasks.items(), counts, strict=True):
        if row.keys() != names or any(len(cells) != count for cells in row.values()):
            what = f"task {task!r} of {agent} has scores of different lengths or names"
            raise _invalid(what, file)
    starts = np.cumsum([0, *counts])
    total = int(starts[-1])
    scores: dict[str, NDArray[np.float64]] = {}
    categories: dict[str, Category] = {}
    try:
        for name in names:
            values = list(chain.from_iterable([row[name] for row in rows]))
            if not any(isinstance(value, str) for value in values):
                scores[name] = np.array(values, dtype=np.float64)  # null becomes NaN
                continue
            codes: dict[Any, int] = {
                x: code for code, x in enumerate(dict.fromkeys(values))
            }
            if not all(isinstance(label, str | None) for label in codes):
                raise _invalid(f"{name!r} of {agent} holds labels and numbers", file)
            categories[name] = Category(
                np.fromiter(
                    map(codes.__getitem__, values), dtype=np.int32, count=total
                ),
                tuple(MISSING if label is None else str(label) for label in codes),
            )
    except (TypeError, ValueError):
        what = (
            f"some tasks of {agent} have the numbers of several runs, and some of one"
        )
        raise _invalid(what, file) from None
    content: NDArray[np.bytes_] | None = None
    if hashes := described.get("content"):
        of_tasks = [hashes.get(task, "") for task in tasks]
        if not "".join(of_tasks).isascii():
            raise _invalid(
                f"a hash of the content of a task of {agent} is damaged", file
            )
        content = np.array(of_tasks, dtype=f"S{HASH_SIZE}").repeat(counts)
    return RolloutTable(
        agents=(agent,),
        agent=np.zeros(total, dtype=np.int32),
        tasks=tuple(tasks),
        task=np.repeat(np.arange(len(counts)), counts),
        sample=np.arange(total) - np.repeat(starts[:-1], counts),
        scores=scores,
        categories=categories,
        content=content,
        positional=described.get("ids") == "positions",
    )


def _invalid(what: str, file: str) -> BaselineError:
    return BaselineError(
        what, file=file, hint=f"a baseline is not written by hand: {_RECORD}"
    )


class _Estimate(TypedDict):
    value: float | None


class _Agent(TypedDict):
    agent: str
    estimates: dict[str, _Estimate]
    key_metrics: dict[str, float]
    task_scores: dict[str, dict[str, _Cells]]
    task_content: NotRequired[dict[str, str] | None]
    task_ids: NotRequired[str]


class _Check(TypedDict):
    gate: str
    verdict: str
    reason: str


class _Entry(TypedDict):
    name: str
    file: str
    agents: list[_Agent]
    checks: list[_Check]
    ruler: NotRequired[dict[str, dict[str, Any]]]


class _Report(TypedDict):
    benchmarks: list[_Entry]


def from_report(
    path: Path, benchmark: str, *, file: Path, shown: str
) -> BaselineDocument:
    """Take one benchmark's run out of a ``report.json``, as a baseline; `file` is its file."""
    entries = _read(finished_report(path, shown), shown)["benchmarks"]
    matches = [entry for entry in entries if entry["name"] == benchmark]
    if len(matches) > 1:
        matches = [entry for entry in matches if Path(entry["file"]).name == file.name]
    if len(matches) != 1:
        there = [entry["name"] for entry in entries]
        why = "several benchmarks" if benchmark in there else "no benchmark"
        guess = did_you_mean(benchmark, set(there), what="it holds")
        what = f"the report holds {why} named {benchmark!r}: {guess}"
        hint = "give each benchmark a name of its own, the same in both runs"
        raise BaselineError(what, file=shown, hint=hint)
    (entry,) = matches
    for check in entry["checks"]:
        if check["gate"] in ("data", "expect") and check["verdict"] in (
            "FAIL",
            "INCONCLUSIVE",
        ):
            what = f"the earlier run of {benchmark} is not complete: {check['reason']}"
            raise BaselineError(what, file=shown, hint="compare with a complete run")
    provenance = {"ruler": entry["ruler"]} if entry.get("ruler") else {}
    agents: dict[str, AgentDocument] = {}
    for agent in entry["agents"]:
        values = {
            name: estimate["value"] for name, estimate in agent["estimates"].items()
        }
        metrics = (values | agent["key_metrics"]).items()
        agents[agent["agent"]] = {
            "key_metrics": {name: {"value": value} for name, value in metrics},
            "tasks": agent["task_scores"],
            "ids": agent.get("task_ids", "names"),
        }
        if content := agent.get("task_content"):
            agents[agent["agent"]]["content"] = content
    return document(benchmark, agents, provenance)


def _read(path: Path, shown: str) -> _Report:
    hint = "name the report.json of an earlier run, relative to the benchmark file"
    try:
        stat = path.stat()
        return _decoded(os.fspath(path), stat.st_mtime_ns, stat.st_size)
    except FileNotFoundError:
        what = "there is no such report to compare with"
        hint += "; on a first run, pass --evalmetrics-first-run"
    except OSError as error:
        what = f"this report can't be read: {error.strerror or error}"
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        what = f"this is not a report of an earlier run: {error}"
    raise BaselineError(what, file=shown, hint=hint)


@lru_cache(maxsize=1)  # the benchmarks of a run mostly name the same one
def _decoded(path: str, _changed: int, _size: int) -> _Report:
    with collector_paused():
        return msgspec.json.decode(Path(path).read_bytes(), type=_Report)
