"""``evalmetrics compare A B`` and ``culprit A B C``: recorded runs, without a benchmark file."""
# ruff: noqa: PLC0415 - nothing is loaded that only another command or format needs

from __future__ import annotations

import argparse
import html
import json
import shutil
import sys
from contextlib import suppress
from dataclasses import asdict, fields, replace
from pathlib import Path
from textwrap import TextWrapper
from typing import TYPE_CHECKING, Any, Final

from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.layout import visible
from pytest_evalmetrics.records import record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.results import BenchmarkResult, Check
    from pytest_evalmetrics.spec import Benchmark

_WIDE: Final = 200  # columns where there is no terminal
_ANSWERS: Final = (
    *("answer", "output_text", "response", "output", "completion", "prediction", "pred"),
)
_WORST: Final = 5  # tasks that a line names


@record
class Difference:
    """One metric of one run, held against the first run."""

    run: str
    benchmark: str  # of a report; empty for files
    agent: str  # where a run has several
    metric: str
    verdict: str  # PASS, WARN, FAIL, or INCONCLUSIVE
    reason: str = ""
    baseline: float | None = None
    value: float | None = None
    change: float | None = None  # value - baseline
    low: float | None = None  # of the change: its 95 % interval
    high: float | None = None
    p: float | None = None  # that it is no worse, adjusted for the other metrics
    tasks: int = 0  # compared
    worse: int = 0
    better: int = 0
    churn: float | None = None  # the share of rollouts whose answer is another one
    margin: float | None = None  # that equivalence was tested with
    p_equivalent: float | None = None  # of two one-sided tests (Schuirmann 1987)
    detectable: float | None = None  # the least loss seen with 80 % power
    worst: tuple[str, ...] = ()  # the tasks that lost most

    @property
    def equivalent(self) -> bool | None:
        """Whether the runs differ by less than the margin, at p < 0.05; None where not asked."""
        return None if self.p_equivalent is None else self.p_equivalent < 0.05  # noqa: PLR2004

    @property
    def fails(self) -> bool:
        """Whether it is a regression, or can't be judged."""
        return self.verdict in ("FAIL", "INCONCLUSIVE")


@record
class Settings:
    """What is compared, and how: the keys of a benchmark file, for all runs."""

    metrics: tuple[str, ...] = ("mean_reward",)
    fields: Mapping[str, str] | None = None  # of rows: task, sample, agent, reward
    pass_threshold: float | None = None
    max_drop: float | None = None
    alpha: float | None = None
    margin: float | None = None
    answer: str | None = None  # the field whose change is churn; default a usual one
    shape: Mapping[str, Any] | None = None  # further keys of `rollouts:`, for files of any layout

    def values(self, rollouts: Any, baseline: Mapping[str, Any]) -> dict[str, Any]:
        """Write the benchmark that compares two runs."""
        rule = {"max_drop": self.max_drop, "alpha": self.alpha}
        baseline = {**baseline, **{k: v for k, v in rule.items() if v is not None}}
        own: dict[str, Any] = {}
        if self.pass_threshold is not None:
            own["pass_threshold"] = self.pass_threshold
        own |= {"name": "run", "rollouts": rollouts, "metrics": list(self.metrics)}
        return {**own, "baseline": baseline}

    def source(self, path: Path) -> dict[str, Any]:
        """Write where a run's rollouts lie."""
        shape = self.shape or ({"fields": dict(self.fields)} if self.fields else {})
        return {"path": str(path), **shape}


def compare(paths: Sequence[str], settings: Settings | None = None) -> list[Difference]:
    """Hold two or more runs against the first one, through the gate that benchmarks go through.

    Runs are files or globs of rollouts, folders of them, or all of them ``report.json`` files or
    folders that hold one. They share the level of a false alarm. Raises EvalMetricsError for a run
    that can't be read.
    """
    settings = settings or Settings()
    reports = _reports_of(paths)
    of: Any = _of_reports if reports else _of_rollouts
    first, *rest = reports or paths
    return [
        difference
        for name, path in zip(_short_names(paths[1:]), rest, strict=True)
        for difference in of(name, first, path, settings, len(rest))
    ]


