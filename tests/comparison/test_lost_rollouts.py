"""Whether a loss depends on the side and on the tasks' rewards, against scipy."""

import numpy as np
import pytest
from scipy import stats as oracle

from pytest_evalmetrics.comparison import loss_test, may_be_gone_by_chance
from pytest_evalmetrics.model.comparison import LostRollouts


def losses(before, now, values):
    return LostRollouts(
        before=np.array(before, dtype=float),
        now=np.array(now, dtype=float),
        values=np.array(values, dtype=float),
    )


def test_the_side_is_tested_by_the_tasks_that_lost_more_on_one():
    lost = losses([0.5] * 2 + [0.0] * 10, [0.0] * 2 + [0.5] * 8 + [0.0] * 2, [1] * 12)
    expected = oracle.binomtest(8, 10, alternative="greater").pvalue
    assert loss_test(lost, seed=0).p_side == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("tasks", [100, 5_000])
@pytest.mark.parametrize("is_better", [True, False])
def test_a_loss_in_better_or_in_worse_tasks_is_not_at_random(tasks, is_better):
    values = np.linspace(0, 1, tasks)
    now = values > 0.8 if is_better else values < 0.2
    assert loss_test(losses(np.zeros(tasks), now, values), seed=0).p_outcome < 0.001


# an error of 1,000 deals is .016 at most: a third of the tolerance
@pytest.mark.parametrize("tasks", [100, 5_000])
def test_the_outcome_is_tested_by_dealing_losses_to_tasks(tasks):
    rng = np.random.default_rng(3)
    values = rng.random(tasks)
    now = (rng.random(tasks) < 0.2 + 0.1 * values).astype(float)

    def product(dealt, axis):
        return (dealt * values).sum(axis=axis)

    expected = oracle.permutation_test(
        (now,), product, permutation_type="pairings", n_resamples=1_000, rng=0
    ).pvalue
    found = loss_test(losses(np.zeros(tasks), now, values), seed=0).p_outcome
    assert found == pytest.approx(expected, abs=0.05)


def test_tasks_of_equal_rewards_show_nothing_of_the_outcome():
    assert loss_test(losses([0, 0], [1, 0], [0.5, 0.5]), seed=0).p_outcome == 1


def left(counts):
    """Rollouts that are left of four, by how many tasks have so many."""
    return np.repeat(list(counts), list(counts.values()))


@pytest.mark.parametrize(
    ("counts", "may_be"),
    [
        # a fifth of rollouts is lost, of which 0.0016 of tasks lose all four
        ({4: 82, 3: 82, 2: 31, 1: 5, 0: 1}, True),
        ({4: 82, 3: 82, 2: 31, 1: 5, 0: 4}, False),
        # one rollout in fifty is lost
        ({4: 184, 3: 15, 2: 1, 0: 1}, False),
        # half are lost, of which a sixteenth of tasks loses all four
        ({4: 13, 3: 50, 2: 75, 1: 50, 0: 12}, True),
    ],
)
def test_tasks_are_gone_by_chance_if_the_loss_of_the_others_explains_them(
    counts, may_be
):
    rollouts = left(counts)
    usual = np.full(len(rollouts), 4)
    assert may_be_gone_by_chance(usual, rollouts) is may_be


def test_single_rollouts_explain_no_task_that_is_gone():
    assert not may_be_gone_by_chance(np.ones(50, dtype=int), np.array([0] + [1] * 49))


def test_a_loss_that_no_deal_matches_is_as_rare_as_one_of_the_deals():
    values = np.linspace(0, 1, 100)
    assert loss_test(losses(np.zeros(100), values, values), seed=0).p_outcome == (
        1 / 2_001
    )


def test_deals_of_the_same_loss_count():
    # the one loss is dealt to the one good task in a quarter of the deals
    found = loss_test(losses([0] * 4, [0, 0, 0, 1], [0, 0, 0, 1]), seed=0).p_outcome
    assert found == pytest.approx(0.25, abs=0.04)


def test_a_task_that_lost_more_before_lost_nothing_now():
    values = np.linspace(0, 1, 100)
    lost = losses(values, np.zeros(100), values)
    assert loss_test(lost, seed=0).p_outcome == 1
    assert loss_test(lost, seed=0).p_side == 1


def test_a_single_task_shows_nothing_of_the_outcome():
    assert loss_test(losses([0], [1], [0.5]), seed=0).p_outcome == 1


def test_of_thousands_of_tasks_the_outcome_is_normal():
    rng = np.random.default_rng(4)
    values = rng.random(3_000)
    now = (rng.random(3_000) < 0.2 + 0.05 * values).astype(float)
    r = np.corrcoef(now, values)[0, 1]
    expected = 2 * oracle.norm.sf(abs(r) * np.sqrt(2_999))
    found = loss_test(losses(np.zeros(3_000), now, values), seed=0).p_outcome
    assert found == pytest.approx(expected)


def test_tasks_that_none_lost_may_not_be_gone():
    usual = np.full(20, 4)
    assert not may_be_gone_by_chance(usual, np.array([0] + [4] * 19))
    assert may_be_gone_by_chance(usual, usual)
