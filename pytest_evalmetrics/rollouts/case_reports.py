"""Reports of test cases: promptfoo's results, deepeval's test runs, pydantic-evals' reports."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from pytest_evalmetrics.rollouts import foreign
from pytest_evalmetrics.rollouts.foreign import (
    ChunkBuilder,
    Document,
    Rollout,
    ToolLoader,
)
from pytest_evalmetrics.rollouts.formats import (
    DEEPEVAL_CASES,
    DEEPEVAL_METRICS,
    PROMPTFOO_ROW,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_evalmetrics.ext import Source

# -- promptfoo -------------------------------------------------------------------------------

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
            named = [(source.at(place), row) for place, row in foreign.rows_of(source)]
        else:
            document = Document.of(source, _PROMPTFOO)
            version = foreign.lookup(document.get("metadata"), "promptfooVersion")
            results = document.object("results")
            written = results.get("version", _VERSIONS[0])
            if written not in _VERSIONS:
                raise source.error(
                    f"{_PROMPTFOO} are of version {written!r}; known are "
                    f"{', '.join(map(str, _VERSIONS))}",
                    hint="update pytest-evalmetrics, or write results.jsonl",
                )
            listed = results.get("results")
            if not isinstance(listed, list) or foreign.objects(listed) != listed:
                raise source.error(
                    f"this looks like {_PROMPTFOO}, and has no list of results"
                )
            named = [
                (f"{source.shown}, result {n}", row) for n, row in enumerate(listed)
            ]
        rows = [row for _, row in named]
        contents = [foreign.first(row, "testCase.vars", "vars") for row in rows]
        titles = [
            str(
                foreign.first(row, "testCase.description", "description")
                or foreign.brief(content)
            )
            for row, content in zip(rows, contents, strict=True)
        ]
        several = len(set(map(_prompt, rows))) > 1
        tasks = foreign.distinct(titles, contents)
        for (name, row), task, content in zip(named, tasks, contents, strict=True):
            scores, error = _scores_of_row(row)
            _measure_assertions(row, version, builder)
            agent = row.get("provider")
            if isinstance(agent, dict):
                agent = foreign.first(agent, "label", "id")
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
                started=foreign.number(row.get("testIdx")),
                content=content,
            )
        builder.positional = any(map(_is_row_number, titles))
        stats = foreign.mapping(results.get("stats"))
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
        builder.measured(
            f"promptfoo {assertion.get('type')}", scores, settings, own="value"
        )


def _scores_of_row(
    row: Mapping[str, Any],
) -> tuple[dict[str, Any], tuple[Any, Any] | None]:
    """Read a result's scores, and why some are missing."""
    scores = {name: row.get(name) for name in ("success", "score")}
    scores.update(foreign.mapping(row.get("namedScores")))
    if _failed(row):
        return dict.fromkeys(scores), ("error", row.get("error"))
    parts = foreign.objects(foreign.lookup(row, "gradingResult.componentResults"))
    broken = [
        part for part in parts if foreign.lookup(part, "metadata.graderError") is True
    ]
    if not broken:
        return scores, None
    # the tool counts an error of its judge as a failure with a score of 0
    lost = {
        "score",
        *(str(foreign.lookup(part, "assertion.metric")) for part in broken),
    }
    if not any(part.get("pass") is False for part in parts if part not in broken):
        lost.add("success")
    kept = {name: None if name in lost else value for name, value in scores.items()}
    reason = broken[0].get("reason") or row.get("error")
    return kept, foreign.Ungraded(("the grader failed", reason))


def _prompt(row: Mapping[str, Any]) -> str:
    return str(foreign.first(row, "prompt.label", "promptIdx", "prompt.raw"))


def _failed(row: Mapping[str, Any]) -> bool:
    reason = row.get("failureReason")
    if reason is not None:
        return bool(reason == _ERROR)
    # before there were reasons, an assertion that does not hold was an error as well
    return bool(row.get("error")) and not row.get("gradingResult")


def _usage_of_row(row: Mapping[str, Any]) -> dict[str, float]:
    tokens = foreign.mapping(
        row.get("tokenUsage") or foreign.lookup(row, "response.tokenUsage")
    )
    # an unknown count is written as 0
    if not any(
        foreign.number(tokens.get(key)) for key in ("prompt", "completion", "total")
    ):
        tokens = {}
    elif not (tokens.get("prompt") or tokens.get("completion")):
        tokens = {key: tokens.get(key) for key in ("cached", "total")}
    cost = row.get("cost") or foreign.lookup(row, "response.cost")
    return foreign.usage({**tokens, "cost": cost}, latency_ms=row.get("latencyMs"))


# -- deepeval --------------------------------------------------------------------------------

_SETTINGS: Final = (
    "threshold",
    "strictMode",
    "strict_mode",
    "evaluationModel",
    "evaluation_model",
)
_is_case_number = re.compile(
    r"test_case_\d+"
).match  # the name of a case that was given none


