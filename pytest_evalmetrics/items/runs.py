"""The run of a benchmark for an item: evaluated, its baseline recorded, its result reported."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from pytest_evalmetrics import errors, settings
from pytest_evalmetrics.baselines.ages import stale_baseline
from pytest_evalmetrics.evaluate import evaluate
from pytest_evalmetrics.items.inputs import (
    AskedOf,
    as_asked,
    input_of,
    names_for,
    store_of,
)
from pytest_evalmetrics.layout import visible
from pytest_evalmetrics.model.reasons import HookFailed
from pytest_evalmetrics.model.results import BenchmarkResult, Check, StaleBaseline
from pytest_evalmetrics.model.run_notes import HistoryStartsAnew
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.reports import check_wording, sentences
from pytest_evalmetrics.reports.failure import failure_of_result, failure_of_warning
from pytest_evalmetrics.reports.failure_layout import text_of
from pytest_evalmetrics.reports.payload import payload_of
from pytest_evalmetrics.session.item_reports import (
    PAYLOADS,
    VERDICT_NAMES,
    VERDICT_PROPERTY,
)
from pytest_evalmetrics.session.workers import shared_folder
from pytest_evalmetrics.spec.sources import Rounds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pytest

    from pytest_evalmetrics.baselines.store import Store
    from pytest_evalmetrics.evaluation import Evaluated, EvaluationInput
    from pytest_evalmetrics.model.baseline import BaselineDocument
    from pytest_evalmetrics.model.notes import Note
    from pytest_evalmetrics.reports.payload import Payload
    from pytest_evalmetrics.spec import Benchmark


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
        store = store_of(item, benchmark.spec, in_test=asked.label is not None)
        given = input_of(item, benchmark, store, asked)
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
