"""What is told of an evaluation beside its numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pipeline.cases import make_benchmark

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.pipeline.evaluation import not_evaluated, nothing_gated, with_cause
from pytest_evalmetrics.results import Check, RowFailure, ScorerFailures, Verdict

BENCHMARK = make_benchmark()


def test_an_error_is_told_where_it_is() -> None:
    ours = not_evaluated(DataError("no rows", hint="record some"), BENCHMARK)
    assert (ours.verdict, ours.reason, ours.hint, ours.line) == (
        Verdict.INCONCLUSIVE,
        "no rows",
        "record some",
        1,
    )
    assert not_evaluated(DataError("no rows", line=7), BENCHMARK).line == 7
    theirs = not_evaluated(DataError("no rows", file="runs.jsonl", line=3), BENCHMARK)
    assert (theirs.reason, theirs.line) == ("runs.jsonl:3: no rows", None)


def test_the_way_to_a_gate_is_that_of_who_wrote_it() -> None:
    assert "below line 1" in nothing_gated(BENCHMARK)
    assert "thresholds={" in nothing_gated(replace(BENCHMARK, in_python=True))


@pytest.mark.parametrize(
    ("name", "verdict", "told"),
    [
        ("missing", Verdict.FAIL, True),
        ("missing", Verdict.PASS, False),
        ("tasks", Verdict.FAIL, False),
    ],
)
def test_what_is_missing_begins_with_its_cause(name: str, verdict: Verdict, told: bool) -> None:
    check = Check("expect", name, verdict, reason="2 rollouts have no score")
    row = RowFailure(0, "data.jsonl:1", "http-500", "out of memory")
    failed = ScorerFailures(
        "remote", ("reward",), 2, {"http-500": 2}, (row,), rows=4, examples={"http-500": row}
    )
    found = with_cause(check, [failed], "reward")
    assert found.reason.endswith("2 rollouts have no score")
    assert ("http-500" in found.reason) is told
    assert with_cause(check, [], "reward") is check
