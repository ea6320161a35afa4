import json
import re
import subprocess
import sys

import pytest
from jsonschema import Draft202012Validator

from pytest_evalmetrics.config.benchmark_schema import SHIPPED


def test_the_module_writes_what_is_shipped_a_schema_of_the_draft_that_it_names(
    schema, tmp_path
):
    module = "pytest_evalmetrics.write_schema"
    written = tmp_path / "made.json"
    subprocess.run(
        [sys.executable, "-W", "error", "-m", module, str(written)], check=True
    )
    assert written.read_bytes() == SHIPPED.read_bytes(), f"run: python -m {module}"
    assert schema["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    Draft202012Validator.check_schema(schema)


def objects(node):
    if isinstance(node, dict):
        if "properties" in node:
            yield node
        for child in node.values():
            yield from objects(child)
    elif isinstance(node, list):
        for child in node:
            yield from objects(child)


def test_each_key_is_described_and_no_other_allowed(schema):
    for node in objects({**schema, "then": None}):  # which says again what stands above
        own = (
            ["type"],
            ["type", "function", "python", "scores"],
            ["name"],
        )  # scorers, gate rules
        assert node["additionalProperties"] is (list(node["properties"]) in own)
        for name, key in node["properties"].items():
            assert key.get("description"), name
            assert "\n" not in key["description"]


def test_definitions_and_regular_expressions_are_those_an_editor_knows(schema):
    text = json.dumps(schema)
    assert set(re.findall(r'"#/\$defs/(\w+)"', text)) == set(schema["$defs"])
    # ECMAScript knows neither \Z nor (?P<name>) nor (?i)
    for pattern in re.findall(r'"pattern": "((?:[^"\\]|\\.)*)"', text):
        assert not re.search(r"\\[AZz]|\(\?[^:=!]", json.loads(f'"{pattern}"'))


@pytest.mark.parametrize(
    ("file", "valid"),
    [
        ({"benchmark": {"name": "a"}}, False),
        (
            {"defaults": {}, "benchmark": {"name": "a"}},
            True,
        ),  # rollouts may come from there
        ({"defaults": {"rollouts": "r"}, "benchmark": {"name": "a"}}, True),
        ({"defaults": {"rollouts": "r"}, "benchmark": {}}, False),
        (
            {"defaults": {"rollouts": {"format": "x"}}, "benchmarks": [{"name": "a"}]},
            True,
        ),
        ({"defaults": {"name": "a"}, "benchmarks": [{"name": "a"}]}, False),
        ({"defaults": {"foo": 1}, "benchmarks": [{"name": "a"}]}, False),
        ({"defaults": {}, "benchmarks": [{"name": "a", "foo": 1}]}, False),
        (
            {"defaults": {}, "benchmarks": [{"name": "a", "expect": {"tasks": 0}}]},
            False,
        ),
        ({"benchmarks": [{"name": "a", "rollouts": "r"}]}, True),
        ({"benchmarks": [{"name": "a", "rollouts": {"format": "x"}}]}, False),
    ],
)
def test_what_is_required_depends_on_defaults(schema, file, valid):
    assert Draft202012Validator(schema).is_valid(file) is valid


@pytest.mark.parametrize(
    ("scorer", "valid"),
    [
        ({"type": "python", "function": "a.b:c"}, True),
        ({"type": "python", "function": "a.b:c", "depth": 3}, True),
        ({"python": "a.b:c"}, True),
        ({"python": "a.b:c", "scores": ["x", "y"]}, True),
        ({"type": "python", "python": "a.b:c"}, False),
        ({"type": "python", "function": "a.b:c", "python": "a.b:c"}, False),
        ({"type": "python"}, False),
        ({"python": "a.b"}, False),
        ({"python": "a.b:c", "scores": []}, False),
    ],
)
def test_a_function_that_scores_is_written_in_one_of_two_ways(schema, scorer, valid):
    benchmark = {"name": "a", "dataset": "d", "scorers": [scorer]}
    assert Draft202012Validator(schema).is_valid({"benchmark": benchmark}) is valid


@pytest.mark.parametrize(
    ("drop", "valid"),
    [(0, True), (0.5, True), ("10%", True), (-0.1, False), ("ten", False)],
)
def test_a_number_is_within_its_bounds(schema, drop, valid):
    baseline = {"rule": "absolute", "max_drop": drop}
    benchmark = {"name": "a", "rollouts": "r", "baseline": baseline}
    assert Draft202012Validator(schema).is_valid({"benchmark": benchmark}) is valid
