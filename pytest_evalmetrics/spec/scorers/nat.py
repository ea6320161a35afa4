"""``type: nemo-agent-toolkit-remote``: a server of the NeMo Agent Toolkit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from pytest_evalmetrics.spec.endpoints import MaxRetries, SecretName, TimeoutSeconds, Url
from pytest_evalmetrics.spec.forms import Name
from pytest_evalmetrics.spec.scorers.named import Named

__all__ = ["NatScorerSpec"]


@dataclass(frozen=True, kw_only=True)
class NatScorerSpec(Named):
    """An evaluator that a server of the NeMo Agent Toolkit offers."""

    type: Annotated[
        Literal["nemo-agent-toolkit-remote"],
        Field(description="a server of the NeMo Agent Toolkit"),
    ]
    url: Url
    evaluator_name: Annotated[
        Name, Field(description="the evaluator's name on the server; names the score too")
    ]
    api_key_secret: SecretName = None
    timeout_seconds: TimeoutSeconds = None
    max_retries: MaxRetries = None

    @property
    def own_names(self) -> tuple[str, ...]:
        """What it scores: the evaluator's name, without what names of scores can't hold."""
        return (re.sub(r"[^\w.-]+", "_", self.evaluator_name),)
