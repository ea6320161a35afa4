import sys

import numpy as np
import pytest
from pipeline.cases import judged, make_benchmark, make_table, repeated

from pytest_evalmetrics.ext import Verdict
from pytest_evalmetrics.pipeline.regressions import rule_of

PASS, WARN, FAIL, INCONCLUSIVE = (Verdict.PASS, Verdict.WARN, Verdict.FAIL, Verdict.INCONCLUSIVE)


def rates(seed, n, k, loss=0.0):
    rng = np.random.default_rng(seed)
    chance = rng.beta(0.4, 0.4, (n, 1)) * (1 - loss)
    return (rng.random((n, k)) < chance).astype(float).tolist()


# -- which metrics, by which rule ----------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        ({"metrics": ["mean_reward", "pass@1"]}, ("mean_reward", "pass@1")),
        ({"metrics": ["mean_reward"], "key_metrics": ["pass@1"]}, ("pass@1",)),
        (
            {"metrics": ["pass@1"], "baseline": {"metrics": {"mean/tokens": {}, "pass@1": {}}}},
            ("pass@1", "mean/tokens"),
        ),
    ],
)
def test_key_metrics_and_those_with_settings_of_their_own_are_gated(keys, names):
    assert make_benchmark(**keys).spec.gated == names


@pytest.mark.parametrize(
    ("name", "direction"),
    [
        ("mean/output_tokens", "lower"),
        ("mean/latency_s", "lower"),
        ("cost_per_task", "lower"),
        ("pass@1", "higher"),
        ("pass@1/on_time", "higher"),
        ("mean/tokens_per_second", "higher"),
        ("pass@1[kind=x/time/cost]", "higher"),  # a value of a field says nothing
        ("my_pkg.tokens:Median", "higher"),  # nor does a module
        ("my_pkg.scores:TotalTokens", "lower"),
        ("a hook's cost [usd", "lower"),
        ("cost/", "lower"),  # a hook may name its numbers as it likes
    ],
)
def test_the_direction_is_known_by_the_scores_name(name, direction):
    assert rule_of(make_benchmark(), name, bounded=True).direction == direction


def test_settings_are_of_all_metrics_or_of_one():
    benchmark = make_benchmark(
        baseline={
            "rule": "statistical",
            "alpha": 0.02,
            "metrics": {
                "mean/tokens": {"rule": "relative", "max_drop": "10%", "direction": "higher"},
                "pass@1": {"warn_alpha": 0.2, "max_drop": 0.03, "require_mde": 0.1},
            },
        }
    )
    plain = rule_of(benchmark, "mean_reward", bounded=True)
    tokens = rule_of(benchmark, "mean/tokens", bounded=False)
    rate = rule_of(benchmark, "pass@1", bounded=True)
    assert (plain.name, plain.alpha, plain.warn_alpha) == ("statistical", 0.02, 0.05)
    assert (tokens.name, tokens.max_drop, tokens.direction) == ("relative", 0.1, "higher")
    assert (rate.name, rate.alpha, rate.warn_alpha) == ("statistical", 0.02, 0.2)
    assert (rate.max_drop, rate.require_mde) == (0.03, 0.1)


# -- any metric ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "test"),
    [
        ("mean_reward", "paired t"),
        ("pass_rate", "paired t"),
        ("pass@1", "paired t"),
        ("pass@3", "paired t"),
        ("pass^2", "paired t"),
        ("max@2", "paired t"),
        ("mean/reward", "paired t"),
        ("median", "swapped sides"),
        ("worst_task", "relabelled rollouts of each task"),
        ("min/reward", "relabelled rollouts of each task"),
        ("median/reward", "swapped sides"),
        ("std/reward", "swapped sides"),
    ],
)
def test_every_metric_can_be_gated(name, test):
    rng = np.random.default_rng(1)
    before = rng.random((40, 4))
    after = before * 0.5
    benchmark = make_benchmark(metrics=[name], pass_threshold=0.4)
    (check,) = judged(benchmark, make_table(after.tolist()), make_table(before.tolist()))
    assert check.evidence["test"] == test
    if name in ("worst_task", "min/reward"):  # four rollouts prove nothing of one of 40 tasks
        assert check.verdict in (PASS, INCONCLUSIVE)
    else:
        assert check.verdict is FAIL
        assert check.evidence["p"] < 0.01
    assert check.estimate.name == name
    assert check.line == 9


