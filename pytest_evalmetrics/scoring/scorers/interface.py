"""Scorers made from a benchmark file, and summaries of their scores."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeGuard, runtime_checkable

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics import errors
from pytest_evalmetrics.errors import (
    DataError,
    EvalMetricsError,
    RegistryError,
    RowError,
)
from pytest_evalmetrics.model.notes import Note, Remark
from pytest_evalmetrics.model.rollout_table import Row
from pytest_evalmetrics.model.scores import (
    Agreement,
    Bin,
    RubricCount,
    ScoreSummary,
)
from pytest_evalmetrics.registry import origin, scorers
from pytest_evalmetrics.scoring.chat.row_calls import Calls, Exchange, shown_text
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


class BoundScorer(msgspec.Struct, frozen=True, eq=False):
    """A scorer that is ready to score."""

    # as it is written
    type: str
    # takes a row, and of one that asks endpoints the calls
    function: Callable[..., object]
    # the names of its scores
    scores: tuple[str, ...]
    # whether it asks endpoints
    calls: bool
    # whether it is the user's own code, which may take its time
    foreign: bool
    # the judges that it asks, and how often it asks each
    judges: tuple[Judge, ...] = ()
    repeats: int = 1
    # remarks on how it is set up, for the report
    notes: tuple[Note, ...] = ()
    # the meaning of its scores beyond their numbers, by name
    about: Mapping[str, About] = msgspec.field(default_factory=dict)
    # score -> which way is better, as the class of a user's own scorer states it
    directions: Mapping[str, DirectionName] = msgspec.field(default_factory=dict)
    # held while the user's own code scores a row
    turn: asyncio.Lock = msgspec.field(default_factory=asyncio.Lock)

    def score(self, row: Row) -> Explained:
        """Score a row without calls: its scores by name, and their reason, which may be empty."""
        try:
            return self._checked(self.function(row))
        except EvalMetricsError:
            raise
        # a scorer's sys.exit() would end the loop on which all others run
        except (Exception, SystemExit) as error:
            raise RowError(*errors.raised_words(error, "the scorer")) from error

    async def score_with(self, row: Row, calls: Calls) -> Explained:
        """Score a row, by calls if it needs any."""
        if self.calls:
            return await self._asked(row, calls)
        return await self.score_alone(row)

    async def score_alone(self, row: Row) -> Explained:
        """Score a row without calls; the user's own code in a thread, one row at a time."""
        if not self.foreign:
            return self.score(row)
        async with self.turn:
            return await asyncio.to_thread(self.score, row)

    async def _asked(self, row: Row, calls: Calls) -> Explained:
        try:
            given = self.function(row, calls)
            if inspect.isawaitable(given):
                given = await given
            return self._checked(given)
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

    def _checked(self, given: object) -> Explained:
        """Read what the scorer gave: numbers by name, or one number for its only score."""
        reason = ""
        if isinstance(given, Explained):
            reason = str(given.reason or "")
            given = given.scores
        if len(self.scores) == 1 and not isinstance(given, Mapping):
            if inspect.iscoroutine(given):
                given.close()
                raise RegistryError(
                    f"the scorer {self.type!r} gives a coroutine: write it as `async def`"
                )
            given = {self.scores[0]: given}
        if not isinstance(given, Mapping):
            raise self._nothing_from(f"{given!r:.60}")
        if not given.keys() >= {*self.scores}:
            raise self._nothing_from(", ".join(map(str, given)))
        scores = {name: as_number(given[name], name) for name in self.scores}
        return Explained(scores, reason)

    def _nothing_from(self, gave: str) -> RowError:
        return RowError(
            "no-score",
            f"the scorer gave {gave or 'nothing'}, expected {', '.join(self.scores)}",
            hint="list under scores what it gives",
        )


class ScoreSink(Protocol):
    """Takes the scores of rows, see `pipeline`'s `Board`."""

    def scored(
        self,
        row: Row,
        scorer: BoundScorer,
        scores: Mapping[str, float],
        reason: str,
        /,
        *,
        from_journal: bool,
    ) -> None:
        """Take the scores of a row."""
        ...

    def lacks(
        self, row: Row, scores: tuple[str, ...], failure: RowError, reason: str, /
    ) -> None:
        """Take the failure of a row."""
        ...

    def asked(
        self, row: Row, scorer: BoundScorer, exchanges: Sequence[Exchange], /
    ) -> None:
        """Take the requests that a row's scores needed."""
        ...


async def score_row(
    row: Row,
    scorer: BoundScorer,
    calls: Calls,
    sink: ScoreSink,
    hide: Callable[[str], str],
) -> None:
    """Score a row by one scorer, and give the result to the sink."""
    try:
        explained = await scorer.score_with(row, calls)
    except RowError as error:
        sink.lacks(row, scorer.scores, error, hide(error.message))
    else:
        reason = explained.reason and shown_text(explained.reason, hide)
        sink.scored(
            row,
            scorer,
            explained.by_name(scorer.scores),
            reason,
            from_journal=calls.from_journal,
        )
    sink.asked(row, scorer, calls.exchanges)


