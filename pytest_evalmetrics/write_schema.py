"""Writes the JSON Schema of benchmark files: ``python -m pytest_evalmetrics.write_schema``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pytest_evalmetrics.config.benchmark_schema import SHIPPED, schema_of_file
from pytest_evalmetrics.scoring.scorer_types import offer_scorers


def main() -> None:
    """Write the schema to the file that is named, else to the one that is shipped."""
    offer_scorers()
    text = json.dumps(schema_of_file(), indent=2, ensure_ascii=False) + "\n"
    path = Path(sys.argv[1]) if sys.argv[1:] else SHIPPED
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
