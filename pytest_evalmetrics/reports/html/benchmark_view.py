"""What report.html shows of one benchmark, but for its tasks: a row, and a page."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import structs

from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.layout import natural_key
from pytest_evalmetrics.model.bounds import ThresholdBound
from pytest_evalmetrics.model.comparison import NoiseSource
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.reports import check_wording, run_wording, triage, wording
from pytest_evalmetrics.reports.failure import (
    FIX_OR_ACCEPT,
    accepting,
    is_accepted_by_update,
)
from pytest_evalmetrics.reports.flipped_tasks import WorseTask, task_excerpts
from pytest_evalmetrics.reports.sentences import (
    behaviour_details,
    bound_of,
    hint_of,
    stale_text,
)
from pytest_evalmetrics.reports.sentences.changes import change_texts
from pytest_evalmetrics.reports.sentences.notes import note_texts
from pytest_evalmetrics.spec.metric_names import parse

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from pytest_evalmetrics.model.estimates import Estimate
    from pytest_evalmetrics.model.history import HistoryPoint, HistoryRun
    from pytest_evalmetrics.model.results import (
        AgentResult,
        BenchmarkResult,
        Check,
        Flip,
        SourceSummary,
    )
    from pytest_evalmetrics.model.scores import (
        Agreement,
        JudgeCheck,
        JudgeUse,
        RowFailure,
        ScorerFailures,
    )
    from pytest_evalmetrics.model.separators import Separator

    # a value or a change, with its interval
    Change = tuple[float | None, float | None, float | None]
    # what a benchmark is judged by: a change, a bound, or a reason that is no number
    JudgedBy = Literal["change", "bound", "reason"]

_OF_METRICS = (Gate.THRESHOLD, Gate.BASELINE)
_SEVERITY: dict[str, int] = {
    Verdict.FAIL: 0,
    Verdict.INCONCLUSIVE: 1,
    check_wording.ADVISORY: 2,
    Verdict.WARN: 3,
    Verdict.PASS: 4,
    "": 5,
}

# -- the metrics of a benchmark --------------------------------------------------------------


class Limit(msgspec.Struct, frozen=True):
    """A line that a metric must not cross."""

    side: str  # >= or <=
    at: float


class PairedChange(msgspec.Struct, frozen=True, kw_only=True):
    """The tested quantity of a comparison, in the metric's unit.

    A positive gain is an improvement, whatever the metric's direction.
    """

    gain: float
    low: float | None  # the two-sided interval of the gain at `level`
    high: float | None
    level: float
    matters: float | None  # the smallest loss that matters; None if any does
    detectable: float | None  # the smallest loss seen with 80 % power
    tasks: int
    worse: int
    better: int
    unproven: bool  # a loss that would matter if it were real
    # whether nothing shows how much runs differ as a whole
    unknown_noise: bool


class MetricRow(msgspec.Struct, frozen=True, kw_only=True):
    """A metric with what gates it."""

    agent: str
    name: str
    key: bool  # whether it is a key metric
    value: float
    # its own interval at `level`; None without one
    low: float | None = None
    high: float | None = None
    level: float | None = None
    method: str = ""
    unsure: str = ""  # why it has no interval
    tasks: int | None = None
    verdict: str = ""  # of its gates, the worst; empty without any
    bounds: tuple[str, ...] = ()
    limits: tuple[Limit, ...] = ()
    baseline: float | None = None
    change: Change | None = None
    p: float | None = None
    less: bool = False  # whether less is better
    paired: PairedChange | None = None
    # the score that it reduces, whose unit it has; empty for the reward
    score: str = ""


def metrics_of(result: BenchmarkResult) -> list[MetricRow]:
    """List a benchmark's metrics, the gated ones first."""
    gates: dict[tuple[str, str], list[Check]] = {}
    for check in result.checks:
        if check.gate in _OF_METRICS:
            key = (check_wording.checked_agent(result, check), check.name)
            gates.setdefault(key, []).append(check)
    rows = []
    for agent in result.agents:
        estimates = {estimate.name: estimate for estimate in agent.estimates.values()}
        for name in dict.fromkeys((*estimates, *agent.key_metrics)):
            row = _measured_row(agent, name, estimates.get(name))
            checks = gates.get((agent.agent, name), [])
            rows.append(_gated_row(row, checks))
    return sorted(rows, key=lambda row: (not row.verdict, not row.key))


