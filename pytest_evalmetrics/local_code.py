"""The fingerprint of a project's function or class: its source, and the project's code it uses.

Comments, formatting and docstrings don't count. Names are followed within the function's module and
into other modules of the project, wherever they are imported; packages that are installed count by
their name.
"""

from __future__ import annotations

import ast
import inspect
import sys
import sysconfig
from functools import lru_cache
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterator

from pytest_evalmetrics.registry import definition_of

# where Python and installed packages are
_INSTALLED = tuple(
    Path(sysconfig.get_paths()[name]).resolve()
    for name in ("stdlib", "platstdlib", "purelib", "platlib")
)


class _Place(msgspec.Struct, frozen=True):
    """A name in a module; the whole module for no name."""

    file: Path
    name: str | None


def code_hash(reference: str) -> str:
    """Hash the code of ``package.module:attribute``, which is imported.

    Empty if its source can't be read.
    """
    module, _, attribute = reference.partition(":")
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        return ""
    return _hash_from(_Place(Path(file), attribute.partition(".")[0]))


def source_hash(target: object) -> str:
    """Hash the code of a function, a class, or the class of an instance.

    Empty if its source can't be read.
    """
    thing = inspect.unwrap(definition_of(target))
    try:
        file = inspect.getsourcefile(thing)
    except TypeError:
        return ""
    if file is None:
        return ""
    return _hash_from(_Place(Path(file), thing.__qualname__.partition(".")[0]))


def _hash_from(first: _Place) -> str:
    waiting = [first]
    seen: set[_Place] = set()
    hashes: list[str] = []
    for place in waiting:
        if place in seen:
            continue
        seen.add(place)
        used = _statements(place)
        if used is None:
            continue
        hashes.append("\n".join(_dumped(statement) for statement in used))
        for statement in used:
            waiting += _imported(statement, place.file)
    if not hashes or not hashes[0]:
        return ""
    whole = "\0".join(hashes).encode()
    return blake2b(whole, digest_size=6).hexdigest()


def _statements(place: _Place) -> list[ast.stmt] | None:
    """List the statements of a module that a name rests on; None without a source."""
    try:
        stamp = place.file.stat().st_mtime_ns
        body = _parsed(place.file, stamp)
    except (OSError, SyntaxError, ValueError):
        return None
    if place.name is None:
        return body
    defining: dict[str, list[ast.stmt]] = {}
    for statement in body:
        for defined in _names_defined(statement):
            defining.setdefault(defined, []).append(statement)
    used: set[ast.stmt] = set()
    # any name may come from a module that is imported whole
    names = [place.name, "*"]
    # grows by the names that are used
    for name in names:
        for statement in defining.pop(name, ()):
            used.add(statement)
            names += _names_used(statement)
    return [statement for statement in body if statement in used]


def _names_used(statement: ast.stmt) -> list[str]:
    return [node.id for node in ast.walk(statement) if isinstance(node, ast.Name)]


@lru_cache(maxsize=256)
def _parsed(file: Path, _changed: int) -> list[ast.stmt]:
    return ast.parse(file.read_bytes()).body


def _names_defined(node: ast.AST) -> set[str]:
    """List the names that a module's statement defines, also inside ``if`` and ``try``."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, ast.Store) else set()
    return {
        name for child in ast.iter_child_nodes(node) for name in _names_defined(child)
    }


def _dumped(node: object) -> str:
    """Write a syntax tree without docstrings, identically in every version of Python."""
    if isinstance(node, list):
        return f"[{','.join(map(_dumped, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = dict(ast.iter_fields(node))
    if _has_docstring(node):
        fields["body"] = fields["body"][1:]
    parts = [
        f"{name}={_dumped(value)}"
        for name, value in fields.items()
        # an empty list is there or not, depending on the version
        if name not in ("ctx", "kind") and value not in (None, [])
    ]
    return f"{type(node).__name__}({','.join(parts)})"


def _has_docstring(node: ast.AST) -> bool:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    return ast.get_docstring(node) is not None


# -- imports of the project's own modules ----------------------------------------------------


def _imported(statement: ast.stmt, file: Path) -> Iterator[_Place]:
    """Yield the project's code that a statement imports, also inside of a function."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found = _module_file(_root_of(alias.name), alias.name)
                if found is not None:
                    yield _Place(found, None)
        elif isinstance(node, ast.ImportFrom):
            yield from _imported_names(node, file)


def _imported_names(node: ast.ImportFrom, file: Path) -> Iterator[_Place]:
    module = node.module or ""
    if node.level:
        root: Path | None = file.parents[node.level - 1]
    else:
        root = _root_of(module)
    for alias in node.names:
        submodule = _module_file(root, f"{module}.{alias.name}".lstrip("."))
        if submodule is not None:
            yield _Place(submodule, None)
            continue
        found = _module_file(root, module)
        if found is not None:
            yield _Place(found, None if alias.name == "*" else alias.name)


def _root_of(module: str) -> Path | None:
    """Return the folder that a module of the project is imported from; None for others."""
    top = module.partition(".")[0]
    # this package counts as installed, also where it is being developed
    if top in sys.stdlib_module_names or top == __name__.partition(".")[0]:
        return None
    place = _place_of(top)
    if place is None:
        return None
    place = place.resolve()
    if any(place.is_relative_to(folder) for folder in _INSTALLED):
        return None
    return place.parent


def _place_of(top: str) -> Path | None:
    """Return the file of a module, or the folder of a package; None if there is none."""
    try:
        spec = find_spec(top)
    except ValueError:  # a module that was made, and not imported
        return None
    if spec is None:
        return None
    folders = list(spec.submodule_search_locations or ())
    if folders:
        return Path(folders[0])
    return None if spec.origin is None else Path(spec.origin)


def _module_file(root: Path | None, module: str) -> Path | None:
    """Return the file of a module below a folder; None if it is not there."""
    if root is None:
        return None
    path = root.joinpath(*module.split(".")) if module else root
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            return file
    return None
