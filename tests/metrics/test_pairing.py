import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.metrics import BoundMetric, Pairing
from pytest_evalmetrics.metrics.alignment import positions
from pytest_evalmetrics.spec.metric_names import parse


def pairing(plan, baseline, current, expected=0):
    wanted = np.maximum(np.diff(current.offsets), expected)
    return Pairing(plan, current, baseline, wanted)


def paired(plan, name, baseline, current):
    both = pairing(plan, baseline, current)
    return both.pair(both.plan.names.bind(name))


@pytest.fixture
def overlapping(planned, table):
    """Two runs that share the tasks 2 and 3."""
    baseline = table([[1, 1], [0, 1], [1, 0]], tasks=["1", "2", "3"])
    current = table([[0, 1], [0, 0], [1, 1]], tasks=[2, 3, 4])
    return paired(planned(), "mean_reward", baseline, current)


def test_common_tasks_are_paired_by_their_ids(overlapping):
    assert overlapping.tasks == (2, 3)
    assert overlapping.baseline.tolist() == [0.5, 0.5]
    assert overlapping.current.tolist() == [0.5, 0.0]


def test_a_pair_holds_the_rewards_of_common_tasks(overlapping):
    assert overlapping.rewards_baseline.to_lists() == [[0, 1], [1, 0]]
    assert overlapping.rewards_current.to_lists() == [[0, 1], [0, 0]]


def test_values_are_those_of_common_tasks(overlapping):
    assert overlapping.value_baseline == 0.5
    assert overlapping.value_current == 0.25


def test_tasks_of_one_side_are_listed(overlapping):
    assert overlapping.added == (4,)
    assert overlapping.removed == ("1",)
    assert overlapping.excluded == ()


def test_tasks_of_no_clusters_are_paired_without_any(overlapping):
    assert overlapping.clusters is None


def test_a_task_without_a_value_on_one_side_is_excluded_and_listed(planned, table):
    baseline = table([[1, 1], [0], [1, 0], [1, 1]], tasks=["a", "b", "c", "d"])
    current = table(
        [[1, 1], [1, 1], [None, 1], [None, None]], tasks=["a", "b", "c", "d"]
    )
    pair = paired(planned(), "pass@2", baseline, current)
    assert pair.tasks == ("a",)
    assert pair.excluded == ("b", "c", "d")
    assert pair.bounded
    for name in ("mean_reward", "std/reward"):
        assert paired(planned(), name, baseline, current).excluded == ("d",)


def test_a_missing_reward_counts_on_both_sides_as_the_benchmark_sets(planned, table):
    baseline, current = table([[1, 1], [1, None]]), table([[None, None], [None, 1]])
    plan = planned(expect={"missing_reward": 0.0})
    pair = paired(plan, "mean_reward", baseline, current)
    assert (pair.value_baseline, pair.value_current) == (0.75, 0.25)
    both = pairing(plan, baseline, current)
    assert both.missing(both.plan.names.bind("mean_reward")) == 0.0
    assert (
        both.pair_at_worst(both.plan.names.bind("mean_reward"), higher_is_better=True)
        is None
    )


@pytest.mark.parametrize(
    ("name", "best", "bounded"),
    [("avg", 1, True), ("avg", 3, False), ("sum", 1, False)],
)
def test_a_metric_is_a_rate_where_its_rewards_and_its_values_are(
    planned, table, name, best, bounded
):
    sides = table([[best], [0], [1], [0], [0]]), table([[1], [0], [1], [0], [0]])
    assert paired(planned(), name, *sides).bounded is bounded


@pytest.mark.parametrize("name", ["median", "worst_task", "max/reward", "std/reward"])
def test_what_is_no_mean_over_tasks_can_be_resampled(planned, table, name):
    def compared(places):
        sides = [[1, 1, 0], [0, 1], [1, 0]], [[0, 1], [0, 0], [1, 1, 0, 0]]
        return paired(
            planned(), name, *(table([side[i] for i in places]) for side in sides)
        )

    pair = compared([0, 1, 2])
    for places in ([0, 1, 2], [0, 0, 2]):
        again = compared(places)
        change = pytest.approx(again.value_baseline - again.value_current, abs=1e-12)
        one, other = np.array(places), np.array(places) + 3
        forward, back = pair.difference(
            np.array([one, other]), np.array([other, one])
        ).tolist()
        assert -back == forward == change


