"""Words for messages: what was expected, what was found, and what to write instead."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.config.scalars import read_scalar

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["describe", "expectation", "mismatch"]

_LONG = 60
_GROUPED = re.compile(r"[-+]?[0-9][0-9_]*(\.[0-9_]+)?")
_BOOLEANS = {"yes": "true", "on": "true", "no": "false", "off": "false"}

_EXPECTED = {
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    **dict.fromkeys(("list_type", "tuple_type", "set_type", "frozen_set_type"), "a list"),
    **dict.fromkeys(("dict_type", "mapping_type", "dataclass_type", "model_type"), "a mapping"),
    "string_type": "text",
    "none_required": "nothing",
    "finite_number": "a finite number",
    "greater_than_equal": "a number of at least {ge}",
    "greater_than": "a number above {gt}",
    "less_than_equal": "a number of at most {le}",
    "less_than": "a number below {lt}",
    "multiple_of": "a multiple of {multiple_of}",
    "string_too_short": "text of at least {min_length} characters",
    "string_too_long": "text of at most {max_length} characters",
    "string_pattern_mismatch": "text of the form {pattern}",
    "too_short": "a list of at least {min_length} items",
    "too_long": "a list of at most {max_length} items",
    "literal_error": "{expected}",
    "enum": "{expected}",
}


def expectation(kind: str, context: Mapping[str, Any], message: str) -> str | None:
    """Say what an error of pydantic's expected; None where it is of another kind."""
    if kind == "expected":  # spec.py says it in its own words
        return message
    if kind == "string_too_short" and context.get("min_length") == 1:
        return "text that is not empty"
    if kind == "too_short" and context.get("min_length") == 1:
        return "a list that is not empty"
    template = _EXPECTED.get(kind)
    if template is None:
        return None
    values = {k: f"{v:.12g}" if isinstance(v, float) else v for k, v in context.items()}
    said = template.format_map(values)
    return said.replace("'", "") if kind in ("literal_error", "enum") else said


def mismatch(expected: str, value: Any) -> str:
    """Say that `value` is not what was expected, and what to write if that is plain."""
    return f"expected {expected}, {_slip(expected, value) or 'found ' + describe(value)}"


def describe(value: Any) -> str:
    """Name a value of a YAML file, in at most some 60 characters."""
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return f"the text {_shorten(json.dumps(value, ensure_ascii=False))}"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, dict | list):
        what = "mapping" if isinstance(value, dict) else "list"
        return f"a {what}" if value else f"an empty {what}"
    return _shorten(str(value))


def _slip(expected: str, value: Any) -> str | None:
    """Recognise what YAML 1.1, quotes or a habit made something else than was meant."""
    if isinstance(value, str):
        return _slip_in_text(expected, value.strip())
    if isinstance(value, list) and expected.startswith("a list of at "):
        return f"found {len(value)}"
    if isinstance(value, float) and expected == "a whole number" and value.is_integer():
        return f"found {_number(value)}; write {value:.0f}"
    if isinstance(value, bool | int | float) and expected == "text":
        return f"found {describe(value)}; put quotes around it"
    return None


def _slip_in_text(expected: str, word: str) -> str | None:
    if "true" in expected and word.lower() in _BOOLEANS:
        return f"but {word} is text in YAML; write {_BOOLEANS[word.lower()]}"
    if not ("number" in expected or "share" in expected) or len(word) > _LONG:
        return None
    if "_" in word and _GROUPED.fullmatch(word):
        return f"but {word} is text in YAML; write {word.replace('_', '')}"
    if _is_number(word):
        return f"found {describe(word)}; remove the quotes"
    return None


def _is_number(word: str) -> bool:
    read = read_scalar(word)
    return isinstance(read, int | float) and not isinstance(read, bool)


def _number(value: float) -> str:
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    return repr(value)


def _shorten(text: str) -> str:
    if len(text) <= _LONG:
        return text
    return text[: _LONG - 2] + ("…" + text[-1] if text[0] == '"' else "…")
