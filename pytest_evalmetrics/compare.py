"""Recorded runs against each other, without a benchmark file."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import structs

from pytest_evalmetrics.errors import ConfigError, EvalMetricsError, Problem
from pytest_evalmetrics.json_types import object_of
from pytest_evalmetrics.layout import listed, visible
from pytest_evalmetrics.model.bounds import RuleBound, SingleTasksBound, SlicesBound
from pytest_evalmetrics.model.comparison import ComparisonFacts
from pytest_evalmetrics.model.reasons import InvalidKey, LostAgent
from pytest_evalmetrics.model.verdicts import Gate, Verdict

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pytest_evalmetrics.evaluate import Evaluated
    from pytest_evalmetrics.metrics import Plan
    from pytest_evalmetrics.model.metric_facts import DirectionName
    from pytest_evalmetrics.model.results import BenchmarkResult, Check
    from pytest_evalmetrics.model.rollout_table import RolloutTable
    from pytest_evalmetrics.reports.differences import Finding
    from pytest_evalmetrics.rollouts.guess import Proposal
    from pytest_evalmetrics.spec import Benchmark, FieldMap

T = TypeVar("T")
_FIELDS = ("task", "sample", "agent", "reward")
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
_LISTED = 10  # files in a line
_ALL_JUDGED = "none"  # of --missing: no value means not judged


def _benchmark(
    given: Namespace, rollouts: Any, baseline: Mapping[str, Any]
) -> Benchmark:
    from pytest_evalmetrics.config import benchmark_in_python

    values = {"rollouts": rollouts, "metrics": given.metrics or ["mean_reward"]}
    values |= _named(given, ("pass_threshold",))
    values["behaviour"] = getattr(given, "behaviour", False)
    values["baseline"] = {
        **baseline,
        **_named(given, ("max_drop", "alpha", "direction")),
    }
    place: dict[str, Any] = {
        "file": Path.cwd() / "compare",
        "line": 1,
        "shown": given.command,
    }
    benchmark = benchmark_in_python(values, name="run", what="command", **place)
    return structs.replace(benchmark, in_python=False)


def _named(given: Namespace, names: Sequence[str]) -> dict[str, Any]:
    return {
        name: value
        for name in names
        if (value := getattr(given, name, None)) is not None
    }


# -- runs ------------------------------------------------------------------------------------


def _short_names(paths: Sequence[str]) -> list[str]:
    """Name runs by the shortest unique ends of their paths."""
    ends = (
        ["/".join(Path(path).parts[-parts:]) for path in paths] for parts in range(1, 9)
    )
    return next((names for names in ends if len(set(names)) == len(names)), [*paths])


def _reports_of(paths: Sequence[str]) -> list[Path]:
    """Return the runs' reports; none if all of them are rollouts."""
    files = [
        path / "report.json" if path.is_dir() else path for path in map(Path, paths)
    ]
    reports = [
        f.resolve() for f in files if f.name.endswith("report.json") and f.is_file()
    ]
    if reports and len(reports) < len(paths):
        hint = "compare files of rollouts with each other, or reports with each other"
        raise EvalMetricsError(
            "some of these runs are reports, and some are rollouts", hint=hint
        )
    return reports


def _benchmarks(report: Path) -> dict[str, str]:
    """Return the benchmarks of a report, each with its file."""
    try:
        entries = json.loads(report.read_bytes())["benchmarks"]
        return {entry["name"]: entry["file"] for entry in entries}
    except (OSError, ValueError, TypeError, KeyError):
        hint = "name a report.json that a run of this plugin wrote"
        raise EvalMetricsError(
            "not the report of a run", file=str(report), hint=hint
        ) from None


def _tables_of(
    report: Path, benchmark: str, file: str, shown: str
) -> dict[str, RolloutTable]:
    from pytest_evalmetrics import baselines

    recorded = baselines.from_report(report, benchmark, file=Path(file), shown=shown)
    return {
        agent: table
        for agent, (table,) in baselines.tables(recorded, file=shown).items()
    }


