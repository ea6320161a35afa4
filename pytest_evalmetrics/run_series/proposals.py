"""Settings that fit the noise of a metric."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.model.comparison import RuleName, RuleSettings
from pytest_evalmetrics.pipeline.gate_settings import rule_of
from pytest_evalmetrics.pipeline.power import rollouts_for
from pytest_evalmetrics.stats import normal_ppf

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_evalmetrics.run_series.noise import Noise
    from pytest_evalmetrics.spec import Benchmark
    from pytest_evalmetrics.spec.gate_keys import Threshold

_POWER = 0.8
_DECIMALS = 1e4  # of a proposed bound
_MORE_ALARMS = 1.2  # times the level: what is less is no reason to change a file


class Proposal(msgspec.Struct, frozen=True):
    """A setting and its reason.

    Attributes
    ----------
    why
        The reason, with the setting.
    key, value
        The key of the benchmark, and its value as YAML; () where the file can't just be
        changed so.
    """

    why: str
    key: tuple[str, ...] = ()
    value: str = ""

    def add_to(self, settings: dict[tuple[str, ...], str]) -> None:
        """Add it to settings; of several metrics, the one that needs the largest drop counts."""
        if not self.key:
            return
        value = self.value
        if self.key[-1] == "max_drop":
            value = max(value, settings.get(self.key, "0"), key=float)
        settings[self.key] = value


def percent(share: float) -> str:
    """Write a share with two digits."""
    return f"{100 * share:.2g} %"


def rule_for(benchmark: Benchmark, text: str, noise: Noise) -> RuleSettings:
    """Return the rule by which a further run is judged."""
    mean = float(np.mean(noise.values))
    return rule_of(benchmark, text, bounded=noise.is_rate, baseline=mean)


def proposed(
    benchmark: Benchmark, text: str, noise: Noise, attempts: int
) -> Iterator[Proposal]:
    """Propose settings for a metric whose tasks have so many attempts now."""
    rule = rule_for(benchmark, text, noise)
    if text in benchmark.spec.gated:
        drop = rule.max_drop
        if noise.alarms(rule) > _MORE_ALARMS * rule.alpha and noise.runs > 0:
            needed = float(f"{noise.drop(rule.alpha):.3g}")
            if needed >= _most_to_lose(noise):
                yield Proposal(
                    "no max_drop fits: find out why these runs differ so much"
                )
            else:
                drop = needed
                yield _larger_drop(benchmark, text, noise, rule, drop)
        yield from _more_samples(benchmark, noise, rule, drop, attempts)
    threshold = benchmark.spec.thresholds.get(text)
    if threshold is not None and threshold.bound == "point":
        yield from _wider_bounds(text, noise, rule, threshold)


def _most_to_lose(noise: Noise) -> float:
    """Return the largest drop from the mean that a metric can show."""
    if not noise.is_rate:
        return math.inf
    mean = float(np.mean(noise.values))
    if noise.sign > 0:
        return mean
    return 1 - mean


def _larger_drop(
    benchmark: Benchmark, text: str, noise: Noise, rule: RuleSettings, drop: float
) -> Proposal:
    key: tuple[str, ...] = ("baseline", "metrics", text, "max_drop")
    if key not in benchmark.lines:
        key = ("baseline", "max_drop")
    why = (
        f"max_drop: {drop:g} gives {percent(rule.alpha)} of false alarms, "
        f"not {percent(noise.alarms(rule))}"
    )
    # in other rules it means something else
    if rule.rule not in (RuleName.PRACTICAL, RuleName.ABSOLUTE):
        return Proposal(f"rule: practical, {why}")
    return Proposal(why, key, f"{drop:g}")


def _more_samples(
    benchmark: Benchmark, noise: Noise, rule: RuleSettings, drop: float, attempts: int
) -> Iterator[Proposal]:
    """Propose the attempts that show a drop with the usual power."""
    errors_of_drop = -normal_ppf(rule.alpha) + normal_ppf(_POWER)
    variance = (drop / errors_of_drop) ** 2 / noise.further
    needed = rollouts_for(attempts * noise.tasks**2, variance - noise.runs**2)
    seen = f"a drop of {drop:g} with {percent(_POWER)} power"
    if needed is None and drop > 0:
        yield Proposal(
            f"no num_samples shows {seen}: compare with more runs, or more tasks"
        )
    elif needed is not None and needed > attempts:
        key: tuple[str, ...] = ()
        if benchmark.spec.answers is not None:
            key = ("num_samples",)
        why = f"num_samples: {needed} shows {seen}; now {attempts}"
        yield Proposal(why, key, f"{needed}")


def _wider_bounds(
    text: str, noise: Noise, rule: RuleSettings, threshold: Threshold
) -> Iterator[Proposal]:
    """Propose bounds that an unchanged system misses as rarely as the level says."""
    noise = structs.replace(noise, pooled=True)
    mean = float(np.mean(noise.values))
    room = noise.drop(rule.alpha)
    key: tuple[str, ...] = ()
    if threshold.min is None or threshold.max is None:
        key = ("thresholds", text)
    for bound, comparison, sign in (
        (threshold.min, ">=", 1),
        (threshold.max, "<=", -1),
    ):
        if bound is None:
            continue
        distance = sign * (mean - bound)
        if distance >= room:
            continue
        # away from the mean, to four decimals
        new = sign * math.floor((sign * mean - room) * _DECIMALS) / _DECIMALS
        value = f"{comparison} {new:g}"
        why = (
            f"threshold {value} fails {percent(rule.alpha)} of such runs, "
            f"{threshold} {percent(noise.chance(distance))}"
        )
        yield Proposal(why, key, f'"{value}"')
