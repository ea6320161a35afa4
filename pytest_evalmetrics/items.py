"""Benchmark files and benchmarks as pytest's collectors and items, and the run of a benchmark."""

from __future__ import annotations

import warnings
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from msgspec import structs

from pytest_evalmetrics import baselines, errors, metrics, registry, settings
from pytest_evalmetrics.baselines.ages import stale_baseline
from pytest_evalmetrics.baselines.declared import Declared
from pytest_evalmetrics.baselines.files import folder_of
from pytest_evalmetrics.baselines.store import Store
from pytest_evalmetrics.config import columns_of, load_benchmarks
from pytest_evalmetrics.evaluate import Evaluated, EvaluationInput, evaluate
from pytest_evalmetrics.layout import many, of_many, visible, visible_lines
from pytest_evalmetrics.local_code import source_hash
from pytest_evalmetrics.model.reasons import HookFailed
from pytest_evalmetrics.model.results import (
    BenchmarkResult,
    Check,
    Power,
    StaleBaseline,
)
from pytest_evalmetrics.model.run_notes import HistoryStartsAnew
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.pipeline.benchmark_check import all_problems
from pytest_evalmetrics.pipeline.preflight import unknown_metrics
from pytest_evalmetrics.pipeline.reducing import Hooks
from pytest_evalmetrics.policy import policy_of, requires
from pytest_evalmetrics.reports import check_wording, sentences
from pytest_evalmetrics.reports.failure import (
    failure_of_result,
    failure_of_warning,
    failure_of_words,
)
from pytest_evalmetrics.reports.failure_layout import shown_paragraph, text_of
from pytest_evalmetrics.reports.payload import payload_of
from pytest_evalmetrics.reports.power import power_lines
from pytest_evalmetrics.run_folder import make_folder, remove_stale
from pytest_evalmetrics.session.beside_retry import RunsAgain
from pytest_evalmetrics.session.evaluation_session import session_of
from pytest_evalmetrics.session.item_reports import (
    PAYLOADS,
    VERDICT_NAMES,
    VERDICT_PROPERTY,
    failure_text,
)
from pytest_evalmetrics.session.registration import let_register
from pytest_evalmetrics.session.workers import place_of, shared_folder
from pytest_evalmetrics.spec.sources import Rounds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from os import PathLike

    from pytest_evalmetrics.comparison import RunScatter
    from pytest_evalmetrics.errors import Problem
    from pytest_evalmetrics.model.accepted_levels import AcceptedLevel
    from pytest_evalmetrics.model.baseline import BaselineDocument
    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.model.rollout_table import RolloutTable
    from pytest_evalmetrics.pipeline.pooled_noise import BaselineScatter
    from pytest_evalmetrics.reports.payload import Payload
    from pytest_evalmetrics.scoring.door import Budget, Engine
    from pytest_evalmetrics.spec import Benchmark, BenchmarkSpec

    # the path of a key -> the value that fits the noise
    Advice = Mapping[tuple[str, ...], str]

_ENGINE = pytest.StashKey["Engine"]()
# of an item's benchmarks
_BUDGETS: pytest.StashKey[dict[str, Budget]] = pytest.StashKey()
# by the folder of all baselines of a folder of benchmark files
_SCATTERS: pytest.StashKey[dict[Path, tuple[BaselineScatter, ...]]] = pytest.StashKey()
_IN_TURNS = pytest.StashKey[bool]()
# for a check: the files that can't be read, and why
_BROKEN: pytest.StashKey[list[tuple[BenchmarkFile, tuple[Problem, ...]]]] = (
    pytest.StashKey()
)


