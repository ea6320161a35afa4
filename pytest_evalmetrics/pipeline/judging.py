"""Judge: the checks of all gates, in their order, from what the stages before computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

import numpy as np
from msgspec import structs

from pytest_evalmetrics import gates
from pytest_evalmetrics.gates import Gated, SingleTasks
from pytest_evalmetrics.model.gate_notes import BetterThanBaseline, BlindBaseline
from pytest_evalmetrics.model.reasons import (
    DependentRollouts,
    FailedRows,
    LostAgent,
    NothingCanFail,
    Unpassable,
)
from pytest_evalmetrics.model.results import Check
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.pipeline.comparing import (
    AgentComparison,
    ComparisonTerms,
    Judgeable,
    compare_agents,
)
from pytest_evalmetrics.pipeline.gate_settings import acceptance_of, settings_of
from pytest_evalmetrics.pipeline.references import Reference

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_evalmetrics.gates import SlicesToTest, TasksToTest
    from pytest_evalmetrics.gates.sequential import Look
    from pytest_evalmetrics.metrics import Plan
    from pytest_evalmetrics.model.blindness import Blindness
    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.model.scores import ScorerFailures
    from pytest_evalmetrics.pipeline.reducing import AgentRun, ReducedAgent
    from pytest_evalmetrics.spec import Benchmark

_NAMED = 10  # tasks that a reason names
_FAR = 10.0  # times the largest number of a column that has no range


# -- one agent by itself ---------------------------------------------------------------------


def judge_agent(
    benchmark: Benchmark,
    agent: ReducedAgent,
    *,
    single: SingleTasks | None,
    failures: Sequence[ScorerFailures],
    look: Look | None,
) -> Iterator[Check]:
    """Check one agent's completeness, its single tasks and its thresholds."""
    spec = benchmark.spec
    line_of = benchmark.line_of
    complete = gates.check_completeness(
        spec, agent.completeness, agent=agent.shown, line_of=line_of
    )
    for check in complete:
        yield _with_cause(check, spec.reward, failures)
    if agent.result is not None and single is not None:
        yield from gates.check_single_tasks(
            single, spec, agent.table, agent=agent.shown, line_of=line_of
        )
    if agent.gated is None:
        return
    estimates = agent.gated.result.estimates
    numbers = gates.check_numbers(spec, estimates, agent=agent.shown, line_of=line_of)
    for check in numbers:
        yield _with_cause(check, spec.reward, failures)
    yield from gates.check_thresholds(
        spec.thresholds,
        estimates,
        agent.intervals,
        agent=agent.shown,
        line_of=line_of,
        look=look,
    )


def _with_cause(check: Check, reward: str, failures: Sequence[ScorerFailures]) -> Check:
    """Put the rows that a scorer failed for before a check of missing scores."""
    what, _, score = check.name.partition("/")
    if what != "missing" or not check.verdict.fails:
        return check
    for failed in failures:
        if (score or reward) in failed.scores:
            reasons = (FailedRows(failed), *check.reasons)
            return structs.replace(check, reasons=reasons)
    return check


def agent_notes(benchmark: Benchmark, agent: ReducedAgent) -> Iterator[Note]:
    """Yield remarks on one agent's numbers that belong to no check."""
    spec = benchmark.spec
    shown = agent.shown
    unchecked = gates.unchecked_tasks(
        spec,
        agent.completeness,
        agent=shown,
        line=benchmark.line_of(),
        in_python=benchmark.in_python,
    )
    if unchecked is not None:
        yield unchecked
    yield from agent.notes
    if agent.gated is None:
        return
    table = agent.gated.table
    estimates = agent.gated.result.estimates
    yield from gates.metrics_of_a_part(spec, estimates, agent=shown)
    misplaced = gates.misplaced_threshold(
        spec, table, agent=shown, line_of=benchmark.line_of
    )
    if misplaced is not None:
        yield misplaced
    yield from gates.ungrouped_rollouts(spec, table, agent=shown)


# -- all agents beside the reference ---------------------------------------------------------


def judge_comparisons(
    terms: ComparisonTerms,
    comparisons: Sequence[AgentComparison],
    *,
    benchmarks: int = 1,
    look: Look | None = None,
) -> list[Check]:
    """Judge all agents at once: they share the level of a false alarm.

    So many `benchmarks` of the run share it, too.
    """
    acceptance = acceptance_of(terms.benchmark)
    tasks = [compared.tasks for compared in comparisons if compared.tasks is not None]
    slices = [
        compared.slices for compared in comparisons if compared.slices is not None
    ]
    of_metrics = iter(
        gates.check_regression(
            _gated(comparisons),
            acceptance=acceptance,
            benchmarks=benchmarks,
            look=look,
            level_share=_share_of_metrics(tasks, slices),
        )
    )
    of_tasks = iter(
        gates.check_tasks_by_rollouts(
            tasks,
            independent=terms.benchmark.spec.independent,
            benchmarks=benchmarks,
            acceptance=acceptance,
        )
    )
    of_slices = iter(
        gates.check_slices(slices, benchmarks=benchmarks, acceptance=acceptance)
    )
    # those of each agent together, in the order of its metrics
    checks: list[Check] = []
    for compared in comparisons:
        checks += _checks_of_tasks(terms, compared)
        for judgeable in compared.judgeable:
            if isinstance(judgeable, Gated):
                checks.append(next(of_metrics))
            else:
                checks.append(judgeable)
        if compared.slices is not None:
            checks.append(next(of_slices))
        if compared.tasks is not None:
            checks.append(next(of_tasks))
    return checks