def test_a_metric_of_ones_own_is_gated(monkeypatch):
    module = type(sys)("mine_for_judging")

    class Spread:
        name = "spread_of_tasks"

        def compute(self, task_rewards):
            return max(map(sum, task_rewards)) - min(map(sum, task_rewards))

    module.Spread = Spread
    monkeypatch.setitem(sys.modules, module.__name__, module)
    rng = np.random.default_rng(2)
    before, after = rng.random((40, 2)), rng.random((40, 2)) * 0.2
    written = "mine_for_judging:Spread"
    benchmark = make_benchmark(
        metrics=[written], baseline={"metrics": {"spread_of_tasks": {"max_drop": 0.1}}}
    )
    (check,) = judged(benchmark, make_table(after.tolist()), make_table(before.tolist()))
    assert check.name == "spread_of_tasks"  # once, by whichever name it is asked for
    assert (check.verdict, check.evidence["test"]) == (FAIL, "swapped sides")
    assert check.evidence["max_drop"] == 0.1


def test_economics_and_other_scores_are_gated_with_their_direction():
    tokens = np.arange(60) % 7 + 100.0
    runs = [
        make_table(repeated(60, 0), output_tokens=t, input_tokens=t) for t in (tokens, tokens + 30)
    ]
    benchmark = make_benchmark(metrics=["mean/output_tokens", "tokens_per_task"])
    up = judged(benchmark, runs[1], runs[0])
    assert [c.verdict for c in up] == [FAIL, FAIL]
    assert up[0].evidence["drop"] == pytest.approx(30)
    assert {c.verdict for c in judged(benchmark, runs[0], runs[1])} == {PASS}
    allowed = make_benchmark(
        metrics=["mean_reward"],
        baseline={"metrics": {"mean/output_tokens": {"rule": "relative", "max_drop": "31%"}}},
    )
    assert {c.verdict for c in judged(allowed, runs[1], runs[0])} == {PASS}


def test_a_breakdown_is_gated_on_its_own_tasks():
    labels = {"difficulty": ["hard"] * 20 + ["easy"] * 20}
    before = make_table(repeated(40, 0))
    after = make_table([[0.0]] * 10 + [[1.0]] * 30, labels=labels)
    names = ["pass@1[difficulty=hard]", "pass@1[difficulty=easy]"]
    hard, easy = judged(make_benchmark(metrics=names), after, before)
    assert (hard.verdict, easy.verdict) == (FAIL, PASS)
    assert hard.evidence["tasks"] == 20
    assert hard.evidence["drop"] == 0.5


def test_what_a_hook_computes_is_gated_by_a_rule_without_a_test():
    def hook(tasks):
        return {"solved": sum(row["reward"] for task in tasks for row in task)}

    keys = {"key_metrics": ["solved"], "baseline": {"rule": "absolute", "max_drop": 3}}
    runs = make_table(repeated(5, 5)), make_table(repeated(10, 0))
    values = {"values": {"agent": {"solved": 10.0}}}
    (check,) = judged(make_benchmark(**keys), *runs, hook=hook, **values)
    assert (check.verdict, check.reason) == (FAIL, "solved fell from 10 to 5")
    (check,) = judged(make_benchmark(key_metrics=["solved"]), *runs, hook=hook, **values)
    assert check.verdict is INCONCLUSIVE
    (check,) = judged(make_benchmark(**keys), *runs, hook=hook)
    assert (check.verdict, check.reason) == (INCONCLUSIVE, "the baseline has no solved")


# -- data problems -------------------------------------------------------------------------


def test_a_run_that_lost_half_its_tasks_does_not_pass():
    tasks, check = judged(
        make_benchmark(), make_table(repeated(100, 0)), make_table(repeated(200, 0))
    )
    assert (tasks.verdict, tasks.evidence["lost"]["count"]) == (FAIL, 100)
    assert (check.verdict, check.evidence["why"]) == (INCONCLUSIVE, "coverage")
    assert check.evidence["removed"] == 100


def test_a_missing_reward_is_never_zero():
    # one of 100 tasks has no reward: as 0 it would be a drop of a point, at its worst no proof
    run = make_table([[None]] + [[1.0]] * 99)
    (check,) = judged(make_benchmark(), run, make_table(repeated(100, 0)))
    assert check.verdict is PASS
    assert (check.evidence["current"], check.evidence["tasks"]) == (1.0, 99)
    assert check.evidence["worst_case"]["current"] == 0.99
    assert check.evidence["missing"] == 0.01
    # five of 100, where the worst case is a regression beyond noise
    few = make_table([[None]] * 5 + [[0.0]] * 3 + [[1.0]] * 92)
    (check,) = judged(make_benchmark(), few, make_table(repeated(100, 0)))
    assert (check.verdict, check.evidence["why"]) == (INCONCLUSIVE, "missing_decides")
    # and six, which are too many
    many = make_table([[None]] * 6 + [[1.0]] * 94)
    (check,) = judged(make_benchmark(), many, make_table(repeated(100, 0)))
    assert (check.verdict, check.evidence["why"]) == (INCONCLUSIVE, "missing")