def _rollouts_at(path: str) -> Path:
    """Find a run's rollouts; of a folder all files that could be some."""
    from pytest_evalmetrics.rollouts.folders import files_in

    if "://" in path:
        return Path(path)
    place = Path(path).absolute()
    if place.is_dir():
        folder = files_in(str(place), Path.cwd())
        if folder.left_out:
            names = visible(listed(folder.left_out, _LISTED))
            sys.stderr.write(f"not read of {path}: {names}\n")
        return Path(folder.pattern)
    if not place.exists() and not any(sign in path for sign in "*?["):
        raise EvalMetricsError(
            f"there is no file or folder {path}", hint="name a recorded run"
        )
    return place


def _as_named_or_guessed(
    paths: Sequence[Path], given: Namespace, read: Callable[[dict[str, Any]], T]
) -> T:
    """Read runs with the fields that options name, and with what the first run suggests."""
    from pytest_evalmetrics.rollouts.guess import propose
    from pytest_evalmetrics.spec import FieldMap

    named = _named(given, _FIELDS)
    unjudged = _unjudged(given)
    if not named and not unjudged:
        try:
            return read({})
        except EvalMetricsError as error:
            why = error
    proposal = propose(str(paths[0]), Path.cwd(), FieldMap(**named))
    if proposal is None:  # its format has a loader
        if named or unjudged:
            return read({"fields": named, **unjudged})
        raise why
    return _as_guessed(paths, given, proposal, read)


def _as_guessed(
    paths: Sequence[Path],
    given: Namespace,
    proposal: Proposal,
    read: Callable[[dict[str, Any]], T],
) -> T:
    """Read runs as it is proposed, if nothing of it is open."""
    from pytest_evalmetrics.reports.paragraphs import fitted
    from pytest_evalmetrics.spec import FieldMap

    named = _named(given, _FIELDS)
    for question, choices in proposal.questions.items():
        if question not in ("direction", "missing"):  # asked for below
            raise _unclear(question, choices, paths[0])
    guess = visible(
        f"{paths[0].name} is read as follows: {'; '.join(proposal.reasons)}"
    )
    if proposal.reasons and guess != given.guess:  # which all candidates share
        given.guess = guess
        sys.stderr.write(fitted(f"evalmetrics {given.command}: {guess}\n"))
    if given.missing is None:
        _must_be_judged(paths, FieldMap(**{**named, "reward": proposal.reward}))
    keys: dict[str, Any] = {**proposal.keys}
    if given.missing is not None:
        keys["missing"] = _unjudged(given).get("missing", [])
    keys["fields"] = {**object_of(keys.get("fields")), **named}
    result = read(keys)
    if proposal.undirected is not None and given.direction is None:
        # which way is better of a field that was taken as the reward by its values?
        raise _without_direction(
            [f"{proposal.undirected}, which is taken as the reward"]
        )
    return result


def _unjudged(given: Namespace) -> dict[str, list[str]]:
    """Return the key of the values that mean not judged, if an option names some."""
    values = [value for value in given.missing or () if value != _ALL_JUDGED]
    return {"missing": values} if values else {}


def _must_be_judged(paths: Sequence[Path], named: FieldMap) -> None:
    """Refuse runs with a number that may mean not judged, such as -1 or 999."""
    from pytest_evalmetrics.rollouts.guess import propose

    for path in paths:
        proposal = propose(str(path), Path.cwd(), named)
        if proposal is not None and "missing" in proposal.questions:
            raise _unclear("missing", proposal.questions["missing"], path)


def _unclear(question: str, choices: str, path: Path) -> EvalMetricsError:
    """Create the error for a question about the files that an option answers."""
    field = question.rpartition(".")[2]
    option = "a benchmark file with map:"
    if field in _FIELDS:
        option = f"--{field}"
    if field == "missing":
        option = f"--missing VALUE, or --missing {_ALL_JUDGED}"
    what = f"the {field} is not clear"
    if field == "missing":
        what = "a value may mean that nobody judged"
    message = f"{what}: {choices}"
    return EvalMetricsError(message, file=path.name, hint=f"say it with {option}")


