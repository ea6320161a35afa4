import numpy as np
import pytest

from pytest_evalmetrics.errors import DataError, MetricError
from pytest_evalmetrics.metrics import Names, SampleSource


def sample(made, name, cluster=None):
    return SampleSource(made, "reward", cluster).sample(Names().bind(name))


def test_a_task_in_two_clusters_is_an_error_that_lists_it(table):
    made = table([[1, 2], [3]], tasks=["x", "y"], labels={"repo": ["r", "s", "s"]})
    with pytest.raises(DataError, match="rollouts of 1 task have different values: x"):
        sample(made, "mean_reward", "repo")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("pass@1/acuracy", "no rollout has a score named 'acuracy': did you mean 'accuracy'"),
        ("mean/rewards", "no rollout has a score named 'rewards': did you mean 'reward'"),
        ("pass@1[kind=hrad]", "no rollout has kind = 'hrad': did you mean 'hard'"),
        ("pass@1[kibd=hard]", "breakdown 'kibd': no rollout has that field"),
        ("pass@1[empty=x]", "breakdown 'empty': no rollout has that field"),
    ],
)
def test_an_unknown_score_field_or_value_is_an_error(table, name, message):
    made = table(
        [[1], [0]],
        accuracy=[1, 0],
        labels={"kind": ["hard", "easy"], "empty": ["(missing)", "(missing)"]},
    )
    with pytest.raises(MetricError) as caught:
        sample(made, name)
    assert message in caught.value.message


def test_a_value_of_another_agent_alone_is_none_of_this_agents(table):
    made = table([[1], [0]], labels={"kind": ["hard", "easy"]})
    part = made.where(np.array([True, False]))
    assert list(SampleSource(part, "reward").rows_by_label("kind")) == ["hard"]
    with pytest.raises(MetricError, match="values of kind: hard"):
        sample(part, "pass@1[kind=easy]")
