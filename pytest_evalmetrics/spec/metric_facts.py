"""What a benchmark file tells of its metrics: range, direction, rollouts needed."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

import msgspec

from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.spec.directions import named_direction
from pytest_evalmetrics.spec.metric_names import STATISTICS, MetricName, parse
from pytest_evalmetrics.spec.usage import GENERATED_SCORES

if TYPE_CHECKING:
    from pytest_evalmetrics.spec.benchmark import BenchmarkSpec
    from pytest_evalmetrics.spec.directions import Direction

__all__ = ["Range", "direction_of", "has_no_interval", "range_of", "rollouts_needed"]

_OF_K: Final = re.compile(r"(?:pass@|pass\^|max@)([0-9]{1,9})")
_RATE: Final = re.compile(r"pass_rate|pass@[0-9]+|pass\^[0-9]+")
_IN_RANGE: Final = re.compile(r"mean_reward|avg|median|worst_task|max@[0-9]+")  # of their score
_PER_TASK: Final = re.compile(r"(?:time|tokens|cost)_per_task")
_RATING: Final = frozenset((  # scorers that say themselves that more is better, from 0 to 1
    "tool_call_accuracy", "tool-calling", "exact-match", "exact_match", "string-check",
    "number-check", "f1", "rouge", "topic_adherence", "agent_goal_accuracy", "answer_accuracy",
))  # fmt: skip
_RATING_MORE: Final = frozenset(("bleu", "trajectory_evaluation", "trajectory-evaluation"))


class Range(msgspec.Struct, frozen=True):
    """Where the values of a metric, or of a score, can lie; infinite where nobody says.

    Attributes
    ----------
    low, high
        Its ends, which belong to it.
    why
        What says so, for messages: ``a rate from 0 to 1``.
    """

    low: float = -math.inf
    high: float = math.inf
    why: str = ""

    @property
    def width(self) -> float:
        """The most that a value can move."""
        return self.high - self.low


_UNIT: Final = Range(0.0, 1.0, "a rate from 0 to 1")
_USED: Final = Range(low=0.0, why="never below 0")


def _score_range(spec: BenchmarkSpec, score: str) -> Range:
    """Return the range that a benchmark's scorers give a score."""
    for scorer in spec.scorers:
        if score not in scorer.score_names:
            continue
        low, high = (0.0, 1.0) if scorer.type in _RATING else (None, None)
        for each in getattr(scorer, "scores", None) or ():
            if getattr(each, "name", None) == score:
                low, high = each.minimum, each.maximum
                if getattr(each, "rubric", None):
                    low, high = (f(level.value for level in each.rubric) for f in (min, max))
        fill = spec.expect.missing_reward
        if score == spec.reward and isinstance(fill, int | float):  # what missing rewards become
            low = None if low is None else min(low, fill)
            high = None if high is None else max(high, fill)
        if low is None and high is None:
            return Range()
        ends = -math.inf if low is None else low, math.inf if high is None else high
        ends_told = " ".join(
            f"{side} {end:.12g}"
            for side, end in zip(("from", "to"), ends, strict=True)
            if math.isfinite(end)
        )
        return Range(*ends, f"of {score}, which is a score {ends_told}")
    return _USED if score in GENERATED_SCORES else Range()


def range_of(spec: BenchmarkSpec, name: MetricName) -> Range:
    """Return the range of a metric, as far as the benchmark file tells."""
    if name.is_statistic and name.metric == "std":
        return Range(low=0.0, why="a standard deviation, from 0")
    if not name.is_statistic and _RATE.fullmatch(name.metric):
        return _UNIT
    if not name.is_statistic and _PER_TASK.fullmatch(name.metric):
        return _USED
    if name.is_statistic or _IN_RANGE.fullmatch(name.metric):
        return _score_range(spec, name.score or spec.reward)
    return Range()


def rollouts_needed(spec: BenchmarkSpec, name: MetricName) -> tuple[int, int, str] | None:
    """Return the k of a metric over k rollouts, where tasks can't have as many.

    Returns
    -------
    tuple of (int, int, str)
        k, the rollouts that a task has, and what says so. None where there may be enough.
    """
    found = _OF_K.fullmatch(name.metric)
    if found is None or name.is_statistic or spec.pass_estimator == "first_k":  # noqa: S105
        return None
    expected, most, why = spec.expect.rollouts, spec.num_samples, f"num_samples: {spec.num_samples}"
    if spec.answers is not None:
        if most is None:
            most, why = 1, "num_samples, which is 1 by default"
    elif expected == "any":
        most = None
    elif expected is not None:
        most, why = expected.max, f"expect: {{rollouts: {expected}}}"
    k = int(found[1])
    return (k, most, why) if most is not None and k > most else None


def has_no_interval(name: MetricName) -> bool:
    """Whether a metric never has a confidence interval."""
    return name.is_statistic and name.metric != "mean"


def direction_of(spec: BenchmarkSpec, text: str, *, of_reward: bool = True) -> Direction | None:
    """Tell which way is better for a metric; None where nothing says so.

    What the scorers declare comes first, then what the names tell. The reward is better when
    higher, and so is any rate of passing.

    Parameters
    ----------
    spec
        The benchmark.
    text
        The metric, as it is written.
    of_reward
        Whether a metric without a score is one of the reward, as all but a hook's are.
    """
    try:
        name = parse(text)
    except MetricError:  # a hook may name its numbers as it likes
        return named_direction(text)
    rate = not name.is_statistic and _RATE.fullmatch(name.metric)
    metric = name.metric.rpartition(":")[2]
    own = None if metric in STATISTICS else named_direction(metric)
    if name.is_statistic and metric == "std":
        return None
    if name.score is not None:
        return "higher" if rate or own == "higher" else own or _of_score(spec, name.score)
    if own == "lower" or not of_reward:
        return "higher" if rate else own
    declared = _declared(spec, spec.reward)
    if declared == "lower":
        return None if rate else "lower"
    # a reward named wer contradicts itself: the benchmark has to say which it is
    return None if not declared and named_direction(spec.reward) == "lower" else "higher"


def _of_score(spec: BenchmarkSpec, score: str) -> Direction | None:
    known = _declared(spec, score) or named_direction(score)
    if known is None and (
        score == spec.reward
        or any(
            score in scorer.score_names and scorer.type in _RATING | _RATING_MORE
            for scorer in spec.scorers
        )
    ):
        return "higher"
    return known


def _declared(spec: BenchmarkSpec, score: str) -> Direction | None:
    for scorer in spec.scorers:
        for each in getattr(scorer, "scores", None) or ():
            if getattr(each, "name", None) == score:
                found: Direction | None = each.direction
                return found
    return None
