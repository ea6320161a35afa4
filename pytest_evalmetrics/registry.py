"""The registered names of metrics, scorers, loaders, gate rules and reporters.

A thing is registered by a decorator, by an entry point (loaded by name at first use), or named
as ``package.module:attribute``. A name may be a family, such as ``pass@{k}``, whose thing is called
with the numbers in the name. A name registered in a conftest.py holds below the folder of that
file, as a fixture does; any other holds everywhere. The deepest wins, and anybody's wins over a
built-in one.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
import os
import re
import sys
from contextlib import suppress
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import msgspec

from pytest_evalmetrics.errors import RegistryError, closest, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from importlib.metadata import EntryPoint
    from types import CodeType, FrameType

    from pytest_evalmetrics.model.run_notes import ReplacedBuiltin, ReplacedName

T = TypeVar("T")
_REFERENCE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_RESERVED = re.compile(r"[/\[\]]")


class Found(msgspec.Struct, frozen=True):
    """The result of looking up a name.

    Attributes
    ----------
    name
        The name as it is registered: ``pass@{k}`` for ``pass@3``.
    target
        The thing.
    numbers
        The numbers in a family's name: ``{"k": 3}``.
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
    name, target
        The name, and what is registered under it.
    level
        0 for a built-in one, 1 for one that is valid everywhere, more the deeper its
        conftest.py.
    file, line
        The place of the registration.
    folder
        The folder below which it is valid; empty for everywhere.
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

    @property
    def origin(self) -> str:
        """The name of the target and its place."""
        defined = origin(self.target)
        if self.file:
            return f"{defined.partition(' (')[0]} ({self.file}:{self.line})"
        return defined

    @property
    def place(self) -> str:
        """The place, relative to the root folder of the run."""
        if not self.file:
            return origin(self.target)
        path = Path(self.file)
        if Scope.active and path.is_relative_to(Scope.active.root):
            path = path.relative_to(Scope.active.root)
        return f"{path.as_posix()}:{self.line}"


