"""The mean that labels would have, and how often its interval misses the truth."""

import numpy as np
import pytest
from scipy.stats import norm

from pytest_evalmetrics.stats import clopper_pearson, labelled_mean

ROWS = 1_000
RUNS = 400
MOST_MISSED = 0.035 + 3 * (0.035 * 0.965 / RUNS) ** 0.5  # on each side
# the chance that people pass a row, and that the judge passes a good and a bad one
JUDGES = {
    "agrees in 80 %": (0.7, 0.8, 0.2),
    "agrees in 95 %": (0.7, 0.95, 0.05),
    "lenient": (0.7, 0.98, 0.5),
    "lenient, few bad rows": (0.95, 0.97, 0.3),
    "passes nearly all": (0.95, 0.99, 0.9),
    "harsh": (0.5, 0.6, 0.01),
}


def judged(rng, truth, good, bad):
    """Score rows whose labels are known."""
    return (rng.random(len(truth)) < np.where(truth > 0, good, bad)) * 1.0


@pytest.mark.parametrize("labelled", [30, 100])
@pytest.mark.parametrize("judge", JUDGES)
def test_neither_end_misses_the_truth_more_often_than_it_says(judge, labelled):
    share, good, bad = JUDGES[judge]
    rng = np.random.default_rng(7)
    above = below = 0
    for _ in range(RUNS):
        truth = (rng.random(ROWS) < share) * 1.0
        labels = np.where(np.arange(ROWS) < labelled, truth, np.nan)
        result = labelled_mean(judged(rng, truth, good, bad), labels, np.arange(ROWS))
        above += result.low > share
        below += result.high < share
    assert above / RUNS <= MOST_MISSED
    assert below / RUNS <= MOST_MISSED


@pytest.mark.parametrize("are_copies", [False, True])
def test_rollouts_of_one_task_are_not_independent(are_copies):
    rng = np.random.default_rng(3)
    tasks = np.repeat(np.arange(250), 4)
    above = below = 0
    for _ in range(RUNS):
        chance = np.repeat(rng.beta(1, 1, 250), 4)
        if are_copies:
            chance = (chance > 0.5) * 1.0
        truth = (rng.random(ROWS) < chance) * 1.0
        labels = np.where(tasks < 60, truth, np.nan)
        result = labelled_mean(judged(rng, truth, 0.9, 0.1), labels, tasks)
        above += result.low > 0.5
        below += result.high < 0.5
    assert above / RUNS <= MOST_MISSED
    assert below / RUNS <= MOST_MISSED


def test_grades_miss_as_seldom():
    rng = np.random.default_rng(4)
    above = below = 0
    for _ in range(RUNS):
        truth = rng.choice([1.0, 2, 3, 4, 5], ROWS, p=[0.05, 0.05, 0.1, 0.3, 0.5])
        kind = np.minimum(truth + (rng.random(ROWS) < 0.3), 5)
        labels = np.where(np.arange(ROWS) < 100, truth, np.nan)
        result = labelled_mean(kind, labels, np.arange(ROWS))
        above += result.low > 4.15
        below += result.high < 4.15
    assert above / RUNS <= MOST_MISSED
    assert below / RUNS <= MOST_MISSED


def test_the_mean_of_each_score_is_weighted_by_its_share_of_all_rows():
    scores = [1.0] * 60 + [0.0] * 40
    labels = [1.0] * 8 + [0.0] * 2 + [np.nan] * 50 + [1.0] + [0.0] * 4 + [np.nan] * 35
    result = labelled_mean(scores, labels, np.arange(100))
    assert result.mean == pytest.approx(0.6 * 0.8 + 0.4 * 0.2)
    assert result.labelled == 15


def test_a_judge_that_agrees_with_every_label_may_still_err():
    scores = np.ones(100)
    labels = np.where(np.arange(100) < 30, 1.0, np.nan)
    result = labelled_mean(scores, labels, np.arange(100))
    assert result.mean == 1
    assert result.low == pytest.approx(clopper_pearson(30, 30)[0], abs=0.02)
    assert result.high == 1


def test_a_score_that_no_label_covers_may_hold_anything():
    scores = [1.0] * 90 + [0.0] * 10
    labels = [1.0] * 90 + [np.nan] * 10
    result = labelled_mean(scores, labels, np.arange(100))
    assert result.high - result.low > 0.1


def test_without_labels_there_is_no_mean():
    result = labelled_mean([1.0, 0.0], [np.nan, np.nan], [0, 1])
    assert np.isnan(result.mean)
    assert result.labelled == 0