def test_breakdowns_clusters_and_other_scores(planned, table):
    labels = {"level": ["e", "h", "e"], "repo": ["r", "s", "s"]}
    baseline = table([[1], [0], [0]], accuracy=[0.25, 1, 0.5])
    current = table([[1], [0], [0]], accuracy=[0.75, 1, 0.5], labels=labels)
    # the baseline keeps no labels: those of the run's tasks are its tasks'
    pair = paired(
        planned(cluster="repo"), "mean_reward/accuracy[level=e]", baseline, current
    )
    assert pair.name == "mean_reward/accuracy[level=e]"
    assert pair.tasks == (0, 2)
    assert pair.baseline.tolist() == [0.25, 0.5]
    assert pair.current.tolist() == [0.75, 0.5]
    assert pair.clusters.tolist() == [0, 1]


def test_what_is_missing_in_a_breakdown_is_missing(planned, table):
    labels = {"level": ["hard", "hard", "easy", "easy", "hard", "hard"]}
    run = table([[1, None], [1, None], [0, 1]], labels=labels)
    both = pairing(planned(), table([[1, 1], [1, 1], [1, None]]), run, expected=3)
    hard = both.plan.names.bind("mean_reward[level=hard]")
    # of the run three of six: a task whose rollouts are all hard lacks its third one too
    assert both.missing(hard) == 0.5
    worst = both.pair_at_worst(hard, higher_is_better=True)
    assert worst.current.tolist() == pytest.approx([1 / 3, 1 / 3])
    assert worst.baseline.tolist() == [1, 1]


def test_a_breakdown_of_a_baseline_without_labels_may_have_lost_any_task_that_is_gone(
    planned, table
):
    run = table([[1], [1], [0]], labels={"level": ["hard", "easy", "hard"]})
    baseline = table([[1], [1], [0], [1], [1]])
    pair = paired(planned(), "mean_reward[level=hard]", baseline, run)
    assert pair.tasks == (0, 2)
    assert pair.removed == (3, 4)
    labels = {"level": ["hard", "easy", "hard", "easy", "hard"]}
    before = table([[1], [1], [0], [1], [1]], labels=labels)
    assert paired(planned(), "mean_reward[level=hard]", before, run).removed == (4,)


def test_the_worst_of_a_metric_that_is_not_monotone_is_the_worst_way(planned, table):
    # where less spread is better, a missing reward of the run is at that end which spreads more
    both = pairing(
        planned(), table([[1, 1], [1, 1]]), table([[1, 1], [1, None]]), expected=2
    )
    metric = both.plan.names.bind("std/reward")
    for higher_is_better, worst in ((False, np.std([1, 1, 1, 0], ddof=1)), (True, 0)):
        pair = both.pair_at_worst(metric, higher_is_better=higher_is_better)
        assert pair.value_current == pytest.approx(worst)


@pytest.mark.parametrize(
    ("rewards", "threshold", "worst"),
    [
        (
            [[7, None], [9, 8]],
            5,
            (0.75, 1.0),
        ),  # all that are there pass: a missing one may not
        (
            [[1, None], [2, 3]],
            5,
            (0.0, 0.25),
        ),  # none of them passes: the baseline's may
        ([[0.4, None], [0.6, 0.6]], 0.5, (0.5, 0.75)),
    ],
)
def test_a_missing_rollout_at_its_worst_fails_in_the_run_and_passes_in_the_baseline(
    planned, table, rewards, threshold, worst
):
    both = pairing(planned(pass_threshold=threshold), table(rewards), table(rewards))
    pair = both.pair_at_worst(both.plan.names.bind("pass@1"), higher_is_better=True)
    assert (pair.value_current, pair.value_baseline) == worst


