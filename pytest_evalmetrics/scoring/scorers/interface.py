"""Scorers made from a benchmark file, and summaries of their scores."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import structs

from pytest_evalmetrics import errors
from pytest_evalmetrics.errors import (
    DataError,
    EvalMetricsError,
    RegistryError,
    RowError,
)
from pytest_evalmetrics.model.rollout_table import Row
from pytest_evalmetrics.model.scores import (
    Agreement,
    Bin,
    RubricCount,
    ScoreSummary,
)
from pytest_evalmetrics.registry import origin, scorers
from pytest_evalmetrics.scoring.chat.row_calls import Calls, shown_text
from pytest_evalmetrics.scoring.scorers.row_reading import as_number
from pytest_evalmetrics.scoring.scorers.scorer import About, Explained
from pytest_evalmetrics.scoring.transport import Terms, was_cancelled
from pytest_evalmetrics.spec import ScorerSpec
from pytest_evalmetrics.spec.benchmark import rename_hint
from pytest_evalmetrics.spec.scorer_keys import CustomScorerSpec, PythonScorerSpec
from pytest_evalmetrics.stats import krippendorff_alpha
from pytest_evalmetrics.sums import total

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_evalmetrics.model.metric_facts import DirectionName
    from pytest_evalmetrics.scoring.scorers.judge import Judge


@dataclass(frozen=True, slots=True)
class BoundScorer:
    """A scorer that is ready to score."""

    type: str  # as it is written
    target: Any  # the scorer
    scores: tuple[str, ...]
    calls: bool  # whether it asks endpoints
    foreign: bool  # whether it is the user's own code, which may take its time
    judges: tuple[Judge, ...] = ()  # the judges that it asks
    notes: tuple[str, ...] = ()  # remarks on how it is set up, for the report
    # the meaning of its scores beyond their numbers, by name
    about: Mapping[str, About] = field(default_factory=dict)
    # score -> which way is better, as the class of a user's own scorer states it
    directions: Mapping[str, DirectionName] = field(default_factory=dict)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    def score(self, row: Row) -> Explained:
        """Score a row without calls: its scores by name, and their reason, which may be empty."""
        try:
            return self._checked(self.target.score(row))
        except EvalMetricsError:
            raise
        # a scorer's sys.exit() would end the loop on which all others run
        except (Exception, SystemExit) as error:
            raise RowError(*errors.raised_words(error, "the scorer")) from error

    async def score_with(self, row: Row, calls: Calls) -> Explained:
        """Score a row."""
        if not self.calls:
            if not self.foreign:
                return self.score(row)
            async with (
                self._turn
            ):  # in a thread beside the running loop; never two at once
                return await asyncio.to_thread(self.score, row)
        try:
            return self._checked(await self.target.score(row, calls))
        except EvalMetricsError:
            raise
        except (
            Exception,
            SystemExit,
            KeyboardInterrupt,
            asyncio.CancelledError,
        ) as error:
            if isinstance(error, asyncio.CancelledError) and was_cancelled():
                raise
            raise RowError(*errors.raised_words(error, "the scorer")) from error

    def _checked(self, given: Any) -> Explained:
        reason = ""
        if isinstance(given, Explained):
            given, reason = given.scores, str(given.reason or "")
        if len(self.scores) == 1 and not isinstance(given, Mapping):
            if inspect.iscoroutine(given):
                given.close()
                raise RegistryError(
                    f"the scorer {self.type!r} gives a coroutine: write it as `async def`"
                )
            given = {self.scores[0]: given}
        try:
            return Explained(
                {name: as_number(given[name], name) for name in self.scores}, reason
            )
        except (KeyError, TypeError):  # a name that is missing, or no mapping
            gave = (
                ", ".join(map(str, given))
                if isinstance(given, Mapping)
                else f"{given!r:.60}"
            )
            raise RowError(
                "no-score",
                f"the scorer gave {gave or 'nothing'}, expected {', '.join(self.scores)}",
                hint="list under scores what it gives",
            ) from None


async def score_row(
    row: Row, scorer: BoundScorer, calls: Calls, sink: Any, hide: Callable[[str], str]
) -> None:
    """Score a row by one scorer, and give the result to the sink, see `pipeline`'s `Board`."""
    try:
        explained = await scorer.score_with(row, calls)
    except RowError as error:
        sink.lacks(row, scorer.scores, error, hide(error.message))
    else:
        reason = explained.reason and shown_text(explained.reason, hide)
        sink.scored(
            row, scorer, explained.scores, reason, from_journal=calls.from_journal
        )
    sink.asked(row, scorer, calls.exchanges)


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
                    message = f"the score {name!r} is given by scorer {taken[name] + 1} already"
                    raise DataError(message, hint=rename_hint(spec))
        except EvalMetricsError as error:
            if error.line is None and error.file is None:
                error.line = line_of("scorers", index)
            raise
        made.append(scorer)
    return tuple(made)


