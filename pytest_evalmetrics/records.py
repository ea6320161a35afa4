"""Frozen dataclasses whose methods are written once, here.

The standard library writes and compiles six methods for each class: half a millisecond, and a
small run loads sixty classes.
"""

from __future__ import annotations

from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar, dataclass_transform

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_T = TypeVar("_T")


class _Plan(NamedTuple):
    """What the methods need to know of a class."""

    names: tuple[str, ...]
    defaults: Mapping[str, Any]
    factories: Mapping[str, Callable[[], Any]]
    compared: tuple[str, ...]
    shown: tuple[str, ...]


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[_T]) -> type[_T]:
    """Make a class a frozen dataclass."""
    made: Any = dataclass(init=False, repr=False, eq=False)(cls)
    own = fields(made)
    made._plan = _Plan(  # noqa: SLF001 - ours
        tuple(f.name for f in own),
        {f.name: f.default for f in own if f.default is not MISSING},
        {f.name: f.default_factory for f in own if f.default_factory is not MISSING},
        tuple(f.name for f in own if f.compare),
        tuple(f.name for f in own if f.repr),
    )
    for method in (__init__, __repr__, __eq__, __hash__, __setattr__, __delattr__):
        if method.__name__ not in vars(cls):
            setattr(made, method.__name__, method)
    return cls


def __init__(self: Any, *args: Any, **given: Any) -> None:  # noqa: N807 - put into classes
    plan: _Plan = self._plan
    if args:
        placed = dict(zip(plan.names, args, strict=False))
        if len(placed) < len(args) or placed.keys() & given.keys():
            raise TypeError(f"{type(self).__name__} got too many values")
        given = {**placed, **given}
    values = {**plan.defaults, **given}
    for name, make in plan.factories.items():
        if name not in given:
            values[name] = make()
    try:
        ordered = {name: values.pop(name) for name in plan.names}
    except KeyError as error:
        raise TypeError(f"{type(self).__name__} lacks {error}") from None
    if values:
        raise TypeError(f"{type(self).__name__} has no {', '.join(values)}")
    self.__dict__.update(ordered)
    if hasattr(self, "__post_init__"):
        self.__post_init__()


def __repr__(self: Any) -> str:  # noqa: N807
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._plan.shown)
    return f"{type(self).__qualname__}({shown})"


def __eq__(self: Any, other: Any) -> bool:  # noqa: N807
    if other.__class__ is not self.__class__:
        return NotImplemented
    return _compared(self) == _compared(other)


def __hash__(self: Any) -> int:  # noqa: N807
    return hash(_compared(self))


def _compared(one: Any) -> tuple[Any, ...]:
    return tuple(getattr(one, name) for name in one._plan.compared)  # noqa: SLF001 - ours


def __setattr__(self: Any, name: str, value: object) -> NoReturn:  # noqa: N807, ARG001
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def __delattr__(self: Any, name: str) -> NoReturn:  # noqa: N807, ARG001
    raise FrozenInstanceError(f"cannot delete field {name!r}")
