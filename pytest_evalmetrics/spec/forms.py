"""The small forms that keys of a benchmark file share: shares, bounds, names, counts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

STRICT: Final = ConfigDict(extra="forbid", strict=True)


def refuse(message: str) -> PydanticCustomError:
    """Say what is wrong with a value of the right kind."""
    return PydanticCustomError("spec", message)


def expected(what: str) -> PydanticCustomError:
    """Say what should stand here; what was found instead is added where it is reported."""
    return PydanticCustomError("expected", what)


def is_number(value: object) -> bool:
    """Whether it is a number, which true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


# -- small forms ------------------------------------------------------------------------


_PERCENT = r"\s*([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))\s*%\s*"
PercentText = Annotated[str, Field(pattern=f"^{_PERCENT}$")]


def percent(value: Any) -> Any:
    """Read ``2%`` as 0.02 and leave everything else."""
    match = re.fullmatch(_PERCENT, value) if isinstance(value, str) else None
    return value if match is None else float(match[1]) / 100


def _share(value: Any) -> Any:
    share = percent(value)
    if not is_number(share) or not 0 <= share <= 1:
        raise expected("a share from 0 to 1, such as 0.02 or 2%")
    return share


Share = Annotated[
    float,
    BeforeValidator(
        _share, json_schema_input_type=Annotated[float, Field(ge=0, le=1)] | PercentText
    ),
]


def _bound(value: Any) -> Any:
    bound = percent(value)
    if not is_number(bound):
        raise expected("a number, or a percentage such as 70%")
    return bound


Bound = Annotated[
    float,
    Field(allow_inf_nan=False),
    BeforeValidator(_bound, json_schema_input_type=float | PercentText),
]


def one_or_many(value: Any) -> Any:
    """Read a bare string as a list of one: never as a list of its letters."""
    if not isinstance(value, str | list):
        raise expected("a list of names or a name")
    return [value] if isinstance(value, str) else value


def no_duplicates(value: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse a list that names something twice."""
    twice = sorted({v for v in value if value.count(v) > 1})
    if twice:
        raise refuse(f"{twice[0]!r} is listed twice")
    return value


Name = Annotated[str, Field(min_length=1)]
_NAME_SCHEMA = {"type": "string", "minLength": 1}
NAMES_SCHEMA = {"anyOf": [_NAME_SCHEMA, {"type": "array", "items": _NAME_SCHEMA, "minItems": 1}]}
Names = Annotated[
    tuple[Name, ...],
    Field(min_length=1, strict=False),
    BeforeValidator(one_or_many),
    AfterValidator(no_duplicates),
    WithJsonSchema(NAMES_SCHEMA),
]
FREE_NAMES = {"anyOf": [_NAME_SCHEMA, {"type": "array", "items": _NAME_SCHEMA}]}
Fields = Annotated[
    tuple[Name, ...],
    Field(strict=False),
    BeforeValidator(one_or_many),
    AfterValidator(no_duplicates),
    WithJsonSchema(FREE_NAMES),
]


@dataclass(frozen=True)
class Count:
    """How many there have to be: exactly so many, or at least."""

    __pydantic_config__ = STRICT

    min: Annotated[int, Field(ge=0)]
    max: Annotated[int, Field(ge=0)] | None = None

    def __str__(self) -> str:
        return f">= {self.min}" if self.max is None else f"{self.min}"

    def allows(self, n: int) -> bool:
        """Whether `n` is such a number."""
        return n >= self.min and (self.max is None or n <= self.max)


def count(value: Any, what: str = "a whole number from 1, or '>= 100'") -> Any:
    """Read ``164`` or ``>= 100``."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return {"min": value, "max": value}
    if isinstance(value, str) and (match := re.fullmatch(_AT_LEAST, value)):
        return {"min": int(match[1])}
    raise expected(what)


_AT_LEAST = r"\s*>=\s*([0-9]{1,18})\s*"
COUNT_SCHEMA: dict[str, Any] = {
    "anyOf": [
        {"type": "integer", "minimum": 1},
        {"type": "string", "pattern": f"^{_AT_LEAST}$"},
    ],
}
CountField = Annotated[Count, BeforeValidator(count), WithJsonSchema(COUNT_SCHEMA)]
