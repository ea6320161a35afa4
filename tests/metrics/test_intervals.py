import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.proportion import proportion_confint

from pytest_evalmetrics.ext import MetricOptions, TaskRewards
from pytest_evalmetrics.metrics import BoundMetric, Names
from pytest_evalmetrics.metrics.intervals import estimate
from pytest_evalmetrics.metrics.samples import Sample
from pytest_evalmetrics.spec.metric_names import MetricName


def of(name, rewards, options=None, clusters=None, **keywords):
    metric = (
        name
        if isinstance(name, BoundMetric)
        else Names(options or MetricOptions()).bind(name)
    )
    tasks = tuple(range(len(rewards)))
    sample = Sample(TaskRewards.from_lists(rewards), tasks, clusters, "reward", 0)
    return estimate(metric, sample, **keywords)


def ends(result):
    assert result.interval is not None, result.reason
    return pytest.approx([result.interval.low, result.interval.high], abs=1e-9)


def custom(function):
    """What a user writes: nested lists in, a number out."""
    return BoundMetric(MetricName("custom"), function)


FIRST_K = MetricOptions(pass_estimator="first_k")  # noqa: S106 - the "pass" of pass@k
GRADED = [[0.2, 0.4], [0.9, 0.7], [0.5, 0.6], [0.1, 0.0], [1.0, 0.8]]


def test_a_mean_has_students_t_over_tasks():
    means = np.mean(GRADED, axis=1)
    for level in (0.95, 0.5):
        result = of("mean_reward", GRADED, level=level)
        expected = scipy_stats.t.interval(
            level, 4, loc=means.mean(), scale=scipy_stats.sem(means)
        )
        assert list(expected) == ends(result)
        assert (result.interval.method, result.tasks, result.rollouts) == ("t", 5, 10)


@pytest.mark.parametrize(
    ("name", "tasks", "successes"),
    [
        # whose tasks are all at 0 or 1: 7 tasks of 3 rollouts are 7 observations
        ("pass@1", [[1, 1, 1]] * 5 + [[0, 0, 0]] * 2, 5),
        ("pass^2", [[1, 1, 1]] * 5 + [[0, 0, 0]] * 2, 5),
        ("pass_rate", [[1, 1, 1]] * 5 + [[0, 0, 0]] * 2, 5),
        # without spread: never an interval of no width
        ("pass@1", [[1]] * 8, 8),
        ("pass@1", [[0]] * 8, 0),
        ("pass@1", [[1, 0]] * 8, 4),
        ("pass_rate", [[1, 0, 0, 0]] * 8, 2),
    ],
)
def test_a_rate_without_fractions_or_without_spread_has_the_exact_one_over_tasks(
    name, tasks, successes
):
    result = of(name, tasks)
    assert result.interval.method == "clopper-pearson"
    assert (result.tasks, result.rollouts) == (len(tasks), sum(map(len, tasks)))
    assert list(proportion_confint(successes, len(tasks), method="beta")) == ends(
        result
    )
    assert result.interval.high - result.interval.low > 0.3


@pytest.mark.parametrize(
    "name", ["pass_rate", "pass@1", "pass^2", "mean_reward", "mean/reward"]
)
def test_a_rollout_that_fails_does_not_raise_the_lower_end_of_a_rate(name):
    perfect, broken = [[1] * 4] * 20, [*[[1] * 4] * 19, [1, 1, 1, 0]]
    unit = (0.0, 1.0)
    assert (
        of(name, broken, ends=unit).interval.low
        < of(name, perfect, ends=unit).interval.low
    )
    flipped = [[[1 - r for r in task] for task in tasks] for tasks in (perfect, broken)]
    higher, high = (
        of(name, tasks, ends=unit).interval.high for tasks in reversed(flipped)
    )
    assert higher >= high
    # where most tasks are neither, it is Student's t
    low, high = scipy_stats.t.interval(0.95, 7, 0.5, np.sqrt(0.25**2 * 8 / 7 / 8))
    estimate = of("pass_rate", [[1, 1, 1, 0], [1, 0, 0, 0]] * 4)
    assert [low, high] == ends(estimate)


