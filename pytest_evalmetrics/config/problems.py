"""Conversion of errors of pydantic and PyYAML to problems of a benchmark file."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING

import msgspec

from pytest_evalmetrics.config import benchmark_schema
from pytest_evalmetrics.config.yaml_reader import (
    LONG,
    YamlNode,
    read_scalar,
    show_path,
)
from pytest_evalmetrics.errors import Problem, did_you_mean
from pytest_evalmetrics.layout import shortened

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from pydantic_core import ErrorDetails

DEFAULTS = "defaults"
_UNKNOWN = "unexpected_keyword_argument"
_MISSING = "missing"


class _Fault(msgspec.Struct, frozen=True):
    """An error of pydantic's, at the place that the file has for it."""

    kind: str
    message: str
    expected: str | None  # None for a message of another kind, or about a key
    top: YamlNode  # the benchmark
    steps: list[tuple[str | int, YamlNode]]  # from there to the value
    key: str | None  # the unknown, missing or invalid key

    @property
    def trail(self) -> list[YamlNode]:
        return [self.top, *(node for _, node in self.steps)]

    @property
    def node(self) -> YamlNode:
        return self.trail[-1]

    @property
    def at(self) -> tuple[str | int, ...]:
        return tuple(part for part, _ in self.steps)

    @property
    def is_about_whole_mapping(self) -> bool:
        """Whether it is of several keys together: only valid ones can contradict each other."""
        return self.kind == "spec" and isinstance(self.node.value, dict)

    @property
    def is_reported(self) -> bool:
        """Whether what is read of the file is a problem already."""
        if any(node.broken for node in self.trail):
            return True
        return self.is_about_whole_mapping and _holds_broken(self.node)

    @property
    def is_of_present_values(self) -> bool:
        """Whether it is neither of a missing key nor of keys that need each other."""
        return not self.is_about_whole_mapping and self.kind != _MISSING


def problems_of(
    errors: Iterable[ErrorDetails], top: YamlNode, *, complete: bool = True
) -> list[Problem]:
    """Turn pydantic's errors about the benchmark `top` into problems."""
    # one message for everything expected at one place
    groups: dict[object, list[_Fault]] = {}
    for number, error in enumerate(errors):
        if _is_of_refused_items(error):
            continue
        fault = _located(error, top)
        if fault.is_reported or not (complete or fault.is_of_present_values):
            continue
        group: object = fault.at
        if fault.expected is None:
            group = number
        groups.setdefault(group, []).append(fault)
    return list(dict.fromkeys(_problem(group) for group in groups.values()))


def _is_of_refused_items(error: ErrorDetails) -> bool:
    """Say whether a list is called too short only because its items were refused."""
    items = error["input"]
    if error["type"] != "too_short" or not isinstance(items, list):
        return False
    least: int = error["ctx"]["min_length"]
    return len(items) >= least


def _located(error: ErrorDetails, top: YamlNode) -> _Fault:
    kind = error["type"]
    place = list(error["loc"])
    key: str | None = None
    if kind in (_MISSING, _UNKNOWN):
        key = str(place.pop())
    elif place[-1:] == ["[key]"]:
        key = str(place[-2])
        del place[-2:]
    words = _expectation(kind, error["msg"], error.get("ctx", {}))
    expected = words if key is None else None
    return _Fault(kind, words or error["msg"], expected, top, top.follow(place), key)


def _holds_broken(node: YamlNode) -> bool:
    return node.broken or any(_holds_broken(child) for _, child in node.children)


def _problem(group: list[_Fault]) -> Problem:
    """Describe the faults at one place; several are alternatives of a union."""
    fault = group[0]
    if fault.expected is not None:
        return _unexpected_value(group)
    if fault.key is None:
        return fault.node.problem(fault.message)
    if fault.kind == _MISSING:
        return _missing_key(fault, fault.key)
    return _wrong_key(fault, fault.key)


def _unexpected_value(group: list[_Fault]) -> Problem:
    fault = group[0]
    expected = dict.fromkeys(
        alternative.expected
        for alternative in group
        if alternative.expected is not None
    )
    between = " or "
    if any(" or " in words for words in expected):
        between = ", or "
    message = mismatch(between.join(expected), fault.node.value)
    kinds = {alternative.kind for alternative in group}
    if not fault.at or not isinstance(fault.at[-1], int):
        is_shown = not kinds.isdisjoint(_OF_SHAPE)
    else:  # a word in a list is shown no better by the list
        is_shown = _OF_MAPPINGS in kinds
    if is_shown:
        message += _example(fault.at)
    return fault.node.problem(message)


