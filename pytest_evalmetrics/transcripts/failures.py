"""Failures of tools, which many recordings mark in the output's text alone."""

from __future__ import annotations

import re
from typing import Final

from pytest_evalmetrics.transcripts.values import decoded, plain_text

_SHOWN: Final = 500  # characters of an error
_PARSED: Final = 20_000  # characters of an output that is parsed as JSON
_begins_with_error = re.compile(
    r"\s*(?:<tool_use_error>|traceback \(most recent call last\)"
    r"|(?:[A-Za-z_.]+)?(?:error|exception)(?: [^\n:]{0,60})?:|error executing\b)",
    re.IGNORECASE,
).match
_FAILED: Final = ("error", "failed", "failure", "incomplete")


def failure_in_text(output: str) -> str:
    """Find out whether an output says that the tool failed; return its words, or nothing.

    It says so if it begins with an error or a traceback, or is a JSON object with an
    ``error`` that is not empty or a true ``is_error``.
    """
    if _begins_with_error(output):
        return output[:_SHOWN]
    if not _may_state_error(output):
        return ""
    value = decoded(output)
    if not isinstance(value, dict):
        return ""
    stated = value.get("error")
    if stated or value.get("is_error") is True:
        return (plain_text(stated) or output)[:_SHOWN]
    return ""


def _may_state_error(output: str) -> bool:
    """Check whether it is worthwhile to parse an output."""
    is_object = output[:1] == "{" and len(output) <= _PARSED
    return is_object and ('"error"' in output or '"is_error"' in output)


def stated_failure(*flags: object) -> str:
    """Read flags and messages of failures; return the first message, or nothing."""
    for flag in flags:
        if flag is True:
            return "error"
        if isinstance(flag, str) and flag:
            return flag[:_SHOWN]
        if isinstance(flag, dict) and flag:
            message = flag.get("message") or flag.get("type") or flag
            return plain_text(message)[:_SHOWN] or "error"
    return ""


def failed_status(status: object) -> bool:
    """Check for the status of an item that failed."""
    return isinstance(status, str) and status.lower() in _FAILED
