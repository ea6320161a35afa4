"""``evalmetrics inspect``: what recorded results hold; nothing is written."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    import pytest

EXAMPLE = """
example:
  evalmetrics inspect results.json
  evalmetrics inspect 'runs/*.jsonl' --to-parquet runs.parquet --label category

`evalmetrics init` writes the benchmark file that is shown here.
"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("path", metavar="PATH", help="a file, a folder or a glob")
    parser.add_argument(
        "--to-parquet",
        metavar="FILE",
        help="write the numbers into a Parquet file, which loads faster",
    )
    parser.add_argument(
        "--label",
        metavar="FIELD",
        action="append",
        default=[],
        help="with --to-parquet: keep this field too, for breakdown: and cluster:; repeatable",
    )


def problem_of(given: Namespace) -> str:
    """Say what is wrong with the arguments together."""
    return "--label needs --to-parquet" if given.label and not given.to_parquet else ""


def answer(given: Namespace, config: pytest.Config) -> int:
    """Print what was recognised, found and missing."""
    from pytest_evalmetrics.reports.sentences.notes import note_text

    base = config.invocation_params.dir
    if given.to_parquet is not None:
        from pytest_evalmetrics.rollouts.parquet_writing import to_parquet

        text = to_parquet(
            given.path, given.to_parquet, base, given.label, describe=note_text
        )
    else:
        from pytest_evalmetrics.reports.paragraphs import fitted
        from pytest_evalmetrics.rollouts.survey import survey

        surveyed = survey(given.path, base, note_text)
        text = f"{fitted(surveyed.report)}\n{surveyed.benchmark}"
    sys.stdout.write(text)
    return 0
