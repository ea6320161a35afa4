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
    from collections.abc import Iterator

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
    """Forecast the calls of a scored benchmark, from the journal's figures and the baseline's."""
    from pytest_evalmetrics.pipeline.judges import pinned_benchmark  # load asyncio
    from pytest_evalmetrics.pipeline.scoring import Scoring
    from pytest_evalmetrics.run_transport import PlanRuntime

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
