"""The question of ``answer_accuracy``, which is asked both ways round."""

from __future__ import annotations

from pytest_evalmetrics.scorers.prompts.schemas import TEXT, choice, closed

__all__ = ["RATING", "RATINGS", "VERSION", "ask_for_rating"]

VERSION = "1"

RATINGS = (0, 2, 4)
RATING = closed(reasoning=TEXT, rating=choice(*RATINGS))


def ask_for_rating(question: str, answer: str, other: str) -> str:
    """Ask how far one answer says what the other one says."""
    return f"""\
Two answers to the same question are given. Rate how far answer A says what answer B says. Look \
at the facts, not at style, length or order, and use no knowledge of your own about the question.
4: A says all that B says, and nothing that contradicts it.
2: A says a part of what B says, and nothing that contradicts it.
0: A says something else than B, contradicts it, or does not answer the question.

<question>
{question}
</question>
<answer_a>
{answer}
</answer_a>
<answer_b>
{other}
</answer_b>

Answer with a JSON object and nothing else: {{"reasoning": "one sentence", "rating": 0, 2 or 4}}"""
