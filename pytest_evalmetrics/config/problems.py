"""pydantic's errors as problems of a benchmark file, loaded when there is one."""

from __future__ import annotations

import json
import math
import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_evalmetrics.config.benchmark_schema import alternatives, schema_of_benchmark
from pytest_evalmetrics.config.yaml_reader import (
    NodePath,
    YamlNode,
    read_scalar,
    shorten,
    show_path,
)
from pytest_evalmetrics.errors import Problem, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

DEFAULTS = "defaults"
_UNKNOWN = ("unexpected_keyword_argument", "extra_forbidden")
_MISSING = ("missing", "missing_argument", "missing_keyword_only_argument")


class _Fault(NamedTuple):
    """An error of pydantic's, located in the file.

    pydantic's location also names branches of unions, and keys into which a short form was
    expanded; `at` keeps what the file holds, `branches` the rest.
    """

    kind: str
    message: str
    context: Mapping[str, Any]
    trail: tuple[YamlNode, ...]  # from the benchmark to the value
    at: NodePath
    branches: tuple[tuple[NodePath, str | int], ...]
    key: str | None  # the unknown, missing or invalid key

    @property
    def node(self) -> YamlNode:
        return self.trail[-1]

    @property
    def expected(self) -> str | None:
        return None if self.key is not None else _expectation(self)


def problems_of(
    errors: Iterable[Mapping[str, Any]], top: YamlNode, *, complete: bool = True
) -> list[Problem]:
    """Say what is wrong with the benchmark `top`."""
    faults = _meant_branches(
        [
            _located(error, top)
            for error in errors
            # a list is called too short where its items were refused
            if not (error["type"] == "too_short" and isinstance(error["input"], list))
            or len(error["input"]) < error["ctx"]["min_length"]
        ]
    )
    groups: dict[object, list[_Fault]] = {}  # what is expected at one place is said at once
    for number, fault in enumerate(faults):
        about_the_whole = fault.kind == "spec" and isinstance(fault.node.value, dict)
        if any(node.broken for node in fault.trail) or (
            about_the_whole and _holds_broken(fault.node)
        ):
            continue  # reported already
        if not complete and (about_the_whole or fault.kind in _MISSING):
            continue
        groups.setdefault(number if fault.expected is None else fault.at, []).append(fault)
    return list(dict.fromkeys(_problem(group) for group in groups.values()))


def _located(error: Mapping[str, Any], top: YamlNode) -> _Fault:
    kind, place = error["type"], list(error["loc"])
    key: str | None = None
    if kind in _MISSING or kind in _UNKNOWN:
        key = str(place.pop())
    elif place[-1:] == ["[key]"]:
        key = str(place[-2])
        del place[-2:]
    trail = [top]
    at: NodePath = ()
    branches: list[tuple[NodePath, str | int]] = []
    for part in place:
        inside = dict(trail[-1].children)
        if part in inside:
            trail.append(inside[part])
            at = (*at, part)
        else:
            branches.append((at, part))
    return _Fault(kind, error["msg"], error.get("ctx", {}), tuple(trail), at, tuple(branches), key)


def _meant_branches(faults: list[_Fault], level: int = 0) -> list[_Fault]:
    """Keep of each union the errors of the branch that was meant.

    A branch that wants another kind of value was not meant if some other branch takes this
    kind and finds fault with what is inside.
    """
    kept = [f for f in faults if len(f.branches) <= level]
    unions: dict[NodePath, dict[str | int, list[_Fault]]] = {}
    for fault in faults:
        if len(fault.branches) > level:
            at, branch = fault.branches[level]
            unions.setdefault(at, {}).setdefault(branch, []).append(fault)
    for at, branches in unions.items():
        settled = [_meant_branches(branch, level + 1) for branch in branches.values()]
        meant = [b for b in settled if any(f.at != at or f.expected is None for f in b)]
        if meant:
            settled = [min(meant, key=len)]
        kept += [fault for branch in settled for fault in branch]
    return kept


def _holds_broken(node: YamlNode) -> bool:
    return node.broken or any(_holds_broken(child) for _, child in node.children)


def _problem(group: list[_Fault]) -> Problem:
    """Word what is wrong at one place; several faults are alternatives of a union."""
    fault = group[0]
    node, key = fault.node, fault.key
    if fault.expected is not None:
        words = list(dict.fromkeys(f.expected for f in group if f.expected is not None))
        between = ", or " if any(" or " in word for word in words) else " or "
        return Problem(node.line, show_path(node.path), mismatch(between.join(words), node.value))
    if key is None:
        return Problem(node.line, show_path(node.path), fault.message)
    if fault.kind in _MISSING:
        # the mapping may come from the defaults, which need not be complete
        own = [node for node in fault.trail if node.path[:1] != (DEFAULTS,)]
        line, path = (own[-1].line, own[0].path + fault.at) if own else (node.line, node.path)
        return Problem(line, show_path(path), f"{key!r} is missing")
    written = node.value.get(key, node) if isinstance(node.value, dict) else node
    if fault.kind in _UNKNOWN:
        message = unknown_key(key, _keys_at(fault.trail, fault.at), _keys_with(key, fault))
    else:
        message = f"expected {_expectation(fault) or fault.message} as a key, found {describe(key)}"
    above = written.path[:-1] if written is not node else node.path
    return Problem(written.line, show_path(above), message)