def _measured_row(
    agent: AgentResult, name: str, estimate: Estimate | None
) -> MetricRow:
    """Write a metric's value, with its interval where it has one."""
    is_key = name in agent.key_metrics
    score = _score_of(name)
    if estimate is None:
        value = agent.key_metrics[name]
        return MetricRow(
            agent=agent.agent, name=name, key=is_key, value=value, score=score
        )
    row = MetricRow(
        agent=agent.agent,
        name=name,
        key=is_key,
        value=estimate.value,
        unsure=estimate.reason,
        tasks=estimate.tasks,
        score=score,
    )
    interval = estimate.interval
    if interval is None:
        return row
    return structs.replace(
        row,
        low=interval.low,
        high=interval.high,
        level=interval.level,
        method=interval.method,
    )


def _gated_row(row: MetricRow, checks: Sequence[Check]) -> MetricRow:
    """Add to a metric what it is held against."""
    bounds = []
    limits: list[Limit] = []
    for check in checks:
        if check.bound is not None:
            bounds.append(check_wording.expected(check))
        limits += _limits(check)
    row = structs.replace(
        row,
        verdict=_worst(map(check_wording.word_of, checks)),
        bounds=tuple(bounds),
        limits=tuple(limits),
    )
    compared = [check for check in checks if check.gate is Gate.BASELINE]
    if not compared:
        return row
    last = compared[-1]
    baseline, _ = check_wording.sides_of(last)
    return structs.replace(
        row,
        baseline=baseline,
        change=_change(last),
        p=check_wording.p_value(last),
        less=check_wording.less_is_better(last),
        paired=_paired(last),
    )


def _change(check: Check) -> Change | None:
    change, low, high = check_wording.change_of(check)
    if change is None:
        return None
    return change, low, high


def _paired(check: Check) -> PairedChange | None:
    facts = check.comparison
    if facts is None or facts.drop is None:
        return None
    matters = check_wording.change_that_matters(check)
    if matters is not None:
        matters = abs(matters)
    return PairedChange(
        gain=_negated(facts.drop),
        low=_gain(facts.drop_high),
        high=_gain(facts.drop_low),
        level=facts.level,
        matters=matters,
        detectable=facts.detectable_drop,
        tasks=facts.tasks,
        worse=facts.worse,
        better=facts.better,
        unproven=check_wording.is_unproven_drop(check),
        unknown_noise=facts.run_noise is NoiseSource.UNKNOWN,
    )


def _gain(drop: float | None) -> float | None:
    if drop is None:
        return None
    return _negated(drop)


def _negated(value: float) -> float:
    """Return a gain of a drop: 0 of 0, not -0."""
    return -value + 0.0


def _score_of(name: str) -> str:
    try:
        return parse(name).score or ""
    except MetricError:  # a name of the user's own
        return ""


def _worst(verdicts: Iterable[str]) -> str:
    return min(verdicts, key=_SEVERITY.__getitem__, default="")


def _limits(check: Check) -> Iterator[Limit]:
    if isinstance(check.bound, ThresholdBound):
        if check.bound.least is not None:
            yield Limit(">=", check.bound.least)
        if check.bound.most is not None:
            yield Limit("<=", check.bound.most)
    facts = check.comparison
    if facts is None or facts.allowed_drop is None or facts.baseline is None:
        return
    if check_wording.less_is_better(check):
        yield Limit("<=", facts.baseline + facts.allowed_drop)
    else:
        yield Limit(">=", facts.baseline - facts.allowed_drop)


# -- a benchmark in one row of the overview --------------------------------------------------

_REASON = 300  # characters
_COLUMNS = 20  # agents of the matrix


class OverviewRow(msgspec.Struct, frozen=True, kw_only=True):
    """A benchmark in one row."""

    id: str
    name: str
    file: str
    verdict: str
    xfail: bool
    agents: tuple[str, ...]  # the failing ones first
    tasks: int  # of the agent with the most
    rollouts: int
    missing: int
    drift: tuple[str, ...]  # metrics that drift over the history, in words
    stale: str  # why its baseline is too old; empty if it is not
    metric: MetricRow | None  # the one that says most
    # what it is judged by: its change, its bound, or a reason that is no number
    shown: Literal["change", "bound", "reason"]
    reason: str  # why it does not pass
    reasons: int
    again: str  # the command that evaluates it again; empty if it passes
    examples: tuple[WorseTask, ...]  # the tasks that got worse most
    # of several agents the verdict, and the value of the main metric
    by_agent: dict[str, tuple[str, float | None]]


