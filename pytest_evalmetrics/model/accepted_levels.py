"""A change that people have accepted, where no committed baseline could record it."""

from __future__ import annotations

import msgspec


class AcceptedLevel(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True
):
    """A new level of a metric, as ``evalmetrics-accepted.yaml`` states it.

    Attributes
    ----------
    benchmark
        The benchmark's id, as reports name it.
    metric
        The metric, as the benchmark names it.
    level
        The value that is accepted, in the metric's unit; a better one is too.
    reason
        Why.
    """

    benchmark: str
    metric: str
    level: float
    reason: str

    @property
    def mark(self) -> str:
        """What a report keeps of it, so that it is honoured once."""
        return f"{self.metric} {self.level:g}: {self.reason}"
