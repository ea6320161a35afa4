"""The first worse one of several recorded runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from pytest_evalmetrics import metrics, rollouts
from pytest_evalmetrics.compared_runs import (
    RunReader,
    arguments_of,
    benchmark_of,
    benchmarks_of,
    errors_of_options,
    reports_of,
    rollouts_at,
    short_names,
    tables_of,
    without_direction,
)
from pytest_evalmetrics.config import declarations
from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.pipeline.gate_settings import rule_of
from pytest_evalmetrics.run_series import first_worse, runs_of_commits
from pytest_evalmetrics.spec.metric_names import parse

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping, Sequence

    from pytest_evalmetrics.compared_runs import RunArguments
    from pytest_evalmetrics.json_types import JsonObject
    from pytest_evalmetrics.model.metric_facts import DirectionName
    from pytest_evalmetrics.model.rollout_table import RolloutTable
    from pytest_evalmetrics.spec import Benchmark

    # the rollouts of a benchmark's agents in each run that has it, by the run's place
    AgentsOfRuns = dict[int, dict[str, RolloutTable]]
    # the rollouts of a benchmark and agent, by the place of their run
    Series = dict[str, dict[int, RolloutTable]]


def find_culprit(given: Namespace) -> tuple[list[str], bool]:
    """Find the first worse run; return the lines to print, and whether there is one."""
    with errors_of_options():
        return _culprit(arguments_of(given))


class _Finding(msgspec.Struct, frozen=True):
    """What a search says of a metric, and whether a run is worse."""

    line: str
    is_worse: bool = False


def _culprit(arguments: RunArguments) -> tuple[list[str], bool]:
    paths = list(arguments.runs)
    names = short_names(paths)
    notes: list[str] = []
    if len(paths) == 1 and "=" in paths[0]:
        names, paths, notes = runs_of_commits(paths[0])
    if len(paths) < 2:  # nothing came before one
        raise EvalMetricsError("two runs or more are needed, the oldest first")
    benchmark = benchmark_of(arguments, "(runs)", {})
    series = _series(paths, arguments)
    # all of them together have the level of one
    tests = len(series) * len(benchmark.spec.metrics)
    findings: list[_Finding] = []
    for title, tables in series.items():
        runs = {names[place]: table for place, table in tables.items()}
        findings += _searched(benchmark, title, runs, tests)
    lines = [finding.line for finding in findings]
    return [*lines, *notes], any(finding.is_worse for finding in findings)


def _searched(
    benchmark: Benchmark, title: str, runs: Mapping[str, RolloutTable], tests: int
) -> list[_Finding]:
    """Search the runs of a benchmark and agent, by their names, in each metric."""
    names = list(runs)
    if len(names) < 2:
        alone = f"{title}: {names[0]} alone has it, so that nothing came before it"
        return [_Finding(alone)]
    tables = list(runs.values())
    plan = metrics.plan(benchmark.spec)
    declared = _with_directions(benchmark, plan, tables[0].directions)
    findings = []
    for metric in declared.spec.metrics:
        rule = rule_of(declared, metric, bounded=True)
        rule = structs.replace(rule, alpha=rule.alpha / tests)
        may_be_rate = declarations.may_be_rate(declared.spec, metric)
        words, p = first_worse(
            plan, metric, tables, names, rule, may_be_rate=may_be_rate
        )
        line = f"{title} {metric}: {words}".lstrip()
        findings.append(_Finding(line, is_worse=p < rule.alpha))
    return findings


def _with_directions(
    benchmark: Benchmark, plan: metrics.Plan, directions: Mapping[str, DirectionName]
) -> Benchmark:
    """Complete the direction of each metric; ask for it where nothing declares it."""
    spec = benchmark.spec
    facts = plan.facts_of
    names = map(parse, spec.gated)
    scores = [name.score for name in names if name.score is not None]
    undeclared = declarations.undeclared_when_loaded(spec, facts, directions, scores)
    for question in undeclared:
        raise without_direction(question.metrics)
    return benchmark.with_spec(declarations.with_directions(spec, facts, directions))


def _series(paths: Sequence[str], arguments: RunArguments) -> Series:
    """Return the rollouts of each benchmark and agent."""
    reports = reports_of(paths)
    if reports:
        runs_by_benchmark = _runs_of_reports(paths, reports)
    else:
        runs_by_benchmark = {"": _runs_of_rollouts(paths, arguments)}
    series: Series = {}
    for benchmark, runs in runs_by_benchmark.items():
        series |= _series_of_agents(benchmark, runs)
    return series


def _runs_of_reports(
    paths: Sequence[str], reports: Sequence[Path]
) -> dict[str, AgentsOfRuns]:
    """Return the runs of each benchmark."""
    runs_by_benchmark: dict[str, AgentsOfRuns] = {}
    for at, report in enumerate(reports):
        for name, file in benchmarks_of(report).items():
            runs = runs_by_benchmark.setdefault(name, {})
            runs[at] = tables_of(report, name, file, paths[at])
    return runs_by_benchmark


def _runs_of_rollouts(paths: Sequence[str], arguments: RunArguments) -> AgentsOfRuns:
    files = [rollouts_at(path) for path in paths]

    def load(keys: JsonObject) -> list[RolloutTable]:
        return [_table(file, keys, arguments) for file in files]

    tables = RunReader(arguments).read(files, load)
    return {at: dict(table.by_agent()) for at, table in enumerate(tables)}


def _series_of_agents(benchmark: str, runs: AgentsOfRuns) -> Series:
    """Return a series of each agent; the only agent of all runs may have been renamed."""
    most_agents = max(map(len, runs.values()), default=0)
    series: Series = {}
    for at, agents in runs.items():
        for agent, table in agents.items():
            title = benchmark
            if most_agents > 1:
                title = f"{benchmark} {agent}".lstrip()
            series.setdefault(title, {})[at] = table
    return series


def _table(file: Path, keys: JsonObject, arguments: RunArguments) -> RolloutTable:
    """Load the rollouts of a run, with the scores that the metrics need."""
    spec = benchmark_of(arguments, {"path": str(file), **keys}, {}).spec
    scores = metrics.plan(spec).scores
    return rollouts.load(spec.rows, Path.cwd(), scores=scores)
