"""JSONPath queries, RFC 9535."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jsonpath import JSONPathEnvironment

__all__ = ["JsonPath"]

_PLAIN = re.compile(r"\$(\.[A-Za-z_][A-Za-z0-9_]*)+")


@cache
def _environment() -> JSONPathEnvironment:
    from jsonpath import JSONPathEnvironment  # noqa: PLC0415 - 30 ms, and few need it

    return JSONPathEnvironment(strict=True)  # RFC 9535 and nothing more


class JsonPath:
    """A compiled query."""

    def __init__(self, query: str) -> None:
        self.query = query
        self._keys = query.split(".")[1:] if _PLAIN.fullmatch(query) else None
        if self._keys is not None:
            return
        environment = _environment()
        from jsonpath.exceptions import JSONPathError  # noqa: PLC0415 - the same

        self._errors = (JSONPathError, RecursionError)  # the last: too deep
        try:
            self._compiled = environment.compile(query)
        except JSONPathError as error:
            hint = "" if query.startswith("$") else "; it starts with $, such as $.result.score"
            reason = str(error.args[0]).partition("\n")[0].replace("TOKEN_", "").lower()
            raise ValueError(f"{query!r} is no JSONPath: {reason}{hint}") from None

    def first(self, value: Any) -> tuple[bool, Any]:
        """Give whether something matches, and the first thing that does."""
        if self._keys is not None:  # the usual ones, ten times as fast
            for key in self._keys:
                if not isinstance(value, dict) or key not in value:
                    return False, None
                value = value[key]
            return True, value
        try:
            match = self._compiled.match(value)
        except self._errors:
            return False, None
        return (False, None) if match is None else (True, match.obj)
