"""Rollouts of verifiers: ``results.jsonl`` up to version 0.3, ``traces.jsonl`` from 0.4 on."""

from __future__ import annotations

from functools import reduce
from operator import add
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from pytest_evalmetrics.ext import content_hash, question_of
from pytest_evalmetrics.rollouts import foreign
from pytest_evalmetrics.rollouts.foreign import Rollout, ToolLoader, Ungraded

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
        document = foreign.document_beside(source, _METADATA, "the metadata of verifiers")
        metadata = {} if document is None else {key: document.get(key) for key in document.keys}
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
            rewards.append(foreign.number(row.get("reward")) or 0)
            builder.positional |= isinstance(task, int)
            builder.add(
                Rollout(
                    record=row,
                    name=source.at(place),
                    task=task,
                    content=content,
                    agent=model if isinstance(model, str) else None,
                    **_graded(row),
                    usage=_row_usage(row),
                )
            )
        if len(builder):
            builder.notes += _disagreements(metadata, rewards, source)
            if metadata:
                settings = {
                    "environment": metadata.get("env_id") or metadata.get("env"),
                    "version": foreign.lookup(metadata.get("version_info"), "env_version"),
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


def _graded(row: Mapping[str, Any]) -> dict[str, Any]:
    metrics = row.get("metrics")
    # early versions write the metrics flat, and some both ways
    flat = {
        key: value
        for key, value in row.items()
        if key not in _NO_SCORE and isinstance(value, bool | int | float)
    }
    scores = {"reward": row.get("reward"), **flat, **(metrics if isinstance(metrics, dict) else {})}
    error = _row_error(row.get("error"))
    if error is not None and not foreign.number(row.get("reward")):
        scores = dict.fromkeys(scores)
    elif error is None and scores["reward"] is None:
        error = Ungraded("not scored")
    return {"scores": scores, "error": error, "rewards": ("reward",)}


def _row_error(error: Any) -> tuple[str, str] | None:
    if not error:
        return None
    if isinstance(error, dict):
        kind = error.get("error") or error.get("type") or "error"
        keys = ("error_chain_str", "message", "error_chain_repr")
        return str(kind), str(next(filter(None, map(error.get, keys)), ""))
    text = str(error)
    kind = text.partition("(")[0].partition(":")[0].strip()
    return (kind if kind.replace(".", "").isidentifier() else "error"), text


def _row_usage(row: Mapping[str, Any]) -> dict[str, float]:
    tokens = foreign.mapping(row.get("token_usage"))
    timing = foreign.mapping(row.get("timing")) or row
    took = foreign.number(timing.get("generation_ms"))
    took = foreign.number(timing.get("total_ms")) if took is None else took
    if took is None:
        took = foreign.total([foreign.lookup(timing, "generation.duration")])
        took = None if took is None else took * 1000
    return foreign.usage(
        latency_s=None if took is None else took / 1000,
        prompt_tokens=_first(tokens, "input_tokens", "prompt_tokens"),
        completion_tokens=_first(tokens, "output_tokens", "completion_tokens"),
        cached_tokens=_first(tokens, "cached_tokens", "cached_input_tokens"),
        total_tokens=_first(tokens, "total_tokens"),
        cost_usd=_first(tokens, "cost", "cost_usd"),
    )


def _first(holder: Mapping[str, Any], *keys: str) -> float | None:
    amounts = (foreign.number(holder.get(key)) for key in keys)
    return next((amount for amount in amounts if amount is not None), None)


def _disagreements(
    metadata: Mapping[str, Any], rewards: Sequence[float], source: Source
) -> Iterator[str]:
    stated = foreign.number(metadata.get("avg_reward"))
    if stated is not None and not foreign.agree(stated, fmean(rewards)):
        yield (
            f"{source.shown}: {_METADATA} says that the mean reward is {stated:.6g}, and the rows "
            f"give {fmean(rewards):.6g}, a missing one counted as 0"
        )
    examples = foreign.number(metadata.get("num_examples"))
    each = foreign.number(metadata.get("rollouts_per_example"))
    if examples and each and examples > 0 and examples * each != len(rewards):
        yield (
            f"{source.shown}: {_METADATA} says {examples} examples with {each} rollouts each, and "
            f"there are {len(rewards)} rows"
        )


class VerifiersTraces(ToolLoader):
    """Reads the episodes that verifiers writes from version 0.4 on.

    Each trace of an agent that is being trained or judged is a rollout of the episode's task,
    numbered as they come. Its reward is the sum of its rewards by their weights; each reward
    and each metric is a score as well.
    """

    def _fill(self, builder: foreign.ChunkBuilder, source: Source) -> None:
        builder.positional = True
        rollouts = [
            rollout
            for place, row in foreign.rows_of(source)
            for rollout in self._episode(row, place, source, builder)
        ]
        agents = {r.agent for r in rollouts if r.agent is not None}
        for rollout in rollouts:
            if rollout.agent is None and len(agents) == 1:  # an episode that came to no trace
                rollout.agent = next(iter(agents))
            builder.positional &= isinstance(rollout.task, int)
            builder.add(rollout)

    def _episode(
        self, row: Mapping[str, Any], place: int, source: Source, builder: foreign.ChunkBuilder
    ) -> Iterator[Rollout]:
        traces = foreign.objects(row.get("traces"))
        content = foreign.lookup(row, "task.hash")
        content = foreign.lookup(row, "task.data") if content is None else content
        judged = [t for t in traces if foreign.lookup(t, "agent.trainable") is not False] or traces
        error = _last_error(row)
        for trace in judged or [{}]:
            version = trace.get("version", _VERSIONS[0])
            if version not in _VERSIONS:
                raise source.error_at(
                    place,
                    f"this trace is of version {version!r}; known are {_VERSIONS}",
                    "update pytest-evalmetrics",
                )
            scores = _trace_scores(trace)
            for name, reward in foreign.mapping(trace.get("rewards")).items():
                weight = {"weight": foreign.lookup(reward, "weight")}
                builder.measured(f"verifiers {name}", ("reward", name), weight)
            failed = _last_error(trace) or error
            if failed is None and scores["reward"] is None:
                failed = Ungraded("not scored", str(trace.get("stop_condition") or ""))
            yield Rollout(
                record=foreign.slim({**row, **trace}, self._request),
                name=source.at(place),
                task=_task(row, place, source),
                agent=_trace_agent(trace),
                scores=scores,
                usage=_trace_usage(trace),
                error=failed,
                rewards=("reward",),
                content=content,
            )


def _task(row: Mapping[str, Any], place: int, source: Source) -> TaskId:
    task = row.get("task")
    if isinstance(task, dict):
        for path in ("key", "hash", "data.idx", "data.id"):
            id_: TaskId | None = foreign.lookup(task, path)
            if type(id_) in (int, str) and id_ is not None:
                return id_
    raise source.error_at(place, "this episode's task has neither a key nor a hash", _HINT)


def _last_error(holder: Mapping[str, Any]) -> tuple[str, str] | None:
    errors = foreign.objects(holder.get("errors"))
    if holder.get("ok") is not False:  # what was tried again, and went well, is over
        return None
    if not errors:
        return "not ok", str(holder.get("stop_condition") or "")
    return str(errors[-1].get("type") or "error"), str(errors[-1].get("message") or "")


def _trace_scores(trace: Mapping[str, Any]) -> dict[str, Any]:
    rewards = foreign.mapping(trace.get("rewards"))
    given = {name: r for name, r in rewards.items() if isinstance(r, dict)}
    parts = [
        score * weight
        for r in given.values()
        if (score := foreign.number(r.get("score"))) is not None
        and (weight := foreign.number(r.get("weight", 1))) is not None
    ]
    return {
        "reward": reduce(add, parts) if parts else None,  # as sum() did before Python 3.12
        **{name: (given.get(name) or {}).get("score") for name in rewards if name != "reward"},
        **{n: v for n, v in foreign.mapping(trace.get("metrics")).items() if n != "reward"},
    }


def _trace_agent(trace: Mapping[str, Any]) -> str | None:
    """Name a trace's agent; one that has only the default name is called by its model."""
    name = foreign.lookup(trace, "agent.name")
    models = [call.get("model") for call in foreign.objects(trace.get("calls"))]
    model = foreign.lookup(trace, "agent.config.model") or next((m for m in models if m), None)
    if name in (None, "agent") and isinstance(model, str):
        return model
    return name if isinstance(name, str) else None


def _trace_usage(trace: Mapping[str, Any]) -> dict[str, float]:
    used = foreign.objects([call.get("usage") for call in foreign.objects(trace.get("calls"))])
    start, end = (
        foreign.number(foreign.lookup(trace, f"timing.agent.{edge}")) for edge in ("start", "end")
    )
    # prompt_tokens leave out here what came from the cache
    read = [foreign.total((u.get("prompt_tokens"), u.get("cached_input_tokens"))) for u in used]
    return foreign.usage(
        latency_s=end - start if start is not None and end else None,
        prompt_tokens=foreign.total(read),
        completion_tokens=foreign.total(u.get("completion_tokens") for u in used),
        cached_tokens=foreign.total(u.get("cached_input_tokens") for u in used),
        cost_usd=foreign.total(u.get("cost") for u in used),
    )