# -- the first worse run ---------------------------------------------------------------------


def _culprit(given: Namespace) -> tuple[list[str], bool]:
    """Find the first worse run; return the lines to print, and whether one was found."""
    from pytest_evalmetrics import metrics
    from pytest_evalmetrics.pipeline.gate_settings import rule_of
    from pytest_evalmetrics.run_series import first_worse, runs_of_commits

    paths, names, notes = given.runs, _short_names(given.runs), list[str]()
    if len(paths) == 1 and "=" in paths[0]:
        names, paths, notes = runs_of_commits(paths[0])
    if len(paths) < 2:  # nothing came before one
        raise EvalMetricsError("two runs or more are needed, the oldest first")
    lines, is_worse = [], False
    benchmark = _benchmark(given, "(runs)", {})
    plan = metrics.plan(benchmark.spec)
    series = _series(paths, given)
    # all of them together have the level of one
    tests = len(series) * len(benchmark.spec.metrics)
    for name, runs in series.items():
        here = [names[at] for at in runs]
        directions = next(iter(runs.values())).directions
        benchmark = _with_directions(benchmark, plan, directions)
        for metric in benchmark.spec.metrics:
            rule = rule_of(benchmark, metric, bounded=True)
            rule = structs.replace(rule, alpha=rule.alpha / tests)
            words, p = first_worse(plan, metric, [*runs.values()], here, rule)
            lines.append(f"{' '.join(filter(None, (name, metric)))}: {words}")
            is_worse |= p < rule.alpha
    return [*lines, *notes], is_worse


def _with_directions(
    benchmark: Benchmark, plan: Plan, directions: Mapping[str, DirectionName]
) -> Benchmark:
    """Complete the direction of each metric; ask for it where nothing declares it."""
    from pytest_evalmetrics.config import declarations
    from pytest_evalmetrics.spec.metric_names import parse

    spec, facts = benchmark.spec, plan.facts_of
    scores = [name.score for name in map(parse, spec.gated) if name.score is not None]
    for question in declarations.undeclared_when_loaded(
        spec, facts, directions, scores
    ):
        raise _without_direction(question.metrics)
    return benchmark.with_spec(declarations.with_directions(spec, facts, directions))


def _series(
    paths: Sequence[str], given: Namespace
) -> dict[str, dict[int, RolloutTable]]:
    """Return the rollouts of each benchmark and agent, by the place of their run."""
    from pytest_evalmetrics import metrics, rollouts

    series: dict[str, dict[int, RolloutTable]] = {}
    reports = _reports_of(paths)
    for at, report in enumerate(reports):
        for name, file in _benchmarks(report).items():
            tables = _tables_of(report, name, file, paths[at])
            for agent, table in tables.items():
                title = f"{name} {agent}" if len(tables) > 1 else name
                series.setdefault(title, {})[at] = table

    def load(shape: Mapping[str, Any]) -> list[RolloutTable]:
        specs = [
            _benchmark(given, {"path": str(path), **shape}, {}).spec for path in files
        ]
        here = Path.cwd()
        return [
            rollouts.load(s.rows, here, scores=metrics.plan(s).scores) for s in specs
        ]

    files = [] if reports else [*map(_rollouts_at, paths)]
    for at, table in enumerate(
        _as_named_or_guessed(files, given, load) if files else ()
    ):
        for agent, part in table.by_agent():
            series.setdefault(agent if len(table.agents) > 1 else "", {})[at] = part
    return series


# -- through the gate ------------------------------------------------------------------------


