"""Evaluations in the format of Every Eval Ever: ``<id>_samples.jsonl``, or ``<id>.json`` alone."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Final

import msgspec

from pytest_evalmetrics.model.rollout_notes import AggregatesAlone
from pytest_evalmetrics.rollouts import json_values
from pytest_evalmetrics.rollouts.documents import Document, rows_of
from pytest_evalmetrics.rollouts.not_judged import RolloutError, exception_of
from pytest_evalmetrics.rollouts.tool_loader import (
    ChunkBuilder,
    Rollout,
    ToolLoader,
    aggregate,
)
from pytest_evalmetrics.rollouts.tool_usage import usage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_evalmetrics.json_types import JsonMapping, JsonObject
    from pytest_evalmetrics.rollouts.source import Source

_WHAT: Final = "an evaluation of Every Eval Ever"
_SAMPLES: Final = "_samples.jsonl"
_SCORE: Final = "score"  # of records that name no result


class Attempt(msgspec.Struct, frozen=True):
    """One attempt at a sample: a record for each result that it is part of."""

    #: The first record's place, for messages.
    name: str
    #: Result id -> record.
    records: dict[str, JsonObject]

    @property
    def first(self) -> JsonObject:
        """The first record."""
        return next(iter(self.records.values()))


class EveryEvalEver(ToolLoader):
    """Reads instances: a sample of an evaluation is a task, and its epochs are samples.

    Each result is a score by its id. Converters write a made-up score for a sample that no scorer
    judged: it has an error, or no id of a result where others have one. Without the instances, each
    result is one aggregate.
    """

    def rollouts(self, source: Source, builder: ChunkBuilder) -> Iterator[Rollout]:
        """Yield the rollouts of one file."""
        if "evaluation_results" in source.keys:
            yield from _aggregates(Document.of(source, _WHAT), source, builder)
            return
        attempts = _attempts(source)
        results = dict.fromkeys(
            result for attempt in attempts for result in attempt.records if result
        )
        names = list(results) or [_SCORE]
        rollouts = [_rollout(attempt, names) for attempt in attempts]
        yield from rollouts
        file = source.path.name.removesuffix(_SAMPLES) + ".json"
        stated = Document.beside(source, file, _WHAT)
        for result in json_values.objects(stated.get("evaluation_results")):
            _compare(result, rollouts, file, builder)


def _attempts(source: Source) -> list[Attempt]:
    """Put the records of each attempt together; a result that comes again is of the next one."""
    attempts: list[Attempt] = []
    latest: dict[tuple[str, ...], Attempt] = {}
    for place, record in rows_of(source):
        parts = ("evaluation_name", "sample_id", "metadata.epoch", "model_id")
        key = tuple(str(json_values.lookup(record, part)) for part in parts)
        result = json_values.text(record.get("evaluation_result_id")) or ""
        attempt = latest.get(key)
        if attempt is None or result in attempt.records:
            attempt = Attempt(name=source.at(place), records={})
            attempts.append(attempt)
            latest[key] = attempt
        attempt.records[result] = record
    return attempts


def _rollout(attempt: Attempt, names: Sequence[str]) -> Rollout:
    """Make the rollout of an attempt, with a score for each result of the file."""
    record = attempt.first
    error = _error(record, names)
    scores: JsonObject = dict.fromkeys(names)
    if error is None:
        for result, scored in attempt.records.items():
            scores[result or _SCORE] = json_values.lookup(scored, "evaluation.score")
    else:
        record = {**record, "evaluation": None}
    epoch = str(json_values.lookup(record, "metadata.epoch"))
    return Rollout(
        record=record,
        name=attempt.name,
        task=f"{record.get('evaluation_name')}/{record.get('sample_id')}",
        sample=int(epoch) - 1 if epoch.isdecimal() else None,
        agent=record.get("model_id"),
        scores=scores,
        usage=usage(
            record.get("token_usage"),
            latency_ms=json_values.lookup(record, "performance.latency_ms"),
        ),
        error=error,
        content=record.get("sample_hash"),
    )


def _error(record: JsonMapping, names: Sequence[str]) -> RolloutError | None:
    """Find why nobody judged a sample."""
    message = record.get("error")
    if message:
        return exception_of(message)
    has_id = json_values.text(record.get("evaluation_result_id")) is not None
    if not has_id and list(names) != [_SCORE]:
        message = "no result counts it, and its score is made up"
        return RolloutError(kind="not scored", message=message, of_grader=True)
    return None


def _compare(
    result: JsonMapping,
    rollouts: Sequence[Rollout],
    file: str,
    builder: ChunkBuilder,
) -> None:
    """Compare a result with the mean over the samples of its evaluation."""
    name = str(result.get("evaluation_result_id"))
    evaluation = result.get("evaluation_name")
    lower = json_values.lookup(result, "metric_config.lower_is_better")
    if isinstance(lower, bool):
        builder.directions[name] = "lower" if lower else "higher"
    amounts = [
        json_values.number(rollout.scores.get(name))
        for rollout in rollouts
        if rollout.record.get("evaluation_name") == evaluation
    ]
    given = [amount for amount in amounts if amount is not None]
    if given:
        stated = json_values.lookup(result, "score_details.score")
        builder.compare(f"{name} in {file}", stated, fmean(given))


def _aggregates(
    evaluation: Document, source: Source, builder: ChunkBuilder
) -> Iterator[Rollout]:
    """Take the results of each evaluation in a file as one rollout, with their standard errors."""
    model = json_values.lookup(evaluation.get("model_info"), "id")
    scores: dict[str, JsonObject] = {}
    names: dict[str, None] = {}
    for number, result in enumerate(evaluation.items("evaluation_results") or ()):
        name = json_values.text(result.get("evaluation_result_id")) or _SCORE
        names.setdefault(name)
        task = str(result.get("evaluation_name"))
        details = json_values.mapping(result.get("score_details"))
        of_task = scores.setdefault(task, {})
        if name in of_task:
            raise source.error(
                f"evaluation_results[{number}] is a second {name!r} of {task!r}",
                hint="read the instances instead, which are beside it",
            )
        of_task |= aggregate(
            name,
            details.get("score"),
            error=json_values.lookup(details, "uncertainty.standard_error.value"),
            samples=json_values.number(
                json_values.lookup(details, "uncertainty.num_samples")
            ),
            documents=json_values.number(
                json_values.lookup(result, "source_data.samples_number")
            ),
        )
    for task, of_task in scores.items():
        yield Rollout(
            record={"evaluation_name": task},
            name=f"{source.shown}: {task}",
            task=task,
            sample=0,
            agent=model,
            scores=of_task,
            rewards=[name for name in names if name in of_task],
        )
    builder.notes.append(AggregatesAlone(source.shown))
