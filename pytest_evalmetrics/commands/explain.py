"""``evalmetrics explain``: what a name of a benchmark file means."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    import pytest

EXAMPLE = """
example:
  evalmetrics explain pass@k
  evalmetrics explain llm-judge
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "name", metavar="NAME", help="a metric, scorer, loader, gate rule or reporter"
    )


def answer(given: Namespace, _config: pytest.Config) -> int:
    """Explain the name."""
    from pytest_evalmetrics.listing import explained  # loads numpy
    from pytest_evalmetrics.reports.paragraphs import fitted

    sys.stdout.write(fitted(f"{explained(given.name)}\n"))
    return 0
