"""What an item's report says beyond its outcome."""

import pytest
from msgspec import structs

from pytest_evalmetrics.reports.failure import failure_of_words
from pytest_evalmetrics.session.item_reports import failure_text, why_skipped


def report(longrepr, **fields):
    made = pytest.TestReport(
        nodeid="a.bench.yaml::a",
        location=("a.bench.yaml", 1, "a"),
        keywords={},
        outcome="skipped",
        longrepr=longrepr,
        when="call",
    )
    for name, value in fields.items():
        setattr(made, name, value)
    return made


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (report(("a.py", 3, "Skipped: no GPU")), "no GPU"),
        (report(("a.py", 3, "no GPU")), "no GPU"),
        (report("Skipped: too slow"), "too slow"),
        (report(None, wasxfail="known"), "xfail: known"),
        (report(None, wasxfail=""), "xfail"),
    ],
)
def test_the_reason_of_a_skip_is_that_of_who_skipped(given, reason):
    assert why_skipped(given) == reason


@pytest.mark.parametrize(
    ("reporters", "has_page"), [("report.html", True), ("report.json", False)]
)
def test_a_failure_names_the_page_that_the_run_writes(pytester, reporters, has_page):
    failure = structs.replace(failure_of_words("lost"), benchmark="a.bench.yaml::a")
    config = pytester.parseconfig("--evalmetrics-reporters", reporters)
    assert (failure_text(failure, config).page is not None) is has_page


@pytest.mark.parametrize(("arguments", "everything"), [([], False), (["-v"], True)])
def test_a_failure_is_shown_whole_with_v(pytester, arguments, everything):
    config = pytester.parseconfig(*arguments)
    assert failure_text(failure_of_words("lost"), config).everything is everything
