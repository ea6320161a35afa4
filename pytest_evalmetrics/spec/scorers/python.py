"""``python: package.module:function``: a function of the user's own."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ValidationError, WithJsonSchema
from pydantic_core import InitErrorDetails

from pytest_evalmetrics.spec.forms import STRICT, Name, Names, expected

__all__ = ["PythonScorer", "PythonScorerSpec", "in_long_form"]

_EXPECTED = "package.module:function"
_REFERENCE = r"[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_.]*"


def _is_reference(value: str) -> str:
    if not re.fullmatch(_REFERENCE, value):
        raise expected(_EXPECTED)
    return value


@dataclass(frozen=True, kw_only=True)
class PythonScorerSpec:
    """A function; its further keys are its arguments, judged when its scorer is made."""

    __pydantic_config__ = STRICT

    type: Literal["python"]
    function: Annotated[Name, AfterValidator(_is_reference)]
    scores: Names | None = None
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def score_names(self) -> tuple[str, ...]:
        """What it scores; without `scores` the function's own name."""
        return self.scores or (self.function.rpartition(":")[2].rpartition(".")[2],)


def in_long_form(value: dict[str, Any]) -> dict[str, Any]:
    """Read ``python: package.module:function`` as ``type: python`` with that function.

    Raises
    ------
    ValidationError
        It is no such reference; found here, where the key that holds it has its own name.
    """
    if "type" in value or "python" not in value or "function" in value:
        return value
    if not isinstance(value["python"], str) or not re.fullmatch(_REFERENCE, value["python"]):
        wrong = InitErrorDetails(type=expected(_EXPECTED), loc=("python",), input=value["python"])
        raise ValidationError.from_exception_data("python", [wrong])
    rest = {key: item for key, item in value.items() if key != "python"}
    return {"type": "python", "function": value["python"], **rest}


def _options_apart(value: Any) -> Any:
    own = {key: item for key, item in value.items() if key in ("type", "function", "scores")}
    return {**own, "options": {key: item for key, item in value.items() if key not in own}}


_FUNCTION = {
    "description": "package.module:function, called with each row",
    "type": "string",
    "pattern": f"^{_REFERENCE}$",
}
_NAME = {"type": "string", "minLength": 1}
_SCORES = {
    "description": "the scores that it gives; default one, of the function's name",
    "anyOf": [_NAME, {"type": "array", "items": _NAME, "minItems": 1}],
}
PythonScorer = Annotated[
    PythonScorerSpec,
    BeforeValidator(_options_apart),
    WithJsonSchema(
        {
            "type": "object",
            "properties": {
                "type": {"description": "a function of your own", "const": "python"},
                "function": _FUNCTION,
                "python": _FUNCTION,
                "scores": _SCORES,
            },
            "oneOf": [
                {"required": ["type", "function"], "not": {"required": ["python"]}},
                {"required": ["python"], "not": {"required": ["type"]}},
            ],
            "additionalProperties": True,  # the function's arguments
        }
    ),
]
