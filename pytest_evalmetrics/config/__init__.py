"""Benchmark files: from YAML to specs, with everything that is wrong at once."""

from __future__ import annotations

from pytest_evalmetrics.config.loading import load_benchmarks

__all__ = ["load_benchmarks"]
