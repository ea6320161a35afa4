"""What an unquoted YAML scalar stands for, by the core schema of YAML 1.2 (section 10.3.2).

PyYAML follows YAML 1.1, in which ``1e3`` is text, ``no`` is false, ``1:30`` is 90 and
``2024-01-01`` is a date; here they are a number and three texts.
"""

from __future__ import annotations

import math
import re
import sys

__all__ = ["read_scalar"]

_CONSTANTS: dict[str, bool | float | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **{sign + inf: math.inf for inf in (".inf", ".Inf", ".INF") for sign in ("", "+")},
    **{"-" + inf: -math.inf for inf in (".inf", ".Inf", ".INF")},
}
_NUMBER = re.compile(
    r"(?P<int>[-+]?[0-9]+)|0o(?P<oct>[0-7]+)|0x(?P<hex>[0-9a-fA-F]+)"
    r"|(?P<float>[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)"
)
_STARTS_A_NUMBER = frozenset("-+.0123456789")
_BASES = {"int": 10, "oct": 8, "hex": 16}
_LONGEST = 300  # digits: what is longer is no float


def read_scalar(text: str) -> str | float | bool | None:
    """Read an unquoted scalar."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] not in _STARTS_A_NUMBER:
        return text
    match = _NUMBER.fullmatch(text)
    if match is None:
        return text
    if len(text) > _LONGEST:
        raise ValueError(f"a number of {len(text)} digits is out of range")
    kind = match.lastgroup or "int"
    number = int(match[kind], _BASES[kind]) if kind in _BASES else float(text)
    if not -sys.float_info.max <= number <= sys.float_info.max:
        raise ValueError(f"the number {text[:60]} is out of range")
    return number
