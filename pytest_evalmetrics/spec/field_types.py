"""The types of values that keys of a benchmark file share."""

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Literal,
    TypeGuard,
)
from urllib.parse import urlsplit

import msgspec
from pydantic_core import (
    CoreSchema,
    InitErrorDetails,
    PydanticCustomError,
    ValidationError,
    core_schema,
)

from pytest_evalmetrics.spec.validation import (
    KEYS,
    After,
    Before,
    Form,
    Inner,
    JsonForm,
    Keys,
    Limits,
    validated,
)
from pytest_evalmetrics.spec.validation import Description as doc  # noqa: N813

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler, TypeAdapter


def one_of(*names: str) -> Mapping[str, object]:
    """Make the configuration of keys, exactly one of which the JSON Schema requires."""
    alternatives = [{"required": [name]} for name in names]
    return {**KEYS, "json_schema_extra": {"oneOf": alternatives}}


def empty() -> Any:
    """Declare an empty mapping as a key's default."""
    return field(default_factory=dict)


def any_of(*names: list[str]) -> Mapping[str, object]:
    """Make the configuration of keys: the JSON Schema requires all of one of these lists."""
    alternatives = [{"required": [*several]} for several in names]
    return {**KEYS, "json_schema_extra": {"anyOf": alternatives}}


class Read(Before):
    """Reads a value by a function before its type does; in the JSON Schema it is a `form`."""

    def __init__(
        self, function: Callable[[object], object], form: Callable[[], Form]
    ) -> None:
        super().__init__(function)
        self._form = form

    def __get_pydantic_json_schema__(
        self, _: object, handler: "GetJsonSchemaHandler"
    ) -> dict[str, object]:
        form = adapter(self._form()).core_schema
        # the handler ignores annotations of the outermost schema, so another one encloses it
        return handler(
            form if "ref" in form else core_schema.definitions_schema(form, [])
        )


class Checked(Read):
    """Reads and validates a value by a function alone."""

    def core_schema(self, inner: Inner) -> CoreSchema:  # noqa: ARG002 - not validated by it
        """Return the schema of the function."""
        return core_schema.no_info_plain_validator_function(self._function)


@cache
def adapter(form: Form) -> "TypeAdapter[object]":
    """Build what pydantic knows of a type, once: the JSON Schema, and unions of scorers."""
    from pydantic import TypeAdapter  # takes 45 ms, which most runs save

    made: TypeAdapter[object] = TypeAdapter(form)
    return made


def on_use(
    module: str,
    name: str,
    *,
    optional: bool = True,
    plain: Callable[[tuple[str, ...]], object] | None = None,
) -> Checked:
    """Load the type of a key when a file uses the key; `plain` makes the value of texts at once."""

    def form() -> Any:
        kind = getattr(import_module(f"pytest_evalmetrics.spec.{module}"), name)
        return kind | None if optional else kind

    def read(value: object) -> object:
        texts = value if isinstance(value, list) else [value]
        if plain is not None and all(isinstance(text, str) for text in texts):
            return plain(validated(Names, value))
        return validated(form(), value)

    return Checked(read, form)


def type_of(value: object, builtin: Iterable[str], of: str) -> str:
    """Return the type that a mapping has under ``type``."""
    if not isinstance(value, dict):
        raise expected("a mapping with type")
    kind = value.get("type")
    if kind is None:
        raise refuse(f"'type' is missing: {', '.join(builtin)}, or one of your own")
    if not isinstance(kind, str) or not kind:
        raise refuse(f"type has to be the name of {of}")
    return kind


def without_type(value: object) -> dict[str, object]:
    """Return the keys of a mapping beside ``type``."""
    keys = value if isinstance(value, dict) else {}
    return {key: item for key, item in keys.items() if key != "type"}


def open_mapping(key: str, **schema: object) -> object:
    """Describe a mapping, in the JSON Schema, with a text under `key`, and with any other keys."""
    whole = {
        "type": "object",
        "properties": {key: {"type": "string", **schema}},
        "required": [key],
        "additionalProperties": True,
    }
    return Annotated[object, JsonForm(whole)]


def refuse(message: str) -> PydanticCustomError:
    """Make an error about a value of the right kind."""
    return PydanticCustomError("spec", message)


def expected(what: str) -> PydanticCustomError:
    """Make an error about a value of the wrong kind; the report adds what was found."""
    return PydanticCustomError("expected", what)


