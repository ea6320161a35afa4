"""Where a thing is written, and whether two things are one."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import CodeType

__all__ = ["is_ours", "module_of", "origin", "same"]


def origin(target: Any) -> str:
    """Say where a thing is written: ``pkg.module.Class (file:line)``."""
    thing = target if inspect.isclass(target) or inspect.isroutine(target) else type(target)
    name = f"{thing.__module__}.{thing.__qualname__}"
    codes = _codes(thing)
    try:
        file = inspect.getsourcefile(thing)
        if not codes or codes[0].co_filename == file:
            return f"{name} ({file}:{inspect.getsourcelines(thing)[1]})"
    except (OSError, TypeError):
        pass
    return f"{name} ({codes[0].co_filename}:{codes[0].co_firstlineno})" if codes else name


def same(one: Any, other: Any) -> bool:
    """Whether two things are one: a module that is imported anew makes the same class again."""
    return one is other or _identity(one) == _identity(other)


def _identity(target: Any) -> tuple[Any, ...]:
    codes = _codes(target)
    try:
        file = codes[0].co_filename if codes else inspect.getsourcefile(target)
    except TypeError:  # an instance: what it holds can't be compared
        return (id(target),)
    return (getattr(target, "__qualname__", None), file, *[c.co_firstlineno for c in codes])


def _codes(target: Any) -> list[CodeType]:
    """List the code of a function, or of a class's methods.

    It names its file, where a module is known by its name alone: each conftest.py without a
    package is the module ``conftest``, of which Python knows the last one.
    """
    parts = vars(target).values() if inspect.isclass(target) else (target,)
    return [part.__code__ for part in parts if inspect.isfunction(part)]


def module_of(target: Any) -> str:
    """Name the module in which a thing is written."""
    thing = target if inspect.isclass(target) or inspect.isroutine(target) else type(target)
    return str(thing.__module__)


def is_ours(target: Any) -> bool:
    """Whether a thing comes with this package."""
    return module_of(target).startswith("pytest_evalmetrics.")