def in_order(results: Sequence[BenchmarkResult]) -> list[BenchmarkResult]:
    """Order benchmarks by their evidence, with expected failures at the end."""
    return run_wording.by_evidence(
        sorted(results, key=lambda result: natural_key(result.id))
    )


def overview(
    result: BenchmarkResult,
    metrics: Sequence[MetricRow],
    runs: Sequence[HistoryRun] = (),
    *,
    examples: int = 0,
) -> OverviewRow:
    """Summarize a benchmark in one row: its verdict, its main metric, and why it failed.

    `examples` is the number of tasks that got worse to show.
    """
    leading = triage.leading(result)
    main = _main_metric(result, leading, metrics)
    by_agent = _by_agent(result, main, metrics)
    return OverviewRow(
        id=result.id,
        name=result.name,
        file=result.file,
        verdict=check_wording.word_of_result(result),
        xfail=result.xfail,
        agents=_several_agents(result),
        tasks=max((agent.tasks for agent in result.agents), default=0),
        rollouts=sum(agent.rollouts for agent in result.agents),
        missing=sum(agent.missing for agent in result.agents),
        drift=_last_drift(runs),
        stale=_stale(result),
        metric=main,
        shown=_shown(main, leading),
        reason=_unmet_reason(result, leading)[:_REASON],
        reasons=len(_worst_reasons(result)),
        again=_again_if_unmet(result),
        examples=_examples(result, examples),
        by_agent=by_agent,
    )


def _several_agents(result: BenchmarkResult) -> tuple[str, ...]:
    """Name the agents, the failing first; nobody where there is one."""
    agents = tuple(_verdicts(result))
    if len(agents) < 2:
        return ()
    return agents


def _last_drift(runs: Sequence[HistoryRun]) -> tuple[str, ...]:
    if not runs:
        return ()
    return runs[-1].drift


def _stale(result: BenchmarkResult) -> str:
    if result.stale is None:
        return ""
    return stale_text(result.stale)


def _worst_reasons(result: BenchmarkResult) -> set[str]:
    """Return the different reasons for a benchmark's verdict."""
    return {
        check_wording.own_reason(check)
        for check in check_wording.unmet(result.checks)
        if check.verdict is result.verdict
    }


def _shown(main: MetricRow | None, leading: Check | None) -> JudgedBy:
    if main is None:
        return "reason"
    return _judged_by(leading)


def _by_agent(
    result: BenchmarkResult, main: MetricRow | None, metrics: Sequence[MetricRow]
) -> dict[str, tuple[str, float | None]]:
    """Return the verdict of each of several agents, and its value of the main metric."""
    values: dict[str, float] = {}
    if main is not None:
        values = {row.agent: row.value for row in metrics if row.name == main.name}
    verdicts = _verdicts(result)
    agents = _several_agents(result)[:_COLUMNS]
    return {agent: (verdicts[agent], values.get(agent)) for agent in agents}


def _unmet_reason(result: BenchmarkResult, leading: Check | None) -> str:
    """Say why a benchmark does not pass; empty if it does."""
    if leading is None or result.verdict is Verdict.PASS:
        return ""
    return _why(result, leading)


def _again_if_unmet(result: BenchmarkResult) -> str:
    if result.verdict is Verdict.PASS:
        return ""
    return _again(result)


def _examples(result: BenchmarkResult, most: int) -> tuple[WorseTask, ...]:
    if result.xfail:
        return ()
    return tuple(task_excerpts(result, most))


def _main_metric(
    result: BenchmarkResult, leading: Check | None, metrics: Sequence[MetricRow]
) -> MetricRow | None:
    """Return the metric of the leading check, or else the first that matters; None without any."""
    if leading is not None:
        wanted = (check_wording.checked_agent(result, leading), leading.name)
        for row in metrics:
            if (row.agent, row.name) == wanted:
                return row
    return min(metrics, key=_unimportance, default=None)


