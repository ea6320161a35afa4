"""``evalmetrics compare``: recorded runs, held against the first one."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

from pytest_evalmetrics.commands import run_arguments

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    import pytest

EXAMPLE = """
example:
  evalmetrics compare main.jsonl branch.jsonl --task id --reward correct

Exit status: 0 nothing worse, 1 a regression or no verdict, 2 an unreadable run.
"""
_FORMATS = ("text", "markdown", "json", "html")


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    run_arguments.add_to(parser)
    parser.add_argument(
        "--answer", metavar="FIELD", help="the field whose changes churn counts"
    )
    parser.add_argument(
        "--behaviour",
        action="store_true",
        help="also report what the agents do differently, by their transcripts",
    )
    parser.add_argument(
        "--max-drop",
        type=float,
        metavar="X",
        help="a loss up to which nothing is a regression",
    )
    parser.add_argument(
        "--margin",
        type=float,
        metavar="X",
        help="also test that the runs differ by less",
    )
    parser.add_argument("--format", choices=_FORMATS, default="text")


def problem_of(given: Namespace) -> str:
    """Say what is wrong with the arguments together."""
    if len(given.runs) < 2:  # the first, and another
        return "name two runs or more"
    if given.margin is not None and not 0 < given.margin < math.inf:
        return f"--margin: expected a number above 0, found {given.margin:g}"
    return ""


def answer(given: Namespace, _config: pytest.Config) -> int:
    """Compare the runs."""
    from pytest_evalmetrics import compare  # loads numpy

    text, fails = compare.compare_runs(given)
    sys.stdout.write(text)
    return int(fails)
