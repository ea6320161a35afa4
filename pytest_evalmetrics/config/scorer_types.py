"""The ``type`` of each scorer, as it is written: one that nobody offers is found before a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.config.nodes import show_path
from pytest_evalmetrics.errors import Problem, RegistryError
from pytest_evalmetrics.registry import scorers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_evalmetrics.config.nodes import Node

__all__ = ["unknown_types"]


def unknown_types(top: Node) -> Iterator[Problem]:
    """Ask the registry for each type; what else is wrong with a scorer doesn't matter."""
    value = top.value.get("scorers") if isinstance(top.value, dict) else None
    for scorer in value.value if value is not None and isinstance(value.value, list) else ():
        kind = scorer.value.get("type") if isinstance(scorer.value, dict) else None
        # package.module:name is imported when its scorer is made: collecting runs no such code
        if kind is None or not isinstance(kind.value, str) or not kind.value or ":" in kind.value:
            continue
        try:
            scorers.find(kind.value)
        except RegistryError as error:
            message = f"{error.message}; {error.hint}" if error.hint else error.message
            yield Problem(kind.line, show_path(kind.path), message)
