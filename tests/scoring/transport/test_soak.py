"""A small soak; tests/perf/soak.py makes 10,000 calls."""

import pytest
from scoring.transport.soaking import PARALLELISM, REFUSED, soak

ROWS = 250


@pytest.fixture(scope="module")
def soaked(tmp_path_factory):
    return soak(tmp_path_factory.mktemp("soak"), ROWS, kills=1)


def test_every_row_has_its_score_or_its_reason(soaked):
    # of the run that was killed and of the one that went on
    assert len(soaked.outcomes) == 2
    for outcomes in soaked.outcomes:
        scores = {
            row: one["score"]
            for row, one in enumerate(outcomes)
            if isinstance(one, dict)
        }
        reasons = [row for row, one in enumerate(outcomes) if isinstance(one, str)]
        assert scores == {row: row for row in range(ROWS) if row % REFUSED}
        assert reasons == list(range(0, ROWS, REFUSED))
        assert all("this row can not be scored" in outcomes[row] for row in reasons)


def test_nothing_is_paid_twice_but_what_was_in_flight_at_a_kill(soaked):
    assert soaked.warnings == [[], []]
    assert set(soaked.paid) == {row for row in range(ROWS) if row % REFUSED}
    twice = sum(count - 1 for count in soaked.paid.values())
    assert twice <= soaked.killed * PARALLELISM
