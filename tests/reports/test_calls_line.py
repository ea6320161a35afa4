"""The line about the calls of a run."""

from pytest_evalmetrics.reports.lines import calls_line
from pytest_evalmetrics.transport import Usage


def test_the_calls_of_all_benchmarks_are_summed_up():
    assert calls_line([]) == calls_line([{}, {}]) == []
    one = Usage(calls=5, from_journal=2, requests=4, failed=1, cost_now=0.5)
    other = Usage(calls=1, requests=1, total_tokens=70, cost_now=0.25)
    assert calls_line([one.as_dict(), {}, other.as_dict()]) == [
        "calls: 6 answered (2 by the journal), 1 failed, 5 requests sent, 70 tokens, cost 0.75"
    ]
    saving = Usage(calls=4, from_journal=3, requests=1, cost=1.0, cost_now=0.25)
    assert calls_line([saving.as_dict()]) == [
        "calls: 4 answered (3 by the journal), 1 request sent, cost 0.25, saved 0.75"
    ]
    unknown = Usage(calls=1)
    assert "cost" not in calls_line([one.as_dict(), unknown.as_dict()])[0]
