"""The source of registered things: its place, its identity, its hash."""

from __future__ import annotations

import ast
import inspect
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import CodeType


def origin(target: Any) -> str:
    """Return where a thing is defined: ``pkg.module.Class (file:line)``."""
    thing = _defined(target)
    places = [f"{code.co_filename}:{code.co_firstlineno}" for code in _codes(thing)]
    with suppress(OSError, TypeError):
        file = inspect.getsourcefile(thing)
        if not places or places[0].startswith(f"{file}:"):
            places = [f"{file}:{inspect.getsourcelines(thing)[1]}"]
    return f"{thing.__module__}.{thing.__qualname__}{f' ({places[0]})' if places else ''}"


def _defined(target: Any) -> Any:
    """Return a class or function itself, and of an instance its class."""
    return target if inspect.isclass(target) or inspect.isroutine(target) else type(target)


def same(one: Any, other: Any) -> bool:
    """Check whether two things are one: a module imported anew makes the same class again."""
    return one is other or _identity(one) == _identity(other)


def _identity(target: Any) -> tuple[Any, ...]:
    codes = _codes(target)
    try:
        file = codes[0].co_filename if codes else inspect.getsourcefile(target)
    except TypeError:  # an instance: what it holds can't be compared
        return (id(target),)
    return (getattr(target, "__qualname__", None), file, *[c.co_firstlineno for c in codes])


def _codes(target: Any) -> list[CodeType]:
    """List the code of a function, or of a class's own methods, which knows its file."""
    parts = vars(target).values() if inspect.isclass(target) else (target,)
    functions = [part for part in parts if inspect.isfunction(part)]
    return [part.__code__ for part in functions if part.__module__ == target.__module__]


def module_of(target: Any) -> str:
    """Return the module in which a thing is defined."""
    return str(_defined(target).__module__)


def is_ours(target: Any) -> bool:
    """Check whether a thing is part of this package."""
    return module_of(target).startswith("pytest_evalmetrics.")


def source_hash(target: Any) -> str:
    """Hash the source of a function or class, with what it uses of its module, if there is one."""
    # Comments, formatting and docstrings don't count; imports count by name.
    thing = inspect.unwrap(_defined(target))
    try:
        file = inspect.getsourcefile(thing)
        stamp = Path(file).stat().st_mtime_ns if file else 0
    except (OSError, TypeError):
        return ""
    return _hash_of(file, stamp, thing.__qualname__.partition(".")[0]) if file else ""


@lru_cache(maxsize=256)
def _hash_of(file: str, _changed: int, name: str) -> str:
    try:
        body = ast.parse(Path(file).read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return ""
    defining: dict[str, list[ast.stmt]] = {}
    for statement in body:
        for defined in _names_defined(statement):
            defining.setdefault(defined, []).append(statement)
    used, names = set[ast.stmt](), [name]
    for each in names:  # grows by the names that are used
        for statement in defining.pop(each, ()):
            used.add(statement)
            names += [n.id for n in ast.walk(statement) if isinstance(n, ast.Name)]
    if not used:
        return ""
    dumped = "\n".join(_dumped(statement) for statement in body if statement in used)
    return blake2b(dumped.encode("utf-8", "backslashreplace"), digest_size=6).hexdigest()


def _names_defined(node: ast.AST) -> set[str]:
    """Name what a statement of a module defines, in an ``if`` or ``try`` too."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    if isinstance(node, ast.Name):
        return {node.id} if isinstance(node.ctx, ast.Store) else set()
    return {name for child in ast.iter_child_nodes(node) for name in _names_defined(child)}


def _dumped(node: Any) -> str:
    """Write a syntax tree without docstrings, the same by every version of Python."""
    if isinstance(node, list):
        return f"[{','.join(map(_dumped, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = dict(ast.iter_fields(node))
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        body = node.body
        first = body[0].value if isinstance(body[0], ast.Expr) else None
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            fields["body"] = body[1:]
    parts = [
        f"{name}={_dumped(value)}"
        for name, value in fields.items()
        # an empty list is there or not, depending on the version
        if name not in ("ctx", "kind", "type_comment") and value not in (None, [])
    ]
    return f"{type(node).__name__}({','.join(parts)})"