# -- from the entries of a file to scorers -----------------------------------------------------


@runtime_checkable
class _BuiltIn(Protocol):
    """The keys of a built-in scorer, which make what scores."""

    def make(self, terms: Terms, /) -> object:
        """Make the function that scores a row, or an object with it."""
        ...


class _Made(msgspec.Struct, frozen=True):
    """A function that scores, as a scorer: what the user's own classes have as attributes."""

    score: Callable[..., object]
    scores: Sequence[str]
    directions: Mapping[str, str] = {}


def make_scorers(
    specs: Sequence[ScorerSpec], terms: Terms, line_of: Callable[..., int]
) -> tuple[BoundScorer, ...]:
    """Make the scorers of a benchmark."""
    made: list[BoundScorer] = []
    for index, spec in enumerate(specs):
        try:
            scorer = _bound(spec, terms)
            _refuse_given_scores(scorer, made, rename_hint(spec))
        except EvalMetricsError as error:
            if error.line is None and error.file is None:
                error.line = line_of("scorers", index)
            raise
        made.append(scorer)
    return tuple(made)


def _notes_of(made: object) -> tuple[Note, ...]:
    """Return a scorer's remarks; a user's own scorer may give texts."""
    remarks = getattr(made, "notes", ())
    return tuple(
        Remark(remark) if isinstance(remark, str) else remark for remark in remarks
    )


def _refuse_given_scores(
    scorer: BoundScorer, made: Sequence[BoundScorer], hint: str
) -> None:
    for number, other in enumerate(made, start=1):
        for name in scorer.scores:
            if name in other.scores:
                message = f"the score {name!r} is given by scorer {number} already"
                raise DataError(message, hint=hint)


def _bound(spec: ScorerSpec, terms: Terms) -> BoundScorer:
    made = _made(spec, terms)
    score = getattr(made, "score", None)
    names = getattr(made, "scores", spec.score_names)
    if not callable(score):
        raise RegistryError(
            f"the scorer {spec.type!r} has no method score: {origin(made)}"
        )
    if not _are_names(names):
        raise RegistryError(
            f"the scorer {spec.type!r} does not say what it gives: its `scores` is {names!r:.60}",
            hint='write scores = ("accuracy",) in its class',
        )
    return BoundScorer(
        type=spec.type,
        function=score,
        scores=tuple(names),
        calls=inspect.iscoroutinefunction(score),
        foreign=isinstance(spec, CustomScorerSpec | PythonScorerSpec),
        judges=getattr(made, "judges", ()),
        repeats=getattr(made, "repeats", 1),
        notes=_notes_of(made),
        about=getattr(made, "about", {}),
        directions=_directions_of(made, spec.type, names),
    )


def _made(spec: ScorerSpec, terms: Terms) -> object:
    """Make what scores: an object with `score`, and perhaps `scores`, `judges` ..."""
    registered = scorers.find(spec.type).target
    if isinstance(spec, CustomScorerSpec):
        return _made_of_options(registered, spec, terms)
    if isinstance(spec, PythonScorerSpec):
        return _made_of_reference(spec)
    if type(spec) is not registered:
        # its keys were validated as those of the built-in one
        what = f"the scorer {spec.type!r} is built in, and {origin(registered)} has the same name"
        raise RegistryError(what, hint="give yours a name of its own")
    if getattr(spec, "judgements", ()):
        # few files need it
        from pytest_evalmetrics.scoring.scorers.judge import JudgedScores, Panel

        if isinstance(spec, JudgedScores):
            return Panel(spec, terms)
    if not isinstance(spec, _BuiltIn):
        raise TypeError(f"{spec.type} is no built-in scorer")
    made = spec.make(terms)
    if inspect.isroutine(made):
        return _Made(score=made, scores=spec.score_names)
    return made


def _made_of_reference(spec: PythonScorerSpec) -> _Made:
    """Make a scorer of the function that ``type: python`` names."""
    function = scorers.find(spec.function).target
    if inspect.isclass(function) or not callable(function):
        raise RegistryError(
            f"{spec.function!r} is not a function: {origin(function)}",
            hint=f"a class is named by its type: `type: {spec.function}`",
        )
    scores = spec.scores or _own_scores(function, spec.function)
    return _made_of_function(function, spec.function, scores, spec.options)


def _own_scores(function: object, reference: str) -> Sequence[str]:
    """Return the scores that a function states; by default one with its own name."""
    own_name = reference.rpartition(":")[2].split(".")[-1]
    return getattr(function, "scores", None) or (own_name,)


def _are_names(names: object) -> TypeGuard[Sequence[str]]:
    if isinstance(names, str) or not isinstance(names, Iterable) or not names:
        return False
    return all(isinstance(name, str) and name for name in names)


def _directions_of(
    made: object, kind: str, scores: Sequence[str]
) -> dict[str, DirectionName]:
    """Read what a scorer of the user's own states of its scores."""
    stated = dict(getattr(made, "directions", {}))
    for score, direction in stated.items():
        if score not in scores or direction not in ("higher", "lower"):
            raise RegistryError(
                f"the scorer {kind!r} has directions = {{{score!r}: {direction!r}}}, "
                f"expected one of its scores, {', '.join(scores)}, and 'higher' or 'lower'"
            )
    return stated


