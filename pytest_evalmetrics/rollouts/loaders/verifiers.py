"""Rollouts of verifiers: ``results.jsonl`` up to version 0.3, ``traces.jsonl`` from 0.4 on."""

from __future__ import annotations

from itertools import chain
from statistics import fmean
from typing import TYPE_CHECKING, Final

from msgspec import structs

from pytest_evalmetrics.model.rollout_table import content_hash, question_of
from pytest_evalmetrics.rollouts import json_values
from pytest_evalmetrics.rollouts.documents import Document, rows_of
from pytest_evalmetrics.rollouts.not_judged import RolloutError, exception_of, judged
from pytest_evalmetrics.rollouts.tool_loader import ChunkBuilder, Rollout, ToolLoader
from pytest_evalmetrics.rollouts.tool_usage import usage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_evalmetrics.json_types import JsonMapping, JsonObject, JsonValue
    from pytest_evalmetrics.rollouts.source import Source

_NO_SCORE: Final = frozenset(
    {
        "id",
        "example_id",
        "is_completed",
        "is_truncated",
        "generation_ms",
        "scoring_ms",
        "total_ms",
    }
)
_METADATA: Final = "metadata.json"
_HINT: Final = "is this the output of verifiers?"
_VERSIONS: Final = (1,)


class Verifiers(ToolLoader):
    """Reads rows of verifiers up to version 0.3.

    An example is a task; its rollouts are numbered as they come. Scores are the reward and
    the metrics. A rollout that ended with an error and has no reward but 0 is missing: it is
    not known to have been graded.
    """

    def rollouts(self, source: Source, builder: ChunkBuilder) -> Iterator[Rollout]:
        """Yield the rollouts of one file."""
        metadata = Document.beside(
            source, _METADATA, "the metadata of verifiers"
        ).whole()
        rewards: list[float] = []
        questions: dict[str, int] = {}
        cycled = _ids_are_cycled(source)
        for place, row in rows_of(source):
            content = _content(row)
            task: JsonValue = row.get("example_id", row.get("id"))
            if type(task) not in (int, str):
                raise source.error_at(
                    place, f"this row's example_id is {task!r}", _HINT
                )
            if cycled:
                task = questions.setdefault(content_hash(content), len(questions))
            error = _row_error(row)
            rewards.append(json_values.number(row.get("reward")) or 0)
            builder.positional |= isinstance(task, int)
            yield Rollout(
                record=row,
                name=source.at(place),
                task=task,
                agent=metadata.get("model"),
                scores=judged(_flat_scores(row), error, rewards=("reward",)),
                usage=_row_usage(row),
                error=error,
                rewards=("reward",),
                content=content,
            )
        if metadata and rewards:
            _compare(rewards, metadata, builder)


def _compare(
    rewards: Sequence[float], metadata: JsonMapping, builder: ChunkBuilder
) -> None:
    """Compare the numbers of the metadata, and tell the builder what scored."""
    claim = f"avg_reward in {_METADATA}, where a missing one counts as 0,"
    builder.compare(claim, metadata.get("avg_reward"), fmean(rewards))
    examples = json_values.number(metadata.get("num_examples"))
    rollouts = json_values.number(metadata.get("rollouts_per_example"))
    if examples and rollouts and examples > 0:
        claim = f"num_examples * rollouts_per_example in {_METADATA}"
        builder.compare(claim, examples * rollouts, len(rewards))
    settings = {
        "environment": json_values.first(metadata, "env_id", "env"),
        "version": json_values.lookup(metadata, "version_info.env_version"),
        "arguments": metadata.get("env_args"),
    }
    builder.measured("verifiers", builder.scores, settings)


def _row_usage(row: JsonMapping) -> dict[str, float]:
    timing = json_values.mapping(row.get("timing")) or row
    return usage(
        row.get("token_usage"),
        latency_s=json_values.lookup(timing, "generation.duration"),
        latency_ms=json_values.first(timing, "generation_ms", "total_ms"),
    )


def _content(row: JsonMapping) -> list[JsonValue]:
    return [question_of(row.get("prompt")), row.get("answer")]


def _ids_are_cycled(source: Source) -> bool:
    """Check whether the ids are those of 2025's versions, given to rows of other questions."""
    # They repeated the data set and each of the ids: a b c a b c have the ids 0 0 1 1 2 2.
    by_id: dict[str, str] = {}
    for _, row in rows_of(source):
        if "example_id" in row:
            return False
        hashed = content_hash(_content(row))
        if by_id.setdefault(repr(row.get("id")), hashed) != hashed:
            return True
    return False


def _flat_scores(row: JsonMapping) -> JsonObject:
    """Read a row's scores, which early versions write flat, and some both ways."""
    flat = {
        key: value
        for key, value in row.items()
        if key not in _NO_SCORE and isinstance(value, bool | int | float)
    }
    metrics = json_values.mapping(row.get("metrics"))
    return {"reward": row.get("reward"), **flat, **metrics}


