"""The pytest plugin's entry: options, settings and hooks, each a line that delegates.

This module and the session are all that a pytest run without benchmarks ever loads.
"""

from __future__ import annotations

from fnmatch import fnmatch
from typing import TYPE_CHECKING

import pytest

from pytest_evalmetrics.session import EvaluationSession

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_evalmetrics.items import BenchmarkFile

__all__: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options and the settings."""
    group = parser.getgroup("evalmetrics", "benchmark regression gating (pytest-evalmetrics)")
    group.addoption(
        "--evalmetrics-output",
        metavar="PREFIX",
        help="where the artifacts go: a folder (ends with / or exists), or a prefix such as "
        "results/run1, which gives results/run1_aggregate_metrics.json; default evalmetrics/",
    )
    group.addoption(
        "--evalmetrics-schema",
        nargs="?",
        const="benchmark",
        choices=["benchmark", "report"],
        help="print the JSON Schema of benchmark files (or of report.json) and exit",
    )
    group.addoption(
        "--evalmetrics-plan",
        action="store_true",
        help="evaluate nothing: print the smallest drop that each gated metric can see, and "
        "how many rollouts a task would see max_drop",
    )
    parser.addini(
        "evalmetrics_files",
        type="args",
        default=["*.bench.yaml", "*.bench.yml"],
        help="names of the files that hold benchmarks (default: *.bench.yaml *.bench.yml)",
    )
    parser.addini(
        "evalmetrics_output",
        default="evalmetrics/",
        help="default of --evalmetrics-output, relative to the root folder",
    )


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare our hooks, so that a conftest.py may implement them."""
    from pytest_evalmetrics import hookspecs  # noqa: PLC0415 - pytest calls this once

    pluginmanager.add_hookspecs(hookspecs)


def pytest_configure(config: pytest.Config) -> None:
    """Start listening for results; costs nothing until there is one."""
    config.pluginmanager.register(EvaluationSession(config), "evalmetrics-session")


def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Answer an option that only prints."""
    if config.getoption("evalmetrics_plan") and getattr(config.option, "numprocesses", None):
        raise pytest.UsageError("--evalmetrics-plan works in one process: leave -n out")
    which = config.getoption("evalmetrics_schema")
    if which is None:
        return None
    from pytest_evalmetrics.schemas import text  # noqa: PLC0415 - only where it is asked for

    print(text(which), end="")  # noqa: T201 - printing is what the option is for
    return 0


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> BenchmarkFile | None:
    """Collect the benchmark files."""
    if not any(fnmatch(file_path.name, p) for p in parent.config.getini("evalmetrics_files")):
        return None
    from pytest_evalmetrics.items import BenchmarkFile  # noqa: PLC0415 - loads the machinery

    return BenchmarkFile.from_parent(parent, path=file_path)