def _missing_key(fault: _Fault, key: str) -> Problem:
    line = fault.node.line
    path = fault.node.path
    # the mapping may come from the defaults, which need not be complete
    own = [node for node in fault.trail if node.path[:1] != (DEFAULTS,)]
    if own:
        line = own[-1].line
        path = own[0].path + fault.at
    return Problem(line, show_path(path), f"{key!r} is missing")


def _wrong_key(fault: _Fault, key: str) -> Problem:
    """Describe a key that is unknown, or that is no name of what is expected there."""
    node = fault.node
    written = node.get(key)
    line = node.line
    path = node.path
    if written is not None:
        line = written.line
        path = written.path[:-1]
    if fault.kind == _UNKNOWN:
        above = []
        if not fault.steps:
            above = _keys_with(key)
        message = unknown_key(key, _keys_at(fault.steps), above)
    else:
        message = f"expected {fault.message} as a key, found {describe(key)}"
    return Problem(line, show_path(path), message)


def _example(at: Sequence[str | int]) -> str:
    """Show how a key with a list or a mapping is written; empty for any other."""
    names = [part for part in at if isinstance(part, str)]
    if names[-2:-1] == ["map"]:  # a word, where the name of a score is missing
        names.pop()
    for key in (tuple(names[-2:]), tuple(names[-1:])):
        if key in _EXAMPLES:
            return f"; write it as {key[-1]}: {_EXAMPLES[key]}"
    return ""


def unknown_key(key: str, keys: Iterable[str], above: Sequence[str] = ()) -> str:
    """Describe an unknown key and the known ones; `above` lists the keys that it belongs below."""
    keys = tuple(keys)
    explained = _EXPLAINED.get(key)
    if explained is not None and explained.beside in keys:
        meant = explained.meant
    elif above:
        names = " or ".join(f"`{name}:`" for name in above)
        meant = f"it is a key of {names}"
        same = _same_elsewhere(key, keys)
        if same:
            meant = f"did you mean {' or '.join(same)}? {meant} too"
    else:
        meant = _suggestion(key, keys)
    return f"unknown key {shortened(key, LONG)!r}: {meant}"


def _suggestion(key: str, keys: Collection[str]) -> str:
    """List the known keys behind those that may be meant: of other tools, or of similar names."""
    same = _same_elsewhere(key, keys)
    if not same:
        return did_you_mean(key, keys, what="keys here")
    known = ", ".join(sorted(keys))
    return f"did you mean {' or '.join(same)}? keys here: {known}"


def _same_elsewhere(key: str, keys: Collection[str]) -> list[str]:
    """Quote the known keys that mean what a key of another tool's files means."""
    folded = key.lower().replace("-", "_")
    return [repr(name) for name in _NAMES_ELSEWHERE.get(folded, ()) if name in keys]


# the keys of other tools' files -> the same here, at the same place
_NAMES_ELSEWHERE = {
    "generate": ("model", "prompt_template"),
    "generation": ("model", "prompt_template"),
    "generator": ("model", "target"),
    "provider": ("model", "target"),
    "providers": ("model", "target"),
    "llm": ("model",),
    "prompt": ("prompt_template",),
    "prompts": ("prompt_template",),
    "tests": ("dataset",),
    "test_cases": ("dataset",),
    "data": ("dataset", "rollouts"),
    "file": ("rollouts", "dataset"),
    "files": ("rollouts", "dataset"),
    "results": ("rollouts",),
    "runs": ("rollouts",),
    "assert": ("scorers",),
    "assertions": ("scorers",),
    "evaluators": ("scorers",),
    "graders": ("scorers",),
    "repeat": ("num_samples",),
    "repeats": ("num_samples",),
    "num_repeats": ("num_samples",),
    "epochs": ("num_samples",),
    "trials": ("num_samples",),
    "attempts": ("num_samples",),
    "gate": ("thresholds", "baseline"),
    "gates": ("thresholds", "baseline"),
    "regression": ("baseline",),
    "group_by": ("breakdown",),
    "slices": ("breakdown",),
    # of a baseline
    "tolerance": ("max_drop",),
    "max_regression": ("max_drop",),
    "better": ("direction",),
    # of params
    "concurrency": ("parallelism",),
    "max_concurrency": ("parallelism",),
    "limit": ("limit_samples",),
    "max_samples": ("limit_samples",),
    # of the fields of rows
    "id": ("task",),
    "question_id": ("task",),
    "attempt": ("sample",),
    "trial": ("sample",),
    "epoch": ("sample",),
    "score": ("reward", "scores"),
    "grade": ("reward",),
    "correct": ("reward",),
    "passed": ("reward",),
    "question": ("prompt",),
    "input": ("prompt",),
    "output": ("answer",),
    "response": ("answer",),
    "completion": ("answer",),
    "prediction": ("answer",),
    "explanation": ("reason",),
    "feedback": ("reason",),
}