def _reports_of(paths: Sequence[str]) -> list[Path]:
    """Return the runs' reports; none where all of them are rollouts."""
    files = [path / "report.json" if path.is_dir() else path for path in map(Path, paths)]
    reports = [f.resolve() for f in files if f.name.endswith("report.json") and f.is_file()]
    if reports and len(reports) < len(paths):
        raise EvalMetricsError(
            "some of these runs are reports, and some are rollouts",
            hint="compare files of rollouts with each other, or reports with each other",
        )
    return reports


def culprit(paths: Sequence[str], settings: Settings) -> tuple[list[str], bool]:
    """Find the first worse of runs, the oldest first; return lines, and whether there is one.

    Runs are named as for `compare`; one ``FROM..TO=PATTERN`` stands for the commits of git.
    """
    from pytest_evalmetrics import metrics
    from pytest_evalmetrics.pipeline.regressions import rule_of
    from pytest_evalmetrics.pipeline.run_series import first_worse, runs_of_commits

    names, notes = _short_names(paths), list[str]()
    if len(paths) == 1 and "=" in paths[0]:
        names, paths, notes = runs_of_commits(paths[0])
    if len(paths) < 2:  # noqa: PLR2004 - nothing came before one
        raise EvalMetricsError("two runs or more are needed, the oldest first")
    lines, is_worse = [], False
    for name, runs in _series(paths, settings).items():
        benchmark = _benchmark(settings.values("(runs)", {}))
        plan = metrics.plan(benchmark.spec, also=settings.metrics)
        here = [names[at] for at in runs]
        for metric in settings.metrics:
            rule = rule_of(benchmark, metric, bounded=True)
            words, p = first_worse(plan, metric, [*runs.values()], here, rule)
            lines.append(f"{' '.join(filter(None, (name, metric)))}: {words}")
            is_worse |= p < rule.alpha
    return [*lines, *notes], is_worse


def _series(paths: Sequence[str], settings: Settings) -> dict[str, dict[int, RolloutTable]]:
    from pytest_evalmetrics import baselines, metrics, rollouts

    series: dict[str, dict[int, RolloutTable]] = {}
    reports = _reports_of(paths)
    for at, report in enumerate(reports):
        for name, file in _benchmarks(report).items():
            document = baselines.from_report(report, name, file=Path(file), shown=paths[at])
            tables = baselines.tables(document, file=paths[at])
            for agent, (table,) in tables.items():
                title = f"{name} {agent}" if len(tables) > 1 else name
                series.setdefault(title, {})[at] = table
    for at, path in enumerate(() if reports else map(_rollouts_at, paths)):
        for reading in (readings := _readings(path, settings)):
            spec = _benchmark(reading.values(reading.source(path), {})).spec
            scores = metrics.plan(spec, also=settings.metrics).scores
            with suppress(*() if reading is readings[-1] else (EvalMetricsError,)):
                table = rollouts.load(spec.rows, Path.cwd(), scores=scores)
                for agent, part in table.by_agent():
                    series.setdefault(agent if len(table.agents) > 1 else "", {})[at] = part
                break
    return series


def _short_names(paths: Sequence[str]) -> list[str]:
    """Name runs by the least of their paths' ends that tells them apart."""
    for parts in range(1, 9):
        names = ["/".join(Path(path).parts[-parts:]) for path in paths]
        if len(set(names)) == len(names):
            return names
    return list(paths)


def _rollouts_at(path: str) -> Path:
    """Find a run's rollouts; of a folder all files that could be some."""
    place = Path(path)
    if place.is_dir() and any(place.glob("*.json*")):
        place /= "*.json*"
    elif not place.exists() and not any(sign in path for sign in "*?[") and "://" not in path:
        raise EvalMetricsError(f"there is no file or folder {path}", hint="name a recorded run")
    return place if "://" in path else place.absolute()


# -- through the gate ------------------------------------------------------------------------


