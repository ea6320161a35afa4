"""What scorers share whose scores have names of their own: a name that tells two of them apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from pytest_evalmetrics.spec.forms import STRICT
from pytest_evalmetrics.spec.scorers.scores import ScoreName

__all__ = ["Named"]


@dataclass(frozen=True, kw_only=True)
class Named:
    """A scorer that says itself how its scores are called."""

    __pydantic_config__ = STRICT

    name: Annotated[
        ScoreName | None,
        Field(
            description="what its score is called; of several, what their names begin with. Tells "
            "two scorers of one type apart"
        ),
    ] = None

    @property
    def own_names(self) -> tuple[str, ...]:
        """What its scores are called where nobody says."""
        raise NotImplementedError

    @property
    def score_names(self) -> tuple[str, ...]:
        """What it scores."""
        if self.name is None:
            return self.own_names
        if len(self.own_names) == 1:
            return (self.name,)
        return tuple(f"{self.name}_{own}" for own in self.own_names)
