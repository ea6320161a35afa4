"""Recorded runs against each other, without a benchmark file."""

from __future__ import annotations

import json
import shutil
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from textwrap import TextWrapper
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import structs

from pytest_evalmetrics.errors import ConfigError, EvalMetricsError, Problem
from pytest_evalmetrics.json_types import object_of
from pytest_evalmetrics.layout import listed, visible
from pytest_evalmetrics.model.bounds import RuleBound, SingleTasksBound, SlicesBound
from pytest_evalmetrics.model.comparison import ComparisonFacts
from pytest_evalmetrics.model.reasons import InvalidKey
from pytest_evalmetrics.model.verdicts import Gate, Verdict

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pytest_evalmetrics.evaluate import Evaluated
    from pytest_evalmetrics.metrics import Plan
    from pytest_evalmetrics.model.metric_facts import DirectionName
    from pytest_evalmetrics.model.results import Check
    from pytest_evalmetrics.model.rollout_table import RolloutTable
    from pytest_evalmetrics.rollouts.guess import Proposal
    from pytest_evalmetrics.spec import Benchmark, FieldMap

T = TypeVar("T")
_WIDE = 200  # columns if there is no terminal
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
_HEAD = ("verdict", "run", "benchmark", "agent", "metric")  # of a difference
_WORST = 5  # tasks that a line names
_ROUNDING = 1e-9  # of a mean of passes
_LISTED = 10  # files in a line
_ALL_JUDGED = "none"  # of --missing: no value means not judged


class Difference(msgspec.Struct, frozen=True):
    """One metric of one run, compared with the first run."""

    run: str
    benchmark: str  # of a report; empty for files
    agent: str  # where a run has several
    metric: str
    verdict: Verdict
    reason: str = ""
    baseline: float | None = None
    value: float | None = None
    change: float | None = None  # value - baseline
    low: float | None = None  # of the change: its 95 % interval
    high: float | None = None
    p: float | None = None  # for "no worse", adjusted for the other metrics
    tasks: int = 0  # compared
    worse: int = 0
    better: int = 0
    churn: float | None = None  # the share of rollouts whose answer changed
    margin: float | None = None  # of the equivalence test
    p_equivalent: float | None = None  # of two one-sided tests (Schuirmann 1987)
    detectable: float | None = None  # the least loss seen with 80 % power
    worst: tuple[str, ...] = ()  # the tasks that lost most
    # what the run's agents do otherwise, in words; with the first metric alone
    behaviour: str = ""

    @property
    def equivalent(self) -> bool | None:
        """Whether the runs differ by less than the margin, at p < 0.05; None if not asked."""
        return None if self.p_equivalent is None else self.p_equivalent < 0.05


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


def _compare(given: Namespace) -> list[Difference]:
    """Hold two or more runs against the first one, through the gate that benchmarks go through."""
    reports = _reports_of(given.runs)
    of: Any = _of_reports if reports else _of_rollouts
    first, *rest = reports or map(_rollouts_at, given.runs)
    differences = [
        difference
        for name, path in zip(_short_names(given.runs[1:]), rest, strict=True)
        for difference in of(name, first, path, given)
    ]
    if not differences:
        raise EvalMetricsError(f"nothing to compare: {given.runs[0]} has no benchmark")
    return differences


def _of_rollouts(
    name: str, first: Path, path: Path, given: Namespace
) -> list[Difference]:
    def compared(shape: dict[str, Any]) -> list[Difference]:
        before, now = ({"path": str(each), **shape} for each in (first, path))
        benchmark = _benchmark(given, now, {"rollouts": before})
        differences = [*_differences(name, benchmark, None, given)]
        churn = _churn(before, now, given)
        return [
            structs.replace(d, churn=churn.get(d.agent, churn.get("")))
            for d in differences
        ]

    return _as_named_or_guessed([first, path], given, compared)


def _of_reports(
    name: str, first: Path, path: Path, given: Namespace
) -> Iterator[Difference]:
    files = _benchmarks(first)
    for benchmark, file in files.items():
        try:
            tables = _tables_of(path, benchmark, file, name)
        except EvalMetricsError as error:
            yield Difference(
                name, benchmark, "", "", Verdict.INCONCLUSIVE, error.message
            )
            continue
        compared = _benchmark(given, "(a report)", {"report": str(first)})
        spec = replace(compared.spec, name=benchmark)
        compared = structs.replace(compared, spec=spec)
        for agent, table in tables.items():
            whose = agent if len(tables) > 1 else ""
            for difference in _differences(
                name, compared, table, given, benchmarks=len(files)
            ):
                if (
                    difference.metric != "agent"
                ):  # the others are compared by themselves
                    yield structs.replace(difference, benchmark=benchmark, agent=whose)


