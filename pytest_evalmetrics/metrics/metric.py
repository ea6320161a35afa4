"""The metric protocol, and how metrics of any form are called, checked and evaluated."""

from __future__ import annotations

import inspect
import math
import sysconfig
import traceback
from functools import cached_property, partial
from numbers import Real
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Literal,
    Protocol,
    TypeGuard,
    TypeVar,
)

import msgspec
import numpy as np

from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.layout import listed, many, of_many
from pytest_evalmetrics.model.metric_facts import MetricFacts, facts_of
from pytest_evalmetrics.sums import total

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from pytest_evalmetrics.model.rollout_table import TaskRewards
    from pytest_evalmetrics.spec.metric_names import MetricName

    Floats = NDArray[np.float64]
    Combine = Callable[[Floats], float]
    CombineDraws = Callable[[Floats], Floats]
    WeightedCombine = Callable[[Floats, Floats], Floats]

T = TypeVar("T")
_PACKAGE = str(Path(__file__).parents[1] / "_")[:-1]
_LISTED = 10  # tasks that a message names
_SLACK = 1e-9  # rounding errors of additions
_LINE = 80


class MetricOptions(msgspec.Struct, frozen=True):
    """How a benchmark's rewards are read.

    A metric's class gets it where its constructor has a parameter named ``options``.

    Attributes
    ----------
    pass_threshold
        A rollout passes where its reward is at least this.
    pass_estimator
        How pass@k, pass^k and max@k use the samples of a task.
    reward
        The name of the reward's column.
    """

    pass_threshold: float = 1.0
    pass_estimator: Literal["unbiased", "first_k"] = "unbiased"  # noqa: S105 - the "pass" of pass@k
    reward: str = "reward"

    @property
    def first_k(self) -> bool:
        """Whether the first k samples of a task are used, not all sets of k."""
        return self.pass_estimator == "first_k"  # noqa: S105 - the "pass" of pass@k


class Metric(Protocol):
    """Reduces the rewards of all tasks to one number.

    Attributes
    ----------
    name
        What the metric is called in reports.

    Notes
    -----
    `compute` alone is enough. A metric that offers one of these vectorised forms is evaluated
    through it instead, and by it gets better intervals and tests:

    ``task_values(rewards: TaskRewards) -> array``
        Each task's value, shape (tasks,), NaN where it has none. The metric is their mean, or
        ``combine(values) -> float`` of those that there are. With ``combine_weighted(values,
        times) -> float``, of values that occur so many times each (0 is none), it can be
        resampled over many tasks. With ``combines_draws = True`` both also take arrays of
        shape (draws, values), and return one of shape (draws,).
    ``task_parts(rewards) -> (array, array)``
        Each task's numerator and denominator: the metric is a ratio pooled over tasks.
    ``compute_array(rewards) -> float``
        The metric over all rewards at once; a task may be empty.

    A metric over rows names what it reads of a row in ``columns = ("gold", "pred")``, numbers and
    labels. It gets one mapping per task in place of the list, column -> list, or in a vectorised
    form a `TaskRows` in place of `TaskRewards`. It may also offer

    ``weighted(rows, weights) -> float``
        The metric where each row weighs so much, shape (rows,): by it tasks are resampled.
    ``worth(rows) -> array``
        What each row is worth to a reader, shape (rows,), to tell which tasks got worse.
    ``undefined(rows) -> str``
        Why the metric is not defined for these rows; empty if it is.

    A metric that reads another number of a row than its reward offers ``column(scores) -> array
    | None``, shape (rows,), NaN where missing, and may name them in ``columns``. Further
    attributes that a metric may have:

    ``direction``
        Which way is better: ``"higher"``, ``"lower"``, or ``"as_score"``, as for the score
        that it reduces. A baseline gates a metric without one only where the benchmark
        file says ``direction:``.
    ``limits``
        The ends of its range, ``(low, high)``, or ``"as_score"``, those of its score.
    ``bounded``
        True where the value is a rate in [0, 1].
    ``counts_passes``
        True where it counts the rollouts that reach ``pass_threshold``.
    ``no_interval``
        Why the metric has no meaningful interval; no interval is computed then.
    ``extreme``
        ``"lowest"`` or ``"highest"`` where the metric is that of one task alone, such as the
        worst one: its regression test is then of single tasks.
    ``samples_needed``
        Rollouts that a task must have; a task with fewer (but with one) is an error.
    ``unbiased``
        True where its expected value does not depend on how many rollouts a task has: the runs
        of a baseline are pooled then.
    """

    name: ClassVar[str]

    def compute(self, task_rewards: Sequence[Sequence[float]]) -> float:
        """Reduce nested rewards.

        Parameters
        ----------
        task_rewards
            One inner list per task, in task order, with the task's finite rewards in
            sample order. A missing reward is left out, or replaced where the benchmark
            says by what; a task without any reward is not in the list.

        Returns
        -------
        float
            A finite number. NaN, an infinity, a bool or anything else is an error.
        """
        ...


