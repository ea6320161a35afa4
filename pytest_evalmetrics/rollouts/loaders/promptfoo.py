"""Results of promptfoo: ``results.json`` and ``results.jsonl``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from pytest_evalmetrics.rollouts import json_values
from pytest_evalmetrics.rollouts.documents import Document, rows_of
from pytest_evalmetrics.rollouts.formats import (
    PROMPTFOO_ROW,
)
from pytest_evalmetrics.rollouts.tool_loader import (
    ChunkBuilder,
    Rollout,
    ToolLoader,
    Ungraded,
)
from pytest_evalmetrics.rollouts.tool_usage import usage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_evalmetrics.ext import Source

_PROMPTFOO: Final = "the results of promptfoo"
_VERSIONS: Final = (2, 3, 4)
_ERROR: Final = 2  # of failureReason; 1 is an assertion that does not hold
_is_row_number = re.compile(
    r"Row #\d+", re.IGNORECASE
).match  # the name of a test of a CSV


class Promptfoo(ToolLoader):
    """Reads ``results.json`` and ``.jsonl``: a test is a task, and its repeats are samples.

    A test is named by its description, else by its variables; the agent is the provider,
    with the prompt if there are several. Scores are success, score and the named ones.
    """

    def _rollouts(self, source: Source, builder: ChunkBuilder) -> Iterator[Rollout]:
        results: Mapping[str, Any] = {}
        version = None
        if source.keys >= PROMPTFOO_ROW:
            named = [(source.at(place), row) for place, row in rows_of(source)]
        else:
            document = Document.of(source, _PROMPTFOO)
            version = json_values.lookup(document.get("metadata"), "promptfooVersion")
            results = document.object("results")
            written = results.get("version", _VERSIONS[0])
            if written not in _VERSIONS:
                raise source.error(
                    f"{_PROMPTFOO} are of version {written!r}; known are "
                    f"{', '.join(map(str, _VERSIONS))}",
                    hint="update pytest-evalmetrics, or write results.jsonl",
                )
            listed = results.get("results")
            if not isinstance(listed, list) or json_values.objects(listed) != listed:
                raise source.error(
                    f"this looks like {_PROMPTFOO}, and has no list of results"
                )
            named = [
                (f"{source.shown}, result {n}", row) for n, row in enumerate(listed)
            ]
        rows = [row for _, row in named]
        contents = [json_values.first(row, "testCase.vars", "vars") for row in rows]
        titles = [
            str(
                json_values.first(row, "testCase.description", "description")
                or json_values.brief(content)
            )
            for row, content in zip(rows, contents, strict=True)
        ]
        several = len(set(map(_prompt, rows))) > 1
        tasks = json_values.distinct(titles, contents)
        for (name, row), task, content in zip(named, tasks, contents, strict=True):
            scores, error = _scores_of_row(row)
            _measure_assertions(row, version, builder)
            agent = row.get("provider")
            if isinstance(agent, dict):
                agent = json_values.first(agent, "label", "id")
            yield Rollout(
                record=row,
                name=name,
                task=task,
                agent=f"{agent}, {_prompt(row)}"
                if several and isinstance(agent, str)
                else agent,
                scores=scores,
                usage=_usage_of_row(row),
                error=error,
                started=json_values.number(row.get("testIdx")),
                content=content,
            )
        builder.positional = any(map(_is_row_number, titles))
        stats = json_values.mapping(results.get("stats"))
        errors, passed = (
            sum(map(_failed, rows)),
            sum(row.get("success") is True for row in rows),
        )
        failures = (
            len(rows) - passed - (errors if "errors" in stats else 0)
        )  # as early versions
        counts = {"successes": passed, "failures": failures, "errors": errors}
        for key, count in counts.items():
            builder.compare(f"{key} in its stats", stats.get(key), count)


def _measure_assertions(
    row: Mapping[str, Any], version: Any, builder: ChunkBuilder
) -> None:
    test = json_values.mapping(row.get("testCase"))
    options = json_values.mapping(test.get("options"))
    scores = ("success", "score", *json_values.mapping(row.get("namedScores")))
    for assertion in json_values.objects(test.get("assert")):
        settings = {
            "version": version,
            **{key: value for key, value in assertion.items() if key != "type"},
            "grader": options.get("provider"),
            "rubric": options.get("rubricPrompt"),
            "pass_at": test.get("threshold"),
        }
        builder.measured(
            f"promptfoo {assertion.get('type')}", scores, settings, own="value"
        )


def _scores_of_row(
    row: Mapping[str, Any],
) -> tuple[dict[str, Any], tuple[Any, Any] | None]:
    """Read a result's scores, and why some are missing."""
    scores = {name: row.get(name) for name in ("success", "score")}
    scores.update(json_values.mapping(row.get("namedScores")))
    if _failed(row):
        return dict.fromkeys(scores), ("error", row.get("error"))
    parts = json_values.objects(
        json_values.lookup(row, "gradingResult.componentResults")
    )
    broken = [
        part
        for part in parts
        if json_values.lookup(part, "metadata.graderError") is True
    ]
    if not broken:
        return scores, None
    # the tool counts an error of its judge as a failure with a score of 0
    lost = {
        "score",
        *(str(json_values.lookup(part, "assertion.metric")) for part in broken),
    }
    if not any(part.get("pass") is False for part in parts if part not in broken):
        lost.add("success")
    kept = {name: None if name in lost else value for name, value in scores.items()}
    reason = broken[0].get("reason") or row.get("error")
    return kept, Ungraded(("the grader failed", reason))


def _prompt(row: Mapping[str, Any]) -> str:
    return str(json_values.first(row, "prompt.label", "promptIdx", "prompt.raw"))


def _failed(row: Mapping[str, Any]) -> bool:
    reason = row.get("failureReason")
    if reason is not None:
        return bool(reason == _ERROR)
    # before there were reasons, an assertion that does not hold was an error as well
    return bool(row.get("error")) and not row.get("gradingResult")


def _usage_of_row(row: Mapping[str, Any]) -> dict[str, float]:
    tokens = json_values.mapping(
        row.get("tokenUsage") or json_values.lookup(row, "response.tokenUsage")
    )
    # an unknown count is written as 0
    if not any(
        json_values.number(tokens.get(key)) for key in ("prompt", "completion", "total")
    ):
        tokens = {}
    elif not (tokens.get("prompt") or tokens.get("completion")):
        tokens = {key: tokens.get(key) for key in ("cached", "total")}
    cost = row.get("cost") or json_values.lookup(row, "response.cost")
    return usage({**tokens, "cost": cost}, latency_ms=row.get("latencyMs"))
