"""What scorers of texts share: the templates of what they compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from pytest_evalmetrics.spec.endpoints import TemplateText
from pytest_evalmetrics.spec.scorers.named import Named

__all__ = ["REFERENCE", "CandidateText", "PairKeys", "SidesKeys"]

REFERENCE = "{{ item.reference }}"

CandidateText = Annotated[
    TemplateText | None,
    Field(
        description="template of what is judged; default what was generated (sample.output_text), "
        "else the text of the row's response"
    ),
]


@dataclass(frozen=True, kw_only=True)
class PairKeys(Named):
    """What is right, and what is judged."""

    type: str
    reference: Annotated[
        TemplateText, Field(description="template of what is right; default {{ item.reference }}")
    ] = REFERENCE
    candidate: CandidateText = None


@dataclass(frozen=True, kw_only=True)
class SidesKeys(Named):
    """The two sides of a comparison."""

    type: str
    left_template: Annotated[TemplateText, Field(description="template of the left side")]
    right_template: Annotated[TemplateText, Field(description="template of the right side")]
