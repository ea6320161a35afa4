"""Results of promptfoo: ``results.json`` and ``results.jsonl``."""

from __future__ import annotations

import math
import re
from itertools import chain
from statistics import fmean
from typing import TYPE_CHECKING, Final

import msgspec

from pytest_evalmetrics.rollouts import json_values
from pytest_evalmetrics.rollouts.documents import Document, rows_of
from pytest_evalmetrics.rollouts.format_keys import PROMPTFOO_ROW
from pytest_evalmetrics.rollouts.not_judged import RolloutError
from pytest_evalmetrics.rollouts.tool_loader import ChunkBuilder, Rollout, ToolLoader
from pytest_evalmetrics.rollouts.tool_usage import usage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_evalmetrics.json_types import JsonMapping, JsonObject, JsonValue
    from pytest_evalmetrics.rollouts.source import Source

_PROMPTFOO: Final = "the results of promptfoo"
_VERSIONS: Final = (2, 3, 4)
_TESTS: Final = ("success", "score")
_ERROR: Final = 2  # of failureReason; 1 is an assertion that does not hold, 0 none
_NO_ASSERTIONS: Final = "No assertions"
_SCORING_FAILED: Final = "Scoring function error:"
_NEGATED: Final = "not-"
_variable = re.compile(r"\{\{\s*(\w+)\s*\}\}")
# How the reason begins if an assertion's own code, endpoint or judge failed.
_crashed = re.compile(
    r"(Python code execution failed|Error running Python script|Python assertion error"
    r"|Ruby code execution failed|Error running Ruby script|Custom function threw error"
    r"|Webhook error|Could not perform remote grading|Moderation API error"
    r"|Search rubric evaluation failed|Invalid regex pattern|Error parsing output"
    r"|Factuality checker output did not match expected format|Invalid category value"
    r"|API error|API call error|API response error)(:| in )"
    r"|HTTP call failed with status|No output$"
    r"|(llm-rubric|factuality|model-graded-closedqa) produced malformed"
    r"|Could not extract (JSON|context)|Could not parse context|Request timed out after"
).match
# How the reason begins if a judge of these types judged; any other is that of its failure.
_JUDGED: Final = {
    "similar": ("Similarity ", "None of the provided values met"),
    "classifier": ("Classification ", "Maximum classification score "),
    "model-graded-closedqa": ("The submission ",),
    "answer-relevance": ("Relevance ",),
    "context-recall": ("Recall ",),
    "context-relevance": ("Context relevance ", "Relevance "),
    "context-faithfulness": ("Faithfulness ",),
    "select-best": ("Output ",),
}
# the name of a test of a CSV
_is_row_number = re.compile(r"Row #\d+", re.IGNORECASE).match


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


def _listed_results(results: JsonMapping, source: Source) -> list[Result]:
    """List the results of a whole file of a known version."""
    written = results.get("version")
    if written is not None and written not in _VERSIONS:
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


def _variables(row: JsonMapping) -> JsonValue:
    return json_values.first(row, "testCase.vars", "vars")


def _title(row: JsonMapping) -> str:
    """Name a test by its description, else by its variables."""
    described = json_values.first(row, "testCase.description", "description")
    return str(described or json_values.brief(_variables(row)))


def _agent(row: JsonMapping, *, with_prompt: bool) -> JsonValue:
    """Name the provider, and the prompt if a file has several."""
    provider = row.get("provider")
    if isinstance(provider, dict):
        provider = json_values.first(provider, "label", "id")
    if with_prompt and isinstance(provider, str):
        return f"{provider}, {_prompt(row)}"
    return provider


def _prompt(row: JsonMapping) -> str:
    return str(json_values.first(row, "prompt.label", "promptIdx", "prompt.raw"))


def _compare_counts(
    rows: Sequence[JsonMapping],
    stats: JsonMapping,
    builder: ChunkBuilder,
) -> None:
    """Compare the counts that a file states with those of its results."""
    errors = sum(map(_has_error, rows))
    passed = sum(row.get("success") is True for row in rows)
    failures = len(rows) - passed
    if "errors" in stats:  # early versions counted errors as failures
        failures -= errors
    counts = {"successes": passed, "failures": failures, "errors": errors}
    for key, count in counts.items():
        builder.compare(f"{key} in its stats", stats.get(key), count)


