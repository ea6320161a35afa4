"""What measures a run otherwise than its baseline, and what that touches."""

import pytest

from pytest_evalmetrics.model.changes import NoLongerGated, ThresholdChanged
from pytest_evalmetrics.model.estimates import Estimate
from pytest_evalmetrics.model.reasons import MeasuredBy
from pytest_evalmetrics.model.verdicts import Acceptance
from pytest_evalmetrics.pipeline.measurement_changes import (
    changed_gates,
    kind_of,
    measurement_changes,
    touches,
    touches_reward,
)
from pytest_evalmetrics.pipeline.references import Reference

REWARD = {"score": "reward", "pass_threshold": 1.0}
JUDGE = {"scores": ["quality"], "judge": "m1"}


def changes(before, now):
    return measurement_changes(before, now)


def only(before, now):
    (change,) = measurement_changes(before, now)
    return change


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        ("reward", MeasuredBy.REWARD),
        ("scorer llm-judge", MeasuredBy.SCORER),
        ("metric own", MeasuredBy.METRIC),
        ("tool lm_eval", MeasuredBy.TOOL),
        ("answers of gpt", MeasuredBy.ANSWERS),
        ("hook compute_metrics", MeasuredBy.HOOK),
    ],
)
def test_an_entrys_first_word_is_its_kind(entry, kind):
    assert kind_of(entry) is kind


def test_nothing_changes_where_both_sides_are_alike():
    assert changes({"reward": REWARD}, {"reward": dict(REWARD)}) == ()


def test_a_changed_key_has_both_values():
    change = only({"scorer j": JUDGE}, {"scorer j": {**JUDGE, "judge": "m2"}})
    assert (change.key, change.before, change.now) == ("judge", "m1", "m2")
    assert change.kind is MeasuredBy.SCORER
    assert change.scores == ("quality",)
    assert change.by_scorer


def test_a_key_that_is_new_was_none():
    change = only({"scorer j": JUDGE}, {"scorer j": {**JUDGE, "strict": True}})
    assert (change.before, change.now) == ("none", "true")


def test_a_scorer_that_replaces_another_of_the_same_score_is_one_change():
    change = only({"scorer a": JUDGE}, {"scorer b": {"scores": ["quality", "tone"]}})
    assert (change.key, change.before, change.now) == ("", "a", "b")
    assert change.scores == ("quality", "tone")


def test_a_scorer_that_is_gone_is_named():
    change = only({"reward": REWARD, "scorer j": JUDGE}, {"reward": REWARD})
    assert change.entry == "scorer j"
    assert (change.before, change.now) == ("j", "none")
    assert change.scores == ("quality",)


def test_scorers_of_other_scores_do_not_replace_each_other():
    before, now = {"scorer a": {"scores": ["x"]}}, {"scorer b": {"scores": ["y"]}}
    assert [(c.before, c.now) for c in changes(before, now)] == [
        ("none", "b"),
        ("a", "none"),
    ]


def test_a_judge_whose_answers_name_a_new_model_is_a_change():
    before = {"answers of gpt": {"scores": ["q"], "model": ["gpt-1"]}}
    now = {"answers of gpt": {"scores": ["q"], "model": ["gpt-1", "gpt-2"]}}
    change = only(before, now)
    assert (change.before, change.now) == ("gpt-1", "gpt-1, gpt-2")
    assert change.by_tool


def test_a_judge_that_stops_to_name_a_model_is_no_change():
    before = {"answers of gpt": {"scores": ["q"], "model": ["gpt-1", "gpt-2"]}}
    now = {"answers of gpt": {"scores": ["q"], "model": ["gpt-1"]}}
    assert changes(before, now) == ()
    assert changes(before, {}) == ()


def test_tasks_of_lm_eval_come_and_go_without_being_a_change():
    task = {"tool lm_eval task arc": {"scores": ["acc"]}}
    assert changes(task, {}) == ()
    assert changes({}, task) == ()


def test_the_scores_that_a_tool_lists_are_no_change_of_it():
    before, now = {"tool t": {"scores": ["a"]}}, {"tool t": {"scores": ["a", "b"]}}
    assert changes(before, now) == ()


def test_a_field_that_is_read_elsewhere_touches_its_own_score():
    before = {"reward": {**REWARD, "fields: tone": "a.tone"}}
    now = {"reward": {**REWARD, "fields: tone": "b.tone"}}
    change = only(before, now)
    assert change.is_reading
    assert change.scores == ("tone",)


def test_a_damaged_list_of_scores_has_none():
    change = only({"scorer j": {"scores": 3, "a": 1}}, {"scorer j": {"scores": 3}})
    assert change.scores == ()


# -- what is touched


def estimate(name="mean_reward", score="reward"):
    return Estimate(name, 1.0, 1, 1, score=score)


class WithOptions:
    options = object()


A_METRIC = object()


def touched(change, which, target=A_METRIC):
    return touches(change, which, target, reward="reward")


def test_a_metric_of_the_users_touches_itself_alone():
    change = only({"metric own": {"source": "1"}}, {"metric own": {"source": "2"}})
    assert touched(change, estimate("own"))
    assert not touched(change, estimate("mean_reward"))
    assert not touches_reward(change, "reward")


def test_a_hook_touches_what_hooks_compute():
    change = only({"hook compute_metrics": {"source": "1"}}, {})
    assert touched(change, estimate(), target=None)
    assert not touched(change, estimate())
    assert not touches_reward(change, "reward")


def test_a_pass_threshold_touches_metrics_of_passes():
    change = only({"reward": REWARD}, {"reward": {**REWARD, "pass_threshold": 0.5}})
    assert touched(change, estimate("pass@1"), target=WithOptions())
    assert not touched(change, estimate("mean_reward"))
    assert touches_reward(change, "reward")


def test_a_scorer_touches_metrics_of_its_scores_and_those_of_several():
    change = only({"scorer j": JUDGE}, {})
    assert touched(change, estimate("mean/quality", "quality"))
    assert not touched(change, estimate())
    assert touched(change, estimate("macro_f1", ""))
    assert not touches_reward(change, "reward")
    assert touches_reward(change, "quality")


# -- gates


def described(metrics=("mean_reward",), **thresholds):
    return {"metrics": list(metrics), "thresholds": thresholds}


REFERENCE = Reference(values={"agent": {"pass@1": 0.5}})


def test_a_changed_threshold_is_a_remark():
    before, now = described(quality=">= 0.5"), described(quality=">= 0.4")
    assert list(changed_gates(before, now, REFERENCE)) == [
        ThresholdChanged("quality", before=">= 0.5", now=">= 0.4")
    ]


def test_a_metric_that_is_no_longer_gated_is_a_remark_with_its_value():
    before = described(metrics=("mean_reward", "pass@1"))
    assert list(changed_gates(before, described(), REFERENCE)) == [
        NoLongerGated("pass@1", Acceptance.SNAPSHOT, values=(0.5,))
    ]


def test_a_baseline_that_says_nothing_of_gates_is_no_change():
    assert list(changed_gates({}, described(quality=">= 0.4"), REFERENCE)) == []
