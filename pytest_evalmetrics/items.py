"""Benchmark files and benchmarks as pytest's collectors and items."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_evalmetrics import item_run
from pytest_evalmetrics.baselines.declared import Declared, folder_of
from pytest_evalmetrics.config import columns_of, load_benchmarks
from pytest_evalmetrics.errors import ConfigError, DataError, EvalMetricsError, GateFailed
from pytest_evalmetrics.item_run import as_asked, keeps_baseline, names_for
from pytest_evalmetrics.layout import many, of_many, visible, visible_lines
from pytest_evalmetrics.pipeline.preflight import all_problems, unknown_metrics
from pytest_evalmetrics.reports.failure import FailureText
from pytest_evalmetrics.run_folder import remove_stale
from pytest_evalmetrics.session import let_register, session_of
from pytest_evalmetrics.settings import has_fixture, history_path, journal_mode, output_prefix

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from pytest_evalmetrics.pipeline.evaluation import Evaluated
    from pytest_evalmetrics.results import Power
    from pytest_evalmetrics.spec import Benchmark

_BROKEN = pytest.StashKey[list[Any]]()  # for a check: the files that can't be read, and why


class BenchmarkFile(pytest.File):
    """A ``*.bench.yaml`` file; gives one item per benchmark."""

    def collect(self) -> list[BenchmarkItem]:
        """Read the file; every problem of it is one collection error."""
        session_of(self.config).begin()
        shown, checks = self.nodeid or self.path.name, self.config.getoption("evalmetrics_check")
        try:
            let_register(self.config)
            with names_for(self):
                benchmarks = load_benchmarks(self.path, shown=shown, scorers_known=True)
                hooked = hooks_compute(self)
                unknown = [p for b in benchmarks for p in unknown_metrics(b, hooked=hooked)]
            if unknown and not checks:
                in_order = sorted(dict.fromkeys(unknown), key=lambda problem: problem.line)
                raise ConfigError(shown, tuple(in_order))
        except EvalMetricsError as error:
            if isinstance(error, ConfigError) and checks:  # which reports all files at once
                self.config.stash.setdefault(_BROKEN, []).append((self, error.problems))
                return []
            raise self.CollectError(visible_lines(str(error))) from None
        specs = [benchmark.spec for benchmark in benchmarks]
        Declared.of(self.config).add(self.path, specs)
        if any(map(keeps_baseline, specs)):  # then syrupy looks for orphans
            remove_stale(folder_of(self.path))
            from pytest_evalmetrics.baselines.store import admit  # noqa: PLC0415 - loads syrupy

            admit(self.config, _keeps_baseline)
        return [BenchmarkItem.from_parent(self, name=b.spec.name, benchmark=b) for b in benchmarks]


class BenchmarkItem(pytest.Item):
    """One benchmark: evaluates it and asserts its gates."""

    def __init__(self, *, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.benchmark = benchmark
        self.detailed = True  # its tasks are pictured even if it passes
        spec = benchmark.spec
        for tag in spec.tags:
            # declared, so that neither --strict-markers nor a warning gets in the way
            self.config.addinivalue_line("markers", f"{tag}: tag of a benchmark")
            self.add_marker(getattr(pytest.mark, tag))
        if spec.skip is not False:
            reason = spec.skip if isinstance(spec.skip, str) else "skip: true"
            self.add_marker(pytest.mark.skip(reason=reason))
        if spec.xfail is not None:
            strict = {} if spec.xfail.strict is None else {"strict": spec.xfail.strict}
            # what can't be read is no expected failure of a gate
            mark = pytest.mark.xfail(reason=spec.xfail.reason, raises=GateFailed, **strict)
            self.add_marker(mark)

    @property
    def obj(self) -> Any:
        """A function, which syrupy asks of any item for its module's and its name."""
        return BenchmarkItem.runtest

    def _initrequest(self) -> None:
        """Do nothing: pytest-retry asks any item to forget its fixtures."""

    def runtest(self) -> None:
        """Evaluate the benchmark."""
        sharing = 1  # benchmarks that share one level: all that are compared, or each its own
        if self.config.getini("evalmetrics_family") == "run":
            sharing = sum(map(_is_compared, self.session.items))
        if self.benchmark.spec.runs:
            items = [(each, each.benchmark) for each in _benchmarks(self.session)]
            item_run.share_budget(self.config, items, sharing)
        result = item_run.run_benchmark(
            self, self.benchmark, detailed=self.detailed, benchmarks=sharing
        )
        if failure := item_run.failure_of(result):
            raise failure

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show our own errors without a traceback."""
        if isinstance(excinfo.value, EvalMetricsError):
            text = visible_lines(str(excinfo.value))
            return FailureText(text, self.config.getoption("tbstyle", "auto"))
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[PathLike[str], int, str]:
        """Place the item at its benchmark's line."""
        return self.path, self.benchmark.line_of() - 1, self.name


