"""What a person has to choose of a proposal: a path in ``rollouts:`` -> the candidates."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.layout import listed, many
from pytest_evalmetrics.rollouts.direction_hint import should_be_low
from pytest_evalmetrics.rollouts.guess.rewards import OPEN, RewardCandidate
from pytest_evalmetrics.rollouts.number_texts import NumberTexts
from pytest_evalmetrics.rollouts.unjudged_lists import lists_failures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.rollouts.guess.candidates import Candidate
    from pytest_evalmetrics.rollouts.guess.seen_columns import SeenColumn
    from pytest_evalmetrics.rollouts.source import Source
    from pytest_evalmetrics.spec.sources import FieldMap


def questions_of_fields(
    best: Candidate,
    reward: RewardCandidate | None,
    fields: FieldMap,
    undirected: str | None,
) -> dict[str, str]:
    """Ask for the task, the reward, and what its values mean."""
    questions: dict[str, str] = {}
    if reward is not None:
        questions |= _questions_of_words(reward)
    if fields.reward is None:
        questions["fields.reward"] = best.reward.question
    if reward is not None:
        questions |= _question_of_missing(reward, best.count)
    may_be_asked = best.layout.needs_task or best.task.is_open
    if may_be_asked and fields.task is None:
        questions["fields.task"] = best.task.question
    if undirected is not None and not should_be_low(undirected):
        question = f"higher or lower: which way is better for {undirected}?"
        questions["direction"] = question
    return questions


def _questions_of_words(reward: RewardCandidate) -> dict[str, str]:
    question = "its worth: a number, or null if nobody judged"
    return {
        f"map.reward.{word}": question
        for word, worth in reward.points.items()
        if worth == OPEN
    }


def _question_of_missing(reward: RewardCandidate, rows: int) -> dict[str, str]:
    """Ask about values among the rewards that may mean that nobody judged."""
    if reward.unknown:
        words = json.dumps([*reward.missing, *reward.unknown], ensure_ascii=False)
        return {"missing": f"{words} if these words mean not judged"}
    if reward.sentinel is None:
        return {}
    value = f"{reward.sentinel.value:g}"
    counted = f"{value}, in {reward.sentinel.count} of {rows} rows"
    return {"missing": f"[{value}] if {counted}, means not judged, else []"}


def question_of_rows(
    best: Candidate, candidates: Sequence[Candidate]
) -> dict[str, str]:
    """Ask about lists beside that of the rows, which hold rows or failures as well."""
    if not best.layout.is_list:
        return {}
    rows = best.layout.rows or ""
    others = [
        f"the {many(other.count, 'object')} of {_name_of_list(other)}"
        for other in candidates
        if other is not best and _is_beside(other, best)
    ]
    if not others:
        return {}
    return {"rows": f"{rows}, without {listed(others)}?"}


def _name_of_list(candidate: Candidate) -> str:
    return (candidate.layout.rows or "").rpartition(".")[2]


def _is_beside(other: Candidate, best: Candidate) -> bool:
    """Check for a list in the same object that holds the reward, or what failed."""
    holder = (best.layout.rows or "").rpartition(".")[0]
    other_holder = (other.layout.rows or "").rpartition(".")[0]
    if not other.layout.is_list or other_holder != holder:
        return False
    reward = best.reward.chosen
    has_reward = reward is not None and reward.path in other.columns
    return has_reward or lists_failures(_name_of_list(other))


def question_of_decimals(source: Source, column: SeenColumn | None) -> dict[str, str]:
    """Ask about the signs in the texts of a reward that may separate thousands."""
    if column is None:
        return {}
    texts = NumberTexts("reward")
    places = np.arange(1, len(column.values) + 1)
    with suppress(DataError):  # which the run reports with its cells
        texts.read(column.values, places, source, needed=True)
    cell = texts.unclear_cell(source)
    if cell is None:
        return {}
    return {"decimal": texts.question(cell)}
