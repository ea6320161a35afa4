import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from forked import completed
from jsonschema import Draft202012Validator

from pytest_evalmetrics.config.benchmark_schema import (
    SHIPPED,
    keys_of_metric_type,
    keys_of_scorer,
    schema_of_file,
)


def test_the_module_writes_what_is_shipped(tmp_path):
    module = "pytest_evalmetrics.write_schema"
    written = tmp_path / "made.json"
    subprocess.run(
        [sys.executable, "-W", "error", "-m", module, str(written)], check=True
    )
    assert written.read_bytes() == SHIPPED.read_bytes(), f"run: python -m {module}"


def test_pytest_prints_what_is_shipped():
    command = [sys.executable, "-m", "pytest", "--evalmetrics-schema"]
    printed = completed(command, Path.cwd()).stdout
    assert json.loads(printed) == json.loads(SHIPPED.read_text(encoding="utf-8"))


def test_the_schema_is_one_of_the_draft_that_it_names(schema):
    assert schema["$schema"] == Draft202012Validator.META_SCHEMA["$id"]
    Draft202012Validator.check_schema(schema)


def test_the_shipped_schema_is_that_of_the_types_that_validate():
    assert json.loads(SHIPPED.read_text(encoding="utf-8")) == schema_of_file()


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


# -- the keys of a scorer or metric, in words ------------------------------------------------


def test_the_keys_of_a_scorer_are_listed_with_their_types_defaults_and_words():
    """Keys of mappings are indented below their own."""
    assert keys_of_scorer("remote") == [
        "url (text, required): where to POST",
        (
            "body (anything, required): the request; {{ item.column }} in it is filled in for "
            "each row"
        ),
        "scores (list of mapping, required): the scores in the answer",
        "  name (text, required): lower-case letters, digits and _",
        "  parser (mapping, required): its place in the answer",
        "    type (json, default json): the answer is JSON",
        "    json_path (text, required): JSONPath; the first match counts",
        "  description (text, default none): a description shown in reports",
        "  minimum (number, default none): below it is the row's error",
        "  maximum (number, default none): above it is the row's error",
        "  direction (higher or lower, default none): the better direction",
        (
            "api_key_secret (text or mapping, default none): the key's name in the environment; "
            "sent as Authorization: Bearer"
        ),
        "  root (text, required): the key's name in the environment",
        (
            "timeout_seconds (number, default none): for one attempt in all; default "
            "params.request_timeout, else 30"
        ),
        (
            "max_retries (whole number, default none): attempts after the first; default "
            "params.max_retries, else 3"
        ),
    ]


def test_a_default_that_is_true_or_false_is_written_as_in_yaml():
    lines = keys_of_scorer("tool_call_accuracy")
    assert (
        "strict_order (true or false, default true): whether the order of the calls counts"
        in lines
    )


def test_the_keys_of_a_scorer_of_ones_own_are_not_known():
    assert keys_of_scorer("own_scorer") is None


def test_the_keys_of_a_type_of_metric_are_listed_without_the_type():
    assert keys_of_metric_type("kappa") == [
        "gold (text, required): the column of true labels",
        "predicted (text, required): the column of predicted labels",
        (
            "average (binary or macro or micro, default none): of precision, recall and f1: "
            "binary (default), macro or micro"
        ),
        (
            "positive (text or whole number or number or true or false, default none): the "
            "label that counts, of binary; default 1 or true"
        ),
        "weights (linear or quadratic, default none): weights of kappa",
    ]
