"""``--evalmetrics-plan``: what the gates can detect, and what the calls will cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics import baselines, errors, metrics, settings
from pytest_evalmetrics.baselines.store import Store
from pytest_evalmetrics.items.collecting import (
    benchmarks_of,
    benchmarks_sharing,
    no_benchmark_file,
)
from pytest_evalmetrics.items.inputs import as_asked, names_for, pooled_noise
from pytest_evalmetrics.layout import visible
from pytest_evalmetrics.pipeline.noise_elsewhere import NoiseElsewhere, past_runs
from pytest_evalmetrics.pipeline.power import power_of
from pytest_evalmetrics.reports.failure_layout import shown_paragraph
from pytest_evalmetrics.reports.power import power_lines
from pytest_evalmetrics.reports.sentences.run_notes import stop_forecast_text
from pytest_evalmetrics.rounds import stop_forecast
from pytest_evalmetrics.session.evaluation_session import session_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pytest

    from pytest_evalmetrics.items.collecting import BenchmarkItem
    from pytest_evalmetrics.model.results import Power
    from pytest_evalmetrics.spec import Benchmark


def plan_lines(session: pytest.Session) -> tuple[list[str], bool]:
    """Report the power of the gates and the cost of the calls, without evaluating anything."""
    planned: list[tuple[str, list[Power]]] = []
    calls: list[str] = []
    sharing = benchmarks_sharing(session)
    for item in benchmarks_of(session):
        with names_for(item):
            powers, of_item = _planned(item, sharing)
        planned.append((item.nodeid, powers))
        calls += of_item
    if not planned:
        return no_benchmark_file(session), False
    width = session_of(session.config).width()
    lines = list(power_lines(planned, width))
    return [*lines, *shown_paragraph(calls, width)], True


def _planned(item: BenchmarkItem, sharing: int) -> tuple[list[Power], list[str]]:
    """Compute the power of a benchmark's gates, and describe its calls."""
    benchmark = as_asked(item.config, item.benchmark)
    store = Store(item)
    elsewhere = NoiseElsewhere(
        neighbours=pooled_noise(item.config, store),
        past=past_runs(settings.history_path(item.config), item.nodeid),
    )
    powers = list(
        power_of(benchmark, store.read, benchmarks=sharing, elsewhere=elsewhere)
    )
    calls = []
    forecast = stop_forecast(benchmark, powers)
    if forecast is not None:
        calls.append(f"{item.nodeid}: {stop_forecast_text(forecast)}")
    if benchmark.spec.runs:
        calls += _calls_planned(item, benchmark, store.read())
    return powers, calls


def _calls_planned(
    item: BenchmarkItem, benchmark: Benchmark, snapshot: tuple[str, str] | None
) -> Iterator[str]:
    """Forecast the calls of a scored benchmark, and those of its reference model."""
    from pytest_evalmetrics.pipeline.judges import pinned_benchmark  # loads asyncio

    yield from _calls_of(
        item, benchmark, whose=item.nodeid, reduced=benchmark, snapshot=snapshot
    )
    pinned = pinned_benchmark(benchmark)
    if pinned is not None:
        # its rows are for the benchmark's metrics; the baseline is of the benchmark's own calls
        whose = f"{item.nodeid}, its reference"
        yield from _calls_of(
            item, pinned, whose=whose, reduced=benchmark, snapshot=None
        )


def _calls_of(
    item: BenchmarkItem,
    benchmark: Benchmark,
    *,
    whose: str,
    reduced: Benchmark,
    snapshot: tuple[str, str] | None,
) -> Iterator[str]:
    """Forecast calls from the journal's figures and the baseline's; nothing if none is made.

    The rows are those that the metrics of `reduced` need.
    """
    from pytest_evalmetrics.pipeline.scoring import Scoring  # load asyncio
    from pytest_evalmetrics.run_transport import PlanRuntime

    runtime = PlanRuntime(item.config)
    try:
        scoring = Scoring(benchmark, runtime, item.nodeid)
        if not scoring.asks:
            return
        spec = Scoring(reduced, runtime, item.nodeid).benchmark.spec
        plan = metrics.plan(spec, also=spec.gated, line_of=reduced.line_of)
        rest, answered = scoring.forecast(plan, _recorded_means(snapshot))
    except errors.EvalMetricsError as error:
        yield f"calls of {whose}: {visible(error.message)}"
        return
    finally:
        runtime.transport().close()
    calls = f"calls of {whose}: {rest.text}"
    if answered:
        calls += f"; {answered} answered by the journal"
    yield calls


def _recorded_means(snapshot: tuple[str, str] | None) -> Mapping[str, float]:
    """Return the metrics of a baseline's first agent; empty without a baseline."""
    if snapshot is None:
        return {}
    text, file = snapshot
    kept = baselines.parse(text, file=file)
    return kept.values(next(iter(kept.agents)))
