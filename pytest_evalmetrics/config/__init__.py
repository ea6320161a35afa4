"""Benchmark files: from YAML to specs, or to everything that is wrong with them."""

from __future__ import annotations

from pytest_evalmetrics.config.benchmark_files import (
    benchmark_in_python,
    load_benchmarks,
)
from pytest_evalmetrics.config.yaml_reader import columns_of, show_path

__all__ = ["benchmark_in_python", "columns_of", "load_benchmarks", "show_path"]
