"""What metrics and scores state of their values."""

import math
import re
from pathlib import Path

import pytest

from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.model.metric_facts import (
    STATISTIC_FACTS,
    USAGE_SCORES,
    MetricFacts,
    Range,
    ScoreFacts,
    facts_of,
    score_range,
)

INFINITE = (-math.inf, math.inf)


@pytest.mark.parametrize(
    ("limits", "named", "low", "high", "why"),
    [
        (None, "", *INFINITE, ""),
        ("as_score", "", *INFINITE, ""),
        (INFINITE, "", *INFINITE, ""),
        ((0.0, 1.0), "", 0, 1, "a rate from 0 to 1"),
        ((0.0, 1.0), "a kind", 0, 1, "a rate from 0 to 1"),
        ((0.0, math.inf), "", 0, math.inf, "never below 0"),
        ((0.0, math.inf), "a kind", 0, math.inf, "a kind, which is from 0"),
        ((-1.0, 1.0), "", -1, 1, "from -1 to 1"),
        ((-1.0, 1.0), "kappa", -1, 1, "kappa, which is from -1 to 1"),
        ((-math.inf, 5.0), "", -math.inf, 5, "to 5"),
    ],
)
def test_a_range_is_said_in_words(limits, named, low, high, why):
    assert MetricFacts(limits=limits).range(named) == Range(low, high, why)


def test_the_largest_change_of_a_metric_is_the_width_of_its_range():
    assert Range(-1, 1).width == 2
    assert Range().width == math.inf


class Plain:
    """A metric that states nothing."""


class Stating:
    direction = "lower"
    limits = (1, 5)
    samples_needed = 3
    counts_passes = True
    no_interval = "none is known"


class Bounded:
    bounded = True


class ByObject:
    @property
    def samples_needed(self):
        return 3


def test_a_class_that_states_nothing_has_no_facts():
    assert facts_of(Plain) == MetricFacts()


def test_the_attributes_of_a_class_are_its_facts():
    assert facts_of(Stating) == MetricFacts(
        direction="lower",
        limits=(1.0, 5.0),
        rollouts=3,
        counts_passes=True,
        has_interval=False,
    )


def test_a_bounded_metric_is_a_rate():
    assert facts_of(Bounded).limits == (0.0, 1.0)


def test_rollouts_that_only_an_object_knows_are_unknown_of_its_class():
    assert facts_of(ByObject).rollouts == 0
    assert facts_of(ByObject()).rollouts == 3


@pytest.mark.parametrize(
    "limits", [(1, 0), (0, 0), (0,), (0, 1, 2), ("0", "1"), (True, 2), 5, "rate"]
)
def test_limits_that_are_no_range_are_refused(limits):
    metric = type("Odd", (), {"limits": limits})
    with pytest.raises(MetricError) as refused:
        facts_of(metric)
    assert refused.value.message == (
        f"the limits of Odd are {limits!r}, expected two numbers, the lower first, or "
        "'as_score'"
    )


def test_a_direction_that_is_none_is_refused():
    metric = type("Odd", (), {"direction": "up"})
    with pytest.raises(MetricError) as refused:
        facts_of(metric())
    assert refused.value.message == (
        "the direction of Odd is 'up', expected 'higher', 'lower' or 'as_score'"
    )


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (None, None, Range()),
        (1.0, 5.0, Range(1, 5, "of clarity, which is a score from 1 to 5")),
        (0.0, None, Range(0, math.inf, "of clarity, which is a score from 0")),
        (None, 5.0, Range(-math.inf, 5, "of clarity, which is a score to 5")),
    ],
)
def test_the_range_of_a_score_is_that_of_its_scorer(low, high, expected):
    assert score_range("clarity", ScoreFacts(low=low, high=high)) == expected


@pytest.mark.parametrize(
    ("statistic", "has_interval"),
    [("mean", True), ("max", False), ("min", False), ("median", False), ("std", False)],
)
def test_of_the_statistics_of_a_score_the_mean_has_an_interval(statistic, has_interval):
    assert STATISTIC_FACTS[statistic].has_interval is has_interval


def test_a_standard_deviation_is_never_below_0_and_no_direction_is_better():
    deviation = STATISTIC_FACTS["std"]
    assert deviation.limits == (0.0, math.inf)
    assert deviation.direction is None


@pytest.mark.parametrize("statistic", ["mean", "max", "min", "median"])
def test_other_statistics_have_the_range_and_the_direction_of_their_score(statistic):
    facts = STATISTIC_FACTS[statistic]
    assert (facts.direction, facts.limits) == ("as_score", "as_score")


def test_a_range_without_a_name_is_said_by_its_ends():
    assert MetricFacts(limits=(0.0, 5.0)).range().why == "from 0 to 5"


DOCUMENTED = re.compile(r"the columns of usage: less of (.*?) is better", re.DOTALL)


def test_the_columns_of_usage_are_those_of_the_documentation():
    text = (Path(__file__).parents[2] / "docs/gates.md").read_text(encoding="utf-8")
    columns = re.findall("`([a-z_]+)`", DOCUMENTED.search(text)[1])
    assert set(columns) == USAGE_SCORES