def _make(spec: Any, terms: Terms) -> BoundScorer:
    registered: Any = scorers.find(spec.type).target
    if isinstance(spec, CustomScorerSpec):
        target = _made_of_options(registered, spec, terms)
    elif isinstance(spec, PythonScorerSpec):
        function = scorers.find(spec.function).target
        if inspect.isclass(function) or not callable(function):
            raise RegistryError(
                f"{spec.function!r} is not a function: {origin(function)}",
                hint=f"a class is named by its type: `type: {spec.function}`",
            )
        target = _function_scorer(function, spec)
    elif (
        type(spec) is not registered
    ):  # its keys were validated as those of the built-in one
        what = f"the scorer {spec.type!r} is built in, and {origin(registered)} has the same name"
        raise RegistryError(what, hint="give yours a name of its own")
    elif getattr(spec, "judgements", ()):
        from pytest_evalmetrics.scoring.scorers.judge import Panel  # few files need it

        target = Panel(spec, terms)
    else:
        scorer = spec.make(terms)  # a scoring function, or an object with one
        target = SimpleNamespace(score=scorer) if inspect.isroutine(scorer) else scorer
    score, names = (
        getattr(target, "score", None),
        getattr(target, "scores", spec.score_names),
    )
    if not callable(score):
        raise RegistryError(
            f"the scorer {spec.type!r} has no method score: {origin(target)}"
        )
    if (
        isinstance(names, str)
        or not names
        or not all(isinstance(n, str) and n for n in names)
    ):
        raise RegistryError(
            f"the scorer {spec.type!r} does not say what it gives: its `scores` is {names!r:.60}",
            hint='write scores = ("accuracy",) in its class',
        )
    directions = _directions_of(target, spec.type, names)
    is_async = inspect.iscoroutinefunction(score)
    foreign = isinstance(spec, CustomScorerSpec | PythonScorerSpec)
    optional = ("judges", "notes", "about")
    more = {key: getattr(target, key) for key in optional if hasattr(target, key)}
    return BoundScorer(
        spec.type,
        target,
        tuple(names),
        is_async,
        foreign,
        directions=directions,
        **more,
    )


def _directions_of(
    target: object, kind: str, scores: Sequence[str]
) -> dict[str, DirectionName]:
    """Read what a scorer of the user's own states of its scores."""
    directions = dict(getattr(target, "directions", {}))
    for score, direction in directions.items():
        if score not in scores or direction not in ("higher", "lower"):
            raise RegistryError(
                f"the scorer {kind!r} has directions = {{{score!r}: {direction!r}}}, "
                f"expected one of its scores, {', '.join(scores)}, and 'higher' or 'lower'"
            )
    return directions


def _made_of_options(registered: Any, spec: CustomScorerSpec, terms: Terms) -> Any:
    """Make a scorer of the user's own from the keys of its entry."""
    if not inspect.isclass(registered) and not inspect.isroutine(registered):
        return registered
    try:
        parameters = list(
            inspect.signature(registered).parameters
        )  # ValueError for one of C
        if inspect.isroutine(registered) and parameters[:1] == ["item"]:
            return _function_scorer(registered, spec)
        return registered(
            **spec.options, **({"terms": terms} if "terms" in parameters else {})
        )
    except EvalMetricsError:
        raise
    except Exception as error:
        raise DataError(
            f"the scorer {spec.type!r} can't be made of its keys: {type(error).__name__}: {error}",
            hint=f"its keys are the arguments of {origin(registered)}",
        ) from error


