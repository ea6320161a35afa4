"""Why rollouts do not show the smallest drop that a gate detects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.model.results import Power, PowerError, PowerGap
from pytest_evalmetrics.reports.sentences.comparisons import blind_text

if TYPE_CHECKING:
    from collections.abc import Mapping

_GAPS: Final[Mapping[PowerGap, str]] = {
    PowerGap.NO_MEAN: "it is not a mean over tasks",
    PowerGap.NO_NUMBER: "no rollout has a number",
    PowerGap.ONE_ROLLOUT: (
        "one rollout of each task doesn't show how much a task varies"
    ),
    PowerGap.ONE_RUN: (
        "one run doesn't show how much the tasks of a cluster move together"
    ),
    PowerGap.ALL_ALIKE: "the rollouts of each task are all alike",
    PowerGap.FEW_VARY: "too few tasks pass, or fail, to say which drop is found",
    PowerGap.ONLY_COLLAPSE: (
        "there are too few tasks to test their mean, and their rollouts prove large "
        "losses alone, such as that of everything"
    ),
}


def gap_text(power: Power) -> str:
    """Say why the drop is unknown; empty if it is known."""
    if power.unknown is None:
        return ""
    if isinstance(power.unknown, PowerError):
        return power.unknown.words
    if isinstance(power.unknown, PowerGap):
        return _GAPS[power.unknown]
    return blind_text(power.unknown)
