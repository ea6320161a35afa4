"""The types of values that keys of a benchmark file share."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import field
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Final, dataclass_transform
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import InitErrorDetails, PydanticCustomError, core_schema

from pytest_evalmetrics.records import record

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema

STRICT: Final = ConfigDict(extra="forbid", strict=True)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
def keys(cls: Any = None, /, **config: Any) -> Any:
    """Make a class the keys of a mapping: a frozen dataclass that pydantic validates strictly."""
    if cls is None:
        return partial(keys, **config)
    cls.__pydantic_config__ = {**STRICT, **config}
    return record(cls)


def doc(text: str) -> Any:
    """Describe a key, for the JSON Schema and the reference."""
    return Field(description=text)


class Checked:
    """Validates by a function, and has the JSON Schema of a type; both are made when needed."""

    def __init__(self, function: Callable[[Any], Any], described: Callable[[], Any]) -> None:
        self._function, self._described = function, described

    def __get_pydantic_core_schema__(self, _source: Any, _handler: Any) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._function)

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return handler(TypeAdapter(self._described()).core_schema)


def on_use(module: str, name: str) -> Any:
    """Annotate a key whose type is loaded, and its validator made, when a file uses it."""

    def described() -> Any:
        return getattr(import_module(f"pytest_evalmetrics.spec.{module}"), name)

    @cache
    def adapter(plain: bool) -> TypeAdapter[Any]:
        return TypeAdapter(Names if plain else described())

    # from JSON, as the rest of the file: there a list may become a tuple
    def validated(value: Any) -> Any:
        defines = isinstance(value, dict) or (
            isinstance(value, list) and any(isinstance(entry, dict) for entry in value)
        )
        plain = name == "MetricsField" and not defines  # as most
        return adapter(plain).validate_json(json.dumps(value))

    return Annotated[Any, Checked(validated, described)]


def refuse(message: str) -> PydanticCustomError:
    """Make an error about a value of the right kind."""
    return PydanticCustomError("spec", message)


def expected(what: str) -> PydanticCustomError:
    """Make an error about a value of the wrong kind; the report adds what was found."""
    return PydanticCustomError("expected", what)


def is_number(value: object) -> bool:
    """Check for a number, which true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


_PERCENT = r"\s*([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))\s*%\s*"
PercentText = Annotated[str, Field(pattern=f"^{_PERCENT}$")]


def percent(value: Any) -> Any:
    """Read ``2%`` as 0.02, and return anything else unchanged."""
    match = re.fullmatch(_PERCENT, value) if isinstance(value, str) else None
    return value if match is None else float(match[1]) / 100


def numeric(
    what: str, fits: Callable[[float], bool], written: Any, *, optional: bool = False
) -> BeforeValidator:
    """Read a number, or a percentage as its share; `written` is the type for the JSON Schema."""

    def read(value: Any) -> Any:
        number = percent(value)
        if not (optional and value is None) and not (is_number(number) and fits(number)):
            raise expected(what)
        return number

    schema = written | PercentText
    return BeforeValidator(read, json_schema_input_type=schema | None if optional else schema)


_UNIT = Annotated[float, Field(ge=0, le=1)]
Share = Annotated[
    float, numeric("a share from 0 to 1, such as 0.02 or 2%", lambda x: 0 <= x <= 1, _UNIT)
]
Bound = Annotated[
    float,
    Field(allow_inf_nan=False),
    numeric("a number, or a percentage such as 70%", lambda _: True, float),
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


@keys
class Count:
    """A number of tasks or rollouts: exact, or a minimum."""

    min: Annotated[int, Field(ge=0)]
    max: Annotated[int, Field(ge=0)] | None = None

    def __str__(self) -> str:
        return f">= {self.min}" if self.max is None else f"{self.min}"

    def allows(self, n: int) -> bool:
        """Check a number."""
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
    "anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": f"^{_AT_LEAST}$"}]
}
CountField = Annotated[Count, BeforeValidator(count), WithJsonSchema(COUNT_SCHEMA)]


FUNCTION: Final = r"[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_.]*"


def _function_name(value: str) -> str:
    if not re.fullmatch(FUNCTION, value):
        raise expected("package.module:function")
    return value


FunctionName = Annotated[Name, AfterValidator(_function_name)]


# -- of endpoints --------------------------------------------------------------------------


_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


def _from_environment(value: Any) -> Any:
    """Fill in ``${NAME}`` and ``${NAME:-default}``."""
    if not isinstance(value, str):
        return value

    def variable(match: re.Match[str]) -> str:
        name, default = match.groups()
        text = os.environ.get(name) or default
        if text is None:
            raise refuse(
                f"the environment has no {name}: set it, or write ${{{name}:-...}} with what holds "
                "without it"
            )
        return text

    return _VARIABLE.sub(variable, value)


FromEnvironment = BeforeValidator(_from_environment)


def _url(value: str) -> str:
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
        _ = parts.port  # a property that raises
    except ValueError:
        usable = False
    if not usable:
        raise expected("a URL such as http://localhost:8000/evaluate")
    if parts.username is not None or parts.password is not None:
        raise refuse(
            "a URL must hold no user and no password: name a secret that is in the environment "
            "(api_key_secret)"
        )
    return value


Url = Annotated[Name, FromEnvironment, AfterValidator(_url), doc("where to POST")]


@keys
class SecretRef:
    """A secret's name as the NeMo Evaluator writes it: ``{root: my-key}``."""

    root: Annotated[Name, doc("the key's name in the environment")]


def _secret_name(value: Any) -> Any:
    return value["root"] if isinstance(value, dict) and set(value) == {"root"} else value


SecretName = Annotated[
    Name | None,
    BeforeValidator(_secret_name, json_schema_input_type=Name | SecretRef | None),
    doc("the key's name in the environment; sent as Authorization: Bearer"),
]
Seconds = Annotated[float | None, Field(gt=0, allow_inf_nan=False)]
Retries = Annotated[int | None, Field(ge=0)]
TimeoutSeconds = Annotated[
    Seconds, doc("for one attempt in all; default params.request_timeout, else 30")
]
MaxRetries = Annotated[Retries, doc("attempts after the first; default params.max_retries, else 3")]


def _check_templates(value: Any, *, body: bool = False) -> Any:
    try:
        from pytest_evalmetrics.expressions import faults_of  # noqa: PLC0415 - of the extra
    except ImportError:  # reported with the way out when the scorer is made
        return value
    faults = [
        InitErrorDetails(type=refuse(message), loc=at, input=value)
        for at, message in faults_of(value, body=body)
    ]
    if faults:
        raise ValidationError.from_exception_data("body", faults)
    return value


def json_path(value: str) -> str:
    """Refuse an invalid JSONPath."""
    try:
        from pytest_evalmetrics.expressions import JsonPath  # noqa: PLC0415 - of the extra

        JsonPath(value)
    except ImportError:  # reported when the scorer is made
        return value
    except ValueError as error:
        raise refuse(str(error)) from None
    return value


TemplateValue = Annotated[Any, AfterValidator(_check_templates)]
BodyValue = Annotated[Any, AfterValidator(partial(_check_templates, body=True))]
TemplateText = Annotated[Name, AfterValidator(_check_templates)]
JsonPathText = Annotated[Name, AfterValidator(json_path)]
