"""Reports of pydantic-evals, as ``EvaluationReportAdapter`` writes them to JSON."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from pytest_evalmetrics.rollouts import foreign
from pytest_evalmetrics.rollouts.foreign import Document, Rollout, ToolLoader, Ungraded

if TYPE_CHECKING:
    from collections.abc import Mapping

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
_exception = re.compile(r"\s*([A-Za-z_][\w.]*):").match


class PydanticEvals(ToolLoader):
    """Reads a report: a case is a task, its repeated runs are the samples.

    Scores and assertions are scores by their names; labels can be named as fields. A case
    whose task raised is missing, and so are the scores of an evaluator that raised.
    """

    def _fill(self, builder: foreign.ChunkBuilder, source: Source) -> None:
        report = Document.of(source, "a report of pydantic-evals")
        builder.positional = True
        for kind in ("cases", "failures"):
            for index, case in enumerate(report.items(kind) or ()):
                name = f"{source.shown}, {kind}[{index}]"
                task, sample = _attempt(case, name, source)
                builder.positional &= bool(_is_numbered(task))
                for key in ("scores", "assertions"):
                    for score, result in foreign.mapping(case.get(key)).items():
                        names = (score, f"assertion.{score}")
                        settings = {
                            "evaluator": foreign.lookup(result, "source.name"),
                            "arguments": foreign.lookup(result, "source.arguments"),
                            "version": foreign.lookup(result, "evaluator_version"),
                        }
                        builder.measured(f"pydantic_evals {score}", names, settings, "arguments")
                scores, error = _judged(case)
                metrics = foreign.mapping(case.get("metrics"))
                steps = {n: v for n, v in metrics.items() if n not in _USAGE.values()}
                given = case.get("inputs")
                builder.add(
                    Rollout(
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
                )


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
    message = str(case.get("error_message") or "")
    if "error_message" in case:
        kind = _exception(message)
        return scores, (kind.group(1) if kind else "error", message)
    for failure in foreign.objects(case.get("evaluator_failures")):
        name = str(failure.get("name") or "an evaluator")
        message = str(failure.get("error_message") or failure.get("error_type") or "")
        return {**scores, name: scores.get(name)}, Ungraded(f"{name} was not judged", message)
    return scores, None


def _values(case: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Read results of one kind, which are values or objects with one."""
    return {
        name: result.get("value") if isinstance(result, dict) else result
        for name, result in foreign.mapping(case.get(kind)).items()
    }
