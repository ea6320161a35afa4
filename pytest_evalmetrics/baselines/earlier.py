"""An earlier run's ``report.json`` as a baseline."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

import msgspec

from pytest_evalmetrics.baselines.document import document
from pytest_evalmetrics.collector import collector_paused
from pytest_evalmetrics.errors import BaselineError, did_you_mean
from pytest_evalmetrics.run_folder import finished_report

if TYPE_CHECKING:
    from pytest_evalmetrics.baselines.document import AgentDocument, Document

__all__ = ["from_report"]


class _Estimate(TypedDict):
    value: float | None


class _Agent(TypedDict):
    agent: str
    estimates: dict[str, _Estimate]
    key_metrics: dict[str, float]
    task_scores: dict[str, dict[str, list[float | None]]]


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


def from_report(path: Path, benchmark: str, *, file: Path, shown: str | None = None) -> Document:
    """Take one benchmark's run out of a ``report.json``, as a baseline.

    Parameters
    ----------
    path
        The report.
    benchmark
        The benchmark's name.
    file
        The benchmark file: where several benchmarks of the report have the name, its name
        says which is meant.
    shown
        The report as messages name it.

    Raises
    ------
    BaselineError
        If the report can't be read, does not hold the benchmark, or holds an evaluation of
        it that is not complete.
    """
    shown = shown or str(path)
    entries = _read(finished_report(path, shown), shown)["benchmarks"]
    found = [entry for entry in entries if entry["name"] == benchmark]
    if len(found) > 1:
        found = [entry for entry in found if Path(entry["file"]).name == file.name]
    if len(found) != 1:
        there = [entry["name"] for entry in entries]
        why = "several benchmarks" if benchmark in there else "no benchmark"
        raise BaselineError(
            f"the report holds {why} named {benchmark!r}: "
            + did_you_mean(benchmark, set(there), what="it holds"),
            file=shown,
            hint="give each benchmark a name of its own, the same in both runs",
        )
    (entry,) = found
    for check in entry["checks"]:
        if check["gate"] in ("data", "expect") and check["verdict"] in ("FAIL", "INCONCLUSIVE"):
            raise BaselineError(
                f"the earlier run of {benchmark} is not complete: {check['reason']}",
                file=shown,
                hint="compare with a complete run",
            )
    provenance = {"ruler": entry["ruler"]} if entry.get("ruler") else {}
    return document(benchmark, {a["agent"]: _agent(a) for a in entry["agents"]}, provenance)


def _agent(found: _Agent) -> AgentDocument:
    values = {name: estimate["value"] for name, estimate in found["estimates"].items()}
    return {
        "key_metrics": {n: {"value": v} for n, v in (values | found["key_metrics"]).items()},
        "tasks": found["task_scores"],
    }


def _read(path: Path, shown: str) -> _Report:
    hint = "name the report.json of an earlier run, relative to the benchmark file"
    try:
        stat = path.stat()
        return _decoded(os.fspath(path), stat.st_mtime_ns, stat.st_size)
    except FileNotFoundError:
        what = "there is no such report to compare with"
        raise BaselineError(what, file=shown, hint=hint) from None
    except OSError as error:
        what = f"this report can't be read: {error.strerror or error}"
        raise BaselineError(what, file=shown, hint=hint) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        what = f"this is no report of an earlier run: {error}"
        raise BaselineError(what, file=shown, hint=hint) from None


@lru_cache(maxsize=1)  # the benchmarks of a run mostly name the same one
def _decoded(path: str, _changed: int, _size: int) -> _Report:
    with collector_paused():
        return msgspec.json.decode(Path(path).read_bytes(), type=_Report)
