"""Benchmark files: from YAML to specs, or to everything that is wrong with them."""

from __future__ import annotations

from pytest_evalmetrics.config.benchmark_files import benchmark_in_python, load_benchmarks

__all__ = ["benchmark_in_python", "load_benchmarks"]