def _made_of_options(
    registered: object, spec: CustomScorerSpec, terms: Terms
) -> object:
    """Make a scorer of the user's own from the keys of its entry."""
    is_function = inspect.isroutine(registered)
    if not (inspect.isclass(registered) or is_function) or not callable(registered):
        return registered
    options = dict(spec.options)
    try:
        # ValueError for one of C
        parameters = list(inspect.signature(registered).parameters)
        if is_function and parameters[:1] == ["item"]:
            scores = _own_scores(registered, spec.type)
            return _made_of_function(registered, spec.type, scores, options)
        if "terms" in parameters:
            options["terms"] = terms
        return registered(**options)
    except EvalMetricsError:
        raise
    except Exception as error:
        raise DataError(
            f"the scorer {spec.type!r} can't be made of its keys: {type(error).__name__}: {error}",
            hint=f"its keys are the arguments of {origin(registered)}",
        ) from error


def _made_of_function(
    function: Callable[..., object],
    name: str,
    scores: Sequence[str],
    options: Mapping[str, object],
) -> _Made:
    """Make a scorer of a function, which takes a row, perhaps ``sample``, and the options."""
    try:
        signature = inspect.signature(function)
        takes_sample = "sample" in signature.parameters and "sample" not in options
        given = {"sample": {}, **options} if takes_sample else options
        signature.bind({}, **given)
    # ValueError: a function of C hides its parameters
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{name!r} can't be called with a row and its keys: {error}",
            hint=f"its keys are the arguments of {origin(function)}",
        ) from None

    def score(row: Row) -> object:
        if takes_sample:
            return function(row.item, sample=row.sample_data, **options)
        return function(row.item, **options)

    async def score_async(row: Row, calls: Calls) -> object:
        del calls
        given = score(row)
        if inspect.isawaitable(given):
            given = await given
        return given

    called = function
    if not inspect.isroutine(function):
        called = type(function).__call__
    is_async = inspect.iscoroutinefunction(function)
    is_async = is_async or inspect.iscoroutinefunction(called)
    return _Made(
        score=score_async if is_async else score,
        scores=scores,
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
        summary = summarise(name, columns[name])
        if counts:
            summary = structs.replace(
                summary,
                score_type="rubric",
                rubric_distribution=counts,
                mode_category=_most_frequent(counts),
            )
        if meaning.judges:
            agreement = _agreement(columns, meaning)
            summary = structs.replace(summary, agreement=agreement)
        yield summary


def _most_frequent(counts: Sequence[RubricCount]) -> str | None:
    """Return the label that most rows have, the first of equals; None without rows."""
    most = max((count.count for count in counts), default=0)
    labels = [count.label for count in counts if count.count == most]
    return min(labels) if most else None


def summarise(name: str, column: NDArray[np.float64]) -> ScoreSummary:
    """Summarise a score: one number per row, shape (rows,), NaN if it is missing.

    Percentile p lies at rank ``p / 100 * (n + 1) - 1`` of the sorted values, interpolated
    between neighbours and held within them (Hyndman and Fan 1996, definition 6).
    """
    values = np.sort(column[~np.isnan(column)])
    n = len(values)
    missing = len(column) - n
    if not n:
        return ScoreSummary(name, 0, missing)
    ranks = np.clip(np.arange(10, 101, 10) / 100 * (n + 1) - 1, 0, n - 1)
    percentiles = np.interp(ranks, np.arange(n), values).tolist()
    whole = total(values)
    mean = whole / n
    spread = total((values - mean) ** 2)
    sample_variance: float | None = None
    sample_std_dev: float | None = None
    if n > 1:
        sample_variance = spread / (n - 1)
        sample_std_dev = math.sqrt(sample_variance)
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
        sample_std_dev=sample_std_dev,
        sample_variance=sample_variance,
        percentiles={f"p{10 * (i + 1)}": value for i, value in enumerate(percentiles)},
        histogram=_histogram(values),
    )


def _histogram(values: NDArray[np.float64]) -> tuple[Bin, ...]:
    low = float(values[0])
    high = float(values[-1])
    width = (high - low) / _BINS
    if low == high or not np.isfinite(width):
        return (Bin(low, high, len(values)),)
    edges = [low + i * width for i in range(_BINS)]
    counts = np.diff(np.append(np.searchsorted(values, edges), len(values))).tolist()
    return tuple(map(Bin, edges, [*edges[1:], high], counts))


def _agreement(columns: Mapping[str, NDArray[np.float64]], about: About) -> Agreement:
    ratings = np.stack([columns[name] for name in about.judges])
    rows = int((~np.isnan(ratings).any(axis=0)).sum())
    alpha = krippendorff_alpha(ratings, about.level)
    if not math.isnan(alpha):
        return Agreement(alpha, about.level, len(ratings), rows)
    reason = "no row has a score of each"
    if rows:
        reason = "all their scores are the same"
    return Agreement(None, about.level, len(ratings), rows, reason)
