"""Results -> what people and machines read: text, and the artifacts."""

from pytest_evalmetrics.reports.failure import FailureText, failure_text
from pytest_evalmetrics.reports.html import picture_of
from pytest_evalmetrics.reports.lines import calls_line, failed_row_cause, failed_row_notes
from pytest_evalmetrics.reports.payload import Payload, handover_folder, payload_of, remove_left
from pytest_evalmetrics.reports.reporters import (
    Artifacts,
    chosen_reporters,
    report_document,
    write_noise_page,
    write_reports,
)
from pytest_evalmetrics.reports.section import power_table, section
from pytest_evalmetrics.reports.summary import tell_ci

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
    "write_noise_page",
    "write_reports",
]
