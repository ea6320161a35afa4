"""Results of Opik: what ``evaluate`` returns, written as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.rollouts import json_values
from pytest_evalmetrics.rollouts.documents import Document
from pytest_evalmetrics.rollouts.not_judged import RolloutError, error_in, is_verdict
from pytest_evalmetrics.rollouts.tool_loader import ChunkBuilder, Rollout, ToolLoader

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_evalmetrics.json_types import JsonMapping, JsonObject
    from pytest_evalmetrics.rollouts.source import Source

_COUNTED_FROM: Final = 0


class Opik(ToolLoader):
    """Reads an ``EvaluationResult``: an item of the data set is a task, and its trials are samples.

    Each metric is a score by its name; one whose scoring failed is missing, not its value of 0.
    """

    def rollouts(self, source: Source, builder: ChunkBuilder) -> Iterator[Rollout]:
        """Yield the rollouts of one file."""
        result = Document.of(source, "a result of Opik")
        for number, test in enumerate(result.items("test_results") or ()):
            case = json_values.mapping(test.get("test_case"))
            scores, error = _scores(test)
            for name in scores:
                builder.measured(f"opik {name}", (name,), {})
            content = case.get("dataset_item_content") or None
            yield Rollout(
                record=test,
                name=f"{source.shown}, test_results[{number}]",
                task=case.get("dataset_item_id"),
                sample=test.get("trial_id", _COUNTED_FROM),
                scores=scores,
                error=error,
                content=content,
                record_id=json_values.text(case.get("trace_id")),
            )


def _scores(
    test: JsonMapping,
) -> tuple[JsonObject, RolloutError | None]:
    """Read the scores of a test, and the first that could not be scored."""
    scores: JsonObject = {}
    error: RolloutError | None = None
    for score in json_values.objects(test.get("score_results")):
        name = str(score.get("name"))
        failed = error_in(score)
        if failed is None and is_verdict(score.get("value")):
            scores[name] = score["value"]
            continue
        scores[name] = None
        if error is None:
            reason = str(score.get("reason") or (failed.message if failed else ""))
            kind = f"{name} was not scored"
            error = RolloutError(kind=kind, message=reason, of_grader=True)
    return scores, error
