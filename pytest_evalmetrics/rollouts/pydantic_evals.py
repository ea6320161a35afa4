"""Reports of pydantic-evals, as ``EvaluationReportAdapter`` writes them to JSON."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from pytest_evalmetrics.rollouts import foreign
from pytest_evalmetrics.rollouts.foreign import Document, Rollout, ToolLoader, Ungraded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_evalmetrics.ext import Source

_WHAT: Final = "a report of pydantic-evals"
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
        report = Document.of(source, _WHAT)
        builder.positional = True
        for kind in ("cases", "failures"):
            for index, case in enumerate(report.items(kind)):
                name = f"{source.shown}, {kind}[{index}]"
                task, sample = _attempt(case, name, source)
                builder.positional &= bool(_is_numbered(task))
                given = case.get("inputs")
                scores, error = _judged(case) if kind == "cases" else ({}, _raised(case))
                for name_of, found in (*_found(case, "scores"), *_found(case, "assertions")):
                    settings = {
                        "evaluator": foreign.lookup(found, "source.name"),
                        "arguments": foreign.lookup(found, "source.arguments"),
                        "version": found.get("evaluator_version"),
                    }
                    builder.measured(
                        f"pydantic_evals {name_of}",
                        (name_of, f"assertion.{name_of}"),
                        settings,
                        own="arguments",
                    )
                labels = {n: _value(v) for n, v in foreign.mapping(case.get("labels")).items()}
                builder.add(
                    Rollout(
                        record={**foreign.slim(case, self._request), **labels},
                        name=name,
                        task=task,
                        sample=sample,
                        scores={**scores, **_metrics(case)},
                        usage=_usage(case),
                        error=error,
                        rewards=tuple(scores),
                        content=None if given is None else [given, case.get("expected_output")],
                    )
                )
        if not len(builder):
            raise source.error("the report has no case", hint="did the run fail?")


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
    for name, found in foreign.mapping(case.get("assertions")).items():
        scores[f"assertion.{name}" if name in scores else name] = _value(found)
    for failure in foreign.objects(case.get("evaluator_failures")):
        name = str(failure.get("name") or "an evaluator")
        said = str(failure.get("error_message") or failure.get("error_type") or "")
        return {**scores, name: scores.get(name)}, Ungraded(f"{name} was not judged", said)
    return scores, None if scores else Ungraded("not judged", "no evaluator gave a score")


def _found(case: Mapping[str, Any], key: str) -> list[tuple[str, dict[str, Any]]]:
    return [
        (n, each) for n, each in foreign.mapping(case.get(key)).items() if isinstance(each, dict)
    ]


def _raised(case: Mapping[str, Any]) -> tuple[str, str]:
    said = str(case.get("error_message") or "")
    kind = _exception(said)
    return (kind.group(1) if kind else "error"), said


def _value(found: Any) -> Any:
    return found.get("value") if isinstance(found, dict) else found


def _metrics(case: Mapping[str, Any]) -> dict[str, Any]:
    return {n: v for n, v in foreign.mapping(case.get("metrics")).items() if n not in _USAGE}


def _usage(case: Mapping[str, Any]) -> dict[str, float]:
    metrics = foreign.mapping(case.get("metrics"))
    named = {ours: foreign.number(metrics.get(theirs)) for theirs, ours in _USAGE.items()}
    return foreign.usage(latency_s=foreign.number(case.get("task_duration")), **named)