class AskedOf(msgspec.Struct, frozen=True, kw_only=True):
    """What who runs a benchmark says of it, beside its file."""

    label: str | None = None  # of a test's check; default the item's id
    file: str | None = None  # for messages; default the item's
    table: RolloutTable | None = None  # the rollouts, where they come from no file
    detailed: bool = True  # its tasks are pictured even if it passes
    benchmarks: int = 1  # that share the level of a false alarm


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
            self.config.stash.setdefault(_BROKEN, []).append((self, error.problems))
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
            _share_budget(self.session, sharing)
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
        excinfo.traceback = excinfo.traceback.cut(
            path=__file__
        )  # without pytest's own frames
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


def _benchmarks(session: pytest.Session) -> list[BenchmarkItem]:
    return [item for item in session.items if isinstance(item, BenchmarkItem)]


def hooks_compute(node: pytest.Collector | pytest.Item) -> bool:
    """Check whether a hook computes further metrics."""
    return bool(node.ihook.pytest_evalmetrics_compute_metrics.get_hookimpls())


# -- the run of a benchmark ------------------------------------------------------------------


def names_for(
    item: pytest.Collector | pytest.Item, file: Path | None = None
) -> registry.Scope:
    """Return the scope of names of a benchmark file or a test, and of a file that it runs."""
    folders = {item.path.parent}
    if file is not None:
        folders.add(file.parent)
    return registry.Scope(item.config.rootpath, *folders)


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


def run_benchmark(
    item: pytest.Item, benchmark: Benchmark, asked: AskedOf
) -> BenchmarkResult:
    """Evaluate a benchmark, record its baseline in an update, and report its result."""
    benchmark = as_asked(item.config, benchmark)
    try:
        result = _evaluated(item, benchmark, asked)
    except MemoryError:
        message = f"there is not enough memory for {benchmark.spec.name}"
        file = asked.file or item.nodeid.partition("::")[0]
        line = benchmark.line_of()
        hint = "split the benchmark into several, or run it where there is more memory"
        raise errors.DataError(message, file=file, line=line, hint=hint) from None
    _warn(item, benchmark, result)
    return result


def _warn(item: pytest.Item, benchmark: Benchmark, result: BenchmarkResult) -> None:
    """Warn of each gate that warns; where a filter makes an error of it, the benchmark fails."""
    is_error = False
    for check in result.checks:
        if check.verdict is not Verdict.WARN:
            continue
        reason = f"{check_wording.of_agent(check)}{sentences.reason_of(check)}"
        try:
            warnings.warn_explicit(
                errors.RegressionWarning(visible(f"{result.name}: {reason}")),
                category=None,
                filename=str(benchmark.file),
                lineno=check.line or benchmark.line_of(),
            )
        except errors.RegressionWarning:
            is_error = True
    if is_error and result.passed:  # else it fails by itself
        failure = failure_of_warning(result, item.nodeid)
        error = errors.GateFailed(text_of(failure))
        error.failure = failure
        raise error from None


def _evaluated(
    item: pytest.Item, benchmark: Benchmark, asked: AskedOf
) -> BenchmarkResult:
    with names_for(item, benchmark.file) as names:
        store = _store(item, benchmark.spec, in_test=asked.label is not None)
        given = _input(item, benchmark, store, asked)
        evaluated = _in_its_rounds(given)
    document = _with_reason(evaluated.baseline, settings.accepted_reason(item.config))
    result = _with_notes(evaluated.result, names.notes)
    result = _settled(
        item.config,
        result,
        store=store,
        given=given,
        evaluated=evaluated,
        document=document,
    )
    if item.config.getoption("runxfail", default=False):
        # then pytest expects no failure, and the report neither
        result = structs.replace(result, xfail=False)
    result = _announced(item, result)
    _attach(
        item,
        result,
        given=given,
        evaluated=evaluated,
        document=document,
        label=asked.label,
    )
    return result


def _settled(
    config: pytest.Config,
    result: BenchmarkResult,
    *,
    store: Store | None,
    given: EvaluationInput,
    evaluated: Evaluated,
    document: BaselineDocument | None,
) -> BenchmarkResult:
    """Record the baseline in an update; else say whether it is too old."""
    if store is None:
        if given.updates and result.passed:
            return _with_notes(result, [HistoryStartsAnew()])
        return result
    if not given.updates:
        stale = _stale(config, store, evaluated)
        result = structs.replace(result, stale=stale)
    return store.settle(result, document, evaluated.kept_rows)


