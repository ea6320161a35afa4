"""The loaders that come with the package: importing this registers them.

A new one is a file beside this one, a line here, and a test file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.rollouts.json_array import JsonArray
from pytest_evalmetrics.rollouts.json_lines import JsonLines
from pytest_evalmetrics.rollouts.seam import register_loader

if TYPE_CHECKING:
    from pytest_evalmetrics.rollouts.seam import RecognisingFactory

__all__ = ["BY_CONTENT"]

register_loader("json")(JsonArray)
register_loader("jsonl")(JsonLines)

# asked in this order which of them knows a file; the last one takes what is left
BY_CONTENT: tuple[RecognisingFactory, ...] = (JsonArray, JsonLines)
