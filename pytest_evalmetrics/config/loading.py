"""From a benchmark file to its benchmarks, or to everything that is wrong with it."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from pytest_evalmetrics.config.checks import contradictions
from pytest_evalmetrics.config.layout import lay_out
from pytest_evalmetrics.config.messages import problems_of
from pytest_evalmetrics.config.nodes import Node, lines_of, plain, show_path
from pytest_evalmetrics.config.scorer_types import unknown_types
from pytest_evalmetrics.config.yaml_source import read_yaml
from pytest_evalmetrics.errors import ConfigError, Problem
from pytest_evalmetrics.spec import Benchmark, BenchmarkSpec

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["load_benchmarks", "validated"]


def load_benchmarks(
    path: Path, *, shown: str, scorers_known: bool = False
) -> tuple[Benchmark, ...]:
    """Read a benchmark file."""
    source = read_yaml(path)
    problems = list(source.problems)
    benchmarks: list[Benchmark] = []
    if source.root is not None:
        layout = lay_out(source.root)
        problems += layout.problems
        if layout.defaults is not None:
            problems += _wrong_defaults(layout.defaults)
        for node in layout.benchmarks:
            spec = validated(node, problems)
            if scorers_known:
                problems += unknown_types(node)
            if spec is not None:
                benchmarks.append(Benchmark(spec, path, lines_of(node)))
    if problems:
        in_order = sorted(dict.fromkeys(problems), key=lambda problem: problem.line)
        raise ConfigError(shown, tuple(in_order))
    return tuple(benchmarks)


# for keys that are wrong, so that what rests on them is not called wrong too
_STAND_INS = {
    "model": {"url": "http://localhost/v1", "name": "unknown", "price": {"input": 0, "output": 0}},
    "prompt_template": "unknown",
    "target": "unknown:unknown",
}


@cache
def _adapter() -> TypeAdapter[BenchmarkSpec]:
    return TypeAdapter(BenchmarkSpec)


def validated(node: Node, problems: list[Problem]) -> BenchmarkSpec | None:
    """Make one benchmark's spec, and add what is wrong with it to `problems`."""
    values = plain(node)
    spec, errors = _try(values)
    problems += problems_of(errors, node)
    wrong: set[Any] = set()
    if spec is None:
        # what can be judged without the wrong keys is judged now, not at the next attempt
        wrong = {error["loc"][0] for error in errors if error["loc"]}
        rest = {key: value for key, value in values.items() if key not in wrong}
        source = {} if wrong.isdisjoint({"rollouts", "dataset"}) else {"rollouts": "unknown"}
        scorers = {} if "scorers" not in wrong else {"scorers": [{"type": "unknown"}]}
        answers = {key: _STAND_INS[key] for key in wrong & _STAND_INS.keys()}
        checked, _ = _try({"name": "unnamed", **source, **scorers, **answers, **rest})
    else:
        checked = spec
    if checked is not None:
        problems += _contradictions(checked, node, wrong)
    return spec


def _try(values: dict[str, Any]) -> tuple[BenchmarkSpec | None, list[Any]]:
    try:
        # in JSON a list may become a tuple, and a mapping a dataclass, where all else is strict
        return _adapter().validate_json(json.dumps(values)), []
    except ValidationError as error:
        return None, error.errors(include_url=False)


def _contradictions(spec: BenchmarkSpec, top: Node, wrong: set[Any]) -> list[Problem]:
    found = []
    for at, message in contradictions(spec, named=wrong.isdisjoint({"scorers", "reward"})):
        node = top
        for part in at:
            value: Any = node.value
            there = isinstance(value, list) or (isinstance(value, dict) and part in value)
            if not there:  # a short form, or left out
                break
            node = value[part]
        found.append(Problem(node.line, show_path(node.path), message))
    return found


def _wrong_defaults(defaults: Node) -> list[Problem]:
    """Judge the defaults by themselves, because each benchmark may replace what is wrong."""
    _, errors = _try(plain(defaults))
    return problems_of(errors, defaults, complete=False)
