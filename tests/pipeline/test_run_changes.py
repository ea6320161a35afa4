"""What changed beside the numbers: rollouts, flips, behaviour."""

import pytest
from stages.making import against, benchmark, given, write_rows

from pytest_evalmetrics.evaluate import evaluate
from pytest_evalmetrics.model.behaviour import (
    BehaviourFacts,
    FeatureChange,
    FeatureKind,
)
from pytest_evalmetrics.model.changes import (
    BehaviourChanged,
    PerhapsNotJudged,
    RolloutsOfTasks,
    TasksFlipped,
)
from pytest_evalmetrics.pipeline.run_changes import behaviour_changes


def changes(folder, before, now, *, keys="", metrics="mean_reward", rest=""):
    """List what changed between two runs."""
    write_rows(folder, "old.jsonl", before)
    write_rows(folder, "new.jsonl", now)
    asked = benchmark(folder, f"metrics: [{metrics}]\n{against(rest=rest)}\n{keys}")
    return evaluate(given(asked)).result.changes


def flips(*found):
    return [change for change in found if isinstance(change, TasksFlipped)]


# -- rollouts --------------------------------------------------------------------------------


def test_another_number_of_rollouts_is_a_change(tmp_path):
    found = changes(tmp_path, [[1, 0]] * 8, [[1, 0, 1]] * 8)
    assert RolloutsOfTasks(2, 3, "") in found


def test_the_same_run_has_no_change(tmp_path):
    assert changes(tmp_path, [[1, 0]] * 8, [[1, 0]] * 8) == ()


def test_a_new_negative_reward_is_a_change(tmp_path):
    found = changes(tmp_path, [[1, 0]] * 8, [[1, 0]] * 7 + [[1, -1]])
    assert found == (PerhapsNotJudged(reward=-1.0, rollouts=1),)


def test_changes_of_several_agents_are_told_apart(tmp_path):
    for name, rollouts in (("a", [1, 0]), ("b", [1, 0])):
        write_rows(tmp_path, "old.jsonl", [rollouts] * 8, agent=name)
    write_rows(tmp_path, "new.jsonl", [[1, 0]] * 8, agent="a")
    write_rows(tmp_path, "new.jsonl", [[1, 0, 1]] * 8, agent="b")
    asked = benchmark(tmp_path, f"metrics: [mean_reward]\n{against()}")
    found = evaluate(given(asked)).result.changes
    assert found == (RolloutsOfTasks(2, 3, "b"),)


# -- flips -----------------------------------------------------------------------------------


def test_tasks_that_fail_now_and_that_pass_now_are_flips(tmp_path):
    before = [[1, 1]] * 6 + [[0, 0]] * 2
    (flip,) = flips(*changes(tmp_path, before, before[::-1]))
    assert flip.broken.count == 2
    assert flip.broken.tasks == ("t0", "t1")
    assert flip.mended.tasks == ("t6", "t7")
    assert flip.agent == ""


GRADED = ([[0.9, 1.0]] * 8, [[0.1, 0.2]] + [[0.9, 1.0]] * 7)


def test_grades_neither_pass_nor_fail(tmp_path):
    assert flips(*changes(tmp_path, *GRADED)) == []


@pytest.mark.parametrize(
    ("keys", "metrics"),
    [
        ("pass_threshold: 0.5", "mean_reward"),
        ("pass_threshold: 0.5", "pass_rate"),
        ("pass_threshold: 0.5\nkey_metrics: [pass@1]", "mean_reward"),
        ("pass_threshold: 0.5\nthresholds: {pass@1: '>= 0'}", "mean_reward"),
    ],
)
def test_grades_pass_where_the_file_says_from_what_on(tmp_path, keys, metrics):
    (flip,) = flips(*changes(tmp_path, *GRADED, keys=keys, metrics=metrics))
    assert flip.broken.tasks == ("t0",)


def test_a_metric_of_passes_makes_grades_pass(tmp_path):
    before = [[1.0, 1.0]] * 8
    now = [[0.5, 0.5]] + [[1.0, 1.0]] * 7
    assert flips(*changes(tmp_path, before, now)) == []
    for path in tmp_path.glob("*.jsonl"):
        path.unlink()
    (flip,) = flips(*changes(tmp_path, before, now, metrics="pass@1"))
    assert flip.broken.tasks == ("t0",)


def test_zeros_and_ones_where_less_is_better_are_no_passes(tmp_path):
    before = [[1, 1]] * 6 + [[0, 0]] * 2
    found = changes(tmp_path, before, before[::-1], rest=", direction: lower")
    assert flips(*found) == []


# -- behaviour -------------------------------------------------------------------------------


def facts(agent, *significant):
    changed = tuple(
        FeatureChange(
            kind=FeatureKind.TOOL,
            name=f"tool {at}",
            before=0.1,
            now=0.9,
            p=0.001,
            is_significant=is_significant,
            tasks=9,
            rose=9,
            fell=0,
        )
        for at, is_significant in enumerate(significant)
    )
    return BehaviourFacts(
        agent=agent, rollouts=9, unread=0, tasks=9, of_tasks=9, changes=changed
    )


def test_only_features_that_changed_are_told():
    (change,) = behaviour_changes([facts("a", False, True)])
    assert isinstance(change, BehaviourChanged)
    assert [feature.name for feature in change.facts.changes] == ["tool 1"]
    assert change.agent == ""


def test_of_several_agents_those_are_named_that_changed():
    found = list(behaviour_changes([facts("a", False), facts("b", True)]))
    assert [change.agent for change in found] == ["b"]
