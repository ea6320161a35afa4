"""``evalmetrics site``: a static site over the artifacts of many runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_evalmetrics.commands import in_pytest
from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.layout import visible

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

EXAMPLE = """
example:
  evalmetrics site artifacts/ --output=public/
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "folder", type=Path, help="holds the artifacts of runs, each in a folder"
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("site"),
        metavar="FOLDER",
        help="default: site",
    )


def run(given: Namespace) -> int:
    """Write the site."""
    from pytest_evalmetrics.reports.html.site import build_site  # loads numpy

    try:
        index, notes = build_site(given.folder, given.output)
    except EvalMetricsError as error:
        return in_pytest.refused("site", error)
    sys.stderr.writelines(f"evalmetrics site: {visible(note)}\n" for note in notes)
    sys.stdout.write(f"{visible(str(index))}\n")
    return 0
