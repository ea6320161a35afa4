from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from gates.making import checked, compared, make_combined, make_pair, rule
from scipy import stats as oracle

from pytest_evalmetrics.errors import MetricError
from pytest_evalmetrics.results import Verdict


def weighted_median(values, times):
    """numpy's median of values that occur so many times."""
    return float(np.median(np.repeat(values, times.astype(int))))


def weighted_mean(values, times):
    return float((values * times).sum() / times.sum())  # no BLAS: it wakes every core


def all_resamples(before, after, combine=np.median):
    """The damage on each of the n^n resamples of n tasks."""
    before, after = np.array(before), np.array(after)
    picks = map(list, product(range(len(before)), repeat=len(before)))
    return np.array([combine(before[p]) - combine(after[p]) for p in picks])


def average(values):
    """numpy's mean in a third of its time."""
    return float(values.sum()) / len(values)


def grades(seed, n, loss=0):
    rng = np.random.default_rng(seed)
    before = rng.integers(0, 5, n) / 4
    return before, np.clip(before - loss * (rng.random(n) < 0.3), 0, 1)


@pytest.mark.parametrize("weighted", [None, weighted_median], ids=["by index", "by count"])
def test_p_is_the_share_of_all_resamples_without_damage(weighted):
    before, after = [0.9, 0.8, 0.4, 0.7, 0.95], [0.6, 0.85, 0.1, 0.2, 0.9]
    found = compared(make_combined(before, after), combine_weighted=weighted)
    known = all_resamples(before, after)
    assert found.test == "paired bootstrap"
    assert found.draws == 9_999
    share = np.mean(known <= 1e-12)
    error = 4 * math.sqrt(share * (1 - share) / 9_999)
    assert found.p == pytest.approx(share, abs=error)
    assert found.se == pytest.approx(known.std(), rel=0.03)
    # the replicates take few values, so that the quantiles are these
    assert found.low == pytest.approx(np.quantile(known, 0.025), abs=1e-12)
    assert found.high == pytest.approx(np.quantile(known, 0.975), abs=1e-12)


@pytest.mark.parametrize("weighted", [None, weighted_mean], ids=["by index", "by count"])
def test_the_interval_of_a_mean_is_scipys(weighted):
    before, after = grades(1, 150, loss=0.5)
    pair = make_combined(before, after, np.mean)
    found = compared(pair, combine_weighted=weighted)
    known = oracle.bootstrap(
        (before - after,), np.mean, method="percentile", rng=np.random.default_rng(0)
    )
    assert found.draws == 9_999
    assert found.se == pytest.approx(known.standard_error, rel=0.04)
    ends = known.confidence_interval
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high), abs=0.006)


def test_many_tasks_with_few_distinct_values_take_no_longer():
    before, after = grades(2, 50_000, loss=0.25)
    calls = []

    def combine(values, times):
        calls.append(len(values))
        return weighted_mean(values, times)

    found = compared(make_combined(before, after, np.mean), combine_weighted=combine)
    assert max(calls) <= 25
    d = before - after
    assert found.se == pytest.approx(d.std() / math.sqrt(len(d)), rel=0.03)
    assert found.p == pytest.approx(1 / 10_000)


def test_many_tasks_with_their_own_values_are_drawn_by_weight():
    rng = np.random.default_rng(3)
    before = rng.random(2_500)
    after = before - rng.normal(0.001, 0.3, 2_500)
    pair = make_combined(before, after, np.mean)
    found = compared(pair, combine_weighted=weighted_mean)
    assert found.draws == 9_999
    assert found.se == pytest.approx(oracle.sem(before - after), rel=0.03)
    t = oracle.ttest_rel(before, after, alternative="greater")
    assert found.p == pytest.approx(t.pvalue, abs=0.02)


def test_a_very_large_number_of_them_is_drawn_less_often():
    rng = np.random.default_rng(4)
    before = rng.random(20_001)
    pair = make_combined(before, before - 0.1 * rng.random(20_001), np.mean)
    found = compared(pair, combine_weighted=weighted_mean)
    assert (found.draws, found.p) == (1_999, 1 / 2_000)


def test_too_many_tasks_for_a_metric_without_weights_are_refused_with_the_way_out():
    rng = np.random.default_rng(5)
    before = rng.random(2_049)
    pair = make_combined(before, before - 0.5)
    check = checked(pair)
    assert check.verdict is Verdict.INCONCLUSIVE
    assert check.evidence["why"] == "untested"
    assert "2049 tasks are too many to resample it (2048 at most)" in check.reason
    assert "rule: absolute" in check.hint
    # which is one, as is any number of tasks that it can be resampled on
    told = checked(pair, rule("absolute", max_drop=0.1))
    assert told.verdict is Verdict.FAIL
    assert checked(pair, rule("absolute", max_drop=0.6)).verdict is Verdict.PASS
    few = make_combined(before[:2_048], before[:2_048] - 0.5)
    assert checked(few).verdict is Verdict.FAIL


def test_a_metric_that_gets_better_needs_no_test():
    before = np.random.default_rng(6).random(2_049)
    assert checked(make_combined(before, before + 0.1)).verdict is Verdict.PASS