def _differences(
    name: str,
    benchmark: Benchmark,
    table: RolloutTable | None,
    given: Namespace,
    *,
    benchmarks: int = 1,
) -> Iterator[Difference]:
    """Evaluate one of several benchmarks, and yield the result of each metric."""
    from pytest_evalmetrics.evaluate import EvaluationInput, evaluate
    from pytest_evalmetrics.reports import sentences

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
    texts = map(sentences.behaviour_sentence, evaluated.result.behaviour)
    behaviour = "; ".join(text for text in texts if text)
    for check in evaluated.result.checks:
        for reason in check.reasons:
            if isinstance(reason, InvalidKey) and reason.undeclared:
                raise _without_direction(reason.undeclared)
        if check.verdict.fails and check.gate is Gate.DATA:
            fields = "here --task, --sample, --agent and --reward name the fields"
            raise EvalMetricsError(
                sentences.reason_of(check), hint=f"{sentences.hint_of(check)}; {fields}"
            )
        is_silent = (
            isinstance(check.bound, SingleTasksBound | SlicesBound) and not check.value
        )
        if not is_silent and (check.gate is Gate.BASELINE or check.verdict.fails):
            difference = _difference(name, check, given.margin)
            yield structs.replace(difference, behaviour=behaviour)
            behaviour = ""


def _named_after_run(
    name: str, evaluated: Evaluated, others: Sequence[Evaluated]
) -> Evaluated:
    """Name a result after its run, and its benchmark if it is of a report."""
    result = evaluated.result
    title = name if result.name == "run" else f"{name}: {result.name}"
    item_id = f"{title} ({len(others) + 1})"
    result = structs.replace(result, name=title, id=item_id, file="")
    return structs.replace(evaluated, result=result)


