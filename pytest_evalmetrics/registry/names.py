"""The names of one kind of thing, and who has each."""

from __future__ import annotations

import importlib
import inspect
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from pytest_evalmetrics.errors import RegistryError, did_you_mean
from pytest_evalmetrics.registry.families import is_family, numbers_in
from pytest_evalmetrics.registry.importing import entry_points_of, imported, loaded, package_of
from pytest_evalmetrics.registry.origins import is_ours, module_of, origin, same

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.metadata import EntryPoint

__all__ = ["Found", "Registry"]

T = TypeVar("T")
_REFERENCE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_RESERVED = re.compile(r"[/\[\]]")


class Found(msgspec.Struct, frozen=True):
    """What a name stands for.

    Attributes
    ----------
    name
        The name under which it is registered: ``pass@{k}`` for ``pass@3``.
    target
        The class, function or object.
    numbers
        The numbers of a family's name: ``{"k": 3}``.
    reference
        Whether it was named as ``package.module:attribute``.
    """

    name: str
    target: Any
    numbers: dict[str, int] = msgspec.field(default_factory=dict)
    reference: bool = False


class Registry:
    """The names of one kind of thing.

    Parameters
    ----------
    kind
        What they are, for messages: ``metric``.
    group
        The entry-point group of third-party packages.
    builtins
        The module whose import registers the built-in ones.
    """

    def __init__(self, kind: str, group: str, builtins: str) -> None:
        self.kind = kind
        self.group = group
        self._builtins = builtins
        self._targets: dict[str, Any] = {}
        self._giving_way: set[str] = set()
        self._loaded = False

    def register(self, name: str, *, gives_way: bool = False) -> Callable[[T], T]:
        """Decorate a class or a function to make it known under `name`.

        Parameters
        ----------
        name
            Letters, digits and signs other than ``/ [ ]``, which have a meaning in a
            benchmark file; ``top@{k}`` is a family, called with ``k=3`` for ``top@3``.
        gives_way
            Whether another thing may take the name: for what is built in under a name that
            users have long been giving to things of their own.

        Raises
        ------
        RegistryError
            If the name can't be written, or stands for something else already.
        """
        if not isinstance(name, str):
            raise RegistryError(
                f"@register_{self.kind} needs a name, and got {origin(name)}",
                hint=f'write @register_{self.kind}("a_name")',
            )
        if not name or name != name.strip() or _RESERVED.search(name):
            raise RegistryError(
                f"{name!r} can't be the name of a {self.kind}: it is empty, has a space at an "
                "end, or holds one of / [ ]"
            )

        def decorate(target: T) -> T:
            self._add(name, target, gives_way=gives_way)
            return target

        return decorate

    def names(self) -> list[str]:
        """Every name that can be written, families as patterns."""
        self._load_builtins()
        return sorted({*self._targets, *self._entry_points})

    def offers(self, name: str) -> bool:
        """Whether an entry point, or a reference, is meant by a name: loading it may still fail."""
        return name in self._entry_points or bool(_REFERENCE.fullmatch(name))

    def is_builtin(self, name: str) -> bool:
        """Whether a name is one of ours, and nobody's else."""
        self._load_builtins()
        target = self._targets.get(name)
        return name not in self._entry_points and is_ours(target)

    def source(self, name: str) -> str:
        """Say who provides a name: built in, the distribution of an entry point, or a module."""
        if self.is_builtin(name):
            return "built-in"
        if name in self._entry_points:
            packages = dict.fromkeys(map(package_of, self._entry_points[name]))
            return f"entry point of {' and '.join(packages)}"
        return module_of(self._targets.get(name))

    def find(self, name: str) -> Found:
        """Look a name up.

        Parameters
        ----------
        name
            A registered name, a member of a family, or ``package.module:attribute``.

        Raises
        ------
        RegistryError
            If there is no such thing, it can't be imported, or the name is taken twice.
        """
        self._load_builtins()
        if _REFERENCE.fullmatch(name) and name not in self._targets:
            return Found(name, imported(self.kind, name), reference=True)
        for point in self._entry_points:
            if point == name or numbers_in(point, name) is not None:
                self._load_entry_point(point)
        found = self._registered(name)
        if found is not None:
            return found
        raise RegistryError(
            f"there is no {self.kind} {name!r}: "
            + did_you_mean(name, self.names(), what=f"{self.kind}s there are"),
            hint=f"one of your own is package.module:attribute, or made known with "
            f"@register_{self.kind} in a conftest.py",
        )

    def family(self, name: str) -> str | None:
        """Return the pattern that a name means, ``pass@{k}`` of ``pass@k``; None for no family."""
        return next((known for known in self.names() if is_family(known, name)), None)

    def holder(self, name: str) -> Any:
        """Return what a name, or its family, is taken by; None where it is free or gives way."""
        self._load_builtins()
        found = self._registered(name)
        return None if found is None or found.name in self._giving_way else found.target

    def _registered(self, name: str) -> Found | None:
        if name in self._targets:
            return Found(name, self._targets[name])
        for pattern, target in self._targets.items():
            numbers = numbers_in(pattern, name)
            if numbers is not None:
                return Found(pattern, target, numbers)
        return None

    def _add(self, name: str, target: Any, *, gives_way: bool = False) -> None:
        for other, known in list(self._targets.items()):
            # a single name in the way of a family is taken too: pass@1 is one of pass@{k}
            overlap = other == name or numbers_in(other, name) or numbers_in(name, other)
            if not overlap or same(known, target):
                continue
            if gives_way:
                return
            if other not in self._giving_way:
                raise RegistryError(
                    f"the {self.kind} {name!r} is registered twice: by {origin(known)}"
                    f"{'' if other == name else f' as {other!r}'} and by {origin(target)}",
                    hint="give one of them another name",
                )
            del self._targets[other]
            self._giving_way.discard(other)
        self._targets[name] = target
        if gives_way:
            self._giving_way.add(name)

    def _load_builtins(self) -> None:
        if not self._loaded:
            importlib.import_module(self._builtins)
            self._loaded = True

    @cached_property
    def _entry_points(self) -> dict[str, list[EntryPoint]]:
        return entry_points_of(self.group)

    def _load_entry_point(self, name: str) -> None:
        for point in self._entry_points[name]:
            target = loaded(self.kind, point)
            if inspect.ismodule(target):  # importing it ran its decorators
                continue
            self._add(name, target)
