"""Results of promptfoo: ``results.json`` and ``results.jsonl``."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

import msgspec

from pytest_evalmetrics.rollouts import json_values
from pytest_evalmetrics.rollouts.documents import Document, rows_of
from pytest_evalmetrics.rollouts.format_keys import PROMPTFOO_ROW
from pytest_evalmetrics.rollouts.not_judged import RolloutError
from pytest_evalmetrics.rollouts.tool_loader import ChunkBuilder, Rollout, ToolLoader
from pytest_evalmetrics.rollouts.tool_usage import usage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_evalmetrics.json_types import JsonObject, JsonValue
    from pytest_evalmetrics.rollouts.source import Source

_PROMPTFOO: Final = "the results of promptfoo"
_VERSIONS: Final = (2, 3, 4)
_ERROR: Final = 2  # of failureReason; 1 is an assertion that does not hold
_TESTS: Final = ("success", "score")
_variable = re.compile(r"\{\{\s*(\w+)\s*\}\}")
# the name of a test of a CSV
_is_row_number = re.compile(r"Row #\d+", re.IGNORECASE).match
# How promptfoo begins the reason of an assertion whose own code or endpoint failed: it records
# this nowhere else, except for judges (graderError). From its assertions for Python, JavaScript,
# Ruby and webhooks, and from what they run.
_crashed = re.compile(
    r"(Python code execution failed|Error running Python script|Python assertion error"
    r"|Ruby code execution failed|Error running Ruby script|Custom function threw error"
    r"|Webhook error|Could not perform remote grading|API error|API call error)(:| in )"
).match


class Result(msgspec.Struct, frozen=True):
    """One result of a test: the row, and its name in messages."""

    name: str
    row: JsonObject


class Promptfoo(ToolLoader):
    """Reads ``results.json`` and ``.jsonl``: a test is a task, and its repeats are samples.

    A test is named by its description, else by its variables; the agent is the provider,
    with the prompt if there are several. Scores are success, score and the named ones.
    """

    def rollouts(self, source: Source, builder: ChunkBuilder) -> Iterator[Rollout]:
        """Yield the rollouts of one file."""
        if source.keys >= PROMPTFOO_ROW:
            version = None
            stats = {}
            results = [
                Result(name=source.at(place), row=row) for place, row in rows_of(source)
            ]
        else:
            document = Document.of(source, _PROMPTFOO)
            version = json_values.lookup(document.get("metadata"), "promptfooVersion")
            whole = document.object("results")
            stats = json_values.mapping(whole.get("stats"))
            results = _listed_results(whole, source)
        rows = [result.row for result in results]
        titles = [_title(row) for row in rows]
        contents = [_variables(row) for row in rows]
        tasks = json_values.distinct(titles, contents)
        several_prompts = len(set(map(_prompt, rows))) > 1
        for result, task, content in zip(results, tasks, contents, strict=True):
            row = result.row
            _measure_assertions(row, version, builder)
            grades = _grades(row)
            # an assertion passes from its threshold on, whatever it asserts
            builder.directions.update(dict.fromkeys(grades.scores, "higher"))
            yield Rollout(
                record=row,
                name=result.name,
                task=task,
                agent=_agent(row, with_prompt=several_prompts),
                scores=grades.scores,
                usage=_usage_of_row(row),
                error=grades.error,
                started=json_values.number(row.get("testIdx")),
                content=content,
                record_id=json_values.text(row.get("id")),
            )
        builder.positional = any(map(_is_row_number, titles))
        _compare_counts(rows, stats, builder)


def _listed_results(results: Mapping[str, JsonValue], source: Source) -> list[Result]:
    """List the results of a whole file of a known version."""
    written = results.get("version", _VERSIONS[0])
    if written not in _VERSIONS:
        known = ", ".join(map(str, _VERSIONS))
        raise source.error(
            f"{_PROMPTFOO} are of version {written!r}; known are {known}",
            hint="update pytest-evalmetrics, or write results.jsonl",
        )
    listed = results.get("results")
    if not isinstance(listed, list) or json_values.objects(listed) != listed:
        raise source.error(f"this looks like {_PROMPTFOO}, and has no list of results")
    return [
        Result(name=f"{source.shown}, result {number}", row=row)
        for number, row in enumerate(json_values.objects(listed))
    ]


def _variables(row: Mapping[str, JsonValue]) -> JsonValue:
    return json_values.first(row, "testCase.vars", "vars")


def _title(row: Mapping[str, JsonValue]) -> str:
    """Name a test by its description, else by its variables."""
    described = json_values.first(row, "testCase.description", "description")
    return str(described or json_values.brief(_variables(row)))


def _agent(row: Mapping[str, JsonValue], *, with_prompt: bool) -> JsonValue:
    """Name the provider, and the prompt if a file has several."""
    provider = row.get("provider")
    if isinstance(provider, dict):
        provider = json_values.first(provider, "label", "id")
    if with_prompt and isinstance(provider, str):
        return f"{provider}, {_prompt(row)}"
    return provider


def _prompt(row: Mapping[str, JsonValue]) -> str:
    return str(json_values.first(row, "prompt.label", "promptIdx", "prompt.raw"))


def _compare_counts(
    rows: Sequence[Mapping[str, JsonValue]],
    stats: Mapping[str, JsonValue],
    builder: ChunkBuilder,
) -> None:
    """Compare the counts that a file states with those of its results."""
    errors = sum(map(_failed, rows))
    passed = sum(row.get("success") is True for row in rows)
    failures = len(rows) - passed
    if "errors" in stats:  # early versions counted errors as failures
        failures -= errors
    counts = {"successes": passed, "failures": failures, "errors": errors}
    for key, count in counts.items():
        builder.compare(f"{key} in its stats", stats.get(key), count)


def _measure_assertions(
    row: Mapping[str, JsonValue], version: JsonValue, builder: ChunkBuilder
) -> None:
    test = json_values.mapping(row.get("testCase"))
    options = json_values.mapping(test.get("options"))
    scores = (*_TESTS, *json_values.mapping(row.get("namedScores")))
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


# -- scores ----------------------------------------------------------------------------------


class Grades(msgspec.Struct, frozen=True):
    """The scores of a result, None where nobody judged, and the reason."""

    scores: Mapping[str, JsonValue]
    error: RolloutError | None = None


def _grades(row: Mapping[str, JsonValue]) -> Grades:
    """Read a result's scores, and why some are missing."""
    parts = json_values.objects(
        json_values.lookup(row, "gradingResult.componentResults")
    )
    named = _named_scores(row, parts)
    scores = {name: row.get(name) for name in _TESTS} | named
    if _failed(row):
        error = RolloutError(kind="error", message=str(row.get("error") or ""))
        return Grades(scores=dict.fromkeys(scores), error=error)
    broken = [part for part in parts if _grader_failed(part)]
    if not broken:
        return Grades(scores=scores)
    # promptfoo counts an assertion that crashed as a failure with a score of 0
    lost = {"score"}.union(*(_named_in(part) for part in broken))
    if not _is_decided(row, parts):
        lost.add("success")
    kept = {name: None if name in lost else value for name, value in scores.items()}
    reason = broken[0].get("reason") or row.get("error") or ""
    error = RolloutError("the grader failed", str(reason), of_grader=True)
    return Grades(scores=kept, error=error)