# -- by hand -----------------------------------------------------------------------------


def test_a_label_of_each_row_has_the_interval_of_its_passes():
    scores = np.ones(40)
    labels = np.array([1.0] * 30 + [0.0] * 10)
    result = labelled_mean(scores, labels, np.arange(40))
    spread = (40 * 0.1875 + 0.5 / 40) / 40
    worth = 40 * max(0.1875 / spread, 1)
    low, high = clopper_pearson(0.75 * worth, worth)
    assert (result.low, result.high) == pytest.approx((low, high))
    assert result.mean == 0.75


def test_the_ends_of_strata_combine_by_their_distances():
    """MOVER, and the error of the judge's share of each score between tasks."""
    scores = np.array([1.0] * 60 + [0.0] * 40)
    labels = np.full(100, np.nan)
    labels[:20] = [1.0] * 16 + [0.0] * 4
    labels[60:70] = [1.0] * 3 + [0.0] * 7
    result = labelled_mean(scores, labels, np.arange(100), level=0.9)
    ends = []
    for passed, n in ((16, 20), (3, 10)):
        share = passed / n
        spread = (n * share * (1 - share) + 0.5 / n) / n
        worth = n * max(share * (1 - share) / spread, 1)
        ends.append(clopper_pearson(share * worth, worth, 0.9))
    of_shares = np.repeat([0.8, 0.3], [60, 40])
    error = norm.isf(0.05) * np.std(of_shares) / np.sqrt(99)
    below = np.sqrt(
        error**2 + (0.6 * (0.8 - ends[0][0])) ** 2 + (0.4 * (0.3 - ends[1][0])) ** 2
    )
    above = np.sqrt(
        error**2 + (0.6 * (ends[0][1] - 0.8)) ** 2 + (0.4 * (ends[1][1] - 0.3)) ** 2
    )
    assert result.mean == pytest.approx(0.6)
    assert result.low == pytest.approx(0.6 - below)
    assert result.high == pytest.approx(0.6 + above)


def test_grades_have_the_range_of_scores_and_labels():
    scores = np.array([1.0, 5.0] * 20)
    labels = np.where(np.arange(40) < 20, scores, np.nan)
    grades = labelled_mean(scores, labels, np.arange(40))
    shares = labelled_mean((scores - 1) / 4, (labels - 1) / 4, np.arange(40))
    assert grades.mean == pytest.approx(1 + 4 * shares.mean)
    assert (grades.low, grades.high) == pytest.approx(
        (1 + 4 * shares.low, 1 + 4 * shares.high)
    )


def test_more_than_five_scores_are_put_into_five_groups_of_equal_size():
    scores = np.linspace(0, 1, 100)
    labels = np.full(100, np.nan)
    # each fifth of the rows has labels of its own
    for group, label in enumerate([0.0, 0.2, 0.4, 0.6, 1.0]):
        labels[20 * group : 20 * group + 4] = label
    result = labelled_mean(scores, labels, np.arange(100))
    assert result.mean == pytest.approx((0.0 + 0.2 + 0.4 + 0.6 + 1.0) / 5)


def test_labels_of_one_task_count_as_one_where_few_of_them_are_off():
    scores = np.ones(80)
    labels = np.array([1.0] * 76 + [0.0] * 4)
    tasks = np.repeat(np.arange(20), 4)
    result = labelled_mean(scores, labels, tasks)
    spread = (80 * 0.95 * 0.05 + 0.5 / 80) / 80
    worth = 80 * max(0.0475 / spread, 1) / 4
    low, high = clopper_pearson(0.95 * worth, worth)
    assert result.labelled == 20
    assert (result.low, result.high) == pytest.approx((low, high))


def test_one_task_shows_nothing_of_how_tasks_differ():
    scores = np.array([1.0, 0.0] * 10)
    result = labelled_mean(scores, scores, np.zeros(20))
    assert result.labelled == 1
    assert result.high - result.low > 0.5


@pytest.mark.parametrize(("scores", "label"), [([0.5] * 20, 0.5), ([0.0] * 20, 0.0)])
def test_shares_may_be_anywhere_from_0_to_1(scores, label):
    labels = [label] * 10 + [np.nan] * 10
    result = labelled_mean(scores, labels, np.arange(20))
    assert result.high > label + 0.04
    assert result.low < label - 0.04 or label == 0


def test_grades_that_are_all_the_same_have_a_range_of_one():
    result = labelled_mean([3.0] * 20, [3.0] * 10 + [np.nan] * 10, np.arange(20))
    assert result.mean == 3
    assert 3 <= result.low <= result.high <= 4