def _is_compared(item: pytest.Item) -> bool:
    if isinstance(item, BenchmarkItem):
        return item.benchmark.spec.baseline is not None
    return has_fixture(item)


def _keeps_baseline(item: pytest.Item) -> bool:
    return isinstance(item, BenchmarkItem) and keeps_baseline(item.benchmark.spec)


def _benchmarks(session: pytest.Session) -> list[BenchmarkItem]:
    return [item for item in session.items if isinstance(item, BenchmarkItem)]


# -- in place of a run: each returns lines, and whether all is well ----------------------------


def plan_lines(session: pytest.Session) -> tuple[list[str], bool]:
    """Say what the gates can see, and what the calls take, without evaluating anything."""
    from pytest_evalmetrics.baselines.store import Store  # noqa: PLC0415 - loads syrupy
    from pytest_evalmetrics.pipeline import power  # noqa: PLC0415 - only where asked for
    from pytest_evalmetrics.reports.section import power_table  # noqa: PLC0415 - the same

    planned: list[tuple[str, list[Power]]] = []
    calls: list[str] = []
    for item in _benchmarks(session):
        with names_for(item):
            benchmark, read = as_asked(item.config, item.benchmark), Store(item).read
            powers = list(power.power_of(benchmark, read))
            planned.append((item.nodeid, powers))
            rounds = power.expected_rollouts(benchmark, powers)
            calls += [f"{item.nodeid}: {line}" for line in rounds]
            if benchmark.spec.runs:
                calls += _calls_planned(item, benchmark, read())
    return [*power_table(planned), *calls] if planned else [], True


def _calls_planned(
    item: BenchmarkItem, benchmark: Benchmark, snapshot: tuple[str, str] | None
) -> Iterator[str]:
    """Forecast the calls of a scored benchmark, from the journal's figures and the baseline's."""
    from pytest_evalmetrics import metrics  # noqa: PLC0415 - loaded by now
    from pytest_evalmetrics.baselines import document as baselines  # noqa: PLC0415 - the same
    from pytest_evalmetrics.pipeline.judges import pinned_benchmark  # noqa: PLC0415
    from pytest_evalmetrics.pipeline.scoring import Scoring  # noqa: PLC0415 - asked for
    from pytest_evalmetrics.run_transport import PlanRuntime  # noqa: PLC0415 - the same

    plan = None
    for whose, scored in (("", benchmark), (", its reference", pinned_benchmark(benchmark))):
        if scored is None:
            continue
        runtime, recorded = PlanRuntime(item.config), {}
        try:
            scoring = Scoring(scored, runtime, item.nodeid)
            if not scoring.asks:
                continue
            if plan is None:
                spec = scoring.benchmark.spec
                plan = metrics.plan(spec, also=spec.gated, line_of=benchmark.line_of)
            if snapshot is not None and not whose:
                kept = baselines.parse(snapshot[0], file=snapshot[1])
                recorded = baselines.values(kept, next(iter(kept["agents"])))
            rest, answered = scoring.forecast(plan, recorded)
        except EvalMetricsError as error:
            yield f"calls of {item.nodeid}{whose}: {visible(error.message)}"
            continue
        finally:
            runtime.transport().close()
        note = f"; {answered} answered by the journal" if answered else ""
        yield f"calls of {item.nodeid}{whose}: {rest.text}{note}"


