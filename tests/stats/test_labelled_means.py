"""The mean that labels would have, and how often its interval misses the truth."""

import numpy as np
import pytest

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