def test_a_metric_that_fails_on_resampled_tasks_is_named(planned, table):
    class Mine:
        def task_values(self, rewards):
            return rewards.values

        def combine(self, values):
            if len(set(values.tolist())) < 3:
                raise ValueError("two of one kind")
            return float(values.max())

        def combine_weighted(self, values, times):
            return float("nan") if (times == 0).any() else float(values.max())

    both = pairing(planned(), table([[1], [0.5], [0]]), table([[1], [0.5], [0.25]]))
    pair = both.pair(BoundMetric(parse("mine"), Mine()))
    with pytest.raises(MetricError, match="metric 'mine'"):
        pair.difference(np.array([[0, 0, 1]]), np.arange(3)[None])
    with pytest.raises(MetricError, match="metric 'mine'"):
        pair.combine_weighted(np.ones(2), np.array([[2.0, 0.0]]))


# -- metrics over rows -----------------------------------------------------------------------

AGREEMENT = {"agreement": {"type": "accuracy", "gold": "gold", "predicted": "said"}}
KAPPA = {"kappa": {"type": "kappa", "gold": "gold", "predicted": "said"}}


def labelled(table, gold, said, **columns):
    """Make a run of one rollout a task, of labels by people and by a judge."""
    labels = {"gold": list(gold), "said": list(said)}
    return table([[1.0]] * len(gold), labels=labels, **columns)


def test_labels_that_only_one_side_has_are_the_same_labels_on_both(planned, table):
    baseline = labelled(table, "zzaa", "zzaz")
    current = labelled(table, "zzab", "zbab")
    pair = paired(planned(metrics=[AGREEMENT]), "agreement", baseline, current)
    assert (pair.value_baseline, pair.value_current) == (0.75, 0.75)


def test_a_row_is_worth_whether_its_labels_agree(planned, table):
    baseline = labelled(table, "zzaa", "zzaz")
    current = labelled(table, "zzab", "zbab")
    pair = paired(planned(metrics=[AGREEMENT]), "agreement", baseline, current)
    assert pair.rewards_baseline.numbers.tolist() == [1, 1, 1, 0]
    assert pair.rewards_current.numbers.tolist() == [1, 0, 1, 1]


def test_kappa_of_choices_of_tasks_is_computed_anew(planned, table):
    baseline = labelled(table, "aabb", "aabb")
    current = labelled(table, "aabb", "abab")
    pair = paired(planned(metrics=[KAPPA]), "kappa", baseline, current)
    assert (pair.value_baseline, pair.value_current) == (1, 0)
    before = np.arange(4)
    # kappa of the baseline less that of the run, and the reverse
    both = pair.difference(
        np.array([before, before + 4]), np.array([before + 4, before])
    )
    assert both.tolist() == [1, -1]


def test_rows_without_a_label_are_missing(planned, table):
    baseline = labelled(table, "aabb", "aabb")
    current = labelled(table, "aabb", ["a", "(missing)", "b", "b"])
    both = pairing(planned(metrics=[AGREEMENT]), baseline, current)
    metric = both.plan.names.bind("agreement")
    assert both.missing(metric) == 0.25
    assert both.pair(metric).excluded == (1,)


def test_a_row_that_is_missing_is_as_one_that_disagrees_at_worst(planned, table):
    baseline = labelled(table, "aabb", "aabb")
    current = labelled(table, "aabb", ["a", "(missing)", "b", "a"])
    both = pairing(planned(metrics=[AGREEMENT]), baseline, current)
    metric = both.plan.names.bind("agreement")
    worst = both.pair_at_worst(metric, higher_is_better=True)
    assert worst.value_current == 0.5
    assert worst.value_baseline == 1


WIN_RATE = {"wins": {"type": "win_rate", "score": "points", "reference": "other"}}


