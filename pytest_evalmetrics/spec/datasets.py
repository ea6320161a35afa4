"""``dataset:``: rows that were not attempted yet, and which of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from pytest_evalmetrics.spec.forms import STRICT, Name, expected
from pytest_evalmetrics.spec.rollouts import RolloutsSpec

__all__ = ["DatasetField", "DatasetSpec"]


@dataclass(frozen=True, kw_only=True)
class DatasetSpec(RolloutsSpec):
    """Which files hold the rows, how to read them, and which of them are taken."""

    __pydantic_config__ = STRICT

    limit: Annotated[
        Annotated[int, Field(ge=1)] | None,
        Field(description="so many rows of it: the first ones, or with shuffle a random choice"),
    ] = None
    shuffle: Annotated[
        bool | int, Field(description="choose them at random: true, or the seed")
    ] = False
    seed: Annotated[int | None, Field(ge=0, description="of shuffle; default 0")] = None

    @property
    def chosen_with(self) -> int | None:
        """The seed by which rows are chosen; None for the first ones."""
        if isinstance(self.shuffle, bool):
            return (self.seed or 0) if self.shuffle else None
        return self.shuffle


def _dataset(value: Any) -> Any:
    if not isinstance(value, str | list | dict):
        raise expected("a path, a list of paths, or a mapping with path")
    return value if isinstance(value, dict) else {"path": value}


_PathText = Name
_PathTexts = Annotated[list[_PathText], Field(min_length=1)]
DatasetField = Annotated[
    DatasetSpec,
    BeforeValidator(_dataset, json_schema_input_type=_PathText | _PathTexts | DatasetSpec),
]