def test_tasks_with_too_few_rollouts_on_a_side_are_excluded_and_listed():
    before = make_table([[1.0, 1.0]] * 20 + [[1.0]] * 2)
    after = make_table([[1.0, 1.0]] * 22)
    (check,) = judged(make_benchmark(metrics=["pass@2"]), after, before)
    assert (check.verdict, check.evidence["why"]) == (INCONCLUSIVE, "coverage")
    assert "without a value on one side: 20, 21" in check.reason
    allowed = make_benchmark(metrics=["pass@2"], baseline={"min_coverage": 0.9})
    (check,) = judged(allowed, after, before)
    assert (check.verdict, check.evidence["tasks"]) == (PASS, 20)
    assert check.evidence["excluded_tasks"] == ["20", "21"]
    assert "20, 21" in check.reason
    (none,) = judged(
        make_benchmark(metrics=["pass@2"]), make_table([[1.0, 1.0]] * 5), make_table([[1.0]] * 5)
    )
    assert (none.verdict, none.evidence["why"]) == (INCONCLUSIVE, "no_pairs")


def test_clusters_are_what_is_independent():
    repos = [f"r{i // 20}" for i in range(100)]
    before = make_table(repeated(100, 0))
    after = make_table(repeated(80, 20), labels={"repo": repos})
    (alone,) = judged(make_benchmark(), after, before)
    (check,) = judged(make_benchmark(cluster="repo"), after, before)
    assert alone.verdict is FAIL
    assert check.verdict is INCONCLUSIVE  # it is one of five repositories
    assert check.evidence["clusters"] == 5
    assert check.evidence["test"] == "clustered exact sign flip"
    assert "5 clusters: no drop of any size can reach p < 0.01; 7 are needed" in check.reason


def test_a_metric_over_many_tasks_is_swapped_in_groups():
    rng = np.random.default_rng(0)
    before = rng.random((2_100, 1))
    again = np.clip(before + rng.normal(0, 0.05, before.shape), 0, 1)
    benchmark = make_benchmark(metrics=["std/reward"])
    (check,) = judged(benchmark, make_table((before / 2).tolist()), make_table(before.tolist()))
    assert check.verdict is FAIL
    (check,) = judged(benchmark, make_table(again.tolist()), make_table(before.tolist()))
    assert check.verdict is PASS


# -- several agents ------------------------------------------------------------------------


def test_the_family_is_all_gated_metrics_of_all_agents():
    before = {name: make_table(repeated(110, 0)) for name in ("one", "other")}
    after = {"one": make_table(repeated(103, 7)), "other": make_table(repeated(110, 0))}
    benchmark = make_benchmark(metrics=["mean_reward", "pass@1"])
    (alone, _) = judged(benchmark, after["one"], before["one"])
    checks = judged(benchmark, after, before)
    assert [(c.agent, c.name) for c in checks] == [
        ("one", "mean_reward"),
        ("one", "pass@1"),
        ("other", "mean_reward"),
        ("other", "pass@1"),
    ]
    mid = 0.5**8
    assert checks[0].evidence["p"] == mid
    assert alone.evidence["p_adjusted"] == pytest.approx(mid)  # two names of one number
    assert checks[0].evidence["p_adjusted"] == pytest.approx(1 - (1 - mid) ** 2)
    assert (alone.verdict, checks[0].verdict) == (FAIL, FAIL)


# -- the whole way -------------------------------------------------------------------------


def test_identical_benchmarks_never_fail():
    rng = np.random.default_rng(0)
    names = ["mean_reward", "pass_rate", "pass@1", "median", "worst_task", "std/reward"]
    for seed in range(40):
        n, k = int(rng.integers(1, 120)), int(rng.integers(1, 6))
        rewards = rates(seed, n, k) if seed % 2 else rng.random((n, k)).tolist()
        labels = {"group": [str(i // k % 7) for i in range(n * k)]} if seed % 3 == 0 else {}
        keys = {"cluster": "group"} if labels else {}
        asked = rng.choice(["practical", "statistical", "exact"])
        benchmark = make_benchmark(metrics=names, baseline={"rule": str(asked)}, **keys)
        text = make_table(rewards, tasks=[str(i) for i in range(n)])
        checks = judged(benchmark, make_table(rewards, labels=labels), text)
        assert {c.verdict for c in checks} == {PASS}


def test_ids_as_text_and_as_numbers_give_the_same_evidence():
    before, after = rates(1, 120, 4), rates(1, 120, 4, loss=0.3)
    benchmark = make_benchmark(metrics=["mean_reward", "median"])
    numbers = judged(benchmark, make_table(after), make_table(before))
    text = judged(
        benchmark, make_table(after), make_table(before, tasks=list(map(str, range(120))))
    )
    assert numbers == text