def _is_decided(
    row: Mapping[str, JsonValue], parts: Sequence[Mapping[str, JsonValue]]
) -> bool:
    """Check whether a test failed or passed whatever the graders that failed would say."""
    threshold = json_values.number(json_values.lookup(row, "testCase.threshold"))
    if threshold is not None:  # of the mean score: the graders could only have added
        return row.get("success") is True
    return any(part.get("pass") is False and not _grader_failed(part) for part in parts)


def _grader_failed(part: Mapping[str, JsonValue]) -> bool:
    if json_values.lookup(part, "metadata.graderError") is True:
        return True
    reason = part.get("reason")
    failed = part.get("pass") is False
    return failed and isinstance(reason, str) and _crashed(reason) is not None


def _named_in(part: Mapping[str, JsonValue]) -> set[str]:
    """List the named scores that an assertion contributes to."""
    own = json_values.lookup(part, "assertion.metric")
    return {str(own), *json_values.mapping(part.get("namedScores"))}


def _named_scores(
    row: Mapping[str, JsonValue], parts: Sequence[Mapping[str, JsonValue]]
) -> JsonObject:
    """Read the named scores as means over the assertions of a name.

    Versions that write ``namedScoreWeights`` write means; those before wrote sums.
    """
    grading = json_values.mapping(row.get("gradingResult"))
    named = json_values.mapping(row.get("namedScores"))
    if "namedScoreWeights" in grading:
        return named
    counts = json_values.mapping(
        json_values.first(grading, "namedScoresCount") or row.get("namedScoresCount")
    )
    variables = json_values.mapping(_variables(row))
    return {
        name: _mean_of(total, _contributions(name, parts, variables), counts.get(name))
        for name, total in named.items()
    }


def _contributions(
    name: str,
    parts: Sequence[Mapping[str, JsonValue]],
    variables: Mapping[str, JsonValue],
) -> list[float]:
    """List the scores of the assertions that have a name, which may hold variables of the test."""

    def filled_in(match: re.Match[str]) -> str:
        return str(variables.get(match[1], match[0]))

    given = []
    for part in parts:
        metric = json_values.lookup(part, "assertion.metric")
        if isinstance(metric, str) and _variable.sub(filled_in, metric) == name:
            given.append(part.get("score"))
    given += [json_values.mapping(part.get("namedScores")).get(name) for part in parts]
    numbers = map(json_values.number, given)
    return [number for number in numbers if number is not None]


def _mean_of(total: JsonValue, scores: Sequence[float], count: JsonValue) -> JsonValue:
    """Divide a sum by the number of its scores; what is no sum of them stays."""
    amount = json_values.number(total)
    number = json_values.number(count)
    if amount is None:
        return total
    if number is not None and number >= 1:
        return amount / number
    is_sum = len(scores) > 1 and math.isclose(
        amount, math.fsum(scores), rel_tol=1e-9, abs_tol=1e-9
    )
    return amount / len(scores) if is_sum else total


def _failed(row: Mapping[str, JsonValue]) -> bool:
    reason = row.get("failureReason")
    if reason is not None:
        return bool(reason == _ERROR)
    # before there were reasons, an assertion that does not hold was an error as well
    return bool(row.get("error")) and not row.get("gradingResult")


def _usage_of_row(row: Mapping[str, JsonValue]) -> dict[str, float]:
    tokens = json_values.mapping(
        row.get("tokenUsage") or json_values.lookup(row, "response.tokenUsage")
    )
    counted = [
        json_values.number(tokens.get(key)) for key in ("prompt", "completion", "total")
    ]
    if not any(counted):  # an unknown count is written as 0
        tokens = {}
    elif not (tokens.get("prompt") or tokens.get("completion")):
        tokens = {key: tokens.get(key) for key in ("cached", "total")}
    cost = row.get("cost") or json_values.lookup(row, "response.cost")
    return usage({**tokens, "cost": cost}, latency_ms=row.get("latencyMs"))