def _attach(
    item: pytest.Item,
    result: BenchmarkResult,
    *,
    given: EvaluationInput,
    evaluated: Evaluated,
    document: BaselineDocument | None,
    label: str | None,
) -> None:
    """Keep a result for pytest's report of its item, and for JUnit."""
    spec = given.benchmark.spec
    payload = payload_of(
        result,
        evaluated.documents,
        evaluated.row_scores,
        evaluated.pictures,
        shared_folder(item.config),
    )
    keeps_in_history = spec.baseline is not None and spec.baseline.history_runs
    if document is not None and keeps_in_history:
        payload["baseline"] = msgspec.to_builtins(document)
    if given.runtime is not None:
        payload["usage"] = given.runtime.usage()
        payload["warnings"] = given.runtime.warnings()
    item.stash.setdefault(PAYLOADS, []).append(payload)
    prefix = ""
    if label is not None:
        prefix = f"{spec.name}: "
    verdict_names = item.stash.setdefault(VERDICT_NAMES, set())
    verdict_names.add(f"{prefix}{VERDICT_PROPERTY}")
    item.user_properties += _properties(payload, prefix)


def _with_notes(result: BenchmarkResult, notes: Iterable[Note]) -> BenchmarkResult:
    return structs.replace(result, notes=(*result.notes, *notes))


def _with_reason(
    document: BaselineDocument | None, reason: str
) -> BaselineDocument | None:
    """Record in a baseline why it was accepted."""
    if document is None or not reason:
        return document
    provenance = structs.replace(document.provenance, reason=reason)
    return structs.replace(document, provenance=provenance)


def _properties(payload: Payload, prefix: str) -> Iterator[tuple[str, object]]:
    """Yield the verdict and the key metrics, for JUnit and other readers of properties."""
    entry = payload["entry"]
    yield f"{prefix}{VERDICT_PROPERTY}", entry["verdict"]
    agents = entry["agents"]
    for agent in agents:
        whose = prefix
        if len(agents) > 1:
            whose = f"{prefix}{agent['agent']}: "
        for name, value in agent["key_metrics"].items():
            yield f"{whose}{name}", value


def _in_its_rounds(given: EvaluationInput) -> Evaluated:
    """Evaluate a benchmark, in several rounds of rollouts where it asks for them."""
    spec = given.benchmark.spec
    if given.updates:  # a baseline takes all rollouts
        return evaluate(given)
    if isinstance(spec.num_samples, Rounds):
        from pytest_evalmetrics.rounds import in_rounds  # rare

        return in_rounds(given)
    if spec.baseline is not None and spec.baseline.confirm:
        from pytest_evalmetrics.confirming import with_confirmation  # rare

        return with_confirmation(given)
    return evaluate(given)


def _stale(
    config: pytest.Config, store: Store, evaluated: Evaluated
) -> StaleBaseline | None:
    """Describe the baseline of a comparison if it is too old."""
    return stale_baseline(
        store.path,
        store.shown,
        recorded=evaluated.recorded,
        reason=evaluated.reason,
        now=datetime.now(UTC),
        limit=settings.baseline_age(config),
    )


def _announced(item: pytest.Item, result: BenchmarkResult) -> BenchmarkResult:
    """Call the hook for finished benchmarks; one that raises makes the result INCONCLUSIVE."""
    try:
        item.ihook.pytest_evalmetrics_benchmark_finished(result=result)
    except Exception as error:  # noqa: BLE001 - a user's code
        hook = item.ihook.pytest_evalmetrics_benchmark_finished
        reason = HookFailed(
            hook=hook.name,
            place=errors.place_in_hook(hook, error),
            error=f"{type(error).__name__}: {error}",
        )
        check = Check(
            gate=Gate.DATA,
            name="hook",
            verdict=Verdict.INCONCLUSIVE,
            reasons=(reason,),
        )
        return structs.replace(result, checks=(*result.checks, check))
    return result


