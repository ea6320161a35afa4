from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from pytest_evalmetrics.config.schema import SHIPPED, schema, write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def test_what_is_shipped_is_what_is_made() -> None:
    shipped = json.loads(SHIPPED.read_text(encoding="utf-8"))
    assert shipped == schema(), "run: python -m pytest_evalmetrics.config.schema"


def test_written_alike_each_time(tmp_path: Path) -> None:
    write(tmp_path / "new" / "a.json")
    assert (tmp_path / "new" / "a.json").read_bytes() == SHIPPED.read_bytes()


def test_it_is_a_schema_of_the_draft_that_it_names() -> None:
    made = schema()
    assert made["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    Draft202012Validator.check_schema(made)


def objects(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        if "properties" in node:
            yield node
        for child in node.values():
            yield from objects(child)
    elif isinstance(node, list):
        for child in node:
            yield from objects(child)


def test_each_key_is_described_and_no_other_allowed() -> None:
    made = schema()
    del made["then"]  # says again what stands above
    for node in objects(made):
        # their keys are their own
        others_scorer = list(node["properties"]) in (
            ["type"],
            ["type", "function", "python", "scores"],
        )
        assert node["additionalProperties"] is others_scorer
        for name, key in node["properties"].items():
            assert key.get("description"), name
            assert "\n" not in key["description"]


def test_each_definition_is_used_and_each_reference_defined() -> None:
    made = schema()
    used = set(re.findall(r'"#/\$defs/(\w+)"', json.dumps(made)))
    assert used == set(made["$defs"])


def test_every_regular_expression_means_the_same_to_an_editor() -> None:
    # ECMAScript knows neither \Z nor (?P<name>) nor (?i)
    for pattern in re.findall(r'"pattern": "((?:[^"\\]|\\.)*)"', json.dumps(schema())):
        assert not re.search(r"\\[AZz]|\(\?[^:=!]", json.loads(f'"{pattern}"'))


@pytest.mark.parametrize(
    ("file", "valid"),
    [
        ({"benchmark": {"name": "a"}}, False),
        ({"defaults": {}, "benchmark": {"name": "a"}}, True),  # rollouts may come from there
        ({"defaults": {"rollouts": "r"}, "benchmark": {"name": "a"}}, True),
        ({"defaults": {"rollouts": "r"}, "benchmark": {}}, False),
        ({"defaults": {"rollouts": {"format": "x"}}, "benchmarks": [{"name": "a"}]}, True),
        ({"defaults": {"name": "a"}, "benchmarks": [{"name": "a"}]}, False),
        ({"defaults": {"foo": 1}, "benchmarks": [{"name": "a"}]}, False),
        ({"defaults": {}, "benchmarks": [{"name": "a", "foo": 1}]}, False),
        ({"defaults": {}, "benchmarks": [{"name": "a", "expect": {"tasks": 0}}]}, False),
        ({"benchmarks": [{"name": "a", "rollouts": "r"}]}, True),
        ({"benchmarks": [{"name": "a", "rollouts": {"format": "x"}}]}, False),
    ],
)
def test_what_is_required_depends_on_defaults(file: Any, valid: bool) -> None:
    assert Draft202012Validator(schema()).is_valid(file) is valid


def test_the_command_writes_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    module = "pytest_evalmetrics.config.schema"
    subprocess.run([sys.executable, "-W", "error", "-m", module, str(path)], check=True)
    assert path.read_bytes() == SHIPPED.read_bytes()
