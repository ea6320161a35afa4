"""The JSON Schema of ``report.json``, made from the types of the results.

Run ``python -m pytest_evalmetrics.reports.schema`` after a change of those types.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from pytest_evalmetrics.reports.reporters import REPORT_SCHEMA_VERSION
from pytest_evalmetrics.results import BenchmarkResult, Verdict

__all__ = ["report_schema"]


def report_schema() -> dict[str, Any]:
    """Return the schema."""
    entry = TypeAdapter(BenchmarkResult).json_schema(mode="serialization")
    definitions = entry.pop("$defs")
    verdict = {"type": "string", "enum": [str(v) for v in Verdict]}
    entry["properties"] = {"id": entry["properties"].pop("id"), "verdict": verdict} | entry[
        "properties"
    ]
    entry["required"] = [*(name for name in entry["required"] if name != "flips"), "verdict"]
    agent = definitions["AgentResult"]  # its aggregate metrics are a file of their own
    del agent["properties"]["aggregate"]
    agent["required"].remove("aggregate")
    agent["properties"]["task_scores"] = {
        "description": "task -> column -> each rollout's number or label, null where it is missing",
        "type": "object",
        "additionalProperties": {
            "type": "object",
            "additionalProperties": {
                "type": "array",
                "items": {"type": ["number", "string", "null"]},
            },
        },
    }
    agent["required"].append("task_scores")
    definitions["BenchmarkResult"] = entry
    definitions["Run"] = _run()
    for definition in definitions.values():
        if definition.get("type") == "object":
            definition["additionalProperties"] = False
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pytest-evalmetrics report",
        "type": "object",
        "properties": {
            "schema_version": {"const": REPORT_SCHEMA_VERSION},
            "verdict": verdict,
            "benchmarks": {"type": "array", "items": {"$ref": "#/$defs/BenchmarkResult"}},
            "not_evaluated": {
                "description": "benchmarks that were collected and never judged",
                "type": "array",
                "items": {"type": "string"},
            },
            "skipped": {
                "description": "benchmarks that a mark or their file skips, and why",
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"id": {"type": "string"}, "reason": {"type": "string"}},
                    "required": ["id", "reason"],
                    "additionalProperties": False,
                },
            },
            "deselected": {
                "description": "benchmarks that the run's selection leaves out (-k, -m, ...); of "
                "a file that --lf passes over, the file",
                "type": "array",
                "items": {"type": "string"},
            },
            "history": {
                "description": "benchmark -> its last runs, the oldest first and this one last; "
                "empty without --evalmetrics-history",
                "type": "object",
                "additionalProperties": {"type": "array", "items": {"$ref": "#/$defs/Run"}},
            },
        },
        "required": [
            "schema_version",
            "verdict",
            "benchmarks",
            "not_evaluated",
            "skipped",
            "deselected",
            "history",
        ],
        "additionalProperties": False,
        "$defs": definitions,
    }


def _run() -> dict[str, Any]:
    """Return the schema of a line of the history."""
    number, whole, text = {"type": "number"}, {"type": "integer"}, {"type": "string"}
    point = {"value": number, "low": number, "high": number, "tasks": whole, "rollouts": whole}
    maybe = {"type": ["string", "null"]}
    properties: dict[str, Any] = {
        "schema_version": {"const": 1},
        "benchmark": text,
        "time": text,
        "commit": maybe,
        "branch": maybe,
        "url": maybe,
        "verdict": {"enum": [str(v) for v in Verdict]},
        "usable": {"type": "boolean"},
        "starts": {"type": "boolean"},
        "agents": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "additionalProperties": {
                    "type": "object",
                    "properties": point,
                    "required": ["value", "tasks", "rollouts"],
                    "additionalProperties": False,
                },
            },
        },
    }
    required = list(properties)
    properties["reason"] = text
    properties["drift"] = {"type": "array", "items": text}
    return {"type": "object", "properties": properties, "required": required}


if __name__ == "__main__":
    target = Path(__file__).parents[1] / "schemas" / "report.schema.json"
    target.write_text(json.dumps(report_schema(), indent=2) + "\n", encoding="utf-8")
