"""The metrics of a benchmark, looked up by name before its rollouts are read."""

from __future__ import annotations

import inspect
from contextlib import contextmanager, suppress
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from pytest_evalmetrics.errors import EvalMetricsError, MetricError, RegistryError
from pytest_evalmetrics.metrics.base_statistics import statistic_metric
from pytest_evalmetrics.metrics.metric import (
    BoundMetric,
    MetricOptions,
    call,
    place_of,
    vectorised,
)
from pytest_evalmetrics.model.rollout_table import (
    STATED,
    RolloutTable,
)
from pytest_evalmetrics.registry import Scope, is_ours, metrics, origin, same
from pytest_evalmetrics.spec.metric_names import (
    OVER_REFERENCE,
    REFERENCE,
    MetricName,
    parse,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pytest_evalmetrics.model.metric_facts import MetricFacts
    from pytest_evalmetrics.spec import BenchmarkSpec
    from pytest_evalmetrics.spec.metric_keys import MetricKeys

    LineOf = Callable[..., int]


class Names(msgspec.Struct, eq=False):
    """The metrics of one benchmark, by name."""

    options: MetricOptions = MetricOptions()
    defined: Mapping[str, MetricKeys] = MappingProxyType({})
    # name -> its canonical name, the metric, and the registered target
    _targets: dict[str, tuple[str, Any, Any]] = {}
    _bound: dict[str, BoundMetric] = {}

    @staticmethod
    def statistic(name: str, score: str) -> BoundMetric:
        """Return a base statistic of a score."""
        return BoundMetric(MetricName(name, score), statistic_metric(name))

    def bind(self, text: str) -> BoundMetric:
        """Look up a metric by the name that a benchmark file gives."""
        if text not in self._bound:
            name = parse(text)
            if name.is_statistic:
                self._bound[text] = BoundMetric(name, statistic_metric(name.metric))
            else:
                canonical, target, _ = self._targets.get(name.metric) or self._look_up(
                    name.metric
                )
                self._bound[text] = BoundMetric(
                    structs.replace(name, metric=canonical), target
                )
        return self._bound[text]

    def _look_up(self, written: str) -> tuple[str, Any, Any]:
        """Look up the target of a metric, and cache it."""
        if written in self.defined:
            target = written, self._define(written), self.defined[written]
        else:
            entry = metrics.find(written)
            # one of ours serves all benchmarks, for it keeps nothing
            make = _make_ours if is_ours(entry.target) else _make
            metric = make(
                entry.target, tuple(entry.numbers.items()), self.options, written
            )
            canonical = written
            if entry.reference:
                canonical = str(
                    getattr(metric, "name", None) or written.rpartition(":")[2]
                )
                self._check_free(written, canonical, entry.target)
            target = canonical, metric, entry.target
        self._targets[written] = self._targets[target[0]] = target
        return target

    def _define(self, name: str) -> Any:
        """Make a metric that the benchmark file defines."""
        from pytest_evalmetrics.metrics import row_metrics  # few files define any

        keys, taken = self.defined[name], None
        with suppress(RegistryError):
            taken = metrics.find(name)
        if taken is not None:
            message = (
                f"{name!r} is the name of a metric already: {origin(taken.target)}"
            )
            raise RegistryError(
                message, hint="give the one that is defined here another name"
            )
        arguments = getattr(keys, "arguments", None)
        if arguments is None:
            return row_metrics.CLASSES[type(keys)](keys, self.options)
        entry = metrics.find(keys.type)
        arguments = (*entry.numbers.items(), *arguments.items())
        return _make(entry.target, arguments, self.options, name)

    def _check_free(self, written: str, canonical: str, target: Any) -> None:
        bound = self._targets.get(canonical)
        other = metrics.holder(canonical) if bound is None else bound[2]
        if other is not None and not same(other, target):
            message = (
                f"{written!r} calls itself {canonical!r}, and so does {origin(other)}"
            )
            raise RegistryError(message, hint="give it another `name`")
        if other is None and metrics.is_builtin(canonical) and Scope.active:
            note = f"the metric {canonical!r} is {written}, which replaces the built-in one"
            Scope.active.notes[note] = None


def _make(
    target: Any,
    numbers: tuple[tuple[str, Any], ...],
    options: MetricOptions,
    written: str,
) -> Any:
    """Instantiate a class or a family's factory; return anything else unchanged."""
    label = f"metric {written!r}"

    def not_a_metric(why: str) -> MetricError:
        file, line = place_of(target)
        return MetricError(f"{label} {why}", file=file, line=line)

    if inspect.isclass(target) or numbers:
        keywords: dict[str, Any] = dict(numbers)
        with suppress(TypeError, ValueError):  # written in C, without a signature
            if "options" in inspect.signature(target).parameters:
                keywords["options"] = options
        target = call(label, "__init__", target, target, **keywords)
    if vectorised(target) and not hasattr(target, "compute"):
        return target
    function = getattr(target, "compute", None) or target
    if not callable(function):
        raise not_a_metric("has no compute(self, task_rewards)")
    if inspect.iscoroutinefunction(function):
        raise not_a_metric("is async: a metric is a plain function of numbers")
    with suppress(ValueError):  # written in C, without a signature
        signature = inspect.signature(function)
        try:
            signature.bind([])
        except TypeError:
            name = getattr(function, "__name__", type(function).__name__)
            why = f"can't be called with the rewards alone: it is {name}{signature}, expected "
            raise not_a_metric(f"{why}compute(self, task_rewards)") from None
    return target


_make_ours = lru_cache(maxsize=256)(_make)


class Plan(msgspec.Struct, frozen=True):
    """A benchmark's metrics, looked up."""

    spec: BenchmarkSpec  # the benchmark
    names: Names  # its metrics by name; further ones are found on demand
    also: tuple[
        str, ...
    ]  # metrics to estimate that the benchmark's own keys do not name
    # the scores that rows must have: the reward, and those that listed metrics name
    scores: tuple[str, ...]
    categories: tuple[
        str, ...
    ]  # the fields to keep as labels: of breakdowns and clusters
    line_of: LineOf | None = None  # line of a key of the benchmark, for errors

    def columns(self, texts: Iterable[str], table: RolloutTable) -> tuple[str, ...]:
        """List the columns of a table that metrics are computed from, with the fields of groups."""
        wanted: set[str] = set()
        for text in texts:
            with suppress(EvalMetricsError):
                metric = self.names.bind(text)
                wanted.add(metric.name.field or "")
                if metric.reads_columns or metric.reads_rows:
                    wanted.update(getattr(metric.target, "columns", table.scores))
                else:
                    score = metric.name.score or self.spec.reward
                    wanted |= {score, *(prefix + score for prefix in STATED)}
        there = dict.fromkeys((*table.scores, *table.categories))
        return tuple(name for name in there if name in wanted)

    def facts_of(self, text: str) -> MetricFacts | None:
        """Return what the class of a metric states; None for a number that a hook computes."""
        try:
            return self.names.bind(text).facts
        except RegistryError:
            return None

    @contextmanager
    def located(self, *path: str | int) -> Iterator[None]:
        """Let an error that points nowhere point at the line of the key at `path`."""
        try:
            yield
        except EvalMetricsError as error:
            if error.line is None and self.line_of is not None:
                error.line = self.line_of(*path)
            raise


def plan(
    spec: BenchmarkSpec, *, also: Iterable[str] = (), line_of: LineOf | None = None
) -> Plan:
    """Look up a benchmark's metrics."""
    options = MetricOptions(spec.pass_threshold, spec.pass_estimator, spec.reward)
    names = Names(options, spec.defined)
    looked_up = Plan(spec, names, tuple(also), (), (), line_of)
    listed: list[BoundMetric] = []
    for at, text in enumerate(spec.metrics):
        with looked_up.located("metrics", at):
            listed.append(names.bind(text))
    over_rows = [metric.target for metric in listed if metric.reads_rows]
    # a threshold on pass@1/accuracy or mean/wer may be on a hook's number: rows need no such score
    scores: list[str | None] = [metric.name.score for metric in listed]
    gated = [*listed]
    fields = [*spec.breakdown, spec.cluster, *(metric.name.field for metric in listed)]
    for text in (*(spec.key_metrics or ()), *spec.thresholds, *looked_up.also):
        with suppress(EvalMetricsError):  # raised with its line where it is estimated
            fields.append(parse(text).field)
            gated.append(names.bind(text))  # a hook's is no metric
    if spec.needs_reward or any(
        not m.reads_rows and m.name.score is None for m in gated
    ):
        scores.insert(0, spec.reward)
    fields += [] if spec.sample is None else [spec.sample.by]
    given = {name for scorer in spec.scorers for name in scorer.score_names}
    for target in over_rows:
        labels = getattr(target, "labels", target.columns)
        fields += [name for name in labels if name not in given]
        scores += [name for name in target.columns if name not in labels]
    if spec.reference is not None:  # the reference gives these scores
        scores = [
            spec.reward,
            *(s for s in scores if s not in (REFERENCE, OVER_REFERENCE)),
        ]
    return structs.replace(
        looked_up, scores=_distinct(scores), categories=_distinct(fields)
    )


def _distinct(names: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if name is not None))
