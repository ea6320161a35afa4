"""A run against its baseline: which metrics are gated, by which rule, on which tasks."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_evalmetrics import gates, metrics
from pytest_evalmetrics.results import Check, Verdict
from pytest_evalmetrics.spec import BaselineSpec

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.results import AgentResult
    from pytest_evalmetrics.spec import Benchmark, GateSpec

__all__ = ["Reference", "gated_names", "judge", "rule_of"]

_ALPHA, _WARN_ALPHA, _MAX_DROP = 0.01, 0.05, 0.01
_LESS_IS_BETTER = re.compile(
    r"(?:^|[/_@.-])(?:tokens?|costs?|usd|price|time|latency|duration|seconds|secs|ms)(?:$|[/_@.\[-])"
)


@dataclass(frozen=True)
class Reference:
    """The run that another one is compared with.

    Attributes
    ----------
    tables
        Its rollouts, by agent.
    values
        Its key metrics, by agent and name: all there is of what a hook computed.
    where
        What it is, for messages: ``the baseline``.
    """

    tables: Mapping[str, RolloutTable]
    values: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    where: str = "the baseline"


def gated_names(benchmark: Benchmark) -> tuple[str, ...]:
    """List the metrics that a baseline gates.

    The key metrics that the benchmark names, else its listed metrics, and those that have
    settings of their own. A ``mean/*`` that is a key metric only by default is told and not
    gated: where each recorded number can fail the build, chance soon does.
    """
    spec = benchmark.spec
    own = spec.baseline.metrics if isinstance(spec.baseline, BaselineSpec) else ()
    return tuple(dict.fromkeys((*(spec.key_metrics or spec.metrics), *own)))


def judge(
    benchmark: Benchmark,
    plan: metrics.Plan,
    result: AgentResult,
    table: RolloutTable,
    *,
    agent: str,
    expected: NDArray[np.int64],
    reference: Reference,
) -> Iterator[Check]:
    """Hold one agent's key metrics against the reference.

    Parameters
    ----------
    benchmark
        The benchmark; has a baseline.
    plan
        Its metrics.
    result, table
        What was computed for the agent, and its rollouts.
    agent
        The agent's name where a benchmark has several, else empty.
    expected
        Rollouts that each task should have, shape (tasks,).
    reference
        What to compare with.
    """
    spec = _settings(benchmark)
    baseline = _table_of(reference, result.agent, alone=not agent)
    if baseline is None:
        yield Check(
            "baseline",
            "agent",
            Verdict.INCONCLUSIVE,
            agent=agent,
            reason=f"{reference.where} has no agent {result.agent!r}: it has "
            + ", ".join(map(repr, reference.tables)),
            hint="rename the agent, or accept the change with --snapshot-update",
            line=benchmark.line_of("baseline"),
        )
        return
    pairing = metrics.Pairing(plan, table, baseline, expected)
    gated = []
    for name in gated_names(benchmark):
        estimate = result.estimates[name]
        line = benchmark.line_of("baseline", "metrics", name)
        if estimate.by_hook:
            known = reference.values.get(result.agent, {}).get(estimate.name)
            rule = _rule(name, spec, spec.metrics.get(name), bounded=False)
            yield gates.check_value(estimate, known, rule, agent=agent, line=line)
            continue
        metric = pairing.metric(name)
        compared = pairing.pair(metric)
        rule = _rule(name, spec, spec.metrics.get(name), bounded=compared.pair.bounded)
        worst = pairing.pair_at_worst(metric, higher_is_better=rule.direction == "higher")
        gated.append(
            gates.Gated(
                pair=compared.pair,
                rule=rule,
                line=line,
                worst=None if worst is None else worst.pair,
                missing=pairing.missing(metric),
                clusters=compared.clusters,
                added=compared.added,
                removed=compared.removed,
            )
        )
    yield from gates.check_regression(
        gated,
        gate_id=f"{benchmark.spec.name}::{result.agent}",
        agent=agent,
        min_coverage=spec.min_coverage,
    )


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
    spec = _settings(benchmark)
    return _rule(name, spec, spec.metrics.get(name), bounded=bounded)


def _settings(benchmark: Benchmark) -> BaselineSpec:
    spec = benchmark.spec.baseline
    return spec if isinstance(spec, BaselineSpec) else BaselineSpec()


def _table_of(reference: Reference, name: str, *, alone: bool) -> RolloutTable | None:
    """Find an agent's rollouts; where both sides have one agent, it may have another name."""
    found = reference.tables.get(name)
    if found is None and alone and len(reference.tables) == 1:
        (found,) = reference.tables.values()
    return found


def _rule(name: str, spec: BaselineSpec, own: GateSpec | None, *, bounded: bool) -> gates.Rule:
    asked = spec if own is None else own.over(spec)
    less = bool(_LESS_IS_BETTER.search(name))
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
