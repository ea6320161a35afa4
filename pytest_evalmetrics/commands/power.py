"""``evalmetrics power``: which losses the gates can see, and what the calls will cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_evalmetrics.commands import in_pytest

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

EXAMPLE = """
example:
  evalmetrics power evals/math.bench.yaml

Nothing is evaluated, and no endpoint is called.
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="files or folders; default as pytest"
    )


def run(given: Namespace) -> int:
    """Print the plan."""
    return in_pytest.run(["--evalmetrics-plan"], *given.paths)
