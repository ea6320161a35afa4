"""Which metrics of a benchmark a baseline gates, and by which rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics import gates
from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.metrics.names import parse
from pytest_evalmetrics.spec import BaselineSpec

if TYPE_CHECKING:
    from pytest_evalmetrics.spec import Benchmark

__all__ = ["gated_names", "rule_of", "settings_of"]

_ALPHA, _WARN_ALPHA, _MAX_DROP = 0.01, 0.05, 0.01


def gated_names(benchmark: Benchmark) -> tuple[str, ...]:
    """List the metrics that a baseline gates.

    The key metrics that the benchmark names, else its listed metrics, and those that have
    settings of their own. A ``mean/*`` that is a key metric only by default is told and not
    gated: where each recorded number can fail the build, chance soon does.
    """
    spec = benchmark.spec
    own = spec.baseline.metrics if isinstance(spec.baseline, BaselineSpec) else ()
    return tuple(dict.fromkeys((*(spec.key_metrics or spec.metrics), *own)))


def rule_of(benchmark: Benchmark, name: str, *, bounded: bool) -> gates.Rule:
    """Return the rule by which a benchmark judges one of its gated metrics.

    Parameters
    ----------
    benchmark
        The benchmark.
    name
        The metric, as it is written.
    bounded
        Whether its values lie in [0, 1].
    """
    spec = settings_of(benchmark)
    own = spec.metrics.get(name)
    asked = spec if own is None else own.over(spec)
    less = _less_is_better(name)
    drop = asked.max_drop
    if drop is None:
        drop = _MAX_DROP if bounded and not less else 0.0
    return gates.Rule(
        name=asked.rule or "practical",
        direction=asked.direction or ("lower" if less else "higher"),
        alpha=asked.alpha or _ALPHA,
        warn_alpha=asked.warn_alpha or _WARN_ALPHA,
        max_drop=drop,
        require_mde=asked.require_mde,
    )


def settings_of(benchmark: Benchmark) -> BaselineSpec:
    """Return what a benchmark says of its baseline, or the defaults."""
    spec = benchmark.spec.baseline
    return spec if isinstance(spec, BaselineSpec) else BaselineSpec()


def _less_is_better(text: str) -> bool:
    try:
        name = parse(text)
    except MetricError:  # a hook may name its numbers as it likes
        return gates.less_is_better(text)
    return gates.less_is_better(name.metric.rpartition(":")[2], name.score)
