"""The shipped schema of report.json is the one that its types give."""

import json

from pytest_evalmetrics.reports.schema import report_schema
from pytest_evalmetrics.schemas import text


def test_the_shipped_schema_is_up_to_date():
    assert json.loads(text("report")) == report_schema()
