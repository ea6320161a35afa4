"""``evalmetrics list``: what benchmark files can name."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    import pytest

EXAMPLE = """
example:
  evalmetrics list

Names that conftest.py and installed packages register are among them.
"""


def add_arguments(_parser: ArgumentParser) -> None:
    """Declare no argument."""


def answer(_given: Namespace, _config: pytest.Config) -> int:
    """List the names."""
    from pytest_evalmetrics.listing import listed  # loads numpy
    from pytest_evalmetrics.reports.paragraphs import fitted

    sys.stdout.write(fitted(f"{listed()}\n"))
    return 0
