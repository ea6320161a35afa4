"""What a benchmark asks of its metrics: the plan, the baseline's settings, the rules."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec import structs

from pytest_evalmetrics import gates, metrics
from pytest_evalmetrics.config import declarations
from pytest_evalmetrics.model.comparison import RuleName, RuleSettings
from pytest_evalmetrics.model.verdicts import Acceptance, Direction
from pytest_evalmetrics.spec import BaselineSpec, Benchmark, metric_names
from pytest_evalmetrics.spec.gate_keys import OwnRule

if TYPE_CHECKING:
    from pytest_evalmetrics.gates import RegisteredRule

_DEFAULT_RULE = RuleName.PRACTICAL
_DEFAULT_ALPHA = 0.01
_DEFAULT_WARN_ALPHA = 0.05
_DEFAULT_MAX_DROP = 0.01  # of a rate
# the share of what there is to lose that the default is at most: 1 point of a rate of .1
_DEFAULT_SHARE = 0.1


def plan_of(benchmark: Benchmark) -> metrics.Plan:
    """Plan the metrics that a benchmark names, but for the mean that labels correct."""
    spec = benchmark.spec
    thresholds = dict(spec.thresholds)
    if thresholds.pop(metric_names.PPI_MEAN, None) is not None:
        spec = replace(spec, thresholds=thresholds)
    return metrics.plan(spec, also=spec.gated, line_of=benchmark.line_of)


def settings_of(benchmark: Benchmark) -> BaselineSpec:
    """Return the settings of a benchmark's baseline, or the defaults."""
    spec = benchmark.spec.baseline or BaselineSpec()
    if spec.rollouts is None:
        return spec
    return replace(spec, rollouts=spec.rollouts.like(benchmark.spec.rollouts))


def acceptance_of(benchmark: Benchmark) -> Acceptance:
    """Return how a change against the benchmark's reference is accepted."""
    settings = settings_of(benchmark)
    if settings.of_history:
        return Acceptance.HISTORY
    if settings.report is not None:
        return Acceptance.REPORT
    if settings.committed:
        return Acceptance.SNAPSHOT
    return Acceptance.OTHER_RUN


def rule_of(
    benchmark: Benchmark, name: str, *, bounded: bool, baseline: float | None = None
) -> RuleSettings:
    """Return how a metric is judged.

    Parameters
    ----------
    benchmark
        The benchmark that gates it.
    name
        The metric, as the file writes it.
    bounded
        Whether it is a rate in [0, 1].
    baseline
        Its value there: the default of `max_drop` is smaller where less can be lost.
    """
    keys = settings_of(benchmark).gate_of(name)
    direction = judged_direction(benchmark, name)
    max_drop = keys.max_drop
    if max_drop is None:
        is_rate = bounded and declarations.may_be_rate(benchmark.spec, name)
        max_drop = 0.0
        if is_rate:
            max_drop = _default_max_drop(direction, baseline)
    rule = _DEFAULT_RULE
    own = own_rule_of(benchmark, name)
    if own is not None:
        rule = RuleName.OWN
    elif keys.rule is not None:
        rule = RuleName(str(keys.rule))
    settings = RuleSettings(
        rule=rule,
        direction=direction,
        alpha=keys.alpha or _DEFAULT_ALPHA,
        warn_alpha=keys.warn_alpha or _DEFAULT_WARN_ALPHA,
        max_drop=max_drop,
        require_mde=keys.require_mde,
    )
    if own is None:
        return settings
    return structs.replace(
        settings,
        own_name=str(keys.rule),
        own_bound=own.bound,
        own_tests=own.tests,
    )


def _default_max_drop(direction: Direction, baseline: float | None) -> float:
    """Return a point of a rate, or a tenth of what there is to lose if that is less."""
    if baseline is None:
        return _DEFAULT_MAX_DROP
    to_lose = baseline if direction is Direction.HIGHER else 1 - baseline
    if not to_lose > 0:
        return _DEFAULT_MAX_DROP
    return min(_DEFAULT_MAX_DROP, float(f"{_DEFAULT_SHARE * to_lose:.4g}"))


def judged_direction(benchmark: Benchmark, name: str) -> Direction:
    """Return which way of a metric is better; that of a gated one is known by now."""
    said = settings_of(benchmark).gate_of(name).direction
    known = said or declarations.direction_when_read(benchmark.spec, name)
    return Direction(known or "higher")


# -- rules that are not built in -------------------------------------------------------------


def own_rule_of(benchmark: Benchmark, name: str) -> RegisteredRule | None:
    """Make the rule of a metric if it is not built in."""
    spec = settings_of(benchmark).gate_of(name).rule
    if not isinstance(spec, OwnRule):
        return None
    from pytest_evalmetrics.registry import gate_rules  # few benchmarks have any

    return gates.registered_rule(
        spec.name, gate_rules.find(spec.name).target, spec.options
    )
