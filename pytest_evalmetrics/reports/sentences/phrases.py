"""Parts of sentences that may be absent."""

from __future__ import annotations


def about(subject: str, text: str) -> str:
    """Write a text behind what it is about: ``agent: text``; alone if that is empty."""
    if not subject:
        return text
    return f"{subject}: {text}"


def remarked(text: str, remark: str) -> str:
    """Write a remark behind a text: ``text (remark)``; the text alone if that is empty."""
    if not remark:
        return text
    return f"{text} ({remark})"


def rose_or_fell(before: float, now: float) -> str:
    """Say which way a number went."""
    if now < before:
        return "fell"
    return "rose"
