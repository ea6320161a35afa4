"""Time, tokens and cost of a task: the mean within the task, then over those that report.

They need not be listed: where rows carry a usage they are among the aggregate metrics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from pytest_evalmetrics.masks import all_of
from pytest_evalmetrics.metrics.mean_reward import MeanReward
from pytest_evalmetrics.registry import register_metric

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["ACCEPTED", "CostPerTask", "TimePerTask", "TokensPerTask", "reported"]

# What a row may call its usage, best first; the columns of one tuple are added. Where a
# row lacks one of them, the next tuple is looked at. Names without a unit are not here:
# a latency may be in milliseconds.
ACCEPTED: dict[str, tuple[tuple[str, ...], ...]] = {
    "time_per_task": (
        ("latency_s",),
        ("latency_seconds",),
        ("duration_s",),
        ("duration_seconds",),
        ("elapsed_s",),
        ("wall_time_s",),
    ),
    "tokens_per_task": (
        ("prompt_tokens", "completion_tokens"),
        ("input_tokens", "output_tokens"),
        ("total_tokens",),
    ),
    "cost_per_task": (("cost_usd",), ("total_cost_usd",), ("cost",), ("total_cost",)),
}
_USED = frozenset(name for accepted in ACCEPTED.values() for names in accepted for name in names)


def reported(scores: Mapping[str, object]) -> list[str]:
    """Name the metrics that rows with these scores may report."""
    if _USED.isdisjoint(scores):  # as of most
        return []
    return [
        metric
        for metric, accepted in ACCEPTED.items()
        if any(all(name in scores for name in names) for names in accepted)
    ]


class _PerTask(MeanReward):
    def column(self, scores: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64] | None:
        """Take each row's usage from the first of the accepted columns that it fills."""
        found: NDArray[np.float64] | None = None
        for names in ACCEPTED[self.name]:
            if not all(name in scores for name in names):
                continue
            used = scores[names[0]]
            for name in names[1:]:
                used = used + scores[name]
            found = used if found is None else np.where(np.isnan(found), used, found)
        return None if found is None or all_of(np.isnan(found)) else found

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that may be looked at."""
        return tuple(name for names in ACCEPTED[self.name] for name in names)

    @property
    def accepted(self) -> str:
        """The columns that are looked at, for messages."""
        return ", ".join(" + ".join(names) for names in ACCEPTED[self.name])


@register_metric("time_per_task")
class TimePerTask(_PerTask):
    """Seconds that a rollout of a task takes."""

    name: ClassVar[str] = "time_per_task"


@register_metric("tokens_per_task")
class TokensPerTask(_PerTask):
    """Tokens that a rollout of a task uses, the prompt's and the completion's."""

    name: ClassVar[str] = "tokens_per_task"


@register_metric("cost_per_task")
class CostPerTask(_PerTask):
    """Dollars that a rollout of a task costs."""

    name: ClassVar[str] = "cost_per_task"
