"""Episodes of verifiers from version 0.4 on: ``traces.jsonl``."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, Final

from pytest_evalmetrics.rollouts.documents import rows_of
from pytest_evalmetrics.rollouts.gathering import Gathering, Rollout, Ungraded
from pytest_evalmetrics.rollouts.values import lookup, mapping, number, objects, slim, total, usage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_evalmetrics.data import TaskId
    from pytest_evalmetrics.rollouts.seam import Chunk, Request
    from pytest_evalmetrics.rollouts.source import Source

__all__ = ["VerifiersTraces"]

_TASK: Final = frozenset({"task.key", "task.hash", "task.data"})
_VERSIONS: Final = (1,)
_HINT: Final = "is this the output of verifiers?"


class VerifiersTraces:
    """Reads the episodes that verifiers writes from version 0.4 on.

    Each trace of an agent that is being trained or judged is a rollout of the episode's task,
    numbered as they come. Its reward is the sum of its rewards by their weights; each reward
    and each metric is a score as well.

    Parameters
    ----------
    request
        What the benchmark wants.
    """

    def __init__(self, request: Request) -> None:
        self._request = request

    @staticmethod
    def recognises(source: Source) -> bool:
        """Take rows that are episodes with traces."""
        return "traces" in source.keys and bool(source.keys & _TASK)

    def read(self, source: Source) -> Iterator[Chunk]:
        """Read one file.

        Raises
        ------
        DataError
            If the file is broken, an episode lacks its task, or a trace is of another version.
        """
        gathering = Gathering(self._request, source)
        gathering.positional = True
        rollouts = [
            rollout
            for place, row in rows_of(source)
            for rollout in self._episode(row, place, source, gathering)
        ]
        agents = {r.agent for r in rollouts if r.agent is not None}
        for rollout in rollouts:
            if rollout.agent is None and len(agents) == 1:  # an episode that came to no trace
                rollout.agent = next(iter(agents))
            gathering.positional &= isinstance(rollout.task, int)
            gathering.add(rollout)
        if len(gathering):
            yield gathering.chunk()

    def _episode(
        self, row: Mapping[str, Any], place: int, source: Source, gathering: Gathering
    ) -> Iterator[Rollout]:
        traces = objects(row.get("traces"))
        judged = [t for t in traces if lookup(t, "agent.trainable") is not False] or traces
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
            for name, reward in mapping(trace.get("rewards")).items():
                weight = {"weight": lookup(reward, "weight")}
                gathering.measured(f"verifiers {name}", ("reward", name), weight)
            failed = _last_error(trace) or error
            if failed is None and scores["reward"] is None:
                failed = Ungraded("not scored", str(trace.get("stop_condition") or ""))
            yield Rollout(
                record=slim({**row, **trace}, self._request),
                name=source.at(place),
                task=_task(row, place, source),
                agent=_trace_agent(trace),
                scores=scores,
                usage=_trace_usage(trace),
                error=failed,
                rewards=("reward",),
                content=_content(row),
            )


def _task(row: Mapping[str, Any], place: int, source: Source) -> TaskId:
    task = row.get("task")
    if isinstance(task, dict):
        for path in ("key", "hash", "data.idx", "data.id"):
            found: TaskId | None = lookup(task, path)
            if type(found) in (int, str) and found is not None:
                return found
    raise source.error_at(place, "this episode's task has neither a key nor a hash", _HINT)


def _content(row: Mapping[str, Any]) -> Any:
    held = lookup(row, "task.hash")
    return lookup(row, "task.data") if held is None else held


def _last_error(holder: Mapping[str, Any]) -> tuple[str, str] | None:
    errors = objects(holder.get("errors"))
    if holder.get("ok") is not False:  # what was tried again, and went well, is over
        return None
    if not errors:
        return "not ok", str(holder.get("stop_condition") or "")
    return str(errors[-1].get("type") or "error"), str(errors[-1].get("message") or "")


def _trace_scores(trace: Mapping[str, Any]) -> dict[str, Any]:
    rewards = mapping(trace.get("rewards"))
    given = {name: r for name, r in rewards.items() if isinstance(r, dict)}
    parts = [
        score * weight
        for r in given.values()
        if (score := number(r.get("score"))) is not None
        and (weight := number(r.get("weight", 1))) is not None
    ]
    return {
        "reward": reduce(add, parts) if parts else None,  # as sum() did before Python 3.12
        **{name: (given.get(name) or {}).get("score") for name in rewards if name != "reward"},
        **{n: v for n, v in mapping(trace.get("metrics")).items() if n != "reward"},
    }


def _trace_agent(trace: Mapping[str, Any]) -> str | None:
    """Name a trace's agent; one that has only the default name is called by its model."""
    name = lookup(trace, "agent.name")
    models = [call.get("model") for call in objects(trace.get("calls"))]
    model = lookup(trace, "agent.config.model") or next((m for m in models if m), None)
    if name in (None, "agent") and isinstance(model, str):
        return model
    return name if isinstance(name, str) else None


def _trace_usage(trace: Mapping[str, Any]) -> dict[str, float | None]:
    used = objects([call.get("usage") for call in objects(trace.get("calls"))])
    start, end = (number(lookup(trace, f"timing.agent.{edge}")) for edge in ("start", "end"))
    # prompt_tokens leave out here what came from the cache
    read = [total((u.get("prompt_tokens"), u.get("cached_input_tokens"))) for u in used]
    return usage(
        latency_s=end - start if start is not None and end else None,
        prompt_tokens=total(read),
        completion_tokens=total(u.get("completion_tokens") for u in used),
        cached_tokens=total(u.get("cached_input_tokens") for u in used),
        cost_usd=total(u.get("cost") for u in used),
    )