def _gated(comparisons: Sequence[AgentComparison]) -> list[Gated]:
    """List the metrics of all agents that are to be judged by a test."""
    gated: list[Gated] = []
    for compared in comparisons:
        gated += [one for one in compared.judgeable if isinstance(one, Gated)]
    return gated


def _share_of_metrics(
    tasks: Sequence[TasksToTest], slices: Sequence[SlicesToTest]
) -> float:
    """Return the share of alpha that single tasks and slices leave to the metrics."""
    share = 1.0
    if gates.takes_share(tasks):
        share -= gates.SHARE
    if slices:
        share -= gates.SLICES_SHARE
    return share


def _checks_of_tasks(
    terms: ComparisonTerms, compared: AgentComparison
) -> Iterator[Check]:
    """Check an agent's task list, and the tasks that broke."""
    settings = settings_of(terms.benchmark)
    acceptance = acceptance_of(terms.benchmark)
    shown = compared.run.shown
    if compared.unknown is not None:
        yield compared.unknown
    if compared.drift is None:
        return
    task_list = gates.check_task_list(
        compared.drift,
        compared.run.table,
        terms.plan.spec.reward,
        agent=shown,
        line=terms.benchmark.line_of("baseline"),
        min_coverage=compared.min_coverage,
        acceptance=acceptance,
    )
    if task_list is not None:
        yield task_list
    if settings.max_broken is not None:
        yield gates.check_broken(
            compared.flips,
            settings.max_broken,
            agent=shown,
            line=terms.benchmark.line_of("baseline", "max_broken"),
            acceptance=acceptance,
        )


def lost_agents(terms: ComparisonTerms, agents: Sequence[str]) -> Iterator[Check]:
    """Report the agents that only the reference has: nothing else would miss them."""
    is_alone = len(agents) == 1
    compared = {terms.reference.agent_for(agent, alone=is_alone) for agent in agents}
    for agent in terms.reference.agents:
        if agent not in compared:
            yield Check(
                gate=Gate.BASELINE,
                name="agent",
                verdict=Verdict.INCONCLUSIVE,
                agent=agent,
                reasons=(LostAgent(agent),),
                line=terms.benchmark.line_of("baseline"),
                acceptance=acceptance_of(terms.benchmark),
            )


# -- a run that records ----------------------------------------------------------------------


def against_itself(
    benchmark: Benchmark, plan: Plan, runs: Sequence[AgentRun]
) -> list[Check]:
    """Compare a new baseline's rows with themselves, before anybody relies on it."""
    values = {
        run.result.agent: {
            name: estimate.value for name, estimate in run.result.estimates.items()
        }
        for run in runs
    }
    reference = Reference(
        runs={run.result.agent: [run.table] for run in runs}, values=values
    )
    terms = ComparisonTerms(benchmark=benchmark, plan=plan, reference=reference)
    checks = judge_comparisons(terms, compare_agents(terms, runs))
    return [check for check in checks if check.gate is Gate.BASELINE]


def unpassable(checks: Iterable[Check], runs: Sequence[AgentRun]) -> Iterator[Check]:
    """Warn of a baseline that its own rows do not pass."""
    runs_by_name = {run.shown: run for run in runs}
    for check in checks:
        if not check.verdict.fails:
            continue
        lacking = _lacking_tasks(check, runs_by_name[check.agent])
        reason = Unpassable(tasks=tuple(lacking[:_NAMED]), task_count=len(lacking))
        yield structs.replace(
            check, verdict=Verdict.WARN, reasons=(reason, *check.reasons)
        )


def blind_baselines(checks: Iterable[Check]) -> Iterator[BlindBaseline]:
    """Name the metrics that pass against themselves, and of which no loss could fail."""
    metrics_by_cause: dict[tuple[str, Blindness], list[str]] = {}
    for check in checks:
        if check.verdict.fails or check.comparison is None:
            continue
        cause = check.comparison.blind
        if cause is not None:
            metrics_by_cause.setdefault((check.agent, cause), []).append(check.name)
    for (agent, cause), metrics in metrics_by_cause.items():
        yield BlindBaseline(agent=agent, cause=cause, metrics=tuple(metrics))


