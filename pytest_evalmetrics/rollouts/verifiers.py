"""Rollouts of verifiers: ``results.jsonl`` up to version 0.3, ``traces.jsonl`` from 0.4 on."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from pytest_evalmetrics.ext import content_hash, question_of
from pytest_evalmetrics.rollouts import foreign
from pytest_evalmetrics.rollouts.foreign import Document, Rollout, ToolLoader, Ungraded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_evalmetrics.ext import Source, TaskId

_NO_SCORE: Final = frozenset(
    {"id", "example_id", "is_completed", "is_truncated", "generation_ms", "scoring_ms", "total_ms"}
)
_METADATA: Final = "metadata.json"
_HINT: Final = "is this the output of verifiers?"
_VERSIONS: Final = (1,)


class Verifiers(ToolLoader):
    """Reads the rows that verifiers wrote up to version 0.3.

    An example is a task; its rollouts are numbered as they come. Scores are the reward and
    the metrics. A rollout that ended with an error and has no reward but 0 is missing: it is
    not known to have been graded.
    """

    def _fill(self, builder: foreign.ChunkBuilder, source: Source) -> None:
        document = Document.beside(source, _METADATA, "the metadata of verifiers")
        metadata = {} if document is None else document.whole()
        model = metadata.get("model")
        rewards: list[float] = []
        questions: dict[str, int] = {}
        cycled = _ids_are_cycled(source)
        for place, row in foreign.rows_of(source):
            content = [question_of(row.get("prompt")), row.get("answer")]
            task: Any = row.get("example_id", row.get("id"))
            if type(task) not in (int, str):
                raise source.error_at(place, f"this row's example_id is {task!r}", _HINT)
            if cycled:
                task = questions.setdefault(content_hash(content), len(questions))
            scores, error = _graded(row)
            rewards.append(foreign.number(row.get("reward")) or 0)
            builder.positional |= isinstance(task, int)
            builder.add(
                Rollout(
                    record=row,
                    name=source.at(place),
                    task=task,
                    agent=model if isinstance(model, str) else None,
                    scores=scores,
                    usage=_row_usage(row),
                    error=error,
                    rewards=("reward",),
                    content=content,
                )
            )
        if metadata and rewards:
            claim = f"avg_reward in {_METADATA}, where a missing one counts as 0,"
            builder.compare(claim, metadata.get("avg_reward"), fmean(rewards))
            examples = foreign.number(metadata.get("num_examples"))
            each = foreign.number(metadata.get("rollouts_per_example"))
            if examples and each and examples > 0:
                claim = f"num_examples * rollouts_per_example in {_METADATA}"
                builder.compare(claim, examples * each, len(rewards))
            settings = {
                "environment": metadata.get("env_id") or metadata.get("env"),
                "version": foreign.lookup(metadata, "version_info.env_version"),
                "arguments": metadata.get("env_args"),
            }
            builder.measured("verifiers", builder.graded, settings)


def _ids_are_cycled(source: Source) -> bool:
    """Check whether the ids are those of 2025's versions, given to rows of other questions.

    They repeated the data set and each of the ids, as in questions a b c a b c with the ids
    0 0 1 1 2 2, so that the questions alone tell which rows are of one task.
    """
    by_id: dict[str, str] = {}
    for _, row in foreign.rows_of(source):
        if "example_id" in row:
            return False
        content = content_hash([question_of(row.get("prompt")), row.get("answer")])
        if by_id.setdefault(repr(row.get("id")), content) != content:
            return True
    return False


def _graded(row: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, str] | None]:
    """Read a row's scores, which early versions write flat, and some both ways; and its error."""
    flat = {
        key: value
        for key, value in row.items()
        if key not in _NO_SCORE and isinstance(value, bool | int | float)
    }
    scores = {"reward": row.get("reward"), **flat, **foreign.mapping(row.get("metrics"))}
    error = row.get("error")
    if not error:
        return scores, None
    if not foreign.number(row.get("reward")):
        scores = dict.fromkeys(scores)
    if isinstance(error, dict):
        kind = error.get("error") or error.get("type") or "error"
        keys = ("error_chain_str", "message", "error_chain_repr")
        return scores, (str(kind), str(next(filter(None, map(error.get, keys)), "")))
    text = str(error)
    kind = text.partition("(")[0].partition(":")[0].strip()
    return scores, (kind if kind.replace(".", "").isidentifier() else "error", text)


def _row_usage(row: Mapping[str, Any]) -> dict[str, float]:
    timing = foreign.mapping(row.get("timing")) or row
    took = foreign.first_number(timing, "generation_ms", "total_ms")
    span = foreign.first_number(timing, "generation.duration")
    return foreign.usage(
        row.get("token_usage"),
        latency_s=span if took is None else took / 1000,
        prompt_tokens="input_tokens|prompt_tokens",
        completion_tokens="output_tokens|completion_tokens",
        cached_tokens="cached_tokens|cached_input_tokens",
        total_tokens="total_tokens",
        cost_usd="cost|cost_usd",
    )


