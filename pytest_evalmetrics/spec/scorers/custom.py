"""A type of scorer that is registered elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.spec.forms import STRICT, Name

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CustomScorerSpec", "options_apart", "schema"]


@dataclass(frozen=True, kw_only=True)
class CustomScorerSpec:
    """A type that is registered elsewhere; its keys are judged when it is made."""

    __pydantic_config__ = STRICT

    type: Name
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def score_names(self) -> tuple[str, ...]:
        """Not known before it is made."""
        return ()


def options_apart(value: Any) -> Any:
    """Put every key but the type under ``options``."""
    rest = {key: item for key, item in value.items() if key != "type"}
    return {"type": value["type"], "options": rest}


def schema(taken: Sequence[str]) -> dict[str, Any]:
    """Return the JSON Schema; some names of types are taken by others."""
    return {
        "type": "object",
        "properties": {
            "type": {
                "description": "the name of a scorer of your own, or package.module:name",
                "type": "string",
                "not": {"enum": [*taken]},
            }
        },
        "required": ["type"],
        "additionalProperties": True,  # judged when the scorer is made
    }