def offers(metric: object, *methods: str) -> bool:
    """Whether a metric has any of these methods."""
    return any(getattr(metric, method, None) is not None for method in methods)


def vectorised(metric: object) -> bool:
    """Whether a metric has a form that takes arrays."""
    return offers(metric, "task_parts", "task_values", "compute_array", "weighted")


class TaskParts(msgspec.Struct, frozen=True, dict=True):
    """Each task's contribution to a metric that is a mean or ratio over tasks, shapes (tasks,)."""

    # The metric is sum of `tops` / sum of `bottoms`; both are 0 for a task without a value.

    tops: Floats
    bottoms: Floats
    combine: Combine | None = None  # reduces the tasks' values where that is no mean
    # the same of many draws: shapes (draws, tasks) and (draws,)
    combine_draws: CombineDraws | None = None
    combine_weighted: WeightedCombine | None = None

    @cached_property
    def held(self) -> NDArray[np.bool_]:
        """The tasks that have a value, shape (tasks,)."""
        return self.bottoms > 0

    @cached_property
    def values(self) -> Floats:
        """Each task's value, shape (tasks,), NaN where it has none."""
        if (self.bottoms == 1).all():  # most metrics: no copy of what may be a million
            return self.tops
        values = np.full(len(self.tops), np.nan)
        np.divide(self.tops, self.bottoms, out=values, where=self.held)
        return values

    def value(self) -> float:
        """Compute the metric; NaN where no task has a value."""
        if not self.held.any():
            return math.nan
        if self.combine is not None:
            return self.combine(self.values[self.held])
        return total(self.tops) / total(self.bottoms)