def unknown_key(key: str, keys: Iterable[str], above: Sequence[str] = ()) -> str:
    """Say that there is no such key, and which there are; it is one below each of `above`."""
    shown, keys = shorten(key), tuple(keys)
    meant = _KEYS_OF_JOBS.get(key) if "scorers" in keys else None
    if above and not meant:
        meant = f"it is a key of {' or '.join(f'`{name}:`' for name in above)}"
    return f"unknown key {shown!r}: {meant or did_you_mean(key, keys, what='keys here')}"


_KEYS_OF_JOBS = {  # of NeMo Evaluator -> the same here
    "metric": "did you mean 'metrics'? what gives rows their scores is written under scorers:, "
    "as `- type: tool_call_accuracy`",
    "metric_params": "write them beside the type of a scorer, as "
    "`- {type: trajectory_evaluation, judge: ..., trajectory_used_tools: ...}`",
}


# -- the keys that a mapping may have, from the JSON Schema ----------------------------------


_schema = cache(schema_of_benchmark)


def _keys_with(key: str, fault: _Fault) -> list[str]:
    """Name the keys of a benchmark below which an unknown key of its own would be known."""
    if fault.at:
        return []
    node = YamlNode({}, fault.node.line, ())

    def below(*at: str | int) -> set[str]:
        return _keys_at((*fault.trail, *[node] * len(at)), at)

    return [name for name in sorted(below()) if key in below(name) | below(name, 0)]


def _keys_at(trail: Sequence[YamlNode], at: NodePath) -> set[str]:
    schema = _schema()
    defs = schema.get("$defs", {})
    here = list(alternatives(schema, defs))
    for node, part in zip(trail[1:], at, strict=True):
        below: list[dict[str, Any]] = []
        for option in here:
            rest = option.get("items" if isinstance(part, int) else "additionalProperties")
            below += alternatives(option.get("properties", {}).get(part, rest), defs)
        here = [option for option in below if _fits(option, node)] or below
    return {key for option in here for key in option.get("properties", {})}


def _fits(option: dict[str, Any], node: YamlNode) -> bool:
    """Tell alternatives apart by keys that allow certain values only: ``type``."""
    if not isinstance(node.value, dict):
        return True
    allowed = {
        key: [schema["const"]] if "const" in schema else schema.get("enum")
        for key, schema in option.get("properties", {}).items()
    }
    return all(child.value in allowed[key] for key, child in node.value.items() if allowed.get(key))


# -- expected and found, in words ----------------------------------------------------------

_LONG = 60
_GROUPED = re.compile(r"[-+]?[0-9][0-9_]*(\.[0-9_]+)?")
_BOOLEANS = {"yes": "true", "on": "true", "no": "false", "off": "false"}
_EXPECTED = {
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    **dict.fromkeys(("list_type", "tuple_type"), "a list"),
    **dict.fromkeys(("dict_type", "mapping_type", "dataclass_type"), "a mapping"),
    "string_type": "text",
    "none_required": "nothing",
    "finite_number": "a finite number",
    "greater_than_equal": "a number of at least {ge}",
    "greater_than": "a number above {gt}",
    "less_than_equal": "a number of at most {le}",
    "less_than": "a number below {lt}",
    "string_too_short": "text that is not empty",
    "string_pattern_mismatch": "text of the form {pattern}",
    "too_short": "a list of at least {min_length} items",
    "literal_error": "{expected}",
}


def _expectation(fault: _Fault) -> str | None:
    """Return what was expected; None for a message of another kind."""
    if fault.kind == "expected":  # in the words of the spec
        return fault.message
    if fault.kind == "too_short" and fault.context.get("min_length") == 1:
        return "a list that is not empty"
    template = _EXPECTED.get(fault.kind)
    if template is None:
        return None
    values = {k: f"{v:.12g}" if isinstance(v, float) else v for k, v in fault.context.items()}
    words = template.format_map(values)
    return words.replace("'", "") if fault.kind == "literal_error" else words


def mismatch(expected: str, value: Any) -> str:
    """Say that `value` is not what was expected, and what to write if that is plain."""
    return f"expected {expected}, {_slip(expected, value) or 'found ' + describe(value)}"


def describe(value: Any) -> str:
    """Name a value of a YAML file, in about 60 characters."""
    if value is None:
        return "nothing"
    if isinstance(value, str):
        text = json.dumps(value, ensure_ascii=False)
        return f"the text {text if len(text) <= _LONG else text[: _LONG - 2] + '…' + text[-1]}"
    if isinstance(value, dict | list):
        what = "mapping" if isinstance(value, dict) else "list"
        return f"a {what}" if value else f"an empty {what}"
    if isinstance(value, float) and not math.isfinite(value):
        return re.sub("(inf|nan)", r".\1", str(value))
    return str(value).lower() if isinstance(value, bool) else shorten(str(value))


def _slip(expected: str, value: Any) -> str | None:
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
    if not ("number" in expected or "share" in expected) or len(word) > _LONG:
        return None
    if "_" in word and _GROUPED.fullmatch(word):
        return f"but {word} is text in YAML; write {word.replace('_', '')}"
    read = read_scalar(word)
    if isinstance(read, int | float) and not isinstance(read, bool):
        return f"found {describe(word)}; remove the quotes"
    return None
