"""One benchmark in a pytest item: of a file, or a check in a test."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from pytest_evalmetrics import registry
from pytest_evalmetrics.baselines.declared import Declared
from pytest_evalmetrics.errors import DataError, EvalMetricsError, GateFailed, RegressionWarning
from pytest_evalmetrics.layout import visible
from pytest_evalmetrics.pipeline.evaluation import Evaluation
from pytest_evalmetrics.reports.failure import failure_text
from pytest_evalmetrics.reports.payload import payload_of
from pytest_evalmetrics.results import BenchmarkResult, Verdict
from pytest_evalmetrics.session import PAYLOADS, shared_folder
from pytest_evalmetrics.settings import accepted_reason, engine_name, history_path, journal_mode
from pytest_evalmetrics.spec.sources import Rounds

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pytest_evalmetrics.baselines.store import Store
    from pytest_evalmetrics.engines.local import Engine
    from pytest_evalmetrics.spec import Benchmark, BenchmarkSpec

_ENGINE = pytest.StashKey["Engine"]()
_BUDGETS = pytest.StashKey[dict[str, Any]]()  # of an item's benchmarks
_IN_TURNS = pytest.StashKey[bool]()


def names_for(item: pytest.Collector | pytest.Item, file: Path | None = None) -> registry.Scope:
    """Return the scope of names of a benchmark file or a test, and of a file that it runs."""
    folders = {item.path.parent, *(() if file is None else (file.parent,))}
    return registry.Scope(item.config.rootpath, *folders)


def keeps_baseline(spec: BenchmarkSpec) -> bool:
    """Check whether a benchmark is compared with a snapshot of its own."""
    return spec.baseline is not None and spec.baseline.committed


def as_asked(config: pytest.Config, benchmark: Benchmark) -> Benchmark:
    """Take all tasks of a benchmark, or no more rollouts than needed, where the run asks for it."""
    spec = benchmark.spec
    if spec.sample is not None and config.getoption("evalmetrics_all_tasks"):
        spec = replace(spec, sample=None)
    if spec.num_samples is not None and config.getoption("evalmetrics_stop_early"):
        from pytest_evalmetrics.pipeline.power import with_rounds  # noqa: PLC0415 - if asked for

        spec = with_rounds(spec)
    return benchmark if spec is benchmark.spec else replace(benchmark, spec=spec)


def run_benchmark(
    item: pytest.Item, benchmark: Benchmark, *, label: str | None = None, **settings: Any
) -> BenchmarkResult:
    """Evaluate a benchmark, record its baseline where the run updates, and leave its result.

    A test may evaluate several, and gives each a `label` that is unique in the run; an item of a
    benchmark file has one, named as itself. The settings are those of `Evaluation`.
    """
    benchmark, in_test = as_asked(item.config, benchmark), label is not None
    try:
        result = _evaluated(item, benchmark, label or item.nodeid, in_test, **settings)
    except MemoryError:
        message = f"there is not enough memory for {benchmark.spec.name}"
        file, line = settings.get("file") or item.nodeid.partition("::")[0], benchmark.line_of()
        hint = "split the benchmark into several, or run it where there is more memory"
        raise DataError(message, file=file, line=line, hint=hint) from None
    item.ihook.pytest_evalmetrics_benchmark_finished(result=result)
    for check in result.checks:
        if check.verdict is Verdict.WARN:
            item.warn(RegressionWarning(visible(f"{result.name}: {check.reason}")))
    return result


def _evaluated(
    item: pytest.Item, benchmark: Benchmark, label: str, in_test: bool, **settings: Any
) -> BenchmarkResult:
    config, spec = item.config, benchmark.spec
    with names_for(item, benchmark.file) as names:
        evaluation = _evaluation(item, benchmark, label, in_test=in_test, **settings)
        runtime, store = evaluation.runtime, evaluation.store
        if store is not None:
            store.watch()
        evaluated = evaluation.run()
    result, document = evaluated.result, evaluated.baseline
    if document is not None and (reason := accepted_reason(config)):
        document = {**document, "provenance": {"reason": reason, **document["provenance"]}}
    result = replace(result, notes=(*result.notes, *names.notes))
    if store is not None:
        result = store.settle(result, document, evaluated.kept_rows)
    elif evaluation.updates and result.passed:
        note = "accepted: from this run on its history counts anew"
        result = replace(result, notes=(*result.notes, note))
    if config.getoption("runxfail", default=False):
        # then pytest expects no failure, and the report neither
        result = replace(result, xfail=False)
    scores, pictures = (evaluated.task_scores, evaluated.row_scores), evaluated.pictures
    payload = payload_of(result, *scores, pictures, shared_folder(config))
    if document is not None and spec.baseline is not None and spec.baseline.history_runs:
        payload["baseline"] = dict(document)
    if runtime is not None:
        payload["usage"], payload["warnings"] = runtime.usage(), runtime.warnings()
    item.stash.setdefault(PAYLOADS, []).append(payload)
    # key metrics for JUnit and whoever else reads pytest's properties
    of, entry = f"{spec.name}: " if in_test else "", payload["entry"]
    item.user_properties.append((f"{of}evalmetrics.verdict", entry["verdict"]))
    for agent in entry["agents"]:
        whose = f"{of}{agent['agent']}: " if len(entry["agents"]) > 1 else of
        item.user_properties += [(whose + n, value) for n, value in agent["key_metrics"].items()]
    return result


def _evaluation(
    item: pytest.Item, benchmark: Benchmark, label: str, *, in_test: bool = False, **settings: Any
) -> Evaluation:
    config, spec, store = item.config, benchmark.spec, _store(item, benchmark.spec, in_test)
    runtime = budget = None
    if spec.runs:
        from pytest_evalmetrics.pipeline.scoring import budget_of  # noqa: PLC0415 - loads asyncio
        from pytest_evalmetrics.run_transport import ItemRuntime  # noqa: PLC0415 - the same

        runtime = ItemRuntime(item, label)
        if spec.budget is not None:  # the same in its turns and at its end
            budget = item.stash.setdefault(_BUDGETS, {}).setdefault(label, budget_of(spec.budget))
    history, updates = history_path(config), config.getoption("update_snapshots", default=False)
    of_history = spec.baseline is not None and spec.baseline.of_history
    # whether this run accepts what a benchmark's history would refuse, and says so in it
    accepts = bool(of_history and updates and history is not None)
    compute = item.ihook.pytest_evalmetrics_compute_metrics
    choose = item.ihook.pytest_evalmetrics_key_metrics
    computing = compute.get_hookimpls()
    return Evaluation(
        benchmark,
        item_id=label,
        updates=accepts if store is None else store.updates,
        first_run=config.getoption("evalmetrics_first_run"),
        runtime=runtime,
        history=history,
        engine=_engine(config),
        budget=budget,
        store=store,
        compute_metrics=partial(compute, benchmark=spec) if computing else None,
        hook_source=" ".join(registry.source_hash(each.function) for each in computing),
        key_metrics=partial(choose, benchmark=spec) if choose.get_hookimpls() else None,
        **settings,
    )


def share_budget(
    config: pytest.Config, items: Sequence[tuple[pytest.Item, Benchmark]], benchmarks: int
) -> None:
    """Let the benchmarks that stop early take their looks in turns, where the run has a budget.

    Of xdist's workers each does it for its share of them. With -x nothing is paid ahead.
    """
    if _IN_TURNS in config.stash or not config.getoption("evalmetrics_budget"):
        return
    config.stash[_IN_TURNS] = True
    updates = config.getoption("update_snapshots", default=False)
    stops = config.getoption("maxfail", default=0)
    if updates or stops or journal_mode(config) != "normal":
        return
    from pytest_evalmetrics.pipeline.power import in_turns  # noqa: PLC0415 - rare
    from pytest_evalmetrics.run_transport import budget_of  # noqa: PLC0415 - the same

    given = getattr(config, "workerinput", {"workerid": "gw0", "workercount": 1})
    turns = []
    for item, benchmark in items[int(given["workerid"][2:]) :: given["workercount"]]:
        asked = as_asked(config, benchmark)
        spec = asked.spec
        if spec.runs and isinstance(spec.num_samples, Rounds) and spec.skip is False:
            evaluation = _evaluation(item, asked, item.nodeid, benchmarks=benchmarks)
            turns.append((evaluation, names_for(item, asked.file)))
    if len(turns) > 1 and (budget := budget_of(config)) is not None:
        in_turns(turns, budget)


def failure_of(result: BenchmarkResult) -> EvalMetricsError | None:
    """Return what to raise for a benchmark that does not hold."""
    if result.passed:
        return None
    unjudged = any(check.gate == "data" for check in result.checks)
    return (DataError if unjudged else GateFailed)(failure_text(result))


def _store(item: pytest.Item, spec: BenchmarkSpec, in_test: bool) -> Store | None:
    """Return the baseline that a benchmark keeps; None where it keeps none of its own."""
    settings = spec.baseline
    if settings is None or not settings.committed:
        return None
    from pytest_evalmetrics.baselines.store import Store  # noqa: PLC0415 - loads syrupy

    if in_test:
        Declared.of(item.config).asked(item.path, spec.name)
    store = Store(item, spec.name if in_test else "")
    store.keeps_runs = settings.runs
    if isinstance(settings.rescore, str):
        store.rows_path = item.path.parent / settings.rescore
    return store


def _engine(config: pytest.Config) -> Engine | None:
    if engine_name(config) == "local":
        return None
    if _ENGINE not in config.stash:
        from pytest_evalmetrics.engines.ray_engine import RayEngine  # noqa: PLC0415 - if asked for

        engine = RayEngine(config.getoption("evalmetrics_ray_address"), config.rootpath)
        config.add_cleanup(engine.close)
        config.stash[_ENGINE] = engine
    return config.stash[_ENGINE]
