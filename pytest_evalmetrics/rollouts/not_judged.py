"""Scores that nobody judged: an error beside a zero, a grader that failed, a NaN.

All loaders decide it here, those of other tools and those of plain rows. Such a score is missing,
with the words of the grader.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

import msgspec

from pytest_evalmetrics.rollouts import json_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pytest_evalmetrics.json_types import JsonObject, JsonValue

FAILURE_CLASS: Final = "_ng_failure_class"  # of a row in NeMo Gym's file of failures
_SCORING_FAILED: Final = "scoring_failed"
# where rows of any origin keep an error; the last one is tau-bench's. `error_message` is not
# among them: NeMo Gym's servers write there why they graded an answer as 0
_ERRORS: Final = (
    "error",
    "exception",
    "traceback",
    "judge_error",
    "grader_error",
    "scorer_error",
    "scoring_error",
    "evaluation_error",
    "info.error",
)
_FLAGS: Final = ("is_error", "has_error", "errored", "crashed")  # where they are true
_STATUS: Final = "status"
_CRASHED: Final = frozenset(
    (
        "error",
        "errored",
        "crashed",
        "exception",
        "infrastructure_error",
        "infra_error",
        "skipped",
        "cancelled",
        "canceled",
        "pending",
        "not_run",
        "not run",
        "not_evaluated",
        "unscored",
    )
)
_ENDED: Final = "termination_reason"
# tau2-bench's: neither the user's simulator nor the infrastructure is what is evaluated
_ENDED_BY_OTHERS: Final = frozenset(("user_error", "infrastructure_error"))
#: The paths in a row that `error_in` looks at.
SIGNS: Final = (FAILURE_CLASS, _SCORING_FAILED, *_ERRORS, *_FLAGS, _STATUS, _ENDED)
#: Those of an object inside of a row that holds a score.
SIGNS_BESIDE: Final = tuple(path for path in SIGNS if "." not in path)
_exception = re.compile(r"\s*([A-Za-z_][\w.]*)\s*[(:]").match


class RolloutError(msgspec.Struct, frozen=True):
    """What went wrong in a rollout or in its grading."""

    #: The kind of failure, such as the exception's name.
    kind: str
    #: The words of the tool.
    message: str = ""
    #: Whether the grading alone failed, so that the rollout can be scored again.
    of_grader: bool = False
    #: Whether the scores beside it are no verdicts whatever they are, not only zeros.
    voids: bool = False


def exception_of(message: JsonValue) -> RolloutError:
    """Take the exception's name from the start of a message, as in ``ValueError: no``."""
    text = str(message)
    match = _exception(text)
    return RolloutError(kind=match[1] if match else "error", message=text)


def error_in(values: Mapping[str, JsonValue]) -> RolloutError | None:
    """Find the error that a row states: at each path of `SIGNS` its value, if it has one."""
    failure = values.get(FAILURE_CLASS)
    if failure is not None:
        return RolloutError(kind=str(failure), voids=True)
    error = _first_error(values)
    if values.get(_SCORING_FAILED) is True:
        reason = "" if error is None else error.message
        return RolloutError("scoring_failed", reason, of_grader=True, voids=True)
    return error


def _first_error(values: Mapping[str, JsonValue]) -> RolloutError | None:
    """Find what a row states first: an error, a flag, a status, or why it ended."""
    for path in _ERRORS:
        error = _stated(values.get(path))
        if error is not None:
            return error
    if any(values.get(path) is True for path in _FLAGS):
        return RolloutError(kind="error")
    crashed = _crashed(values.get(_STATUS))
    if crashed is not None:
        return crashed
    ended = values.get(_ENDED)
    if isinstance(ended, str) and ended in _ENDED_BY_OTHERS:
        return RolloutError(kind=ended)
    return None


def _crashed(status: JsonValue) -> RolloutError | None:
    """Take a status as an error where it says that nobody judged: it crashed, was skipped."""
    if isinstance(status, str) and status.strip().casefold() in _CRASHED:
        return RolloutError(kind=f"status {status.strip()}")
    return None


def _stated(value: JsonValue) -> RolloutError | None:
    """Take a value as an error: text, an object or true; a list holds remarks of a grader."""
    if isinstance(value, dict) and value:
        kind = json_values.first(value, "type", "exception_type", "code", "name")
        message = json_values.first(value, "message", "exception_message", "detail")
        return RolloutError(kind=str(kind or "error"), message=str(message or value))
    if isinstance(value, str) and value.strip():
        return exception_of(value)
    if value is True:
        return RolloutError(kind="error")
    return None


def is_verdict(score: JsonValue) -> bool:
    """Check that a score is a finite number."""
    amount = json_values.number(score)
    return amount is not None and math.isfinite(amount)


def judged(
    scores: Mapping[str, JsonValue],
    error: RolloutError | None,
    rewards: Iterable[str] | None = None,
) -> JsonObject:
    """Void the scores beside an error if none of the rewards is more than a zero.

    `rewards` are the scores that show that somebody judged; None for all of them.
    """
    if error is None:
        return dict(scores)
    names = scores if rewards is None else rewards
    given = [scores[name] for name in names if is_verdict(scores.get(name))]
    if error.voids or not any(given):
        return dict.fromkeys(scores)
    return dict(scores)