def unfailable(
    benchmark: Benchmark, plan: Plan, runs: Sequence[AgentRun]
) -> Check | None:
    """Refuse a baseline against which not even a loss of everything would fail.

    None for any other: a run in which each reward is at its worst is judged against it.
    """
    if _is_gated_otherwise(benchmark):
        return None
    reference = Reference(runs={run.result.agent: [run.table] for run in runs})
    terms = ComparisonTerms(benchmark=benchmark, plan=plan, reference=reference)
    tested = _tested_scores(compare_agents(terms, runs), runs)
    if not tested:
        return None
    collapsed = list(runs)
    for gated in tested:
        collapsed = [_at_worst(run, gated) for run in collapsed]
    lost = compare_agents(terms, collapsed)
    all_get_worse = all(
        _gets_worse(judgeable) for compared in lost for judgeable in compared.judgeable
    )
    if not all_get_worse or _is_told(judge_comparisons(terms, lost), tested):
        return None
    return _nothing_can_fail(benchmark, tested[0])


def _is_told(checks: Sequence[Check], tested: Sequence[Gated]) -> bool:
    """Check whether a loss of everything fails, or is no pass where all was good."""
    if any(_could_fail(check) for check in checks):
        return True
    is_red = any(check.verdict.fails for check in checks)
    return is_red and all(_is_uniform(gated) for gated in tested)


def _tested_scores(
    compared: Sequence[AgentComparison], runs: Sequence[AgentRun]
) -> list[Gated]:
    """List the gated metrics; none if one is not tested: it fails by its size."""
    tested: list[Gated] = []
    for agent in compared:
        for judgeable in agent.judgeable:
            if not _is_test_of_scores(judgeable, runs):
                return []
            tested.append(judgeable)
    return tested


def _nothing_can_fail(benchmark: Benchmark, gated: Gated) -> Check:
    compared = gated.compared
    reason = NothingCanFail(
        metric=compared.pair.name,
        tasks=len(compared.pair.tasks),
        rollouts=int(compared.pair.rewards_baseline.counts.max(initial=0)),
        alpha=compared.rule.alpha,
    )
    return Check(
        gate=Gate.BASELINE,
        name="baseline",
        verdict=Verdict.INCONCLUSIVE,
        reasons=(reason,),
        line=benchmark.line_of("baseline"),
        acceptance=acceptance_of(benchmark),
    )


def _is_gated_otherwise(benchmark: Benchmark) -> bool:
    spec = benchmark.spec
    is_named = bool(spec.thresholds or spec.must_pass) or spec.behaviour is not None
    return is_named or settings_of(benchmark).max_broken is not None


def _is_test_of_scores(
    judgeable: Judgeable, runs: Sequence[AgentRun]
) -> TypeGuard[Gated]:
    """Check whether a metric is tested, and of a score that can be set to its worst."""
    if not isinstance(judgeable, Gated) or judgeable.estimate is None:
        return False
    score = judgeable.estimate.score
    is_of_scores = all(score in run.table.scores for run in runs)
    return is_of_scores and judgeable.compared.rule.tests


def _gets_worse(judgeable: Judgeable) -> bool:
    """Check whether a metric has anything to lose, and loses it."""
    if not isinstance(judgeable, Gated):
        return False
    pair = judgeable.compared.pair
    sign = judgeable.compared.rule.sign
    return bool(sign * (pair.value_baseline - pair.value_current) > 0)


def _could_fail(check: Check) -> bool:
    """Check whether a loss fails, or would if the rollouts are independent."""
    is_unsure = any(isinstance(reason, DependentRollouts) for reason in check.reasons)
    return check.verdict is Verdict.FAIL or is_unsure


def _is_uniform(gated: Gated) -> bool:
    """Check whether all rewards of the baseline are the same."""
    values = gated.compared.pair.rewards_baseline.values
    return bool(values.size and values.min() == values.max())


def _at_worst(run: AgentRun, gated: Gated) -> AgentRun:
    """Return a run in which each rollout has the worst number for a metric."""
    assert gated.estimate is not None  # noqa: S101 - asked before
    score = gated.estimate.score
    column = run.table.scores[score]
    known = column[~np.isnan(column)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 0.0)
    # without a range, far beyond what was seen
    beyond = _FAR * (abs(low) + abs(high) + 1)
    bounds = (0.0, 1.0) if gated.compared.pair.bounded else (-beyond, beyond)
    worst = bounds[0] if gated.compared.rule.sign > 0 else bounds[1]
    scores = dict(run.table.scores)
    scores[score] = np.where(np.isnan(column), column, worst)
    return structs.replace(run, table=structs.replace(run.table, scores=scores))


def _lacking_tasks(check: Check, run: AgentRun) -> list[str]:
    """Name the tasks some of whose rollouts have no number for a check's metric."""
    column = None
    if check.estimate is not None:
        column = run.table.scores.get(check.estimate.score)
    if column is None:
        return []
    tasks = run.table.tasks
    numbers = np.bincount(run.table.task, ~np.isnan(column), len(tasks))
    return [str(tasks[at]) for at in np.flatnonzero(numbers < run.expected).tolist()]


def improvements(checks: Sequence[Check], *, is_committed: bool) -> Iterator[Note]:
    """Note the metrics that are better than their baseline."""
    for check in checks:
        facts = check.comparison
        if facts is None or not facts.improved:
            continue
        if facts.baseline is None or facts.current is None:
            continue
        yield BetterThanBaseline(
            metric=check.name,
            before=facts.baseline,
            now=facts.current,
            is_committed=is_committed,
            agent=check.agent,
        )
