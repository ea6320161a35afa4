"""``evalmetrics culprit``: the first worse one of several recorded runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pytest_evalmetrics.commands import run_arguments
from pytest_evalmetrics.layout import visible

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    import pytest

EXAMPLE = """
example, the oldest run first, or the artifacts of the commits of git:
  evalmetrics culprit monday.jsonl tuesday.jsonl wednesday.jsonl
  evalmetrics culprit 'v1..HEAD=artifacts/{commit}'

Exit status: 0 nothing worse, 1 a regression or no verdict, 2 an unreadable run.
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    run_arguments.add_to(parser)


def answer(given: Namespace, _config: pytest.Config) -> int:
    """Find the run."""
    from pytest_evalmetrics.reports.paragraphs import fitted
    from pytest_evalmetrics.worse_run import find_culprit  # loads numpy

    lines, is_worse = find_culprit(given)
    sys.stdout.write(fitted("".join(f"{visible(line)}\n" for line in lines)))
    return int(is_worse)
