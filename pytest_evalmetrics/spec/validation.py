"""Validation of keys by their annotations, with pydantic's core.

The core validates by a schema. It is made here, of the forms of types that keys have. pydantic
makes it of any type, and takes 45 ms longer: only keys of scorers and the JSON Schema need that.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from functools import cache
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Final,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    overload,
)

from pydantic_core import CoreConfig, CoreSchema, SchemaValidator, core_schema

if TYPE_CHECKING:
    from dataclasses import Field as DataclassField

    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue

T = TypeVar("T")

# A type with annotations: none of typing's classes covers them all
Form: TypeAlias = Any
Inner: TypeAlias = Callable[[], CoreSchema]

# a ConfigDict of pydantic's
KEYS: Final[Mapping[str, object]] = {"extra": "forbid", "strict": True}


class Keys:
    """Base of the dataclasses that hold a mapping's keys; they are validated strictly.

    They are plain dataclasses, because pydantic's own classes cost twice as much at import;
    and they share what a dataclass would compile for each of them.
    """

    # for the JSON Schema
    __pydantic_config__: ClassVar[Mapping[str, object]] = KEYS
    if TYPE_CHECKING:
        # of the dataclasses that its subclasses are
        __dataclass_fields__: ClassVar[dict[str, DataclassField[object]]]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._values() == other._values()

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        names = [key.name for key in fields(self)]
        values = zip(names, self._values(), strict=True)
        shown = ", ".join(f"{name}={value!r}" for name, value in values)
        return f"{type(self).__name__}({shown})"

    def _values(self) -> tuple[object, ...]:
        return tuple(getattr(self, key.name) for key in fields(self))


# -- what stands in Annotated[type, ...] ---------------------------------------------------


class Annotation:
    """Changes how a value of the annotated type is validated, or what the JSON Schema says.

    pydantic asks by its two methods, and `schema_of` by `core_schema`.
    """

    def core_schema(self, inner: Inner) -> CoreSchema:
        """Return the schema; `inner` makes that of what is annotated."""
        return inner()

    def __get_pydantic_core_schema__(
        self, kind: object, handler: "GetCoreSchemaHandler"
    ) -> CoreSchema:
        return self.core_schema(lambda: handler(kind))


class Limits(Annotation):
    """Limits of a value by the names that pydantic's core has: ``ge``, ``min_length``."""

    def __init__(self, **limits: object) -> None:
        self._limits = limits

    def core_schema(self, inner: Inner) -> CoreSchema:
        """Return the schema of the type, with the limits; None has none."""
        schema: dict[str, Any] = {**inner()}
        if schema["type"] == "nullable":
            schema["schema"] = schema["schema"] | self._limits
        else:
            schema |= self._limits
        return schema


class Description(Annotation):
    """Describes a key."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: "GetJsonSchemaHandler"
    ) -> "JsonSchemaValue":
        return handler(schema) | {"description": self._text}


class JsonForm(Annotation):
    """States the JSON Schema of a value."""

    def __init__(self, schema: "JsonSchemaValue") -> None:
        self._schema = schema

    def __get_pydantic_json_schema__(self, *_: object) -> "JsonSchemaValue":
        return self._schema


class Before(Annotation):
    """Changes a value by a function before its type validates it."""

    def __init__(self, function: Callable[[Any], object]) -> None:
        self._function = function

    def core_schema(self, inner: Inner) -> CoreSchema:
        """Return the schema of the type, after the function."""
        return core_schema.no_info_before_validator_function(self._function, inner())


class After(Annotation):
    """Checks or changes a value by a function after its type has validated it."""

    def __init__(self, function: Callable[[Any], object]) -> None:
        self._function = function

    def core_schema(self, inner: Inner) -> CoreSchema:
        """Return the schema of the type, before the function."""
        return core_schema.no_info_after_validator_function(self._function, inner())


def doc(text: str) -> Description:
    """Describe a key, for the JSON Schema and the reference."""
    return Description(text)


# -- the schema of a type ------------------------------------------------------------------

_PLAIN: Final[dict[object, Inner]] = {
    str: core_schema.str_schema,
    bool: core_schema.bool_schema,
    int: core_schema.int_schema,
    float: core_schema.float_schema,
    object: core_schema.any_schema,
    Any: core_schema.any_schema,
}


def schema_of(form: Form) -> CoreSchema:
    """Make the core's schema of a type, the same that pydantic makes."""
    if form in _PLAIN:
        return _PLAIN[form]()
    if isinstance(form, type) and issubclass(form, Keys):
        return _schema_of_keys(form)
    origin: object = get_origin(form)
    if origin is Annotated:
        return _annotated(form.__origin__, form.__metadata__)
    if origin not in _GENERIC:
        raise TypeError(f"no schema is known of {form!r}")
    return _GENERIC[origin](get_args(form))


