"""Load a benchmark file, or report everything that is wrong with it."""

from __future__ import annotations

import os
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from msgspec import structs
from pydantic_core import ValidationError

from pytest_evalmetrics.config.contradictions import contradictions
from pytest_evalmetrics.config.declarations import undeclared_when_read
from pytest_evalmetrics.config.yaml_reader import NodePath, YamlNode, read_yaml
from pytest_evalmetrics.errors import ConfigError, Problem, RegistryError, closest
from pytest_evalmetrics.spec import Benchmark, BenchmarkSpec, renamed_keys
from pytest_evalmetrics.spec.gate_keys import RULES
from pytest_evalmetrics.spec.validation import validated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from pydantic_core import ErrorDetails

_ONE = "benchmark"
_MANY = "benchmarks"
_DEFAULTS = "defaults"


def load_benchmarks(
    path: Path, *, shown: str, scorers_known: bool = False
) -> tuple[Benchmark, ...]:
    """Read a benchmark file."""
    source = read_yaml(path)
    problems = list(source.problems)
    benchmarks: list[Benchmark] = []
    if source.root is not None and not source.root.broken:
        root = _with_new_names(source.root, path, problems)
        for node in _benchmarks_of(root, problems):
            spec = _validated(node, problems)
            if scorers_known:
                problems += _unknown_names(node)
            if spec is not None:
                benchmarks.append(Benchmark(spec, path, node.lines(), path=node.path))
    if problems:
        in_order = sorted(dict.fromkeys(problems), key=lambda problem: problem.line)
        raise ConfigError(shown, tuple(in_order))
    return tuple(benchmarks)


# -- the outermost keys --------------------------------------------------------------------


def _benchmarks_of(root: YamlNode, problems: list[Problem]) -> list[YamlNode]:
    """Find the benchmarks of a file, each with the defaults merged below it."""
    if not isinstance(root.value, dict):
        problems.append(_mismatch(root, "a mapping with benchmark: or benchmarks:"))
        return []
    _check_outer_keys(root, problems)
    defaults = _defaults_of(root, problems)
    nodes = _listed(root, problems)
    _check_names(nodes, problems)
    if defaults is None:
        return nodes
    return [node.over(defaults) for node in nodes]


def _listed(root: YamlNode, problems: list[Problem]) -> list[YamlNode]:
    """List the mappings under `benchmark:` and `benchmarks:`."""
    nodes: list[YamlNode] = []
    one = root.get(_ONE)
    if one is not None:
        nodes.append(one)
    many = root.get(_MANY)
    if many is not None and not many.broken:
        if isinstance(many.value, list) and many.value:
            nodes += many.value
        else:
            expected = "a list of benchmarks, each starting with '- name:'"
            problems.append(_mismatch(many, expected))
    mappings = []
    for node in nodes:
        if isinstance(node.value, dict):
            mappings.append(node)
        elif not node.broken:
            problems.append(_mismatch(node, "a mapping"))
    return mappings


def _check_names(nodes: Iterable[YamlNode], problems: list[Problem]) -> None:
    """Report a benchmark that has the name of one above it."""
    first: dict[str, YamlNode] = {}
    for node in nodes:
        name = node.get("name")
        if name is None or not isinstance(name.value, str):
            continue
        namesake = first.setdefault(name.value, name)
        if namesake is not name:
            lines = f"on lines {namesake.line} and {name.line}"
            message = f"two benchmarks are named {name.value[:60]!r}: {lines}"
            place = structs.replace(name, path=(*node.path, "name"))
            problems.append(place.problem(message))


def _with_new_names(root: YamlNode, file: Path, problems: list[Problem]) -> YamlNode:
    """Read old names of keys as the new ones, in each benchmark and in the defaults."""
    if not renamed_keys.RENAMED or not isinstance(root.value, dict):
        return root
    parts = dict(root.value)
    for name in (_ONE, _DEFAULTS):
        if name in parts:
            parts[name] = _renamed(parts[name], file, problems)
    many = parts.get(_MANY)
    if many is not None and isinstance(many.value, list):
        benchmarks = [_renamed(node, file, problems) for node in many.value]
        parts[_MANY] = structs.replace(many, value=benchmarks)
    return structs.replace(root, value=parts)


