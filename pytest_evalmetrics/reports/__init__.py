"""Results -> what people and machines read: text, and the artifacts."""

from pytest_evalmetrics.reports.artifacts import Artifacts, output_prefix, report_document
from pytest_evalmetrics.reports.calls import calls_line
from pytest_evalmetrics.reports.ci import tell_ci
from pytest_evalmetrics.reports.failure import FailureText, failure_text
from pytest_evalmetrics.reports.payload import Payload, payload_of
from pytest_evalmetrics.reports.power import power_table
from pytest_evalmetrics.reports.section import section

__all__ = [
    "Artifacts",
    "FailureText",
    "Payload",
    "calls_line",
    "failure_text",
    "output_prefix",
    "payload_of",
    "power_table",
    "report_document",
    "section",
    "tell_ci",
]
