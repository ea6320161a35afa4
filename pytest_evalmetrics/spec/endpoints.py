"""What scorers that call endpoints share: URLs, keys, patience, templates, JSONPath."""

from __future__ import annotations

import os
import re
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError
from pydantic_core import InitErrorDetails

from pytest_evalmetrics.spec.forms import Name, expected, refuse

__all__ = [
    "FromEnvironment",
    "JsonPathText",
    "MaxRetries",
    "Retries",
    "Seconds",
    "SecretName",
    "TemplateText",
    "TemplateValue",
    "TimeoutSeconds",
    "Url",
    "json_path",
]


_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


def _filled_in(value: Any) -> Any:
    """Fill in ``${NAME}`` and ``${NAME:-default}`` from the environment."""
    if not isinstance(value, str):
        return value

    def found(match: re.Match[str]) -> str:
        name, default = match.groups()
        there = os.environ.get(name) or default
        if there is None:
            raise refuse(
                f"the environment has no {name}: set it, or write ${{{name}:-...}} with what holds "
                "without it"
            )
        return there

    return _VARIABLE.sub(found, value)


FromEnvironment = BeforeValidator(_filled_in)


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


Url = Annotated[Name, FromEnvironment, AfterValidator(_url), Field(description="where to POST")]
SecretName = Annotated[
    Name | None,
    Field(description="the key's name in the environment; sent as Authorization: Bearer"),
]
Seconds = Annotated[float | None, Field(gt=0, allow_inf_nan=False)]
Retries = Annotated[int | None, Field(ge=0)]
TimeoutSeconds = Annotated[
    Seconds, Field(description="for one attempt in all; default params.request_timeout, else 30")
]
MaxRetries = Annotated[
    Retries, Field(description="attempts after the first; default params.max_retries, else 3")
]


def _no_faulty_template(value: Any) -> Any:
    try:
        from pytest_evalmetrics.expressions import templates  # noqa: PLC0415 - of the extra
    except ImportError:  # said with the way out when the scorer is made
        return value
    faults = [
        InitErrorDetails(type=refuse(message), loc=at, input=value)
        for at, message in templates.faults_of(value)
    ]
    if faults:
        raise ValidationError.from_exception_data("body", faults)
    return value


def json_path(value: str) -> str:
    """Refuse a text that is no JSONPath."""
    try:
        from pytest_evalmetrics.expressions.json_paths import (  # noqa: PLC0415 - of the extra
            JsonPath,
        )

        JsonPath(value)
    except ImportError:  # who runs it says so
        return value
    except ValueError as error:
        raise refuse(str(error)) from None
    return value


TemplateValue = Annotated[Any, AfterValidator(_no_faulty_template)]
TemplateText = Annotated[Name, AfterValidator(_no_faulty_template)]
JsonPathText = Annotated[Name, AfterValidator(json_path)]