def _measure_assertions(
    row: JsonMapping, version: JsonValue, builder: ChunkBuilder
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


def _usage_of_row(row: JsonMapping) -> dict[str, float]:
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


# -- scores ----------------------------------------------------------------------------------
#
# promptfoo counts an assertion that could not judge (its code, its endpoint or its judge failed) as
# a failure with a score of 0. Newer versions say so of some (graderError); of the others, and in
# older versions, only the reason tells.


class Grades(msgspec.Struct, frozen=True):
    """The scores of a result, None where nobody judged, and the reason."""

    scores: JsonMapping
    error: RolloutError | None = None


class Part(msgspec.Struct, frozen=True):
    """The result of an assertion, or of a set of them with those of its members."""

    result: JsonMapping
    members: Sequence[JsonMapping]

    @property
    def leaves(self) -> Sequence[JsonMapping]:
        """The results of single assertions."""
        return self.members or (self.result,)


def _grades(row: JsonMapping) -> Grades:
    """Read a result's scores, and why some are missing."""
    grading = json_values.mapping(row.get("gradingResult"))
    parts = _parts(json_values.objects(grading.get("componentResults")))
    scores: JsonObject = {name: row.get(name) for name in _TESTS}
    scores |= _named_scores(row, grading, parts)
    error = _error(row, grading)
    if error is not None:
        return Grades(scores=dict.fromkeys(scores), error=error)
    reason = str(grading.get("reason") or "")
    leaves = chain.from_iterable(part.leaves for part in parts)
    broken = [leaf for leaf in leaves if _grader_failed(leaf)]
    if broken:
        lost = _lost_scores(row, parts)
        reason = str(broken[0].get("reason") or row.get("error") or "")
    elif reason.startswith(_SCORING_FAILED):
        lost = set(_TESTS)
    else:
        return Grades(scores=scores)
    kept = dict(scores)
    for name in scores:
        if name in lost:
            kept[name] = None
    error = RolloutError(kind="the grader failed", message=reason, of_grader=True)
    return Grades(scores=kept, error=error)


def _error(row: JsonMapping, grading: JsonMapping) -> RolloutError | None:
    """Find why no assertion judged a result: an error, no output, or no assertions."""
    if _has_error(row) or _has_no_output(row):
        return RolloutError(kind="error", message=str(row.get("error") or ""))
    if grading.get("reason") == _NO_ASSERTIONS and not grading.get("componentResults"):
        message = "the test has no assertions"
        return RolloutError(kind="not scored", message=message, of_grader=True)
    return None


def _has_error(row: JsonMapping) -> bool:
    """Check whether promptfoo counts a result as an error."""
    reason = row.get("failureReason")
    if reason is not None:
        return bool(reason == _ERROR)
    # before there were reasons, an assertion that does not hold was an error as well
    return bool(row.get("error")) and not row.get("gradingResult")


def _has_no_output(row: JsonMapping) -> bool:
    """Check for a failure without a reason, which a result without output is."""
    if row.get("failureReason") != 0 or row.get("success") is not False:
        return False
    response = json_values.mapping(row.get("response"))
    return not row.get("gradingResult") and not response.get("output")


def _parts(results: Sequence[JsonObject]) -> list[Part]:
    """Put the results of sets together with those of their members, which follow them."""
    parts = []
    followed_until = 0
    for place, result in enumerate(results):
        if place < followed_until:
            continue
        members = json_values.objects(result.get("componentResults"))
        parts.append(Part(result=result, members=members))
        following = results[place + 1 : place + 1 + len(members)]
        if members and list(map(_outcome, following)) == list(map(_outcome, members)):
            followed_until = place + 1 + len(members)
    return parts


def _outcome(result: JsonMapping) -> tuple[JsonValue, ...]:
    return result.get("pass"), result.get("score"), result.get("reason")


# -- assertions that could not judge -------------------------------------------------------------


def _grader_failed(result: JsonMapping) -> bool:
    """Check whether an assertion could not judge."""
    if json_values.mapping(result.get("metadata")).get("graderError") is True:
        return True
    reason = result.get("reason")
    if _passed(result) or not isinstance(reason, str):
        return False
    judged = _JUDGED.get(_kind_of(result).removeprefix(_NEGATED))
    if judged is None:
        return _crashed(reason) is not None
    # a failure has the score 0, which `not-` may turn around
    return result.get("score") in (0, 1) and not reason.startswith(judged)


def _passed(result: JsonMapping) -> bool:
    """Check whether an assertion passed as such, not for its weight or its `not-`."""
    if result.get("pass") is False or _has_no_weight(result):
        return False
    return not _kind_of(result).startswith(_NEGATED)


def _kind_of(result: JsonMapping) -> str:
    return str(json_values.mapping(result.get("assertion")).get("type") or "")


def _has_no_weight(result: JsonMapping) -> bool:
    """Check for the weight 0, with which an assertion always passes."""
    return json_values.mapping(result.get("assertion")).get("weight") == 0


def _lost_scores(row: JsonMapping, parts: Sequence[Part]) -> set[str]:
    """Name the scores that assertions which could not judge are part of."""
    variables = json_values.mapping(_variables(row))
    lost: set[str] = set()
    for part in parts:
        broken = [leaf for leaf in part.leaves if _grader_failed(leaf)]
        for leaf in broken:
            lost |= _names_in(leaf, variables)
        if any(not _has_no_weight(leaf) for leaf in broken):
            lost.add("score")
            lost |= _names_of_set(part)
    if not _is_decided(row, parts):
        lost.add("success")
    return lost


def _is_decided(row: JsonMapping, parts: Sequence[Part]) -> bool:
    """Check whether a test failed or passed whatever the graders that failed would say."""
    test = json_values.mapping(row.get("testCase"))
    if test.get("assertScoringFunction") is not None:
        return False
    threshold = json_values.number(test.get("threshold"))
    if threshold is None and any(map(_fails_anyway, parts)):
        return True
    # a threshold is one of the mean score, to which the graders could only have added
    return row.get("success") is True and not any(map(_passes_by_failure, parts))


def _fails_anyway(part: Part) -> bool:
    """Check whether an assertion or a set fails for other reasons than a grader that failed."""
    if part.result.get("pass") is not False:
        return False
    if not any(map(_grader_failed, part.leaves)):
        return True
    settings = json_values.lookup(part.result, "metadata.assertionSet")
    if not isinstance(settings, dict) or "threshold" in settings:
        return False
    return any(
        leaf.get("pass") is False and not _grader_failed(leaf) for leaf in part.leaves
    )


def _passes_by_failure(part: Part) -> bool:
    """Check whether the failure of a grader was turned into a pass, as by `not-`."""
    return any(
        leaf.get("pass") is True and _grader_failed(leaf) and not _has_no_weight(leaf)
        for leaf in part.leaves
    )


# -- named scores --------------------------------------------------------------------------------


def _named_scores(
    row: JsonMapping,
    grading: JsonMapping,
    parts: Sequence[Part],
) -> JsonObject:
    """Read the named scores as means over the assertions of a name.

    Versions that write ``namedScoreWeights`` write means, and 0 if all of a name's assertions have
    no weight; those before wrote sums.
    """
    named = json_values.mapping(row.get("namedScores"))
    variables = json_values.mapping(_variables(row))
    weights = grading.get("namedScoreWeights")
    if isinstance(weights, dict):
        scores = dict(named)
        for name in named:
            if weights.get(name) == 0:
                contributions = list(_contributions(name, parts, variables))
                scores[name] = fmean(contributions) if contributions else None
        return scores
    counts = json_values.mapping(
        json_values.first(grading, "namedScoresCount") or row.get("namedScoresCount")
    )
    return {
        name: _mean_of(
            total, list(_contributions(name, parts, variables)), counts.get(name)
        )
        for name, total in named.items()
    }


def _metric_of(result: JsonMapping, variables: JsonMapping) -> str | None:
    """Get the name that an assertion's score has, which may hold variables of the test."""

    def filled_in(match: re.Match[str]) -> str:
        return str(variables.get(match[1], match[0]))

    metric = json_values.lookup(result, "assertion.metric")
    return _variable.sub(filled_in, metric) if isinstance(metric, str) else None


def _names_in(result: JsonMapping, variables: JsonMapping) -> set[str]:
    """Name the scores that an assertion contributes to."""
    names = set(json_values.mapping(result.get("namedScores")))
    metric = _metric_of(result, variables)
    if metric is not None:
        names.add(metric)
    return names


def _names_of_set(part: Part) -> set[str]:
    """Name the score of a set of assertions."""
    name = json_values.lookup(part.result, "metadata.assertionSet.metric")
    return {name} if isinstance(name, str) else set()


def _contributions(
    name: str, parts: Sequence[Part], variables: JsonMapping
) -> Iterator[float]:
    """Yield the scores of the assertions that have a name."""
    for part in parts:
        if part.members and name in _names_of_set(part):
            yield from _numbers(part.result.get("score"))
        for leaf in part.leaves:
            if _metric_of(leaf, variables) == name:
                yield from _numbers(leaf.get("score"))
            inner = json_values.mapping(leaf.get("namedScores"))
            yield from _numbers(inner.get(name))


def _numbers(value: JsonValue) -> Iterator[float]:
    amount = json_values.number(value)
    if amount is not None:
        yield amount


def _mean_of(total: JsonValue, scores: Sequence[float], count: JsonValue) -> JsonValue:
    """Divide a sum by the number of its scores; what is no sum of them stays."""
    amount = json_values.number(total)
    number = json_values.number(count)
    if amount is None:
        return total
    if number is not None and number >= 1:
        return amount / number
    summed = math.fsum(scores)
    is_sum = math.isclose(amount, summed, rel_tol=1e-9, abs_tol=1e-9)
    if len(scores) > 1 and is_sum:
        return amount / len(scores)
    return total
