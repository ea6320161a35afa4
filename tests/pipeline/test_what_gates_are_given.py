"""What the comparison of agents gives to the gates, and what stands in their reasons."""

from types import SimpleNamespace

import pytest
from stages.making import against, benchmark, given, load, write_rows

from pytest_evalmetrics import gates
from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.evaluate import evaluate
from pytest_evalmetrics.gates.sequential import Look
from pytest_evalmetrics.model.changes import TasksFlipped, ThresholdChanged
from pytest_evalmetrics.model.estimates import Estimate
from pytest_evalmetrics.model.reasons import (
    CannotFail,
    MeasuredBy,
    MeasurementChange,
    Unpassable,
)
from pytest_evalmetrics.model.rollout_table import TaskRewards
from pytest_evalmetrics.model.verdicts import Acceptance, Direction
from pytest_evalmetrics.pipeline.benchmark_rows import first_rollouts
from pytest_evalmetrics.pipeline.comparing import ComparisonTerms, compare_agents
from pytest_evalmetrics.pipeline.judging import judge_comparisons
from pytest_evalmetrics.pipeline.measurement_changes import changed_gates, touches
from pytest_evalmetrics.pipeline.power import _is_on_unit, _worst_value
from pytest_evalmetrics.pipeline.reducing import Hooks, reduce_agents
from pytest_evalmetrics.pipeline.references import Reference, reference_of
from pytest_evalmetrics.pipeline.separators import separators
from pytest_evalmetrics.spec.sources import Rounds


def compared(asked):
    """Pair the agents of `new.jsonl` with those of the benchmark's reference."""
    rows, loaded = load(asked)
    reduced = reduce_agents(
        loaded, rows, Hooks(), quarantined=frozenset(), names_tasks=False
    )
    terms = ComparisonTerms(
        benchmark=loaded.benchmark,
        plan=loaded.plan,
        reference=reference_of(loaded.benchmark, loaded.plan, None),
    )
    return terms, compare_agents(terms, reduced.gated)


# -- regressions -----------------------------------------------------------------------------


def test_the_metrics_of_an_interim_look_are_judged_at_the_level_of_the_look(
    tmp_path, monkeypatch
):
    write_rows(tmp_path, "old.jsonl", [[1, 0]] * 3)
    write_rows(tmp_path, "new.jsonl", [[1, 0]] * 3)
    terms, comparisons = compared(
        benchmark(tmp_path, f"metrics: [mean_reward]\n{against()}")
    )
    settings = []
    judge = gates.check_regression

    def check_regression(gated, **keywords):
        settings.append(keywords)
        return judge(gated, **keywords)

    monkeypatch.setattr(gates, "check_regression", check_regression)
    look = Look(rollouts=(1, 2), at=0)
    judge_comparisons(terms, comparisons, benchmarks=3, look=look)
    (keywords,) = settings
    assert keywords["look"] is look
    assert keywords["benchmarks"] == 3
    assert keywords["acceptance"] is Acceptance.OTHER_RUN


def test_single_tasks_of_several_agents_are_those_of_an_agent_each(tmp_path):
    for agent in ("a", "b"):
        write_rows(tmp_path, "old.jsonl", [[1, 0], [1, 1]], agent=agent)
        write_rows(tmp_path, "new.jsonl", [[1, 0], [1, 1]], agent=agent)
    _, comparisons = compared(
        benchmark(tmp_path, f"metrics: [mean_reward]\n{against()}")
    )
    assert [one.tasks.agent for one in comparisons] == ["a", "b"]


def test_a_rate_that_should_fall_is_at_worst_1(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1]] * 9 + [[0]])
    write_rows(tmp_path, "new.jsonl", [[1]] * 10)
    rest = ", rule: absolute, direction: lower, max_drop: 0.2"
    keys = f"metrics: [mean_reward]\n{against(rest=rest)}"
    _, (comparison,) = compared(benchmark(tmp_path, keys))
    (check,) = comparison.judgeable
    assert check.reasons == (
        CannotFail(
            metric="mean_reward",
            key="max_drop",
            drop=0.2,
            is_rate=False,
            baseline=0.9,
            worst=1,
            largest=pytest.approx(0.1),
        ),
    )


def test_a_reward_that_is_read_elsewhere_touches_what_is_computed_from_it():
    change = MeasurementChange(
        kind=MeasuredBy.REWARD,
        entry="reward",
        key="fields: tone",
        before="a.tone",
        now="b.tone",
        is_reading=True,
        scores=("tone",),
    )
    of_tone = Estimate("mean/tone", 1.0, 1, 1, score="tone")
    of_reward = Estimate("mean_reward", 1.0, 1, 1, score="reward")
    assert touches(change, of_tone, object(), reward="reward")
    assert not touches(change, of_reward, object(), reward="reward")


# -- tasks that are named --------------------------------------------------------------------


