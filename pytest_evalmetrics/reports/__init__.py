"""Results -> what people and machines read: text, and the artifacts."""

from pytest_evalmetrics.reports.artifacts import Artifacts, report_document
from pytest_evalmetrics.reports.calls import calls_line
from pytest_evalmetrics.reports.ci import tell_ci
from pytest_evalmetrics.reports.failed_rows import failed_row_cause, failed_row_notes
from pytest_evalmetrics.reports.failure import FailureText, failure_text
from pytest_evalmetrics.reports.handover import handover_folder, remove_left
from pytest_evalmetrics.reports.html import picture_of
from pytest_evalmetrics.reports.payload import Payload, payload_of
from pytest_evalmetrics.reports.power import power_table
from pytest_evalmetrics.reports.reporters import chosen_reporters, write_reports
from pytest_evalmetrics.reports.section import section

__all__ = [
    "Artifacts",
    "FailureText",
    "Payload",
    "calls_line",
    "chosen_reporters",
    "failed_row_cause",
    "failed_row_notes",
    "failure_text",
    "handover_folder",
    "payload_of",
    "picture_of",
    "power_table",
    "remove_left",
    "report_document",
    "section",
    "tell_ci",
    "write_reports",
]
