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
from pytest_evalmetrics.model.run_notes import ReplacedBuiltin
from pytest_evalmetrics.registry import Scope, is_ours, metrics, origin, same
from pytest_evalmetrics.spec.metric_names import (
    OVER_REFERENCE,
    REFERENCE,
    MetricName,
    parse,
)

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Collection,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )

    from pytest_evalmetrics.model.metric_facts import MetricFacts
    from pytest_evalmetrics.spec import BenchmarkSpec
    from pytest_evalmetrics.spec.metric_keys import MetricKeys

    LineOf = Callable[..., int]


class Names(msgspec.Struct, eq=False):
    """The metrics of one benchmark, by name."""

    options: MetricOptions = MetricOptions()
    defined: Mapping[str, MetricKeys] = MappingProxyType({})
    # name -> its canonical name, the metric, and the registered target
    _targets: dict[str, tuple[str, object, object]] = {}
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

    def _look_up(self, written: str) -> tuple[str, object, object]:
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

        keys = self.defined[name]
        taken = None
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

    def _check_free(self, written: str, canonical: str, target: object) -> None:
        bound = self._targets.get(canonical)
        other = metrics.holder(canonical) if bound is None else bound[2]
        if other is not None and not same(other, target):
            message = (
                f"{written!r} calls itself {canonical!r}, and so does {origin(other)}"
            )
            raise RegistryError(message, hint="give it another `name`")
        if other is None and metrics.is_builtin(canonical) and Scope.active:
            Scope.active.notes[ReplacedBuiltin(canonical, written)] = None


def _make(
    target: Any,
    numbers: tuple[tuple[str, object], ...],
    options: MetricOptions,
    written: str,
) -> Any:
    """Instantiate a class or a family's factory; return anything else unchanged."""
    label = f"metric {written!r}"

    def not_a_metric(why: str) -> MetricError:
        file, line = place_of(target)
        return MetricError(f"{label} {why}", file=file, line=line)

    if inspect.isclass(target) or numbers:
        keywords: dict[str, object] = dict(numbers)
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
    """A benchmark's metrics, looked up.

    Attributes
    ----------
    spec
        The benchmark.
    names
        Its metrics by name; further ones are found on demand.
    also
        Metrics to estimate that the benchmark's own keys do not name.
    scores
        The scores that rows must have: the reward, and those that listed metrics name.
    categories
        The fields to keep as labels: of breakdowns and clusters.
    line_of
        Returns the line of a key of the benchmark, for errors; None without a file.
    """

    spec: BenchmarkSpec
    names: Names
    also: tuple[str, ...]
    scores: tuple[str, ...]
    categories: tuple[str, ...]
    line_of: LineOf | None = None

    def columns(self, texts: Iterable[str], table: RolloutTable) -> tuple[str, ...]:
        """List the columns of a table that metrics are computed from, with the fields of groups."""
        wanted: set[str] = set()
        for text in texts:
            with suppress(EvalMetricsError):
                metric = self.names.bind(text)
                wanted |= self._columns_of(metric, table)
        known = dict.fromkeys((*table.scores, *table.categories))
        return tuple(name for name in known if name in wanted)

    def _columns_of(self, metric: BoundMetric, table: RolloutTable) -> set[str]:
        field = metric.name.field or ""
        if metric.reads_columns or metric.reads_rows:
            return {field, *getattr(metric.target, "columns", table.scores)}
        score = metric.name.score or self.spec.reward
        stated = [prefix + score for prefix in STATED]
        return {field, score, *stated}

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
    looked_up = Plan(
        spec=spec,
        names=Names(options, spec.defined),
        also=tuple(also),
        scores=(),
        categories=(),
        line_of=line_of,
    )
    listed: list[BoundMetric] = []
    for at, text in enumerate(spec.metrics):
        with looked_up.located("metrics", at):
            listed.append(looked_up.names.bind(text))
    others = (*(spec.key_metrics or ()), *spec.thresholds, *looked_up.also)
    return structs.replace(
        looked_up,
        scores=_scores_to_read(spec, listed, _known(looked_up.names, others)),
        categories=_fields_to_read(spec, listed, others),
    )


def _known(names: Names, texts: Iterable[str]) -> list[BoundMetric]:
    """Look up metrics, but for the numbers of hooks; errors are raised where they are estimated."""
    metrics: list[BoundMetric] = []
    for text in texts:
        with suppress(EvalMetricsError):
            metrics.append(names.bind(text))
    return metrics


def _scores_to_read(
    spec: BenchmarkSpec, listed: Sequence[BoundMetric], others: Sequence[BoundMetric]
) -> tuple[str, ...]:
    """Name the scores that rows must have.

    A threshold on pass@1/accuracy or mean/wer may be on a hook's number: rows need no
    such score.
    """
    scores: list[str] = []
    reads_reward = any(_reads_reward(metric) for metric in (*listed, *others))
    if spec.needs_reward or reads_reward:
        scores.append(spec.reward)
    named = [metric.name.score for metric in listed]
    scores += [score for score in named if score is not None]
    for metric in listed:
        scores += _number_columns(metric)
    if spec.reference is not None:  # the reference gives these scores
        given = (REFERENCE, OVER_REFERENCE)
        scores = [spec.reward, *(score for score in scores if score not in given)]
    return tuple(dict.fromkeys(scores))


def _reads_reward(metric: BoundMetric) -> bool:
    return metric.name.score is None and not metric.reads_rows


def _number_columns(metric: BoundMetric) -> list[str]:
    """Name the columns of numbers that a metric over rows reads."""
    if not metric.reads_rows:
        return []
    labels = _label_columns(metric)
    return [name for name in metric.target.columns if name not in labels]


def _fields_to_read(
    spec: BenchmarkSpec, listed: Sequence[BoundMetric], others: Iterable[str]
) -> tuple[str, ...]:
    """Name the fields to keep as labels."""
    fields: list[str | None] = [*spec.breakdown, spec.cluster]
    fields += [metric.name.field for metric in listed]
    for text in others:
        with suppress(MetricError):  # a hook may name its numbers as it likes
            fields.append(parse(text).field)
    if spec.sample is not None:
        fields.append(spec.sample.by)
    given: set[str] = set()
    for scorer in spec.scorers:
        given.update(scorer.score_names)
    for metric in listed:
        if metric.reads_rows:
            labels = _label_columns(metric)
            columns = [name for name in metric.target.columns if name in labels]
            fields += [name for name in columns if name not in given]
    return tuple(dict.fromkeys(field for field in fields if field is not None))


def _label_columns(metric: BoundMetric) -> Collection[str]:
    """Return the columns of labels among those that a metric over rows reads."""
    labels: Collection[str] = getattr(metric.target, "labels", metric.target.columns)
    return labels
