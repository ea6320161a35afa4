"""Recorded runs against each other, without a benchmark file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from pytest_evalmetrics import rollouts
from pytest_evalmetrics.compared_runs import (
    RunArguments,
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
from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.evaluate import evaluate
from pytest_evalmetrics.evaluation import EvaluationInput
from pytest_evalmetrics.model.bounds import SingleTasksBound, SlicesBound
from pytest_evalmetrics.model.comparison import ComparisonFacts
from pytest_evalmetrics.model.reasons import InvalidKey, LostAgent
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.reports import check_wording, differences, sentences
from pytest_evalmetrics.reports.differences import Difference, Finding
from pytest_evalmetrics.stats import paired_score_p, t_sf

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_evalmetrics.evaluation import Evaluated
    from pytest_evalmetrics.json_types import JsonObject
    from pytest_evalmetrics.model.results import BenchmarkResult, Check
    from pytest_evalmetrics.model.rollout_table import RolloutTable, TaskId
    from pytest_evalmetrics.spec import DatasetSpec, RolloutsSpec

    # an agent, a task and a sample
    Answered = tuple[str, TaskId, int]

_ANSWERS = (
    "answer",
    "output_text",
    "response",
    "output",
    "completion",
    "prediction",
    "pred",
)
_WORST = 5  # tasks that a line names
_ROUNDING = 1e-9  # of a mean of passes


# -- through the gate ------------------------------------------------------------------------


class _Comparer:
    """Compares runs with the first one, through the gate that benchmarks go through."""

    def __init__(self, given: Namespace) -> None:
        self._arguments = arguments_of(given)
        self._reader = RunReader(self._arguments)
        self._margin: float | None = given.margin
        self._answer: str | None = given.answer
        self._pictures_tasks = given.format == "html"
        self.evaluated: list[Evaluated] = []

    def findings(self) -> list[Finding]:
        """Return the findings of all runs."""
        runs = self._arguments.runs
        names = short_names(runs[1:])
        reports = reports_of(runs)
        findings: list[Finding] = []
        if reports:
            for name, report in zip(names, reports[1:], strict=True):
                findings += self._of_reports(name, reports[0], report)
        else:
            first, *others = map(rollouts_at, runs)
            for name, path in zip(names, others, strict=True):
                findings += self._of_rollouts(name, first, path)
        if not findings:
            raise EvalMetricsError(f"nothing to compare: {runs[0]} has no benchmark")
        return findings

    def _of_rollouts(self, name: str, first: Path, path: Path) -> list[Finding]:
        """Compare the rollouts of a run, whose fields are named or guessed."""

        def compared(keys: JsonObject) -> list[Finding]:
            before: JsonObject = {"path": str(first), **keys}
            now: JsonObject = {"path": str(path), **keys}
            benchmark = benchmark_of(self._arguments, now, {"rollouts": before})
            given = EvaluationInput(benchmark=benchmark, item_id="compare")
            findings = self._findings(name, given)
            churn = _churn(before, now, self._arguments, self._answer)
            return [_with_churn(finding, churn) for finding in findings]

        return self._reader.read([first, path], compared)

    def _of_reports(self, name: str, first: Path, path: Path) -> Iterator[Finding]:
        """Compare the benchmarks of a run's report."""
        files = benchmarks_of(first)
        for benchmark, file in files.items():
            try:
                tables = tables_of(path, benchmark, file, name)
            except EvalMetricsError as error:
                yield _not_compared(name, benchmark, error)
                continue
            compared = benchmark_of(
                self._arguments, "(a report)", {"report": str(first)}
            )
            spec = replace(compared.spec, name=benchmark)
            given = EvaluationInput(
                benchmark=structs.replace(compared, spec=spec),
                item_id="compare",
                benchmarks=len(files),
            )
            yield from self._of_agents(name, given, tables)

    def _of_agents(
        self, name: str, given: EvaluationInput, tables: dict[str, RolloutTable]
    ) -> Iterator[Finding]:
        """Compare each agent by itself, so that it misses all others."""
        named = set(tables)
        for agent, table in tables.items():
            whose = ""
            if len(tables) > 1:
                whose = agent
            for finding in self._findings(name, structs.replace(given, table=table)):
                lost = finding.lost_agent
                if lost in named:
                    continue
                if lost:
                    named.add(lost)
                difference = structs.replace(
                    finding.difference,
                    benchmark=given.benchmark.spec.name,
                    agent=lost or whose,
                )
                yield structs.replace(finding, difference=difference)

    def _findings(self, name: str, given: EvaluationInput) -> list[Finding]:
        """Evaluate one of several benchmarks, and return the finding of each metric."""
        others = len(self._arguments.runs) - 1
        given = structs.replace(
            given,
            detailed=self._pictures_tasks,
            benchmarks=others * given.benchmarks,
        )
        evaluated = evaluate(given)
        if self._pictures_tasks:
            title = _title(name, evaluated.result)
            place = len(self.evaluated) + 1
            self.evaluated.append(_titled(evaluated, title, place))
        for check in evaluated.result.checks:
            _refuse_unjudged(check)
        shown = [check for check in evaluated.result.checks if _is_shown(check)]
        findings = [_finding(name, check, self._margin) for check in shown]
        return _with_causes(findings, evaluated.result)


