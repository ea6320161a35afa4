"""Rollouts of verifiers up to version 0.3: ``results.jsonl`` with ``metadata.json``."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from pytest_evalmetrics.data.content import content_hash
from pytest_evalmetrics.rollouts.documents import Document, rows_of
from pytest_evalmetrics.rollouts.files import RolloutFile
from pytest_evalmetrics.rollouts.gathering import Gathering, Rollout, Ungraded
from pytest_evalmetrics.rollouts.source import open_source
from pytest_evalmetrics.rollouts.values import agree, asked, lookup, mapping, number, total, usage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_evalmetrics.rollouts.seam import Chunk, Request
    from pytest_evalmetrics.rollouts.source import Source

__all__ = ["Verifiers"]

_ROW: Final = frozenset({"prompt", "completion", "reward"})
_NO_SCORE: Final = frozenset(
    {"id", "example_id", "is_completed", "is_truncated", "generation_ms", "scoring_ms", "total_ms"}
)
_METADATA: Final = "metadata.json"
_HINT: Final = "is this the output of verifiers?"


class Verifiers:
    """Reads the rows that verifiers wrote up to version 0.3.

    An example is a task; its rollouts are numbered as they come. Scores are the reward and
    the metrics. A rollout that ended with an error and has no reward but 0 is missing: it is
    not known to have been graded.

    Parameters
    ----------
    request
        What the benchmark wants.
    """

    def __init__(self, request: Request) -> None:
        self._request = request

    @staticmethod
    def recognises(source: Source) -> bool:
        """Take rows with prompt, completion and reward, and an example's id."""
        keys = source.keys
        named = "example_id" in keys or ("id" in keys and bool(keys & {"task", "info", "answer"}))
        return keys >= _ROW and named and "_ng_task_index" not in keys

    def read(self, source: Source) -> Iterator[Chunk]:
        """Read one file.

        Raises
        ------
        DataError
            If the file is broken, or a row lacks its example's id.
        """
        metadata = _metadata(source)
        model = metadata.get("model")
        gathering = Gathering(self._request, source)
        rewards: list[float] = []
        questions: dict[str, int] = {}
        cycled = _ids_are_cycled(source)
        for place, row in rows_of(source):
            content = [asked(row.get("prompt")), row.get("answer")]
            task: Any = row.get("example_id", row.get("id"))
            if type(task) not in (int, str):
                raise source.error_at(place, f"this row's example_id is {task!r}", _HINT)
            if cycled:
                task = questions.setdefault(content_hash(content), len(questions))
            rewards.append(number(row.get("reward")) or 0)
            gathering.positional |= isinstance(task, int)
            gathering.add(
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
        if len(gathering):
            gathering.notes += _disagreements(metadata, rewards, source)
            if metadata:
                settings = {
                    "environment": metadata.get("env_id") or metadata.get("env"),
                    "version": lookup(metadata.get("version_info"), "env_version"),
                    "arguments": metadata.get("env_args"),
                }
                gathering.measured("verifiers", gathering.graded, settings)
            yield gathering.chunk()


def _ids_are_cycled(source: Source) -> bool:
    """Check whether the ids are those of 2025's versions, given to rows of other questions.

    They repeated the data set and each of the ids, as in questions a b c a b c with the ids
    0 0 1 1 2 2, so that the questions alone tell which rows are of one task.
    """
    by_id: dict[str, str] = {}
    for _, row in rows_of(source):
        if "example_id" in row:
            return False
        content = content_hash([asked(row.get("prompt")), row.get("answer")])
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
    if error is not None and not number(row.get("reward")):
        scores = dict.fromkeys(scores)
    elif error is None and scores["reward"] is None:
        error = Ungraded("not scored")
    return {"scores": scores, "error": error, "rewards": ("reward",)}


def _row_error(error: Any) -> tuple[str, str] | None:
    if not error:
        return None
    if isinstance(error, dict):
        kind = error.get("error") or error.get("type") or "error"
        said = error.get("error_chain_str") or error.get("message") or error.get("error_chain_repr")
        return str(kind), str(said or "")
    text = str(error)
    kind = text.partition("(")[0].partition(":")[0].strip()
    return (kind if kind.replace(".", "").isidentifier() else "error"), text


def _row_usage(row: Mapping[str, Any]) -> dict[str, float | None]:
    tokens = mapping(row.get("token_usage"))
    timing = mapping(row.get("timing")) or row
    took = number(timing.get("generation_ms"))
    took = number(timing.get("total_ms")) if took is None else took
    if took is None:
        took = total([lookup(timing, "generation.duration")])
        took = None if took is None else took * 1000
    return usage(
        latency_s=None if took is None else took / 1000,
        prompt_tokens=_first(tokens, "input_tokens", "prompt_tokens"),
        completion_tokens=_first(tokens, "output_tokens", "completion_tokens"),
        cached_tokens=_first(tokens, "cached_tokens", "cached_input_tokens"),
        total_tokens=_first(tokens, "total_tokens"),
        cost_usd=_first(tokens, "cost", "cost_usd"),
    )


def _first(holder: Any, *keys: str) -> float | None:
    if not isinstance(holder, dict):
        return None
    return next((n for key in keys if (n := number(holder.get(key))) is not None), None)


def _metadata(source: Source) -> dict[str, Any]:
    """Read what lies beside the rows; nothing where there is none."""
    path = source.path.with_name(_METADATA)
    if not path.is_file():
        return {}
    shown = f"{source.shown.rpartition('/')[0]}/{_METADATA}".lstrip("/")
    document = Document.of(open_source(RolloutFile(path, shown)), "the metadata of verifiers")
    return {key: document.get(key) for key in document.keys}


def _disagreements(
    metadata: Mapping[str, Any], rewards: Sequence[float], source: Source
) -> Iterator[str]:
    stated = number(metadata.get("avg_reward"))
    if stated is not None and not agree(stated, fmean(rewards)):
        yield (
            f"{source.shown}: {_METADATA} says that the mean reward is {stated:.6g}, and the rows "
            f"give {fmean(rewards):.6g}, a missing one counted as 0"
        )
    examples = number(metadata.get("num_examples"))
    each = number(metadata.get("rollouts_per_example"))
    if examples and each and examples > 0 and examples * each != len(rewards):
        yield (
            f"{source.shown}: {_METADATA} says {examples} examples with {each} rollouts each, and "
            f"there are {len(rewards)} rows"
        )