def _renamed(node: YamlNode, file: Path, problems: list[Problem]) -> YamlNode:
    """Read old names of one benchmark's keys, and warn of them."""
    from pytest_evalmetrics.config import old_keys  # few versions rename a key

    node, uses = old_keys.without_old_names(node, renamed_keys.RENAMED)
    problems += old_keys.report_old_names(uses, file)
    return node


def _check_outer_keys(root: YamlNode, problems: list[Problem]) -> None:
    outer = (_ONE, _MANY, _DEFAULTS)
    keys_of_benchmark = {field.name for field in fields(BenchmarkSpec)}
    is_named = False  # whether a message names benchmark: already
    for key, node in root.children:
        if key in outer or not isinstance(key, str):
            continue
        if key in keys_of_benchmark:
            message = f"{key!r} belongs under benchmark: and is indented there"
            is_named = True
        else:
            # the wording of errors, which most runs don't need
            from pytest_evalmetrics.config.problems import unknown_key

            message = unknown_key(key, outer)
            is_named |= closest(key, outer) in (_ONE, _MANY)
        problems.append(Problem(node.line, "", message))
    one = root.get(_ONE)
    many = root.get(_MANY)
    if one and many:
        first, second = sorted((one.line, many.line))
        lines = f"lines {first} and {second}"
        message = f"a file holds benchmark: or benchmarks:, not both ({lines})"
        problems.append(Problem(second, "", message))
    elif not (is_named or one or many):
        problems.append(Problem(root.line, "", "expected benchmark: or benchmarks:"))


def _defaults_of(root: YamlNode, problems: list[Problem]) -> YamlNode | None:
    node = root.get(_DEFAULTS)
    if node is None or node.broken:
        return None
    if not isinstance(node.value, dict):
        problems.append(_mismatch(node, "a mapping"))
        return None
    if name := node.get("name"):
        problems.append(
            name.problem("a name belongs to one benchmark, not to all of them")
        )
    but_name = {key: child for key, child in node.value.items() if key != "name"}
    defaults = structs.replace(node, value=but_name)
    # checked on their own, because a benchmark may replace invalid keys of the defaults
    _, errors = _try(defaults.plain())
    if errors:
        from pytest_evalmetrics.config.problems import problems_of  # as above

        problems += problems_of(errors, defaults, complete=False)
    return defaults


def _mismatch(node: YamlNode, expected: str) -> Problem:
    from pytest_evalmetrics.config.problems import mismatch  # as above

    return node.problem(mismatch(expected, node.value))


def _unknown_names(benchmark: YamlNode) -> Iterator[Problem]:
    """Check the types of scorers and the gate rules, even if their other keys are invalid."""
    for scorer in _below(benchmark, "scorers"):
        kind = scorer.get("type")
        if kind is not None:
            yield from _unknown_name("scorers", kind)
    baseline = benchmark.get("baseline")
    if baseline is None:
        return
    for gate in (baseline, *_below(baseline, "metrics")):
        rule = gate.get("rule")
        if rule is not None:
            yield from _unknown_name("gate_rules", rule.get("name") or rule)


def _below(node: YamlNode, key: str) -> list[YamlNode]:
    """Return the parts of the mapping or list under a key; none where it is not written."""
    child = node.get(key)
    if child is None:
        return []
    return [part for _, part in child.children]


def _unknown_name(kind: str, node: YamlNode) -> Iterator[Problem]:
    """Report a name that is not registered, unless it is a `package.module:attribute`."""
    name = node.value
    if not isinstance(name, str) or not name or ":" in name or name in RULES:
        return
    from pytest_evalmetrics import registry  # few benchmarks have any
    from pytest_evalmetrics.spec.scorer_keys import ALIASES  # the same

    try:
        getattr(registry, kind).find(ALIASES.get(name, name))
    except RegistryError as error:
        message = error.message
        if error.hint:
            message = f"{message}; {error.hint}"
        yield node.problem(message)


