"""Scores of the Berkeley Function-Calling Leaderboard: ``BFCL_<version>_<category>_score.json``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pytest_evalmetrics.rollouts import json_values
from pytest_evalmetrics.rollouts.documents import rows_of
from pytest_evalmetrics.rollouts.source import RolloutFile, open_source
from pytest_evalmetrics.rollouts.stated_totals import failures_stated
from pytest_evalmetrics.rollouts.tool_loader import (
    ChunkBuilder,
    Rollout,
    ToolLoader,
    aggregate,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_evalmetrics.json_types import JsonMapping
    from pytest_evalmetrics.rollouts.source import Source

_SCORE: Final = "_score.json"
_RESULT: Final = "_result.json"


class Bfcl(ToolLoader):
    """Reads a file of scores, which counts in its first line and lists the failures alone.

    The tasks are the ids in the file of results that lies beside it, or where BFCL writes it. Where
    there is none, the accuracy in the first line is one aggregate.
    """

    def rollouts(self, source: Source, builder: ChunkBuilder) -> Iterator[Rollout]:
        """Yield the rollouts of one file."""
        rows = rows_of(source)
        _, header = next(rows)
        failures = {str(row.get("id")): row for _, row in rows}
        results = _results(source.path)
        if results is None:
            yield _whole(header, source)
            return
        stated = failures_stated(header)
        if stated is not None and stated != len(failures):
            raise source.error(
                f"the first line counts {stated} failures, and {len(failures)} are listed",
                hint="was the evaluation or the copy interrupted? evaluate again",
            )
        tasks = 0
        for place, row in rows_of(results):
            tasks += 1
            task = str(row.get("id"))
            failure = failures.pop(task, None)
            yield Rollout(
                record={**row, **(failure or {})},
                name=results.at(place),
                task=task,
                sample=0,
                agent=header.get("model_name") or source.path.parent.name,
                scores={"reward": int(failure is None)},
            )
        for task in failures:
            raise source.error(
                f"{task!r} failed, and is not in {results.shown}",
                hint="are both files of the same run?",
            )
        builder.compare("total_count", header.get("total_count"), tasks)


def _results(path: Path) -> Source | None:
    """Open the file of results of a file of scores; None if it is not found."""
    name = path.name.removesuffix(_SCORE) + _RESULT
    parts = path.parent.parts
    folders = [path.parent]
    if "score" in parts:
        at = len(parts) - 1 - parts[::-1].index("score")
        folders.append(type(path)(*parts[:at], "result", *parts[at + 1 :]))
    for folder in folders:
        if (folder / name).is_file():
            return open_source(RolloutFile(folder / name, (folder / name).as_posix()))
    return None


def _whole(header: JsonMapping, source: Source) -> Rollout:
    category = source.path.name.removesuffix(_SCORE)
    count = json_values.number(header.get("total_count"))
    scores = aggregate(
        "reward", header.get("accuracy"), error=None, samples=count, documents=count
    )
    return Rollout(
        record=dict(header),
        name=source.shown,
        task=category,
        sample=0,
        scores=scores,
        rewards=("reward",),
    )
