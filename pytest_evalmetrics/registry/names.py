"""The names of one kind of thing, and what each stands for in a folder.

A name registered in a conftest.py holds below the folder of that file, as a fixture does; any
other holds everywhere. The deepest wins, and anybody's wins over a built-in one.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from pytest_evalmetrics.errors import RegistryError, did_you_mean
from pytest_evalmetrics.registry.families import is_family, numbers_in
from pytest_evalmetrics.registry.importing import entry_points_of, imported, loaded, package_of
from pytest_evalmetrics.registry.origins import is_ours, module_of, origin, same

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from importlib.metadata import EntryPoint
    from types import FrameType
    from typing import Self

__all__ = ["Found", "Registry", "Scope"]

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


class _Entry(msgspec.Struct, frozen=True):
    """A registration.

    Attributes
    ----------
    level
        How near it is: 0 for built-in, 1 for what holds everywhere, more the deeper a conftest.py.
    file, line
        Where it was registered.
    folder
        Below which it holds; empty for everywhere.
    module
        The globals of the module that registered it.
    """

    name: str
    target: Any
    level: int
    file: str = ""
    line: int = 0
    folder: str = ""
    module: Any = None

    def overlaps(self, other: _Entry) -> bool:
        """Whether a name means both: ``pass@1`` is one of ``pass@{k}``."""
        one, two = self.name, other.name
        return one == two or bool(numbers_in(one, two) or numbers_in(two, one))

    @property
    def origin(self) -> str:
        """What was registered, and where; two classes of one file may have one name."""
        written = origin(self.target)
        return f"{written.partition(' (')[0]} ({self.file}:{self.line})" if self.file else written

    def shown(self, root: Path | None) -> str:
        if self.level == 0:
            return "the built-in one"
        if not self.file:
            return origin(self.target)
        path = Path(self.file)
        below = root is not None and path.is_relative_to(root)
        return f"{path.relative_to(root).as_posix() if below and root else path}:{self.line}"


class Scope:
    """Where names are looked up, while it is entered.

    Parameters
    ----------
    root
        What messages name files relative to.
    folders
        Those of a benchmark file, and of a test; none for the run as a whole.
    modules
        The modules whose registrations count for a run as a whole; None for any.

    Attributes
    ----------
    notes
        Which names were found in several places, and whose was taken.
    """

    active: Scope | None = None

    def __init__(self, root: Path, *folders: Path, modules: Iterable[object] | None = None) -> None:
        self.root = root
        self.notes: dict[str, None] = {}
        self._folders = frozenset().union(*(_chain(str(folder)) for folder in folders))
        self._modules = None if modules is None else {id(vars(m)) for m in modules}
        self._outer: Scope | None = None

    def __enter__(self) -> Self:
        self._outer, Scope.active = Scope.active, self
        return self

    def __exit__(self, *_: object) -> None:
        Scope.active = self._outer

    def holds(self, entry: _Entry) -> bool:
        """Whether a registration counts here."""
        if not entry.folder:
            return True
        if self._folders:
            return entry.folder in self._folders
        return self._modules is None or id(entry.module) in self._modules


@lru_cache(maxsize=256)
def _chain(folder: str) -> frozenset[str]:
    real = Path(os.path.realpath(folder))
    return frozenset(map(str, (real, *real.parents)))


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
        self._entries: list[_Entry] = []
        self._loaded = False

    def register(self, name: str) -> Callable[[T], T]:
        """Decorate a class or a function to make it known under `name`.

        In a conftest.py it is known below the folder of that file, else everywhere.

        Parameters
        ----------
        name
            Letters, digits and signs other than ``/ [ ]``, which have a meaning in a
            benchmark file; ``top@{k}`` is a family, called with ``k=3`` for ``top@3``.

        Raises
        ------
        RegistryError
            If the name can't be written, or stands for something else in the same place.
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

        frame = sys._getframe(1)  # noqa: SLF001 - a conftest.py is known by its file alone

        def decorate(target: T) -> T:
            self._add(_registered_in(frame, name, target))
            return target

        return decorate

    def put(self, name: str, target: Any) -> None:
        """Let a name stand for one thing, whatever it stood for: in a process of one benchmark."""
        self._entries = [entry for entry in self._entries if entry.name != name]
        self._entries.append(_Entry(name, target, 1))

    def names(self) -> list[str]:
        """Every name that can be written here, families as patterns."""
        return sorted({*(entry.name for entry in self._here()), *self._entry_points})

    def offers(self, name: str) -> bool:
        """Whether an entry point, or a reference, is meant by a name: loading it may still fail."""
        return name in self._entry_points or bool(_REFERENCE.fullmatch(name))

    def is_builtin(self, name: str) -> bool:
        """Whether a name is one of ours, and nobody's else."""
        entry = self._registered(name)
        return name not in self._entry_points and entry is not None and is_ours(entry.target)

    def source(self, name: str) -> str:
        """Say who provides a name: built in, the distribution of an entry point, or a module."""
        if self.is_builtin(name):
            return "built-in"
        entry = self._registered(name)
        if entry is not None and entry.folder:
            return entry.shown(Scope.active.root if Scope.active else None)
        if name in self._entry_points:
            packages = dict.fromkeys(map(package_of, self._entry_points[name]))
            return f"entry point of {' and '.join(packages)}"
        return module_of(entry and entry.target)

    def find(self, name: str) -> Found:
        """Look a name up, in the scope that is entered.

        Parameters
        ----------
        name
            A registered name, a member of a family, or ``package.module:attribute``.

        Raises
        ------
        RegistryError
            If there is no such thing, it can't be imported, or the name is taken twice.
        """
        entry = self._registered(name)
        if entry is None and _REFERENCE.fullmatch(name):
            return Found(name, imported(self.kind, name), reference=True)
        for point in self._entry_points:
            if point == name or numbers_in(point, name) is not None:
                self._load_entry_point(point)
                entry = self._registered(name)
        if entry is not None:
            return Found(entry.name, entry.target, numbers_in(entry.name, name) or {})
        raise RegistryError(
            f"there is no {self.kind} {name!r}: "
            + did_you_mean(name, self.names(), what=f"{self.kind}s there are"),
            hint=f"one of your own is package.module:attribute, or made known with "
            f"@register_{self.kind} in a conftest.py of this folder or one above it",
        )

    def family(self, name: str) -> str | None:
        """Return the pattern that a name means, ``pass@{k}`` of ``pass@k``; None for no family."""
        return next((known for known in self.names() if is_family(known, name)), None)

    def holder(self, name: str) -> Any:
        """Return what a name, or its family, is taken by; None where it is free or built in."""
        entry = self._registered(name)
        return None if entry is None or entry.level == 0 else entry.target

    def _here(self) -> list[_Entry]:
        if not self._loaded:
            importlib.import_module(self._builtins)
            self._loaded = True
        scope = Scope.active
        return self._entries if scope is None else [e for e in self._entries if scope.holds(e)]

    def _registered(self, name: str) -> _Entry | None:
        """Find the nearest registration; a name itself comes before the family it is one of.

        Raises
        ------
        RegistryError
            Two conftest.py files of one run have it, of which neither is the nearer one.
        """
        matches = [
            (entry.level, entry.name == name, entry)
            for entry in self._here()
            if entry.name == name or numbers_in(entry.name, name) is not None
        ]
        if not matches:
            return None
        if len(matches) == 1:
            return matches[0][2]
        best = max(matches, key=lambda match: match[:2])[2]
        root = Scope.active.root if Scope.active else None
        for level, _, other in matches:
            if other.folder and other.folder not in _chain(best.folder):
                raise RegistryError(
                    f"the {self.kind} {name!r} is registered twice in this run: in "
                    f"{other.shown(root)} and in {best.shown(root)}",
                    hint="give one of them another name",
                )
            if Scope.active and level < best.level and not same(other.target, best.target):
                Scope.active.notes[
                    f"the {self.kind} {name!r} is the one of {best.shown(root)}, "
                    f"which replaces {'' if level == 0 else 'that of '}{other.shown(root)}"
                ] = None
        return best

    def _add(self, new: _Entry) -> None:
        for entry in list(self._entries):
            if entry.level != new.level or entry.folder != new.folder or not entry.overlaps(new):
                continue
            again = entry.name == new.name and (
                # the file was imported once more, perhaps under another module name
                bool(new.file and entry.file == new.file and entry.module is not new.module)
                or same(entry.target, new.target)
            )
            if not again and not same(entry.target, new.target):
                named = "" if entry.name == new.name else f" as {entry.name!r}"
                raise RegistryError(
                    f"the {self.kind} {new.name!r} is registered twice: by "
                    f"{entry.origin}{named} and by {new.origin}",
                    hint="give one of them another name",
                )
            if again:
                self._entries.remove(entry)
        self._entries.append(new)

    @cached_property
    def _entry_points(self) -> dict[str, list[EntryPoint]]:
        return entry_points_of(self.group)

    def _load_entry_point(self, name: str) -> None:
        for point in self._entry_points[name]:
            target = loaded(self.kind, point)
            if inspect.ismodule(target):  # importing it ran its decorators
                continue
            self._add(_Entry(name, target, 1))


def _registered_in(frame: FrameType, name: str, target: Any) -> _Entry:
    """Note where the code that registers stands."""
    file, module = frame.f_code.co_filename, frame.f_globals
    if str(module.get("__name__", "")).startswith("pytest_evalmetrics.") and is_ours(target):
        return _Entry(name, target, 0)
    folder, level = "", 1
    if os.path.basename(file) == "conftest.py":  # noqa: PTH119 - for each of many names
        real = Path(os.path.realpath(file)).parent
        folder, level = str(real), 1 + len(real.parts)
    return _Entry(name, target, level, file, frame.f_lineno, folder, module)
