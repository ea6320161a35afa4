"""``evalmetrics check``: what is wrong with benchmark files, without calling anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.commands import in_pytest

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

EXAMPLE = """
example:
  evalmetrics check evals/

It prints a line for each problem, with file, line and column. Exit status: 0
without a problem, 1 with one, or if there is no benchmark file.
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="files or folders; default as pytest"
    )


def run(given: Namespace) -> int:
    """Check the files."""
    return in_pytest.run(["--evalmetrics-check"], *given.paths)