def _benchmark(values: Mapping[str, Any]) -> Benchmark:
    from pydantic import ValidationError

    from pytest_evalmetrics.config.benchmark_files import adapter
    from pytest_evalmetrics.spec import Benchmark

    try:
        spec = adapter().validate_json(json.dumps(values))
    except ValidationError as error:
        ((first, *_), count) = error.errors(), error.error_count()
        more = f" (and {count - 1} more)" if count > 1 else ""
        where = ".".join(map(str, first["loc"]))
        raise EvalMetricsError(f"{where}: {first['msg']}{more}") from None
    return Benchmark(spec, Path.cwd() / "compare", {})


def _evaluated(values: Mapping[str, Any], table: RolloutTable | None, runs: int) -> BenchmarkResult:
    from pytest_evalmetrics.pipeline.evaluation import Evaluation

    evaluation = Evaluation(_benchmark(values), item_id="compare", table=table, detailed=False)
    return replace(evaluation, benchmarks=runs).run().result


def _of_rollouts(
    name: str, first: str, path: str, settings: Settings, runs: int
) -> Iterator[Difference]:
    before, after = _rollouts_at(first), _rollouts_at(path)
    for reading in _readings(before, settings):
        baseline = {"rollouts": reading.source(before)}
        result = _evaluated(reading.values(reading.source(after), baseline), None, runs)
        if all(check.gate != "data" for check in result.checks):
            break
    churn = _churn(before, after, reading)
    for difference in _differences(result, name, "", settings):
        yield replace(difference, churn=churn.get(difference.agent, churn.get("")))


def _readings(path: Path, settings: Settings) -> list[Settings]:
    """List how rows may be read: as they are named; else as guessed, where nobody names fields."""
    from pytest_evalmetrics.rollouts.propose import propose

    proposal = None
    with suppress(EvalMetricsError):
        proposal = None if settings.fields else propose(str(path), Path.cwd())
    if proposal is None:
        return [settings]
    spec = proposal.spec
    shape = {name: getattr(spec, name) for name in ("rows", "keyed", "lists", "map")}
    shape["pivot"] = None if spec.pivot is None else asdict(spec.pivot)
    shape["fields"] = {k: v for k, v in asdict(spec.fields).items() if v}
    return [settings, replace(settings, shape={k: v for k, v in shape.items() if v})]


def _of_reports(
    name: str, first: Path, path: Path, settings: Settings, runs: int
) -> Iterator[Difference]:
    from pytest_evalmetrics import baselines

    before, after = _benchmarks(first), _benchmarks(path)
    for benchmark in before:
        if benchmark not in after:
            reason = f"{name} has no benchmark {benchmark}, which the first run has"
            yield Difference(name, benchmark, "", "", "INCONCLUSIVE", reason)
            continue
        try:
            file = Path(after[benchmark])
            document = baselines.from_report(path, benchmark, file=file, shown=name)
            tables = baselines.tables(document, file=name)
        except EvalMetricsError as error:
            yield Difference(name, benchmark, "", "", "INCONCLUSIVE", error.message)
            continue
        for agent, (table,) in tables.items():
            values = settings.values("(a report)", {"report": str(first)})
            values["name"] = benchmark
            result = _evaluated(values, table, runs)
            for difference in _differences(result, name, benchmark, settings):
                if difference.metric != "agent":  # the others are compared by themselves
                    yield replace(difference, agent=agent if len(tables) > 1 else "")


def _benchmarks(report: Path) -> dict[str, str]:
    try:
        entries = json.loads(report.read_bytes())["benchmarks"]
        return {entry["name"]: entry["file"] for entry in entries}
    except (OSError, ValueError, TypeError, KeyError):
        hint = "name a report.json that a run of this plugin wrote"
        raise EvalMetricsError("this is no report of a run", file=str(report), hint=hint) from None


def _differences(
    result: BenchmarkResult, name: str, benchmark: str, settings: Settings
) -> Iterator[Difference]:
    for check in result.checks:
        if check.gate == "baseline":
            one = Difference(name, benchmark, check.agent, check.name, str(check.verdict))
            yield _with_evidence(one, check, settings)
        elif check.verdict.fails and check.gate == "data":
            way = f"{check.hint}; here --task, --sample, --agent and --reward name the fields"
            raise EvalMetricsError(check.reason, hint=way)
        elif check.verdict.fails:
            yield Difference(name, benchmark, check.agent, check.name, "INCONCLUSIVE", check.reason)


