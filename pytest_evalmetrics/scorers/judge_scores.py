"""Scores in what a judge said: keys of JSON, groups of a pattern, labels of a rubric."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics.chat import json_in
from pytest_evalmetrics.errors import RowError, did_you_mean
from pytest_evalmetrics.scorers.prompts.schemas import choice, closed
from pytest_evalmetrics.scorers.reading import as_number, shown, within
from pytest_evalmetrics.transport import needs_extra

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_evalmetrics.chat import Reply
    from pytest_evalmetrics.spec import JsonParserSpec, JudgeScoreSpec, RegexParserSpec

__all__ = ["reader_of", "schema_of"]


def reader_of(score: JudgeScoreSpec) -> Callable[[Reply], float]:
    """Make what reads one score."""
    parser = score.found_by
    find = _in_json(parser) if parser.type == "json" else _in_text(parser)
    labels = {one.label: one.value for one in score.rubric or ()}

    def read(reply: Reply) -> float:
        found = find(reply)
        if labels:
            if not isinstance(found, str) or found not in labels:
                known = did_you_mean(str(found), labels, what="its labels")
                raise RowError(
                    "no-label", f"the judge's {score.name} is {shown(found)}, no label: {known}"
                )
            return labels[found]
        if parser.type == "json" and isinstance(found, str):
            raise RowError(
                "no-number", f"the judge's {score.name} is {shown(found)}, expected a number"
            )
        return within(
            score.name,
            as_number(found, f"the judge's {score.name}"),
            score.minimum,
            score.maximum,
        )

    return read


def schema_of(scores: Sequence[JudgeScoreSpec]) -> dict[str, Any] | None:
    """Give the JSON Schema of an answer that holds all scores; None where they are no keys."""
    found: dict[str, dict[str, Any]] = {}
    for score in scores:
        parser = score.found_by
        if parser.type != "json" or parser.json_path.startswith("$"):
            return None
        about = choice(*(one.label for one in score.rubric)) if score.rubric else _number(score)
        if score.description:
            about = {**about, "description": score.description}
        found[parser.json_path] = about
    return closed(**found)


def _number(score: JudgeScoreSpec) -> dict[str, Any]:
    # a range is said in words: not every endpoint takes it in a strict schema
    whole = all(b is not None and math.isfinite(b) for b in (score.minimum, score.maximum))
    if not whole:
        return {"type": "number"}
    return {"type": "number", "description": f"from {score.minimum:.12g} to {score.maximum:.12g}"}


def _in_json(parser: JsonParserSpec) -> Callable[[Reply], Any]:
    key = parser.json_path
    if not key.startswith("$"):

        def by_key(reply: Reply) -> Any:
            said = json_in(reply)
            if not isinstance(said, dict) or key not in said:
                raise RowError("no-score", f"the judge's answer has no {key!r}: {shown(said)}")
            return said[key]

        return by_key
    with needs_extra("remote", "the scorer llm-judge"):
        from pytest_evalmetrics.expressions.json_paths import JsonPath  # noqa: PLC0415 - of the extra

        path = JsonPath(key)

    def by_path(reply: Reply) -> Any:
        said = json_in(reply)
        matches, value = path.first(said)
        if not matches:
            raise RowError("no-score", f"the judge's answer has nothing at {key}: {shown(said)}")
        return value

    return by_path


def _in_text(parser: RegexParserSpec) -> Callable[[Reply], str]:
    pattern = re.compile(parser.pattern)
    look = pattern.search if parser.method == "search" else pattern.match

    def by_pattern(reply: Reply) -> str:
        match = look(reply.text)
        found = None if match is None else match[parser.group]
        if found is None:
            hint = "" if parser.method == "search" else " (method: search looks anywhere)"
            raise RowError(
                "no-score",
                f"the judge's answer does not match {parser.pattern!r}{hint}: {shown(reply.text)}",
            )
        return str(found)

    return by_pattern
