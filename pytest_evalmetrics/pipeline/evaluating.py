"""One benchmark: its rollouts are loaded, reduced and gated, and what was found is kept."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_evalmetrics import baselines, gates, metrics, rollouts
from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.pipeline.judging import gated_names, judge
from pytest_evalmetrics.pipeline.references import reference_of
from pytest_evalmetrics.results import AgentResult, BenchmarkResult, Check, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.pipeline.judging import Reference
    from pytest_evalmetrics.spec import Benchmark

__all__ = ["Evaluated", "Hooks", "evaluate"]


@dataclass(frozen=True, slots=True)
class Hooks:
    """What the user's code has a say in; None where nobody implements it.

    Attributes
    ----------
    compute_metrics
        ``(agent, tasks) -> further metrics``, one mapping per implementation.
    key_metrics
        ``(agent, agent_metrics) -> the headline ones``.
    """

    compute_metrics: Callable[[str, Sequence[Any]], Sequence[Mapping[str, Any] | None]] | None = (
        None
    )
    key_metrics: Callable[[str, Mapping[str, Any]], Any] | None = None


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A benchmark's result, and the baseline that it would leave.

    Attributes
    ----------
    result
        The verdict and everything it rests on.
    task_scores
        By agent and task: the scores of each rollout that gated metrics rest on.
    baseline
        The document to record; None where a number may be missing or wrong.
    """

    result: BenchmarkResult
    task_scores: dict[str, Any]
    baseline: dict[str, Any] | None


def evaluate(
    benchmark: Benchmark,
    *,
    item_id: str,
    hooks: Hooks | None = None,
    snapshot: Callable[[], tuple[str, str] | None] = lambda: None,
    updates: bool = False,
) -> Evaluated:
    """Evaluate one benchmark.

    Parameters
    ----------
    benchmark
        The benchmark.
    item_id
        What the result is called: the pytest item's id.
    hooks
        The user's hooks.
    snapshot
        Reads the committed baseline: its text and how its file is called; None where there
        is none yet. Called only where the benchmark is compared with it.
    updates
        Whether this run records a new baseline: then the old one is told, not asserted.

    Returns
    -------
    Evaluated
        With every check. What can't be read or reduced is a check too, INCONCLUSIVE with
        its reason, so that reports tell of it.
    """
    evaluation = _Evaluation(benchmark, hooks or Hooks(), snapshot, updates=updates)
    try:
        evaluation.run()
    except EvalMetricsError as error:
        evaluation.fail(error)
    return Evaluated(
        evaluation.result(item_id),
        {agent: found["tasks"] for agent, found in evaluation.recorded.items()},
        evaluation.document(),
    )


@dataclass
class _Evaluation:
    """One pass over one benchmark; what was found so far outlives an error."""

    benchmark: Benchmark
    hooks: Hooks
    snapshot: Callable[[], tuple[str, str] | None]
    updates: bool = field(kw_only=True)
    checks: list[Check] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    agents: list[AgentResult] = field(default_factory=list)
    recorded: dict[str, dict[str, Any]] = field(default_factory=dict)
    sources: tuple[dict[str, Any], ...] = ()

    def run(self) -> None:
        spec = self.benchmark.spec
        gated = gated_names(self.benchmark)
        plan = metrics.plan(spec, also=gated, line_of=self.benchmark.line_of)
        table = rollouts.load(
            spec.rollouts,
            self.benchmark.file.parent,
            scores=plan.scores,
            categories=plan.categories,
        )
        self.sources = tuple(asdict(s) for s in table.sources)
        self.notes.extend(table.notes)
        reference = None
        if spec.baseline:
            reference = reference_of(self.benchmark, plan, self.snapshot)
            if reference is None and not self.updates:
                self.checks.append(_no_baseline(self.benchmark))
        for agent, part in table.by_agent():
            self._one_agent(plan, agent, agent if len(table.agents) > 1 else "", part, reference)
        if not spec.thresholds and not spec.baseline:
            self.notes.append(
                f"nothing is gated: add `thresholds:` or `baseline:` below line "
                f"{self.benchmark.line_of()}, such as `thresholds: "
                f'{{{spec.metrics[0]}: ">= 0.9"}}`'
            )

    def _one_agent(
        self,
        plan: metrics.Plan,
        agent: str,
        shown: str,
        table: RolloutTable,
        reference: Reference | None,
    ) -> None:
        found = gates.check_completeness(self.benchmark, shown, table)
        self.checks.extend(found.checks)
        self.notes.extend(found.notes)
        compute, choose = self.hooks.compute_metrics, self.hooks.key_metrics
        result = metrics.reduce_agent(
            plan,
            agent,
            table,
            expected=found.expected,
            compute_metrics=None if compute is None else lambda tasks: compute(agent, tasks),
            key_metrics=None if choose is None else lambda known: choose(agent, known),
        )
        columns = plan.columns(gated_names(self.benchmark), table)
        self.recorded[agent] = baselines.agent_document(result, table, columns)
        self.agents.append(result)
        self.checks.extend(gates.check_thresholds(self.benchmark, shown, result))
        if reference is not None:
            checks = judge(
                self.benchmark,
                plan,
                result,
                table,
                agent=shown,
                expected=found.expected,
                reference=reference,
            )
            for check in checks:
                self.checks.append(gates.accepted(check) if self.updates else check)
                if check.evidence.get("improved") and not self.updates:
                    self.notes.append(_better(check))

    def fail(self, error: EvalMetricsError) -> None:
        where = error.where if error.file else ""
        self.checks.append(
            Check(
                "data",
                "evaluation",
                Verdict.INCONCLUSIVE,
                reason=f"{where}: {error.message}" if where else error.message,
                hint=error.hint or "",
                line=(error.line if not error.file else None) or self.benchmark.line_of(),
            )
        )

    def document(self) -> dict[str, Any] | None:
        """Describe the run as a baseline; None where a number may be missing or wrong."""
        broken = any(c.gate in ("data", "expect") and c.verdict.fails for c in self.checks)
        if broken or not self.recorded:
            return None
        return baselines.document(
            self.benchmark.spec.name,
            self.recorded,
            {
                "tasks": sum(a.tasks for a in self.agents),
                "rollouts": sum(a.rollouts for a in self.agents),
                "files": list(self.sources),
            },
        )

    def result(self, item_id: str) -> BenchmarkResult:
        spec = self.benchmark.spec
        return BenchmarkResult(
            id=item_id,
            name=spec.name,
            description=spec.description,
            file=item_id.rpartition("::")[0],
            line=self.benchmark.line_of(),
            agents=tuple(self.agents),
            checks=tuple(self.checks),
            notes=tuple(self.notes),
            sources=self.sources,
            xfail=spec.xfail is not None,
        )


def _better(check: Check) -> str:
    found = check.evidence
    of = f"{check.agent}: " if check.agent else ""
    return (
        f"better than the baseline: {of}{check.name} went from {found['baseline']:.4g} to "
        f"{found['current']:.4g}; record it with `pytest --snapshot-update`"
    )


def _no_baseline(benchmark: Benchmark) -> Check:
    return Check(
        "baseline",
        "baseline",
        Verdict.INCONCLUSIVE,
        reason="there is no baseline yet to compare with",
        hint="record one with `pytest --snapshot-update` and commit it",
        line=benchmark.line_of("baseline"),
    )
