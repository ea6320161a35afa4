"""A negative reward that a baseline lacks is asked about: it may mean "not judged"."""


def passing(project, last):
    project.rollouts([[1, 0]] * 20 + [[1, last]])


def test_a_new_negative_reward_is_asked_about(project):
    project.bench("metrics: [mean_reward]\nbaseline: true")
    passing(project, 1)
    project.run("--evalmetrics-update")
    passing(project, -1)
    words = " ".join(project.run().stdout.str().split())
    assert "1 rollout has the reward -1, and none of the baseline is negative" in words
    assert "write `missing: [-1]` under rollouts" in words


def test_negative_rewards_that_the_baseline_has_too_are_none(project):
    project.bench("metrics: [mean_reward]\nbaseline: true")
    passing(project, -1)
    project.run("--evalmetrics-update")
    project.rollouts([[1, 0]] * 20 + [[-1, -1]])
    assert "missing: [-1]" not in project.run().stdout.str()


def test_several_negative_rewards_are_scores(project):
    project.bench("metrics: [mean_reward]\nbaseline: true")
    passing(project, 1)
    project.run("--evalmetrics-update")
    project.rollouts([[1, 0]] * 20 + [[-0.5, -1]])
    assert "under rollouts" not in project.run().stdout.str()