def test_of_many_tasks_without_a_reward_the_first_ten_by_name_are_named(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1]] + [[None]] * 12)
    keys = "metrics: [mean_reward]\nbaseline: true\n"
    keys += "expect: {missing_reward: exclude, max_missing: 100%}"
    checks = evaluate(given(benchmark(tmp_path, keys), updates=True)).result.checks
    (check,) = [check for check in checks if check.name == "mean_reward"]
    tasks = ("t1", "t10", "t11", "t12", "t2", "t3", "t4", "t5", "t6", "t7")
    assert check.reasons[0] == Unpassable(tasks=tasks, task_count=12)


def test_a_task_of_more_rollouts_than_the_last_look_may_be_of_another_run(tmp_path):
    write_rows(tmp_path, "new.jsonl", [[1], [1, 0, 1]])
    _, loaded = load(benchmark(tmp_path, "metrics: [mean_reward]"))
    with pytest.raises(DataError) as refused:
        first_rollouts(loaded.table, Rounds.at(1, 1, 2))
    assert refused.value.message == (
        "task t1 has 3 rollouts, more than num_samples: {max: 2}"
    )
    assert refused.value.hint == (
        "look for another run's rollouts in the files; or set num_samples"
    )


# -- plans -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rewards", "direction", "worst"),
    [
        ([0, 0.5], Direction.HIGHER, 0),
        ([0.25, 1], Direction.HIGHER, 0),
        ([0, 0.5], Direction.LOWER, 1),
        ([-1, 0.5], Direction.HIGHER, -1),
        ([0.5, 3], Direction.LOWER, 3),
    ],
)
def test_the_worst_reward_is_the_end_of_a_rate_or_what_was_seen(
    rewards, direction, worst
):
    rule = SimpleNamespace(sign=direction.sign)
    assert _worst_value(TaskRewards.from_lists([rewards]), rule) == worst


# -- what separates tasks --------------------------------------------------------------------

WORSE = frozenset(range(6))


def test_one_of_a_field_s_values_that_the_same_tasks_have_is_enough():
    groups = {("tag", "a"): WORSE, ("tag", "b"): WORSE, ("level", "hard"): WORSE}
    found = separators(groups, worse=WORSE, tasks=30)
    assert [(one.field, one.value) for one in found] == [
        ("level", "hard"),
        ("tag", "a"),
    ]


def test_five_values_at_most_separate_tasks():
    groups = {(name, "x"): WORSE for name in "abcdefg"}
    found = separators(groups, worse=WORSE, tasks=30)
    assert [one.field for one in found] == ["a", "b", "c", "d", "e"]


# -- gates that changed ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "now", "change"),
    [
        ({}, {"quality": ">= 0.4"}, ThresholdChanged("quality", "none", ">= 0.4")),
        ({"quality": ">= 0.4"}, {}, ThresholdChanged("quality", ">= 0.4", "none")),
    ],
)
def test_a_threshold_that_comes_or_goes_is_a_change(before, now, change):
    of_baseline = {"metrics": [], "thresholds": before}
    of_run = {"metrics": [], "thresholds": now}
    assert list(changed_gates(of_baseline, of_run, Reference())) == [change]


# -- the place of a check --------------------------------------------------------------------


def test_a_sum_that_can_t_be_compared_is_placed_at_its_settings(tmp_path):
    write_rows(tmp_path, "old.jsonl", [[1, 1]])
    write_rows(tmp_path, "new.jsonl", [[1]])
    asked = benchmark(
        tmp_path,
        "metrics: [sum/reward]\nbaseline:\n"
        "  rollouts: {path: old.jsonl, fields: "
        "{task: task, sample: sample, agent: agent}}\n"
        "  metrics:\n"
        "    sum/reward: {max_drop: 1}",
    )
    _, (comparison,) = compared(asked)
    (check,) = comparison.judgeable
    # the fourth line is `metrics: [sum/reward]`, the eighth the settings of the sum
    assert check.line == 8


@pytest.mark.parametrize(
    ("rewards", "is_rate"),
    [
        ([0, 1], True),
        ([0.5], True),
        ([-0.5, 1], False),
        ([0, 1.5], False),
        ([], False),
    ],
)
def test_rewards_from_0_to_1_are_rates(rewards, is_rate):
    assert _is_on_unit(TaskRewards.from_lists([rewards])) is is_rate


@pytest.mark.parametrize(("direction", "flips"), [("higher", 1), ("lower", 0)])
def test_zeros_and_ones_flip_unless_their_mean_should_fall(tmp_path, direction, flips):
    write_rows(tmp_path, "old.jsonl", [[1, 1]] * 8)
    write_rows(tmp_path, "new.jsonl", [[1, 1]] * 7 + [[0, 0]])
    gate = f", metrics: {{mean_reward: {{direction: {direction}}}}}"
    keys = f"metrics: [mean_reward]\n{against(rest=gate)}"
    changes = evaluate(given(benchmark(tmp_path, keys))).result.changes
    assert sum(isinstance(one, TasksFlipped) for one in changes) == flips
