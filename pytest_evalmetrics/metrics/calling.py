"""Running code that is not ours: what it raises or returns becomes one clear error."""

from __future__ import annotations

import inspect
import math
import sysconfig
import traceback
from functools import partial
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar

import pytest_evalmetrics
from pytest_evalmetrics.errors import MetricError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["call", "finite", "is_number", "place_of"]

T = TypeVar("T")
_OURS = str(Path(pytest_evalmetrics.__file__).parent / "_")[:-1]


def call(
    label: str, doing: str, target: object, function: Callable[..., T], *args: Any, **kwargs: Any
) -> T:
    """Call `function`; whatever it raises is a `MetricError`."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        file, line = _where_raised(error, target)
        raise MetricError(
            f"{label} failed in {doing}: {type(error).__name__}: {error}",
            file=file,
            line=line,
            hint="a metric that fails is never left out: mend it, or take it off the benchmark",
        ) from error


def finite(label: str, value: object, target: object) -> float:
    """Return `value` as a float."""
    if is_number(value) and math.isfinite(value):
        return float(value)
    if inspect.iscoroutine(value):
        value.close()
    file, line = place_of(target)
    raise MetricError(
        f"{label} returned {_shown(value)}, where a finite number is expected",
        file=file,
        line=line,
        hint="where the metric is not defined, raise an exception that says why",
    )


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value can be a metric's: a bool is none."""
    if type(value) is float:  # nearly always: to ask an abstract class takes ten times as long
        return True
    return isinstance(value, Real) and not isinstance(value, bool)


def _shown(value: object) -> str:
    if isinstance(value, float):
        return repr(float(value))
    text = repr(value)
    return f"{text[:80]}{'...' if len(text) > 80 else ''} ({type(value).__name__})"  # noqa: PLR2004 - a line


def place_of(target: object) -> tuple[str | None, int | None]:
    """Say where the user wrote a function, class or object: file and line, if known."""
    thing: Any = target.func if isinstance(target, partial) else target
    if not (inspect.isclass(thing) or inspect.isroutine(thing)):
        thing = type(thing)
    try:
        file, line = inspect.getsourcefile(thing), inspect.getsourcelines(thing)[1]
    except (OSError, TypeError):
        return None, None
    return (None, None) if file is None or file.startswith(_OURS) else (shown_path(file), line)


def shown_path(path: str) -> str:
    """Shorten a path below the current directory."""
    try:
        return Path(path).relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path


def _where_raised(error: Exception, target: object) -> tuple[str | None, int | None]:
    """Find the last line of the user's own code on the way to the exception."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(("<", _OURS))
    ]
    libraries = tuple(filter(None, map(sysconfig.get_path, ("stdlib", "purelib", "platlib"))))
    own = [frame for frame in frames if not frame.filename.startswith(libraries)]
    for frame in (own or frames)[-1:]:
        return shown_path(frame.filename), frame.lineno
    return place_of(target)
