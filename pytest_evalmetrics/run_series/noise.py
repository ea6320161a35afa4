"""The noise of one metric between runs of an unchanged system."""

from __future__ import annotations

import math

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics.comparison import choose_scale, run_noise
from pytest_evalmetrics.model.comparison import RuleName, RuleSettings
from pytest_evalmetrics.stats import normal_log_sf, normal_ppf


class Noise(msgspec.Struct, frozen=True):
    """The variation of one metric between runs of an unchanged system, in the metric's unit.

    Attributes
    ----------
    values
        The metric in each run.
    tasks
        Standard error of one run's value, by the rollouts of its tasks.
    pooled
        Whether a further run is held against the mean of all runs, rather than against one.
    is_rate
        Whether the metric is a share from 0 to 1.
    sign
        1 where a fall is damage, -1 where a rise is.
    """

    values: tuple[float, ...]
    tasks: float
    pooled: bool = False
    is_rate: bool = False
    sign: float = 1.0

    @property
    def runs(self) -> float:
        """The standard deviation between runs, beyond what tasks explain."""
        return structs.replace(self, pooled=False).against(1.0).sd

    @property
    def further(self) -> float:
        """The variance of a drop, as a multiple of that of one run's value."""
        runs_of_reference = 1
        if self.pooled:
            runs_of_reference = len(self.values)
        return 1 + 1 / runs_of_reference

    def against(self, drop: float, level: float = 0.95) -> run_noise.RunNoise:
        """Hold a drop against the noise."""
        se = self.tasks * math.sqrt(self.further)
        if se:
            log_p = normal_log_sf(drop / se)
        elif drop > 0:
            log_p = -math.inf
        else:
            log_p = 0.0
        runs = run_noise.Runs(self.values, self.pooled, 1.0, is_rate=self.is_rate)
        mean = float(np.mean(self.values))
        scale = choose_scale(
            mean, mean + drop, runs, sign=self.sign, is_rate=self.is_rate
        )
        return run_noise.with_run_noise(
            runs, drop=drop, log_p=log_p, se=se, alpha=0.01, level=level, scale=scale
        )

    def chance(self, drop: float) -> float:
        """Return the chance that a further run is that much worse, though nothing changed."""
        if drop < 0:
            return 1 - self.chance(-drop)
        return self.against(drop).p

    def drop(self, chance: float) -> float:
        """Return by how much a further run is worse with a chance."""
        noise = self.against(1.0, level=1 - 2 * chance)
        if not math.isnan(noise.half):
            return noise.scale.drop_of(noise.half)
        variance = self.further * (self.tasks**2 + noise.sd**2)
        return -normal_ppf(chance) * math.sqrt(variance)

    def alarms(self, rule: RuleSettings) -> float:
        """Return the chance that a rule fails a further run, though nothing changed."""
        if not rule.tests:
            allowed = rule.allowed(float(np.mean(self.values)))
            if allowed is None:
                allowed = rule.max_drop
            return self.chance(allowed)
        if self.pooled:
            proven = self.drop(rule.alpha)
        else:
            proven = -normal_ppf(rule.alpha) * self.tasks * math.sqrt(2)
        if rule.rule is RuleName.PRACTICAL:
            proven = max(proven, rule.max_drop)
        return self.chance(max(proven, 0.0))
