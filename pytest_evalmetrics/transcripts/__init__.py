"""Conversations in rows of any tool, as typed turns.

Submodules: `turns` has the records, `rows` finds the conversation of a row, `messages`,
`parts`, `spans` and `steps` read the dialects, and `conversation` connects calls with results.
"""

from __future__ import annotations

from pytest_evalmetrics.transcripts.rows import turns_of
from pytest_evalmetrics.transcripts.turns import Image, Role, ToolCall, ToolResult, Turn

__all__ = ["Image", "Role", "ToolCall", "ToolResult", "Turn", "turns_of"]