def _annotated(form: Form, annotations: tuple[Annotation, ...]) -> CoreSchema:
    """Apply the last annotation to what the others make of the type."""
    if not annotations:
        return schema_of(form)
    return annotations[-1].core_schema(lambda: _annotated(form, annotations[:-1]))


def _schema_of_union(forms: tuple[Form, ...]) -> CoreSchema:
    schemas = [schema_of(form) for form in forms if form is not NoneType]
    schema = schemas[0]
    if len(schemas) > 1:
        schema = core_schema.union_schema([*schemas])
    if NoneType in forms:
        return core_schema.nullable_schema(schema)
    return schema


def _schema_of_tuple(forms: tuple[Form, ...]) -> CoreSchema:
    item, _ = forms  # of any length: tuple[item, ...]
    return core_schema.tuple_schema([schema_of(item)], variadic_item_index=0)


def _schema_of_list(forms: tuple[Form, ...]) -> CoreSchema:
    return core_schema.list_schema(schema_of(forms[0]))


def _schema_of_dict(forms: tuple[Form, ...]) -> CoreSchema:
    key, value = forms
    return core_schema.dict_schema(schema_of(key), schema_of(value))


def _schema_of_literal(values: tuple[object, ...]) -> CoreSchema:
    return core_schema.literal_schema(list(values))


_GENERIC: Final[dict[object, Callable[[tuple[Any, ...]], CoreSchema]]] = {
    Literal: _schema_of_literal,
    Union: _schema_of_union,
    UnionType: _schema_of_union,
    tuple: _schema_of_tuple,
    list: _schema_of_list,
    dict: _schema_of_dict,
}


def _schema_of_keys(keys: type[Keys]) -> CoreSchema:
    names: list[str] = []
    schemas: list[core_schema.DataclassField] = []
    for key in fields(keys):
        schema = schema_of(key.type)
        if key.default is not MISSING:
            schema = core_schema.with_default_schema(schema, default=key.default)
        elif key.default_factory is not MISSING:
            schema = core_schema.with_default_schema(
                schema, default_factory=key.default_factory
            )
        names.append(key.name)
        schemas.append(core_schema.dataclass_field(key.name, schema))
    return core_schema.dataclass_schema(
        keys,
        core_schema.dataclass_args_schema(keys.__name__, schemas),
        names,
        post_init=hasattr(keys, "__post_init__"),
        config=CoreConfig(
            title=keys.__name__, extra_fields_behavior="forbid", strict=True
        ),
    )


@cache
def validator(form: Form) -> SchemaValidator:
    """Build the validator of a type, once."""
    return SchemaValidator(schema_of(form))


@overload
def validated(form: type[T], value: object) -> T: ...
@overload
def validated(form: object, value: object) -> object: ...
def validated(form: object, value: object) -> object:
    """Validate a value by a type: from JSON, where a list may become a tuple, else strictly."""
    return validator(form).validate_json(json.dumps(value))
