"""Thresholds: a number, or an end of its interval, against bounds; and remarks on them."""

import math

import numpy as np
import pytest

from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.ext import Estimate, RolloutTable
from pytest_evalmetrics.gates.sequential import Look
from pytest_evalmetrics.gates.thresholds import (
    blind_thresholds,
    check_threshold,
    check_thresholds,
    metrics_of_a_part,
    misplaced_threshold,
    ungrouped_rollouts,
)
from pytest_evalmetrics.model.bounds import ThresholdBound
from pytest_evalmetrics.model.estimates import Interval
from pytest_evalmetrics.model.gate_notes import (
    BlindThreshold,
    MetricOfPart,
    MisplacedPassThreshold,
    UngroupedRollouts,
)
from pytest_evalmetrics.model.reasons import NoInterval, OutOfBounds, Undefined
from pytest_evalmetrics.model.rollout_table import Category
from pytest_evalmetrics.model.verdicts import Gate, Verdict
from pytest_evalmetrics.spec import Threshold

INTERVAL = Interval(0.4, 0.6, level=0.95, method="t")


def estimate_of(value, **changed):
    defaults = {"tasks": 10, "rollouts": 40, "interval": INTERVAL, "reason": "words"}
    return Estimate("pass@1", value, **(defaults | changed))


def checked(estimate, interval=INTERVAL, **threshold):
    return check_threshold(
        estimate, Threshold(**threshold), interval, agent="blue", line=7
    )


# -- a value against its bounds ----------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "bounds", "verdict"),
    [
        (0.7, {"min": 0.7}, Verdict.PASS),
        (0.7 - 5e-10, {"min": 0.7}, Verdict.PASS),
        (0.7 - 2e-9, {"min": 0.7}, Verdict.FAIL),
        (0.7, {"max": 0.7}, Verdict.PASS),
        (0.7 + 2e-9, {"max": 0.7}, Verdict.FAIL),
        (2000 + 1e-6, {"max": 2000}, Verdict.PASS),  # a billionth of the bound
        (2000.001, {"max": 2000}, Verdict.FAIL),
        (0.1, {"min": 0.2, "max": 0.3}, Verdict.FAIL),
        (0.25, {"min": 0.2, "max": 0.3}, Verdict.PASS),
        (0.4, {"min": 0.2, "max": 0.3}, Verdict.FAIL),
        (0.0, {"min": 0.0}, Verdict.PASS),
        (-1.1, {"min": -1.0}, Verdict.FAIL),
    ],
)
def test_a_value_passes_within_its_bounds(value, bounds, verdict):
    check = checked(estimate_of(value), **bounds)
    assert (check.verdict, check.value) == (verdict, value)
    assert bool(check.reasons) == (verdict is Verdict.FAIL)


def test_a_check_names_what_was_compared():
    estimate = estimate_of(0.5)
    check = checked(estimate, min=0.4, max=0.9)
    assert (check.gate, check.name) == (Gate.THRESHOLD, "pass@1")
    assert (check.agent, check.line) == ("blue", 7)
    assert check.bound == ThresholdBound(least=0.4, most=0.9)
    assert check.estimate is estimate


@pytest.mark.parametrize(
    ("value", "bound", "side"), [(0.1, 0.2, "below"), (0.4, 0.3, "above")]
)
def test_a_value_out_of_bounds_says_on_which_side(value, bound, side):
    check = checked(estimate_of(value, of_tasks=("t1", "t2")), min=0.2, max=0.3)
    reason = OutOfBounds(
        metric="pass@1",
        value=value,
        bound=bound,
        side=side,
        end="point",
        confidence=None,
        tasks=("t1", "t2"),
    )
    assert check.reasons == (reason,)


def test_a_value_that_is_undefined_gives_no_verdict_but_its_reason():
    check = checked(estimate_of(math.nan), min=0.2)
    assert check.verdict is Verdict.INCONCLUSIVE
    assert check.reasons == (Undefined(metric="pass@1", words="words"),)
    assert (check.value, check.estimate) == (None, None)


# -- the end of an interval --------------------------------------------------------------


@pytest.mark.parametrize(
    ("threshold", "value", "verdict"),
    [
        ({"min": 0.4, "bound": "lower"}, 0.4, Verdict.PASS),
        ({"min": 0.41, "bound": "lower"}, 0.4, Verdict.FAIL),
        ({"min": 0.6, "bound": "upper"}, 0.6, Verdict.PASS),
        ({"max": 0.59, "bound": "upper"}, 0.6, Verdict.FAIL),
    ],
)
def test_an_end_of_the_interval_is_compared(threshold, value, verdict):
    check = checked(estimate_of(0.5), **threshold)
    assert (check.value, check.verdict) == (value, verdict)
    assert check.bound.end == threshold["bound"]