class VerifiersTraces(ToolLoader):
    """Reads the episodes that verifiers writes from version 0.4 on.

    Each trace of an agent that is being trained or judged is a rollout of the episode's task,
    numbered as they come. Its reward is the sum of its rewards by their weights; each reward
    and each metric is a score as well.
    """

    def _fill(self, builder: foreign.ChunkBuilder, source: Source) -> None:
        rollouts = [
            rollout
            for place, row in foreign.rows_of(source)
            for rollout in self._episode(row, place, source, builder)
        ]
        builder.positional = all(isinstance(rollout.task, int) for rollout in rollouts)
        agents = {r.agent for r in rollouts if r.agent is not None}
        for rollout in rollouts:
            if rollout.agent is None and len(agents) == 1:  # an episode that came to no trace
                rollout.agent = next(iter(agents))
            builder.add(rollout)

    def _episode(
        self, row: Mapping[str, Any], place: int, source: Source, builder: foreign.ChunkBuilder
    ) -> Iterator[Rollout]:
        task = _task(row)
        if task is None:
            message = "this episode's task has neither a key nor a hash"
            raise source.error_at(place, message, _HINT)
        traces = foreign.objects(row.get("traces"))
        content = foreign.lookup(row, "task.hash")
        content = foreign.lookup(row, "task.data") if content is None else content
        judged = [t for t in traces if foreign.lookup(t, "agent.trainable") is not False] or traces
        for trace in judged or [{}]:
            version = trace.get("version", _VERSIONS[0])
            if version not in _VERSIONS:
                message = f"this trace is of version {version!r}; known are {_VERSIONS}"
                raise source.error_at(place, message, "update pytest-evalmetrics")
            scores = _trace_scores(trace)
            for name, reward in foreign.mapping(trace.get("rewards")).items():
                weight = {"weight": foreign.lookup(reward, "weight")}
                builder.measured(f"verifiers {name}", ("reward", name), weight)
            error = _last_error(trace) or _last_error(row)
            if error is None and scores["reward"] is None:
                error = Ungraded("not scored", str(trace.get("stop_condition") or ""))
            record = {**row, **trace}
            yield Rollout(
                record=record if foreign.reads_records(self._request) else dict.fromkeys(record),
                name=source.at(place),
                task=task,
                agent=_trace_agent(trace),
                scores=scores,
                usage=_trace_usage(trace),
                error=error,
                rewards=("reward",),
                content=content,
            )


def _task(row: Mapping[str, Any]) -> TaskId | None:
    for path in ("key", "hash", "data.idx", "data.id"):
        id_: TaskId | None = foreign.lookup(row.get("task"), path)
        if type(id_) in (int, str):
            return id_
    return None


def _last_error(holder: Mapping[str, Any]) -> tuple[str, str] | None:
    errors = foreign.objects(holder.get("errors"))
    if holder.get("ok") is not False:  # what was tried again, and went well, is over
        return None
    if not errors:
        return "not ok", str(holder.get("stop_condition") or "")
    return str(errors[-1].get("type") or "error"), str(errors[-1].get("message") or "")


def _trace_scores(trace: Mapping[str, Any]) -> dict[str, Any]:
    rewards = foreign.mapping(trace.get("rewards"))
    parts = [
        score * weight
        for reward in foreign.objects(list(rewards.values()))
        if (score := foreign.number(reward.get("score"))) is not None
        and (weight := foreign.number(reward.get("weight", 1))) is not None
    ]
    return {
        "reward": foreign.total(parts),
        **{name: foreign.lookup(rewards[name], "score") for name in rewards if name != "reward"},
        **{n: v for n, v in foreign.mapping(trace.get("metrics")).items() if n != "reward"},
    }


def _trace_agent(trace: Mapping[str, Any]) -> str | None:
    """Name a trace's agent; one that has only the default name is named by its model."""
    name = foreign.lookup(trace, "agent.name")
    models = [call.get("model") for call in foreign.objects(trace.get("calls"))]
    model = foreign.lookup(trace, "agent.config.model") or next(filter(None, models), None)
    if name in (None, "agent") and isinstance(model, str):
        return model
    return name if isinstance(name, str) else None


def _trace_usage(trace: Mapping[str, Any]) -> dict[str, float]:
    used = foreign.objects([call.get("usage") for call in foreign.objects(trace.get("calls"))])
    # prompt_tokens leave out here what came from the cache
    read = [foreign.total((u.get("prompt_tokens"), u.get("cached_input_tokens"))) for u in used]
    start, end = (foreign.first_number(trace, f"timing.agent.{edge}") for edge in ("start", "end"))
    return foreign.usage(
        *used,
        {"read": foreign.total(read)},
        latency_s=end - start if start is not None and end else None,
        prompt_tokens="read",
        completion_tokens="completion_tokens",
        cached_tokens="cached_input_tokens",
        cost_usd="cost",
    )
