"""``evalmetrics schema``: the JSON Schema of benchmark files, or of report.json."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    import pytest

EXAMPLE = """
example:
  evalmetrics schema > benchmark.schema.json

An editor that knows the schema completes the keys of *.bench.yaml.
"""
_FOLDER = Path(__file__).parent.parent / "schemas"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "of",
        nargs="?",
        choices=("benchmark", "report"),
        default="benchmark",
        help="default benchmark",
    )


def answer(given: Namespace, _config: pytest.Config | None = None) -> int:
    """Print the schema."""
    file = _FOLDER / f"{given.of}.schema.json"
    sys.stdout.write(file.read_text(encoding="utf-8"))
    return 0


def run(given: Namespace) -> int:
    """Print the schema, without a run."""
    return answer(given)