def test_an_end_out_of_bounds_says_which_and_how_sure():
    check = checked(estimate_of(0.5), min=0.45, bound="lower", confidence=0.9)
    (reason,) = check.reasons
    assert (reason.end, reason.confidence) == ("lower", 0.9)
    assert check.bound.confidence == 0.9


def test_a_value_without_an_interval_has_no_end():
    check = checked(estimate_of(0.5), interval=None, min=0.4, bound="lower")
    assert (check.verdict, check.value) == (Verdict.INCONCLUSIVE, 0.5)
    assert check.reasons == (NoInterval(metric="pass@1", words="words"),)


# -- the thresholds of a file ------------------------------------------------------------


def several(thresholds, estimates, intervals, **changed):
    lines = {("thresholds", "b"): 9}
    checks = check_thresholds(
        thresholds,
        estimates,
        intervals,
        agent="blue",
        line_of=lambda *path: lines.get(path, 4),
        **changed,
    )
    return list(checks)


def test_each_threshold_is_checked_at_its_line():
    thresholds = {"a": Threshold(min=0.4), "b": Threshold(min=0.6)}
    checks = several(thresholds, {"a": estimate_of(0.5), "b": estimate_of(0.5)}, {})
    assert [check.line for check in checks] == [4, 9]
    assert [check.verdict for check in checks] == [Verdict.PASS, Verdict.FAIL]
    assert [check.look for check in checks] == [None, None]


def test_a_threshold_takes_the_interval_of_its_own_confidence():
    thresholds = {"b": Threshold(min=0.45, bound="lower")}
    wide = several(thresholds, {"b": estimate_of(0.5)}, {})
    narrow = Interval(0.46, 0.54, level=0.8, method="t")
    tight = several(thresholds, {"b": estimate_of(0.5)}, {"b": narrow})
    assert (wide[0].value, wide[0].verdict) == (0.4, Verdict.FAIL)
    assert (tight[0].value, tight[0].verdict) == (0.46, Verdict.PASS)


def test_a_look_says_whether_a_threshold_is_sure():
    thresholds = {"a": Threshold(min=0.9), "b": Threshold(min=0.5)}
    estimates = {"a": estimate_of(0.5), "b": estimate_of(0.5)}
    checks = several(thresholds, estimates, {}, look=Look((2, 4), 1))
    assert [check.look.settled for check in checks] == ["fail", None]


# -- remarks -----------------------------------------------------------------------------


@pytest.fixture
def benchmark(tmp_path):
    """Read a benchmark with further keys."""

    def read(keys=""):
        path = tmp_path / "a.bench.yaml"
        text = f"benchmark:\n  name: a\n  rollouts: runs.jsonl\n{keys}"
        path.write_text(text, encoding="utf-8")
        (read,) = load_benchmarks(path, shown="a.bench.yaml")
        return read

    return read


def table(rewards, kinds=None):
    """Make one rollout of each task."""
    count = len(rewards)
    categories = {}
    if kinds is not None:
        labels = tuple(sorted({kind for kind in kinds if kind is not None}))
        codes = [-1 if kind is None else labels.index(kind) for kind in kinds]
        categories = {"kind": Category(np.array(codes, np.int32), labels)}
    return RolloutTable(
        agents=("agent",),
        agent=np.zeros(count, np.int32),
        tasks=tuple(f"t{at}" for at in range(count)),
        task=np.arange(count),
        sample=np.zeros(count, np.int64),
        scores={"reward": np.array(rewards, float)},
        categories=categories,
    )


PART = Estimate("mean/f1", 0.5, 2, 3, None, missing=1, score="f1")


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        ("  metrics: [mean/f1]\n", ["mean/f1"]),
        ("  metrics: [mean_reward]\n  key_metrics: [mean/f1]\n", ["mean/f1"]),
        ("  metrics: [mean/f1]\n  key_metrics: [mean/f1]\n", ["mean/f1"]),
        # its threshold is a check
        ("  metrics: [mean/f1]\n  thresholds: {mean/f1: '>= 0.1'}\n", []),
        ("  metrics: [mean_reward]\n", []),
    ],
)
def test_each_listed_metric_of_a_part_of_the_rollouts_is_noted_once(
    benchmark, keys, names
):
    asked = benchmark(keys)
    whole = Estimate("mean_reward", 0.5, 2, 4, None, score="reward")
    estimates = {"mean_reward": whole, "mean/f1": PART}
    notes = list(metrics_of_a_part(asked.spec, estimates, agent="blue"))
    expected = [
        MetricOfPart(metric=name, score="f1", rollouts=3, missing=1, agent="blue")
        for name in names
    ]
    assert notes == expected