def _unimportance(row: MetricRow) -> tuple[int, bool, bool]:
    return _SEVERITY[row.verdict], not row.key, row.name.startswith("mean/")


def _judged_by(leading: Check | None) -> JudgedBy:
    if leading is None:
        return "change"
    if leading.verdict is Verdict.INCONCLUSIVE:
        return "reason"
    if leading.gate is Gate.THRESHOLD:
        return "bound"
    if not check_wording.is_by_numbers(leading):
        return "reason"
    return "change"


def _why(result: BenchmarkResult, leading: Check) -> str:
    """Write the reason of a check, with all agents that it holds for."""
    reason = check_wording.own_reason(leading)
    agents: dict[str, None] = {}
    for check in result.checks:
        is_alike = check.name == leading.name and check.verdict is leading.verdict
        if is_alike and check.agent and check_wording.own_reason(check) == reason:
            agents[check.agent] = None
    if not agents:
        return reason
    return f"{', '.join(agents)}: {reason}"


def _again(result: BenchmarkResult) -> str:
    """Write the command that evaluates a benchmark again; empty for one without a file."""
    if not result.file:
        return ""
    return f"pytest {shlex.quote(result.id)}"


def _verdicts(result: BenchmarkResult) -> dict[str, str]:
    """Return each agent's worst verdict, the failing agents first."""
    verdicts = {agent.agent: "" for agent in result.agents}
    for check in result.checks:
        agent = check_wording.checked_agent(result, check)
        # an agent without any reward has checks, and no numbers
        if agent:
            word = check_wording.word_of(check)
            verdicts[agent] = _worst((verdicts.get(agent, ""), word))
    ordered = sorted(verdicts, key=lambda agent: _SEVERITY[verdicts[agent]])
    return {agent: verdicts[agent] for agent in ordered}


# -- a benchmark over its last runs ----------------------------------------------------------

RUNS_SHOWN = 60
_LINES = 8