# -- one benchmark -------------------------------------------------------------------------

# replace invalid keys, so that keys which depend on them are not reported too
_STAND_INS: dict[str, object] = {
    "model": {
        "url": "http://localhost/v1",
        "name": "unknown",
        "price": {"input": 0, "output": 0},
    },
    "prompt_template": "unknown",
    "target": "unknown:unknown",
    "scorers": [{"type": "unknown"}],
}


def _try(values: object) -> tuple[BenchmarkSpec | None, list[ErrorDetails]]:
    try:
        return validated(BenchmarkSpec, values), []
    except ValidationError as error:
        return None, error.errors(include_url=False)


def _validated(node: YamlNode, problems: list[Problem]) -> BenchmarkSpec | None:
    """Validate one benchmark, and add its problems to `problems`."""
    values = node.plain_keys()
    spec, errors = _try(values)
    wrong: set[str] = set()
    checked = spec
    if spec is None:
        from pytest_evalmetrics.config.problems import problems_of  # as above

        problems += problems_of(errors, node)
        # check the valid keys now, so that the user sees all problems at once
        wrong = {str(error["loc"][0]) for error in errors if error["loc"]}
        rest = {key: value for key, value in values.items() if key not in wrong}
        source = {"rollouts": "unknown"}
        if wrong.isdisjoint({"rollouts", "dataset"}):
            source = {}
        stand_ins = {key: _STAND_INS[key] for key in wrong & _STAND_INS.keys()}
        checked, _ = _try({"name": "unnamed", **source, **stand_ins, **rest})
    if checked is not None:
        for path, message in contradictions(checked):
            problems.append(_nearest(node, path).problem(message))
        # the direction of a score depends on its scorer
        if wrong.isdisjoint({"scorers", "reward"}):
            for question in undeclared_when_read(checked):
                problem = _nearest(node, question.path).problem(question.message)
                problems.append(replace(problem, undeclared=question.metrics))
    return spec


def _nearest(node: YamlNode, path: NodePath) -> YamlNode:
    """Return the node at a path, or the nearest one above it that is written."""
    for _, below in node.follow(path):
        node = below
    return node


# -- a benchmark in Python -----------------------------------------------------------------


def benchmark_in_python(
    settings: Mapping[str, object],
    *,
    name: str,
    file: Path,
    line: int,
    shown: str,
    what: str = "call of evalmetrics.check",
) -> Benchmark:
    """Make a benchmark of the keyword arguments of a call in a test, validated as a file's."""
    problems: list[Problem] = []
    values = {"rollouts": "(given in Python)", **settings, "name": "check"}
    node = _node(values, line, (), problems)
    if renamed_keys.RENAMED:
        node = _renamed(node, file, problems)
    spec = _validated(node, problems)
    if problems or spec is None:
        in_order = tuple(dict.fromkeys(problems))
        raise ConfigError(shown, in_order, what=what)
    # pytest made the name, which need not be one that a benchmark file may hold
    return Benchmark(replace(spec, name=name), file, {(): line}, in_python=True)


def _node(
    value: object, line: int, path: NodePath, problems: list[Problem]
) -> YamlNode:
    """Make a node of a value in Python; what no YAML file could hold is a problem."""
    if hasattr(value, "tolist"):  # NumPy's
        value = value.tolist()
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if value is None or isinstance(value, bool | int | float | str):
        return YamlNode(value, line, path)
    if isinstance(value, list | tuple):
        items = [_node(v, line, (*path, at), problems) for at, v in enumerate(value)]
        return YamlNode(items, line, path)
    found = type(value).__name__
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            keys = {k: _node(v, line, (*path, k), problems) for k, v in value.items()}
            return YamlNode(keys, line, path)
        found = "a dict whose keys are not all text"
    broken = YamlNode(None, line, path, broken=True)
    message = f"found {found}; expected text, a number, a list or a dict"
    problems.append(broken.problem(message))
    return broken
