"""Experiments of Phoenix: a ``RanExperiment``, as its client returns it, written as JSON."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from pytest_evalmetrics.rollouts import json_values
from pytest_evalmetrics.rollouts.documents import Document
from pytest_evalmetrics.rollouts.not_judged import (
    RolloutError,
    exception_of,
    is_verdict,
)
from pytest_evalmetrics.rollouts.tool_loader import ChunkBuilder, Rollout, ToolLoader

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_evalmetrics.json_types import JsonObject, JsonValue
    from pytest_evalmetrics.rollouts.source import Source


class Phoenix(ToolLoader):
    """Reads an experiment: an example is a task, and its repetitions are samples.

    The evaluations of a run are its scores by their names. A run whose task failed, and an
    evaluation that failed, are missing.
    """

    def rollouts(self, source: Source, builder: ChunkBuilder) -> Iterator[Rollout]:
        """Yield the rollouts of one file."""
        experiment = Document.of(source, "an experiment of Phoenix")
        evaluations: dict[str, list[JsonObject]] = defaultdict(list)
        names: dict[str, None] = {}
        for evaluation in experiment.items("evaluation_runs") or ():
            run_id = str(evaluation.get("experiment_run_id"))
            evaluations[run_id].append(evaluation)
            names.setdefault(str(evaluation.get("name")))
        for name in names:
            builder.measured(f"phoenix {name}", (name,), {})
        runs = experiment.items("task_runs") or experiment.items("runs") or ()
        for number, run in enumerate(runs):
            scores, error = _scores(evaluations[str(run.get("id"))], list(names))
            if run.get("error"):
                scores = dict.fromkeys(names)
                error = exception_of(run["error"])
            repetition = run.get("repetition_number")
            yield Rollout(
                record=run,
                name=f"{source.shown}, task_runs[{number}]",
                task=run.get("dataset_example_id"),
                sample=repetition - 1 if isinstance(repetition, int) else None,
                scores=scores,
                error=error,
                record_id=json_values.text(run.get("id")),
            )


def _scores(
    evaluations: Sequence[JsonObject], names: Sequence[str]
) -> tuple[JsonObject, RolloutError | None]:
    """Read the scores of a run, and the first that could not be given."""
    scores: JsonObject = dict.fromkeys(names)
    error: RolloutError | None = None
    for evaluation in evaluations:
        name = str(evaluation.get("name"))
        score = _score_in(evaluation.get("result"))
        if is_verdict(score) and not evaluation.get("error"):
            scores[name] = score
        elif error is None:
            message = str(evaluation.get("error") or "it has no score")
            kind = f"{name} was not judged"
            error = RolloutError(kind=kind, message=message, of_grader=True)
    return scores, error


def _score_in(result: JsonValue) -> JsonValue:
    """Read the score of an evaluation's result, or of the only one of a list."""
    if isinstance(result, list) and len(result) == 1:
        result = result[0]
    return json_values.lookup(result, "score")
