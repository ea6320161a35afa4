"""Answer from the committed journal unless JUDGE_URL names a judge."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Answer from the journal if no judge is given."""
    if not os.environ.get("JUDGE_URL") and not os.environ.get("JUDGE_RECORDS"):
        config.option.evalmetrics_journal_import = str(
            Path(__file__).parent / "journal.jsonl.gz"
        )