def is_number(value: object) -> TypeGuard[int | float]:
    """Check for a number, which true and false are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_whole(value: object) -> TypeGuard[int]:
    """Check for a whole number, which true and false are not."""
    return isinstance(value, int) and not isinstance(value, bool)


def matching(pattern: str, what: str) -> After:
    """Require a text of a form; `what` is the form in words."""

    def check(value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise expected(what)
        return value

    return After(check)


_PERCENT = r"\s*([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))\s*%\s*"


class _Limits(msgspec.Struct, frozen=True):
    """The bounds of a number; None where there is none."""

    ge: float | None
    gt: float | None
    le: float | None
    lt: float | None

    def hold(self, number: float) -> bool:
        if self.ge is not None and not number >= self.ge:
            return False
        if self.gt is not None and not number > self.gt:
            return False
        if self.le is not None and not number <= self.le:
            return False
        return self.lt is None or number < self.lt


def numeric(
    what: str,
    *,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    lt: float | None = None,
) -> Checked:
    """Accept a number within bounds such as ``ge=0``; a percentage becomes a share."""
    limits = _Limits(ge=ge, gt=gt, le=le, lt=lt)

    def read(value: object) -> float:
        number = value
        if isinstance(value, str):
            match = re.fullmatch(_PERCENT, value)
            if match is not None:
                number = float(match[1]) / 100
        if not is_number(number) or not limits.hold(number):
            raise expected(what)
        if not math.isfinite(number):
            raise expected("a finite number")
        return float(number)

    def form() -> object:
        bounds = {"ge": ge, "gt": gt, "le": le, "lt": lt}
        set_bounds = {name: end for name, end in bounds.items() if end is not None}
        number = Annotated[float, Limits(**set_bounds)]
        return number | Annotated[str, Limits(pattern=f"^{_PERCENT}$")]

    return Checked(read, form)


Share = Annotated[float, numeric("a share from 0 to 1, such as 0.02 or 2%", ge=0, le=1)]
Bound = Annotated[float, numeric("a number, or a percentage such as 70%")]
TierName = Literal["required", "advisory"]


def one_or_many(value: object) -> object:
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


class Listed(Read):
    """Accepts a list of distinct texts, or a single one, as a tuple."""

    def __init__(
        self,
        item: Any,
        least: int = 0,
        function: Callable[[object], object] = one_or_many,
    ) -> None:
        self._least = least
        many = Annotated[list[item], Limits(min_length=least)] if least else list[item]
        super().__init__(function, lambda: item | many)

    def core_schema(self, inner: Inner) -> CoreSchema:
        """Return the schema of the tuple, between the function and a check."""
        items = Limits(min_length=self._least, strict=False).core_schema(inner)
        before = core_schema.no_info_before_validator_function(self._function, items)
        return core_schema.no_info_after_validator_function(no_duplicates, before)


AtLeastOne = Annotated[int, Limits(ge=1, strict=True)]
Name = Annotated[str, Limits(min_length=1)]
Names = Annotated[tuple[Name, ...], Listed(Name, 1)]
Fields = Annotated[tuple[Name, ...], Listed(Name)]


class Count(msgspec.Struct, frozen=True):
    """A number of tasks or rollouts: exact, or a minimum."""

    min: int
    max: int | None = None

    def __str__(self) -> str:
        return f">= {self.min}" if self.max is None else f"{self.min}"

    def allows(self, n: int) -> bool:
        """Check a number."""
        return n >= self.min and (self.max is None or n <= self.max)


_AT_LEAST = r"\s*>=\s*0*([1-9][0-9]{0,17})\s*"
CountForm = AtLeastOne | Annotated[str, Limits(pattern=f"^{_AT_LEAST}$")]


def count(value: object, what: str = "a whole number from 1, or '>= 100'") -> Count:
    """Read ``164`` or ``>= 100``."""
    if is_whole(value) and value >= 1:
        return Count(min=value, max=value)
    if isinstance(value, str) and (match := re.fullmatch(_AT_LEAST, value)):
        return Count(min=int(match[1]))
    raise expected(what)


CountField = Annotated[Count, Checked(count, lambda: CountForm)]
FUNCTION: Final = r"[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_.]*"
FunctionName = Annotated[Name, matching(FUNCTION, "package.module:function")]


# -- of endpoints --------------------------------------------------------------------------

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


def _from_environment(value: object) -> object:
    """Fill in ``${NAME}`` and ``${NAME:-default}``."""
    if not isinstance(value, str):
        return value

    def variable(match: re.Match[str]) -> str:
        name, default = match.groups()
        text = os.environ.get(name) or default
        if text is None:
            hint = f"set it, or write ${{{name}:-...}} with what holds without it"
            raise refuse(f"the environment has no {name}: {hint}")
        return text

    return _VARIABLE.sub(variable, value)


FromEnvironment = Before(_from_environment)


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
        hint = "name a secret that is in the environment (api_key_secret)"
        raise refuse(f"a URL must hold no user and no password: {hint}")
    return value


Url = Annotated[Name, FromEnvironment, After(_url), doc("where to POST")]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SecretRef(Keys):
    """A secret's name as the NeMo Evaluator writes it: ``{root: my-key}``."""

    root: Annotated[Name, doc("the key's name in the environment")]


def _secret_name(value: object) -> object:
    if isinstance(value, dict) and set(value) == {"root"}:
        return value["root"]
    return value


SecretName = Annotated[
    Name | None,
    Read(_secret_name, lambda: Name | SecretRef | None),
    doc("the key's name in the environment; sent as Authorization: Bearer"),
]
Positive = Annotated[float | None, Limits(gt=0, allow_inf_nan=False)]
Retries = Annotated[int | None, Limits(ge=0)]
TimeoutSeconds = Annotated[
    Positive, doc("for one attempt in all; default params.request_timeout, else 30")
]
MaxRetries = Annotated[
    Retries, doc("attempts after the first; default params.max_retries, else 3")
]


def _check_templates(value: object, *, body: bool = False) -> object:
    try:
        from pytest_evalmetrics.expressions import faults_of  # of the extra
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
        from pytest_evalmetrics.expressions import JsonPath  # of the extra

        JsonPath(value)
    except ImportError:  # reported when the scorer is made
        return value
    except ValueError as error:
        raise refuse(str(error)) from None
    return value


TemplateValue = Annotated[object, After(_check_templates)]
BodyValue = Annotated[object, After(partial(_check_templates, body=True))]
TemplateText = Annotated[Name, After(_check_templates)]
JsonPathText = Annotated[Name, After(json_path)]
