"""Test runs of deepeval."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from pytest_evalmetrics.rollouts import json_values
from pytest_evalmetrics.rollouts.documents import Document
from pytest_evalmetrics.rollouts.format_keys import DEEPEVAL_CASES, DEEPEVAL_METRICS
from pytest_evalmetrics.rollouts.not_judged import RolloutError, is_verdict
from pytest_evalmetrics.rollouts.tool_loader import ChunkBuilder, Rollout, ToolLoader
from pytest_evalmetrics.rollouts.tool_usage import usage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_evalmetrics.json_types import JsonObject, JsonValue
    from pytest_evalmetrics.rollouts.source import Source

_SETTINGS: Final = (
    "threshold",
    "strictMode",
    "strict_mode",
    "evaluationModel",
    "evaluation_model",
)
# the name of a case that was given none
_is_case_number = re.compile(r"test_case_\d+").match


class DeepEval(ToolLoader):
    """Reads a test run: a test case is a task, and repeats of its name and input are its samples.

    Each metric is a score by its name; ``success`` says whether all of them were passed, and
    is missing where a metric could not be judged and no other one failed.
    """

    def rollouts(self, source: Source, builder: ChunkBuilder) -> Iterator[Rollout]:
        """Yield the rollouts of one file."""
        run = Document.of(source, "a test run of deepeval")
        cases: list[JsonObject] = []
        names: list[str] = []
        for kind in DEEPEVAL_CASES:
            for number, case in enumerate(run.items(kind) or ()):
                cases.append(case)
                names.append(f"{source.shown}, {kind}[{number}]")
        titles = [
            str(case.get("name") or name)
            for case, name in zip(cases, names, strict=True)
        ]
        inputs = [json_values.first(case, "input", "scenario") for case in cases]
        tasks = json_values.distinct(titles, inputs)
        builder.positional = any(map(_is_case_number, titles))
        for case, name, given, task in zip(cases, names, inputs, tasks, strict=True):
            grades = _grades(case, builder)
            expected = json_values.first(case, "expectedOutput", "expected_output")
            yield Rollout(
                record=case,
                name=name,
                task=task,
                agent=json_values.lookup(run.get("hyperparameters"), "model"),
                scores=grades.scores,
                usage=usage(case, latency_s=case.get("completionTime")),
                error=grades.error,
                started=json_values.number(case.get("order")),
                content=None if given is None else [given, expected],
            )
        for key, success in (("testPassed", True), ("testFailed", False)):
            count = sum(case.get("success") is success for case in cases)
            builder.compare(key, run.get(key), count)


class MetricGrades(msgspec.Struct, frozen=True):
    """The scores of a case, None where nobody judged, and the first such metric."""

    scores: Mapping[str, JsonValue]
    error: RolloutError | None


def _grades(case: Mapping[str, JsonValue], builder: ChunkBuilder) -> MetricGrades:
    """Read a case's scores, and the first of its metrics that could not be judged."""
    scores: JsonObject = {"success": case.get("success")}
    builder.directions["success"] = "higher"
    error: RolloutError | None = None
    failed = False
    unsure = False
    lists = (json_values.objects(case.get(key)) for key in DEEPEVAL_METRICS)
    for metric in next(filter(None, lists), []):
        name = str(json_values.first(metric, "name", "metric"))
        settings = {key: metric.get(key) for key in _SETTINGS}
        builder.measured(f"deepeval {name}", (name, "success"), settings)
        if name in scores:  # two metrics may have one name
            name += f" {1 + sum(score.startswith(name) for score in scores)}"
        broken = bool(metric.get("error")) or not is_verdict(metric.get("score"))
        scores[name] = None if broken else metric["score"]
        direction = None if broken else _direction_of(metric)
        if direction is not None:
            builder.directions[name] = direction
        if broken and error is None:
            reason = metric.get("error") or metric.get("reason") or ""
            if not reason and metric.get("score") is not None:
                reason = f"its score is {metric['score']}"
            error = RolloutError(
                kind=f"{name} was not judged", message=str(reason), of_grader=True
            )
        if not metric.get("flaky"):
            unsure |= broken
            failed |= not broken and metric.get("success") is False
    # deepeval counts an error of its judge as a failure
    if unsure and not failed:
        scores["success"] = None
    return MetricGrades(scores=scores, error=error)


def _direction_of(metric: Mapping[str, JsonValue]) -> Literal["higher", "lower"] | None:
    """Return the side of its threshold on which a metric succeeds; None at the threshold."""
    score = json_values.number(metric.get("score"))
    threshold = json_values.number(metric.get("threshold"))
    success = metric.get("success")
    if score is None or threshold is None or score == threshold:
        return None
    if not isinstance(success, bool):
        return None
    return "higher" if success is (score > threshold) else "lower"
