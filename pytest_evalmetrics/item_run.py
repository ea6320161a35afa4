"""One benchmark in a pytest item: a benchmark of a file, or a check in a test.

Whoever runs it, its result takes the same way: onto the item, and from there to the session.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_evalmetrics import registry
from pytest_evalmetrics.baselines.declared import Declared
from pytest_evalmetrics.errors import (
    DataError,
    EvalMetricsError,
    GateFailed,
    RegressionWarning,
)
from pytest_evalmetrics.layout import visible
from pytest_evalmetrics.pipeline import Hooks, evaluate
from pytest_evalmetrics.reports import failure_text, payload_of
from pytest_evalmetrics.results import Verdict
from pytest_evalmetrics.session import PAYLOADS, shared_folder
from pytest_evalmetrics.settings import engine_name, history_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pytest_evalmetrics.baselines.store import Store
    from pytest_evalmetrics.data import RolloutTable
    from pytest_evalmetrics.engines import Engine
    from pytest_evalmetrics.reports import Payload
    from pytest_evalmetrics.results import BenchmarkResult
    from pytest_evalmetrics.run_transport import ItemRuntime
    from pytest_evalmetrics.spec import Benchmark, BenchmarkSpec

__all__ = ["failure_of", "keeps_baseline", "names_for", "run_benchmark", "run_in_test"]

_ENGINE = pytest.StashKey["Engine"]()


def names_for(item: pytest.Collector | pytest.Item, file: Path | None = None) -> registry.Scope:
    """Let names mean what they do for a benchmark file or a test, and for a file that it runs."""
    folders = {item.path.parent, *(() if file is None else (file.parent,))}
    return registry.Scope(item.config.rootpath, *folders)


def keeps_baseline(spec: BenchmarkSpec) -> bool:
    """Whether a benchmark is compared with a snapshot of its own."""
    return spec.baseline is not None and spec.baseline.committed


def run_benchmark(
    item: pytest.Item, benchmark: Benchmark, *, detailed: bool, benchmarks: int = 1
) -> None:
    """Evaluate the benchmark of an item, and leave its result there.

    Parameters
    ----------
    item
        The item that runs.
    benchmark
        The benchmark.
    detailed
        Whether its tasks are pictured even if it passes.
    benchmarks
        How many benchmarks of the run share the level of a false alarm.

    Raises
    ------
    EvalMetricsError
        If it does not hold.
    """
    store = _store(item, benchmark.spec)
    result, payload = _now(
        item, benchmark, store, label=item.nodeid, detailed=detailed, benchmarks=benchmarks
    )
    _leave(item, result, payload)
    failure = failure_of(result)
    if failure is not None:
        raise failure


def run_in_test(
    item: pytest.Item,
    benchmark: Benchmark,
    *,
    label: str,
    file: str | None = None,
    table: RolloutTable | None = None,
) -> BenchmarkResult:
    """Evaluate a benchmark in a test, which may do so with several.

    Parameters
    ----------
    item
        The test.
    benchmark
        The benchmark.
    label
        What its result is called: unique in the run.
    file, table
        See `pipeline.evaluate`.
    """
    store = _store(item, benchmark.spec, in_test=True)
    result, payload = _now(item, benchmark, store, label=label, file=file, table=table)
    _leave(item, result, payload, in_test=True)
    return result


def _leave(
    item: pytest.Item, result: BenchmarkResult, payload: Payload, *, in_test: bool = False
) -> None:
    """Leave a result on an item."""
    item.stash.setdefault(PAYLOADS, []).append(payload)
    entry = payload["entry"]
    item.user_properties.extend(_properties(entry, named=in_test))
    item.ihook.pytest_evalmetrics_benchmark_finished(result=result)
    for check in entry["checks"]:
        if check["verdict"] == Verdict.WARN:
            item.warn(RegressionWarning(visible(f"{entry['name']}: {check['reason']}")))


def _store(item: pytest.Item, spec: BenchmarkSpec, *, in_test: bool = False) -> Store | None:
    """Find the baseline that a benchmark keeps; None where it keeps none of its own."""
    if not keeps_baseline(spec):
        return None
    from pytest_evalmetrics.baselines.store import Store  # noqa: PLC0415 - loads syrupy

    if in_test:
        Declared.of(item.config).asked(item.path, spec.name)
    store = Store(item, spec.name if in_test else "")
    if spec.baseline is not None and isinstance(spec.baseline.rescore, str):
        store.rows_path = item.path.parent / spec.baseline.rescore
    store.watch()
    return store


def _now(
    item: pytest.Item,
    benchmark: Benchmark,
    store: Store | None,
    *,
    label: str,
    file: str | None = None,
    table: RolloutTable | None = None,
    detailed: bool = True,
    benchmarks: int = 1,
) -> tuple[BenchmarkResult, Payload]:
    try:
        return _evaluated(
            item,
            benchmark,
            store,
            label=label,
            file=file,
            table=table,
            detailed=detailed,
            benchmarks=benchmarks,
        )
    except MemoryError:
        raise DataError(
            f"there is not enough memory for {benchmark.spec.name}",
            file=file or item.nodeid.partition("::")[0],
            line=benchmark.line_of(),
            hint="split the benchmark into several, or run it where there is more memory",
        ) from None


def _evaluated(
    item: pytest.Item,
    benchmark: Benchmark,
    store: Store | None,
    *,
    label: str,
    file: str | None,
    table: RolloutTable | None,
    detailed: bool,
    benchmarks: int,
) -> tuple[BenchmarkResult, Payload]:
    """Evaluate a benchmark, record its baseline where the run updates, and tell what came."""
    spec = benchmark.spec
    runtime = _runtime(item, benchmark, label)
    accepts = _accepts(item, spec)
    with names_for(item, benchmark.file) as names:
        evaluated = evaluate(
            benchmark,
            item_id=label,
            hooks=_hooks(item, spec),
            snapshot=(lambda: None) if store is None else store.read,
            kept_rows=(lambda: None) if store is None else store.read_rows,
            updates=accepts if store is None else store.updates,
            runtime=runtime,
            table=table,
            file=file,
            history=history_path(item.config),
            engine=_engine(item.config),
            detailed=detailed,
            benchmarks=benchmarks,
        )
    result = evaluated.result
    if names.notes:
        result = replace(result, notes=(*result.notes, *names.notes))
    if store is not None:
        result = store.settle(result, evaluated.baseline, evaluated.kept_rows)
    elif accepts and result.passed:
        note = "accepted: from this run on its history counts anew"
        result = replace(result, notes=(*result.notes, note))
    if item.config.getoption("runxfail", default=False):
        # then pytest expects no failure, and the report neither
        result = replace(result, xfail=False)
    payload = payload_of(
        result,
        evaluated.task_scores,
        evaluated.row_scores,
        evaluated.pictures,
        shared_folder(item.config),
    )
    if runtime is not None:
        payload["usage"], payload["warnings"] = runtime.usage(), runtime.warnings()
    return result, payload


def failure_of(result: BenchmarkResult) -> EvalMetricsError | None:
    """Return what to raise for a benchmark that does not hold."""
    if result.passed:
        return None
    unjudged = any(check.gate == "data" for check in result.checks)
    return (DataError if unjudged else GateFailed)(failure_text(result))


def _accepts(item: pytest.Item, spec: BenchmarkSpec) -> bool:
    """Whether this run accepts what a benchmark's history would refuse, and says so in it."""
    return (
        spec.baseline is not None
        and spec.baseline.against != "snapshot"
        and bool(item.config.getoption("update_snapshots", default=False))
        and history_path(item.config) is not None
    )


