"""``evalmetrics baselines``: which are unused, how old they are, and why they are as they are."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pytest_evalmetrics.commands import in_pytest

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    import pytest

EXAMPLE = """
example:
  evalmetrics baselines unused
  evalmetrics baselines delete
  evalmetrics baselines age
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "action",
        choices=("unused", "delete", "age"),
        help="list those that nothing uses; delete these; or list all, the oldest first",
    )


def run(given: Namespace) -> int:
    """List or delete baselines."""
    if given.action != "age":
        what = "delete" if given.action == "delete" else "list"
        return in_pytest.run([f"--evalmetrics-delete-unused={what}"])

    def ages(config: pytest.Config) -> int:
        from pytest_evalmetrics.baselines.all_ages import age_lines  # loads numpy

        sys.stdout.writelines(f"{line}\n" for line in age_lines(config))
        return 0

    return in_pytest.answer("baselines", ages)
