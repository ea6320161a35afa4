"""From what a benchmark file says to scorers that are ready."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.errors import (
    DataError,
    EvalMetricsError,
    RegistryError,
    RowError,
    raised_words,
)
from pytest_evalmetrics.registry import origin, scorers
from pytest_evalmetrics.scorers.functions import function_scorer, scores_rows
from pytest_evalmetrics.scorers.protocol import Explained
from pytest_evalmetrics.spec import CustomScorerSpec, PythonScorerSpec
from pytest_evalmetrics.spec.scorers import other_name
from pytest_evalmetrics.transport import CallError, was_cancelled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_evalmetrics.scorers.calls import Calls
    from pytest_evalmetrics.scorers.judges import Judge
    from pytest_evalmetrics.scorers.protocol import Row, Terms
    from pytest_evalmetrics.scorers.summary import About
    from pytest_evalmetrics.spec import ScorerSpec

__all__ = ["BoundScorer", "Scores", "make_scorers"]


class Scores(dict[str, float]):
    """What a row got, by name; and why, where the scorer says so."""

    __slots__ = ("reason",)

    def __init__(self, found: Mapping[str, float], reason: str = "") -> None:
        super().__init__(found)
        self.reason = reason  # A judge's reasoning, or what a number rests on; empty for none


@dataclass(frozen=True, slots=True)
class BoundScorer:
    """A scorer that is ready to score."""

    type: str  # its type, as it is written
    target: Any  # the scorer
    scores: tuple[str, ...]  # what it gives
    calls: bool  # whether it asks endpoints
    foreign: bool = False  # whether it is the user's own code, which may take its time
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock, repr=False, compare=False)

    @property
    def judges(self) -> tuple[Judge, ...]:
        """Who it asks; none where it asks no models."""
        found: tuple[Judge, ...] = getattr(self.target, "judges", ())
        return found

    @property
    def about(self) -> Mapping[str, About]:
        """What its scores stand for beyond their numbers, by name."""
        found: Mapping[str, About] = getattr(self.target, "about", {})
        return found

    def score(self, row: Row) -> Scores:
        """Score a row without calls."""
        try:
            return self._checked(self.target.score(row))
        except EvalMetricsError:
            raise
        # a scorer's sys.exit() would end the loop on which all others run
        except (Exception, SystemExit) as error:
            raise _raised(error) from error

    async def score_with(self, row: Row, calls: Calls) -> Scores:
        """Score a row."""
        if not self.calls:
            if not self.foreign:
                return self.score(row)
            async with self._turn:  # beside the loop, whose calls go on; never two at once
                return await asyncio.to_thread(self.score, row)
        try:
            return self._checked(await self.target.score(row, calls))
        except CallError as error:
            raise RowError(error.kind, error.reason, hint=error.hint) from None
        except EvalMetricsError:
            raise
        except asyncio.CancelledError as error:
            if was_cancelled():
                raise
            raise _raised(error) from error
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            raise _raised(error) from error

    def _checked(self, found: Any) -> Scores:
        reason = ""
        if isinstance(found, Explained):
            found, reason = found.scores, str(found.reason or "")
        if not isinstance(found, Mapping):
            if len(self.scores) != 1:
                raise RowError(
                    "no-score", f"the scorer gave {found!r:.60}, expected {', '.join(self.scores)}"
                )
            found = {self.scores[0]: found}
        return Scores({name: _finite(name, found.get(name)) for name in self.scores}, reason)


def make_scorers(
    specs: Sequence[ScorerSpec], terms: Terms, line_of: Callable[..., int]
) -> tuple[BoundScorer, ...]:
    """Make the scorers of a benchmark."""
    made: list[BoundScorer] = []
    for index, spec in enumerate(specs):
        try:
            scorer = _make(spec, terms)
            taken = {name: i for i, other in enumerate(made) for name in other.scores}
            for name in scorer.scores:
                if name in taken:
                    raise DataError(
                        f"the score {name!r} is given by scorer {taken[name] + 1} already",
                        hint=other_name(spec),
                    )
        except EvalMetricsError as error:
            if error.line is None and error.file is None:
                error.line = line_of("scorers", index)
            raise
        made.append(scorer)
    return tuple(made)


def _make(spec: ScorerSpec, terms: Terms) -> BoundScorer:
    found = scorers.find(spec.type).target
    if not isinstance(spec, CustomScorerSpec):
        target = found(spec, terms)
    elif scores_rows(found):
        target = function_scorer(found, spec.options, name=spec.type)
    elif inspect.isclass(found) or inspect.isroutine(found):
        try:
            takes_terms = "terms" in inspect.signature(found).parameters
            target = found(**spec.options, **({"terms": terms} if takes_terms else {}))
        except EvalMetricsError:
            raise
        except Exception as error:
            raise DataError(
                f"the scorer {spec.type!r} can't be made of its keys: "
                f"{type(error).__name__}: {error}",
                hint=f"its keys are the arguments of {origin(found)}",
            ) from error
    else:
        target = found
    score, names = getattr(target, "score", None), getattr(target, "scores", None)
    if not callable(score):
        raise RegistryError(f"the scorer {spec.type!r} has no method score: {origin(target)}")
    if isinstance(names, str) or not names or not all(isinstance(n, str) and n for n in names):
        raise RegistryError(
            f"the scorer {spec.type!r} does not say what it gives: its `scores` is {names!r:.60}",
            hint='write scores = ("accuracy",) in its class',
        )
    is_async = inspect.iscoroutinefunction(score)
    foreign = isinstance(spec, CustomScorerSpec | PythonScorerSpec)
    return BoundScorer(spec.type, target, tuple(names), is_async, foreign)


def _raised(error: BaseException) -> RowError:
    return RowError(*raised_words(error, "the scorer"))


def _finite(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise RowError("no-number", f"{name} is {value!r:.60}, expected a finite number")
    return number