class BoundMetric(msgspec.Struct, frozen=True, dict=True):
    """A metric that is ready to compute.

    Attributes
    ----------
    name
        Its name; for ``package.module:attribute`` the class's own, else the attribute.
    target
        The object or function that computes it, of any form.
    """

    name: MetricName
    target: Any

    def __str__(self) -> str:
        return str(self.name)

    @cached_property
    def facts(self) -> MetricFacts:
        """What its class states: direction, range, rollouts."""
        return facts_of(self.target)

    @cached_property
    def bounded(self) -> bool:
        """Whether its value is a rate in [0, 1]."""
        return bool(getattr(self.target, "bounded", False))

    @cached_property
    def no_interval(self) -> str:
        """Why it has no meaningful interval; empty if it has."""
        return str(getattr(self.target, "no_interval", ""))

    @cached_property
    def unbiased(self) -> bool:
        """Whether its expected value does not depend on how many rollouts a task has."""
        return bool(getattr(self.target, "unbiased", False))

    @cached_property
    def samples_needed(self) -> int:
        """The rollouts that a task must have; with fewer, but one, `measure` is an error."""
        return int(getattr(self.target, "samples_needed", 0))

    @cached_property
    def quantile(self) -> float | None:
        """The quantile that it is, of tasks or of rollouts; None if it is none."""
        quantile: float | None = getattr(self.target, "quantile", None)
        return quantile

    @property
    def label(self) -> str:
        """Its name in messages."""
        return f"metric {str(self)!r}"

    @property
    def extreme(self) -> Literal["", "lowest", "highest"]:
        """The only task that it measures: the ``lowest`` or the ``highest``; empty for all."""
        extreme: object = getattr(self.target, "extreme", "")
        return extreme if extreme in ("lowest", "highest") else ""

    @property
    def reads_columns(self) -> bool:
        """Whether it computes its number per row from several columns."""
        return offers(self.target, "column")

    @property
    def reads_rows(self) -> bool:
        """Whether it reads several columns of a row at once."""
        return offers(self.target, "columns") and not self.reads_columns

    @property
    def weighs(self) -> bool:
        """Whether it can be recomputed with new weights."""
        return offers(self.target, "weighted")

    def weighed(self, rewards: TaskRewards, times: NDArray[Any]) -> float:
        """Compute it where each task occurs so many times, shape (tasks,)."""
        weights = np.repeat(times, rewards.counts).astype(np.float64, copy=False)
        return self.checked("weighted", self.target.weighted, rewards, weights)

    def checked(
        self, doing: str, function: Callable[..., object], *args: object
    ) -> float:
        """Call a method of the metric; return its finite number."""
        return self._finite(call(self.label, doing, self.target, function, *args))

    def _finite(self, result: object) -> float:
        if is_number(result) and math.isfinite(result):
            return float(result)
        if inspect.iscoroutine(result):
            result.close()
        shown = repr(result)
        if isinstance(result, float):
            shown = repr(float(result))  # not as NumPy shows its own
        if len(shown) > _LINE:
            shown = f"{shown[:_LINE]}..."
        if not isinstance(result, float):
            shown += f" ({type(result).__name__})"
        hint = "where the metric is not defined, raise an exception that says why"
        raise self._wrong(f"returned {shown}, where a finite number is expected", hint)

    def _wrong(self, what: str, hint: str) -> MetricError:
        file, line = place_of(self.target)
        return MetricError(f"{self.label} {what}", file=file, line=line, hint=hint)

    def parts(self, rewards: TaskRewards) -> TaskParts | None:
        """Split it into its tasks' parts; None if it can only be evaluated anew."""
        # A task with fewer rollouts than `samples_needed` has no value here.
        parts = call(
            self.label, "its vectorised form", self.target, self._parts, rewards
        )
        if parts is not None:
            self._finite(total(parts.tops))
            self._finite(total(parts.bottoms))
        return parts

    def _parts(self, rewards: TaskRewards) -> TaskParts | None:
        target = self.target
        tasks = len(rewards)
        if offers(target, "task_parts"):
            tops, bottoms = target.task_parts(rewards)
            return TaskParts(_per_task(tops, tasks), _per_task(bottoms, tasks))
        if offers(target, "task_values"):
            values = _per_task(target.task_values(rewards), tasks)
            return self._parts_of_values(values)
        return None

    def _parts_of_values(self, values: Floats) -> TaskParts:
        """Split it into its tasks' values, NaN for a task without one."""
        tops = values
        # one for each task, without a million of them
        bottoms = np.broadcast_to(1.0, values.shape)
        held = ~np.isnan(values)
        if not held.all():
            tops = np.where(held, values, 0.0)
            bottoms = held.astype(np.float64)
        target = self.target
        if not offers(target, "combine"):
            return TaskParts(tops, bottoms)
        weighted = None
        if offers(target, "combine_weighted"):
            weighted = partial(
                self._of_draws, "combine_weighted", target.combine_weighted
            )
        return TaskParts(
            tops=tops,
            bottoms=bottoms,
            combine=partial(self.checked, "combine", target.combine),
            combine_draws=partial(self._of_draws, "combine", target.combine),
            combine_weighted=weighted,
        )

    def _of_draws(
        self, doing: str, function: Callable[..., object], *arrays: Floats
    ) -> Floats:
        """Reduce every draw, the rows of the last array, to an array of shape (draws,)."""
        if not getattr(self.target, "combines_draws", False):
            *of_all, draws = arrays
            values = [self.checked(doing, function, *of_all, draw) for draw in draws]
            return np.array(values)
        reduced = call(self.label, doing, self.target, function, *arrays)
        of_draws = np.asarray(reduced, dtype=np.float64)
        for undefined in of_draws[~np.isfinite(of_draws)]:
            self._finite(undefined)
        return of_draws

    def measure(
        self, rewards: TaskRewards, tasks: Sequence[object] | None = None
    ) -> tuple[float, TaskParts | None]:
        """Compute it and its tasks' parts; a MetricError where it isn't a finite number."""
        self._check_defined(rewards, tasks)
        value, parts = self._measured(rewards)
        if self.bounded and not -_SLACK <= value <= 1 + _SLACK:
            hint = "set `bounded = False` in its class, or return a rate"
            raise self._wrong(
                f"says that it is a rate in [0, 1], and is {value:.12g}", hint
            )
        return value, parts

    def value(
        self, rewards: TaskRewards, tasks: Sequence[object] | None = None
    ) -> float:
        """Compute it; see `measure`."""
        return self.measure(rewards, tasks)[0]

    def anew(self, rewards: TaskRewards) -> float:
        """Compute it of tasks or rollouts that were drawn again."""
        return self._measured(rewards)[0]

    def _measured(self, rewards: TaskRewards) -> tuple[float, TaskParts | None]:
        parts = self.parts(rewards)
        target = self.target
        if parts is not None:
            return self._finite(parts.value()), parts
        if self.weighs:
            return self.weighed(rewards, np.ones(len(rewards))), None
        if offers(target, "compute_array"):
            return self.checked("compute", target.compute_array, rewards), None
        nested = [task for task in rewards.to_lists() if task]
        return self.checked("compute", self._compute, nested), None

    @property
    def _compute(self) -> Callable[..., object]:
        """Its method `compute`; of a function the function itself."""
        compute: Callable[..., object] | None = getattr(self.target, "compute", None)
        return compute or self.target

    def of_choice(self, rewards: TaskRewards) -> Callable[[NDArray[np.intp]], float]:
        """Return the metric over any choice of tasks, repeats allowed."""
        if not vectorised(self.target) and not self.reads_rows:
            return self._compute_of_choice(rewards)
        if not self.weighs:
            return lambda chosen: self.anew(rewards.take(chosen))
        n = len(rewards)
        return lambda chosen: self.weighed(rewards, np.bincount(chosen, minlength=n))

    def _compute_of_choice(
        self, rewards: TaskRewards
    ) -> Callable[[NDArray[np.intp]], float]:
        """Return `compute` over any choice of tasks, whose lists are made once."""
        compute = self._compute
        nested = rewards.to_lists()

        def compute_over(chosen: NDArray[np.intp]) -> float:
            # copies, for `compute` may sort what it is given
            tasks = [nested[task].copy() for task in chosen.tolist() if nested[task]]
            return self.checked("compute", compute, tasks)

        return compute_over

    def _check_defined(
        self, rewards: TaskRewards, tasks: Sequence[object] | None
    ) -> None:
        kind = MetricError
        why = ""
        undefined = getattr(self.target, "undefined", None)
        if not len(rewards.values):
            kind = UndefinedMetricError
            why = "there is no rollout with a number to compute it from"
        elif undefined is not None:
            kind = UndefinedMetricError
            why = call(self.label, "undefined", self.target, undefined, rewards)
        if why:
            hint = "an undefined metric is an error, never 0"
            raise kind(f"{self.label} is undefined: {why}", hint=hint)
        counts = rewards.counts
        needed = self.samples_needed
        short = np.flatnonzero((counts > 0) & (counts < needed)).tolist()
        if not short:
            return
        ids = range(len(rewards)) if tasks is None else tasks
        named = [f"{ids[i]} ({counts[i]})" for i in short[:_LISTED]]
        raise MetricError(
            f"{self.label} needs {many(needed, 'rollout')} of each task, and "
            f"{of_many(len(short), len(rewards), 'task', 'has')} fewer with a number: "
            f"{listed(named, _LISTED, len(short))}",
            hint="record more rollouts, choose a smaller k, or set `pass_estimator: first_k`, "
            "which uses what there is",
        )


