"""``evalmetrics accept``: record what the last run showed as the baselines."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from pytest_evalmetrics.commands import in_pytest
from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.layout import visible

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

EXAMPLE = """
example:
  evalmetrics accept evals/math.bench.yaml::math --reason "a cheaper model"

Without an id, it accepts every benchmark of the last report that fails against
its baseline. It calls nothing: paid answers come from the journal. A run that
differs from the report is not recorded.
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "ids", nargs="*", metavar="ID", help="benchmarks, as the report names them"
    )
    parser.add_argument(
        "--reason", required=True, metavar="TEXT", help="why: the baseline keeps it"
    )
    parser.add_argument(
        "--report",
        type=Path,
        default=Path("evalmetrics/report.json"),
        metavar="FILE",
        help="default evalmetrics/report.json",
    )
    parser.add_argument(
        "--accept-tasks",
        action="store_true",
        help="also where tasks of the old baseline are gone or edited",
    )


def run(given: Namespace) -> int:
    """Record the baselines of the report's benchmarks."""
    from pytest_evalmetrics.baselines.accepting import to_accept  # loads numpy

    try:
        ids = to_accept(given.report, given.ids)
    except EvalMetricsError as error:
        return in_pytest.refused("accept", error)
    if not ids:
        sys.stdout.write("nothing to accept: every baseline lets its benchmark pass\n")
        return 0
    for benchmark in ids:
        sys.stdout.write(f"accepting {visible(benchmark)}\n")
    options = [
        "--evalmetrics-update",
        "--evalmetrics-replay",
        f"--evalmetrics-reason={given.reason}",
        f"--evalmetrics-accept-report={given.report.resolve()}",
    ]
    if given.accept_tasks:
        options.append("--evalmetrics-accept-tasks")
    # the report that is accepted stays as it is
    with TemporaryDirectory() as folder:
        status = in_pytest.run([*options, f"--evalmetrics-output={folder}/"], *ids)
    if status == 0:
        sys.stdout.write(f"recorded: {visible(given.reason)}\n")
    return status