class ShownRun(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run of a history."""

    time: str
    verdict: str
    commit: str = ""
    reason: str = ""  # why a change was accepted
    url: str = ""  # of the CI job
    href: str = ""  # of the run's own page
    drift: tuple[str, ...] = ()


class HistoryLine(msgspec.Struct, frozen=True, kw_only=True):
    """A metric over the runs; None where a run lacks it."""

    agent: str  # empty for the only one
    metric: str
    baseline: float | None
    values: tuple[float | None, ...]
    lows: tuple[float | None, ...]
    highs: tuple[float | None, ...]


class HistoryView(msgspec.Struct, frozen=True, omit_defaults=True):
    """The gated metrics over the last runs; both empty if none has several values."""

    runs: tuple[ShownRun, ...] = ()
    lines: tuple[HistoryLine, ...] = ()


def shown_run(run: HistoryRun) -> ShownRun:
    """Keep of a run what a page shows."""
    return ShownRun(
        time=run.time,
        verdict=run.verdict,
        commit=run.commit or "",
        reason=run.reason,
        url=run.url or "",
        drift=run.drift,
    )


def history_lines(
    gated: Collection[str],
    key_metrics: Mapping[str, Mapping[str, float]],
    points: Sequence[Mapping[str, Mapping[str, HistoryPoint]]],
    baselines: Mapping[tuple[str, str], float | None],
) -> tuple[HistoryLine, ...]:
    """Follow the headline metrics, by agent, through the points of each run."""
    lines = []
    for trend in run_wording.trends(gated, key_metrics, points):
        of_agent = [run.get(trend.agent, {}) for run in points]
        values = [_value_of(run.get(trend.metric)) for run in of_agent]
        agent = ""
        if len(key_metrics) > 1:
            agent = trend.agent
        line = HistoryLine(
            agent=agent,
            metric=trend.metric,
            baseline=baselines.get((trend.agent, trend.metric)),
            values=tuple(value for value, _, _ in values),
            lows=tuple(low for _, low, _ in values),
            highs=tuple(high for _, _, high in values),
        )
        lines.append(line)
    return tuple(lines[:_LINES])


def _value_of(point: HistoryPoint | None) -> Change:
    """Return a value with its interval; a run without the metric leaves a gap."""
    if point is None:
        return None, None, None
    return point.value, point.low, point.high


def history_of(
    result: BenchmarkResult, runs: Sequence[HistoryRun], metrics: Sequence[MetricRow]
) -> HistoryView:
    """Describe the gated metrics over the last runs, with their intervals and baselines."""
    runs = runs[-RUNS_SHOWN:]
    lines = history_lines(
        run_wording.gated_names(result),
        {agent.agent: agent.key_metrics for agent in result.agents},
        [run.agents for run in runs],
        {(row.agent, row.name): row.baseline for row in metrics},
    )
    if not lines:
        return HistoryView()
    return HistoryView(tuple(map(shown_run, runs)), lines)


# -- a benchmark's page, but for its tasks ---------------------------------------------------

_TEXT = 2_000  # characters


class Limits(msgspec.Struct, frozen=True):
    """How much of each kind a page shows."""

    metrics: int
    checks: int
    notes: int
    sources: int


_WHOLE = Limits(metrics=200, checks=400, notes=50, sources=100)
_SHORT = Limits(metrics=8, checks=4, notes=2, sources=2)


class AgentCounts(msgspec.Struct, frozen=True):
    """The numbers of one agent."""

    agent: str
    tasks: int
    rollouts: int
    missing: int


class CheckView(msgspec.Struct, frozen=True, kw_only=True):
    """A check with its texts."""

    gate: str
    name: str
    agent: str
    verdict: str
    value: float | None
    bound: str
    reason: str
    hint: str
    line: int
    details: tuple[str, ...]


class FailedRow(msgspec.Struct, frozen=True):
    """A row that a scorer could not score."""

    row: str
    reason: str
    hint: str


class FailureKind(msgspec.Struct, frozen=True):
    """The rows that failed alike."""

    kind: str
    count: int
    rows: tuple[FailedRow, ...]


class FailureView(msgspec.Struct, frozen=True):
    """The rows that a scorer could not score, by kind."""

    scorer: str
    scores: tuple[str, ...]
    count: int
    kinds: tuple[FailureKind, ...]


class AgreementView(msgspec.Struct, frozen=True):
    """The agreement of judges on a score."""

    agent: str
    score: str
    alpha: float | None
    level: str
    judges: int
    rows: int
    reason: str


class Lead(msgspec.Struct, frozen=True):
    """What the head says first: the change of a metric, or a reason that is no number."""

    agent: str = ""  # of the metric
    metric: str = ""  # empty where the reason says it
    why: str = ""
    fix: str = ""  # the way out; empty where it passes


class BenchmarkView(msgspec.Struct, frozen=True, kw_only=True):
    """A benchmark's page without its tasks."""

    description: str
    line: int
    agents: tuple[AgentCounts, ...]
    metrics: tuple[MetricRow, ...]
    more_metrics: int
    checks: tuple[CheckView, ...]
    notes: tuple[str, ...]
    sources: tuple[SourceSummary, ...]
    more_sources: int
    flips: tuple[Flip, ...]
    separators: tuple[Separator, ...]
    judges: tuple[JudgeUse, ...]
    judge_checks: tuple[JudgeCheck, ...]
    failures: tuple[FailureView, ...]
    history: HistoryView
    agreements: tuple[AgreementView, ...]
    recorded: tuple[str, ...]
    lead: Lead
    again: str  # the command that evaluates it again
    accept: str  # the one that accepts the change; empty where nothing can be accepted
    short: bool


def about(
    result: BenchmarkResult,
    metrics: Sequence[MetricRow],
    runs: Sequence[HistoryRun] = (),
    *,
    short: bool = False,
) -> BenchmarkView:
    """Describe a benchmark without its tasks; `short` keeps little but the reasons of failures."""
    checks = list(result.checks)
    if short:
        limits = _SHORT
        checks.sort(key=lambda check: _SEVERITY[check.verdict])
        history = HistoryView()
    else:
        limits = _WHOLE
        history = history_of(result, runs, metrics)
    notes = [note[:_TEXT] for note in _notes(result)]
    view = BenchmarkView(
        description=result.description[:_TEXT],
        line=result.line,
        agents=tuple(map(_counts, _agents(result))),
        metrics=tuple(metrics[: limits.metrics]),
        more_metrics=max(0, len(metrics) - limits.metrics),
        checks=tuple(_check(result, check) for check in checks[: limits.checks]),
        notes=tuple(notes[: limits.notes]),
        sources=result.sources[: limits.sources],
        more_sources=max(0, len(result.sources) - limits.sources),
        flips=result.flips,
        separators=result.separators,
        judges=result.judges,
        judge_checks=result.judge_checks,
        failures=tuple(map(_failures, result.failed_rows)),
        history=history,
        agreements=tuple(_agreements(result)),
        recorded=tuple(wording.recorded_lines(result.recorded)),
        lead=_lead(result, metrics),
        again=_again(result),
        accept=_accepting_command(result),
        short=short,
    )
    if short:
        return _shortened(view)
    return view


def _notes(result: BenchmarkResult) -> list[str]:
    """Say what changed since the baseline, what the agents do otherwise, and the notes."""
    notes = [f"changed: {text}" for text in change_texts(result.changes)]
    for facts in result.behaviour:
        notes += behaviour_details(facts)
    notes += note_texts(result.notes)
    return notes


def _lead(result: BenchmarkResult, metrics: Sequence[MetricRow]) -> Lead:
    """Say first the change that decides, or else the reason."""
    leading = triage.leading(result)
    if leading is None:
        return Lead()
    fix = hint_of(leading)[:_TEXT]
    if result.file and is_accepted_by_update(leading):
        fix = FIX_OR_ACCEPT  # the command that accepts it stands below
    metric = _main_metric(result, leading, metrics)
    is_change = metric is not None and metric.paired is not None
    if metric is not None and is_change and _judged_by(leading) == "change":
        return Lead(agent=metric.agent, metric=metric.name, fix=fix)
    if result.verdict is Verdict.PASS:
        return Lead(fix=fix)
    return Lead(why=_why(result, leading)[:_TEXT], fix=fix)


def _accepting_command(result: BenchmarkResult) -> str:
    if not result.file or not any(map(is_accepted_by_update, result.checks)):
        return ""
    return accepting(result, result.id)


def _shortened(view: BenchmarkView) -> BenchmarkView:
    return structs.replace(
        view,
        flips=(),
        judges=(),
        judge_checks=(),
        failures=(),
        agreements=(),
        recorded=(),
    )


def _agents(result: BenchmarkResult) -> list[AgentResult]:
    """List the agents, the failing ones first."""
    by_name = {agent.agent: agent for agent in result.agents}
    return [by_name[name] for name in _verdicts(result) if name in by_name]


def _counts(agent: AgentResult) -> AgentCounts:
    return AgentCounts(agent.agent, agent.tasks, agent.rollouts, agent.missing)


def _check(result: BenchmarkResult, check: Check) -> CheckView:
    details = check_wording.comparison_details(check)
    return CheckView(
        gate=check.gate,
        name=check.name,
        agent=check.agent,
        verdict=check_wording.word_of(check),
        value=check.value,
        bound=bound_of(check),
        reason=check_wording.own_reason(check)[:_TEXT],
        hint=hint_of(check)[:_TEXT],
        line=check.line or result.line,
        details=tuple(line[:_TEXT] for line in details),
    )


def _failures(failures: ScorerFailures) -> FailureView:
    kinds = []
    for kind, count in failures.kinds.items():
        rows = map(_failed_row, _rows_of(failures, kind))
        kinds.append(FailureKind(kind, count, tuple(rows)))
    return FailureView(failures.scorer, failures.scores, failures.count, tuple(kinds))


def _rows_of(failures: ScorerFailures, kind: str) -> list[RowFailure]:
    rows = [row for row in failures.first if row.kind == kind]
    if not rows and kind in failures.examples:  # of a rare kind
        return [failures.examples[kind]]
    return rows


def _failed_row(row: RowFailure) -> FailedRow:
    return FailedRow(row.row[:_TEXT], row.reason[:_TEXT], row.hint[:_TEXT])


def _agreements(result: BenchmarkResult) -> Iterator[AgreementView]:
    for agent in _agents(result):
        for score in agent.scores:
            if score.agreement is not None:
                yield _agreement(agent.agent, score.name, score.agreement)


def _agreement(agent: str, score: str, agreement: Agreement) -> AgreementView:
    return AgreementView(
        agent=agent,
        score=score,
        alpha=agreement.alpha,
        level=agreement.level,
        judges=agreement.judges,
        rows=agreement.rows,
        reason=agreement.reason,
    )