def _compare(given: Namespace) -> list[Finding]:
    """Compare runs with the first one, through the gate that benchmarks go through."""
    reports = _reports_of(given.runs)
    names = _short_names(given.runs[1:])
    findings: list[Finding] = []
    if reports:
        for name, report in zip(names, reports[1:], strict=True):
            findings += _of_reports(name, reports[0], report, given)
    else:
        first, *rest = map(_rollouts_at, given.runs)
        for name, path in zip(names, rest, strict=True):
            findings += _of_rollouts(name, first, path, given)
    if not findings:
        raise EvalMetricsError(f"nothing to compare: {given.runs[0]} has no benchmark")
    return findings


def _of_rollouts(name: str, first: Path, path: Path, given: Namespace) -> list[Finding]:
    """Compare the rollouts of a run, whose fields are named or guessed."""

    def compared(shape: dict[str, Any]) -> list[Finding]:
        before = {"path": str(first), **shape}
        now = {"path": str(path), **shape}
        benchmark = _benchmark(given, now, {"rollouts": before})
        findings = _findings(name, benchmark, None, given)
        churn = _churn(before, now, given)
        with_churn = []
        for finding in findings:
            difference = finding.difference
            share = churn.get(difference.agent, churn.get(""))
            difference = structs.replace(difference, churn=share)
            with_churn.append(structs.replace(finding, difference=difference))
        return with_churn

    return _as_named_or_guessed([first, path], given, compared)


def _of_reports(
    name: str, first: Path, path: Path, given: Namespace
) -> Iterator[Finding]:
    """Compare the benchmarks of a run's report, each agent by itself."""
    from pytest_evalmetrics.reports.differences import Difference, Finding

    files = _benchmarks(first)
    for benchmark, file in files.items():
        try:
            tables = _tables_of(path, benchmark, file, name)
        except EvalMetricsError as error:
            difference = Difference(
                run=name,
                benchmark=benchmark,
                agent="",
                metric="",
                verdict=Verdict.INCONCLUSIVE,
                reason=error.message,
            )
            yield Finding(difference, names_metric=True)
            continue
        compared = _benchmark(given, "(a report)", {"report": str(first)})
        spec = replace(compared.spec, name=benchmark)
        compared = structs.replace(compared, spec=spec)
        # each agent is compared by itself, so that it misses all others
        named = set(tables)
        for agent, table in tables.items():
            findings = _findings(name, compared, table, given, benchmarks=len(files))
            for finding in findings:
                whose = agent if len(tables) > 1 else ""
                if finding.lost_agent in named:
                    continue
                if finding.lost_agent:
                    named.add(finding.lost_agent)
                    whose = finding.lost_agent
                difference = structs.replace(
                    finding.difference, benchmark=benchmark, agent=whose
                )
                yield structs.replace(finding, difference=difference)


def _findings(
    name: str,
    benchmark: Benchmark,
    table: RolloutTable | None,
    given: Namespace,
    *,
    benchmarks: int = 1,
) -> list[Finding]:
    """Evaluate one of several benchmarks, and return the finding of each metric."""
    from pytest_evalmetrics.evaluate import EvaluationInput, evaluate

    evaluated = evaluate(
        EvaluationInput(
            benchmark=benchmark,
            item_id="compare",
            table=table,
            detailed=given.format == "html",
            benchmarks=(len(given.runs) - 1) * benchmarks,
        )
    )
    if given.format == "html":
        given.evaluated.append(_named_after_run(name, evaluated, given.evaluated))
    for check in evaluated.result.checks:
        _refuse_unjudged(check)
    shown = [check for check in evaluated.result.checks if _is_shown(check)]
    findings = [_finding(name, check, given.margin) for check in shown]
    return _with_causes(findings, evaluated.result)


def _refuse_unjudged(check: Check) -> None:
    """Raise an error for a check of the data that fails, and for an unknown direction."""
    from pytest_evalmetrics.reports import sentences

    for reason in check.reasons:
        if isinstance(reason, InvalidKey) and reason.undeclared:
            raise _without_direction(reason.undeclared)
    if check.verdict.fails and check.gate is Gate.DATA:
        fields = "here --task, --sample, --agent and --reward name the fields"
        raise EvalMetricsError(
            sentences.reason_of(check), hint=f"{sentences.hint_of(check)}; {fields}"
        )


