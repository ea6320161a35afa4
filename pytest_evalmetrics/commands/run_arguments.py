"""The arguments of commands that read recorded runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import ArgumentParser

_FIELDS = ("task", "sample", "agent", "reward")


def add_to(parser: ArgumentParser) -> None:
    """Declare the runs, and how they are read and judged."""
    parser.add_argument(
        "runs",
        nargs="+",
        metavar="RUN",
        help="files of rollouts, a folder of them, or a report.json",
    )
    parser.add_argument(
        "--metric",
        dest="metrics",
        metavar="NAME",
        action="append",
        help="default mean_reward; may be repeated",
    )
    for key in _FIELDS:
        parser.add_argument(
            f"--{key}", metavar="FIELD", help=f"the field that holds the {key}"
        )
    parser.add_argument(
        "--missing",
        metavar="VALUE",
        action="append",
        help="a value of the reward that means that nobody judged; none: all are judged",
    )
    parser.add_argument(
        "--direction",
        choices=("higher", "lower"),
        help="which way is better, for a metric whose files don't say it",
    )
    parser.add_argument(
        "--pass-threshold",
        type=float,
        metavar="X",
        help="a reward from which it passes",
    )
    parser.add_argument(
        "--alpha",
        type=float,
        metavar="P",
        help="the level of a false alarm; default 0.01",
    )
