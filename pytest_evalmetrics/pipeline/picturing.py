"""The tasks of an agent before and after, for the page that people look at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pytest_evalmetrics.collector import collector_paused
from pytest_evalmetrics.pipeline.rules import gated_names, rule_of
from pytest_evalmetrics.reports import picture_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_evalmetrics.data import RolloutTable, RowScores
    from pytest_evalmetrics.pipeline.judging import Judging
    from pytest_evalmetrics.spec import Benchmark

__all__ = ["PICTURED", "picture"]

PICTURED: Final = 400  # of a run's benchmarks that pass: no page has room for many more


@collector_paused()
def picture(
    benchmark: Benchmark,
    agent: str,
    table: RolloutTable,
    judging: Judging | None,
    rows: RowScores | None,
) -> Mapping[str, Any]:
    """Describe one agent's tasks, beside those of the run that it is compared with."""
    pairing = None if judging is None else judging.pairings.get(agent)
    reward = benchmark.spec.reward
    return picture_of(
        table,
        reward=reward,
        lower=frozenset(name for name in table.scores if _less_is_better(benchmark, name)),
        compared=None if pairing is None else (pairing.baseline, pairing.at),
        rows=rows,
        against="" if pairing is None or judging is None else judging.reference.origin,
    )


def _less_is_better(benchmark: Benchmark, score: str) -> bool:
    names = [f"mean/{score}"]
    if score == benchmark.spec.reward:  # which metrics without a score reduce
        names = [n for n in gated_names(benchmark) if "/" not in n] or names
    return rule_of(benchmark, names[0], bounded=False).direction == "lower"
