"""What a cluster's engine makes of a work, without a cluster."""

import asyncio

from scoring.scorers.offline import entry

from pytest_evalmetrics.ext import Explained, Row, Workload
from pytest_evalmetrics.scoring.engines.ray_scoring import moved_work
from pytest_evalmetrics.scoring.scorers import make_scorers
from pytest_evalmetrics.scoring.transport import Terms

ROW = Row(0, "", "a", 0, {"response": "x", "reference": "x"})


def work_of(scorers):
    return Workload(
        jobs=iter([(ROW, scorer) for scorer in scorers]),
        scorers=scorers,
        answering=None,
        spec=None,
        terms=Terms(),
        transport=None,
        label="a",
        sink=None,
    )


def test_a_scorer_that_moves_is_called_where_it_runs_and_the_others_stay():
    specs = [entry(type="exact-match"), entry(type="exact-match", name="strict")]
    here, there = scorers = make_scorers(specs, Terms(), lambda *_: 0)
    asked = []

    async def do(number, row):
        asked.append((number, row))
        return Explained(0.5, "far away")

    moved = moved_work(work_of(scorers), {1: there}, do)
    (_, first), (_, second) = moved.jobs
    assert first is here
    assert moved.scorers == (first, second)
    explained = asyncio.run(second.score_with(ROW, None))
    assert explained.scores == {"strict": 0.5}
    assert explained.reason == "far away"
    assert asked == [(1, ROW)]
