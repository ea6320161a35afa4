"""What the scores that a scorer declares have in common: a name, and a range."""

from __future__ import annotations

import re
from typing import Annotated, Literal, Protocol, TypeVar

from pydantic import AfterValidator, Field

from pytest_evalmetrics.spec.forms import Name, expected, refuse

__all__ = ["Better", "Maximum", "Minimum", "ScoreName", "in_order", "names_once"]


def _score_name(value: str) -> str:
    if not re.fullmatch(r"[a-z0-9_]+", value):
        raise expected("lower-case letters, digits and _")
    return value


ScoreName = Annotated[
    Name,
    AfterValidator(_score_name),
    Field(description="lower-case letters, digits and _", pattern=r"^[a-z0-9_]+$"),
]
Minimum = Annotated[
    float | None, Field(allow_inf_nan=False, description="below it is the row's error")
]
Maximum = Annotated[
    float | None, Field(allow_inf_nan=False, description="above it is the row's error")
]
Better = Annotated[
    Literal["higher", "lower"] | None,
    Field(description="which way is better; default what its name tells"),
]


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_Scores = TypeVar("_Scores", bound=tuple[_Named, ...])


def in_order(low: float | None, high: float | None) -> None:
    """Refuse a range that nothing is in."""
    if low is not None and high is not None and low > high:
        raise refuse(f"minimum {low:.12g} is above maximum {high:.12g}: nothing can pass")


def names_once(scores: _Scores) -> _Scores:
    """Refuse two scores of one name."""
    names = [score.name for score in scores]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise refuse(f"two scores are named {twice[0]!r}")
    return scores
