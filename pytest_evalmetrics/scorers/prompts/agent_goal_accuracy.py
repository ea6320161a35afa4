"""The two questions of ``agent_goal_accuracy``."""

from __future__ import annotations

from pytest_evalmetrics.scorers.prompts.schemas import TEXT, choice, closed
from pytest_evalmetrics.scorers.prompts.shared import of

__all__ = ["OUTCOME", "VERDICT", "VERSION", "ask_for_outcome", "ask_for_verdict"]

VERSION = "1"

OUTCOME = closed(user_goal=TEXT, end_state=TEXT)
VERDICT = closed(reasoning=TEXT, verdict=choice(0, 1))


def ask_for_outcome(conversation: str) -> str:
    """Ask what the user wanted, and how it ended."""
    return f"""\
{of(conversation)}

Say in one sentence what the user wanted to get done, and in another one what the state of \
things is at the end of the conversation: what was done, and what was not. Keep to what the \
conversation shows; that the agent announces something does not mean that it was done.

Answer with a JSON object and nothing else: {{"user_goal": "...", "end_state": "..."}}"""


def ask_for_verdict(desired: str, arrived: str) -> str:
    """Ask whether what was wanted is what came out."""
    return f"""\
Compare the outcome that was wanted with the outcome that was arrived at. The verdict is 1 if all \
that was wanted has been arrived at, in whatever words, and 0 if something of it is missing, \
different or undone.

<wanted>
{desired}
</wanted>
<arrived_at>
{arrived}
</arrived_at>

Answer with a JSON object and nothing else: {{"reasoning": "one sentence", "verdict": 0 or 1}}"""
