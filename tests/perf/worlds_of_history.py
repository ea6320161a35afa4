"""Worlds in which earlier runs of a history show the noise between runs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from simulated import MOST_FAILS, Cell, benchmark, passes, table

from pytest_evalmetrics.metrics import plan, reduce_agent
from pytest_evalmetrics.model.history import HistoryPoint, HistoryRun
from pytest_evalmetrics.pipeline.comparing import ComparisonTerms, compare_agents
from pytest_evalmetrics.pipeline.judging import judge_comparisons
from pytest_evalmetrics.pipeline.noise_elsewhere import NoiseElsewhere
from pytest_evalmetrics.pipeline.reducing import AgentRun
from pytest_evalmetrics.pipeline.references import Reference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from simulated import Floats

    from pytest_evalmetrics.ext import Check

_TASKS = 200
_ROLLOUTS = 4


def earlier_run(value: float) -> HistoryRun:
    """A run of an unchanged system, as a history keeps it."""
    rollouts = _TASKS * _ROLLOUTS
    point = HistoryPoint(value=value, tasks=_TASKS, rollouts=rollouts)
    return HistoryRun(
        schema_version=1,
        benchmark="simulated",
        time="2026-01-02T03:04:05Z",
        commit=None,
        branch=None,
        url=None,
        verdict="PASS",
        usable=True,
        starts=False,
        agents={"agent": {"mean_reward": point}},
    )


def chances(skill: Floats, shift: float, drop: float, *, is_logit: bool) -> Floats:
    """Shift the chances of all tasks of a run together."""
    if is_logit:
        logit = np.log(skill / (1 - skill)) + shift
        return np.clip(1 / (1 + np.exp(-logit)) - drop, 0, 1)
    return np.clip(0.1 + 0.8 * skill + shift - drop, 0, 1)


def checks_beside_history(
    rng: np.random.Generator, *, runs: int, sd: float, is_logit: bool, drop: float = 0.0
) -> list[Check]:
    """Judge a run against a lone baseline, beside so many earlier runs."""
    skill = np.clip(rng.beta(0.4, 0.4, _TASKS), 1e-9, 1 - 1e-9)
    drawn = [
        passes(rng, chances(skill, shift, 0.0, is_logit=is_logit), _ROLLOUTS)
        for shift in rng.normal(0, sd, runs + 1)
    ]
    lost = chances(skill, float(rng.normal(0, sd)), drop, is_logit=is_logit)
    run = table(passes(rng, lost, _ROLLOUTS))
    past = tuple(earlier_run(float(rewards.mean())) for rewards in drawn[:-1])
    asked = benchmark()
    planned = plan(asked.spec)
    terms = ComparisonTerms(
        benchmark=asked,
        plan=planned,
        reference=Reference(runs={"agent": (table(drawn[-1]),)}),
        elsewhere=NoiseElsewhere(past=past),
    )
    result = reduce_agent(planned, "agent", run)
    agents = compare_agents(terms, [AgentRun(result, run, run.counts)])
    return judge_comparisons(terms, agents)


def is_red_beside_history(
    rng: np.random.Generator, *, runs: int, sd: float, is_logit: bool, drop: float = 0.0
) -> bool:
    """Whether such a run is red."""
    checks = checks_beside_history(rng, runs=runs, sd=sd, is_logit=is_logit, drop=drop)
    return any(check.verdict.fails for check in checks)


def history() -> Iterator[Cell]:
    """A lone baseline beside earlier runs: no change, and drops of 5 and 10 points."""
    for runs in (5, 8, 20):
        row = f"{_TASKS} x {_ROLLOUTS}, {runs} earlier runs"
        for sd in (0.0, 0.01, 0.02):
            none = partial(is_red_beside_history, runs=runs, sd=sd, is_logit=False)
            column = f"no change, sd {100 * sd:g}"
            yield Cell("history", row, column, none, 800, (0.0, MOST_FAILS))
        none = partial(is_red_beside_history, runs=runs, sd=0.3, is_logit=True)
        yield Cell("history", row, "no change, logit .3", none, 800, (0.0, MOST_FAILS))
        for drop in (0.05, 0.1):
            run = partial(
                is_red_beside_history, runs=runs, sd=0.0, is_logit=False, drop=drop
            )
            column = f"{100 * drop:g} points, sd 0"
            yield Cell("history", row, column, run, 300)
