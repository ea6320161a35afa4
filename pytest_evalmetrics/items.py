"""Benchmark files and benchmarks as pytest's collectors and items."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_evalmetrics import registry
from pytest_evalmetrics.baselines.declared import Declared
from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.errors import (
    ConfigError,
    DataError,
    EvalMetricsError,
    GateFailed,
    RegressionWarning,
)
from pytest_evalmetrics.pipeline import Hooks, evaluate, power_of
from pytest_evalmetrics.reports import FailureText, failure_text, payload_of, power_table
from pytest_evalmetrics.results import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from os import PathLike

    from pytest_evalmetrics.calling import ItemRuntime
    from pytest_evalmetrics.reports import Payload
    from pytest_evalmetrics.results import BenchmarkResult
    from pytest_evalmetrics.spec import Benchmark, BenchmarkSpec

__all__ = ["BenchmarkFile", "BenchmarkItem"]

_REGISTERED = pytest.StashKey[bool]()


class BenchmarkFile(pytest.File):
    """A ``*.bench.yaml`` file; yields one item per benchmark."""

    def collect(self) -> Iterator[BenchmarkItem]:
        """Read the file; every problem of it is one collection error."""
        if not self.config.stash.get(_REGISTERED, False):
            self.config.stash[_REGISTERED] = True
            self.config.hook.pytest_evalmetrics_register(registry=registry)
        shown = self.nodeid or self.path.name
        try:
            benchmarks = load_benchmarks(self.path, shown=shown, scorers_known=True)
        except ConfigError as error:
            raise self.CollectError(str(error)) from None
        self._declare(benchmarks)
        for benchmark in benchmarks:
            yield BenchmarkItem.from_parent(self, name=benchmark.spec.name, benchmark=benchmark)

    def _declare(self, benchmarks: Sequence[Benchmark]) -> None:
        """Tell which baselines are not orphans, and let syrupy look for those that are."""
        specs = [benchmark.spec for benchmark in benchmarks]
        Declared.of(self.config).add(self.path, specs)
        if any(_keeps_baseline(spec) for spec in specs):
            from pytest_evalmetrics.baselines.extension import admit  # noqa: PLC0415 - loads syrupy

            admit(
                self.config,
                lambda item: (
                    isinstance(item, BenchmarkItem) and _keeps_baseline(item.benchmark.spec)
                ),
            )


class BenchmarkItem(pytest.Item):
    """One benchmark: evaluates it and asserts its gates."""

    def __init__(self, *, benchmark: Benchmark, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.benchmark = benchmark
        self.payload: Payload | None = None
        self._mark()

    def _mark(self) -> None:
        spec = self.benchmark.spec
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

    def runtest(self) -> None:
        """Evaluate the benchmark."""
        _evaluate(self)

    def hooks(self) -> Hooks:
        """Collect what the user's hooks have a say in."""
        spec = self.benchmark.spec
        compute = self.ihook.pytest_evalmetrics_compute_metrics
        choose = self.ihook.pytest_evalmetrics_key_metrics
        return Hooks(
            compute_metrics=(
                (lambda agent, tasks: compute(benchmark=spec, agent=agent, tasks=tasks))
                if compute.get_hookimpls()
                else None
            ),
            key_metrics=(
                (lambda agent, found: choose(benchmark=spec, agent=agent, agent_metrics=found))
                if choose.get_hookimpls()
                else None
            ),
        )

    def repr_failure(
        self,
        excinfo: pytest.ExceptionInfo[BaseException],
        style: Any = None,
    ) -> Any:
        """Show our own errors without a traceback."""
        if isinstance(excinfo.value, EvalMetricsError):
            return FailureText(str(excinfo.value))
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[PathLike[str], int, str]:
        """Place the item at its benchmark's line."""
        return self.path, self.benchmark.line_of() - 1, self.name


def _keeps_baseline(spec: BenchmarkSpec) -> bool:
    return spec.baseline is not None and spec.baseline.committed


def plan_lines(items: Sequence[pytest.Item]) -> list[str]:
    """Tell what the gates of some benchmarks can see, without evaluating them."""
    from pytest_evalmetrics.baselines.store import Store  # noqa: PLC0415 - loads syrupy

    planned = [
        (item.nodeid, list(power_of(item.benchmark, Store(item).read)))
        for item in items
        if isinstance(item, BenchmarkItem)
    ]
    return power_table(planned) if planned else []


def _properties(result: BenchmarkResult) -> Iterator[tuple[str, object]]:
    """Key metrics for JUnit and whoever else reads pytest's properties."""
    yield "evalmetrics.verdict", str(result.verdict)
    several = len(result.agents) > 1
    for agent in result.agents:
        for name, value in agent.key_metrics.items():
            yield (f"{agent.agent}: {name}" if several else name), value


def _runtime(item: BenchmarkItem) -> ItemRuntime | None:
    if not item.benchmark.spec.scorers:
        return None
    from pytest_evalmetrics.calling import ItemRuntime  # noqa: PLC0415 - loads asyncio

    return ItemRuntime(item)


def _evaluate(item: BenchmarkItem) -> None:
    hooks = item.hooks()
    runtime = _runtime(item)
    if not _keeps_baseline(item.benchmark.spec):
        evaluated = evaluate(item.benchmark, item_id=item.nodeid, hooks=hooks, runtime=runtime)
        result = evaluated.result
    else:
        from pytest_evalmetrics.baselines.store import Store  # noqa: PLC0415 - loads syrupy

        store = Store(item)
        store.watch()
        evaluated = evaluate(
            item.benchmark,
            item_id=item.nodeid,
            hooks=hooks,
            snapshot=store.read,
            updates=store.updates,
            runtime=runtime,
        )
        result = store.settle(evaluated.result, evaluated.baseline)
    if item.config.getoption("runxfail", default=False):
        # then pytest expects no failure, and the report neither
        result = replace(result, xfail=False)
    item.payload = payload_of(result, evaluated.task_scores, evaluated.row_scores)
    if runtime is not None:
        item.payload["usage"], item.payload["warnings"] = runtime.usage(), runtime.warnings()
    item.user_properties.extend(_properties(result))
    item.ihook.pytest_evalmetrics_benchmark_finished(result=result)
    for check in result.checks:
        if check.verdict is Verdict.WARN:
            item.warn(RegressionWarning(f"{result.name}: {check.reason}"))
    if result.verdict.fails:
        unjudged = any(check.gate == "data" for check in result.checks)
        raise (DataError if unjudged else GateFailed)(failure_text(result))
