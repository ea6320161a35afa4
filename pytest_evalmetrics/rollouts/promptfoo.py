"""Results of promptfoo: ``-o results.json`` and ``-o results.jsonl``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from pytest_evalmetrics.rollouts import foreign
from pytest_evalmetrics.rollouts.foreign import Document, Rollout, ToolLoader, Ungraded
from pytest_evalmetrics.rollouts.formats import PROMPTFOO_ROW

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_evalmetrics.ext import Source

_WHAT: Final = "the results of promptfoo"
_VERSIONS: Final = (2, 3, 4)
_ERROR: Final = 2  # of failureReason; 1 is an assertion that does not hold
_is_numbered = re.compile(r"Row #\d+", re.IGNORECASE).match  # the name of a test of a CSV


class Promptfoo(ToolLoader):
    """Reads results: a test is a task, the repeats of it are its samples.

    A test is named by its description, else by its variables; the agent is the provider,
    with the prompt where there are several. Scores are success, score and the named ones.
    """

    def _rollouts(self, source: Source, builder: foreign.ChunkBuilder) -> Iterator[Rollout]:
        results: Mapping[str, Any] = {}
        version = None
        if source.keys >= PROMPTFOO_ROW:
            named = [(source.at(place), row) for place, row in foreign.rows_of(source)]
        else:
            document = Document.of(source, _WHAT)
            version = foreign.lookup(document.get("metadata"), "promptfooVersion")
            results = document.object("results")
            written = results.get("version", _VERSIONS[0])
            if written not in _VERSIONS:
                raise source.error(
                    f"{_WHAT} are of version {written!r}; known are "
                    f"{', '.join(map(str, _VERSIONS))}",
                    hint="update pytest-evalmetrics, or write results.jsonl",
                )
            listed = results.get("results")
            if not isinstance(listed, list) or foreign.objects(listed) != listed:
                raise source.error(f"this looks like {_WHAT}, and has no list of results")
            named = [(f"{source.shown}, result {n}", row) for n, row in enumerate(listed)]
        rows = [row for _, row in named]
        contents = [foreign.first(row, "testCase.vars", "vars") for row in rows]
        titles = [
            str(foreign.first(row, "testCase.description", "description") or foreign.brief(content))
            for row, content in zip(rows, contents, strict=True)
        ]
        several = len(set(map(_prompt, rows))) > 1
        tasks = foreign.distinct(titles, contents)
        for (name, row), task, content in zip(named, tasks, contents, strict=True):
            scores, error = _graded(row)
            _measure(row, version, builder)
            yield Rollout(
                record=row,
                name=name,
                task=task,
                agent=_agent(row, several),
                scores=scores,
                usage=_usage(row),
                error=error,
                started=foreign.number(row.get("testIdx")),
                content=content,
            )
        builder.positional = any(map(_is_numbered, titles))
        stats = foreign.mapping(results.get("stats"))
        errors, passed = sum(map(_failed, rows)), sum(row.get("success") is True for row in rows)
        failures = len(rows) - passed - (errors if "errors" in stats else 0)  # as early versions
        counts = {"successes": passed, "failures": failures, "errors": errors}
        for key, count in counts.items():
            builder.compare(f"{key} in its stats", stats.get(key), count)


def _measure(row: Mapping[str, Any], version: Any, builder: foreign.ChunkBuilder) -> None:
    test = foreign.mapping(row.get("testCase"))
    options = foreign.mapping(test.get("options"))
    scores = ("success", "score", *foreign.mapping(row.get("namedScores")))
    for assertion in foreign.objects(test.get("assert")):
        settings = {
            "version": version,
            **{key: value for key, value in assertion.items() if key != "type"},
            "grader": options.get("provider"),
            "rubric": options.get("rubricPrompt"),
            "pass_at": test.get("threshold"),
        }
        builder.measured(f"promptfoo {assertion.get('type')}", scores, settings, own="value")


def _graded(row: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[Any, Any] | None]:
    """Read a result's scores, and why some are missing."""
    scores: dict[str, Any] = {
        "success": row.get("success"),
        "score": row.get("score"),
        **foreign.mapping(row.get("namedScores")),
    }
    if _failed(row):
        return dict.fromkeys(scores), ("error", row.get("error"))
    parts = foreign.objects(foreign.lookup(row, "gradingResult.componentResults"))
    broken = [part for part in parts if foreign.lookup(part, "metadata.graderError") is True]
    if not broken:
        return scores, None
    # the tool counts what its judge could not answer as a failure, with a score of 0
    lost = {"score", *(str(foreign.lookup(part, "assertion.metric")) for part in broken)}
    if not any(part.get("pass") is False for part in parts if part not in broken):
        lost.add("success")
    kept = {name: None if name in lost else value for name, value in scores.items()}
    return kept, Ungraded("the grader failed", broken[0].get("reason") or row.get("error"))


def _prompt(row: Mapping[str, Any]) -> str:
    return str(foreign.first(row, "prompt.label", "promptIdx", "prompt.raw"))


def _agent(row: Mapping[str, Any], several: bool) -> str | None:
    provider = row.get("provider")
    if isinstance(provider, dict):
        provider = foreign.first(provider, "label", "id")
    return f"{provider}, {_prompt(row)}" if several and isinstance(provider, str) else provider


def _failed(row: Mapping[str, Any]) -> bool:
    reason = row.get("failureReason")
    if reason is not None:
        return bool(reason == _ERROR)
    # before there were reasons, an assertion that does not hold was an error as well
    return bool(row.get("error")) and not row.get("gradingResult")


def _usage(row: Mapping[str, Any]) -> dict[str, float]:
    tokens = foreign.mapping(row.get("tokenUsage") or foreign.lookup(row, "response.tokenUsage"))
    # what a provider does not state is written as 0
    stated = {key: tokens.get(key) for key in ("prompt", "completion", "total")}
    if not any(map(foreign.number, stated.values())):
        tokens = {}
    elif not (stated["prompt"] or stated["completion"]):
        tokens = {**tokens, "prompt": None, "completion": None}
    cost = row.get("cost") or foreign.lookup(row, "response.cost")
    return foreign.usage(
        {**tokens, "cost": cost},
        latency_ms=row.get("latencyMs"),
        prompt_tokens="prompt",
        completion_tokens="completion",
        cached_tokens="cached",
        total_tokens="total",
        cost_usd="cost",
    )
