"""Reports of pydantic-evals."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.rollouts import json_values
from pytest_evalmetrics.rollouts.documents import Document
from pytest_evalmetrics.rollouts.not_judged import RolloutError, exception_of
from pytest_evalmetrics.rollouts.tool_loader import ChunkBuilder, Rollout, ToolLoader
from pytest_evalmetrics.rollouts.tool_usage import usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_evalmetrics.json_types import JsonMapping, JsonObject, JsonValue
    from pytest_evalmetrics.rollouts.source import Source

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
# the name of a case that was given none
_is_numbered = re.compile(r"Case \d+").fullmatch


class PydanticEvals(ToolLoader):
    """Reads a report of ``EvaluationReportAdapter``: a case is a task, and its runs are samples.

    Scores and assertions are scores by their names; labels can be named as fields. A case
    whose task raised is missing, and so are the scores of an evaluator that raised.
    """

    def rollouts(self, source: Source, builder: ChunkBuilder) -> Iterator[Rollout]:
        """Yield the rollouts of one file."""
        report = Document.of(source, "a report of pydantic-evals")
        builder.positional = True
        for kind in ("cases", "failures"):
            for index, case in enumerate(report.items(kind) or ()):
                name = f"{source.shown}, {kind}[{index}]"
                if not isinstance(case.get("name"), str):
                    raise source.error(
                        f"{name} has no name", hint="was the report changed since?"
                    )
                rollout = _rollout(case, name, builder)
                builder.positional &= bool(_is_numbered(str(rollout.task)))
                yield rollout


def _rollout(case: JsonMapping, name: str, builder: ChunkBuilder) -> Rollout:
    """Make the rollout of a case that has a name."""
    task = str(case["name"])
    sample = None
    original = case.get("source_case_name")
    if isinstance(original, str):
        run = _run(task)
        if run is not None and run["name"] == original:
            sample = int(run["number"]) - 1
        task = original
    scores, error = _judged_by_evaluators(case, builder)
    metrics = json_values.mapping(case.get("metrics"))
    labels = json_values.mapping(case.get("labels"))
    content: JsonValue = None
    if case.get("inputs") is not None:
        content = [case["inputs"], case.get("expected_output")]
    return Rollout(
        record={**case, **{label: _value(given) for label, given in labels.items()}},
        name=name,
        task=task,
        sample=sample,
        scores={
            **scores,
            **{key: value for key, value in metrics.items() if key not in _USAGE},
        },
        usage=usage(
            {key: metrics.get(key) for key in _USAGE},
            latency_s=case.get("task_duration"),
        ),
        error=error,
        rewards=tuple(scores),
        content=content,
    )


def _judged_by_evaluators(
    case: JsonMapping, builder: ChunkBuilder
) -> tuple[JsonObject, RolloutError | None]:
    """Read a case's scores, and the exception of its task or of an evaluator."""
    scores: JsonObject = {}
    for kind in ("scores", "assertions"):
        for name, result in json_values.mapping(case.get(kind)).items():
            settings = {
                "evaluator": json_values.lookup(result, "source.name"),
                "arguments": json_values.lookup(result, "source.arguments"),
                "version": json_values.lookup(result, "evaluator_version"),
            }
            second = f"assertion.{name}"
            builder.measured(
                f"pydantic_evals {name}", (name, second), settings, "arguments"
            )
            column = second if name in scores else name
            scores[column] = _value(result)
            if kind == "assertions":  # true is what was asserted
                builder.directions[column] = "higher"
    if "error_message" in case:
        return scores, exception_of(case["error_message"] or "")
    for failure in json_values.objects(case.get("evaluator_failures")):
        name = str(failure.get("name") or "an evaluator")
        message = json_values.first(failure, "error_message", "error_type")
        error = RolloutError(
            kind=f"{name} was not judged", message=str(message or ""), of_grader=True
        )
        return {**scores, name: scores.get(name)}, error
    return scores, None


def _value(result: JsonValue) -> JsonValue:
    return result.get("value") if isinstance(result, dict) else result