def _with_evidence(difference: Difference, check: Check, settings: Settings) -> Difference:
    evidence = check.evidence
    drop, low, high = (evidence.get(key) for key in ("drop", "drop_low", "drop_high"))
    if evidence.get("direction") != "lower":  # a drop is a loss, whichever way is better
        drop, low, high = (None if x is None else -x for x in (drop, high, low))
    return replace(
        difference,
        reason="" if difference.verdict == "PASS" else check.reason,
        baseline=evidence.get("baseline"),
        value=evidence.get("current", check.value),
        change=drop,
        low=low,
        high=high,
        p=evidence.get("p_adjusted"),
        tasks=evidence.get("tasks", 0),
        worse=evidence.get("worse", 0),
        better=evidence.get("better", 0),
        margin=settings.margin,
        p_equivalent=_equivalence(evidence, settings.margin),
        detectable=evidence.get("mde"),
        worst=tuple(str(t["task"]) for t in evidence.get("worst_tasks", ())[:_WORST]),
    )


def _equivalence(evidence: Mapping[str, Any], margin: float | None) -> float | None:
    """Test twice, one-sided, that the change lies within the margin (Schuirmann 1987)."""
    from pytest_evalmetrics.stats import t_sf

    drop, se, units = evidence.get("drop"), evidence.get("se"), evidence.get("units") or 0
    if margin is None or drop is None or se is None or units < 2:  # noqa: PLR2004 - no spread
        return None
    if se == 0:
        return float(abs(drop) >= margin)
    return max(t_sf((margin - drop) / se, units - 1), t_sf((margin + drop) / se, units - 1))


# -- how many answers are others -------------------------------------------------------------


def _churn(before: Path, after: Path, settings: Settings) -> dict[str, float]:
    """Share of the rollouts on both sides whose answer differs, by agent and of all (``""``)."""
    from pytest_evalmetrics import rollouts

    field = settings.answer or _answer_field(before)
    if field is None:
        return {}
    tables = []
    for path in (before, after):
        rows = _benchmark(settings.values(settings.source(path), {})).spec.rows
        try:
            tables.append(rollouts.load(rows, Path.cwd(), scores=(), categories=(field,)))
        except EvalMetricsError:
            if settings.answer is not None:
                raise
            return {}  # a guess that does not hold
    alone = all(len(table.agents) == 1 for table in tables)
    first, second = ({r[:3]: r[3] for r in _answers(table, field, alone)} for table in tables)
    changed: dict[str, list[bool]] = {}
    for key in first.keys() & second.keys():
        changed.setdefault(key[0], []).append(first[key] != second[key])
    return {agent: sum(each) / len(each) for agent, each in changed.items()}


def _answers(table: RolloutTable, field: str, alone: bool) -> Iterator[tuple[Any, ...]]:
    names, column = ("",) if alone else table.agents, table.categories[field]
    places = (table.agent.tolist(), table.task.tolist(), table.sample.tolist())
    for agent, task, sample, code in zip(*places, column.codes.tolist(), strict=True):
        yield names[agent], table.tasks[task], sample, column.labels[code]


def _answer_field(path: Path) -> str | None:
    """Guess which field holds the answer: the first usual name that holds text."""
    from pytest_evalmetrics.rollouts.documents import documents
    from pytest_evalmetrics.rollouts.files import find_files
    from pytest_evalmetrics.rollouts.source import open_source

    try:
        file = next(iter(find_files((str(path),), Path.cwd())))
        row = getattr(next(iter(documents(open_source(file))), None), "value", {})
    except EvalMetricsError:
        return None
    return next((name for name in _ANSWERS if isinstance(row.get(name), str)), None)


# -- what is printed -------------------------------------------------------------------------

_HEADER: Final = (
    *("verdict", "run", "benchmark", "agent", "metric", "first", "now", "change"),
    *("95% interval", "p", "tasks", "worse", "better", "churn", "same"),
)


