"""Reports of pydantic-evals, as ``EvaluationReportAdapter`` writes them to JSON."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from pytest_evalmetrics.rollouts import foreign
from pytest_evalmetrics.rollouts.foreign import Document, Rollout, ToolLoader, Ungraded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_evalmetrics.ext import Source

_USAGE: Final = {  # a case's metrics that have a name of ours
    "input_tokens": "prompt_tokens",
    "output_tokens": "completion_tokens",
    "cache_read_tokens": "cached_tokens",
    "total_tokens": "total_tokens",
    "cost": "cost_usd",
}
_run = re.compile(r"(?P<name>.*) \[(?P<number>[1-9]\d*)/[1-9]\d*\]", re.DOTALL).fullmatch
_is_numbered = re.compile(r"Case \d+").fullmatch  # what a case without a name is called
_exception = re.compile(r"\s*([A-Za-z_][\w.]*):").match


class PydanticEvals(ToolLoader):
    """Reads a report: a case is a task, its repeated runs are the samples.

    Scores and assertions are scores by their names; labels can be named as fields. A case
    whose task raised is missing, and so is what an evaluator that raised was to judge.
    """

    def _fill(self, builder: foreign.ChunkBuilder, source: Source) -> None:
        report = Document.of(source, "a report of pydantic-evals")
        builder.positional = True
        for kind in ("cases", "failures"):
            for index, case in enumerate(report.items(kind)):
                name = f"{source.shown}, {kind}[{index}]"
                task, sample = _attempt(case, name, source)
                builder.positional &= bool(_is_numbered(task))
                given = case.get("inputs")
                scores, error = _judged(case) if kind == "cases" else ({}, _raised(case))
                for key in ("scores", "assertions"):
                    for score, result in foreign.mapping(case.get(key)).items():
                        _measure(builder, score, result)
                metrics = foreign.mapping(case.get("metrics"))
                labels = {n: _value(v) for n, v in foreign.mapping(case.get("labels")).items()}
                builder.add(
                    Rollout(
                        record={**foreign.slim(case, self._request), **labels},
                        name=name,
                        task=task,
                        sample=sample,
                        scores={**scores, **{n: v for n, v in metrics.items() if n not in _USAGE}},
                        usage=foreign.usage(
                            latency_s=case.get("task_duration"),
                            **{ours: metrics.get(theirs) for theirs, ours in _USAGE.items()},
                        ),
                        error=error,
                        rewards=tuple(scores),
                        content=None if given is None else [given, case.get("expected_output")],
                    )
                )
        if not len(builder):
            raise source.error("the report has no case", hint="did the run fail?")


def _measure(builder: foreign.ChunkBuilder, score: str, result: Any) -> None:
    if isinstance(result, dict):
        settings = {
            "evaluator": foreign.lookup(result, "source.name"),
            "arguments": foreign.lookup(result, "source.arguments"),
            "version": result.get("evaluator_version"),
        }
        names = (score, f"assertion.{score}")
        builder.measured(f"pydantic_evals {score}", names, settings, own="arguments")


def _attempt(case: Mapping[str, Any], where: str, source: Source) -> tuple[str, int | None]:
    name, original = case.get("name"), case.get("source_case_name")
    if not isinstance(name, str):
        raise source.error(f"{where} has no name", hint="was the report changed since?")
    if not isinstance(original, str):
        return name, None
    run = _run(name)
    return original, int(run["number"]) - 1 if run and run["name"] == original else None


def _judged(case: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, str] | None]:
    scores: dict[str, Any] = {n: _value(v) for n, v in foreign.mapping(case.get("scores")).items()}
    for name, result in foreign.mapping(case.get("assertions")).items():
        scores[f"assertion.{name}" if name in scores else name] = _value(result)
    for failure in foreign.objects(case.get("evaluator_failures")):
        name = str(failure.get("name") or "an evaluator")
        message = str(failure.get("error_message") or failure.get("error_type") or "")
        return {**scores, name: scores.get(name)}, Ungraded(f"{name} was not judged", message)
    return scores, None if scores else Ungraded("not judged", "no evaluator gave a score")


def _raised(case: Mapping[str, Any]) -> tuple[str, str]:
    message = str(case.get("error_message") or "")
    kind = _exception(message)
    return (kind.group(1) if kind else "error"), message


def _value(result: Any) -> Any:
    return result.get("value") if isinstance(result, dict) else result
