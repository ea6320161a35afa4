"""The plan's numbers against simulation and against the formula by hand."""

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from pytest_evalmetrics.baselines import agent_document, document, render, stamped
from pytest_evalmetrics.config import load_benchmarks
from pytest_evalmetrics.pipeline.power import power_of
from pytest_evalmetrics.rollouts import load
from pytest_evalmetrics.spec import RolloutsSpec

N = 300


def _planned(tmp_path, rewards, text):
    rows = [
        f'{{"_ng_task_index": {t}, "_ng_rollout_index": {s}, "reward": {r}}}\n'
        for t, task in enumerate(rewards)
        for s, r in enumerate(task)
    ]
    (tmp_path / "runs.jsonl").write_text("".join(rows))
    path = tmp_path / "m.bench.yaml"
    path.write_text(f"benchmark:\n  name: m\n  rollouts: runs.jsonl\n{text}")
    (benchmark,) = load_benchmarks(path, shown="m.bench.yaml")
    return list(power_of(benchmark, lambda: None))


@pytest.mark.parametrize("k", [2, 4, 8])
def test_the_drop_that_a_mean_can_see_is_that_of_its_sampling_error(tmp_path, k):
    rng = np.random.default_rng(1)
    chance = rng.random(N)
    rewards = (rng.random((N, k)) < chance[:, None]).astype(float)
    (found,) = _planned(tmp_path, rewards.tolist(), "  metrics: [pass@1]\n")
    # the variance of a difference of two runs is 2 p (1 - p) / k, averaged over the tasks
    se = math.sqrt(2 * np.mean(chance * (1 - chance)) / k / N)
    expected = (scipy_stats.t.ppf(0.99, N - 1) + scipy_stats.t.ppf(0.8, N - 1)) * se
    assert found.mde == pytest.approx(expected, rel=0.1)
    assert (found.tasks, found.rollouts, found.source) == (N, k, "rollouts")


def test_a_metric_that_is_no_mean_says_so(tmp_path):
    (found,) = _planned(tmp_path, [[1.0, 0.0]] * 5, "  metrics: [worst_task]\n")
    assert math.isnan(found.mde)
    assert found.reason == "it is no mean over tasks"


def test_single_rollouts_of_one_run_do_not_show_what_can_be_seen(tmp_path):
    rewards = [[1.0]] * 30 + [[0.0]] * 10
    (found,) = _planned(tmp_path, rewards, "  metrics: [pass@1]\n")
    assert math.isnan(found.mde)
    assert "one rollout of each task doesn't show" in found.reason


def test_a_blind_gate_is_told_beforehand(tmp_path):
    (found,) = _planned(tmp_path, [[1.0, 0.0]] * 6, "  metrics: [pass@1]\n")
    assert found.reason == "6 tasks: no drop of any size can reach p < 0.01; 7 are needed"


def test_without_any_rollouts_the_spread_is_assumed(tmp_path):
    path = tmp_path / "m.bench.yaml"
    path.write_text(
        "benchmark:\n  name: m\n  rollouts: none.jsonl\n  num_samples: 4\n"
        "  metrics: [pass@1]\n  expect: {tasks: 198}\n"
    )
    (benchmark,) = load_benchmarks(path, shown="m.bench.yaml")
    (found,) = power_of(benchmark, lambda: None)
    quantiles = scipy_stats.t.ppf(0.99, 197) + scipy_stats.t.ppf(0.8, 197)
    assert found.mde == pytest.approx(quantiles * math.sqrt(2 / 6 / 4 / 198), rel=1e-9)
    assert found.source == "an even spread of pass rates"


def test_the_committed_baseline_comes_first(tmp_path):
    text = "  metrics: [mean_reward]\n  baseline: true\n"
    _planned(tmp_path, [[1.0, 0.0]] * 4, text)
    (benchmark,) = load_benchmarks(tmp_path / "m.bench.yaml", shown="m.bench.yaml")
    table = load(RolloutsSpec(path=("runs.jsonl",)), tmp_path, scores=("reward",))

    class Result:
        key_metrics: dict[str, float] = {}  # noqa: RUF012 - nothing changes it
        estimates: dict[str, object] = {}  # noqa: RUF012 - nothing changes it

    doc = document("m", {"agent": agent_document(Result(), table, ["reward"])}, {})
    (tmp_path / "runs.jsonl").unlink()
    (found,) = power_of(benchmark, lambda: (render(stamped(doc)), "m.json"))
    assert (found.source, found.tasks, found.rollouts) == ("baseline", 4, 2)
