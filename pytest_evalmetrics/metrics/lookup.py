"""A metric's name, looked up: what computes it, and on which numbers."""

from __future__ import annotations

import inspect
from functools import cached_property, lru_cache
from inspect import signature
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import structs

from pytest_evalmetrics.errors import MetricError, RegistryError
from pytest_evalmetrics.metrics.calling import call, finite, place_of
from pytest_evalmetrics.metrics.forms import (
    TaskParts,
    Vectorised,
    evaluate,
    require,
    task_parts,
)
from pytest_evalmetrics.metrics.protocol import MetricOptions, is_vectorised
from pytest_evalmetrics.metrics.statistic import statistic
from pytest_evalmetrics.registry import Scope, is_ours, metrics, origin, same
from pytest_evalmetrics.spec.metric_names import MetricName, parse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.data import TaskRewards
    from pytest_evalmetrics.registry import Found

__all__ = ["BoundMetric", "Names"]

_SLACK = 1e-9  # what additions may lose


class BoundMetric(msgspec.Struct, frozen=True, dict=True):
    """A metric that is ready to compute.

    Attributes
    ----------
    name
        Its name, taken apart; ``package.module:attribute`` is replaced by what the class
        calls itself, or else by the attribute.
    target
        The object or function that computes it, of any form in `protocol`.
    """

    name: MetricName
    target: Any

    def __str__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        return str(self.name)

    @cached_property
    def label(self) -> str:
        """What messages call it."""
        return f"metric {str(self)!r}"

    @property
    def bounded(self) -> bool:
        """Whether its value is a rate in [0, 1]."""
        return bool(getattr(self.target, "bounded", False))

    @property
    def no_interval(self) -> str:
        """Why it has no meaningful interval; empty where it may have one."""
        return str(getattr(self.target, "no_interval", ""))

    @property
    def extreme(self) -> Literal["", "lowest", "highest"]:
        """Which task alone it is of: the ``lowest`` or the ``highest``; empty for all."""
        found = getattr(self.target, "extreme", "")
        if found == "lowest":
            return "lowest"
        return "highest" if found == "highest" else ""

    @property
    def samples_needed(self) -> int:
        """Rollouts that a task must have; with fewer (but one) `value` is an error."""
        return int(getattr(self.target, "samples_needed", 0))

    @property
    def vectorised(self) -> bool:
        """Whether it offers a form that takes arrays."""
        return is_vectorised(self.target)

    def over(self, field: str, value: str) -> BoundMetric:
        """Return the same metric over the rollouts whose `field` has that `value`."""
        return BoundMetric(self.name.over(field, value), self.target)

    def parts(self, rewards: TaskRewards) -> TaskParts | None:
        """Split it into its tasks' parts; None where it can only be evaluated anew.

        A task with fewer rollouts than `samples_needed` has no value here.

        Raises
        ------
        MetricError
            If the metric fails, or has an infinity for a task.
        """
        found = call(
            self.label, "its vectorised form", self.target, task_parts, self.target, rewards
        )
        if found is not None:
            for total in found.totals:
                finite(self.label, total, self.target)
        return found

    def value(self, rewards: TaskRewards, tasks: Sequence[object] | None = None) -> float:
        """Compute it.

        Parameters
        ----------
        rewards
            The rewards; a task may be empty.
        tasks
            The tasks' ids, for messages.

        Raises
        ------
        MetricError
            If it fails, is undefined, a task has too few rollouts, or it returns anything
            but a finite number.
        """
        return self.measure(rewards, tasks)[0]

    def measure(
        self, rewards: TaskRewards, tasks: Sequence[object] | None = None
    ) -> tuple[float, TaskParts | None]:
        """Compute it, and its tasks' parts; see `value` and `parts`."""
        require(self.target, rewards, self.label, tasks)
        parts = self.parts(rewards)
        result = call(self.label, "compute", self.target, evaluate, self.target, rewards, parts)
        value = finite(self.label, result, self.target)
        if self.bounded and not -_SLACK <= value <= 1 + _SLACK:
            file, line = place_of(self.target)
            raise MetricError(
                f"{self.label} says that it is a rate in [0, 1], and is {value:.12g}",
                file=file,
                line=line,
                hint="set `bounded = False` in its class, or return a rate",
            )
        return value, parts