def _function_scorer(function: Callable[..., Any], spec: Any) -> SimpleNamespace:
    """Make a scorer of a function, which takes a row, perhaps ``sample``, and the options."""
    name, options = getattr(spec, "function", spec.type), spec.options
    try:
        signature = inspect.signature(function)
        takes_sample = "sample" in signature.parameters and "sample" not in options
        signature.bind({}, **({"sample": {}} if takes_sample else {}), **options)
    except (
        TypeError,
        ValueError,
    ) as error:  # ValueError: a function of C hides its parameters
        raise DataError(
            f"{name!r} can't be called with a row and its keys: {error}",
            hint=f"its keys are the arguments of {origin(function)}",
        ) from None
    own_name = (
        name.rpartition(":")[2].split(".")[-1],
    )  # where that names a module too
    names = (
        getattr(spec, "scores", None) or getattr(function, "scores", None) or own_name
    )

    def score(row: Row) -> Any:
        sample = {"sample": row.sample_data} if takes_sample else {}
        return function(row.item, **sample, **options)

    async def score_async(row: Row, _calls: Calls) -> Any:
        return await score(row)

    call = function if inspect.isroutine(function) else type(function).__call__
    is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        call
    )
    return SimpleNamespace(
        scores=names,
        score=score_async if is_async else score,
        directions=getattr(function, "directions", {}),
    )


# Summaries of a score over all rows, as the NeMo Evaluator computes them.

_BINS = 10


def summarise_all(
    names: Sequence[str],
    columns: Mapping[str, NDArray[np.float64]],
    about: Mapping[str, About],
) -> Iterator[ScoreSummary]:
    """Summarise scores; columns have shape (rows,), NaN where a score is missing."""
    for name in names:
        meaning = about.get(name, About())
        counts = tuple(
            RubricCount(label, value, int((columns[name] == value).sum()))
            for label, value in meaning.labels
        )
        most = max((each.count for each in counts), default=0)
        yield structs.replace(
            summarise(name, columns[name]),
            score_type="rubric" if counts else "range",
            rubric_distribution=counts,
            mode_category=min(c.label for c in counts if c.count == most)
            if most
            else None,
            agreement=_agreement(columns, meaning) if meaning.judges else None,
        )


def summarise(name: str, column: NDArray[np.float64]) -> ScoreSummary:
    """Summarise a score: one number per row, shape (rows,), NaN if it is missing.

    Percentile p lies at rank ``p / 100 * (n + 1) - 1`` of the sorted values, interpolated
    between neighbours and held within them (Hyndman and Fan 1996, definition 6).
    """
    values = np.sort(column[~np.isnan(column)])
    n, missing = len(values), len(column) - len(values)
    if not n:
        return ScoreSummary(name, 0, missing)
    ranks = np.clip(np.arange(10, 101, 10) / 100 * (n + 1) - 1, 0, n - 1)
    percentiles = np.interp(ranks, np.arange(n), values).tolist()
    whole = total(values)
    mean = whole / n
    spread = total((values - mean) ** 2)
    sample_variance = spread / (n - 1) if n > 1 else None
    return ScoreSummary(
        name,
        n,
        missing,
        sum=whole,
        mean=mean,
        min=float(values[0]),
        max=float(values[-1]),
        median=float(np.median(values)),
        std_dev=math.sqrt(spread / n),
        variance=spread / n,
        sample_std_dev=None if sample_variance is None else math.sqrt(sample_variance),
        sample_variance=sample_variance,
        percentiles={f"p{10 * (i + 1)}": value for i, value in enumerate(percentiles)},
        histogram=_histogram(values),
    )


def _histogram(values: NDArray[np.float64]) -> tuple[Bin, ...]:
    low, high = float(values[0]), float(values[-1])
    width = (high - low) / _BINS
    if low == high or not np.isfinite(width):
        return (Bin(low, high, len(values)),)
    edges = [low + i * width for i in range(_BINS)]
    counts = np.diff(np.append(np.searchsorted(values, edges), len(values))).tolist()
    return tuple(map(Bin, edges, [*edges[1:], high], counts))


def _agreement(columns: Mapping[str, NDArray[np.float64]], about: About) -> Agreement:
    ratings = np.stack([columns[name] for name in about.judges])
    rows = int((~np.isnan(ratings).any(axis=0)).sum())
    alpha, reason = krippendorff_alpha(ratings, about.level), ""
    if is_undefined := math.isnan(alpha):
        reason = (
            "all their scores are the same" if rows else "no row has a score of each"
        )
    return Agreement(
        None if is_undefined else alpha, about.level, len(ratings), rows, reason
    )