class Scope:
    """The folders in which names are looked up: those of a file, a test, or none."""

    active: Scope | None = None

    def __init__(
        self, root: Path, *folders: Path, modules: Iterable[object] | None = None
    ) -> None:
        self.root = root  # messages name files relative to it
        # names found in several places, and the one used
        self.notes: dict[ReplacedName | ReplacedBuiltin, None] = {}
        self._folders = frozenset().union(*(_chain(str(folder)) for folder in folders))
        self._modules = None if modules is None else {id(vars(m)) for m in modules}
        self._outer: Scope | None = None

    def __enter__(self) -> Self:
        self._outer = Scope.active
        Scope.active = self
        return self

    def __exit__(self, *_: object) -> None:
        Scope.active = self._outer

    def holds(self, entry: _Entry) -> bool:
        """Check whether a registration is valid in the current scope."""
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
    """The registered names of one kind, such as ``metric``.

    Packages add to them by entry points of the group ``pytest_evalmetrics.metrics``. The module of
    the built-in ones registers them, or offers a function that returns those of a name, when it is
    imported; `reserved` are built-in names without a registration, which can't be replaced.
    """

    def __init__(
        self,
        kind: str,
        *,
        has_builtins: bool = True,
        reserved: Sequence[str] = (),
    ) -> None:
        self.kind = kind
        self._has_builtins = has_builtins
        self._offered: Callable[[str | None], Mapping[str, object]] | None = None
        self._reserved = reserved
        self._entries: list[_Entry] = []

    def register(self, name: str) -> Callable[[T], T]:
        """Register a class or function under `name`: in a conftest.py for its folder.

        A name has no ``/ [ ]``, which have a meaning in a benchmark file; ``top@{k}`` is a family,
        called with ``k=3`` for ``top@3``. RegistryError says that the name is invalid, or stands
        for something else in the same place.
        """
        if not isinstance(name, str):
            raise RegistryError(
                f"{self._decorator} needs a name, and got {origin(name)}",
                hint=f'write {self._decorator}("a_name")',
            )
        if name in self._reserved:
            built_in = f"the {self.kind} {name!r} is built in"
            raise RegistryError(built_in, hint="give yours another name")
        if not name or name != name.strip() or _RESERVED.search(name):
            why = "it is empty, has a space at an end, or holds one of / [ ]"
            raise RegistryError(f"{name!r} can't be the name of a {self.kind}: {why}")
        frame = sys._getframe(1)  # noqa: SLF001 - a conftest.py is known by its file alone

        def decorate(target: T) -> T:
            self._add(_registered_in(frame, name, target))
            return target

        return decorate

    def offer(self, builtins: Callable[[str | None], Mapping[str, object]]) -> None:
        """Set the function that returns the built-in ones of a name, or all for None."""
        self._offered = builtins

    def put(self, name: str, target: object) -> None:
        """Replace a registration, in a process of one benchmark."""
        self._entries = [entry for entry in self._entries if entry.name != name]
        self._entries.append(_Entry(name, target, 1))

    def names(self) -> list[str]:
        """Return all names that are valid in the current scope, with families as patterns."""
        return sorted({*(entry.name for entry in self._here()), *self._entry_points})

    def is_builtin(self, name: str) -> bool:
        """Check whether a name is built in and not overridden."""
        entry = self._registered(name)
        return (
            name not in self._entry_points
            and entry is not None
            and is_ours(entry.target)
        )

    def source(self, name: str) -> str:
        """Return the provider of a name: built in, a distribution, a file or a module."""
        entry = self._registered(name)
        if self.is_builtin(name):
            return "built-in"
        if entry is not None and entry.folder:
            return entry.place
        if name in self._entry_points:
            packages = dict.fromkeys(map(_package_of, self._entry_points[name]))
            return f"entry point of {' and '.join(packages)}"
        return module_of(entry and entry.target)

    def find(self, name: str) -> Found:
        """Look up a name, a member of a family, or ``package.module:attribute``."""
        entry = self._registered(name)
        if entry is None and _REFERENCE.fullmatch(name):
            return Found(name, imported(self.kind, name), reference=True)
        for point in self._entry_points:
            if numbers_in(point, name) is not None:
                self._load_entry_point(point)
                entry = self._registered(name)
        if entry is not None:
            return Found(entry.name, entry.target, numbers_in(entry.name, name) or {})
        if "," in name:
            several = ", ".join(part.strip() for part in name.split(","))
            raise RegistryError(
                f"there is no {self.kind} {name!r}", hint=f"write a list: [{several}]"
            )
        names = [*self._reserved, *self.names()]
        guess = did_you_mean(name, names, what=f"{self.kind}s there are")
        way = f"made known with {self._decorator} in a conftest.py of this folder or one above it"
        hint = f"one of your own is package.module:attribute, or {way}"
        error = RegistryError(f"there is no {self.kind} {name!r}: {guess}", hint=hint)
        error.meant = closest(name, names)
        raise error

    @property
    def _decorator(self) -> str:
        return f"@register_{self.kind.replace(' ', '_')}"

    def family(self, name: str) -> str | None:
        """Return the pattern of a name's family, such as ``pass@{k}``; None without one."""
        families = (pattern for pattern in self.names() if "{" in pattern)
        return next((p for p in families if name in (p, _PLACE.sub(r"\1", p))), None)

    def holder(self, name: str) -> Any:
        """Return the owner of a name or its family; None if it is free or built in."""
        entry = self._registered(name)
        return None if entry is None or entry.level == 0 else entry.target

    def _here(self, name: str | None = None) -> list[_Entry]:
        if self._offered is not None:
            for builtin, target in self._offered(name).items():
                self._add(_Entry(builtin, target, 0))
        elif self._has_builtins and not any(e.level == 0 for e in self._entries):
            raise RuntimeError(f"the built-in {self.kind}s are not imported")
        scope = Scope.active
        if scope is None:
            return self._entries
        return [e for e in self._entries if scope.holds(e)]

    def _registered(self, name: str) -> _Entry | None:
        """Find the nearest registration; a name takes precedence over its family."""
        matches = [e for e in self._here(name) if numbers_in(e.name, name) is not None]
        if not matches:
            return None
        best = max(matches, key=lambda entry: (entry.level, entry.name == name))
        for other in matches:
            if other.folder and other.folder not in _chain(best.folder):
                where = f" in this run: in {other.place} and in {best.place}"
                raise self._twice(name, where)
            if other.level < best.level and not same(other.target, best.target):
                self._note_replaced(name, best, other)
        return best

    def _note_replaced(self, name: str, best: _Entry, other: _Entry) -> None:
        """Note in the current scope that a registration takes the place of another."""
        if Scope.active is None:
            return
        from pytest_evalmetrics.model.run_notes import ReplacedName  # rare

        note = ReplacedName(
            kind=self.kind,
            name=name,
            place=best.place,
            replaced="" if other.level == 0 else other.place,
        )
        Scope.active.notes[note] = None

    def _add(self, new: _Entry) -> None:
        for entry in list(self._entries):
            if not _compete(entry, new):
                continue
            is_same = same(entry.target, new.target)
            is_same_name = entry.name == new.name
            if is_same_name and (is_same or _is_imported_again(entry, new)):
                self._entries.remove(entry)
            elif not is_same:
                named = "" if is_same_name else f" as {entry.name!r}"
                raise self._twice(
                    new.name, f": by {entry.origin}{named} and by {new.origin}"
                )
        self._entries.append(new)

    def _twice(self, name: str, where: str) -> RegistryError:
        message = f"the {self.kind} {name!r} is registered twice{where}"
        return RegistryError(message, hint="give one of them another name")

    @cached_property
    def _entry_points(self) -> dict[str, list[EntryPoint]]:
        points: dict[str, list[EntryPoint]] = {}
        group = f"pytest_evalmetrics.{self.kind.replace(' ', '_')}s"
        for point in _all_entry_points(tuple(sys.path)).select(group=group):
            points.setdefault(point.name, []).append(point)
        return points

    def _load_entry_point(self, name: str) -> None:
        for point in self._entry_points[name]:
            try:
                target = point.load()
            except Exception as error:
                package = _package_of(point)
                why = f"{type(error).__name__}: {error}"
                what = f"the {self.kind} {name!r} of {package} can't be loaded"
                message = f"{what} from {point.value}: {why}"
                raise RegistryError(
                    message, hint=f"fix or uninstall {package}"
                ) from error
            if not inspect.ismodule(target):  # importing a module ran its decorators
                self._add(_Entry(name, target, 1))