def _input(
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
        pooled=_pooled_noise(config, store),
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


def _pooled_noise(config: pytest.Config, store: Store | None) -> tuple[RunScatter, ...]:
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


def _share_budget(session: pytest.Session, benchmarks: int) -> None:
    """Let benchmarks that stop early take their looks in turns, where the run has a budget."""
    config = session.config
    if _IN_TURNS in config.stash or not config.getoption("evalmetrics_budget"):
        return
    config.stash[_IN_TURNS] = True
    if not _asks_freely(config):
        return
    from pytest_evalmetrics.rounds import in_turns  # rare
    from pytest_evalmetrics.run_transport import budget_of  # the same

    asked = AskedOf(benchmarks=benchmarks)
    turns = []
    for item in _of_this_worker(session):
        benchmark = as_asked(config, item.benchmark)
        if takes_turns(benchmark.spec):
            store = _store(item, benchmark.spec, in_test=False)
            given = _input(item, benchmark, store, asked)
            turns.append((given, names_for(item, benchmark.file)))
    budget = budget_of(config)
    if len(turns) > 1 and budget is not None:
        in_turns(turns, budget)


def _asks_freely(config: pytest.Config) -> bool:
    """Whether all benchmarks of a run will ask, and what they are answered is kept."""
    if settings.updates(config) or config.getoption("maxfail", default=0):
        return False
    return settings.journal_mode(config) == "normal"


def _of_this_worker(session: pytest.Session) -> list[BenchmarkItem]:
    """Return this worker's share of the benchmarks: each has a part of the budget."""
    benchmarks = _benchmarks(session)
    number, workers = place_of(session.config)
    return benchmarks[number::workers]


def takes_turns(spec: BenchmarkSpec) -> bool:
    """Whether a benchmark draws its rollouts in rounds, which the journal keeps."""
    if not spec.runs or spec.skip is not False or spec.forgets:
        return False
    return isinstance(spec.num_samples, Rounds)


def failure_of(
    result: BenchmarkResult, item: str, *, titled: bool = False
) -> errors.EvalMetricsError | None:
    """Return what to raise for a benchmark of an item that does not hold."""
    if result.passed:
        return None
    failure = failure_of_result(result, item, titled=titled)
    error: errors.EvalMetricsError
    if any(check.gate is Gate.DATA for check in result.checks):
        error = errors.DataError(text_of(failure))
    else:
        error = errors.GateFailed(text_of(failure))
    error.failure = failure
    return error


def _store(item: pytest.Item, spec: BenchmarkSpec, in_test: bool) -> Store | None:
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


# -- in place of a run: each returns lines, and whether all is well ----------------------------


def plan_lines(session: pytest.Session) -> tuple[list[str], bool]:
    """Report the power of the gates and the cost of the calls, without evaluating anything."""
    planned: list[tuple[str, list[Power]]] = []
    calls: list[str] = []
    sharing = benchmarks_sharing(session)
    for item in _benchmarks(session):
        with names_for(item):
            powers, of_item = _planned(item, sharing)
        planned.append((item.nodeid, powers))
        calls += of_item
    if not planned:
        return _no_benchmark_file(session), False
    width = session_of(session.config).width()
    lines = list(power_lines(planned, width))
    return [*lines, *shown_paragraph(calls, width)], True


def _planned(item: BenchmarkItem, sharing: int) -> tuple[list[Power], list[str]]:
    """Compute the power of a benchmark's gates, and describe its calls."""
    from pytest_evalmetrics import rounds  # only if asked for
    from pytest_evalmetrics.pipeline import power
    from pytest_evalmetrics.pipeline.noise_elsewhere import NoiseElsewhere, past_runs
    from pytest_evalmetrics.reports.sentences.run_notes import stop_forecast_text

    benchmark = as_asked(item.config, item.benchmark)
    store = Store(item)
    elsewhere = NoiseElsewhere(
        neighbours=_pooled_noise(item.config, store),
        past=past_runs(settings.history_path(item.config), item.nodeid),
    )
    planned = power.power_of(
        benchmark, store.read, benchmarks=sharing, elsewhere=elsewhere
    )
    powers = list(planned)
    calls = []
    forecast = rounds.stop_forecast(benchmark, powers)
    if forecast is not None:
        calls.append(f"{item.nodeid}: {stop_forecast_text(forecast)}")
    if benchmark.spec.runs:
        calls += _calls_planned(item, benchmark, store.read())
    return powers, calls


def _no_benchmark_file(session: pytest.Session) -> list[str]:
    pattern = " ".join(session.config.getini("evalmetrics_files"))
    return [f"no benchmark file was found: they are named {pattern}"]


def _calls_planned(
    item: BenchmarkItem, benchmark: Benchmark, snapshot: tuple[str, str] | None
) -> Iterator[str]:
    """Forecast the calls of a scored benchmark, from the journal's figures and the baseline's."""
    from pytest_evalmetrics.pipeline.judges import pinned_benchmark
    from pytest_evalmetrics.pipeline.scoring import Scoring  # asked for
    from pytest_evalmetrics.run_transport import PlanRuntime  # the same

    plan = None
    pinned = pinned_benchmark(benchmark)
    for whose, scored in (("", benchmark), (", its reference", pinned)):
        if scored is None:
            continue
        runtime = PlanRuntime(item.config)
        recorded = {}
        try:
            scoring = Scoring(scored, runtime, item.nodeid)
            if not scoring.asks:
                continue
            if plan is None:
                spec = scoring.benchmark.spec
                plan = metrics.plan(spec, also=spec.gated, line_of=benchmark.line_of)
            if snapshot is not None and not whose:
                kept = baselines.parse(snapshot[0], file=snapshot[1])
                recorded = kept.values(next(iter(kept.agents)))
            rest, answered = scoring.forecast(plan, recorded)
        except errors.EvalMetricsError as error:
            yield f"calls of {item.nodeid}{whose}: {visible(error.message)}"
            continue
        finally:
            runtime.transport().close()
        calls = f"calls of {item.nodeid}{whose}: {rest.text}"
        if answered:
            calls += f"; {answered} answered by the journal"
        yield calls


class _Calibration(msgspec.Struct, frozen=True):
    """What a calibration says of one benchmark."""

    words: list[str]  # lines
    advice: Advice
    charts: list[dict[str, object]]
    is_good: bool = True  # else the words are those of an error


def calibration_lines(session: pytest.Session) -> tuple[list[str], bool]:
    """Describe the noise of benchmarks, and write the settings that fit it as a patch."""
    from pytest_evalmetrics.run_series import patch  # asked for

    lines: list[str] = []
    pages: list[dict[str, object]] = []
    proposed: dict[str, list[tuple[Benchmark, Advice]]] = {}
    good = True
    width = session_of(session.config).width()
    for item in _benchmarks(session):
        with names_for(item):
            calibration = _calibrated(item)
        good = good and calibration.is_good
        text = [visible(line) for line in calibration.words]
        lines += ["", item.nodeid, *shown_paragraph(text, width)]
        charts = calibration.charts
        pages.append({"id": item.nodeid, "text": text, "charts": charts})
        file = item.nodeid.partition("::")[0]
        proposed.setdefault(file, []).append((item.benchmark, calibration.advice))
    if not pages:
        return _no_benchmark_file(session), False
    diffs: list[str] = []
    for file, benchmarks in proposed.items():
        diffs += patch(benchmarks, file)
    try:
        page = _noise_page(session.config, {"benchmarks": pages, "patch": diffs})
        at = f"the same as a page, with each run's values: {page}"
        lines += ["", *shown_paragraph([at], width)]
    except errors.EvalMetricsError as error:
        lines += ["", str(error)]
        good = False
    if diffs:
        way = "settings that fit it, as a patch: git apply takes what is printed from here on"
        lines += ["", *shown_paragraph([way], width)]
    return [*lines, *diffs], good


def _calibrated(item: BenchmarkItem) -> _Calibration:
    """Measure the noise of a benchmark."""
    from pytest_evalmetrics.run_series import calibrate  # asked for

    try:
        words, advice, charts = calibrate(
            item.benchmark,
            count=int(item.config.getoption("evalmetrics_runs") or 0),
            evaluate=partial(_evaluated_again, item),
            snapshot=Store(item).read,
            label=item.nodeid,
            history=settings.history_path(item.config),
        )
    except errors.EvalMetricsError as error:
        return _Calibration(str(error).split("\n"), {}, [], is_good=False)
    return _Calibration(words, advice, charts)


def _noise_page(config: pytest.Config, data: Mapping[str, object]) -> Path:
    """Write the page of a calibration, and return its path."""
    from pytest_evalmetrics.reports.reporters import write_noise_page  # asked for

    page = Path(f"{settings.output_prefix(config)}calibration.html")
    make_folder(page.parent)
    write_noise_page(page, data)
    return page


def _evaluated_again(item: BenchmarkItem, benchmark: Benchmark) -> Evaluated:
    from pytest_evalmetrics.run_transport import ItemRuntime  # loads asyncio

    if benchmark.spec.answers and settings.journal_mode(item.config) in (
        "off",
        "refresh",
    ):
        raise errors.DataError(
            "calibrate --runs needs the journal: it answers the runs before"
        )
    runtime = ItemRuntime(item, item.nodeid)
    return evaluate(
        EvaluationInput(
            benchmark=benchmark,
            item_id=item.nodeid,
            runtime=runtime,
            updates=True,
            gains_runs=True,
        )
    )


def check_lines(session: pytest.Session) -> tuple[list[str], bool]:
    """Report everything that is wrong with the benchmarks that were collected, as a linter does."""
    broken = session.config.stash.get(_BROKEN, [])
    files = {file: list(problems) for file, problems in broken}
    benchmarks = _benchmarks(session)
    replays = settings.journal_mode(session.config) == "replay"
    for item in benchmarks:
        file = item.parent
        assert isinstance(file, BenchmarkFile)  # noqa: S101 - no other makes these items
        with names_for(item):
            hooked = hooks_compute(item)
            problems = all_problems(item.benchmark, hooked=hooked, replays=replays)
            files.setdefault(file, []).extend(problems)
    if not files:
        return _no_benchmark_file(session), False
    lines: list[str] = []
    for file in sorted(files, key=lambda file: file.nodeid):
        lines += _problem_lines(file, files[file])
    if not lines:
        all_files = many(len(files), "benchmark file")
        all_benchmarks = many(len(benchmarks), "benchmark")
        return [f"no problems: {all_files}, {all_benchmarks}"], True
    bad_files = of_many(sum(map(bool, files.values())), len(files), "benchmark file")
    lines.append(f"{many(len(lines), 'problem')} in {bad_files}")
    return lines, False


def _problem_lines(file: BenchmarkFile, problems: Sequence[Problem]) -> list[str]:
    """Write the problems of a file, each once, with its line and column."""
    if not problems:
        return []
    columns = columns_of(file.path)
    lines = []
    for problem in sorted(dict.fromkeys(problems), key=lambda problem: problem.line):
        place = (problem.line, problem.path)
        column = columns.get(place) or columns.get((problem.line, "")) or 1
        where = f"{file.nodeid}:{problem.line}:{column}"
        lines.append(visible(f"{where}: {problem.text}"))
    return lines