@pytest.mark.parametrize("weighted", [None, weighted_mean])
def test_ten_times_the_draws_where_p_is_near_alpha(weighted):
    pair = make_combined(*grades(7, 40, loss=0.1), average)
    found = compared(pair, combine_weighted=weighted)
    near = compared(pair, combine_weighted=weighted, alpha=found.p)
    assert (found.draws, near.draws) == (9_999, 99_990)
    assert near.p == pytest.approx(found.p, abs=4 * math.sqrt(found.p * (1 - found.p) / 9_999))


def test_the_same_input_gives_the_same_numbers_and_another_gate_others():
    pair = make_combined(*grades(8, 60, loss=0.1), average)
    first, again, other = (compared(pair, gate_id=g) for g in ("a", "a", "b"))
    assert (first.p, first.low, first.seed) == (again.p, again.low, again.seed)
    assert first.seed != other.seed
    assert first.se != other.se


@pytest.mark.parametrize("clusters", [None, np.arange(60) // 4])
@pytest.mark.parametrize("weighted", [None, weighted_mean])
def test_the_order_of_the_tasks_changes_no_draw(weighted, clusters):
    before, after = grades(9, 60, loss=0.25)
    order = np.random.default_rng(0).permutation(60)
    pair = make_combined(before, after, average)
    found = compared(pair, combine_weighted=weighted, clusters=clusters)
    again = compared(
        make_combined(before[order], after[order], average, tasks=tuple(order.tolist())),
        combine_weighted=weighted,
        clusters=None if clusters is None else 7 - clusters[order] % 8 + clusters[order] // 8 * 8,
    )
    assert (found.p, found.low, found.high, found.se) == (again.p, again.low, again.high, again.se)


@pytest.mark.parametrize(("n", "weighted"), [(120, None), (2_400, weighted_mean)])
def test_clusters_are_drawn_whole(n, weighted):
    rng = np.random.default_rng(10)
    clusters = np.arange(n) // 12
    before = rng.random(n)
    after = before - rng.normal(0.02, 0.2, n // 12)[clusters]
    pair = make_combined(before, after, np.mean)
    found = compared(pair, combine_weighted=weighted, clusters=clusters)
    groups = (before - after).reshape(-1, 12).mean(axis=1)
    assert found.test == "clustered paired bootstrap"
    assert found.units == n // 12
    assert found.se == pytest.approx(groups.std() / math.sqrt(n // 12), rel=0.04)


def test_the_same_on_both_sides_is_not_resampled():
    def never(picked):
        raise AssertionError(picked)

    combined = make_combined([0.1, 0.9], [0.1, 0.9], difference=never)
    opaque = make_pair([[1, 0], [1]], [[1, 0], [1]], baseline=None, current=None, difference=never)
    for pair in (combined, opaque):
        found = compared(pair)
        assert (found.p, found.draws, found.drop) == (1.0, 0, 0.0)
        assert found.unseen == pytest.approx(1 - 0.01**0.5)
        assert checked(pair).evidence["seed"] is None


def test_one_task_or_one_cluster_tells_nothing():
    assert math.isnan(compared(make_combined([1.0], [0.5])).p)
    clusters = np.zeros(30, dtype=int)
    before, after = grades(11, 30, loss=0.25)
    assert math.isnan(compared(make_combined(before, after), clusters=clusters).p)
    assert checked(make_combined([1.0], [0.5])).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("weighted", [None, weighted_median])
def test_what_no_resample_changes_is_no_proof(weighted):
    # the median falls from 1 to 0 on each resample of three tasks alike
    found = compared(make_combined([1.0] * 3, [0.0] * 3), combine_weighted=weighted)
    assert found.p == 0.5**3
    assert math.isnan(found.low)


def test_a_metric_that_fails_on_a_resample_is_inconclusive_not_a_traceback():
    def difference(picked):
        if len(set(picked.tolist())) < len(picked):
            raise MetricError("metric 'mine' failed in compute: ValueError: two of one kind")
        return 0.4

    pair = make_combined([0.9, 0.8, 0.7], [0.5, 0.4, 0.3], difference=difference)
    check = checked(pair)
    assert check.verdict is Verdict.INCONCLUSIVE
    assert "on resampled tasks it is not defined: metric 'mine' failed" in check.reason
    assert check.evidence["p"] is None
    assert checked(pair, rule("absolute", max_drop=0.1)).verdict is Verdict.FAIL


def test_a_replicate_that_is_no_number_is_inconclusive():
    pair = make_combined([0.9, 0.8, 0.7], [0.5, 0.4, 0.3], difference=lambda _: math.nan)
    assert checked(pair).verdict is Verdict.INCONCLUSIVE
    few = make_combined([0.9, 0.8, 0.7], [0.5, 0.4, 0.3])
    check = checked(few, combine_weighted=lambda _, __: math.inf)
    assert check.verdict is Verdict.INCONCLUSIVE


def test_evidence_of_a_bootstrap_tells_how_to_repeat_it():
    before, after = grades(12, 50, loss=0.5)
    evidence = checked(make_combined(before, after)).evidence
    assert evidence["draws"] == 9_999
    assert evidence["numpy"] == np.__version__
    assert int(evidence["seed"]) > 0
