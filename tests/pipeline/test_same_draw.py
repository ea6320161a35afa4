"""Which tasks a seed draws: the same in every version, for baselines hold them."""

import numpy as np
import pytest

from pytest_evalmetrics.model.rollout_table import RolloutTable
from pytest_evalmetrics.model.scoring_notes import DrawnSample
from pytest_evalmetrics.pipeline.benchmark_rows import draw
from pytest_evalmetrics.spec.sources import SampleSpec


def table(**fields):
    """Make a table of ten tasks of a rollout each."""
    return RolloutTable(
        agents=("a",),
        agent=np.zeros(10, np.int32),
        tasks=tuple(f"t{at}" for at in range(10)),
        task=np.arange(10),
        sample=np.zeros(10, np.int64),
        scores={},
        **fields,
    )


@pytest.mark.parametrize(
    ("seed", "tasks"),
    [(0, ("t2", "t3", "t6", "t7")), (1, ("t0", "t2", "t3", "t7"))],
)
def test_a_seed_draws_these_tasks(seed, tasks):
    drawn, _ = draw(table(), SampleSpec(tasks=4, seed=seed))
    assert drawn.tasks == tasks


def test_tasks_of_known_content_are_drawn_by_it():
    content = np.array([f"c{at % 5}" for at in range(10)], dtype="S8")
    drawn, _ = draw(table(content=content), SampleSpec(tasks=4, seed=0))
    assert drawn.tasks == ("t0", "t3", "t5", "t8")


def test_a_field_that_no_row_has_makes_no_groups():
    drawn, note = draw(table(), SampleSpec(tasks=4, by="level"))
    assert len(drawn.tasks) == 4
    assert note == DrawnSample(drawn=4, tasks=10)
