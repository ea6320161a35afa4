"""report.json: a run's report as JSON, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from pytest_evalmetrics.errors import ArtifactError
from pytest_evalmetrics.model.changes import ChangeInWords
from pytest_evalmetrics.model.notes import Remark
from pytest_evalmetrics.model.results import BenchmarkResult, RunReport
from pytest_evalmetrics.model.tiers import Tier
from pytest_evalmetrics.reports.sentences import bound_of, hint_of, reason_of
from pytest_evalmetrics.reports.sentences.changes import change_texts
from pytest_evalmetrics.reports.sentences.notes import note_texts

if TYPE_CHECKING:
    from pytest_evalmetrics.model.results import Check

SCHEMA_VERSION = 2


def report_document(report: RunReport) -> dict[str, Any]:
    """Return a report as builtins, as its schema describes it, but for the scores of tasks."""
    return {
        "schema_version": SCHEMA_VERSION,
        "verdict": str(report.verdict),
        "benchmarks": [_benchmark(result) for result in report.benchmarks],
        "not_evaluated": list(report.not_evaluated),
        "skipped": msgspec.to_builtins(report.skipped),
        "deselected": list(report.deselected),
        "history": msgspec.to_builtins(report.history),
    }


def result_document(result: BenchmarkResult) -> dict[str, Any]:
    """Return a result as builtins, without NeMo Gym's aggregates, which are a file."""
    agents = tuple(structs.replace(agent, aggregate={}) for agent in result.agents)
    facts = msgspec.to_builtins(structs.replace(result, agents=agents))
    for agent in facts["agents"]:
        del agent["aggregate"]
    return {"id": result.id, "verdict": str(result.verdict), **facts}


def _benchmark(result: BenchmarkResult) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for key, value in result_document(result).items():
        if key == "note_facts":
            document["notes"] = list(note_texts(result.notes))
        elif key == "change_facts":
            document["changes"] = list(change_texts(result.changes))
        else:
            document[key] = value
    if not result.flips:  # the benchmark passes, or its files hold no texts
        del document["flips"]
    if not result.separators:
        del document["separators"]
    if result.stale is None:
        del document["stale"]
    if not result.behaviour:  # the benchmark does not ask for it
        del document["behaviour"]
    if not result.accepted_levels:
        del document["accepted_levels"]
    pairs = zip(result.checks, document["checks"], strict=True)
    document["checks"] = [_check(check, facts) for check, facts in pairs]
    return document


def _check(check: Check, facts: dict[str, Any]) -> dict[str, Any]:
    """Put the texts beside the facts that they are made of."""
    if check.tier is Tier.REQUIRED:
        del facts["tier"]
    return {
        "gate": str(check.gate),
        "name": check.name,
        "verdict": str(check.verdict),
        "agent": check.agent,
        "value": check.value,
        "bound": bound_of(check),
        "reason": reason_of(check),
        "hint": hint_of(check),
        **facts,
    }


class _Version(msgspec.Struct):
    schema_version: int


class _TextsOfBenchmark(msgspec.Struct):
    notes: tuple[str, ...]
    changes: tuple[str, ...]


class _Texts(msgspec.Struct):
    benchmarks: tuple[_TextsOfBenchmark, ...]


def _with_texts(report: RunReport, texts: _Texts) -> RunReport:
    """Add the notes and changes, of which a report has the texts."""
    benchmarks = []
    for result, of_result in zip(report.benchmarks, texts.benchmarks, strict=True):
        with_texts = structs.replace(
            result,
            notes=tuple(map(Remark, of_result.notes)),
            changes=tuple(map(ChangeInWords, of_result.changes)),
        )
        benchmarks.append(with_texts)
    return structs.replace(report, benchmarks=tuple(benchmarks))


def read_report(data: bytes) -> RunReport:
    """Read a report.json of today's form; ArtifactError for another one."""
    hint = (
        f"run the benchmarks with a version that writes schema version {SCHEMA_VERSION}"
    )
    try:
        version = msgspec.json.decode(data, type=_Version).schema_version
        if version == SCHEMA_VERSION:
            report = msgspec.json.decode(data, type=RunReport)
            texts = msgspec.json.decode(data, type=_Texts)
            return _with_texts(report, texts)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ArtifactError(f"this is not the report of a run: {error}") from error
    what = f"this report has the schema version {version}"
    raise ArtifactError(f"{what}, and {SCHEMA_VERSION} is known", hint=hint)
