"""``type: ragas``: a metric of RAGAS, by the package itself."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import Field

from pytest_evalmetrics.spec.forms import Name
from pytest_evalmetrics.spec.judges import JudgeCheckSpec
from pytest_evalmetrics.spec.models import ModelSpec
from pytest_evalmetrics.spec.scorers.named import Named

__all__ = ["RagasSpec"]

_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True, kw_only=True)
class RagasSpec(Named):
    """A metric of ``ragas.metrics.collections``."""

    type: Annotated[Literal["ragas"], Field(description="a metric of RAGAS, by the package itself")]
    metric: Annotated[Name, Field(description="the class: Faithfulness")]
    arguments: Annotated[
        dict[Name, Any], Field(description="of the metric's constructor, but its llm")
    ] = field(default_factory=dict)
    judge_model: Annotated[
        ModelSpec | None, Field(description="the model that judges, where the metric needs one")
    ] = None
    judge_check: Annotated[
        JudgeCheckSpec | None, Field(description="compare the judge with people's labels")
    ] = None

    @property
    def own_names(self) -> tuple[str, ...]:
        """What it scores: the metric's name in small letters."""
        return (_WORDS.sub("_", self.metric).lower(),)
