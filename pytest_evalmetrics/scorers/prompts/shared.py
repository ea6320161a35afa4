"""How questions about a conversation begin: all alike, so that endpoints can cache it."""

from __future__ import annotations

__all__ = ["of"]


def of(conversation: str) -> str:
    """Quote a conversation."""
    return f"""\
This is a conversation between a user and an AI agent, with the agent's tool calls and what the \
tools gave back.

<conversation>
{conversation}
</conversation>"""
