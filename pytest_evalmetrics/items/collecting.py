"""Benchmark files and benchmarks as pytest's collectors and items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_evalmetrics import errors, settings
from pytest_evalmetrics.baselines.declared import Declared
from pytest_evalmetrics.baselines.files import folder_of
from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.items.inputs import AskedOf, hooks_compute, names_for
from pytest_evalmetrics.items.runs import failure_of, run_benchmark
from pytest_evalmetrics.items.turns import share_budget
from pytest_evalmetrics.layout import visible_lines
from pytest_evalmetrics.pipeline.preflight import unknown_metrics
from pytest_evalmetrics.reports.failure import failure_of_words
from pytest_evalmetrics.session.beside_retry import RunsAgain
from pytest_evalmetrics.session.evaluation_session import session_of
from pytest_evalmetrics.session.item_reports import failure_text
from pytest_evalmetrics.session.registration import let_register
from pytest_evalmetrics.whole_files import remove_stale

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from pytest_evalmetrics.errors import Problem
    from pytest_evalmetrics.spec import Benchmark

# for a check: the files that can't be read, and why
BROKEN: pytest.StashKey[list[tuple[BenchmarkFile, tuple[Problem, ...]]]] = (
    pytest.StashKey()
)


class BenchmarkFile(pytest.File):
    """A ``*.bench.yaml`` file; gives one item per benchmark."""

    def collect(self) -> list[BenchmarkItem]:
        """Read the file; every problem of it is one collection error."""
        session_of(self.config).begin()
        try:
            benchmarks = self._load()
        except errors.ConfigError as error:
            if not self.config.getoption("evalmetrics_check"):
                raise self._collect_error(error) from None
            # a check reports the problems of all files at once
            self.config.stash.setdefault(BROKEN, []).append((self, error.problems))
            return []
        except errors.EvalMetricsError as error:
            raise self._collect_error(error) from None
        specs = [benchmark.spec for benchmark in benchmarks]
        Declared.of(self.config).add(self.path, specs)
        items = []
        for benchmark in benchmarks:
            name = benchmark.spec.name
            item = BenchmarkItem.from_parent(self, name=name, benchmark=benchmark)
            items.append(item)
        # --lf takes those that passed out of them
        if self.config.getoption("lf", default=False):
            session_of(self.config).record(items)
        if any(_keeps_baseline(benchmark) for benchmark in benchmarks):
            remove_stale(folder_of(self.path))
        return items

    def _load(self) -> Sequence[Benchmark]:
        """Read the benchmarks; a check reports unknown metrics later, with all else."""
        let_register(self.config)
        shown = self.nodeid or self.path.name
        with names_for(self):
            benchmarks = load_benchmarks(self.path, shown=shown, scorers_known=True)
            hooked = hooks_compute(self)
            unknown: list[Problem] = []
            for benchmark in benchmarks:
                unknown += unknown_metrics(benchmark, hooked=hooked)
        if unknown and not self.config.getoption("evalmetrics_check"):
            once = dict.fromkeys(unknown)
            in_order = sorted(once, key=lambda problem: problem.line)
            raise errors.ConfigError(shown, tuple(in_order))
        return benchmarks

    def _collect_error(self, error: errors.EvalMetricsError) -> Exception:
        return self.CollectError(visible_lines(str(error)))


class BenchmarkItem(RunsAgain, pytest.Item):
    """One benchmark: evaluates it and asserts its gates."""

    is_evalmetrics_benchmark = True

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
            reason = "skip: true"
            if isinstance(spec.skip, str):
                reason = spec.skip
            self.add_marker(pytest.mark.skip(reason=reason))
        elif reason := _unaffected_reason(self.config, benchmark):
            self.add_marker(pytest.mark.skip(reason=reason))
        if spec.xfail is not None:
            strict = {}
            if spec.xfail.strict is not None:
                strict = {"strict": spec.xfail.strict}
            # an unreadable file is no expected failure of a gate
            mark = pytest.mark.xfail(
                reason=spec.xfail.reason, raises=errors.GateFailed, **strict
            )
            self.add_marker(mark)

    @property
    def obj(self) -> Any:
        """A function: syrupy's location of an item reads its name and module."""
        return BenchmarkItem.runtest

    def runtest(self) -> None:
        """Evaluate the benchmark."""
        sharing = benchmarks_sharing(self.session)
        if self.benchmark.spec.runs:
            share_budget(self.config, benchmarks_of(self.session), sharing)
        asked = AskedOf(detailed=self.detailed, benchmarks=sharing)
        result = run_benchmark(self, self.benchmark, asked)
        failure = failure_of(result, self.nodeid)
        if failure is not None:
            raise failure

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None
    ) -> Any:
        """Show our own errors without a traceback."""
        if isinstance(excinfo.value, errors.EvalMetricsError):
            words = visible_lines(str(excinfo.value))
            shown = excinfo.value.failure or failure_of_words(words)
            return failure_text(shown, self.config)
        # without pytest's own frames
        excinfo.traceback = excinfo.traceback.cut(path=__file__)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[PathLike[str], int, str]:
        """Place the item at its benchmark's line."""
        return self.path, self.benchmark.line_of() - 1, self.name


def _unaffected_reason(config: pytest.Config, benchmark: Benchmark) -> str:
    """Return why --evalmetrics-affected leaves a benchmark out; empty where it doesn't."""
    if config.getoption("evalmetrics_affected") is None:
        return ""
    # asked for
    from pytest_evalmetrics.affected import changes_of, unaffected_reason

    changes = changes_of(config)
    if changes is None:
        return ""
    return unaffected_reason(benchmark, changes)


def benchmarks_sharing(session: pytest.Session) -> int:
    """Count the benchmarks that share one level: all that are compared, or each its own."""
    if session.config.getini("evalmetrics_family") == "run":
        return sum(map(_is_compared, session.items))
    return 1


def _is_compared(item: pytest.Item) -> bool:
    if isinstance(item, BenchmarkItem):
        return item.benchmark.spec.baseline is not None
    return settings.has_fixture(item)


def _keeps_baseline(benchmark: Benchmark) -> bool:
    baseline = benchmark.spec.baseline
    return baseline is not None and baseline.committed


def benchmarks_of(session: pytest.Session) -> list[BenchmarkItem]:
    """Return the benchmarks of a run, in its order."""
    return [item for item in session.items if isinstance(item, BenchmarkItem)]


def no_benchmark_file(session: pytest.Session) -> list[str]:
    """Say that a run has no benchmark, and what the files are named."""
    pattern = " ".join(session.config.getini("evalmetrics_files"))
    return [f"no benchmark file was found: they are named {pattern}"]
