"""``type: bleu``: sentence BLEU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from pytest_evalmetrics.spec.endpoints import TemplateText
from pytest_evalmetrics.spec.forms import one_or_many
from pytest_evalmetrics.spec.scorers.named import Named
from pytest_evalmetrics.spec.scorers.texts import REFERENCE, CandidateText

__all__ = ["BleuSpec"]


@dataclass(frozen=True, kw_only=True)
class BleuSpec(Named):
    """BLEU of one text, from 0 to 100."""

    type: Annotated[Literal["bleu"], Field(description="sentence BLEU, from 0 to 100")]
    references: Annotated[
        tuple[TemplateText, ...],
        Field(
            min_length=1,
            strict=False,
            description="templates of what is right, each of a text or a list of texts; default "
            "{{ item.reference }}",
        ),
        BeforeValidator(one_or_many, json_schema_input_type=str | list[str]),
    ] = (REFERENCE,)
    candidate: CandidateText = None

    @property
    def own_names(self) -> tuple[str, ...]:
        """What it scores."""
        return ("sentence",)
