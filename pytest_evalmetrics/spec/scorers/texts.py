"""What scorers of texts share: the templates of what they compare."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pytest_evalmetrics.spec.endpoints import TemplateText

__all__ = ["REFERENCE", "CandidateText", "LeftText", "ReferenceText", "RightText"]

REFERENCE = "{{ item.reference }}"

ReferenceText = Annotated[
    TemplateText, Field(description="template of what is right; default {{ item.reference }}")
]
CandidateText = Annotated[
    TemplateText | None,
    Field(
        description="template of what is judged; default what was generated (sample.output_text), "
        "else the text of the row's response"
    ),
]
LeftText = Annotated[TemplateText, Field(description="template of the left side")]
RightText = Annotated[TemplateText, Field(description="template of the right side")]