def _not_compared(run: str, benchmark: str, error: EvalMetricsError) -> Finding:
    difference = Difference(
        run=run,
        benchmark=benchmark,
        agent="",
        metric="",
        verdict=Verdict.INCONCLUSIVE,
        reason=error.message,
    )
    return Finding(difference, names_metric=True)


def _with_churn(finding: Finding, churn: dict[str, float]) -> Finding:
    share = churn.get(finding.difference.agent, churn.get(""))
    difference = structs.replace(finding.difference, churn=share)
    return structs.replace(finding, difference=difference)


def _refuse_unjudged(check: Check) -> None:
    """Raise an error for a check of the data that fails, and for an unknown direction."""
    for reason in check.reasons:
        if isinstance(reason, InvalidKey) and reason.undeclared:
            raise without_direction(reason.undeclared)
    if check.verdict.fails and check.gate is Gate.DATA:
        fields = "here --task, --sample, --agent and --reward name the fields"
        hint = f"{sentences.hint_of(check)}; {fields}"
        raise EvalMetricsError(sentences.reason_of(check), hint=hint)


def _is_shown(check: Check) -> bool:
    """Check whether a check is a difference: gates of tasks and slices are where they fired."""
    if isinstance(check.bound, SingleTasksBound | SlicesBound) and not check.value:
        return False
    return check.gate is Gate.BASELINE or check.verdict.fails


def _with_causes(findings: Sequence[Finding], result: BenchmarkResult) -> list[Finding]:
    """Add what explains the differences: of each agent once, and of behaviour once for all."""
    texts = map(sentences.behaviour_sentence, result.behaviour)
    behaviour = "; ".join(text for text in texts if text)
    separators = list(result.separators)
    explained = []
    for finding in findings:
        agent = finding.difference.agent
        own = []
        if finding.difference.tasks:  # of a metric
            own = [one for one in separators if agent in ("", one.agent)]
        separators = [one for one in separators if one not in own]
        difference = structs.replace(finding.difference, behaviour=behaviour)
        explained.append(
            structs.replace(finding, difference=difference, separators=tuple(own))
        )
        behaviour = ""
    return explained


def _title(run: str, result: BenchmarkResult) -> str:
    """Name a result after its run, and its benchmark if it is of a report."""
    if result.name == "run":
        return run
    return f"{run}: {result.name}"


def _titled(evaluated: Evaluated, title: str, place: int) -> Evaluated:
    result = structs.replace(
        evaluated.result, name=title, id=f"{title} ({place})", file=""
    )
    return structs.replace(evaluated, result=result)


def _finding(name: str, check: Check, margin: float | None) -> Finding:
    """Describe how one metric of a run differs from the first run's."""
    facts = check.comparison or ComparisonFacts(baseline=None, current=check.value)
    verdict = Verdict.INCONCLUSIVE
    if check.gate is Gate.BASELINE:
        verdict = check.verdict
    reason = ""
    if check.verdict is not Verdict.PASS or check_wording.changes_task_list(check):
        reason = sentences.reason_of(check)
    change, low, high = check_wording.change_of(check)
    difference = Difference(
        run=name,
        benchmark="",
        agent=check.agent,
        metric=check.name,
        verdict=verdict,
        reason=reason,
        baseline=facts.baseline,
        value=facts.current,
        change=change,
        low=low,
        high=high,
        p=facts.p_adjusted,
        tasks=facts.tasks,
        worse=facts.worse,
        better=facts.better,
        margin=margin,
        p_equivalent=_equivalence(facts, margin),
        detectable=facts.detectable_drop,
        worst=tuple(str(task.task) for task in facts.worst_tasks[:_WORST]),
    )
    return Finding(
        difference,
        names_metric=sentences.names_metric(check),
        lost_agent=_lost_agent(check),
    )


def _lost_agent(check: Check) -> str:
    """Return the agent that a check misses in this run; empty if it is about another thing."""
    for reason in check.reasons:
        if isinstance(reason, LostAgent):
            return reason.agent
    return ""


