"""The command ``evalmetrics case``: its options, and what it prints."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_evalmetrics.cases.kinds import KINDS
from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.layout import visible_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

_DESCRIPTION = """\
Append a failure in production to a data set, as a task that every later run
answers.

TRACE is an export of OpenTelemetry (OTLP JSON), Langfuse, Phoenix or LangSmith.
The task keeps the question, what was retrieved, and the wrong answer; secrets
and personal details are replaced by marks such as [email 1].
"""
_EXAMPLE = """\
example:
  evalmetrics case add trace.json --reason "quoted the old price"
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return 0 if a task was appended, 2 if not."""
    given = _parser().parse_args(argv)
    from pytest_evalmetrics.cases.adding import add_case, shown  # load scoring

    try:
        added = add_case(given)
    except EvalMetricsError as error:
        from pytest_evalmetrics.reports.paragraphs import fitted

        sys.stderr.write(fitted(f"evalmetrics case: {visible_lines(str(error))}\n"))
        return 2
    sys.stdout.write(visible_lines(shown(added, given)) + "\n")
    return 0


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="evalmetrics case",
        description="Keep failures as tasks.",
        epilog=_EXAMPLE,
        formatter_class=RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(required=True, metavar="add")
    add = actions.add_parser(
        "add",
        help="append the failure in a trace to a data set",
        description=_DESCRIPTION,
        epilog=_EXAMPLE,
        formatter_class=RawDescriptionHelpFormatter,
    )
    add.add_argument("trace", type=Path, metavar="TRACE", help="the exported trace")
    add.add_argument("--reason", required=True, help="why the answer is wrong")
    add.add_argument(
        "--dataset",
        type=Path,
        default=Path("cases.jsonl"),
        metavar="FILE",
        help="the data set, JSON Lines; default cases.jsonl",
    )
    add.add_argument(
        "--span", default="", metavar="ID", help="a span or a trace of the file"
    )
    add.add_argument(
        "--expected", metavar="TEXT", help="the right answer, if you know it"
    )
    add.add_argument(
        "--id", metavar="ID", help="the task's id; default case- and the trace"
    )
    add.add_argument(
        "--keep",
        action="append",
        default=[],
        choices=KINDS,
        help="leave personal details of this kind in the texts; may be repeated",
    )
    return parser
