"""The hooks that a conftest.py or another plugin may implement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_evalmetrics.model.results import BenchmarkResult
    from pytest_evalmetrics.spec import BenchmarkSpec


def pytest_evalmetrics_compute_metrics(
    benchmark: BenchmarkSpec,
    agent: str,
    tasks: Sequence[Sequence[Mapping[str, object]]],
) -> Mapping[str, object] | None:
    """Compute further aggregate metrics of an agent: NeMo Gym's ``compute_metrics``.

    Parameters
    ----------
    tasks
        One sequence per task, in task order, with one mapping per rollout: its scores by
        name (None if missing), the fields of ``breakdown`` and ``cluster``,
        ``_ng_task_index`` and ``_ng_rollout_index``. Rows hold no text.

    Returns
    -------
    mapping or None
        Names to finite numbers, which can be gated like any metric, or to anything else
        that JSON can hold, which is only reported.
    """


@pytest.hookspec(firstresult=True)
def pytest_evalmetrics_key_metrics(
    benchmark: BenchmarkSpec, agent: str, agent_metrics: Mapping[str, object]
) -> Mapping[str, float] | Sequence[str] | None:
    """Choose the headline metrics of an agent: NeMo Gym's ``get_key_metrics``.

    Return entries or names of `agent_metrics`, which holds everything that was computed; None
    leaves the choice to the next one. ``key_metrics:`` of the benchmark file comes first.
    """


@pytest.hookspec(historic=True)
def pytest_evalmetrics_register(registry: Any) -> None:
    """Register metrics, scorers, loaders, gate rules and reporters in the module `registry`.

    Called once of each plugin, when the first benchmark file is collected or a test asks for
    the fixture; of a conftest.py that is found later as it is found. What a conftest.py
    registers holds below its folder.
    """


def pytest_evalmetrics_benchmark_finished(result: BenchmarkResult) -> None:
    """Receive a benchmark's result, in the process that evaluated it."""


def pytest_evalmetrics_report(report: Mapping[str, object]) -> None:
    """Receive the content of ``report.json`` before it is written; not in xdist's workers."""
