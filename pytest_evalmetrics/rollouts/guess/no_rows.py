"""What to say where a file holds no rows of several tasks: a summary, or an error message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.layout import shortened
from pytest_evalmetrics.rollouts.name_words import last_part, word_set

if TYPE_CHECKING:
    from pytest_evalmetrics.errors import DataError
    from pytest_evalmetrics.rollouts.guess.candidates import Candidate
    from pytest_evalmetrics.rollouts.source import Source

_SHOWN: Final = 4  # names of objects
# the keys of a document that is a server's error, and those with its words
_MESSAGES_OF_ERRORS: Final = word_set(
    "message error detail msg title description reason"
)
_NAMES_OF_ERRORS: Final = _MESSAGES_OF_ERRORS | word_set(
    "status code statuscode type errors success ok documentation_url request_id requestid "
    "timestamp path trace traceid instance"
)


def no_rows(source: Source, best: Candidate | None) -> DataError:
    """Make the error of a file without rows of several tasks."""
    if best is None or not best.count:
        return source.error(
            "nothing in this file looks like rows",
            hint="rows are objects: one a line, or in a list that rows: names",
        )
    stated = _error_message(best)
    if stated:
        return source.error(
            f"this is an error message, not results: {stated}",
            hint="did the export or the download fail?",
        )
    groups = _groups_of_numbers(best)
    if groups:
        shown = ", ".join(groups[:_SHOWN])
        return source.error(
            f"the file holds few numbers in several objects: {shown}; is each number the "
            "reward of a task, or are they a summary?",
            hint=f"of tasks, write a benchmark file with rollouts: {{path: {source.shown}, "
            "rows: '*', keyed: id, fields: {task: [_parent._key, id], reward: value}}; "
            f"{_for_summary(best)}",
        )
    message = "there is one row, and a benchmark needs several tasks: is it a summary?"
    glob = "if each file is one task, name all files: a glob such as 'runs/*.json'"
    return source.error(message, hint=f"{glob}; {_for_summary(best)}")


def _groups_of_numbers(best: Candidate) -> list[str]:
    """Name the objects of a document that holds nothing but numbers in several objects."""
    groups: dict[str, None] = {}
    for path, column in best.columns.items():
        group, _, key = path.partition(".")
        if not key or column.numbers is None:
            return []
        groups[group] = None
    return list(groups) if len(groups) > 1 else []


def _error_message(best: Candidate) -> str:
    """Read the words of a document that is the error of a server; empty if it is none."""
    names = {path.partition(".")[0].lower() for path in best.columns}
    if not names <= _NAMES_OF_ERRORS:
        return ""
    for path, column in best.columns.items():
        if last_part(path).lower() in _MESSAGES_OF_ERRORS and column.are_texts:
            return shortened(column.texts[0])
    return ""


def _for_summary(best: Candidate) -> str:
    """Say how a single number is gated: by a threshold."""
    name = _first_of(best, str)
    number = _first_of(best, float)
    if name is None or number is None:
        return (
            "a summary is gated by a threshold in a Python test: evalmetrics.check([NUMBER], "
            "thresholds={'mean_reward': '>= ...'})"
        )
    if best.reward.chosen is not None:
        number = best.reward.chosen.path
    return (
        "a summary is gated by a threshold: name what it is of, and its number, such as "
        f"--task {name} --reward {number}"
    )


def _first_of(best: Candidate, kind: type[str | float]) -> str | None:
    """Find the first field with a value of a kind."""
    for path, column in best.columns.items():
        if any(isinstance(value, kind) for value in column.values):
            return path
    return None