def _compete(one: _Entry, other: _Entry) -> bool:
    """Check whether two registrations are for one name of one place, as pass@1 and pass@{k}."""
    if one.level != other.level or one.folder != other.folder:
        return False
    is_of_family = numbers_in(one.name, other.name) is not None
    return is_of_family or numbers_in(other.name, one.name) is not None


def _is_imported_again(entry: _Entry, new: _Entry) -> bool:
    """Check whether a file was imported once more, perhaps under another module name."""
    is_same_file = bool(new.file) and entry.file == new.file
    return is_same_file and entry.module is not new.module


@lru_cache(maxsize=1)  # reading the metadata of every package is slow
def _all_entry_points(_path: tuple[str, ...]) -> Any:
    return importlib.metadata.entry_points()


def _package_of(point: EntryPoint) -> str:
    if point.dist is not None:
        return point.dist.name
    return "an installed package"


def _registered_in(frame: FrameType, name: str, target: object) -> _Entry:
    file = frame.f_code.co_filename
    module = frame.f_globals
    if str(module.get("__name__")).startswith("pytest_evalmetrics."):
        return _Entry(name, target, 0)
    folder = ""
    level = 1
    if os.path.basename(file) == "conftest.py":  # noqa: PTH119 - for each of many names
        real = Path(os.path.realpath(file)).parent
        folder = str(real)
        level = 1 + len(real.parts)
    return _Entry(name, target, level, file, frame.f_lineno, folder, module)