def _cells(d: Difference) -> tuple[str, ...]:
    from pytest_evalmetrics.reports.lines import number

    def signed(value: float | None) -> str:
        return "" if value is None else ("+" if value > 0 else "") + number(value)

    same = {None: "", True: f"within {d.margin}", False: "not shown"}[d.equivalent]
    return (
        *(d.verdict, d.run, d.benchmark, d.agent, d.metric),
        *(number(d.baseline), number(d.value), signed(d.change)),
        f"[{signed(d.low)}, {signed(d.high)}]" if d.low is not None else "",
        "" if d.p is None else f"{d.p:.2g}",
        *((str(d.tasks), str(d.worse), str(d.better)) if d.tasks else ("", "", "")),
        "" if d.churn is None else f"{d.churn:.1%}",
        same,
    )


def _words(differences: Iterable[Difference]) -> Iterator[str]:
    """Say what the numbers do not."""
    for d in differences:
        parts = (d.run, d.benchmark, d.agent, "" if d.reason.startswith(d.metric) else d.metric)
        name = " ".join(filter(None, parts))
        if d.reason:
            yield f"{name}: {d.reason}"
        if d.fails and d.worst:
            more = ", ..." if d.worse > len(d.worst) else ""
            yield f"  worse: task {', '.join(d.worst)}{more}"
        if not d.reason and d.detectable:
            yield f"{name}: a loss of {d.detectable:.3g} would be seen with 80 % power"


def _used(differences: Sequence[Difference]) -> list[list[str]]:
    rows = [_cells(d) for d in differences]
    used = [n for n in range(len(_HEADER)) if any(row[n] for row in rows)]
    return [[row[n] for n in used] for row in (_HEADER, *rows)]


def text(differences: Sequence[Difference], first: str, width: int) -> str:
    """Lay out as a table, or where that is too wide as a block for each difference."""
    from pytest_evalmetrics.reports.lines import table

    width = max(width, 40)
    lines = table(_HEADER, [_cells(d) for d in differences])
    if max(map(len, lines)) > width:
        lines = []
        for d in differences:
            cells = dict(zip(_HEADER, map(visible, _cells(d)), strict=True))
            head = [cells.pop(key) for key in ("verdict", "run", "benchmark", "agent", "metric")]
            lines += ["  ".join(filter(None, head))]
            lines += [f"  {key:13} {cell}" for key, cell in cells.items() if cell]
    wrapped = TextWrapper(
        width, subsequent_indent="    ", break_on_hyphens=False, break_long_words=False
    )
    words = [part for line in _words(differences) for part in wrapped.wrap(visible(line))]
    title = f"against {visible(first)}"
    return "\n".join([title, "", *lines, *([""] if words else []), *words]) + "\n"


def markdown(differences: Sequence[Difference]) -> str:
    """Write a table, for a comment or a page."""
    from pytest_evalmetrics.reports.summary import plain

    header, *rows = _used(differences)
    lines = [header, ["---"] * len(header), *(map(plain, row) for row in rows)]
    words = [f"- {plain(line.strip())}" for line in _words(differences)]
    return "\n".join([*(f"| {' | '.join(line)} |" for line in lines), "", *words]).rstrip() + "\n"


