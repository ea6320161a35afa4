"""What an evaluation needs of pytest's run: the baseline, the hooks, the engine, the budget."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import msgspec
import pytest
from msgspec import structs

from pytest_evalmetrics import registry, settings
from pytest_evalmetrics.baselines.declared import Declared
from pytest_evalmetrics.baselines.store import Store
from pytest_evalmetrics.evaluation import EvaluationInput
from pytest_evalmetrics.local_code import source_hash
from pytest_evalmetrics.pipeline.reducing import Hooks
from pytest_evalmetrics.policy import policy_of, requires

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_evalmetrics.comparison import RunScatter
    from pytest_evalmetrics.model.accepted_levels import AcceptedLevel
    from pytest_evalmetrics.model.rollout_table import RolloutTable
    from pytest_evalmetrics.pipeline.pooled_noise import BaselineScatter
    from pytest_evalmetrics.scoring.door import Budget, Engine
    from pytest_evalmetrics.spec import Benchmark, BenchmarkSpec

_ENGINE = pytest.StashKey["Engine"]()
# of an item's benchmarks
_BUDGETS: pytest.StashKey[dict[str, Budget]] = pytest.StashKey()
# by the folder of all baselines of a folder of benchmark files
_SCATTERS: pytest.StashKey[dict[Path, tuple[BaselineScatter, ...]]] = pytest.StashKey()


class AskedOf(msgspec.Struct, frozen=True, kw_only=True):
    """What who runs a benchmark says of it, beside its file."""

    label: str | None = None  # of a test's check; default the item's id
    file: str | None = None  # for messages; default the item's
    table: RolloutTable | None = None  # the rollouts, where they come from no file
    detailed: bool = True  # its tasks are pictured even if it passes
    benchmarks: int = 1  # that share the level of a false alarm


def names_for(
    item: pytest.Collector | pytest.Item, file: Path | None = None
) -> registry.Scope:
    """Return the scope of names of a benchmark file or a test, and of a file that it runs."""
    folders = {item.path.parent}
    if file is not None:
        folders.add(file.parent)
    return registry.Scope(item.config.rootpath, *folders)


def hooks_compute(node: pytest.Collector | pytest.Item) -> bool:
    """Check whether a hook computes further metrics."""
    return bool(node.ihook.pytest_evalmetrics_compute_metrics.get_hookimpls())


def as_asked(config: pytest.Config, benchmark: Benchmark) -> Benchmark:
    """Apply --evalmetrics-all-tasks and --evalmetrics-stop-early to a benchmark."""
    spec = benchmark.spec
    if spec.sample is not None and config.getoption("evalmetrics_all_tasks"):
        spec = replace(spec, sample=None)
    if spec.num_samples is not None and config.getoption("evalmetrics_stop_early"):
        from pytest_evalmetrics.rounds import with_rounds  # if asked for

        spec = with_rounds(spec)
    if spec is benchmark.spec:
        return benchmark
    return structs.replace(benchmark, spec=spec)


def input_of(
    item: pytest.Item, benchmark: Benchmark, store: Store | None, asked: AskedOf
) -> EvaluationInput:
    """Gather what an evaluation needs of the run."""
    config = item.config
    label = asked.label or item.nodeid
    tags = {mark.name for mark in item.iter_markers()}
    spec = benchmark.spec
    runtime = None
    if spec.runs:
        from pytest_evalmetrics.run_transport import ItemRuntime  # loads asyncio

        runtime = ItemRuntime(item, label)
    return EvaluationInput(
        benchmark=benchmark,
        accepted=_accepted(config, spec, label),
        is_required=requires(policy_of(config), tags),
        item_id=label,
        hooks=_hooks(item, spec),
        updates=_updates(config, spec, store),
        gains_runs=config.getoption("evalmetrics_add_run"),
        first_run=config.getoption("evalmetrics_first_run"),
        runtime=runtime,
        history=settings.history_path(config),
        engine=_engine(config),
        budget=_budget(item, spec, label),
        baseline=store,
        file=asked.file,
        table=asked.table,
        detailed=asked.detailed,
        benchmarks=asked.benchmarks,
        pooled=pooled_noise(config, store),
    )


def _updates(config: pytest.Config, spec: BenchmarkSpec, store: Store | None) -> bool:
    """Whether this run records a baseline, or accepts a change against the history in it."""
    if store is not None:
        return store.updates
    if spec.baseline is None or not spec.baseline.of_history:
        return False
    return settings.updates(config) and settings.history_path(config) is not None


def _budget(item: pytest.Item, spec: BenchmarkSpec, label: str) -> Budget | None:
    """Return the budget of a benchmark: the same in its turns and at its end."""
    if not spec.runs or spec.budget is None:
        return None
    budgets = item.stash.setdefault(_BUDGETS, {})
    if label not in budgets:
        from pytest_evalmetrics.pipeline.budgets import budget_of  # loads asyncio

        budgets[label] = budget_of(spec.budget)
    return budgets[label]


def pooled_noise(config: pytest.Config, store: Store | None) -> tuple[RunScatter, ...]:
    """Measure the noise between runs of the benchmarks whose baselines are beside one."""
    if store is None:
        return ()
    folder = store.path.parent.parent
    known = config.stash.setdefault(_SCATTERS, {})
    if folder not in known:
        from pytest_evalmetrics.pipeline.pooled_noise import scatters_in

        known[folder] = scatters_in(folder)
    return tuple(one.scatter for one in known[folder] if one.file != store.path)


def _accepted(
    config: pytest.Config, spec: BenchmarkSpec, label: str
) -> tuple[AcceptedLevel, ...]:
    """Return the changes that the project accepts for a benchmark that keeps no baseline."""
    baseline = spec.baseline
    if baseline is None or not (baseline.of_history or baseline.report):
        return ()
    from pytest_evalmetrics.baselines.accepted_file import read_accepted  # rare

    levels = read_accepted(config.rootpath)
    return tuple(level for level in levels if level.benchmark == label)


def _hooks(item: pytest.Item, spec: BenchmarkSpec) -> Hooks:
    """Bind the user's hooks that take part in reducing to a benchmark."""
    compute = item.ihook.pytest_evalmetrics_compute_metrics
    choose = item.ihook.pytest_evalmetrics_key_metrics
    computing = compute.get_hookimpls()
    compute_metrics = None
    if computing:
        compute_metrics = partial(compute, benchmark=spec)
    key_metrics = None
    if choose.get_hookimpls():
        key_metrics = partial(choose, benchmark=spec)
    hashes = [source_hash(hook.function) for hook in computing]
    return Hooks(
        compute_metrics=compute_metrics,
        key_metrics=key_metrics,
        source=" ".join(hashes),
    )


def store_of(item: pytest.Item, spec: BenchmarkSpec, in_test: bool) -> Store | None:
    """Return the baseline that a benchmark keeps; None if it keeps none of its own."""
    kept = spec.baseline
    if kept is None or not kept.committed:
        return None
    if in_test:
        Declared.of(item.config).asked(item.path, spec.name)
        store = Store(item, spec.name)
    else:
        store = Store(item)
    store.keeps_runs = kept.runs
    if isinstance(kept.rescore, str):
        store.rows_path = item.path.parent / kept.rescore
    return store


def _engine(config: pytest.Config) -> Engine | None:
    name = settings.engine_name(config)
    if name == "local":
        return None
    if _ENGINE not in config.stash:
        if name == "ray":
            from pytest_evalmetrics.scoring.door import ray_engine  # loads asyncio

            engine = ray_engine(
                config.getoption("evalmetrics_ray_address"), config.rootpath
            )
        else:
            engine = registry.imported("engine", name)()
        config.add_cleanup(engine.close)
        config.stash[_ENGINE] = engine
    return config.stash[_ENGINE]
