"""``params:``: on what terms rows are generated and scored."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from pytest_evalmetrics.spec.endpoints import Retries, Seconds
from pytest_evalmetrics.spec.forms import STRICT
from pytest_evalmetrics.spec.models import InferenceField, ReasoningSpec, SystemPrompt

__all__ = ["ParamsSpec"]


@dataclass(frozen=True, kw_only=True)
class ParamsSpec:
    """On what terms rows are generated and scored.

    What is said of models here holds for ``model:``; where there is none, for the judges. A
    model's own keys come first.
    """

    __pydantic_config__ = STRICT

    parallelism: Annotated[int, Field(ge=1, le=4096, description="calls in flight at once")] = 16
    limit_samples: Annotated[
        Annotated[int, Field(ge=1)] | None,
        Field(description="score the first rows only, to try things out; records no baseline"),
    ] = None
    request_timeout: Annotated[
        Seconds, Field(description="seconds for one attempt in all, where a scorer says none")
    ] = None
    max_retries: Annotated[
        Retries, Field(description="attempts after the first, where a scorer says none")
    ] = None
    inference: InferenceField = field(default_factory=dict)
    system_prompt: SystemPrompt = None
    reasoning: Annotated[ReasoningSpec | None, Field(description="of a reasoning model")] = None
    ignore_request_failure: Annotated[
        bool,
        Field(
            description="leave out the rollouts whose request failed; default: they are missing, "
            "and expect decides"
        ),
    ] = False
