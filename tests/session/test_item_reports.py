"""What an item's report says beyond its outcome."""

import pytest

from pytest_evalmetrics.session.item_reports import why_skipped


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