def _equivalence(facts: ComparisonFacts, margin: float | None) -> float | None:
    """Test for equivalence within the margin by two one-sided tests (Schuirmann 1987)."""
    drop = facts.drop
    se = facts.se
    units = facts.units
    if margin is None or drop is None or se is None or units < 2:  # no spread
        return None
    by_score = _equivalence_of_passes(facts, margin)
    if se == 0:
        # all moved alike: the chance that none of so many shows a share of `margin`
        room = min(max(margin - abs(drop), 0.0), 1.0)
        return max((1 - room) ** units, by_score)
    above = t_sf((margin - drop) / se, units - 1)
    below = t_sf((margin + drop) / se, units - 1)
    return max(above, below, by_score)


def _equivalence_of_passes(facts: ComparisonFacts, margin: float) -> float:
    """Test single passes of each task by the score of paired proportions; else 0."""
    is_single = facts.samples_baseline == facts.samples_current == (1, 1)
    change = (facts.worse - facts.better) / max(facts.tasks, 1)
    is_of_passes = facts.drop is not None and abs(facts.drop - change) < _ROUNDING
    if not is_single or not is_of_passes:
        return 0.0
    worse = paired_score_p(facts.worse, facts.better, facts.tasks, margin)
    better = paired_score_p(facts.better, facts.worse, facts.tasks, margin)
    return max(worse, better)


# -- how many answers are others -------------------------------------------------------------


def _churn(
    first: JsonObject, run: JsonObject, arguments: RunArguments, field: str | None
) -> dict[str, float]:
    """Compute the share of rollouts whose answer changed, by agent and overall (``""``).

    `field` holds the answers; None for the first usual one.
    """
    rows = [benchmark_of(arguments, keys, {}).spec.rows for keys in (first, run)]
    try:
        name = field or _answer_field(rows[0])
        if not name:
            return {}
        tables = [
            rollouts.load(spec, Path.cwd(), scores=(), categories=(name,))
            for spec in rows
        ]
    except EvalMetricsError:
        if field is not None:
            raise
        return {}  # a guess that does not hold
    have_one_agent = all(len(table.agents) == 1 for table in tables)
    before, now = [_answers(table, name, named=not have_one_agent) for table in tables]
    return _shares_changed(before, now)


def _shares_changed(
    before: Mapping[Answered, str], now: Mapping[Answered, str]
) -> dict[str, float]:
    """Return the share of answers that changed, by agent."""
    changed: dict[str, list[bool]] = {}
    for key, answer in before.items():
        if key in now:
            agent = key[0]
            changed.setdefault(agent, []).append(now[key] != answer)
    return {agent: sum(flags) / len(flags) for agent, flags in changed.items()}


def _answer_field(rows: RolloutsSpec | DatasetSpec) -> str:
    """Return the first usual field of answers that holds text; empty without one."""
    _, row = next(rollouts.records(rows, Path.cwd()), ("", {}))
    for name in _ANSWERS:
        if isinstance(row.get(name), str):
            return name
    return ""


def _answers(table: RolloutTable, field: str, *, named: bool) -> dict[Answered, str]:
    """Return each answer by agent, task and sample; a lone agent needs no name."""
    category = table.categories[field]
    agents = table.agent.tolist()
    tasks = table.task.tolist()
    samples = table.sample.tolist()
    answers = {}
    for at, code in enumerate(category.codes.tolist()):
        agent = ""
        if named:
            agent = table.agents[agents[at]]
        key = (agent, table.tasks[tasks[at]], samples[at])
        answers[key] = category.labels[code]
    return answers


# -- the page -------------------------------------------------------------------------------


class _PageTexts:
    """The texts of the compared benchmarks, as the page asks for them."""

    def __init__(self, texts: dict[str, dict[str, str]]) -> None:
        self._texts = texts

    def read(self, item_id: str, kind: str) -> bytes:
        return self._texts[item_id].get(kind, "").encode()

    def size(self, item_id: str, kind: str) -> int:
        return len(self.read(item_id, kind))


def _as_page(compared: Sequence[Evaluated]) -> str:
    """Write the compared runs as the page of benchmarks."""
    from pytest_evalmetrics.model.results import RunReport
    from pytest_evalmetrics.reports.html.page import page, page_texts  # if asked for

    texts = {}
    for evaluated in compared:
        texts[evaluated.result.id] = page_texts(evaluated.pictures)
    report = RunReport(benchmarks=tuple(evaluated.result for evaluated in compared))
    return b"".join(page(report, _PageTexts(texts), None)).decode()


# -- the command -----------------------------------------------------------------------------


def compare_runs(given: Namespace) -> tuple[str, bool]:
    """Compare runs as asked; return the result in the format asked for, and whether it fails."""
    with errors_of_options():
        comparer = _Comparer(given)
        findings = comparer.findings()
    fails = any(finding.difference.verdict.fails for finding in findings)
    if given.format == "html":
        return _as_page(comparer.evaluated), fails
    written_as = {
        "text": differences.as_text,
        "markdown": differences.as_markdown,
        "json": differences.as_json,
    }
    text = written_as[given.format](findings, given.runs[0])
    return text, fails
