"""A metric's value and its uncertainty."""

from __future__ import annotations

import msgspec


class Interval(msgspec.Struct, frozen=True):
    """A confidence interval, in the metric's unit."""

    low: float
    high: float
    level: float  # 0.95
    method: str  # clopper-pearson, t, clustered t, order statistics, bootstrap


class Estimate(msgspec.Struct, frozen=True):
    """A metric's value and its uncertainty, both in the metric's unit."""

    name: str  # as in the YAML: pass@1, mean/output_tokens
    value: float
    tasks: int
    rollouts: int
    interval: Interval | None = None
    # why there is no interval, or no value, in the words of the metric
    reason: str = ""
    by_hook: bool = False  # computed by a hook, from unknown tasks
    score: str = ""  # the score it reduces; empty for several, or by a hook
    missing: int = 0  # rollouts without a number for it, which are left out
    # the first ten tasks with the value, if it is that of one task
    of_tasks: tuple[str, ...] = ()
