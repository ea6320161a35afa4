"""Results of NeMo Evaluator: ``results.jsonl`` of a run, with its bundle ``eval-*.json``."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.rollouts import json_values
from pytest_evalmetrics.rollouts.documents import Document, rows_of
from pytest_evalmetrics.rollouts.not_judged import RolloutError, exception_of, judged
from pytest_evalmetrics.rollouts.tool_loader import ChunkBuilder, Rollout, ToolLoader
from pytest_evalmetrics.rollouts.tool_usage import usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_evalmetrics.json_types import JsonMapping, JsonObject
    from pytest_evalmetrics.rollouts.source import Source

_BUNDLE: Final = "eval-*.json"
_SCORER: Final = "scorer:"  # begins the names of the scores of further scorers
# the solver failed in a way that the tool grades with 0, such as a spent turn budget
_GRADED: Final = "graceful"
_RESULTS: Final = "results.jsonl"
_WHAT: Final = "a bundle of NeMo Evaluator"


class NemoEvaluator(ToolLoader):
    """Reads a run's results: a problem is a task, and its repeats are samples.

    Each further scorer is a score by its name. A failed endpoint, sandbox or judge is a 0 in the
    file; here it is missing.
    """

    def rollouts(self, source: Source, builder: ChunkBuilder) -> Iterator[Rollout]:
        """Yield the rollouts of one file."""
        if "problem_idx" not in source.keys:
            raise source.error(
                f"this is {_WHAT}, which holds scores over all problems, without rollouts",
                hint=f"read {_RESULTS} beside it",
            )
        bundle = _bundle(source)
        rewards: list[float] = []  # as the tool counts them
        for place, row in rows_of(source):
            rewards.append(json_values.number(row.get("reward")) or 0.0)
            yield _rollout(row, bundle, name=source.at(place))
        builder.positional = True
        if rewards:
            stated = json_values.lookup(bundle, "benchmark.scores.summary.mean")
            builder.compare("summary.mean in its bundle", stated, fmean(rewards))


def _rollout(row: JsonMapping, bundle: JsonMapping, *, name: str) -> Rollout:
    prompt = row.get("prompt")
    error = _error(row)
    return Rollout(
        record=row,
        name=name,
        task=row.get("problem_idx"),
        sample=row.get("repeat"),
        agent=json_values.lookup(bundle, "config.model"),
        scores=_scores(row, error),
        usage=usage(
            {"total_tokens": row.get("tokens")}, latency_ms=row.get("latency_ms")
        ),
        error=error,
        rewards=("reward",),
        content=None if prompt is None else [prompt, row.get("expected_answer")],
    )


def _bundle(source: Source) -> JsonObject:
    """Read the bundle beside a file of results; empty if there is none, or several."""
    bundles = sorted(source.path.parent.glob(_BUNDLE))
    if len(bundles) != 1:
        return {}
    return Document.beside(source, bundles[0].name, _WHAT).whole()


def _error(row: JsonMapping) -> RolloutError | None:
    """Find what kept a rollout, or its judge, from being judged."""
    details = json_values.mapping(row.get("scoring_details"))
    message = details.get("error")
    if message:
        category = details.get("error_category")
        kind = str(category or exception_of(message).kind)
        return RolloutError(
            kind=kind, message=str(message), voids=category not in (None, _GRADED)
        )
    judge = json_values.mapping(details.get("judge"))
    if judge.get("error"):
        return RolloutError(
            kind="the judge failed",
            message=str(judge["error"]),
            of_grader=True,
            voids=True,
        )
    return None


def _scores(row: JsonMapping, error: RolloutError | None) -> JsonObject:
    """Read the reward, and the scores of further scorers."""
    scores: JsonObject = {"reward": row.get("reward")}
    if error is not None and error.of_grader:
        scores = judged(scores, error)
    for name, result in json_values.mapping(row.get("scoring_details")).items():
        if not name.startswith(_SCORER) or not isinstance(result, dict):
            continue
        score = None if result.get("error") else result.get("reward")
        scores[name.removeprefix(_SCORER)] = score
    return judged(scores, error) if error is not None and _voids_all(error) else scores


def _voids_all(error: RolloutError) -> bool:
    """Check for an error before the answer, of which further scorers saw nothing."""
    return error.voids and not error.of_grader
