"""Benchmark files: from YAML to specs, with everything that is wrong at once."""

from __future__ import annotations

from pytest_evalmetrics.config.in_python import benchmark_in_python
from pytest_evalmetrics.config.loading import load_benchmarks

__all__ = ["benchmark_in_python", "load_benchmarks"]
