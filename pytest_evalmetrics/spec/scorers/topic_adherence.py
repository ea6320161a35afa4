"""``type: topic_adherence``: whether an agent keeps to its topics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from pytest_evalmetrics.spec.judges import JudgeKeys

__all__ = ["TopicAdherenceSpec"]


@dataclass(frozen=True, kw_only=True)
class TopicAdherenceSpec(JudgeKeys):
    """What was answered and refused, against ``reference_topics``."""

    type: Annotated[
        Literal["topic_adherence"],
        Field(description="whether the agent answers on its topics, and on no others"),
    ]
    metric_mode: Annotated[
        Literal["f1", "precision", "recall"], Field(description="which of the three")
    ] = "f1"

    @property
    def own_names(self) -> tuple[str, ...]:
        """What it scores."""
        return (f"topic_adherence(mode={self.metric_mode})",)