def _difference(name: str, check: Check, margin: float | None) -> Difference:
    """Describe how one metric of a run differs from the first run's."""
    from pytest_evalmetrics.reports import sentences

    facts = check.comparison or ComparisonFacts(baseline=None, current=check.value)
    is_compared = check.gate is Gate.BASELINE
    settings = check.bound.settings if isinstance(check.bound, RuleBound) else None
    sign = -1.0 if settings is None else -settings.sign
    change = _signed(facts.drop, sign)
    ends = (_signed(facts.drop_low, sign), _signed(facts.drop_high, sign))
    low, high = ends if sign > 0 else ends[::-1]
    return Difference(
        run=name,
        benchmark="",
        agent=check.agent,
        metric=check.name,
        verdict=check.verdict if is_compared else Verdict.INCONCLUSIVE,
        reason="" if check.verdict is Verdict.PASS else sentences.reason_of(check),
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


def _signed(value: float | None, sign: float) -> float | None:
    return None if value is None else sign * value


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


# -- what is printed -------------------------------------------------------------------------


def _rows(differences: Iterable[Difference]) -> list[dict[str, str]]:
    """Return the rows of a table, without columns that are empty in all of them."""
    from pytest_evalmetrics.reports.wording import number, signed

    rows = [
        {
            **{key: getattr(d, key) for key in _HEAD},
            "first": number(d.baseline),
            "now": number(d.value),
            "change": signed(d.change),
            "95% interval": f"[{signed(d.low)}, {signed(d.high)}]"
            if d.low is not None
            else "",
            "p": "" if d.p is None else f"{d.p:.2g}",
            **{
                key: str(getattr(d, key)) * bool(d.tasks)
                for key in ("tasks", "worse", "better")
            },
            "churn": "" if d.churn is None else f"{d.churn:.1%}",
            "same": {None: "", True: f"within {d.margin}", False: "not shown"}[
                d.equivalent
            ],
        }
        for d in differences
    ]
    used = {key for row in rows for key, cell in row.items() if cell}
    return [{key: cell for key, cell in row.items() if key in used} for row in rows]


def _words(differences: Iterable[Difference]) -> Iterator[str]:
    for d in differences:
        parts = (
            d.run,
            d.benchmark,
            d.agent,
            "" if d.reason.startswith(d.metric) else d.metric,
        )
        name = " ".join(filter(None, parts))
        if d.reason:
            yield f"{name}: {d.reason}"
        if d.verdict.fails and d.worst:
            more = ", ..." if d.worse > len(d.worst) else ""
            yield f"  worse: task {', '.join(d.worst)}{more}"
        if d.behaviour:
            yield f"{d.run}: {d.behaviour}"
        if not d.reason and d.detectable:
            yield f"{name}: a loss of {d.detectable:.3g} would be seen with 80 % power"


# what a narrow terminal goes without, the first to go first; the picture has the interval
_DISPENSABLE = ("tasks", "better", "worse", "95% interval", "churn")
_PICTURE = 24  # columns of an interval


def _as_text(differences: Sequence[Difference], first: str) -> str:
    """Lay out as a table, or where that is too wide as a block for each difference."""
    from pytest_evalmetrics.reports.wording import fitted_table

    width = max(shutil.get_terminal_size((_WIDE, 24)).columns, 40)
    rows = _rows(differences)
    cells = [list(row.values()) for row in rows]
    lines = fitted_table(list(rows[0]), cells, width, _DISPENSABLE)
    if max(map(len, lines)) > width:
        lines = []
        for row in rows:
            lines.append("  ".join(visible(row[key]) for key in _HEAD if row.get(key)))
            rest = {key: cell for key, cell in row.items() if cell and key not in _HEAD}
            lines += [f"  {key:13} {visible(cell)}" for key, cell in rest.items()]
    wrapped = TextWrapper(
        width, subsequent_indent="    ", break_on_hyphens=False, break_long_words=False
    )
    words = [
        part for line in _words(differences) for part in wrapped.wrap(visible(line))
    ]
    title = f"against {visible(first)}"
    blocks = [[title], lines, _drawn(differences, width), words]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _drawn(differences: Sequence[Difference], width: int) -> list[str]:
    """Draw the changes with their intervals on one scale for each metric."""
    from pytest_evalmetrics.failure_lines import Picture
    from pytest_evalmetrics.reports import drawing
    from pytest_evalmetrics.reports.console import both_ends, columns_of, padded
    from pytest_evalmetrics.reports.failure_layout import strokes_of

    strokes = strokes_of(sys.stdout.encoding)
    metrics: dict[str, list[tuple[str, Picture]]] = {}
    for d in differences:
        if d.change is None or d.low is None or d.high is None:
            continue
        name = " ".join(filter(None, (d.run, d.benchmark, d.agent, d.metric)))
        label = both_ends(visible(name), width - _PICTURE - 4)
        picture = Picture(
            low=d.low,
            value=d.change,
            high=d.high,
            limit=None,
            shows_zero=True,
            label=label,
            text="",
        )
        metrics.setdefault(d.metric, []).append((label, picture))
    labels = [label for named in metrics.values() for label, _ in named]
    if not labels:
        return []
    columns = max(map(columns_of, labels))
    lines = []
    for named in metrics.values():
        scale = drawing.scale_of([picture for _, picture in named], _PICTURE)
        lines += [
            f"{padded(label, columns)}  {drawing.drawn(picture, scale, strokes)}"
            for label, picture in named
        ]
    return [*lines, f"{' ' * columns}  {strokes.zero} no change"]


def _as_markdown(differences: Sequence[Difference], first: str) -> str:
    """Write a table as wide as GitHub's column, and the words below it."""
    from pytest_evalmetrics.reports.markdown import plain, table
    from pytest_evalmetrics.reports.summary import SIGNS

    header = ("", "run", "metric", "before -> now", "change", "p", "worse / better")
    more = ("churn", "same")
    rows = []
    for d, row in zip(differences, _rows(differences), strict=True):
        name = " / ".join(filter(None, (d.run, d.benchmark, d.agent)))
        change = row.get("change", "")
        if d.low is not None:
            change += f" ({row['95% interval'].strip('[]').replace(', ', ' to ')})"
        cells = [
            name,
            d.metric,
            f"{row.get('first', '')} -> {row.get('now', '')}",
            change,
            row.get("p", ""),
            f"{d.worse} / {d.better}" if d.tasks else "",
            *(row.get(key, "") for key in more),
        ]
        rows.append([SIGNS[d.verdict], *map(plain, cells)])
    words = [f"- {plain(line.strip())}" for line in _words(differences)]
    title = f"Against {plain(first)}:"
    lines = [title, "", *table((*header, *more), rows), "", *words]
    return "\n".join(lines).rstrip() + "\n"


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


def _as_json(differences: Sequence[Difference], first: str) -> str:
    entries = [{**structs.asdict(d), "equivalent": d.equivalent} for d in differences]
    return json.dumps({"first": first, "differences": entries}, indent=2) + "\n"


# -- the command -----------------------------------------------------------------------------


def compare_runs(given: Namespace) -> tuple[str, bool]:
    """Compare runs as asked; return the result in the format asked for, and whether it fails."""
    given.evaluated = []
    with _errors_of_options():
        differences = _compare(given)
    fails = any(difference.verdict.fails for difference in differences)
    if given.format == "html":
        return _as_page(given.evaluated), fails
    formats = {
        "text": _as_text,
        "markdown": _as_markdown,
        "json": _as_json,
    }
    text = formats[given.format](differences, given.runs[0])
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
