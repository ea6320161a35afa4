"""The noise of benchmarks, by runs of an unchanged system, and settings that fit it."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec import structs

from pytest_evalmetrics import gates, metrics
from pytest_evalmetrics.config import declarations
from pytest_evalmetrics.errors import DataError, EvalMetricsError, MetricError
from pytest_evalmetrics.gates import Gated
from pytest_evalmetrics.layout import listed, many, of_many
from pytest_evalmetrics.model.rollout_table import RolloutTable, pool
from pytest_evalmetrics.model.verdicts import Acceptance, Verdict
from pytest_evalmetrics.pipeline.benchmark_rows import with_reward
from pytest_evalmetrics.pipeline.comparing import comparison_input
from pytest_evalmetrics.pipeline.gate_settings import own_rule_of, plan_of, rule_of
from pytest_evalmetrics.pipeline.references import reference_of
from pytest_evalmetrics.reports import sentences
from pytest_evalmetrics.run_series import proposals
from pytest_evalmetrics.run_series.made_runs import make_runs
from pytest_evalmetrics.run_series.noise import Noise
from pytest_evalmetrics.stats import normal_ppf
from pytest_evalmetrics.sums import reaches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pytest_evalmetrics.evaluation import Evaluated
    from pytest_evalmetrics.model.comparison import ComparisonFacts
    from pytest_evalmetrics.model.results import Check
    from pytest_evalmetrics.spec import Benchmark

    Runs = Sequence[RolloutTable]

_NEAR = 3  # other runs that each run is compared with, one by one
_NAMED = 5  # flaky tasks
_HOW = (
    "add each run of the unchanged system to the baseline "
    "(`pytest --evalmetrics-update --evalmetrics-add-run`), name their files "
    "(baseline: {rollouts: [[run1/*], [run2/*]]}), keep them in the history "
    "(baseline: {history: 10}), or make some now: `evalmetrics calibrate --runs 5`"
)


def calibrate(
    benchmark: Benchmark,
    *,
    count: int,
    evaluate: Callable[[Benchmark], Evaluated],
    **reading: Any,
) -> tuple[list[str], dict[tuple[str, ...], str], list[dict[str, object]]]:
    """Describe the noise of a baseline, or of `count` new runs.

    Returns
    -------
    Lines; settings, of keys of the benchmark as YAML; and a chart for each agent's metric.

    Raises
    ------
    DataError
        If there are fewer than two runs.
    """
    benchmark = with_reward(benchmark)
    plan = plan_of(benchmark)
    recorded = _recorded_runs(benchmark, plan, may_fail=bool(count), **reading)
    several = recorded
    if count and benchmark.spec.runs:
        several = make_runs(benchmark, count, evaluate)
    _refuse_single_runs(several)
    against_several = any(len(runs) > 1 for runs in recorded.values())
    lines: list[str] = []
    settings: dict[tuple[str, ...], str] = {}
    charts: list[dict[str, object]] = []
    for agent, runs in several.items():
        shown = ""
        if len(several) > 1:
            shown = agent
            lines.append(f"agent {agent}")
        lines += _flaky_tasks(benchmark, runs)
        for metric in _metrics_of(
            benchmark, plan, runs, against_several=against_several
        ):
            lines += _described(benchmark, metric)
            if metric.noise is None:
                continue
            charts.append(_chart(metric, metric.noise, shown))
            for proposal in _proposed(benchmark, metric.text, metric.noise, runs):
                lines.append(f"  {proposal.why}")
                proposal.add_to(settings)
    return lines, settings, charts


def _recorded_runs(
    benchmark: Benchmark, plan: metrics.Plan, *, may_fail: bool, **reading: Any
) -> dict[str, Runs]:
    """Return the runs of the baseline, by agent; none if it can't be read and may fail."""
    if benchmark.spec.baseline is None:
        return {}
    try:
        reference = reference_of(benchmark, plan, **reading)
    except EvalMetricsError:
        # a baseline that can't be read is no matter where runs are made now
        if not may_fail:
            raise
        return {}
    if reference is None:
        return {}
    return {**reference.runs}


def _refuse_single_runs(several: Mapping[str, Runs]) -> None:
    """Raise DataError where some agent has fewer than two runs, which show no noise."""
    fewest = min((len(runs) for runs in several.values()), default=0)
    if fewest < 2:
        raise DataError(
            "two runs of the unchanged system are needed, better ten", hint=_HOW
        )


def _proposed(
    benchmark: Benchmark, text: str, noise: Noise, runs: Runs
) -> Iterator[proposals.Proposal]:
    """Propose settings for a metric whose tasks have as many attempts as in the newest run."""
    attempts = int(np.median(runs[-1].counts))
    return proposals.proposed(benchmark, text, noise, attempts)


