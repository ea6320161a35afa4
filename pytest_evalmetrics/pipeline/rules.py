"""Which metrics of a benchmark a baseline gates, and by which rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics import gates
from pytest_evalmetrics.results import Check, Verdict
from pytest_evalmetrics.spec import BaselineSpec
from pytest_evalmetrics.spec.metric_names import direction_of, is_spent

if TYPE_CHECKING:
    from pytest_evalmetrics.results import Estimate
    from pytest_evalmetrics.spec import Benchmark

__all__ = ["cannot_fail", "gated_names", "no_direction", "rule_of", "settings_of"]

_ALPHA, _WARN_ALPHA, _MAX_DROP = 0.01, 0.05, 0.01


def gated_names(benchmark: Benchmark) -> tuple[str, ...]:
    """List the metrics that a baseline gates."""
    return benchmark.spec.gated


def rule_of(benchmark: Benchmark, name: str, *, bounded: bool) -> gates.Rule:
    """Return the rule by which a benchmark judges one of its gated metrics."""
    spec = settings_of(benchmark)
    own = spec.metrics.get(name)
    asked = spec if own is None else own.over(spec)
    known = direction_of(benchmark.spec, name) or "higher"
    drop = asked.max_drop
    if drop is None:
        drop = _MAX_DROP if bounded and not is_spent(name) else 0.0
    return gates.Rule(
        name=asked.rule or "practical",
        direction=asked.direction or known,
        alpha=asked.alpha or _ALPHA,
        warn_alpha=asked.warn_alpha or _WARN_ALPHA,
        max_drop=drop,
        require_mde=asked.require_mde,
    )


def settings_of(benchmark: Benchmark) -> BaselineSpec:
    """Return what a benchmark says of its baseline, or the defaults."""
    spec = benchmark.spec.baseline
    return spec if isinstance(spec, BaselineSpec) else BaselineSpec()


def no_direction(benchmark: Benchmark, text: str, estimate: Estimate, agent: str) -> Check | None:
    """Refuse to judge a hook's number where nothing says which way is better."""
    baseline = settings_of(benchmark)
    own = baseline.metrics.get(text)
    asked = baseline.direction or (None if own is None else own.direction)
    if asked or direction_of(benchmark.spec, text, of_reward=False):
        return None
    return Check(
        "baseline",
        text,
        Verdict.INCONCLUSIVE,
        agent=agent,
        value=estimate.value,
        reason=f"nothing says which way is better for {text}, which a hook computes",
        hint=f'write `baseline: {{metrics: {{"{text}": {{direction: higher}}}}}}`, or lower where '
        "less is better",
        estimate=estimate,
        line=benchmark.line_of("baseline", "metrics", text),
    )


def cannot_fail(benchmark: Benchmark, text: str, gated: gates.Gated) -> Check | None:
    """Refuse a drop that values in [0, 1] can't show; of a declared range the file is refused.

    What is not known to be a rate may be one all the same: that all its rewards lie in [0, 1]
    is seen here. Time and money have no upper end.
    """
    rule, pair = gated.rule, gated.pair
    whole = rule.name in ("absolute", "practical", "noninferior") or (
        rule.name == "relative" and rule.direction == "higher"
    )
    asked = rule.max_drop if whole else 0.0
    asked = max(asked, rule.require_mde or 0.0)
    if not pair.bounded or asked < 1 or is_spent(text):
        return None
    key = "require_mde" if asked > rule.max_drop or not whole else "max_drop"
    own = settings_of(benchmark).metrics.get(text)
    here = own is not None and getattr(own, key) is not None
    meant = f"; did you mean {asked:.12g}%?" if asked <= 100 else ""  # noqa: PLR2004 - per cent
    return Check(
        "baseline",
        pair.name,
        Verdict.INCONCLUSIVE,
        agent=gated.agent,
        value=pair.value_current,
        bound=str(rule),
        reason=f"{key} {asked:.12g} can never fail: all rewards of {pair.name} lie in "
        f"[0, 1]{meant}",
        hint=f"choose a {key} below 1",
        estimate=gated.estimate,
        line=benchmark.line_of("baseline", *(("metrics", text) if here else ()), key),
        evidence={**rule.evidence(), "baseline": pair.value_baseline, "why": "blind"},
    )
