"""Names to things: what can be written in a benchmark file and who provides it.

A thing is registered by a decorator, by an entry point (loaded by name at first use),
or named outright as ``package.module:attribute``. A name may be a family, such as
``pass@{k}``, whose thing is called with the numbers that stand in the name.
"""

from __future__ import annotations

import importlib
import inspect
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_evalmetrics.errors import RegistryError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.metadata import EntryPoint

__all__ = [
    "Found",
    "Registry",
    "loaders",
    "metrics",
    "origin",
    "register_loader",
    "register_metric",
    "register_reporter",
    "register_scorer",
    "reporters",
    "same",
    "scorers",
    "targets",
]

T = TypeVar("T")
_REFERENCE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_PLACE = re.compile(r"\{(\w+)\}")
_RESERVED = re.compile(r"[/\[\]]")


@dataclass(frozen=True, slots=True)
class Found:
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
    numbers: dict[str, int] = field(default_factory=dict)
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
        return name not in self._entry_points and _module(target).startswith("pytest_evalmetrics.")

    def source(self, name: str) -> str:
        """Say who provides a name: built in, the distribution of an entry point, or a module."""
        if self.is_builtin(name):
            return "built-in"
        if name in self._entry_points:
            packages = dict.fromkeys(map(_package, self._entry_points[name]))
            return f"entry point of {' and '.join(packages)}"
        return _module(self._targets.get(name))

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
            return Found(name, self._import(name), reference=True)
        for point in self._entry_points:
            if point == name or _match(point, name) is not None:
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

    def holder(self, name: str) -> Any:
        """Return what a name, or its family, is taken by; None where it is free or gives way."""
        self._load_builtins()
        found = self._registered(name)
        return None if found is None or found.name in self._giving_way else found.target

    def _registered(self, name: str) -> Found | None:
        if name in self._targets:
            return Found(name, self._targets[name])
        for pattern, target in self._targets.items():
            numbers = _match(pattern, name)
            if numbers is not None:
                return Found(pattern, target, numbers)
        return None

    def _add(self, name: str, target: Any, *, gives_way: bool = False) -> None:
        for other, known in list(self._targets.items()):
            # a single name in the way of a family is taken too: pass@1 is one of pass@{k}
            overlap = other == name or _match(other, name) or _match(name, other)
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
        importlib.import_module(self._builtins)

    @cached_property
    def _entry_points(self) -> dict[str, list[EntryPoint]]:
        from importlib.metadata import entry_points  # noqa: PLC0415 - reads every package's metadata

        found: dict[str, list[EntryPoint]] = {}
        for point in entry_points(group=self.group):
            found.setdefault(point.name, []).append(point)
        return found

    def _load_entry_point(self, name: str) -> None:
        for point in self._entry_points[name]:
            try:
                target = point.load()
            except Exception as error:
                raise RegistryError(
                    f"the {self.kind} {name!r} of {_package(point)} can't be loaded from "
                    f"{point.value}: {type(error).__name__}: {error}",
                    hint=f"mend or uninstall {_package(point)}",
                ) from error
            if inspect.ismodule(target):  # importing it ran its decorators
                continue
            self._add(name, target)

    def _import(self, reference: str) -> Any:
        module_name, _, path = reference.partition(":")
        try:
            target: Any = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            missing = error.name or module_name
            if module_name == missing or module_name.startswith(missing + "."):
                raise RegistryError(
                    f"the {self.kind} {reference!r} can't be imported: there is no module "
                    f"{missing!r}",
                    hint="install it, or let pytest find it: `pythonpath = .` in the "
                    "configuration file of pytest",
                ) from error
            raise self._broken(reference, error) from error
        except Exception as error:
            raise self._broken(reference, error) from error
        for part in path.split("."):
            if not hasattr(target, part):
                public = [n for n in dir(target) if not n.startswith("_")]
                raise RegistryError(
                    f"the {self.kind} {reference!r} can't be found: {module_name} has no "
                    f"{part!r}; " + did_you_mean(part, public, what="it has")
                )
            target = getattr(target, part)
        return target

    def _broken(self, reference: str, error: Exception) -> RegistryError:
        return RegistryError(
            f"the {self.kind} {reference!r} can't be imported: {type(error).__name__}: {error}"
        )


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


def _module(target: Any) -> str:
    thing = target if inspect.isclass(target) or inspect.isroutine(target) else type(target)
    return str(thing.__module__)


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else "an installed package"


def _match(pattern: str, name: str) -> dict[str, int] | None:
    if "{" not in pattern:
        return None
    parts = _PLACE.split(pattern)
    regex = "".join(
        f"(?P<{part}>[1-9][0-9]*)" if i % 2 else re.escape(part) for i, part in enumerate(parts)
    )
    match = re.fullmatch(regex, name)
    return None if match is None else {k: int(v) for k, v in match.groupdict().items()}


metrics = Registry("metric", "pytest_evalmetrics.metrics", "pytest_evalmetrics.metrics.builtin")
register_metric = metrics.register

loaders = Registry("loader", "pytest_evalmetrics.loaders", "pytest_evalmetrics.rollouts.builtin")
register_loader = loaders.register

scorers = Registry("scorer", "pytest_evalmetrics.scorers", "pytest_evalmetrics.scorers.builtin")
register_scorer = scorers.register

reporters = Registry(
    "reporter", "pytest_evalmetrics.reporters", "pytest_evalmetrics.reports.builtin"
)
register_reporter = reporters.register

targets = Registry("target", "pytest_evalmetrics.targets", "pytest_evalmetrics.generation")
