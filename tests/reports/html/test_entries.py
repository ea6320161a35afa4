"""A benchmark's row of the page."""

import pytest

from pytest_evalmetrics.reports.html.page import overview

AGENT = {"agent": "a", "tasks": 1, "rollouts": 1, "missing": 0}


@pytest.mark.parametrize(("agents", "told"), [(1, "it fell"), (2, "a: it fell")])
def test_of_several_agents_the_reason_says_whose_it_is(agents, told):
    check = {"verdict": "FAIL", "agent": "a", "reason": "it fell"}
    entry = {
        "id": "x.bench.yaml::x",
        "name": "x",
        "file": "x.bench.yaml",
        "verdict": "FAIL",
        "xfail": False,
        "agents": [AGENT] * agents,
        "checks": [check],
    }
    assert overview(entry, ())["reason"] == told