class _MetricNoise(msgspec.Struct, frozen=True):
    """What the runs of one agent show of a metric.

    Attributes
    ----------
    text
        The metric, as the benchmark names it.
    noise
        None for a metric that is no mean over tasks, and where two runs share too few tasks.
    tasks
        The fewest that two runs share, with a value in both.
    alone, others
        Of the comparisons with one other run, and with all others: how many fail, of how many.
    judge
        The judge's share in the standard deviation of a run's value.
    """

    text: str
    noise: Noise | None
    tasks: int
    alone: tuple[int, int] = (0, 0)
    others: tuple[int, int] = (0, 0)
    judge: float = 0.0


def _metrics_of(
    benchmark: Benchmark, plan: metrics.Plan, runs: Runs, *, against_several: bool
) -> Iterator[_MetricNoise]:
    """Measure the noise of each gated metric between the runs of one agent."""
    alone = _with_one_other(benchmark, plan, runs)
    others = _with_all_others(benchmark, plan, runs)
    judge = _judge_noise(benchmark, runs)
    for text in alone[0]:
        comparisons = [checks[text].comparison for checks in alone]
        facts = [compared for compared in comparisons if compared is not None]
        pooled = against_several and plan.names.bind(text).unbiased
        noise = _noise_of(benchmark, text, facts, runs=len(runs), pooled=pooled)
        tasks = min(compared.tasks for compared in facts)
        if noise is None:
            yield _MetricNoise(text, noise=None, tasks=tasks)
            continue
        measured = _MetricNoise(
            text,
            noise,
            tasks,
            alone=_failed(alone, text),
            others=_failed(others, text),
        )
        is_of_reward = text in benchmark.spec.metrics and "/" not in text
        if is_of_reward:
            measured = structs.replace(measured, judge=judge)
        yield measured


def _noise_of(
    benchmark: Benchmark,
    text: str,
    facts: Sequence[ComparisonFacts],
    *,
    runs: int,
    pooled: bool,
) -> Noise | None:
    """Measure a metric's noise by comparisons with one other run each, those of each run first.

    None where some difference has no standard error: the metric is no mean over tasks, or
    two runs share fewer than two tasks.
    """
    # of the difference of two runs
    errors = [compared.se for compared in facts if compared.se is not None]
    if len(errors) < len(facts):
        return None
    variance_of_difference = float(np.mean(np.square(errors)))
    values = tuple(float(compared.current or 0.0) for compared in facts[:runs])
    on_unit = all(0 <= value <= 1 for value in values)
    return Noise(
        values=values,
        tasks=math.sqrt(variance_of_difference / 2),
        pooled=pooled,
        is_rate=on_unit and declarations.may_be_rate(benchmark.spec, text),
        sign=rule_of(benchmark, text, bounded=on_unit).sign,
    )


def _chart(metric: _MetricNoise, noise: Noise, agent: str) -> dict[str, object]:
    """Return a metric's value in each run, with its interval over tasks alone."""
    half = -normal_ppf(0.025) * noise.tasks
    return {
        "agent": agent,
        "metric": metric.text,
        "values": noise.values,
        "lows": [value - half for value in noise.values],
        "highs": [value + half for value in noise.values],
    }


# -- each run against other runs -------------------------------------------------------------


def _with_one_other(
    benchmark: Benchmark, plan: metrics.Plan, runs: Runs
) -> list[dict[str, Check]]:
    """Compare each run with some other ones, one by one."""
    compared = []
    for step in range(1, min(_NEAR + 1, len(runs))):
        for at, run in enumerate(runs):
            other = runs[(at + step) % len(runs)]
            compared.append(_checks(benchmark, plan, run, [other]))
    return compared


def _with_all_others(
    benchmark: Benchmark, plan: metrics.Plan, runs: Runs
) -> list[dict[str, Check]]:
    """Compare each run with all others; of two runs that is the same as with one."""
    if len(runs) < 3:
        return []
    return [
        _checks(benchmark, plan, run, [*runs[:at], *runs[at + 1 :]])
        for at, run in enumerate(runs)
    ]


def _checks(
    benchmark: Benchmark, plan: metrics.Plan, run: RolloutTable, others: Runs
) -> dict[str, Check]:
    """Hold a run against other runs, by the gate and its settings as they are."""
    with_pooled = _pairing(plan, run, pool(others))
    with_each = [_pairing(plan, run, other) for other in others]
    gated: dict[str, Gated] = {}
    for text in dict.fromkeys((*benchmark.spec.gated, *benchmark.spec.thresholds)):
        with suppress(MetricError):  # of a hook, or of a judge
            metric = plan.names.bind(text)
            pairing = with_each[-1]
            if metric.unbiased:
                pairing = with_pooled
            gated[text] = Gated(
                compared=comparison_input(benchmark, text, pairing, with_each),
                own=own_rule_of(benchmark, text),
                min_coverage=0.0,
            )
    checks = gates.check_regression(
        list(gated.values()),
        acceptance=Acceptance.SNAPSHOT,
        benchmarks=1,
    )
    return dict(zip(gated, checks, strict=True))