def _hooks(item: pytest.Item, spec: BenchmarkSpec) -> Hooks:
    """Collect what the user's hooks have a say in."""
    compute = item.ihook.pytest_evalmetrics_compute_metrics
    choose = item.ihook.pytest_evalmetrics_key_metrics
    return Hooks(
        compute_metrics=(
            (lambda agent, tasks: compute(benchmark=spec, agent=agent, tasks=tasks))
            if compute.get_hookimpls()
            else None
        ),
        source=" ".join(registry.source_hash(impl.function) for impl in compute.get_hookimpls()),
        key_metrics=(
            (lambda agent, found: choose(benchmark=spec, agent=agent, agent_metrics=found))
            if choose.get_hookimpls()
            else None
        ),
    )


def _properties(entry: Mapping[str, Any], *, named: bool) -> Iterator[tuple[str, object]]:
    """Key metrics for JUnit and whoever else reads pytest's properties."""
    of = f"{entry['name']}: " if named else ""
    yield f"{of}evalmetrics.verdict", entry["verdict"]
    several = len(entry["agents"]) > 1
    for agent in entry["agents"]:
        for name, value in agent["key_metrics"].items():
            yield of + (f"{agent['agent']}: {name}" if several else name), value


def _engine(config: pytest.Config) -> Engine | None:
    """Give the run's engine, made at the first use; None where work is done here."""
    if engine_name(config) == "local":
        return None
    if _ENGINE not in config.stash:
        from pytest_evalmetrics.engines.ray_engine import RayEngine  # noqa: PLC0415 - if asked for

        engine = RayEngine(config.getoption("evalmetrics_ray_address"), config.rootpath)
        config.add_cleanup(engine.close)
        config.stash[_ENGINE] = engine
    return config.stash[_ENGINE]


def _runtime(item: pytest.Item, benchmark: Benchmark, label: str) -> ItemRuntime | None:
    if not benchmark.spec.runs:
        return None
    from pytest_evalmetrics.run_transport import ItemRuntime  # noqa: PLC0415 - loads asyncio

    return ItemRuntime(item, label)
