"""What the gates of a new benchmark can detect, from the rollouts that it starts with."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from msgspec import structs

from pytest_evalmetrics.model.results import PowerSource
from pytest_evalmetrics.pipeline.benchmark_rows import with_reward
from pytest_evalmetrics.pipeline.gate_settings import plan_of
from pytest_evalmetrics.pipeline.power import power_of_tables
from pytest_evalmetrics.pipeline.recorded_columns import rollouts_of

if TYPE_CHECKING:
    from pytest_evalmetrics.model.results import Power
    from pytest_evalmetrics.spec import Benchmark

#: A drop that most people want to see, in points of a rate.
COMMON_DROP: Final = 0.05


def detectable_drops(benchmark: Benchmark) -> list[Power]:
    """Plan each gated metric from the recorded rollouts.

    Returns
    -------
    list of Power
        The smallest drop that each gate detects, and the rollouts that its ``max_drop`` needs,
        which is `COMMON_DROP` where the file states none; empty without a baseline to gate.

    Raises
    ------
    EvalMetricsError
        If the rollouts can't be read.
    """
    baseline = benchmark.spec.baseline
    if baseline is None:
        return []
    spec = benchmark.spec
    if baseline.max_drop is None:
        spec = replace(spec, baseline=replace(baseline, max_drop=COMMON_DROP))
    asked = with_reward(structs.replace(benchmark, spec=spec))
    tables = dict(rollouts_of(asked, plan_of(asked)).by_agent())
    return list(power_of_tables(asked, tables, source=PowerSource.ROLLOUTS))