class DeepEval(ToolLoader):
    """Reads a test run: a test case is a task, and repeats of its name and input are its samples.

    Each metric is a score by its name; ``success`` says whether all of them were passed, and
    is missing where a metric could not be judged and no other one failed.
    """

    def _rollouts(self, source: Source, builder: ChunkBuilder) -> Iterator[Rollout]:
        run = Document.of(source, "a test run of deepeval")
        cases = [
            (f"{source.shown}, {kind}[{n}]", case)
            for kind in DEEPEVAL_CASES
            for n, case in enumerate(run.items(kind) or ())
        ]
        titles = [str(case.get("name") or name) for name, case in cases]
        inputs = [foreign.first(case, "input", "scenario") for _, case in cases]
        tasks = foreign.distinct(titles, inputs)
        builder.positional = any(map(_is_case_number, titles))
        for (name, case), given, task in zip(cases, inputs, tasks, strict=True):
            scores, error = _judged_by_metrics(case, builder)
            expected = foreign.first(case, "expectedOutput", "expected_output")
            yield Rollout(
                record=case,
                name=name,
                task=task,
                agent=foreign.lookup(run.get("hyperparameters"), "model"),
                scores=scores,
                usage=foreign.usage(case, latency_s=case.get("completionTime")),
                error=error,
                started=foreign.number(case.get("order")),
                content=None if given is None else [given, expected],
            )
        for key, success in (("testPassed", True), ("testFailed", False)):
            count = sum(case.get("success") is success for _, case in cases)
            builder.compare(key, run.get(key), count)


def _judged_by_metrics(
    case: Mapping[str, Any], builder: ChunkBuilder
) -> tuple[dict[str, Any], foreign.Ungraded | None]:
    """Read a case's scores, and the first of its metrics that could not be judged."""
    scores: dict[str, Any] = {"success": case.get("success")}
    error = None
    failed = unsure = False
    lists = (foreign.objects(case.get(key)) for key in DEEPEVAL_METRICS)
    for metric in next(filter(None, lists), []):
        name = str(foreign.first(metric, "name", "metric"))
        settings = {key: metric.get(key) for key in _SETTINGS}
        builder.measured(f"deepeval {name}", (name, "success"), settings)
        if name in scores:  # two metrics may have one name
            name += f" {1 + sum(score.startswith(name) for score in scores)}"
        broken = bool(metric.get("error")) or metric.get("score") is None
        scores[name] = None if broken else metric["score"]
        if broken:
            error = error or foreign.Ungraded(
                (f"{name} was not judged", metric.get("error"))
            )
        if not metric.get("flaky"):
            unsure |= broken
            failed |= not broken and metric.get("success") is False
    if unsure and not failed:  # the tool counts an error of its judge as a failure
        scores["success"] = None
    return scores, error


# -- pydantic-evals --------------------------------------------------------------------------

# where a case's metrics have our usage
_USAGE: Final = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "total_tokens",
    "cost",
)
_run = re.compile(
    r"(?P<name>.*) \[(?P<number>[1-9]\d*)/[1-9]\d*\]", re.DOTALL
).fullmatch
_is_numbered = re.compile(
    r"Case \d+"
).fullmatch  # the name of a case that was given none


class PydanticEvals(ToolLoader):
    """Reads a report of ``EvaluationReportAdapter``: a case is a task, and its runs are samples.

    Scores and assertions are scores by their names; labels can be named as fields. A case
    whose task raised is missing, and so are the scores of an evaluator that raised.
    """

    def _rollouts(self, source: Source, builder: ChunkBuilder) -> Iterator[Rollout]:
        report = Document.of(source, "a report of pydantic-evals")
        builder.positional = True
        for kind in ("cases", "failures"):
            for index, case in enumerate(report.items(kind) or ()):
                name = f"{source.shown}, {kind}[{index}]"
                task, original, sample = (
                    case.get("name"),
                    case.get("source_case_name"),
                    None,
                )
                if not isinstance(task, str):
                    raise source.error(
                        f"{name} has no name", hint="was the report changed since?"
                    )
                if isinstance(original, str):
                    run = _run(task)
                    sample = (
                        int(run["number"]) - 1
                        if run and run["name"] == original
                        else None
                    )
                    task = original
                builder.positional &= bool(_is_numbered(task))
                scores, error = _judged_by_evaluators(case, builder)
                labels = foreign.mapping(case.get("labels")).items()
                metrics = foreign.mapping(case.get("metrics"))
                steps = {n: v for n, v in metrics.items() if n not in _USAGE}
                given = case.get("inputs")
                yield Rollout(
                    record={
                        **case,
                        **{label: _value(result) for label, result in labels},
                    },
                    name=name,
                    task=task,
                    sample=sample,
                    scores={**scores, **steps},
                    usage=foreign.usage(
                        {name: metrics.get(name) for name in _USAGE},
                        latency_s=case.get("task_duration"),
                    ),
                    error=error,
                    rewards=tuple(scores),
                    content=None
                    if given is None
                    else [given, case.get("expected_output")],
                )


def _judged_by_evaluators(
    case: Mapping[str, Any], builder: ChunkBuilder
) -> tuple[dict[str, Any], tuple[str, str] | None]:
    """Read a case's scores, and the exception of its task or of an evaluator."""
    scores: dict[str, Any] = {}
    for kind in ("scores", "assertions"):
        for name, result in foreign.mapping(case.get(kind)).items():
            settings = {
                "evaluator": foreign.lookup(result, "source.name"),
                "arguments": foreign.lookup(result, "source.arguments"),
                "version": foreign.lookup(result, "evaluator_version"),
            }
            second = f"assertion.{name}"
            builder.measured(
                f"pydantic_evals {name}", (name, second), settings, "arguments"
            )
            scores[second if name in scores else name] = _value(result)
    if "error_message" in case:
        return scores, foreign.error_of(str(case["error_message"] or ""))
    for failure in foreign.objects(case.get("evaluator_failures")):
        name = str(failure.get("name") or "an evaluator")
        message = foreign.first(failure, "error_message", "error_type")
        return {**scores, name: scores.get(name)}, foreign.Ungraded(
            (f"{name} was not judged", message)
        )
    return scores, None


def _value(result: Any) -> Any:
    return result.get("value") if isinstance(result, dict) else result
