"""Means that tools state in a file of rows, compared with what the rows give.

The loaders of tools compare such numbers themselves; these are those of the layouts that a
benchmark file describes by `rows:` and `fields:`.
"""

from __future__ import annotations

import math
from statistics import fmean
from typing import TYPE_CHECKING, Final

import msgspec

from pytest_evalmetrics.model.rollout_notes import OtherNumberStated
from pytest_evalmetrics.rollouts import json_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_evalmetrics.json_types import JsonMapping, JsonValue

_TOLERANCE: Final = 1e-6  # tools round the numbers that they write
_SIMPLE_EVALS: Final = frozenset({"score", "metrics", "htmls", "convos", "metadata"})
_TERMINAL_BENCH: Final = frozenset({"results", "accuracy", "n_resolved"})


class StatedMean(msgspec.Struct, frozen=True):
    """A mean of the reward that a tool states beside its rows."""

    #: The number's name in the file.
    claim: str
    stated: float
    #: Whether the tool counts a row without a reward as 0; else it leaves the row out.
    missing_is_zero: bool = False
    #: Whether the tool cuts the mean to 0 to 1.
    is_clipped: bool = False

    def computed(self, rewards: Sequence[JsonValue]) -> float | None:
        """Compute the mean as the tool does; None for rewards that are no numbers."""
        amounts = []
        for reward in rewards:
            amount = json_values.number(reward)
            if amount is not None:
                amounts.append(amount)
            elif reward is not None:
                return None
            elif self.missing_is_zero:
                amounts.append(0.0)
        if not amounts:
            return None
        mean = fmean(amounts)
        return min(1.0, max(0.0, mean)) if self.is_clipped else mean


def other_mean_stated(
    document: JsonMapping,
    rewards: Sequence[JsonValue],
    *,
    path: str,
    file: str,
) -> OtherNumberStated | None:
    """Compare the mean that a document states of the rewards at a path of its rows."""
    mean = _stated_mean(document, path)
    if mean is None:
        return None
    computed = mean.computed(rewards)
    if computed is None:
        return None
    if math.isclose(mean.stated, computed, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE):
        return None
    return OtherNumberStated(
        file=file, claim=mean.claim, stated=mean.stated, computed=computed
    )


def is_unfinished_log(lines: Sequence[JsonMapping]) -> bool:
    """Check for a log of OpenAI evals whose run has not reported its end."""
    if not lines or "spec" not in lines[0]:
        return False
    spec = json_values.mapping(lines[0]["spec"])
    is_log = "eval_name" in spec and "run_config" in spec
    return is_log and not any("final_report" in line for line in lines)


def _stated_mean(document: JsonMapping, path: str) -> StatedMean | None:
    """Find what a document states of the rewards at a path of its rows."""
    report = json_values.mapping(document.get("final_report"))
    if report and path == "data.correct":
        return _mean("accuracy in its final_report", report.get("accuracy"))
    if document.keys() >= _TERMINAL_BENCH and path == "is_resolved":
        accuracy = document["accuracy"]
        return _mean("accuracy", accuracy, missing_is_zero=True)
    if document.keys() >= _SIMPLE_EVALS and path == "score":
        return _mean("score", document["score"], is_clipped=True)
    _, _, name = path.partition("scores.")
    scores = json_values.lookup(document, "summary.comparison.scores")
    score = json_values.mapping(json_values.mapping(scores).get(name))
    return _mean(f"the score of {name} in its summary", score.get("score"))


def _mean(
    claim: str,
    stated: JsonValue,
    *,
    missing_is_zero: bool = False,
    is_clipped: bool = False,
) -> StatedMean | None:
    number = json_values.number(stated)
    if number is None:
        return None
    return StatedMean(
        claim=claim,
        stated=number,
        missing_is_zero=missing_is_zero,
        is_clipped=is_clipped,
    )