def _is_shown(check: Check) -> bool:
    """Check whether a check is a difference: gates of tasks and slices are where they fired."""
    if isinstance(check.bound, SingleTasksBound | SlicesBound) and not check.value:
        return False
    return check.gate is Gate.BASELINE or check.verdict.fails


def _with_causes(findings: Sequence[Finding], result: BenchmarkResult) -> list[Finding]:
    """Add what explains the differences: of each agent once, and of behaviour once for all."""
    from pytest_evalmetrics.reports import sentences

    texts = map(sentences.behaviour_sentence, result.behaviour)
    behaviour = "; ".join(text for text in texts if text)
    separators = list(result.separators)
    explained = []
    for finding in findings:
        agent = finding.difference.agent
        own = [one for one in separators if agent in ("", one.agent)]
        separators = [one for one in separators if one not in own]
        difference = structs.replace(finding.difference, behaviour=behaviour)
        explained.append(
            structs.replace(finding, difference=difference, separators=tuple(own))
        )
        behaviour = ""
    return explained


def _named_after_run(
    name: str, evaluated: Evaluated, others: Sequence[Evaluated]
) -> Evaluated:
    """Name a result after its run, and its benchmark if it is of a report."""
    result = evaluated.result
    title = name if result.name == "run" else f"{name}: {result.name}"
    item_id = f"{title} ({len(others) + 1})"
    result = structs.replace(result, name=title, id=item_id, file="")
    return structs.replace(evaluated, result=result)


def _finding(name: str, check: Check, margin: float | None) -> Finding:
    """Describe how one metric of a run differs from the first run's."""
    from pytest_evalmetrics.reports import sentences
    from pytest_evalmetrics.reports.differences import Difference, Finding

    facts = check.comparison or ComparisonFacts(baseline=None, current=check.value)
    verdict = Verdict.INCONCLUSIVE
    if check.gate is Gate.BASELINE:
        verdict = check.verdict
    reason = ""
    if check.verdict is not Verdict.PASS:
        reason = sentences.reason_of(check)
    is_less_better = (
        isinstance(check.bound, RuleBound) and check.bound.settings.sign < 0
    )
    if is_less_better:
        change, low, high = facts.drop, facts.drop_low, facts.drop_high
    else:
        change = _negated(facts.drop)
        low = _negated(facts.drop_high)
        high = _negated(facts.drop_low)
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
    lost = [reason.agent for reason in check.reasons if isinstance(reason, LostAgent)]
    return Finding(
        difference,
        names_metric=sentences.names_metric(check),
        lost_agent=lost[0] if lost else "",
    )


def _negated(value: float | None) -> float | None:
    return None if value is None else -value


def _equivalence(facts: ComparisonFacts, margin: float | None) -> float | None:
    """Test for equivalence within the margin by two one-sided tests (Schuirmann 1987)."""
    from pytest_evalmetrics.stats import t_sf

    drop, se, units = facts.drop, facts.se, facts.units
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
    from pytest_evalmetrics.stats import paired_score_p

    is_single = facts.samples_baseline == facts.samples_current == (1, 1)
    change = (facts.worse - facts.better) / max(facts.tasks, 1)
    is_of_passes = facts.drop is not None and abs(facts.drop - change) < _ROUNDING
    if not (is_single and is_of_passes):
        return 0.0
    return max(
        paired_score_p(facts.worse, facts.better, facts.tasks, margin),
        paired_score_p(facts.better, facts.worse, facts.tasks, margin),
    )


# -- how many answers are others -------------------------------------------------------------