def _row_error(row: JsonMapping) -> RolloutError | None:
    error = row.get("error")
    if not error:
        return None
    if not isinstance(error, dict):
        return exception_of(error)
    message = json_values.first(error, "error_chain_str", "message", "error_chain_repr")
    kind = json_values.first(error, "error", "type")
    return RolloutError(kind=str(kind or "error"), message=str(message or ""))


class VerifiersTraces(ToolLoader):
    """Reads episodes of verifiers from version 0.4 on.

    Each trace of an agent that is being trained or judged is a rollout of the episode's task,
    numbered as they come. Its reward is the sum of its rewards by their weights; each reward
    and each metric is a score as well.
    """

    def rollouts(self, source: Source, builder: ChunkBuilder) -> Iterator[Rollout]:
        """Yield the rollouts of one file."""
        rows = rows_of(source)
        episodes = (self._episode(row, place, source, builder) for place, row in rows)
        rollouts = list(chain.from_iterable(episodes))
        builder.positional = all(isinstance(rollout.task, int) for rollout in rollouts)
        agents = {rollout.agent for rollout in rollouts} - {None}
        for rollout in rollouts:
            if rollout.agent is None and len(agents) == 1:
                # an episode that came to no trace
                yield structs.replace(rollout, agent=next(iter(agents)))
            else:
                yield rollout

    def _episode(
        self,
        row: JsonMapping,
        place: int,
        source: Source,
        builder: ChunkBuilder,
    ) -> Iterator[Rollout]:
        task = json_values.first(
            row, "task.key", "task.hash", "task.data.idx", "task.data.id"
        )
        if type(task) not in (int, str):
            message = "this episode's task has neither a key nor a hash"
            raise source.error_at(place, message, _HINT)
        for trace in _traces_of(row):
            version = trace.get("version", _VERSIONS[0])
            if version not in _VERSIONS:
                message = f"this trace is of version {version!r}; known are {_VERSIONS}"
                raise source.error_at(place, message, "update pytest-evalmetrics")
            scores = _trace_scores(trace)
            for name, reward in json_values.mapping(trace.get("rewards")).items():
                weight = {"weight": json_values.lookup(reward, "weight")}
                builder.measured(f"verifiers {name}", ("reward", name), weight)
            error = _last_error(trace) or _last_error(row)
            if error is None and scores["reward"] is None:
                reason = str(trace.get("stop_condition") or "")
                error = RolloutError("not scored", reason, of_grader=True)
            yield Rollout(
                record=self.kept({**row, **trace}),
                name=source.at(place),
                task=task,
                agent=_trace_agent(trace),
                scores=scores,
                usage=_trace_usage(trace),
                error=error,
                rewards=("reward",),
                content=json_values.first(row, "task.hash", "task.data"),
                record_id=json_values.text(trace.get("id")),
            )


def _traces_of(row: JsonMapping) -> Sequence[JsonMapping]:
    """List the traces of the agents that can be trained, else all; an empty one without any."""
    traces = json_values.objects(row.get("traces"))
    trained = [
        trace
        for trace in traces
        if json_values.lookup(trace, "agent.trainable") is not False
    ]
    return trained or traces or [{}]


def _last_error(holder: JsonMapping) -> RolloutError | None:
    # an error before a successful retry doesn't count
    if holder.get("ok") is not False:
        return None
    default = {"type": "not ok", "message": holder.get("stop_condition")}
    error = [default, *json_values.objects(holder.get("errors"))][-1]
    return RolloutError(
        kind=str(error.get("type") or "error"), message=str(error.get("message") or "")
    )


def _trace_scores(trace: JsonMapping) -> JsonObject:
    """Read the rewards and metrics of a trace, and the sum of its rewards by their weights."""
    scores: JsonObject = {"reward": None}
    weighted: list[JsonValue] = []
    for name, reward in json_values.mapping(trace.get("rewards")).items():
        scores[name] = json_values.lookup(reward, "score")
        stated = json_values.mapping(reward)
        score = json_values.number(stated.get("score"))
        weight = json_values.number(stated.get("weight", 1))
        if score is not None and weight is not None:
            weighted.append(score * weight)
    scores |= json_values.mapping(trace.get("metrics"))
    scores["reward"] = json_values.total(weighted)
    return scores


def _trace_agent(trace: JsonMapping) -> str | None:
    """Name a trace's agent; one that has only the default name is named by its model."""
    name = json_values.lookup(trace, "agent.name")
    model = json_values.lookup(trace, "agent.config.model")
    for call in json_values.objects(trace.get("calls")):
        model = model or call.get("model")
    if name in (None, "agent") and isinstance(model, str):
        return model
    return name if isinstance(name, str) else None


def _trace_usage(trace: JsonMapping) -> dict[str, float]:
    """Add up the usage of a trace's calls, whose prompt_tokens do not include cached ones."""
    used: list[JsonObject] = []
    for call in json_values.objects(trace.get("calls")):
        stated = json_values.mapping(call.get("usage"))
        tokens = (stated.get("prompt_tokens"), stated.get("cached_input_tokens"))
        used.append({**stated, "input_tokens": json_values.total(tokens)})
    took = json_values.duration(trace, "timing.agent.start", "timing.agent.end")
    return usage(*used, latency_s=took)
