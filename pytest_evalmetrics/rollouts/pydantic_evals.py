"""Reports of pydantic-evals, as ``EvaluationReportAdapter`` writes them to JSON."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from pytest_evalmetrics.rollouts import foreign
from pytest_evalmetrics.rollouts.foreign import Document, Rollout, ToolLoader, Ungraded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_evalmetrics.ext import Source

_USAGE: Final = {  # where a case's metrics have our usage
    "prompt_tokens": "input_tokens",
    "completion_tokens": "output_tokens",
    "cached_tokens": "cache_read_tokens",
    "total_tokens": "total_tokens",
    "cost_usd": "cost",
}
_run = re.compile(r"(?P<name>.*) \[(?P<number>[1-9]\d*)/[1-9]\d*\]", re.DOTALL).fullmatch
_is_numbered = re.compile(r"Case \d+").fullmatch  # the name of a case that was given none


class PydanticEvals(ToolLoader):
    """Reads a report: a case is a task, its repeated runs are the samples.

    Scores and assertions are scores by their names; labels can be named as fields. A case
    whose task raised is missing, and so are the scores of an evaluator that raised.
    """

    def _rollouts(self, source: Source, builder: foreign.ChunkBuilder) -> Iterator[Rollout]:
        report = Document.of(source, "a report of pydantic-evals")
        builder.positional = True
        for kind in ("cases", "failures"):
            for index, case in enumerate(report.items(kind) or ()):
                name = f"{source.shown}, {kind}[{index}]"
                task, sample = _attempt(case, name, source)
                builder.positional &= bool(_is_numbered(task))
                _measure(case, builder)
                scores, error = _judged(case)
                metrics = foreign.mapping(case.get("metrics"))
                steps = {n: v for n, v in metrics.items() if n not in _USAGE.values()}
                given = case.get("inputs")
                yield Rollout(
                    record={**case, **_values(case, "labels")},
                    name=name,
                    task=task,
                    sample=sample,
                    scores={**scores, **steps},
                    usage=foreign.usage(metrics, latency_s=case.get("task_duration"), **_USAGE),
                    error=error,
                    rewards=tuple(scores),
                    content=None if given is None else [given, case.get("expected_output")],
                )


def _measure(case: Mapping[str, Any], builder: foreign.ChunkBuilder) -> None:
    results = (foreign.mapping(case.get(key)).items() for key in ("scores", "assertions"))
    for score, result in chain.from_iterable(results):
        settings = {
            "evaluator": foreign.lookup(result, "source.name"),
            "arguments": foreign.lookup(result, "source.arguments"),
            "version": foreign.lookup(result, "evaluator_version"),
        }
        names = (score, f"assertion.{score}")
        builder.measured(f"pydantic_evals {score}", names, settings, "arguments")


def _attempt(case: Mapping[str, Any], where: str, source: Source) -> tuple[str, int | None]:
    name, original = case.get("name"), case.get("source_case_name")
    if not isinstance(name, str):
        raise source.error(f"{where} has no name", hint="was the report changed since?")
    if not isinstance(original, str):
        return name, None
    run = _run(name)
    return original, int(run["number"]) - 1 if run and run["name"] == original else None


def _judged(case: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, str] | None]:
    """Read a case's scores, and the exception of its task or of an evaluator."""
    scores = _values(case, "scores")
    for name, value in _values(case, "assertions").items():
        scores[f"assertion.{name}" if name in scores else name] = value
    if "error_message" in case:
        return scores, foreign.error_of(str(case["error_message"] or ""))
    for failure in foreign.objects(case.get("evaluator_failures")):
        name = str(failure.get("name") or "an evaluator")
        message = foreign.first(failure, "error_message", "error_type")
        return {**scores, name: scores.get(name)}, Ungraded(f"{name} was not judged", message)
    return scores, None


def _values(case: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Read results of one kind, which are values or objects with one."""
    return {
        name: result.get("value") if isinstance(result, dict) else result
        for name, result in foreign.mapping(case.get(kind)).items()
    }
