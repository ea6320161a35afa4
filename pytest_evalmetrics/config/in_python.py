"""A benchmark whose keys are the keyword arguments of a call in a test."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.config.loading import validated
from pytest_evalmetrics.config.nodes import Node, show_path
from pytest_evalmetrics.errors import ConfigError, Problem
from pytest_evalmetrics.spec import Benchmark

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pytest_evalmetrics.config.nodes import NodePath

__all__ = ["benchmark_in_python"]

_ROLLOUTS = "(given in Python)"


def benchmark_in_python(
    settings: Mapping[str, Any], *, name: str, file: Path, line: int, shown: str
) -> Benchmark:
    """Make a benchmark of keyword arguments, validated as those of a benchmark file are."""
    problems: list[Problem] = []
    values = {**settings, "name": "check", "rollouts": _ROLLOUTS}
    node = _node(values, line, (), problems)
    spec = validated(node, problems)
    if problems or spec is None:
        in_order = tuple(dict.fromkeys(problems))
        raise ConfigError(shown, in_order, what="call of evalmetrics.check")
    # pytest made the name: what a benchmark file may not call one is of no matter
    return Benchmark(replace(spec, name=name), file, {(): line}, in_python=True)


def _node(value: Any, line: int, path: NodePath, problems: list[Problem]) -> Node:
    if hasattr(value, "tolist"):  # NumPy's
        value = value.tolist()
    if value is None or isinstance(value, bool | int | float | str):
        return Node(value, line, path)
    if isinstance(value, os.PathLike):
        return Node(os.fspath(value), line, path)
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return Node({k: _node(v, line, (*path, k), problems) for k, v in value.items()}, line, path)
    if isinstance(value, list | tuple):
        items = [_node(v, line, (*path, i), problems) for i, v in enumerate(value)]
        return Node(items, line, path)
    what = "a dict whose keys are not all text" if isinstance(value, dict) else type(value).__name__
    message = f"found {what}; expected text, a number, a list or a dict"
    problems.append(Problem(line, show_path(path), message))
    return Node(None, line, path, broken=True)