def test_unequal_counts_have_the_linearised_ratio():
    tasks = [[1, 0, 1], [1], [0, 0, 0, 1], [1, 1]]
    result = of("pass_rate", tasks)
    assert result.value == 0.6
    y, m = np.array([2, 1, 1, 2]), np.array([3, 1, 4, 2])
    # Cochran 1977, equation 6.4, without the finite-population correction
    se = np.sqrt(np.sum((y - 0.6 * m) ** 2) / 3 * 4) / m.sum()
    low, high = scipy_stats.t.interval(0.95, 3, loc=0.6, scale=se)
    assert [max(low, 0), min(high, 1)] == ends(result)
    pooled = of("mean/reward", tasks)
    assert [low, high] == ends(pooled)
    assert pooled.interval.method == "t"


def test_clusters_are_what_is_independent():
    clusters = np.array([0, 0, 1, 2, 2])
    result = of("mean_reward", GRADED, clusters=clusters)
    means = np.mean(GRADED, axis=1)
    fit = OLS(means, np.ones(5)).fit(
        cov_type="cluster",
        cov_kwds={"groups": clusters, "use_correction": True, "df_correction": True},
        use_t=True,
    )
    assert result.interval.method == "clustered t"
    assert list(fit.conf_int()[0]) == ends(result)


@pytest.mark.parametrize("n", [6, 7, 8, 9, 17, 60, 2500, 30_000])
def test_the_median_lies_between_two_order_statistics(n):
    values = np.random.default_rng(n).normal(size=n)
    peer = scipy_stats.quantile_test(values, q=0, p=0.5)
    for level in (0.95, 0.5):
        result = of("median", [[v] for v in values], level=level)
        assert result.value == np.median(values)
        assert result.interval.method == "order statistics"
        assert list(peer.confidence_interval(level)) == ends(result)


def test_a_median_of_ties_reaches_to_the_next_values():
    result = of("median", [[v] for v in [0.2] + [0.5] * 20 + [0.7, 0.9]])
    assert ends(result) == [0.2, 0.7]
    result = of("median", [[v] for v in [1.0] * 20 + [0.25, 0.75]])
    assert ends(result) == [0.75, 1.0]


@pytest.mark.parametrize(
    ("names", "tasks", "reason"),
    [
        (
            ["mean_reward", "max@1", "mean/reward", "median"],
            [[0.1, 0.2, 0.3]] * 20,
            "every task has the same value, which says nothing of the spread",
        ),
        (
            ["mean_reward", "pass@1", "median", "mean/reward"],
            [[], [1, 0, 1, 0]],
            "a single task says nothing of the spread between tasks",
        ),
        (["median"], GRADED, "5 tasks are too few for an interval of their median"),
    ],
)
def test_where_there_is_no_interval_there_is_a_reason(names, tasks, reason):
    for name in names:
        result = of(name, tasks)
        assert (result.interval, result.reason) == (None, reason), name
    assert (
        "one cluster"
        in of("mean_reward", GRADED, clusters=np.zeros(5, dtype=int)).reason
    )


def test_a_custom_metric_is_evaluated_on_resampled_tasks():
    metric = custom(lambda tasks: float(np.median([sum(t) / len(t) for t in tasks])))
    tasks = [[v, v + 0.1] for v in np.random.default_rng(5).normal(size=40)]
    result, peer = of(metric, tasks), of("median", tasks)
    assert (result.value, result.interval.method) == (peer.value, "bootstrap")
    assert result.interval.low == pytest.approx(peer.interval.low, abs=0.15)
    assert result.interval.high == pytest.approx(peer.interval.high, abs=0.15)


def test_clusters_are_resampled_whole():
    # two values, one per cluster: a resample of 2 clusters has the sum 0, 6 or 12
    tasks, clusters = np.repeat([[0.0], [1.0]], 6, axis=0), np.repeat([0, 1], 6)
    seen = set()
    metric = custom(
        lambda tasks: seen.add(sum(t[0] for t in tasks)) or float(len(seen))
    )
    of(metric, tasks, clusters=clusters)
    assert seen == {0.0, 6.0, 12.0}
    # three or more of five draws are the lowest of five clusters with a chance of 0.058 > 0.025
    tasks, clusters = (
        np.repeat(np.linspace(0, 1, 5)[:, None], 20, axis=0),
        np.repeat(range(5), 20),
    )
    for order in (slice(None), np.arange(100).reshape(5, 20).T.ravel()):
        assert ends(of("median", tasks[order], clusters=clusters[order])) == [0.0, 1.0]


