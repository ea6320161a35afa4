"""The JSON Schemas that are shipped, as they lie beside this file."""

from __future__ import annotations

from importlib.resources import files

__all__ = ["text"]


def text(which: str) -> str:
    """Return the JSON Schema of ``benchmark`` files or of the ``report``, as text."""
    return (files(__package__) / f"{which}.schema.json").read_text(encoding="utf-8")
