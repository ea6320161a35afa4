"""Runs that are made now, to see how they differ."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from msgspec import structs

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.reports import sentences
from pytest_evalmetrics.spec.sources import Rounds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_evalmetrics.evaluation import Evaluated
    from pytest_evalmetrics.model.rollout_table import RolloutTable
    from pytest_evalmetrics.spec import Benchmark


def make_runs(
    benchmark: Benchmark, count: int, evaluate: Callable[[Benchmark], Evaluated]
) -> dict[str, Sequence[RolloutTable]]:
    """Make runs of each agent: new answers, or new judgements of recorded ones."""
    if benchmark.spec.answers is not None:
        return _answered_again(benchmark, count, evaluate)
    return _judged_again(benchmark, count, evaluate)


def _answered_again(
    benchmark: Benchmark, count: int, evaluate: Callable[[Benchmark], Evaluated]
) -> dict[str, Sequence[RolloutTable]]:
    """Let a model or target answer the rows anew for each run."""
    spec = benchmark.spec
    samples = spec.num_samples
    if isinstance(samples, Rounds):
        attempts = samples.most
    else:
        attempts = samples or 1
    expect = replace(spec.expect, rollouts=None)
    scorers = _judging_repeatedly(benchmark, 2)
    # the journal answers the runs before, if there is one
    first = 1
    if spec.forgets:
        first = count
    for run in range(first, count + 1):
        longer = benchmark.but(
            scorers=scorers, expect=expect, num_samples=attempts * run
        )
        table = _complete(evaluate(longer), f"run {run} of {count}")
    return {
        agent: [part.where(part.sample // attempts == run) for run in range(count)]
        for agent, part in table.by_agent()
    }


def _judged_again(
    benchmark: Benchmark, count: int, evaluate: Callable[[Benchmark], Evaluated]
) -> dict[str, Sequence[RolloutTable]]:
    """Let the judges score the recorded answers once for each run."""
    scorers = _judging_repeatedly(benchmark, count)
    if all(getattr(scorer, "judge_repeats", 1) < count for scorer in scorers):
        raise DataError(
            "nothing of it varies: there is no model, and no judge that repeats"
        )
    table = _complete(evaluate(benchmark.but(scorers=scorers)), f"run 1 of {count}")
    reward = benchmark.spec.reward

    def judgement(part: RolloutTable, run: int) -> RolloutTable:
        scores = {**part.scores, reward: part.scores[f"{reward}@{run + 1}"]}
        return structs.replace(part, scores=scores)

    return {
        agent: [judgement(part, run) for run in range(count)]
        for agent, part in table.by_agent()
    }


def _judging_repeatedly(benchmark: Benchmark, least: int) -> tuple[Any, ...]:
    """Return the scorers; a single judge repeats at least so often."""
    given: tuple[Any, ...] = benchmark.spec.scorers
    scorers = []
    for scorer in given:
        is_single = hasattr(scorer, "judge_repeats") and not getattr(
            scorer, "judges", None
        )
        if is_single:
            repeats = max(scorer.judge_repeats, least)
            scorers.append(replace(scorer, judge_repeats=repeats))
        else:
            scorers.append(scorer)
    return tuple(scorers)


def _complete(evaluated: Evaluated, which: str) -> RolloutTable:
    """Return the rows of a run; raise DataError if some are missing."""
    rows = evaluated.row_scores
    if evaluated.baseline is not None and rows is not None:
        return rows.table
    failed = (
        sentences.reason_of(check)
        for check in evaluated.result.checks
        if check.verdict.fails
    )
    reason = next(failed, "rows are left out on purpose")
    raise DataError(f"{which} is not complete: {reason}")
