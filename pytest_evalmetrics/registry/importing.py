"""Things that are named and not registered yet: references, and entry points of packages."""

from __future__ import annotations

import importlib
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.errors import RegistryError, did_you_mean

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["entry_points_of", "imported", "loaded", "package_of"]


def entry_points_of(group: str) -> dict[str, list[EntryPoint]]:
    """List what installed packages offer in a group, by name; nothing of it is loaded."""
    found: dict[str, list[EntryPoint]] = {}
    for point in _entry_points(tuple(sys.path)).select(group=group):
        found.setdefault(point.name, []).append(point)
    return found


@lru_cache(maxsize=1)  # it reads the metadata of every package
def _entry_points(_path: tuple[str, ...]) -> Any:
    from importlib.metadata import entry_points  # noqa: PLC0415 - only where names are looked up

    return entry_points()


def loaded(kind: str, point: EntryPoint) -> Any:
    """Load an entry point.

    Raises
    ------
    RegistryError
        It can't be loaded.
    """
    try:
        return point.load()
    except Exception as error:
        raise RegistryError(
            f"the {kind} {point.name!r} of {package_of(point)} can't be loaded from "
            f"{point.value}: {type(error).__name__}: {error}",
            hint=f"mend or uninstall {package_of(point)}",
        ) from error


def package_of(point: EntryPoint) -> str:
    """Name the distribution that an entry point is of."""
    return point.dist.name if point.dist is not None else "an installed package"


def imported(kind: str, reference: str) -> Any:
    """Import what ``package.module:attribute`` names.

    Parameters
    ----------
    kind
        What it is to be, for messages: ``metric``.
    reference
        The name.

    Raises
    ------
    RegistryError
        There is no such module or attribute, or its module raises.
    """
    module_name, _, path = reference.partition(":")
    try:
        target: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        missing = error.name or module_name
        if module_name == missing or module_name.startswith(missing + "."):
            raise RegistryError(
                f"the {kind} {reference!r} can't be imported: there is no module {missing!r}",
                hint="install it, or let pytest find it: `pythonpath = .` in the "
                "configuration file of pytest",
            ) from error
        raise _broken(kind, reference, error) from error
    except Exception as error:
        raise _broken(kind, reference, error) from error
    for part in path.split("."):
        if not hasattr(target, part):
            public = [n for n in dir(target) if not n.startswith("_")]
            raise RegistryError(
                f"the {kind} {reference!r} can't be found: {module_name} has no "
                f"{part!r}; " + did_you_mean(part, public, what="it has")
            )
        target = getattr(target, part)
    return target


def _broken(kind: str, reference: str, error: Exception) -> RegistryError:
    return RegistryError(
        f"the {kind} {reference!r} can't be imported: {type(error).__name__}: {error}"
    )