class _Explained(msgspec.Struct, frozen=True):
    """What to write for a key that has no counterpart at its place."""

    beside: str  # a key that is valid there
    meant: str


_DIRECTION = (
    "say it of the gate: `baseline: {direction: lower}`, or of one metric "
    "`baseline: {metrics: {mean/latency: {direction: lower}}}`"
)
_WHAT_IS_EXPECTED = (
    "rollouts have their rewards; to score answers by what is expected, write "
    "`dataset:` and `scorers:`"
)
_EXPLAINED = {
    # of NeMo Evaluator
    "metric": _Explained(
        "scorers",
        "did you mean 'metrics'? what gives rows their scores is written under "
        "scorers:, as `- type: tool_call_accuracy`",
    ),
    "metric_params": _Explained(
        "scorers",
        "write them beside the type of a scorer, as "
        "`- {type: trajectory_evaluation, judge: ..., trajectory_used_tools: ...}`",
    ),
    "higher_is_better": _Explained("scorers", _DIRECTION),
    "lower_is_better": _Explained("scorers", _DIRECTION),
    "expected": _Explained("sample", _WHAT_IS_EXPECTED),
    "reference": _Explained("sample", _WHAT_IS_EXPECTED),
    "ground_truth": _Explained("sample", _WHAT_IS_EXPECTED),
}


# -- the keys that a mapping may have, from the JSON Schema ----------------------------------


def _keys_with(key: str) -> list[str]:
    """Find the keys of a benchmark below which a key would be valid."""
    anything = YamlNode({}, 1, ())

    def below(*path: str | int) -> set[str]:
        return _keys_at([(part, anything) for part in path])

    return [name for name in sorted(below()) if key in below(name) | below(name, 0)]


def _keys_at(steps: Sequence[tuple[str | int, YamlNode]]) -> set[str]:
    schema = benchmark_schema.schema_of_benchmark()
    defs = schema.get("$defs", {})
    options = list(benchmark_schema.alternatives(schema, defs))
    for part, node in steps:
        below: list[benchmark_schema.Schema] = []
        for option in options:
            rest = option.get("additionalProperties")
            if isinstance(part, int):
                rest = option.get("items")
            inner = option.get("properties", {}).get(part, rest)
            below += benchmark_schema.alternatives(inner, defs)
        options = [option for option in below if _fits(option, node)] or below
    keys: set[str] = set()
    for option in options:
        keys.update(option.get("properties", {}))
    return keys


def _fits(option: benchmark_schema.Schema, node: YamlNode) -> bool:
    """Check an alternative of a union by its enumerated keys, such as ``type``."""
    if not isinstance(node.value, dict):
        return True
    properties = option.get("properties", {}).items()
    allowed = {
        key: benchmark_schema.allowed_values(schema) for key, schema in properties
    }
    return all(
        child.value in allowed[key]
        for key, child in node.value.items()
        if allowed.get(key)
    )


# -- expected and found, in words ----------------------------------------------------------