def _per_task(values: object, tasks: int) -> Floats:
    """Check that a metric gave one number per task."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf" or array.shape != (tasks,):
        raise TypeError(
            f"expected one number per task, an array of shape ({tasks},), "
            f"found {array.dtype} of shape {array.shape}"
        )
    return array.astype(np.float64, copy=False)


class UndefinedMetricError(MetricError):
    """The rows are outside the metric's domain."""


def call(
    label: str,
    doing: str,
    target: object,
    function: Callable[..., T],
    *args: object,
    **kwargs: object,
) -> T:
    """Call code that may be a user's; whatever it raises is a `MetricError`."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        file, line = _where_raised(error, target)
        message = f"{label} failed in {doing}: {type(error).__name__}: {error}"
        hint = "a metric that fails is never skipped: fix it, or remove it from the benchmark"
        raise MetricError(message, file=file, line=line, hint=hint) from error


def is_number(value: object) -> TypeGuard[float]:
    """Check whether a value can be a metric's: a bool is none."""
    if isinstance(value, bool):
        return False
    return isinstance(value, Real)


def place_of(target: object) -> tuple[str | None, int | None]:
    """Return the file and line of a user's function, class or object, if known."""
    thing: Any = target
    if isinstance(target, partial):
        thing = target.func
    if not (inspect.isclass(thing) or inspect.isroutine(thing)):
        thing = type(thing)
    try:
        file = inspect.getsourcefile(thing)
        line = inspect.getsourcelines(thing)[1]
    except (OSError, TypeError):
        return None, None
    if file is None or file.startswith(_PACKAGE):
        return None, None
    return _shown(file), line


def _where_raised(error: Exception, target: object) -> tuple[str | None, int | None]:
    """Find the last line of the user's own code on the way to the exception."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = ("<", _PACKAGE)
    not_ours = [frame for frame in frames if not frame.filename.startswith(ours)]
    if not not_ours:
        return place_of(target)
    libraries = _folders_of_libraries()
    own = [frame for frame in not_ours if not frame.filename.startswith(libraries)]
    last = own[-1] if own else not_ours[-1]
    return _shown(last.filename), last.lineno


def _folders_of_libraries() -> tuple[str, ...]:
    folders = []
    for name in ("stdlib", "purelib", "platlib"):
        folder = sysconfig.get_path(name)
        if folder:
            folders.append(folder)
    return tuple(folders)


def _shown(file: str) -> str:
    """Shorten a path below the current directory."""
    path = Path(file)
    if path.is_relative_to(Path.cwd()):
        return path.relative_to(Path.cwd()).as_posix()
    return file
