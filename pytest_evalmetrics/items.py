"""Benchmark files and benchmarks as pytest's collectors and items."""

from __future__ import annotations

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
from pytest_evalmetrics.selection import let_register
from pytest_evalmetrics.settings import history_path, journal_mode, output_prefix

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from os import PathLike

    from pytest_evalmetrics.pipeline.evaluation import Evaluated
    from pytest_evalmetrics.results import Power
    from pytest_evalmetrics.spec import Benchmark, BenchmarkSpec

_BROKEN = pytest.StashKey[list[Any]]()  # for a check: the files that can't be read, and why


class BenchmarkFile(pytest.File):
    """A ``*.bench.yaml`` file; gives one item per benchmark."""

    def collect(self) -> list[BenchmarkItem]:
        """Read the file; every problem of it is one collection error."""
        session: Any = self.config.pluginmanager.get_plugin("evalmetrics-session")
        session.begin()
        try:
            let_register(self.config)
            benchmarks = self._read()
        except EvalMetricsError as error:
            if isinstance(error, ConfigError) and self.config.getoption("evalmetrics_check"):
                # which reports all files at once
                self.config.stash.setdefault(_BROKEN, []).append((self, error.problems))
                return []
            raise self.CollectError(visible_lines(str(error))) from None
        self._declare([benchmark.spec for benchmark in benchmarks])
        return [BenchmarkItem.from_parent(self, name=b.spec.name, benchmark=b) for b in benchmarks]

    def _read(self) -> tuple[Benchmark, ...]:
        shown = self.nodeid or self.path.name
        with names_for(self):
            benchmarks = load_benchmarks(self.path, shown=shown, scorers_known=True)
            hooked = hooks_compute(self)
            unknown = [p for b in benchmarks for p in unknown_metrics(b, hooked=hooked)]
        if unknown and not self.config.getoption("evalmetrics_check"):
            in_order = sorted(dict.fromkeys(unknown), key=lambda problem: problem.line)
            raise ConfigError(shown, tuple(in_order))
        return benchmarks

    def _declare(self, specs: Sequence[BenchmarkSpec]) -> None:
        """Tell which baselines are not orphans, and let syrupy look for those that are."""
        Declared.of(self.config).add(self.path, specs)
        if any(map(keeps_baseline, specs)):
            remove_stale(folder_of(self.path))
            from pytest_evalmetrics.baselines.store import admit  # noqa: PLC0415 - loads syrupy

            def keeps(item: pytest.Item) -> bool:
                return isinstance(item, BenchmarkItem) and keeps_baseline(item.benchmark.spec)

            admit(self.config, keeps)


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
            # what can't be read is no expected failure of a gate
            options: dict[str, Any] = {"reason": spec.xfail.reason, "raises": GateFailed}
            if spec.xfail.strict is not None:
                options["strict"] = spec.xfail.strict
            self.add_marker(pytest.mark.xfail(**options))

    @property
    def obj(self) -> Any:
        """A function, which syrupy asks of any item for its module's and its name."""
        return _evaluate

    def _initrequest(self) -> None:
        """Do nothing: pytest-retry asks any item to forget its fixtures."""

    def runtest(self) -> None:
        """Evaluate the benchmark."""
        _evaluate(self)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show our own errors without a traceback."""
        if isinstance(excinfo.value, EvalMetricsError):
            text = visible_lines(str(excinfo.value))
            return FailureText(text, self.config.getoption("tbstyle", "auto"))
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[PathLike[str], int, str]:
        """Place the item at its benchmark's line."""
        return self.path, self.benchmark.line_of() - 1, self.name


def plan_lines(items: Sequence[pytest.Item]) -> list[str]:
    """Tell what the gates of some benchmarks can see, without evaluating them."""
    from pytest_evalmetrics.baselines.store import Store  # noqa: PLC0415 - loads syrupy
    from pytest_evalmetrics.pipeline.power import power_of  # noqa: PLC0415 - only where asked for
    from pytest_evalmetrics.pipeline.rounds import expected_rollouts  # noqa: PLC0415 - the same
    from pytest_evalmetrics.reports.section import power_table  # noqa: PLC0415 - the same

    planned: list[tuple[str, list[Power]]] = []
    calls: list[str] = []
    for item in (each for each in items if isinstance(each, BenchmarkItem)):
        with names_for(item):
            benchmark, read = as_asked(item.config, item.benchmark), Store(item).read
            powers = list(power_of(benchmark, read))
            planned.append((item.nodeid, powers))
            calls += [f"{item.nodeid}: {line}" for line in expected_rollouts(benchmark, powers)]
            if benchmark.spec.runs:
                calls += _calls_planned(item, benchmark, read())
    return [*power_table(planned), *calls] if planned else []


