"""Metrics of labels, chances and comparisons over a few rows, counted by hand."""

import pytest

from pytest_evalmetrics.errors import MetricError

GOLD = {"gold": "gold", "predicted": "said"}


@pytest.fixture
def value(reduced, table):
    """Compute a metric that is defined by its keys over columns of a row for each task."""

    def compute(columns, **keys):
        texts = {
            name: column
            for name, column in columns.items()
            if any(isinstance(cell, str) for cell in column)
        }
        numbers = {n: column for n, column in columns.items() if n not in texts}
        count = len(next(iter(columns.values())))
        rows = table([[1.0]] * count, labels=texts, **numbers)
        return reduced(rows, metrics=[{"own": keys}]).estimates["own"].value

    return compute


# -- chances ---------------------------------------------------------------------------------


def test_a_calibration_error_adds_the_gaps_of_its_bins(value):
    chances = [0.0, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0]
    gold = [1, 0, 1, 0, 1, 0, 1]
    error = value(
        {"p": chances, "gold": gold}, type="ece", gold="gold", score="p", bins=5
    )
    # the bins are closed above: 0 and 0.2 are in the first of five
    gaps = [-1 + 0.2, -0.7, 0.5, -0.3, 0.9 + 0]
    assert error == pytest.approx(sum(map(abs, gaps)) / 7)


def test_a_calibration_error_has_ten_bins_by_default(value):
    # each is in a bin of its own
    error = value(
        {"p": [0.1, 0.15, 0.95], "gold": [0, 1, 0]}, type="ece", gold="gold", score="p"
    )
    assert error == pytest.approx((0.1 + 0.85 + 0.95) / 3)


def test_the_brier_score_is_the_mean_square_of_what_is_missing(value):
    keys = {"type": "brier", "gold": "gold", "score": "p"}
    score = value({"p": [0.9, 0.4, 0.0], "gold": [1, 1, 0]}, **keys)
    assert score == pytest.approx((0.1**2 + 0.6**2 + 0) / 3)


# -- labels ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gold", "said"),
    [
        (["true", "true", "false"], ["true", "false", "true"]),
        ([1, 1, 0], [1, 0, 1]),
    ],
)
def test_true_and_1_are_positive_by_default(value, gold, said):
    keys = {"type": "precision", **GOLD}
    assert value({"gold": gold, "said": said}, **keys) == pytest.approx(1 / 2)


def test_of_other_labels_the_positive_one_has_to_be_said(value):
    columns = {"gold": ["yes", "no", "yes"], "said": ["yes", "yes", "yes"]}
    with pytest.raises(MetricError, match="say which label of"):
        value(columns, type="precision", **GOLD)
    keys = {"type": "precision", "positive": "yes", **GOLD}
    assert value(columns, **keys) == pytest.approx(2 / 3)


# -- comparisons -----------------------------------------------------------------------------


def test_a_tie_of_two_players_is_half_a_win_of_each(value):
    columns = {
        "a": ["us", "us", "us"],
        "b": ["them", "them", "them"],
        "won": ["us", "them", "tie"],
    }
    keys = {"type": "elo", "a": "a", "b": "b", "winner": "won", "of": "us"}
    assert value(columns, **keys) == pytest.approx(1000, abs=1e-9)
