"""``answer_accuracy``: whether a response says what the reference says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.chat import side_by_side
from pytest_evalmetrics.registry import register_scorer
from pytest_evalmetrics.scorers.conversations import (
    column_of,
    conversation_of,
    response_in,
    text_in,
)
from pytest_evalmetrics.scorers.judges import OneJudge, field_of, reasoning_of, unusable
from pytest_evalmetrics.scorers.prompts import answer_accuracy as prompts
from pytest_evalmetrics.scorers.protocol import Explained

if TYPE_CHECKING:
    from pytest_evalmetrics.chat import Reply
    from pytest_evalmetrics.scorers.calls import Calls
    from pytest_evalmetrics.scorers.protocol import Row, Terms
    from pytest_evalmetrics.spec import AnswerAccuracySpec

__all__ = ["AnswerAccuracy"]


@register_scorer("answer_accuracy")
class AnswerAccuracy(OneJudge):
    """The mean of two ratings: of the response by the reference, and the other way round.

    Each rating is 0, 2 or 4; the score is their mean over 4. The formula of
    ``AnswerAccuracy`` in RAGAS 0.4, whose score is called ``nv_accuracy``.
    """

    def __init__(self, spec: AnswerAccuracySpec, terms: Terms) -> None:
        super().__init__(spec, terms, "answer-accuracy", prompts.VERSION)

    async def score(self, row: Row, calls: Calls) -> Explained:
        """Score one row."""
        question = column_of(row, "user_input")
        if not isinstance(question, str):
            question = conversation_of(row, answered=False)
        reference, response = text_in(row, "reference"), response_in(row)
        ratings = await side_by_side(
            [
                self._judge.ask(
                    calls, prompts.ask_for_rating(question, *answers), _rating, prompts.RATING
                )
                for answers in ((response, reference), (reference, response))
            ]
        )
        told = "; ".join(f"{rating}: {why}" if why else f"{rating}" for rating, why in ratings)
        return Explained(sum(rating for rating, _ in ratings) / len(ratings) / 4, told)


def _rating(reply: Reply) -> tuple[int, str]:
    found = field_of(reply, "rating", int, "0, 2 or 4")
    if found not in prompts.RATINGS:
        raise unusable("rating", found, "0, 2 or 4")
    return found, reasoning_of(reply)
