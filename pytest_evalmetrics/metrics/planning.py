"""What a benchmark's metrics need: known before its rollouts are read."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from pytest_evalmetrics.errors import EvalMetricsError, MetricError
from pytest_evalmetrics.metrics.lookup import Names
from pytest_evalmetrics.metrics.protocol import MetricOptions, is_of_columns
from pytest_evalmetrics.spec.metric_names import MetricName, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.spec import BenchmarkSpec

    LineOf = Callable[..., int]

__all__ = ["Plan", "plan"]


class Plan(msgspec.Struct, frozen=True):
    """A benchmark's metrics, looked up."""

    spec: BenchmarkSpec  # the benchmark
    names: Names  # its metrics by name; further ones are found on demand
    also: tuple[str, ...]  # metrics to estimate that the benchmark's own keys do not name
    # the scores that rows must have: the reward, and those that listed metrics name
    scores: tuple[str, ...]
    categories: tuple[str, ...]  # the fields to keep as labels: of breakdowns and clusters
    line_of: LineOf | None = None  # line of a key of the benchmark, for errors

    def columns(self, texts: Iterable[str], table: RolloutTable) -> tuple[str, ...]:
        """List the scores of a table that metrics are computed from."""
        wanted: set[str] = set()
        for text in texts:
            try:
                metric = self.names.bind(text)
            except EvalMetricsError:
                continue
            if is_of_columns(metric.target):
                wanted.update(getattr(metric.target, "columns", table.scores))
            else:
                wanted.add(metric.name.score or self.spec.reward)
        return tuple(name for name in table.scores if name in wanted)

    def located(self, *path: str | int) -> _Located:
        """Let an error that points nowhere point at the line of the key at `path`."""
        return _Located(self.line_of, path)


class _Located:
    """No generator: these are many times slower to enter, and a benchmark enters twenty."""

    def __init__(self, line_of: LineOf | None, path: tuple[str | int, ...]) -> None:
        self._line_of, self._path = line_of, path

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if isinstance(error, EvalMetricsError) and error.line is None and self._line_of is not None:
            error.line = self._line_of(*self._path)


def plan(spec: BenchmarkSpec, *, also: Iterable[str] = (), line_of: LineOf | None = None) -> Plan:
    """Look a benchmark's metrics up."""
    names = Names(MetricOptions(spec.pass_threshold, spec.pass_estimator))
    also = tuple(also)
    made = Plan(spec, names, also, _scores(spec), _categories(spec, also), line_of)
    for at, text in enumerate(spec.metrics):
        with made.located("metrics", at):
            names.bind(text)
    return made


def _parsed(texts: Iterable[str]) -> Iterator[MetricName]:
    for text in texts:
        with suppress(MetricError):  # said where it is looked up, with its line
            yield parse(text)


def _scores(spec: BenchmarkSpec) -> tuple[str, ...]:
    # a threshold on pass@1/accuracy or mean/wer may be on a hook's number: rows need no such score
    named = [name.score for name in _parsed(spec.metrics) if name.score is not None]
    return tuple(dict.fromkeys((spec.reward, *named)))


def _categories(spec: BenchmarkSpec, also: tuple[str, ...]) -> tuple[str, ...]:
    texts = (*spec.metrics, *(spec.key_metrics or ()), *spec.thresholds, *also)
    fields = [name.field for name in _parsed(texts)]
    return tuple(
        dict.fromkeys(f for f in (*spec.breakdown, spec.cluster, *fields) if f is not None)
    )
