"""``evalmetrics calibrate``: the noise of an unchanged system, and settings that fit it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.commands import in_pytest

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

EXAMPLE = """
example:
  evalmetrics calibrate evals/math.bench.yaml --runs 5

It prints the noise between runs, what dominates it, flaky tasks and false
alarms, and a patch with settings that fit it, for `git apply`.
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="files or folders; default as pytest"
    )
    parser.add_argument(
        "--runs",
        metavar="N",
        help="make N runs now of what a model answers or a judge scores",
    )


def run(given: Namespace) -> int:
    """Print the noise of each benchmark's baseline, or of new runs."""
    options = ["--evalmetrics-calibrate"]
    if given.runs is not None:
        options.append(f"--evalmetrics-runs={given.runs}")
    return in_pytest.run(options, *given.paths)
