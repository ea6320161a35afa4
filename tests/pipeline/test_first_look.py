"""What the gates of a new benchmark can detect, from its own rollouts."""

from stages.making import benchmark, write_rows

from pytest_evalmetrics.model.results import PowerSource
from pytest_evalmetrics.pipeline.first_look import detectable_drops

REWARDS = [[1.0, 0.0, 1.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]] * 20


def drops(folder, baseline):
    write_rows(folder, "new.jsonl", REWARDS)
    return detectable_drops(benchmark(folder, f"metrics: [mean_reward]\n{baseline}"))


def test_a_benchmark_without_a_baseline_gates_nothing(tmp_path):
    assert drops(tmp_path, "") == []


def test_a_drop_of_five_points_is_planned_where_the_file_states_none(tmp_path):
    (power,) = drops(tmp_path, "baseline: true")
    assert power.max_drop == 0.05
    assert power.source is PowerSource.ROLLOUTS
    assert (power.agent, power.metric) == ("agent", "mean_reward")
    assert (power.tasks, power.rollouts) == (60, 3)


def test_the_drop_that_the_file_states_is_planned(tmp_path):
    (power,) = drops(tmp_path, "baseline: {max_drop: 0.2}")
    assert power.max_drop == 0.2


def test_other_settings_of_the_baseline_stay(tmp_path):
    (quiet,) = drops(tmp_path, "baseline: {run_noise: 0%}")
    (tmp_path / "new.jsonl").unlink()
    (noisy,) = drops(tmp_path, "baseline: {run_noise: 5%}")
    assert noisy.mde > 1.2 * quiet.mde
