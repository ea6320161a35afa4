"""Where a thing is written, and whether two things are one."""

from __future__ import annotations

import inspect
from typing import Any

__all__ = ["is_ours", "module_of", "origin", "same"]


def origin(target: Any) -> str:
    """Say where a thing is written: ``pkg.module.Class (file:line)``."""
    thing = target if inspect.isclass(target) or inspect.isroutine(target) else type(target)
    name = f"{thing.__module__}.{thing.__qualname__}"
    try:
        return f"{name} ({inspect.getsourcefile(thing)}:{inspect.getsourcelines(thing)[1]})"
    except (OSError, TypeError):
        return name


def same(one: Any, other: Any) -> bool:
    """Whether two things are one: a module that is imported anew makes the same class again."""
    return one is other or _identity(one) == _identity(other)


def _identity(target: Any) -> tuple[Any, ...]:
    try:
        file = inspect.getsourcefile(target)
    except TypeError:  # an instance: what it holds can't be compared
        return (id(target),)
    parts = vars(target).values() if inspect.isclass(target) else (target,)
    lines = [part.__code__.co_firstlineno for part in parts if inspect.isfunction(part)]
    return (getattr(target, "__qualname__", None), file, *lines)


def module_of(target: Any) -> str:
    """Name the module in which a thing is written."""
    thing = target if inspect.isclass(target) or inspect.isroutine(target) else type(target)
    return str(thing.__module__)


def is_ours(target: Any) -> bool:
    """Whether a thing comes with this package."""
    return module_of(target).startswith("pytest_evalmetrics.")
