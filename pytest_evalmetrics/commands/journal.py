"""``evalmetrics journal``: the answers that were paid for."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    import pytest

EXAMPLE = """
example:
  evalmetrics journal show
  evalmetrics journal export answers.jsonl.gz
  evalmetrics journal import answers.jsonl.gz
"""
_NEED_FILE = ("export", "import")


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("action", choices=("show", "export", "import", "clear"))
    parser.add_argument(
        "file",
        nargs="?",
        type=Path,
        metavar="FILE",
        help="of export and import: .jsonl or .jsonl.gz",
    )
    parser.add_argument(
        "--journal", metavar="PATH", help="another journal than the project's"
    )


def problem_of(given: Namespace) -> str:
    """Say what is wrong with the arguments together."""
    if (given.action in _NEED_FILE) == (given.file is not None):
        return ""
    needs = "needs" if given.action in _NEED_FILE else "takes no"
    return f"{given.action} {needs} FILE"


def answer(given: Namespace, config: pytest.Config) -> int:
    """Show, copy or empty the journal."""
    from pytest_evalmetrics import run_transport  # loads asyncio
    from pytest_evalmetrics.reports.paragraphs import fitted

    other = None if given.journal is None else Path(given.journal)
    text = run_transport.journal_answer(config, given.action, given.file, other)
    sys.stdout.write(fitted(text))
    return 0
