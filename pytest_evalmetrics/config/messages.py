"""pydantic's errors as problems of a benchmark file.

pydantic says where in the validated data something is wrong. Its places also name the
branches of unions, and the keys into which a short form was expanded; only what leads
through the file as it is written is kept of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from pytest_evalmetrics.config.keys import known_keys, schema_of_a_benchmark
from pytest_evalmetrics.config.nodes import Node, NodePath, show_path
from pytest_evalmetrics.config.wording import describe, expectation, mismatch
from pytest_evalmetrics.errors import Problem, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = ["DEFAULTS", "place_of", "problems_of", "unknown_key"]

DEFAULTS = "defaults"
_UNKNOWN = ("unexpected_keyword_argument", "extra_forbidden")
_MISSING = ("missing", "missing_argument", "missing_keyword_only_argument")


class _Fault(msgspec.Struct, frozen=True):
    """An error of pydantic's, led back to the file."""

    kind: str
    message: str
    context: Mapping[str, Any]
    trail: tuple[Node, ...]  # from the benchmark to the value
    at: NodePath  # the same as keys and positions
    branches: tuple[tuple[NodePath, str | int], ...]  # what its place named besides
    key: str | None = None  # the key that is unknown, missing or no good

    @property
    def node(self) -> Node:
        return self.trail[-1]

    @property
    def expected(self) -> str | None:
        if self.key is not None:
            return None
        return expectation(self.kind, self.context, self.message)


def problems_of(
    errors: Iterable[Mapping[str, Any]],
    top: Node,
    *,
    complete: bool = True,
    schema: Callable[[], Mapping[str, Any]] = schema_of_a_benchmark,
) -> list[Problem]:
    """Say what is wrong with the benchmark `top`."""
    faults = _one_branch([_led_back(error, top) for error in errors if not _is_echo(error)])
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
    found = [_problem(group[0], schema) or _mismatch(group) for group in groups.values()]
    return list(dict.fromkeys(found))


def unknown_key(key: str, known: Iterable[str]) -> str:
    """Say that there is no such key, and which there are."""
    shown = key if len(key) <= 60 else key[:59] + "…"  # noqa: PLR2004 - a line
    known = tuple(known)
    meant = _OF_JOBS.get(key) if "scorers" in known else None
    return f"unknown key {shown!r}: {meant or did_you_mean(key, known, what='keys here')}"


# keys of a job of NeMo Evaluator -> where a benchmark says the same
_OF_JOBS = {
    "metric": "did you mean 'metrics'? what gives rows their scores is written under scorers:, "
    "as `- type: tool_call_accuracy`",
    "metric_params": "write them beside the type of a scorer, as "
    "`- {type: trajectory_evaluation, judge: ..., trajectory_used_tools: ...}`",
}


def place_of(trail: Sequence[Node], at: NodePath) -> tuple[int, str]:
    """Return the line and the path of something that the benchmark lacks.

    The mapping that lacks it may come from the defaults, which need not be complete: it is
    the benchmark that is to blame.
    """
    own = [node for node in trail if node.path[:1] != (DEFAULTS,)]
    if not own:
        return trail[-1].line, show_path(trail[-1].path)
    return own[-1].line, show_path(own[0].path + at)


def _is_echo(error: Mapping[str, Any]) -> bool:
    """Whether a list is called too short only because its items were refused."""
    return (
        error["type"] == "too_short"
        and isinstance(error["input"], list)
        and len(error["input"]) >= error["ctx"]["min_length"]
    )


def _led_back(error: Mapping[str, Any], top: Node) -> _Fault:
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
        value = trail[-1].value
        inside = (
            part in value
            if isinstance(value, dict)
            else (isinstance(value, list) and isinstance(part, int) and part < len(value))
        )
        if inside:
            trail.append(value[part])
            at = (*at, part)
        else:
            branches.append((at, part))
    return _Fault(kind, error["msg"], error.get("ctx", {}), tuple(trail), at, tuple(branches), key)


def _one_branch(faults: list[_Fault], level: int = 0) -> list[_Fault]:
    """Keep of each union the errors of the branch that was meant.

    A branch that wants another kind of value was not meant where some other branch takes
    this kind and finds fault with what is inside.
    """
    kept = [f for f in faults if len(f.branches) <= level]
    unions: dict[NodePath, dict[str | int, list[_Fault]]] = {}
    for fault in faults:
        if len(fault.branches) > level:
            at, branch = fault.branches[level]
            unions.setdefault(at, {}).setdefault(branch, []).append(fault)
    for at, branches in unions.items():
        settled = [_one_branch(found, level + 1) for found in branches.values()]
        meant = [b for b in settled if any(f.at != at or f.expected is None for f in b)]
        if meant:
            settled = [min(meant, key=len)]
        kept += [fault for branch in settled for fault in branch]
    return kept


def _holds_broken(node: Node) -> bool:
    value = node.value
    inside = value.values() if isinstance(value, dict) else value
    return node.broken or (
        isinstance(value, dict | list) and any(_holds_broken(child) for child in inside)
    )


def _mismatch(faults: list[_Fault]) -> Problem:
    node = faults[0].node
    words = list(dict.fromkeys(f.expected for f in faults if f.expected is not None))
    between = ", or " if any(" or " in word for word in words) else " or "
    return Problem(node.line, show_path(node.path), mismatch(between.join(words), node.value))


def _problem(fault: _Fault, schema: Callable[[], Mapping[str, Any]]) -> Problem | None:
    node = fault.node
    line, path = node.line, show_path(node.path)
    if fault.expected is not None:
        return None
    if fault.kind in _MISSING:
        line, path = place_of(fault.trail, fault.at)
        return Problem(line, path, f"{fault.key!r} is missing")
    if fault.key is not None:
        return _wrong_key(fault, fault.key, schema)
    if fault.kind == "union_tag_not_found":
        line, path = place_of(fault.trail, fault.at)
        return Problem(line, path, f"{fault.context['discriminator']} is missing")
    if fault.kind == "union_tag_invalid":
        return _wrong_tag(fault)
    message = fault.message
    if fault.kind in ("value_error", "assertion_error"):
        message = message.partition(", ")[2] or message
    return Problem(line, path, message)


def _wrong_key(fault: _Fault, key: str, schema: Callable[[], Mapping[str, Any]]) -> Problem:
    node = fault.node
    written = node.value.get(key, node) if isinstance(node.value, dict) else node
    if fault.kind in _UNKNOWN:
        message = unknown_key(key, known_keys(schema(), fault.trail, fault.at))
    else:
        expected = expectation(fault.kind, fault.context, fault.message) or fault.message
        message = f"expected {expected} as a key, found {describe(key)}"
    above = written.path[:-1] if written is not node else node.path
    return Problem(written.line, show_path(above), message)


def _wrong_tag(fault: _Fault) -> Problem:
    """Name the ``type``, or whichever key tells the mappings of a union apart."""
    key = str(fault.context["discriminator"]).strip("'")
    known = [t.strip().strip("'") for t in str(fault.context["expected_tags"]).split(",")]
    node = fault.node
    if isinstance(node.value, dict) and key in node.value:
        node = node.value[key]
    guess = did_you_mean(str(fault.context["tag"]), known, what="there are")
    return Problem(
        node.line, show_path(node.path), f"unknown {key}, found {describe(node.value)}: {guess}"
    )