def test_rollouts_of_no_group_are_noted_where_groups_are_gated(benchmark):
    asked = benchmark("  thresholds: {'mean_reward[kind=a]': '>= 0.1'}\n")
    rows = table([1, 0, 1], ["a", None, None])
    assert list(ungrouped_rollouts(asked.spec, rows, agent="blue")) == [
        UngroupedRollouts(field="kind", lacking=2, rollouts=3, agent="blue")
    ]


def test_rollouts_that_all_have_a_group_need_no_note(benchmark):
    asked = benchmark("  thresholds: {'mean_reward[kind=a]': '>= 0.1'}\n")
    rows = table([1, 0], ["a", "b"])
    assert list(ungrouped_rollouts(asked.spec, rows, agent="")) == []


def misplaced(asked, rewards):
    return misplaced_threshold(
        asked.spec, table(rewards), agent="blue", line_of=asked.line_of
    )


def test_a_pass_threshold_that_no_reward_reaches_is_noted(benchmark):
    asked = benchmark("  metrics: [pass@1, mean_reward]\n  pass_threshold: 0.8\n")
    assert misplaced(asked, [0.0, 0.7, math.nan]) == MisplacedPassThreshold(
        score="reward",
        threshold=0.8,
        all_pass=False,
        nearest=0.7,
        metrics=("pass@1",),
        line=5,
        agent="blue",
    )


def test_a_pass_threshold_that_each_reward_reaches_is_noted(benchmark):
    asked = benchmark("  thresholds: {pass@1: '>= 0.5'}\n  pass_threshold: 0\n")
    assert misplaced(asked, [3.0, 0.5, math.nan]) == MisplacedPassThreshold(
        score="reward",
        threshold=0.0,
        all_pass=True,
        nearest=0.5,
        metrics=("pass@1",),
        line=5,
        agent="blue",
    )


@pytest.mark.parametrize(
    ("keys", "rewards"),
    [
        # some reward reaches it
        ("  metrics: [pass@1]\n  pass_threshold: 0.8\n", [0.0, 0.8]),
        # nothing has passed at all: a bad run says nothing of the scale
        ("  metrics: [pass@1]\n  pass_threshold: 0.8\n", [0.0, 0.0]),
        ("  metrics: [pass@1]\n  pass_threshold: 0.8\n", [-1.0, -2.0]),
        # some reward is below
        ("  metrics: [pass@1]\n  pass_threshold: 0\n", [-0.1, 3.0]),
        ("  metrics: [pass@1]\n  pass_threshold: 0.1\n", [0.1, 3.0]),
        # nothing counts passes, or there is no reward
        ("  metrics: [mean_reward]\n  pass_threshold: 0.8\n", [0.0, 0.7]),
        ("  metrics: [pass@1]\n  pass_threshold: 0.8\n", [math.nan]),
        # metrics that nobody chose
        ("  pass_threshold: 0.8\n", [0.0, 0.7]),
    ],
)
def test_a_pass_threshold_on_the_scale_of_the_rewards_needs_no_note(
    benchmark, keys, rewards
):
    assert misplaced(benchmark(keys), rewards) is None


def test_a_key_metric_that_counts_passes_is_noted(benchmark):
    asked = benchmark(
        "  metrics: [mean_reward]\n  key_metrics: [pass@1]\n  pass_threshold: 0.8\n"
    )
    assert misplaced(asked, [0.7]).metrics == ("pass@1",)


def blind(asked):
    return [
        (note.metric, note.least, note.most, note.line)
        for note in blind_thresholds(asked.spec, asked.line_of)
    ]


@pytest.mark.parametrize(
    ("threshold", "least", "most"),
    [
        ("{min: 0}", 0.0, None),
        ("{max: 1}", None, 1.0),
        ("{min: 0, max: 1}", 0.0, 1.0),
    ],
)
def test_a_threshold_that_nothing_can_break_is_noted(benchmark, threshold, least, most):
    asked = benchmark(f"  thresholds:\n    pass@1: {threshold}\n")
    (note,) = blind_thresholds(asked.spec, asked.line_of)
    assert isinstance(note, BlindThreshold)
    assert (note.metric, note.least, note.most) == ("pass@1", least, most)
    assert note.line == 5
    assert note.words


@pytest.mark.parametrize(
    "threshold",
    [
        "pass@1: {min: 0.01}",
        "pass@1: {max: 0.99}",
        "pass@1: {min: 0.1, max: 1}",
        "pass@1: {min: 0, max: 0.9}",
        "mean/f1: {min: 0}",
        "'mine/': {min: 0}",
    ],
)
def test_a_threshold_that_may_break_needs_no_note(benchmark, threshold):
    assert blind(benchmark(f"  thresholds: {{{threshold}}}\n")) == []


def test_a_threshold_after_a_hooks_number_is_noted_too(benchmark):
    asked = benchmark("  thresholds: {'mine/': {min: 0}, pass@1: {min: 0}}\n")
    assert blind(asked) == [("pass@1", 0.0, None, 4)]