def calibration_lines(session: pytest.Session) -> tuple[list[str], bool]:
    """Describe the noise of benchmarks, and write the settings that fit it as a patch."""
    from pytest_evalmetrics.baselines.store import Store  # noqa: PLC0415 - loads syrupy
    from pytest_evalmetrics.pipeline.run_series import calibrate, patch  # noqa: PLC0415 - asked for
    from pytest_evalmetrics.reports.reporters import write_noise_page  # noqa: PLC0415 - asked for
    from pytest_evalmetrics.run_folder import make_folder  # noqa: PLC0415 - asked for

    pages: list[dict[str, Any]] = []
    proposed: dict[str, list[Any]] = {}
    good = True
    for item in _benchmarks(session):
        with names_for(item):
            try:
                words, settings, charts = calibrate(
                    item.benchmark,
                    count=int(item.config.getoption("evalmetrics_runs") or 0),
                    evaluate=partial(_evaluated_again, item),
                    snapshot=Store(item).read,
                    label=item.nodeid,
                    history=history_path(item.config),
                )
            except EvalMetricsError as error:
                words, settings, charts, good = str(error).split("\n"), {}, [], False
        pages.append({"id": item.nodeid, "text": [*map(visible, words)], "charts": charts})
        proposed.setdefault(item.nodeid.partition("::")[0], []).append((item.benchmark, settings))
    lines = [line for page in pages for line in ("", page["id"], *page["text"])]
    diffs = [line for shown, several in proposed.items() for line in patch(several, shown)]
    if pages:
        page = Path(f"{output_prefix(session.config)}calibration.html")
        try:
            make_folder(page.parent)
            write_noise_page(page, {"benchmarks": pages, "patch": diffs})
            lines += ["", f"the same as a page, with each run's values: {page}"]
        except EvalMetricsError as error:
            lines, good = [*lines, "", str(error)], False
    if diffs:
        way = "settings that fit it, as a patch: git apply takes what is printed from here on"
        lines += ["", way]
    return [*lines, *diffs], good


def _evaluated_again(item: BenchmarkItem, benchmark: Benchmark) -> Evaluated:
    from pytest_evalmetrics.pipeline.evaluation import Evaluation  # noqa: PLC0415 - loaded by now
    from pytest_evalmetrics.run_transport import ItemRuntime  # noqa: PLC0415 - loads asyncio

    if benchmark.spec.answers and journal_mode(item.config) in ("off", "refresh"):
        raise DataError("--evalmetrics-runs needs the journal: it answers the runs before")
    runtime = ItemRuntime(item, item.nodeid)
    return Evaluation(benchmark, item_id=item.nodeid, runtime=runtime, updates=True).run()


def check_lines(session: pytest.Session) -> tuple[list[str], bool]:
    """Report everything that is wrong with the benchmarks that were collected, as a linter does."""
    files = {file: list(problems) for file, problems in session.config.stash.get(_BROKEN, [])}
    benchmarks = _benchmarks(session)
    replays = journal_mode(session.config) == "replay"
    for item in benchmarks:
        file: Any = item.parent
        with names_for(item):
            hooked = hooks_compute(item)
            problems = all_problems(item.benchmark, hooked=hooked, replays=replays)
            files.setdefault(file, []).extend(problems)
    lines = []
    for file, of_file in sorted(files.items(), key=lambda item: item[0].nodeid):
        columns = columns_of(file.path) if of_file else {}
        for p in sorted(dict.fromkeys(of_file), key=lambda problem: problem.line):
            column = columns.get((p.line, p.path)) or columns.get((p.line, "")) or 1
            lines.append(visible(f"{file.nodeid}:{p.line}:{column}: {p.text}"))
    where = f"{many(len(files), 'benchmark file')}, {many(len(benchmarks), 'benchmark')}"
    broken = sum(map(bool, files.values()))
    summary = f"{many(len(lines), 'problem')} in {of_many(broken, len(files), 'benchmark file')}"
    return [*lines, summary if lines else f"no problems: {where}"], not lines


def hooks_compute(node: pytest.Collector | pytest.Item) -> bool:
    """Check whether a hook computes further metrics."""
    return bool(node.ihook.pytest_evalmetrics_compute_metrics.get_hookimpls())