class Names:
    """The metrics of one benchmark, by name.

    Parameters
    ----------
    options
        What the benchmark says about how rewards are read.
    """

    def __init__(self, options: MetricOptions | None = None) -> None:
        self.options = options or MetricOptions()
        # name -> its canonical one, what computes it, and what that was made from
        self._targets: dict[str, tuple[str, Any, Any]] = {}
        self._bound: dict[str, BoundMetric] = {}

    @staticmethod
    def statistic(name: str, score: str) -> BoundMetric:
        """Return a base statistic of a score."""
        return BoundMetric(MetricName(name, score), statistic(name))

    def bind(self, text: str) -> BoundMetric:
        """Find what a metric's name stands for.

        Parameters
        ----------
        text
            The name as it is written. A metric that was bound as
            ``package.module:attribute`` is known by its own name from then on.

        Raises
        ------
        RegistryError
            If there is no such metric, it can't be imported, or its name is taken.
        MetricError
            If the name can't be taken apart, or what it stands for is no metric.
        """
        if text not in self._bound:
            self._bound[text] = self._made(text)
        return self._bound[text]

    def _made(self, text: str) -> BoundMetric:
        name = parse(text)
        if name.is_statistic:
            return BoundMetric(name, statistic(name.metric))
        if name.metric not in self._targets:
            self._find(name.metric)
        canonical, target, _ = self._targets[name.metric]
        same_name = name.metric == canonical
        return BoundMetric(name if same_name else structs.replace(name, metric=canonical), target)

    def _find(self, written: str) -> None:
        found = metrics.find(written)
        target = _instance(found, self.options, written)
        canonical = written
        if found.reference:
            canonical = str(getattr(target, "name", None) or written.rpartition(":")[2])
            self._not_taken(written, canonical, found.target)
            self._targets[canonical] = canonical, target, found.target
        self._targets[written] = canonical, target, found.target

    def _not_taken(self, written: str, canonical: str, target: Any) -> None:
        bound = self._targets.get(canonical)
        other = metrics.holder(canonical) if bound is None else bound[2]
        if other is not None and not same(other, target):
            raise RegistryError(
                f"{written!r} calls itself {canonical!r}, and so does {origin(other)}",
                hint="give it another `name`",
            )
        if other is None and bound is None and metrics.is_builtin(canonical) and Scope.active:
            note = f"the metric {canonical!r} is {written}, which replaces the built-in one"
            Scope.active.notes[note] = None


def _instance(found: Found, options: MetricOptions, written: str) -> Any:
    """Make the object that computes; of ours one serves all benchmarks, for it keeps nothing."""
    make = _ours_made if is_ours(found.target) else _made
    return make(found.target, tuple(found.numbers.items()), options, written)


def _made(
    target: Any, numbers: tuple[tuple[str, int], ...], options: MetricOptions, written: str
) -> Any:
    """Make it from a class, a family's factory, or take it as it is."""
    label = f"metric {written!r}"
    if inspect.isclass(target) or numbers:
        keywords: dict[str, Any] = dict(numbers)
        if "options" in _parameters(target):
            keywords["options"] = options
        target = call(label, "__init__", target, target, **keywords)
    function = getattr(target, "compute", None) or target
    ours = getattr(function, "__func__", None) is Vectorised.compute
    if is_vectorised(target) and (ours or not hasattr(target, "compute")):
        return target
    if not callable(function):
        raise _no_metric(label, target, "has no compute(self, task_rewards)")
    if inspect.iscoroutinefunction(function):
        raise _no_metric(label, target, "is async: a metric is a plain function of numbers")
    try:
        _signature(getattr(function, "__func__", function)).bind(*_leading(function), [])
    except TypeError:
        raise _no_metric(
            label,
            target,
            f"can't be called with the rewards alone: it is {_name(function)}"
            f"{inspect.signature(function)}, expected compute(self, task_rewards)",
        ) from None
    except ValueError:  # written in C, and says nothing
        pass
    return target


_ours_made = lru_cache(maxsize=256)(_made)


def _parameters(target: Any) -> tuple[str, ...]:
    try:
        return tuple(_signature(target).parameters)
    except (TypeError, ValueError):
        return ()


def _signature(target: Any) -> inspect.Signature:
    return _looked_up(target) if isinstance(target, FunctionType | type) else signature(target)


_looked_up = lru_cache(signature)  # each benchmark asks the same of the same metrics


def _leading(function: Any) -> tuple[object, ...]:
    """Give what a method is handed before its arguments."""
    return (function.__self__,) if hasattr(function, "__func__") else ()


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _no_metric(label: str, target: Any, why: str) -> MetricError:
    file, line = place_of(target)
    return MetricError(f"{label} {why}", file=file, line=line)
