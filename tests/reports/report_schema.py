"""The JSON Schema of ``report.json``, made from the types of the results.

Run ``python tests/reports/report_schema.py`` after a change of those types.
"""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

import msgspec

from pytest_evalmetrics.model.results import BenchmarkResult, RunReport
from pytest_evalmetrics.model.verdicts import Verdict
from pytest_evalmetrics.reports.report_json import SCHEMA_VERSION

_VERDICT = {"type": "string", "enum": [str(verdict) for verdict in Verdict]}
_TEXTS = {
    "bound": "what is required, in words; `required` has it as data",
    "reason": "why the check does not hold, or remarks; `reasons` have it as data",
    "hint": "the way out of a check that does not hold",
}
# of these, fields without a value are left out
_ALWAYS = {
    "HistoryPoint": ["value", "tasks", "rollouts"],
    "HistoryRun": [
        "schema_version",
        "benchmark",
        "time",
        "commit",
        "branch",
        "url",
        "verdict",
        "usable",
        "starts",
        "agents",
    ],
}
_DESCRIPTIONS = {
    "not_evaluated": "benchmarks that were collected and never judged",
    "skipped": "benchmarks that a mark or their file skips, and why",
    "deselected": "benchmarks that the run's selection leaves out (-k, -m, ...); of a "
    "file that --lf passes over, the file",
    "history": "benchmark -> its last runs, the oldest first and this one last; empty "
    "without --evalmetrics-history",
}


def report_schema() -> dict[str, Any]:
    """Return the schema."""
    _, definitions = msgspec.json.schema_components(
        [RunReport, BenchmarkResult],
        schema_hook=_schema_of,
        ref_template="#/$defs/{name}",
    )
    for name, definition in definitions.items():
        if "description" in definition:  # from Python 3.13 on it is not indented
            definition["description"] = inspect.cleandoc(definition["description"])
        if "properties" in definition:  # defaults are written, too
            definition["required"] = _ALWAYS.get(name, list(definition["properties"]))
        if definition.get("type") == "object":
            definition["additionalProperties"] = False
    _add_verdict(definitions["BenchmarkResult"])
    _put_texts(definitions["BenchmarkResult"])
    _add_texts(definitions["Check"])
    _add_tasks(definitions["AgentResult"])
    definitions = _used(definitions)
    del definitions["HistoryRun"]["properties"]["baseline"]
    report = definitions.pop("RunReport")
    for name, description in _DESCRIPTIONS.items():
        report["properties"][name]["description"] = description
    parts = {
        "schema_version": {"const": SCHEMA_VERSION},
        "verdict": _VERDICT,
        **report["properties"],
    }
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pytest-evalmetrics report",
        "type": "object",
        "properties": parts,
        "required": list(parts),
        "additionalProperties": False,
        "$defs": definitions,
    }
    return json.loads(json.dumps(schema))


def _schema_of(kind: type) -> dict[str, Any]:
    """Return the schema of a type that msgspec does not know: any value is an object."""
    if kind is object:
        return {"description": "any value of JSON"}
    raise NotImplementedError


def _add_verdict(result: dict[str, Any]) -> None:
    """Add a benchmark's verdict, which its checks give; flips are there if it fails.

    Behaviour is there if the benchmark asks for it, and a stale baseline if it has one.
    """
    identity = {"id": result["properties"].pop("id"), "verdict": _VERDICT}
    result["properties"] = identity | result["properties"]
    left_out = ("flips", "separators", "behaviour", "stale", "accepted_levels")
    required = [name for name in result["required"] if name not in left_out]
    result["required"] = required
    result["required"].append("verdict")


def _put_texts(result: dict[str, Any]) -> None:
    """Put the texts of the notes and changes in the place of their facts."""
    texts = {"type": "array", "items": {"type": "string"}, "default": []}
    written = {"note_facts": "notes", "change_facts": "changes"}
    properties = {}
    for name, schema in result["properties"].items():
        if name in written:
            properties[written[name]] = texts
        else:
            properties[name] = schema
    result["properties"] = properties
    result["required"] = [written.get(name, name) for name in result["required"]]


def _used(definitions: dict[str, Any]) -> dict[str, Any]:
    """Leave out the types that stand in notes and changes alone."""
    used = {"RunReport"}
    found = {"RunReport"}
    while found:
        texts = json.dumps([definitions[name] for name in found])
        found = set(re.findall(r'"#/\$defs/([^"]+)"', texts)) - used
        used |= found
    return {name: schema for name, schema in definitions.items() if name in used}


def _add_texts(check: dict[str, Any]) -> None:
    """Add the words; the tier is there if the check is advisory."""
    check["required"].remove("tier")
    for name, description in _TEXTS.items():
        check["properties"][name] = {"type": "string", "description": description}
        check["required"].append(name)


def _add_tasks(agent: dict[str, Any]) -> None:
    """Add what is put in as text; its aggregate metrics are a file of their own."""
    del agent["properties"]["aggregate"]
    agent["required"].remove("aggregate")
    values = {"type": "array", "items": {"type": ["number", "string", "null"]}}
    agent["properties"]["task_scores"] = {
        "description": "task -> column -> each rollout's number or label, null where it is missing",
        **_mapping(_mapping(values)),
    }
    agent["properties"]["task_content"] = {
        "description": "task -> the hash of its content; null if the files hold none",
        "anyOf": [_mapping({"type": "string"}), {"type": "null"}],
    }
    agent["required"] += ["task_scores", "task_content"]


def _mapping(values: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values}


if __name__ == "__main__":
    schemas = Path(__file__).parents[2] / "pytest_evalmetrics" / "schemas"
    (schemas / "report.schema.json").write_text(
        json.dumps(report_schema(), indent=2) + "\n"
    )
