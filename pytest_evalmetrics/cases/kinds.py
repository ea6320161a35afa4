"""The kinds of details that are removed from a case."""

from typing import Final

KINDS: Final = ("key", "email", "account", "phone", "name")
