"""``evalmetrics init``: from recorded results to a benchmark with a baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.commands import in_pytest

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

EXAMPLE = """
example:
  evalmetrics init results.json
  evalmetrics init results.csv --task question_id --reward grade --max-drop 0.05

It writes NAME.bench.yaml beside you, shows what it read and what the gates can see, and records
the baseline. Where two readings are as likely, it leaves a line open and records nothing.
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("path", metavar="FILE", help="a file, a folder or a glob")
    parser.add_argument("--rows", metavar="PATH", help="where the rows are in the file")
    parser.add_argument("--task", metavar="FIELD", help="the field that names the task")
    parser.add_argument("--reward", metavar="FIELD", help="the field with the score")
    parser.add_argument(
        "--max-drop",
        metavar="X",
        help="a loss that matters, such as 0.05; default .01, or a share of what there is",
    )
    parser.add_argument(
        "--add-to-testpaths",
        action="store_true",
        help="let a bare pytest collect the file, where `testpaths` passes over it",
    )


def run(given: Namespace) -> int:
    """Write the file, and record its baseline."""
    options = [f"--evalmetrics-init={given.path}"]
    return in_pytest.run(options)
