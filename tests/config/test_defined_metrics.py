"""Metrics that a benchmark file defines: their columns, range and direction."""

import math

import pytest


def defined(load, keys):
    text = f"benchmark:\n  name: a\n  rollouts: r\n  metrics: {{m: {keys}}}\n"
    (benchmark,) = load(text)
    return benchmark.spec.defined["m"]


LABELS = "gold: g, predicted: p"
SCORED = "gold: g, score: s"


@pytest.mark.parametrize(
    ("keys", "direction", "limits"),
    [
        (f"{{type: f1, {LABELS}}}", "higher", (0, 1)),
        (f"{{type: mcc, {LABELS}}}", "higher", (-1, 1)),
        (f"{{type: kappa, {LABELS}}}", "higher", (-1, 1)),
        (f"{{type: auroc, {SCORED}}}", "higher", (0, 1)),
        (f"{{type: brier, {SCORED}}}", "lower", (0, 1)),
        (f"{{type: ece, {SCORED}, bins: 5}}", "lower", (0, 1)),
        (f"{{type: log_loss, {SCORED}}}", "lower", (0, math.inf)),
        ("{type: share, of: x, label: y}", None, (0, 1)),
        ("{type: win_rate, winner: w, of: a}", "higher", (0, 1)),
        ("{type: mrr, relevance: r, rank: k}", "higher", (0, 1)),
        ("{type: majority_vote, answer: a, k: 3}", "as_score", "as_score"),
        ("{type: best_of_n, by: v, n: 4}", "as_score", "as_score"),
        ("{type: pass_within, of: tokens, budget: 10}", "higher", (0, 1)),
    ],
)
def test_a_defined_metric_states_its_direction_and_range(load, keys, direction, limits):
    facts = defined(load, keys).facts
    assert facts.direction == direction
    assert facts.limits == limits


@pytest.mark.parametrize(
    ("keys", "labels", "numbers"),
    [
        (f"{{type: f1, {LABELS}}}", ("g", "p"), ()),
        (f"{{type: auroc, {SCORED}}}", ("g",), ("s",)),
        ("{type: share, of: x, label: y}", ("x",), ()),
        ("{type: win_rate, winner: w, of: a}", ("w",), ()),
        ("{type: win_rate, score: s, reference: t}", (), ("s", "t")),
        ("{type: mrr, relevance: r, rank: k}", (), ("r", "k")),
        ("{type: mrr, relevance: r, score: s}", (), ("r", "s")),
        (
            "{type: recall_at_k, relevance: r, rank: k, relevant: n}",
            (),
            ("r", "k", "n"),
        ),
        ("{type: majority_vote, answer: a, k: 3}", ("a",), ()),
        ("{type: best_of_n, by: v, n: 4}", (), ("v",)),
        ("{type: pass_within, of: tokens, budget: 10}", (), ("tokens",)),
    ],
)
def test_a_defined_metric_names_the_columns_that_it_reads(load, keys, labels, numbers):
    metric = defined(load, keys)
    assert metric.labels == labels
    assert metric.numbers == numbers


@pytest.mark.parametrize(
    ("keys", "is_needed"),
    [
        ("{type: majority_vote, answer: a, k: 3}", True),
        ("{type: best_of_n, by: v, n: 4}", True),
        ("{type: pass_within, of: tokens, budget: 10}", True),
        (f"{{type: f1, {LABELS}}}", False),
    ],
)
def test_a_metric_that_chooses_rollouts_needs_their_reward(load, keys, is_needed):
    assert defined(load, keys).of_reward is is_needed


@pytest.mark.parametrize(
    ("written", "label"),
    [("true", "true"), ("false", "false"), ("1", "1"), ("0.5", "0.5"), ("yes", "yes")],
)
def test_a_label_is_written_as_rows_have_it(load, written, label):
    keys = f"{{type: share, of: x, label: {written}}}"
    assert defined(load, keys).label == label


def test_a_baseline_keeps_the_keys_that_are_written(load):
    keys = "{type: win_rate, winner: w, of: a}"
    expected = {"type": "win_rate", "winner": "w", "of": "a", "tie": "tie"}
    assert defined(load, keys).written() == expected


def test_a_metric_of_ones_own_keeps_its_arguments(load):
    metric = defined(load, "{type: 'mine:Median', digits: 2}")
    assert metric.type == "mine:Median"
    assert metric.written() == {"type": "mine:Median", "digits": 2}


def test_metrics_in_a_list_may_be_defined_in_it(load):
    text = (
        "benchmark:\n  name: a\n  rollouts: r\n"
        f"  metrics: [pass@1, {{m: {{type: f1, {LABELS}}}}}]\n"
    )
    (benchmark,) = load(text)
    assert benchmark.spec.metrics == ("pass@1", "m")
    assert list(benchmark.spec.defined) == ["m"]


def test_a_mapping_lists_built_in_metrics_without_keys(load):
    text = (
        "benchmark:\n  name: a\n  rollouts: r\n"
        f"  metrics: {{pass@1: , m: {{type: f1, {LABELS}}}}}\n"
    )
    (benchmark,) = load(text)
    assert benchmark.spec.metrics == ("pass@1", "m")
    assert list(benchmark.spec.defined) == ["m"]


def test_another_list_of_metrics_keeps_their_definitions(load):
    text = (
        "benchmark:\n  name: a\n  rollouts: r\n"
        f"  metrics: [pass@1, {{m: {{type: f1, {LABELS}}}}}]\n"
    )
    (benchmark,) = load(text)
    changed = benchmark.but(metrics=benchmark.spec.listing(["m"]))
    assert changed.spec.metrics == ("m",)
    assert changed.spec.defined["m"].type == "f1"
