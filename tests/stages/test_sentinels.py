"""A negative reward that a baseline lacks is asked about: it may mean "not judged"."""

import pytest
from evaluated import evaluated
from stages.making import benchmark, load, write_rows

from pytest_evalmetrics.model.changes import PerhapsNotJudged
from pytest_evalmetrics.pipeline.sentinels import sentinel_of


def passing(project, last):
    project.rollouts([[1, 0]] * 20 + [[1, last]])


def test_a_new_negative_reward_is_asked_about(project):
    project.bench("metrics: [mean_reward]\nbaseline: true")
    passing(project, 1)
    evaluated(project, updates=True)
    passing(project, -1)
    words = " ".join(evaluated(project).text.split())
    assert "1 rollout has the reward -1, and none of the baseline is negative" in words
    assert "write `missing: [-1]` under rollouts" in words


def found(folder, before, now, reward="reward"):
    """Find a sentinel in the rewards of two runs."""
    tables = []
    for rewards in (before, now):
        (folder / "new.jsonl").unlink(missing_ok=True)
        write_rows(folder, "new.jsonl", rewards)
        _, loaded = load(benchmark(folder, "metrics: [mean_reward]"))
        tables.append(loaded.table)
    return sentinel_of(reward, *tables)


def test_the_only_negative_reward_may_mean_that_nothing_was_judged(tmp_path):
    sentinel = found(tmp_path, [[1, 0]], [[1, -1], [-1, 0]])
    assert sentinel == PerhapsNotJudged(reward=-1.0, rollouts=2)


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ([[1, -1]], [[1, -1]]),
        ([[1, 0]], [[1, 0]]),
        ([[1, 0]], [[-0.5, -1]]),
    ],
    ids=["the baseline has it too", "none", "several"],
)
def test_other_negative_rewards_are_scores(tmp_path, before, now):
    assert found(tmp_path, before, now) is None


def test_without_the_reward_there_is_no_sentinel(tmp_path):
    assert found(tmp_path, [[1, 0]], [[1, -1]], reward="other") is None
