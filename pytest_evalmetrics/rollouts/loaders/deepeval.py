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
    from collections.abc import Iterator, Sequence

    from pytest_evalmetrics.json_types import JsonMapping, JsonObject, JsonValue
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
        places: list[str] = []
        cases: list[JsonObject] = []
        for kind in DEEPEVAL_CASES:
            for number, case in enumerate(run.items(kind) or ()):
                places.append(f"{source.shown}, {kind}[{number}]")
                cases.append(case)
        titles = [
            str(case.get("name") or place)
            for case, place in zip(cases, places, strict=True)
        ]
        tasks = json_values.distinct(titles, [_input_of(case) for case in cases])
        builder.positional = any(map(_is_case_number, titles))
        agent = json_values.lookup(run.get("hyperparameters"), "model")
        for case, place, task in zip(cases, places, tasks, strict=True):
            grades = _grades(case, builder)
            yield Rollout(
                record=case,
                name=place,
                task=task,
                agent=agent,
                scores=grades.scores,
                usage=usage(case, latency_s=case.get("completionTime")),
                error=grades.error,
                started=json_values.number(case.get("order")),
                content=_content(case),
            )
        for key, success in (("testPassed", True), ("testFailed", False)):
            count = sum(case.get("success") is success for case in cases)
            builder.compare(key, run.get(key), count)


def _input_of(case: JsonMapping) -> JsonValue:
    return json_values.first(case, "input", "scenario")


def _content(case: JsonMapping) -> JsonValue:
    """Put together what identifies a case."""
    given = _input_of(case)
    if given is None:
        return None
    return [given, json_values.first(case, "expectedOutput", "expected_output")]


class CaseGrades(msgspec.Struct, frozen=True):
    """The scores of a case, None where nobody judged, and why the first of them is."""

    scores: JsonMapping
    error: RolloutError | None


class Metric(msgspec.Struct, frozen=True):
    """A metric of a case, under a name that no other metric of the case has."""

    name: str
    result: JsonMapping

    @property
    def is_judged(self) -> bool:
        """Whether it came to a score."""
        return not self.result.get("error") and is_verdict(self.result.get("score"))

    @property
    def decides(self) -> bool:
        """Whether the success of the case depends on it."""
        return not self.result.get("flaky")

    def error(self) -> RolloutError:
        """Say why it was not judged."""
        reason = self.result.get("error") or self.result.get("reason") or ""
        score = self.result.get("score")
        if not reason and score is not None:
            reason = f"its score is {score}"
        kind = f"{self.name} was not judged"
        return RolloutError(kind=kind, message=str(reason), of_grader=True)


def _grades(case: JsonMapping, builder: ChunkBuilder) -> CaseGrades:
    """Read a case's scores, and the first of its metrics that could not be judged."""
    metrics = _metrics_of(case)
    if not metrics:  # deepeval counts such a case as a success
        message = "the case has no metrics"
        unscored = RolloutError(kind="not scored", message=message, of_grader=True)
        return CaseGrades(scores={"success": None}, error=unscored)
    scores: JsonObject = {"success": case.get("success")}
    builder.directions["success"] = "higher"
    for metric in metrics:
        settings = {key: metric.result.get(key) for key in _SETTINGS}
        tool_name = _tool_name(metric.result)
        builder.measured(f"deepeval {tool_name}", (tool_name, "success"), settings)
        scores[metric.name] = None
        if metric.is_judged:
            scores[metric.name] = metric.result.get("score")
            direction = _direction_of(metric.result)
            if direction is not None:
                builder.directions[metric.name] = direction
    unjudged = [metric for metric in metrics if not metric.is_judged]
    if not unjudged:
        return CaseGrades(scores=scores, error=None)
    # deepeval counts an error of its judge as a failure
    if any(metric.decides for metric in unjudged) and not _fails_anyway(metrics):
        scores["success"] = None
    return CaseGrades(scores=scores, error=unjudged[0].error())


def _metrics_of(case: JsonMapping) -> list[Metric]:
    """List the metrics of a case; a name that occurs again gets a number."""
    lists = (json_values.objects(case.get(key)) for key in DEEPEVAL_METRICS)
    metrics: list[Metric] = []
    names = {"success"}
    for result in next(filter(None, lists), []):
        name = _tool_name(result)
        if name in names:
            count = sum(other.startswith(name) for other in names)
            name = f"{name} {1 + count}"
        names.add(name)
        metrics.append(Metric(name=name, result=result))
    return metrics


def _tool_name(result: JsonMapping) -> str:
    return str(json_values.first(result, "name", "metric"))


def _fails_anyway(metrics: Sequence[Metric]) -> bool:
    """Check whether a metric that was judged failed."""
    return any(
        metric.decides and metric.is_judged and metric.result.get("success") is False
        for metric in metrics
    )


def _direction_of(metric: JsonMapping) -> Literal["higher", "lower"] | None:
    """Return the side of its threshold on which a metric succeeds; None at the threshold."""
    score = json_values.number(metric.get("score"))
    threshold = json_values.number(metric.get("threshold"))
    success = metric.get("success")
    if score is None or threshold is None or score == threshold:
        return None
    if not isinstance(success, bool):
        return None
    return "higher" if success is (score > threshold) else "lower"