def imported(kind: str, reference: str) -> Any:
    """Import ``package.module:attribute``."""
    module_name, _, path = reference.partition(":")
    try:
        target: Any = importlib.import_module(module_name)
    except Exception as error:
        missing = None
        if isinstance(error, ModuleNotFoundError):
            missing = error.name
        if missing and f"{module_name}.".startswith(f"{missing}."):
            why = f"there is no module {missing!r}"
            hint = "install it, or write `pythonpath = .` in the configuration file of pytest"
        else:
            why = f"{type(error).__name__}: {error}"
            hint = ""
        message = f"the {kind} {reference!r} can't be imported: {why}"
        raise RegistryError(message, hint=hint) from error
    for part in path.split("."):
        if not hasattr(target, part):
            public = [n for n in dir(target) if not n.startswith("_")]
            why = f"{module_name} has no {part!r}; {did_you_mean(part, public, what='it has')}"
            raise RegistryError(f"the {kind} {reference!r} can't be found: {why}")
        target = getattr(target, part)
    return target


_PLACE = re.compile(r"\{(\w+)\}")


def numbers_in(pattern: str, name: str) -> dict[str, int] | None:
    """Return ``{"k": 3}`` for ``pass@3`` of ``pass@{k}``; None for a name of another form."""
    if pattern == name:
        return {}
    if "{" not in pattern:
        return None
    # the names of numbers stand between the fixed parts
    parts = _PLACE.split(pattern)
    groups = list(map(re.escape, parts))
    groups[1::2] = [f"(?P<{number}>[1-9][0-9]*)" for number in parts[1::2]]
    match = re.fullmatch("".join(groups), name)
    if match is None:
        return None
    return {key: int(value) for key, value in match.groupdict().items()}


# -- the kinds of names --------------------------------------------------------------------

metrics = Registry("metric")
register_metric = metrics.register

loaders = Registry("loader")
register_loader = loaders.register

scorers = Registry("scorer")
register_scorer = scorers.register

reporters = Registry("reporter")
register_reporter = reporters.register

gate_rules = Registry(
    "gate rule",
    has_builtins=False,
    reserved=(
        "exact",
        "absolute",
        "relative",
        "statistical",
        "practical",
        "noninferior",
    ),
)
register_gate_rule = gate_rules.register

targets = Registry("target", has_builtins=False)

behaviours = Registry("behaviour", has_builtins=False)
register_behaviour = behaviours.register


# -- where a thing is defined --------------------------------------------------------------


def origin(target: object) -> str:
    """Return the place of a definition: ``pkg.module.Class (file:line)``."""
    thing = definition_of(target)
    places = [f"{code.co_filename}:{code.co_firstlineno}" for code in _codes(thing)]
    with suppress(OSError, TypeError):
        file = inspect.getsourcefile(thing)
        if not places or places[0].startswith(f"{file}:"):
            places = [f"{file}:{inspect.getsourcelines(thing)[1]}"]
    name = f"{thing.__module__}.{thing.__qualname__}"
    if not places:
        return name
    return f"{name} ({places[0]})"


def definition_of(target: object) -> Any:
    """Return a class or function itself, or the class of an instance."""
    if inspect.isclass(target) or inspect.isroutine(target):
        return target
    return type(target)


def same(first: object, second: object) -> bool:
    """Check whether two objects have one definition, as after a second import of a module."""
    return first is second or _identity(first) == _identity(second)


def _identity(target: Any) -> tuple[object, ...]:
    codes = _codes(target)
    try:
        file = codes[0].co_filename if codes else inspect.getsourcefile(target)
    except TypeError:  # an instance, whose state can't be compared
        return (id(target),)
    return (
        getattr(target, "__qualname__", None),
        file,
        *[c.co_firstlineno for c in codes],
    )


def _codes(target: object) -> list[CodeType]:
    """List the code objects of a function or of a class's own methods."""
    parts = vars(target).values() if inspect.isclass(target) else (target,)
    functions = [part for part in parts if inspect.isfunction(part)]
    return [part.__code__ for part in functions if part.__module__ == target.__module__]


def module_of(target: object) -> str:
    """Return the module in which an object is defined."""
    return str(definition_of(target).__module__)


def is_ours(target: object) -> bool:
    """Check whether an object belongs to this package."""
    return module_of(target).startswith("pytest_evalmetrics.")