_PAGE: Final = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Runs compared</title>
<style>
:root {{ color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }}
body {{ margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }}
div {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ border-bottom: 1px solid #8886; padding: .35rem .7rem; text-align: left; }}
td {{ white-space: nowrap; }}
tr.fails td:first-child {{ font-weight: 700; color: light-dark(#b00020, #ff8a80); }}
</style>
<h1>Runs compared</h1>
<p>{title}</p>
<div role="region" tabindex="0" aria-label="Differences"><table>
<thead><tr>{head}</tr></thead>
<tbody>
{rows}
</tbody></table></div>
<ul>
{words}
</ul>
</html>
"""


def page(differences: Sequence[Difference], first: str) -> str:
    """Write a page of its own; all that comes from files is shown as text."""
    header, *cells = _used(differences)
    rows = [
        ('<tr class="fails">' if d.fails else "<tr>")
        + "".join(f"<td>{html.escape(visible(cell))}</td>" for cell in row)
        + "</tr>"
        for d, row in zip(differences, cells, strict=True)
    ]
    return _PAGE.format(
        title=f"Each against {html.escape(visible(first))}.",
        head="".join(f'<th scope="col">{name}</th>' for name in header),
        rows="\n".join(rows),
        words="\n".join(f"<li>{html.escape(visible(line))}</li>" for line in _words(differences)),
    )


def written(differences: Sequence[Difference], style: str, first: str) -> str:
    """Write the differences as text, markdown, json or html."""
    if style == "markdown":
        return markdown(differences)
    if style == "html":
        return page(differences, first)
    if style == "json":
        entries = [{**asdict(d), "equivalent": d.equivalent} for d in differences]
        return json.dumps({"first": first, "differences": entries}, indent=2) + "\n"
    return text(differences, first, shutil.get_terminal_size((_WIDE, 24)).columns)


# -- the command -----------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command ``evalmetrics``; return its exit status.

    0 where nothing got worse, 1 on a regression or what can't be judged, 2 where a run can't be
    read.
    """
    parser = argparse.ArgumentParser("evalmetrics", description="Gates for benchmark results.")
    commands = parser.add_subparsers(dest="command", required=True)
    asked, statuses = {}, "0 nothing worse, 1 a regression or no verdict, 2 a run can't be read"
    for name, does, first in (
        ("compare", "compare recorded runs with the first", "the first one is the baseline"),
        ("culprit", "find the first worse of recorded runs", "the oldest first"),
    ):
        text_of = f"{does.capitalize()}: files of rollouts, folders, or report.json files."
        asked[name] = each = commands.add_parser(
            name, help=does, description=f"{text_of} Exit status: {statuses}."
        )
        each.add_argument("runs", nargs="+", metavar="RUN", help=first)
        each.add_argument("--metric", action="append", help="default mean_reward; may be repeated")
        for field in ("task", "sample", "agent", "reward"):
            words = f"the field that holds the {field}"
            each.add_argument(f"--{field}", metavar="FIELD", help=words)
        each.add_argument("--pass-threshold", type=float, help="a reward from which it passes")
        each.add_argument("--alpha", type=float, help="the level of a false alarm; default 0.01")
    both = asked["compare"]
    both.add_argument("--answer", metavar="FIELD", help="the field whose changes churn counts")
    both.add_argument("--max-drop", type=float, help="a loss up to which nothing is a regression")
    both.add_argument("--margin", type=float, help="test too that the runs differ by less")
    both.add_argument("--format", choices=("text", "markdown", "json", "html"), default="text")
    site = commands.add_parser("site", help="write a static site over many runs")
    site.add_argument("folder", type=Path, help="holds the artifacts of runs, each in a folder")
    site.add_argument("--output", type=Path, default=Path("site"), help="default: site")
    given = parser.parse_args(argv)
    if given.command == "compare" and len(given.runs) < 2:  # noqa: PLR2004 - the first, and another
        both.error("name two runs or more")
    try:
        return _run(given)
    except EvalMetricsError as error:
        sys.stderr.write(f"evalmetrics {given.command}: {visible(str(error))}\n")
        return 2


def _run(given: argparse.Namespace) -> int:
    if given.command == "site":
        from pytest_evalmetrics.reports.site import build_site

        index, notes = build_site(given.folder, given.output)
        sys.stderr.writelines(f"evalmetrics site: {visible(note)}\n" for note in notes)
        sys.stdout.write(f"{visible(str(index))}\n")
        return 0
    values = {key: value for key, value in vars(given).items() if value is not None}
    settings = Settings(
        metrics=tuple(given.metric or ("mean_reward",)),
        fields={k: values[k] for k in ("task", "sample", "agent", "reward") if k in values} or None,
        **{f.name: values[f.name] for f in fields(Settings)[2:] if f.name in values},
    )
    if given.command == "culprit":
        lines, is_worse = culprit(given.runs, settings)
        sys.stdout.writelines(f"{visible(line)}\n" for line in lines)
        return int(is_worse)
    differences = compare(given.runs, settings)
    sys.stdout.write(written(differences, given.format, given.runs[0]))
    return int(any(d.fails for d in differences))


if __name__ == "__main__":
    sys.exit(main())