def test_a_higher_score_than_the_references_wins_and_an_equal_one_wins_half(
    planned, table
):
    rows = table([[1], [1], [1]], points=[0.9, 0.5, 0.1], other=[0.5, 0.5, 0.5])
    pair = paired(planned(metrics=[WIN_RATE]), "wins", rows, rows)
    assert pair.baseline.tolist() == [1, 0.5, 0]
    assert pair.rewards_current.numbers.tolist() == [1, 0.5, 0]


class Largest:
    """The largest of the tasks' values, reduced for many draws at once."""

    combines_draws = True

    def task_values(self, rewards):
        return rewards.values

    def combine(self, values):
        return values.max(axis=-1)

    def combine_weighted(self, values, times):
        return np.where(times > 0, values, np.nan).max(axis=-1)


def test_a_metric_may_reduce_many_draws_at_once(planned, table):
    both = pairing(planned(), table([[1], [0.5], [0]]), table([[0.25], [0.5], [0]]))
    pair = both.pair(BoundMetric(parse("largest"), Largest()))
    first = np.array([[0, 1, 2], [3, 4, 5]])
    assert pair.difference(first, first[::-1]).tolist() == [0.5, -0.5]


def test_a_draw_in_which_a_metric_is_undefined_is_an_error(planned, table):
    both = pairing(planned(), table([[1], [0.5]]), table([[1], [0.5]]))
    pair = both.pair(BoundMetric(parse("largest"), Largest()))
    with pytest.raises(MetricError, match="metric 'largest' returned nan"):
        pair.combine_weighted(np.ones(2), np.array([[1.0, 1.0], [1.0, 0.0]]))


def test_tasks_behind_the_others_are_located_too():
    places = positions(("b", "d", "a", "c"), ("a", "b", "c", "d"))
    assert places.tolist() == [1, 3, 0, 2]


IDS = st.one_of(
    st.lists(st.integers(-50, 50), unique=True),
    st.lists(st.integers(-50, 50).map(str), unique=True),
    st.lists(
        st.sampled_from(["a", "b", "1", "01", "-1", "", "é", "10", "2"]), unique=True
    ),
)


@settings(max_examples=50)
@given(IDS, IDS, st.booleans())
def test_each_task_is_located_by_its_text(tasks, among, ascending):
    if ascending:
        tasks, among = sorted(tasks), sorted(among)
    places = positions(tuple(tasks), tuple(among))
    texts = [str(t) for t in among]
    assert places.tolist() == [
        texts.index(str(t)) if str(t) in texts else -1 for t in tasks
    ]


# -- what a row of a forecast is worth -------------------------------------------------------


def forecast(planned, table, kind):
    """Return the worth of three rows: two that happened, one that did not."""
    keys = {"forecast": {"type": kind, "gold": "gold", "score": "p"}}
    rows = table([[1], [1], [1]], labels={"gold": ["1", "1", "0"]}, p=[0.9, 0.4, 0.3])
    pair = paired(planned(metrics=[keys]), "forecast", rows, rows)
    return pair.rewards_current.numbers.tolist()


def test_a_row_of_auroc_is_worth_its_score_reversed_where_it_should_be_low(
    planned, table
):
    assert forecast(planned, table, "auroc") == [0.9, 0.4, -0.3]


def test_a_row_of_a_brier_score_is_worth_its_loss(planned, table):
    assert forecast(planned, table, "brier") == pytest.approx([0.01, 0.36, 0.09])


# -- fields that the baseline lacks ----------------------------------------------------------


def test_a_run_without_rollouts_gives_a_baseline_no_fields(planned, table):
    run = table([[]], labels={"level": []})
    baseline = table([[1], [0]])
    pair = paired(planned(), "mean_reward", baseline, run)
    assert pair.tasks == ()
    assert pair.removed == (1,)


def test_a_baseline_with_fields_of_its_own_keeps_them(planned, table):
    baseline = table([[1], [0]], labels={"level": ["hard", "easy"]})
    run = table([[1], [1]], labels={"level": ["easy", "easy"]})
    pair = paired(planned(), "mean_reward[level=easy]", baseline, run)
    assert pair.tasks == (1,)
    assert pair.added == (0,)