def _churn(
    first: Mapping[str, Any], run: Mapping[str, Any], given: Namespace
) -> dict[str, float]:
    """Compute the share of rollouts whose answer changed, by agent and overall (``""``)."""
    from pytest_evalmetrics import rollouts

    name = given.answer
    both = [_benchmark(given, source, {}).spec.rows for source in (first, run)]
    try:
        if name is None:  # the first usual name that holds text
            _, row = next(rollouts.records(both[0], Path.cwd()), ("", {}))
            name = next(
                (key for key in _ANSWERS if isinstance(row.get(key), str)), None
            )
        if name is None:
            return {}
        tables = [
            rollouts.load(r, Path.cwd(), scores=(), categories=(name,)) for r in both
        ]
    except EvalMetricsError:
        if given.answer is not None:
            raise
        return {}  # a guess that does not hold
    alone = all(len(table.agents) == 1 for table in tables)
    before, now = (dict(_answers(table, name, alone)) for table in tables)
    changed: dict[str, list[bool]] = {}
    for key in before.keys() & now.keys():
        changed.setdefault(key[0], []).append(before[key] != now[key])
    return {agent: sum(each) / len(each) for agent, each in changed.items()}


def _answers(table: RolloutTable, name: str, alone: bool) -> Iterator[tuple[Any, str]]:
    """Yield each answer by agent, task and sample; a lone agent needs no name."""
    labels, codes = table.categories[name].labels, table.categories[name].codes
    columns = (
        column.tolist() for column in (table.agent, table.task, table.sample, codes)
    )
    for agent, task, sample, code in zip(*columns, strict=True):
        yield (
            ("" if alone else table.agents[agent], table.tasks[task], sample),
            labels[code],
        )


# -- the page -------------------------------------------------------------------------------


class _PageTexts:
    """The texts of the compared benchmarks, as the page asks for them."""

    def __init__(self, compared: Sequence[Evaluated]) -> None:
        from pytest_evalmetrics.reports.html.page import page_texts

        self._texts = {each.result.id: page_texts(each.pictures) for each in compared}

    def read(self, item_id: str, kind: str) -> bytes:
        return self._texts[item_id].get(kind, "").encode()

    def size(self, item_id: str, kind: str) -> int:
        return len(self.read(item_id, kind))


def _as_page(compared: Sequence[Evaluated]) -> str:
    """Write the compared runs as the page of benchmarks."""
    from pytest_evalmetrics.model.results import RunReport
    from pytest_evalmetrics.reports.html.page import page

    report = RunReport(benchmarks=tuple(each.result for each in compared))
    return b"".join(page(report, _PageTexts(compared), {})).decode()


# -- the command -----------------------------------------------------------------------------


def compare_runs(given: Namespace) -> tuple[str, bool]:
    """Compare runs as asked; return the result in the format asked for, and whether it fails."""
    from pytest_evalmetrics.reports import differences

    given.evaluated = []
    with _errors_of_options():
        findings = _compare(given)
    fails = any(finding.difference.verdict.fails for finding in findings)
    if given.format == "html":
        return _as_page(given.evaluated), fails
    written_as = {
        "text": differences.as_text,
        "markdown": differences.as_markdown,
        "json": differences.as_json,
    }
    text = written_as[given.format](findings, given.runs[0])
    return text, fails


def find_culprit(given: Namespace) -> tuple[list[str], bool]:
    """Find the first worse run; return lines, and whether there is one."""
    with _errors_of_options():
        return _culprit(given)


@contextmanager
def _errors_of_options() -> Iterator[None]:
    """Say what is wrong with an option, where the keys of a benchmark were made of them."""
    try:
        yield
    except ConfigError as error:
        text = "\n".join(map(_of_option, error.problems))
        raise EvalMetricsError(text) from None


def _of_option(problem: Problem) -> str:
    """Say what is wrong with an option, or which one is missing."""
    if problem.undeclared:
        return str(_without_direction(problem.undeclared))
    return problem.text.removeprefix("baseline.")


def _without_direction(metrics: Sequence[str]) -> EvalMetricsError:
    names = ", ".join(metrics)
    return EvalMetricsError(
        f"nothing says which way is better for {names}",
        hint="add --direction higher, or --direction lower",
    )
