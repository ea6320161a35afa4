"""Secrets: found by name in the environment, shown nowhere."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import quote, quote_plus

from pytest_evalmetrics.transport.errors import SecretError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["HIDDEN", "Secret", "find_secret", "holds_secret", "redact", "variables_tried"]

HIDDEN = "***"
# A shorter one ("none", "dummy", "EMPTY": what local servers are given) is met in innocent text.
TELLING_LENGTH = 6


class Secret:
    """A value that is shown nowhere: not by repr, str, format or pickle.

    Parameters
    ----------
    name
        What the benchmark file calls it.
    variable
        The environment variable that it came from.
    value
        The value itself; `reveal` gives it back.
    """

    __slots__ = ("_forms", "_value", "name", "variable")

    def __init__(self, name: str, variable: str, value: str) -> None:
        self.name = name
        self.variable = variable
        self._value = value
        written = {value, json.dumps(value)[1:-1], quote(value, safe=""), quote_plus(value)}
        # the longest first, so that no form leaves a part of a longer one behind
        self._forms = tuple(sorted(written, key=len, reverse=True))

    def reveal(self) -> str:
        """Give the value, for the one place that sends it."""
        return self._value

    def hide_in(self, text: str) -> str:
        """Replace the value in a text, as it is and as JSON and URLs write it."""
        for form in self._forms:
            if form in text:
                text = text.replace(form, HIDDEN)
        return text

    def is_in(self, text: str) -> bool:
        """Whether a text holds the value; a placeholder such as "none" is no secret."""
        return len(self._value) >= TELLING_LENGTH and any(form in text for form in self._forms)

    def __repr__(self) -> str:
        return f"Secret({self.name!r}, {HIDDEN})"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and (self.name, self._value) == (other.name, other._value)

    def __hash__(self) -> int:
        return hash((self.name, self._value))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not written to another process or a file")


def variables_tried(name: str) -> tuple[str, ...]:
    """Name the environment variables that may hold a secret, in the order of the search.

    Returns
    -------
    tuple of str
        The name as it is, in upper case, and with ``-`` and ``/`` made ``_``.
    """
    upper = name.upper()
    return tuple(dict.fromkeys((name, upper, upper.replace("-", "_").replace("/", "_"))))


def find_secret(name: str, environ: Mapping[str, str] | None = None) -> Secret:
    """Find a secret by its name.

    Parameters
    ----------
    name
        What the benchmark file calls it, such as ``my-remote-api-key``.
    environ
        Where to look; the process's environment by default.

    Raises
    ------
    SecretError
        None of the variables is set to something, or it can't stand in a header. The
        message names variables, never a value.
    """
    environ = os.environ if environ is None else environ
    tried = variables_tried(name)
    for variable in tried:
        value = environ.get(variable, "").strip()  # files and heredocs leave a line feed
        if value:
            if not (value.isascii() and value.isprintable()):
                raise SecretError(
                    f"the environment variable {variable} holds a character that can't stand "
                    "in an HTTP header",
                    hint=f"set {variable} to the key alone, in printable ASCII",
                )
            return Secret(name, variable, value)
    empty = [variable for variable in tried if variable in environ]
    found = f" ({', '.join(empty)} is set, but empty)" if empty else ""
    raise SecretError(
        f"the secret {name!r} is not in the environment{found}",
        hint=f"set one of these environment variables: {', '.join(tried)}",
    )


def redact(text: str, secrets: Iterable[Secret]) -> str:
    """Hide every secret in a text that is going to be shown or written."""
    for secret in secrets:
        text = secret.hide_in(text)
    return text


def holds_secret(text: str, secrets: Iterable[Secret]) -> bool:
    """Whether a text holds one of the secrets."""
    return any(secret.is_in(text) for secret in secrets)
