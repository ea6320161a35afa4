"""``scorers:``: what gives the rows their scores.

A built-in type has a dataclass in a file here and a line below, so that what is wrong with
it is found with its line before anything runs. The keys of other types are judged when
their scorer is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Protocol, Union, get_args, get_type_hints

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema

from pytest_evalmetrics.spec.forms import expected, refuse
from pytest_evalmetrics.spec.scorers.custom import CustomScorerSpec, options_apart
from pytest_evalmetrics.spec.scorers.nat import NatScorerSpec
from pytest_evalmetrics.spec.scorers.remote import RemoteScorerSpec, RemoteScoreSpec

__all__ = [
    "CustomScorerSpec",
    "NatScorerSpec",
    "RemoteScoreSpec",
    "RemoteScorerSpec",
    "ScorerSpec",
    "ScorersField",
]

BUILTIN = (
    RemoteScorerSpec,
    NatScorerSpec,
)


class ScorerSpec(Protocol):
    """What one entry of ``scorers:`` says."""

    @property
    def type(self) -> str:
        """Its type, as it is written."""
        ...

    @property
    def score_names(self) -> tuple[str, ...]:
        """What it scores; empty where that is not known before it is made."""
        ...


def _type_of(spec: type) -> str:
    name: str = get_args(get_type_hints(spec)["type"])[0]
    return name


_BY_TYPE = {_type_of(spec): spec for spec in BUILTIN}
_OTHER = "other"


def _is_mapping(value: Any) -> Any:
    if not isinstance(value, dict):
        raise expected("a mapping with type")
    if "type" not in value:
        raise refuse(f"'type' is missing: {', '.join(_BY_TYPE)}, or one of your own")
    if not isinstance(value["type"], str) or not value["type"]:
        raise refuse("type has to be the name of a scorer")
    return value


def _kind(value: Any) -> str:
    found = value["type"] if isinstance(value, Mapping) else value.type
    return found if found in _BY_TYPE else _OTHER


_Custom = Annotated[
    CustomScorerSpec,
    BeforeValidator(options_apart),
    WithJsonSchema(
        {
            "type": "object",
            "properties": {
                "type": {
                    "description": "the name of a scorer of your own, or package.module:name",
                    "type": "string",
                    "not": {"enum": list(_BY_TYPE)},
                }
            },
            "required": ["type"],
            "additionalProperties": True,  # judged when the scorer is made
        }
    ),
    Tag(_OTHER),
]

if TYPE_CHECKING:
    ScorersField = tuple[ScorerSpec, ...]
else:
    _Any = Annotated[
        Union[*(Annotated[spec, Tag(name)] for name, spec in _BY_TYPE.items()), _Custom],
        Discriminator(_kind),
    ]
    ScorersField = Annotated[
        tuple[Annotated[_Any, BeforeValidator(_is_mapping)], ...],
        Field(min_length=1, strict=False),
    ]
