"""Functions of the user's own as scorers, and the type ``python`` that names one."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.errors import DataError, RegistryError, RowError
from pytest_evalmetrics.registry import origin, register_scorer, scorers
from pytest_evalmetrics.scorers.protocol import Explained

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_evalmetrics.scorers.calls import Calls
    from pytest_evalmetrics.scorers.protocol import Row, Scorer, Terms
    from pytest_evalmetrics.spec import PythonScorerSpec

__all__ = ["function_scorer", "scores_rows"]


@register_scorer("python")
def python(spec: PythonScorerSpec, terms: Terms) -> Any:
    """Make a scorer of the function that a benchmark file names."""
    del terms
    found = scorers.find(spec.function).target
    if inspect.isclass(found) or not callable(found):
        raise RegistryError(
            f"{spec.function!r} is no function: {origin(found)}",
            hint=f"a class is named by its type: `type: {spec.function}`",
        )
    return function_scorer(found, spec.options, name=spec.function, names=spec.score_names)


def scores_rows(found: Any) -> bool:
    """Whether this is a function that scores (its first argument is ``item``), and makes none."""
    if not inspect.isroutine(found):
        return False
    try:
        return next(iter(inspect.signature(found).parameters), None) == "item"
    except ValueError:  # one of C, without a signature
        return False


def function_scorer(
    function: Callable[..., Any],
    options: Mapping[str, Any],
    *,
    name: str,
    names: tuple[str, ...] = (),
) -> Any:
    """Make a scorer of a function."""
    try:
        parameters = inspect.signature(function).parameters
        sample = "sample" in parameters and "sample" not in options
        given = {**options, "sample": {}} if sample else options
        inspect.signature(function).bind({}, **given)
    except ValueError:  # one of C, without a signature
        sample = False
    except TypeError as error:
        raise DataError(
            f"{name!r} can't be called with a row and its keys: {error}",
            hint=f"its keys are the arguments of {origin(function)}",
        ) from None
    names = names or getattr(function, "scores", ()) or (_own_name(name),)
    call = function if inspect.isroutine(function) else type(function).__call__
    is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)
    kind = _Async if is_async else _Plain
    return kind(function, names, dict(options), name, sample=sample)


def _own_name(name: str) -> str:
    """Name the only score of a function: its own name, where that names a module too."""
    return name.rpartition(":")[2].rpartition(".")[2]


class _Function:
    def __init__(
        self,
        function: Callable[..., Any],
        names: tuple[str, ...],
        options: dict[str, Any],
        name: str,
        *,
        sample: bool,
    ) -> None:
        self.scores = names
        self._function = function
        self._options = options
        self._name = name
        self._sample = sample

    def _called(self, row: Row) -> Any:
        if self._sample:
            return self._function(row.item, sample=row.sample_data, **self._options)
        return self._function(row.item, **self._options)

    def _looked_at(self, found: Any) -> Any:
        scores = found.scores if isinstance(found, Explained) else found
        if isinstance(scores, Mapping):
            lacking = set(self.scores).difference(scores)
            if lacking:
                given = ", ".join(str(key) for key in scores) or "nothing"
                raise RowError(
                    "no-score",
                    f"{self._name} gave {given}, and no {', '.join(sorted(lacking))}",
                    hint="list under scores what it gives",
                )
        return found


class _Plain(_Function):
    def score(self, row: Row) -> Any:
        found = self._called(row)
        if inspect.iscoroutine(found):
            found.close()
            raise RegistryError(f"{self._name!r} gives a coroutine: write it as `async def`")
        return self._looked_at(found)


class _Async(_Function):
    async def score(self, row: Row, calls: Calls) -> Any:
        del calls
        return self._looked_at(await self._called(row))


if TYPE_CHECKING:
    _of_plain: type[Scorer] = _Plain
