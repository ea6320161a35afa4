"""The JSON Schema of ``report.json``, made from the types of the results.

Run ``python tests/reports/report_schema.py`` after a change of those types.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from pytest_evalmetrics.model.results import BenchmarkResult, Verdict
from pytest_evalmetrics.reports.reporters import REPORT_SCHEMA_VERSION

_TEXT, _NUMBER, _WHOLE = ({"type": kind} for kind in ("string", "number", "integer"))
_VERDICTS = [str(verdict) for verdict in Verdict]


def report_schema() -> dict[str, Any]:
    """Return the schema."""
    _, definitions = msgspec.json.schema_components(
        [BenchmarkResult], ref_template="#/$defs/{name}"
    )
    for definition in definitions.values():
        if "properties" in definition:  # defaults are written, too
            definition["required"] = list(definition["properties"])
    entry = definitions["BenchmarkResult"]
    verdict = {"type": "string", "enum": _VERDICTS}
    properties = entry["properties"]
    entry["properties"] = {"id": properties.pop("id"), "verdict": verdict} | properties
    entry["required"] = [
        *(name for name in entry["required"] if name != "flips"),
        "verdict",
    ]
    agent = definitions["AgentResult"]  # its aggregate metrics are a file of their own
    del agent["properties"]["aggregate"]
    agent["required"].remove("aggregate")
    agent["properties"]["task_scores"] = {
        "description": "task -> column -> each rollout's number or label, null where it is missing",
        **_mapping(_mapping(_list({"type": ["number", "string", "null"]}))),
    }
    agent["properties"]["task_content"] = {
        "description": "task -> the hash of its content; null if the files hold none",
        "anyOf": [_mapping({"type": "string"}), {"type": "null"}],
    }
    agent["properties"]["task_ids"] = {
        "description": "whether ids of tasks are names, or positions in a data set",
        "enum": ["names", "positions"],
    }
    agent["required"] += ["task_scores", "task_content", "task_ids"]
    definitions |= {"BenchmarkResult": entry, "Run": _run()}
    for definition in definitions.values():
        if definition.get("type") == "object":
            definition["additionalProperties"] = False
    descriptions = {
        "not_evaluated": "benchmarks that were collected and never judged",
        "skipped": "benchmarks that a mark or their file skips, and why",
        "deselected": "benchmarks that the run's selection leaves out (-k, -m, ...); of a file "
        "that --lf passes over, the file",
        "history": "benchmark -> its last runs, the oldest first and this one last; empty without "
        "--evalmetrics-history",
    }
    parts: dict[str, dict[str, Any]] = {
        "schema_version": {"const": REPORT_SCHEMA_VERSION},
        "verdict": verdict,
        "benchmarks": _list({"$ref": "#/$defs/BenchmarkResult"}),
        "not_evaluated": _list(_TEXT),
        "skipped": _list(_closed({"id": _TEXT, "reason": _TEXT})),
        "deselected": _list(_TEXT),
        "history": _mapping(_list({"$ref": "#/$defs/Run"})),
    }
    for name, description in descriptions.items():
        parts[name] = {"description": description, **parts[name]}
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pytest-evalmetrics report",
        **_closed(parts),
        "$defs": definitions,
    }
    return json.loads(json.dumps(schema))


def _run() -> dict[str, Any]:
    """Return the schema of a line of the history."""
    point = {
        "value": _NUMBER,
        "low": _NUMBER,
        "high": _NUMBER,
        "tasks": _WHOLE,
        "rollouts": _WHOLE,
    }
    properties = {
        "schema_version": {"const": 1},
        "benchmark": _TEXT,
        "time": _TEXT,
        **{key: {"type": ["string", "null"]} for key in ("commit", "branch", "url")},
        "verdict": {"enum": _VERDICTS},
        "usable": {"type": "boolean"},
        "starts": {"type": "boolean"},
        "agents": _mapping(_mapping(_closed(point, optional=("low", "high")))),
        "reason": _TEXT,
        "drift": _list(_TEXT),
    }
    return _closed(properties, optional=("reason", "drift"))


def _closed(
    properties: dict[str, Any], optional: tuple[str, ...] = ()
) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def _mapping(values: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": values}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


if __name__ == "__main__":
    schemas = Path(__file__).parents[2] / "pytest_evalmetrics" / "schemas"
    (schemas / "report.schema.json").write_text(
        json.dumps(report_schema(), indent=2) + "\n"
    )