def _pairing(
    plan: metrics.Plan, run: RolloutTable, other: RolloutTable
) -> metrics.Pairing:
    aligned, _ = metrics.align(run, other)
    return metrics.Pairing(plan, run, aligned, run.counts)


def _failed(compared: Sequence[dict[str, Check]], text: str) -> tuple[int, int]:
    """Count the comparisons in which a metric fails, of how many."""
    failed = sum(checks[text].verdict is Verdict.FAIL for checks in compared)
    return failed, len(compared)


# -- the parts of the noise ------------------------------------------------------------------


def _judge_noise(benchmark: Benchmark, runs: Runs) -> float:
    """Return a judge's share in the noise of one run, by its repeats; 0 where it has none."""
    reward = re.escape(benchmark.spec.reward)
    repeats = [
        values
        for name, values in runs[0].scores.items()
        if re.fullmatch(rf"{reward}@\d+", name)
    ]
    rollouts = len(runs[0])
    if len(repeats) < 2 or not rollouts:  # no spread
        return 0.0
    variance = float(np.nanmean(np.var(repeats, axis=0, ddof=1)))
    # of recorded answers a run is one of the judgements, of new ones their mean
    if benchmark.spec.answers is not None:
        variance /= len(repeats)
    return math.sqrt(variance / rollouts)


def _flaky_tasks(benchmark: Benchmark, runs: Runs) -> Iterator[str]:
    """Name the tasks that pass and fail, the most uneven ones first."""
    table = pool(runs)
    rewards = table.scores.get(benchmark.spec.reward)
    if rewards is None or not len(rewards):
        return
    passed = reaches(rewards, benchmark.spec.pass_threshold)
    passes = np.bincount(table.task, passed, len(table.tasks)).astype(int)
    rest = np.minimum(passes, table.counts - passes)
    shares = rest / table.counts
    flaky = np.flatnonzero(rest > 0)
    flaky = flaky[np.argsort(-shares[flaky], kind="stable")]
    named = [f"{table.tasks[at]} ({passes[at]} of {table.counts[at]})" for at in flaky]
    have = of_many(len(flaky), len(table.tasks), "task", "has")
    text = f"flaky: {have} rollouts that pass and rollouts that fail"
    if named:
        text += f": {listed(named, _NAMED)}"
    yield text


# -- in words --------------------------------------------------------------------------------


def _described(benchmark: Benchmark, metric: _MetricNoise) -> Iterator[str]:
    noise = metric.noise
    text = metric.text
    if noise is None and metric.tasks < 2:
        yield f"{text}: two runs have {many(metric.tasks, 'task')} in common: two are needed"
        return
    if noise is None:
        yield f"{text}: no mean over tasks, so that its noise can't be told apart"
        return
    values = noise.values
    runs = len(values)
    span = f"{min(values):.4g} to {max(values):.4g}"
    yield f"{text}: {np.mean(values):.4g}, {span} in {runs} runs"
    deviations = f"rollouts {noise.tasks:.2g}, runs {noise.runs:.2g}"
    if metric.judge:
        deviations += f", the judge {metric.judge:.2g}"
    yield (
        f"  standard deviations of a run's value: {deviations}; "
        f"the noise {_largest_part(noise, metric.judge)} dominates"
    )
    rule = proposals.rule_for(benchmark, text, noise)
    against_one = structs.replace(noise, pooled=False).alarms(rule)
    failed, compared = metric.alone
    yield (
        f"  false alarms of '{sentences.rule_text(rule)}' against one run: "
        f"{proposals.percent(against_one)} expected, and {failed} of {compared} "
        "comparisons of these runs fail"
    )
    if runs > 2:  # the same if two
        against_all = structs.replace(noise, pooled=True).alarms(rule)
        failed, compared = metric.others
        yield (
            f"  against all others: {proposals.percent(against_all)} expected, and "
            f"{failed} of {compared} runs fail"
        )


def _largest_part(noise: Noise, judge: float) -> str:
    """Name what moves a run's value most."""
    if judge**2 > max(noise.tasks**2 / 2, noise.runs**2):
        return "of the judge"
    if noise.runs > noise.tasks:
        return "between runs"
    return "of rollouts"