def test_a_custom_metric_that_is_not_defined_on_resamples_has_no_interval():
    metric = custom(lambda tasks: 1.0 / (len({t[0] for t in tasks}) - 1))
    result = of(metric, [[0.0], [1.0]])
    assert result.value == 1.0
    assert result.interval is None
    assert "on resampled tasks the metric is not defined" in result.reason
    assert "ZeroDivisionError" in result.reason


def test_too_much_to_resample_is_reported():
    calls = []
    metric = custom(lambda _: calls.append(1) or 0.5)
    result = of(metric, [[0.5] * 11] * 2000)
    assert result.interval is None
    assert "more than 20000 rollouts" in result.reason
    assert (
        of(metric, [[0.5]] * 2500).reason
        == "2500 tasks are too many to resample this metric"
    )
    clusters = np.arange(20_002)
    result = of("median", [[0.1], [0.2]] * 10_001, clusters=clusters)
    assert "more than 20000 tasks" in result.reason
    assert len(calls) == 2


@settings(max_examples=40)
@given(
    st.lists(
        st.lists(st.integers(0, 1).map(float), min_size=2, max_size=5), min_size=1
    ),
    st.sampled_from(["pass@1", "pass@2", "pass^2", "pass_rate"]),
    st.sampled_from([0.5, 0.95, 0.99]),
)
def test_a_rates_interval_holds_it_and_lies_in_0_to_1(tasks, name, level):
    result = of(name, tasks, level=level)
    if len(tasks) == 1:
        assert result.interval is None
        return
    assert 0 <= result.interval.low <= result.value + 1e-12
    assert result.value - 1e-12 <= result.interval.high <= 1
    assert result.interval.low < result.interval.high


