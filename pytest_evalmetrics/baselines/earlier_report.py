"""An earlier run's ``report.json`` as a baseline."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec

from pytest_evalmetrics.baselines.document import baseline_document
from pytest_evalmetrics.errors import BaselineError, did_you_mean
from pytest_evalmetrics.gc_pause import collector_paused
from pytest_evalmetrics.model.baseline import (
    AgentDocument,
    BaselineDocument,
    MetricDocument,
    Provenance,
    Tasks,
)
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.run_folder import finished_report

# -- what is read of a report ----------------------------------------------------------------


class _Estimate(msgspec.Struct, frozen=True):
    value: float | None


class _Agent(msgspec.Struct, frozen=True):
    agent: str
    estimates: Mapping[str, _Estimate]
    key_metrics: Mapping[str, float]
    task_scores: Tasks
    task_content: Mapping[str, str] | None = None
    task_ids: Literal["names", "positions"] = "names"


class _Check(msgspec.Struct, frozen=True):
    gate: str
    verdict: Verdict
    reason: str


class _Entry(msgspec.Struct, frozen=True):
    name: str
    file: str
    agents: list[_Agent]
    checks: list[_Check]
    ruler: Mapping[str, Mapping[str, object]] | None = None
    accepted_levels: tuple[str, ...] = ()


class _Report(msgspec.Struct, frozen=True):
    schema_version: int
    benchmarks: list[_Entry]


# of report.json; both hold what a baseline needs
_READ_VERSIONS = (1, 2)


# -- a baseline of it ------------------------------------------------------------------------


def from_report(
    path: Path, benchmark: str, *, file: Path, shown: str
) -> BaselineDocument:
    """Take one benchmark's run out of a report, as a baseline.

    `file` is the benchmark's file, and `shown` the report's name in messages.
    """
    report = _read(finished_report(path, shown), shown)
    _refuse_version(report.schema_version, shown)
    entry = _entry_of(report, benchmark, file, shown)
    _refuse_incomplete(entry, shown)
    agents = {agent.agent: _agent_document(agent) for agent in entry.agents}
    # a report without a ruler is one that measured nothing that could change
    provenance = Provenance(
        ruler=entry.ruler or None, accepted_levels=entry.accepted_levels or None
    )
    return baseline_document(benchmark, agents, provenance)


def _refuse_version(version: int, shown: str) -> None:
    if version not in _READ_VERSIONS:
        raise BaselineError(
            f"this report has the schema version {version}, and 1 and 2 are known",
            file=shown,
            hint=(
                "update pytest-evalmetrics, or run the earlier benchmarks again with "
                "this version"
            ),
        )


def _entry_of(report: _Report, benchmark: str, file: Path, shown: str) -> _Entry:
    """Find a benchmark by its name, and by its file's name where several have that."""
    matches = [entry for entry in report.benchmarks if entry.name == benchmark]
    if len(matches) > 1:
        matches = [entry for entry in matches if Path(entry.file).name == file.name]
    if len(matches) == 1:
        return matches[0]
    names = [entry.name for entry in report.benchmarks]
    count = "several benchmarks" if benchmark in names else "no benchmark"
    guess = did_you_mean(benchmark, set(names), what="it holds")
    raise BaselineError(
        f"the report holds {count} named {benchmark!r}: {guess}",
        file=shown,
        hint="give each benchmark a name of its own, the same in both runs",
    )


def _refuse_incomplete(entry: _Entry, shown: str) -> None:
    for check in entry.checks:
        if check.gate in (Gate.DATA, Gate.EXPECT) and check.verdict.fails:
            raise BaselineError(
                f"the earlier run of {entry.name} is not complete: {check.reason}",
                file=shown,
                hint="compare with a complete run",
            )


def _agent_document(agent: _Agent) -> AgentDocument:
    metrics = {
        name: MetricDocument(value=estimate.value)
        for name, estimate in agent.estimates.items()
    }
    for name, value in agent.key_metrics.items():
        metrics[name] = MetricDocument(value=value)
    return AgentDocument(
        key_metrics=metrics,
        tasks=agent.task_scores,
        ids=agent.task_ids,
        content=agent.task_content or None,
    )


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


# the benchmarks of a run mostly name the same report
@lru_cache(maxsize=1)
def _decoded(path: str, _changed: int, _size: int) -> _Report:
    with collector_paused():
        return msgspec.json.decode(Path(path).read_bytes(), type=_Report)