_VARIABLE = re.compile(r"\$\{\w+[^}]*\}")
_GROUPED = re.compile(r"[-+]?[0-9][0-9_]*(\.[0-9_]+)?")
# kinds of errors about values that are no list, or no mapping
_OF_MAPPINGS = "dataclass_type"  # pydantic's kind of an entry with keys
_OF_SHAPE = ("dict_type", "dataclass_type", "tuple_type", "too_short", "expected")
_EXAMPLES = {
    ("baseline", "metrics"): "{pass@1: {max_drop: 0.02}}",
    ("breakdown",): "[difficulty]",
    ("expect",): "{tasks: 100}",
    ("fields", "scores"): "{lint: result.lint}",
    ("fields",): "{task: id, reward: correct}",
    ("key_metrics",): "[pass@1, mean/output_tokens]",
    ("map",): "{reward: {correct: 1, incorrect: 0}}",
    ("metrics",): "[mean_reward, pass@1]",
    ("rubric",): "[{label: kind, value: 1}, {label: rude, value: 0}]",
    ("scorers", "scores"): "[{name: quality, parser: {json_path: $.quality}}]",
    ("scores", "parser"): "{json_path: $.quality}",
    ("tags",): "[nightly]",
    ("thresholds",): '{pass@1: ">= 0.7"}',
}
_BOOLEANS = {"yes": "true", "on": "true", "no": "false", "off": "false"}
_EXPECTED = {
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    **dict.fromkeys(("dict_type", "dataclass_type"), "a mapping"),
    "string_type": "text",
    "finite_number": "a finite number",
    "greater_than_equal": "a number of at least {ge}",
    "greater_than": "a number above {gt}",
    "less_than_equal": "a number of at most {le}",
    "string_too_short": "text that is not empty",
    "too_short": "a list of at least {min_length} items",
    "literal_error": "{expected}",
}


def _expectation(kind: str, message: str, context: Mapping[str, object]) -> str | None:
    """Return what was expected; None for a message of another kind."""
    if kind == "expected":  # in the words of the spec
        return message
    if kind == "too_short" and context.get("min_length") == 1:
        return "a list that is not empty"
    if kind not in _EXPECTED:
        return None
    values = dict(context)
    for name, value in context.items():
        if isinstance(value, float):
            values[name] = f"{value:.12g}"
    words = _EXPECTED[kind].format_map(values)
    if kind == "literal_error":
        return words.replace("'", "")
    return words


def mismatch(expected: str, value: object) -> str:
    """Report that `value` is not what was expected, with the fix if it is obvious."""
    found = _slip(expected, value) or f"found {describe(value)}"
    return f"expected {expected}, {found}"


def describe(value: object) -> str:
    """Name a value of a YAML file, in about 60 characters."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f"the text {_quoted(value)}"
    if isinstance(value, dict | list):
        what = "list"
        if isinstance(value, dict):
            what = "mapping"
        return f"a {what}" if value else f"an empty {what}"
    if isinstance(value, float) and not math.isfinite(value):
        return re.sub("(inf|nan)", r".\1", str(value))
    return shortened(str(value), LONG)


def _quoted(text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=False)
    if len(quoted) <= LONG:
        return quoted
    end = quoted[-1]
    return f"{quoted[: LONG - 2]}…{end}"


def _slip(expected: str, value: object) -> str | None:
    """Recognize what YAML 1.1, quotes or a habit made something else than was meant."""
    if isinstance(value, str):
        return _slip_in_text(expected, value.strip())
    if isinstance(value, list) and expected.startswith("a list of at "):
        return f"found {len(value)}"
    if isinstance(value, float) and expected == "a whole number" and value.is_integer():
        return f"found {describe(value)}; write {value:.0f}"
    if isinstance(value, bool | int | float) and expected == "text":
        return f"found {describe(value)}; put quotes around it"
    return None


def _slip_in_text(expected: str, word: str) -> str | None:
    if "true" in expected and word.lower() in _BOOLEANS:
        return f"but {word} is text in YAML; write {_BOOLEANS[word.lower()]}"
    variable = _VARIABLE.search(word)
    if variable is not None:
        return f"found {variable[0]}, which is filled in only in an endpoint's url and name"
    is_for_number = "number" in expected or "share" in expected
    if not is_for_number or len(word) > LONG:
        return None
    if "_" in word and _GROUPED.fullmatch(word):
        return f"but {word} is text in YAML; write {word.replace('_', '')}"
    scalar = read_scalar(word)
    if isinstance(scalar, int | float) and not isinstance(scalar, bool):
        return f"found {describe(word)}; remove the quotes"
    return None