@settings(max_examples=40)
@given(
    st.lists(
        st.lists(st.floats(-5, 5), min_size=1, max_size=4), min_size=2, max_size=9
    ),
    st.sampled_from(["mean_reward", "max@2", "mean/reward"]),
)
def test_the_interval_of_a_mean_over_few_tasks_is_centred_on_it(tasks, name):
    result = of(name, tasks, FIRST_K)
    assume(result.interval is not None)
    middle = (result.interval.low + result.interval.high) / 2
    assert middle == pytest.approx(result.value, abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_the_interval_of_a_skewed_mean_is_longer_towards_its_tail(seed):
    latencies = np.random.default_rng(seed).lognormal(0, 1, 40)
    mean = latencies.mean()
    slow = of("mean_reward", [[value] for value in latencies]).interval
    assert slow.high - mean > 1.2 * (mean - slow.low)
    mirrored = of("mean_reward", [[-value] for value in latencies]).interval
    assert mirrored.low - -mean < 1.2 * (-mean - mirrored.high)


def test_the_interval_of_a_skewed_mean_stays_in_the_range_of_its_score():
    grades = [[5.0]] * 30 + [[0.0]] * 4
    assert of("mean_reward", grades, ends=(0.0, 5.0)).interval.high <= 5
    costs = [[0.0]] * 30 + [[9.0]] * 2
    assert of("mean_reward", costs, ends=(0.0, np.inf)).interval.low >= 0


@settings(max_examples=40)
@given(
    st.lists(st.lists(st.floats(-5, 5), min_size=1, max_size=4), min_size=1),
    st.sampled_from(["mean_reward", "max@2", "mean/reward"]),
)
def test_a_mean_has_an_interval_or_a_reason(tasks, name):
    result = of(name, tasks, FIRST_K)
    assert (result.interval is None) == bool(result.reason)


# -- the tasks that a metric of one task is of -----------------------------------------------


def test_the_worst_task_is_named():
    assert of("worst_task", [[1.0], [0.25, 0.25], [0.5]]).of_tasks == ("1",)


def test_all_tasks_that_are_as_bad_are_named():
    assert of("worst_task", [[0.5], [1.0], [0.5]]).of_tasks == ("0", "2")


def test_ten_of_the_worst_tasks_are_named():
    names = of("worst_task", [[0.0]] * 12).of_tasks
    assert names == tuple(str(task) for task in range(10))


@pytest.mark.parametrize(("name", "task"), [("min/reward", "2"), ("max/reward", "0")])
def test_the_task_of_the_lowest_or_the_highest_rollout_is_named(name, task):
    assert of(name, [[0.5, 1.0], [], [0.25, 0.9]]).of_tasks == (task,)


def test_a_mean_is_of_no_task_alone():
    assert of("mean_reward", GRADED).of_tasks == ()


# -- why there is no interval ----------------------------------------------------------------


def reason(name, rewards, **keywords):
    result = of(name, rewards, **keywords)
    assert result.interval is None
    return result.reason


def test_one_task_shows_no_spread():
    words = "a single task says nothing of the spread between tasks"
    assert reason("mean_reward", [[1, 0], []]) == words


def test_one_cluster_shows_no_spread():
    words = "all tasks are in one cluster, which says nothing of the spread"
    assert reason("mean_reward", GRADED, clusters=np.zeros(5, dtype=int)) == words


def test_equal_numbers_without_a_range_show_no_spread():
    words = "every task has the same value, which says nothing of the spread"
    assert reason("mean_reward", [[7]] * 5) == words
    assert reason("median", [[7]] * 9) == words


def test_few_tasks_have_no_interval_of_their_median():
    words = "3 tasks are too few for an interval of their median"
    assert reason("median", [[1], [2], [3]]) == words


def test_few_tasks_have_no_interval_of_a_quantile():
    words = "9 tasks are too few for an interval of p95"
    assert reason("p95", [[task] for task in range(9)]) == words


def test_resamplings_that_are_all_alike_have_no_interval():
    def count(task_rewards):
        return float(len(task_rewards))

    words = "every resampling of the tasks gives the same value"
    assert reason(custom(count), GRADED) == words


def test_a_metric_that_resampled_tasks_do_not_define_has_no_interval():
    def distinct(task_rewards):
        if len({tuple(task) for task in task_rewards}) < len(task_rewards):
            raise ValueError("twice the same task")
        return 1.0

    assert reason(custom(distinct), GRADED) == (
        "on resampled tasks the metric is not defined: metric 'custom' failed in compute: "
        "ValueError: twice the same task"
    )


def test_an_array_form_that_resampled_tasks_do_not_define_has_no_interval():
    class Distinct:
        def compute_array(self, rewards):
            if len(set(rewards.values.tolist())) < len(rewards.values):
                raise ValueError("twice the same reward")
            return 1.0

    metric = BoundMetric(MetricName("custom"), Distinct())
    assert reason(metric, [[0.1], [0.2], [0.3]]) == (
        "on resampled tasks the metric is not defined: metric 'custom' failed in compute: "
        "ValueError: twice the same reward"
    )


def test_a_metric_without_a_vectorised_form_is_not_resampled_over_many_rollouts():
    words = "not computed over more than 20000 rollouts for a metric without a vectorised form"
    many = [[0.5] * 10_001] * 2
    assert reason(custom(lambda tasks: float(len(tasks[0]))), many) == words


def test_an_estimate_counts_the_tasks_and_rollouts_behind_it():
    result = of("mean_reward", [[1, 0], [], [1]])
    assert (result.tasks, result.rollouts) == (2, 3)
    assert (result.score, result.missing) == ("reward", 0)


def test_a_value_that_is_known_already_is_kept():
    assert of("mean_reward", GRADED, value=0.123).value == 0.123


def test_a_mean_stays_within_its_range():
    skewed = [[0.0]] * 9 + [[10.0]]
    wide = of("mean_reward", skewed)
    within = of("mean_reward", skewed, ends=(0.0, 10.0))
    assert wide.interval.low < 0
    assert within.interval.low == 0
    assert within.interval.high == min(wide.interval.high, 10.0)