def _calls_planned(
    item: BenchmarkItem, benchmark: Benchmark, snapshot: tuple[str, str] | None
) -> Iterator[str]:
    """Forecast the calls of a scored benchmark, from the journal's figures and the baseline's."""
    from pytest_evalmetrics import baselines, metrics  # noqa: PLC0415 - loaded by now
    from pytest_evalmetrics.pipeline.pinned_reference import pinned_benchmark  # noqa: PLC0415
    from pytest_evalmetrics.pipeline.scoring import Scoring  # noqa: PLC0415 - asked for
    from pytest_evalmetrics.run_transport import PlanRuntime  # noqa: PLC0415 - the same

    pinned, plan = pinned_benchmark(benchmark), None
    for whose, asked in (("", benchmark), (", its reference", pinned)):
        if asked is None:
            continue
        runtime, recorded = PlanRuntime(item.config), {}
        try:
            scoring = Scoring(asked, runtime, item.nodeid)
            if not scoring.asks:
                continue
            if plan is None:
                spec = scoring.benchmark.spec
                plan = metrics.plan(spec, also=spec.gated, line_of=benchmark.line_of)
            if snapshot is not None and not whose:
                document = baselines.parse(snapshot[0], file=snapshot[1])
                recorded = baselines.values(document, next(iter(document["agents"])))
            rest, answered = scoring.forecast(plan, recorded)
        except EvalMetricsError as error:
            yield f"calls of {item.nodeid}{whose}: {visible(error.message)}"
            continue
        finally:
            runtime.transport().close()
        note = f"; {answered} answered by the journal" if answered else ""
        yield f"calls of {item.nodeid}{whose}: {rest.text}{note}"


def calibration_lines(items: Sequence[pytest.Item]) -> tuple[list[str], bool]:
    """Describe the noise of benchmarks, and write the settings that fit it as a patch."""
    from pytest_evalmetrics.baselines.store import Store  # noqa: PLC0415 - loads syrupy
    from pytest_evalmetrics.pipeline.calibration import calibrate, patch  # noqa: PLC0415 - asked for
    from pytest_evalmetrics.pipeline.evaluation import Evaluation  # noqa: PLC0415 - loaded by now
    from pytest_evalmetrics.reports.reporters import write_noise_page  # noqa: PLC0415 - asked for
    from pytest_evalmetrics.run_folder import make_folder  # noqa: PLC0415 - asked for

    lines: list[str] = []
    pages: list[dict[str, Any]] = []
    proposed: dict[str, list[Any]] = {}
    good = True
    for item in items:
        if not isinstance(item, BenchmarkItem):
            continue

        def evaluate(benchmark: Benchmark, item: BenchmarkItem = item) -> Evaluated:
            from pytest_evalmetrics.run_transport import ItemRuntime  # noqa: PLC0415 - loads asyncio

            if benchmark.spec.answers and journal_mode(item.config) in ("off", "refresh"):
                reason = "--evalmetrics-runs needs the journal: it answers the runs before"
                raise DataError(reason)
            runtime = ItemRuntime(item, item.nodeid)
            return Evaluation(benchmark, item_id=item.nodeid, runtime=runtime, updates=True).run()

        lines += ["", item.nodeid]
        with names_for(item):
            try:
                words, settings, charts = calibrate(
                    item.benchmark,
                    count=int(item.config.getoption("evalmetrics_runs") or 0),
                    evaluate=evaluate,
                    snapshot=Store(item).read,
                    label=item.nodeid,
                    history=history_path(item.config),
                )
            except EvalMetricsError as error:
                words, settings, charts, good = str(error).split("\n"), {}, [], False
        words = [*map(visible, words)]
        lines += words
        pages.append({"id": item.nodeid, "text": words, "charts": charts})
        proposed.setdefault(item.nodeid.partition("::")[0], []).append((item.benchmark, settings))
    diffs = [line for shown, several in proposed.items() for line in patch(several, shown)]
    if pages:
        from pathlib import Path  # noqa: PLC0415 - asked for

        page = Path(f"{output_prefix(items[0].config)}calibration.html")
        try:
            make_folder(page.parent)
            write_noise_page(page, {"benchmarks": pages, "patch": diffs})
            lines += ["", f"the same as a page, with each run's values: {page}"]
        except EvalMetricsError as error:
            lines, good = [*lines, "", str(error)], False
    head = ["", "settings that fit it, as a patch: git apply takes what is printed from here on"]
    return [*lines, *(head if diffs else ()), *diffs], good


def check_lines(session: pytest.Session) -> tuple[list[str], bool]:
    """Report everything that is wrong with the benchmarks that were collected, as a linter does."""
    files = {file: list(problems) for file, problems in session.config.stash.get(_BROKEN, [])}
    benchmarks = [item for item in session.items if isinstance(item, BenchmarkItem)]
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
            path = f"{p.path}: " if p.path else ""
            lines.append(visible(f"{file.nodeid}:{p.line}:{column}: {path}{p.message}"))
    where = f"{many(len(files), 'benchmark file')}, {many(len(benchmarks), 'benchmark')}"
    broken = sum(map(bool, files.values()))
    summary = f"{many(len(lines), 'problem')} in {of_many(broken, len(files), 'benchmark file')}"
    return [*lines, summary if lines else f"no problems: {where}"], not lines


def hooks_compute(node: pytest.Collector | pytest.Item) -> bool:
    """Check whether a hook computes further metrics."""
    return bool(node.ihook.pytest_evalmetrics_compute_metrics.get_hookimpls())


def _evaluate(item: BenchmarkItem) -> None:
    sharing = _sharing(item.session)
    if item.benchmark.spec.runs:
        items = [(i, i.benchmark) for i in item.session.items if isinstance(i, BenchmarkItem)]
        item_run.share_budget(item.config, items, sharing)
    result = item_run.run_benchmark(
        item, item.benchmark, detailed=item.detailed, benchmarks=sharing
    )
    if failure := item_run.failure_of(result):
        raise failure


def _sharing(session: pytest.Session) -> int:
    """Count the benchmarks that share one level: all that are compared, or each its own."""
    if session.config.getini("evalmetrics_family") != "run":
        return 1
    return sum(
        item.benchmark.spec.baseline is not None
        if isinstance(item, BenchmarkItem)
        else "evalmetrics" in getattr(item, "fixturenames", ())
        for item in session.items
    )
