"""A run that is added to a baseline, on documents in this process."""

from hashlib import blake2b

import pytest
from msgspec import structs

from pytest_evalmetrics import baselines
from pytest_evalmetrics.baselines.document import (
    as_read,
    is_edited,
    parse,
    render,
    stamped,
)
from pytest_evalmetrics.baselines.several_runs import add_run, why_not_added
from pytest_evalmetrics.errors import BaselineError
from pytest_evalmetrics.model.baseline import (
    AgentDocument,
    BaselineDocument,
    BehaviourDocument,
    MetricDocument,
    Provenance,
)


def document(value, rewards, recorded, behaviour=None):
    agent = AgentDocument(
        key_metrics={"mean_reward": MetricDocument(value=value)},
        tasks={"t0": {"reward": rewards}},
        behaviour=behaviour,
    )
    provenance = Provenance(recorded=recorded, files=[])
    return BaselineDocument(
        benchmark="math", agents={"a": agent}, provenance=provenance
    )


def did(refusals):
    return BehaviourDocument(
        summary={"refusal": refusals}, shapes={}, columns=(), tasks={}
    )


def test_both_runs_are_named_with_their_times():
    both = add_run(document(1.0, (1,), "first"), document(0.0, (0,), "second"), keep=5)
    assert [run["recorded"] for run in both.provenance.runs] == ["first", "second"]
    assert both.provenance.recorded == "second"


def test_the_value_is_the_mean_of_the_runs():
    both = add_run(document(1.0, (1,), "first"), document(0.0, (0,), "second"), keep=5)
    metric = both.agents["a"].key_metrics["mean_reward"]
    assert (metric.value, metric.runs) == (0.5, (1.0, 0.0))


def test_the_newest_runs_are_kept():
    runs = document(1.0, (1,), "first")
    for name in ("second", "third"):
        runs = add_run(runs, document(0.0, (0,), name), keep=2)
    assert [run["recorded"] for run in runs.provenance.runs] == ["second", "third"]


def test_what_the_runs_before_did_is_kept_beside_the_newest():
    before = document(1.0, (1,), "first", did(0.25))
    both = add_run(before, document(0.0, (0,), "second", did(0.5)), keep=5)
    behaviour = both.agents["a"].behaviour
    assert behaviour.summary == {"refusal": 0.5}
    assert [earlier.summary for earlier in behaviour.earlier] == [{"refusal": 0.25}]


def test_an_empty_baseline_is_refused_with_the_way_out():
    with pytest.raises(BaselineError) as error:
        baselines.parse(" \n", file="math.json")
    assert error.value.message == "this baseline is empty"
    assert error.value.file == "math.json"


def test_columns_of_different_lengths_are_refused_for_the_file():
    agent = AgentDocument(
        key_metrics={"mean_reward": MetricDocument(value=1.0)},
        tasks={"t0": {"reward": (1, 0), "f1": (1,)}},
    )
    damaged = BaselineDocument(
        benchmark="math", agents={"a": agent}, provenance=Provenance(recorded="now")
    )
    with pytest.raises(BaselineError, match="different lengths or names") as error:
        baselines.tables(damaged, file="math.json")
    assert error.value.file == "math.json"


def test_a_baseline_whose_model_was_changed_by_hand_is_seen():
    recorded = as_read(stamped(document(1.0, (1,), "now")))
    changed = structs.replace(
        recorded.provenance, under_test={"model": {"name": "other"}}
    )
    assert not is_edited(recorded)
    assert is_edited(structs.replace(recorded, provenance=changed))


@pytest.mark.parametrize("part", ["ruler", "under_test", "gates", "rows", "anchors"])
def test_what_a_comparison_rests_on_can_not_be_changed_unseen(part):
    recorded = as_read(stamped(document(1.0, (1,), "now")))
    changed = structs.replace(recorded.provenance, **{part: {"a": {"b": 1}}})
    assert is_edited(structs.replace(recorded, provenance=changed))


@pytest.mark.parametrize("part", ["recorded", "reason"])
def test_the_time_and_the_reason_of_a_recording_may_be_changed(part):
    recorded = as_read(stamped(document(1.0, (1,), "now")))
    changed = structs.replace(recorded.provenance, **{part: "other"})
    assert not is_edited(structs.replace(recorded, provenance=changed))


def test_a_digest_is_that_of_the_names_that_it_covers():
    provenance = Provenance(recorded="now", under_test={"model": {"name": "m"}})
    recorded = BaselineDocument(benchmark="b", agents={}, provenance=provenance)
    covered = b"{}" + b'{"under_test":{"model":{"name":"m"}}}'
    expected = blake2b(covered, digest_size=8).hexdigest()
    assert stamped(recorded).provenance.digest == expected


@pytest.mark.parametrize(
    ("before", "now"), [(None, did(0.5)), (did(0.25), None), (None, None)]
)
def test_behaviour_that_one_run_alone_has_is_that_of_the_newest(before, now):
    first = document(1.0, (1,), "first", before)
    both = add_run(first, document(0.0, (0,), "second", now), keep=5)
    assert both.agents["a"].behaviour == now


def with_provenance(old, **fields):
    return structs.replace(old, provenance=structs.replace(old.provenance, **fields))


def with_agent(old, **fields):
    agent = structs.replace(old.agents["a"], **fields)
    return structs.replace(old, agents={"a": agent})


FIRST = document(1.0, (1,), "first")
SECOND = document(0.0, (0,), "second")
MISFITS = {
    "it was scored otherwise than in the runs before": with_provenance(
        SECOND, ruler={"a": {"reward": {"field": "x"}}}
    ),
    "another system ran than in the runs before": with_provenance(
        SECOND, under_test={"model": "other"}
    ),
    "`rescore:` keeps the rows of one run alone": with_provenance(
        SECOND, rows={"count": 1}
    ),
    "its agents are b, and were a": structs.replace(
        SECOND, agents={"b": SECOND.agents["a"]}
    ),
    "it has other tasks than the runs before": with_agent(
        SECOND, tasks={"t1": {"reward": (0,)}}
    ),
    "it keeps other scores than the runs before": with_agent(
        SECOND, tasks={"t0": {"cost": (0,)}}
    ),
}


@pytest.mark.parametrize(("why", "run"), MISFITS.items())
def test_a_run_that_does_not_repeat_the_others_is_not_added(why, run):
    assert why_not_added(FIRST, run) == why


def test_other_content_under_the_same_ids_makes_other_tasks():
    edited = with_agent(SECOND, content={"t0": "abc"})
    why = "it has other tasks than the runs before"
    assert why_not_added(FIRST, edited) == why


def test_a_run_that_repeats_the_others_is_added():
    assert why_not_added(FIRST, SECOND) == ""


def test_a_metric_that_runs_before_did_not_have_has_no_value_in_them():
    metrics = {"pass@1": MetricDocument(value=0.5)}
    both = add_run(FIRST, with_agent(SECOND, key_metrics=metrics), keep=5)
    metric = both.agents["a"].key_metrics["pass@1"]
    assert (metric.value, metric.runs) == (0.5, (None, 0.5))


def test_the_behaviour_of_as_many_runs_as_are_kept_is_kept():
    runs = document(1.0, (1,), "first", did(0.1))
    for place, refusals in enumerate((0.2, 0.3, 0.4)):
        runs = add_run(runs, document(0.0, (0,), f"{place}", did(refusals)), keep=3)
    behaviour = runs.agents["a"].behaviour
    assert behaviour.summary == {"refusal": 0.4}
    earlier = [run.summary["refusal"] for run in behaviour.earlier]
    assert earlier == [0.2, 0.3]


def test_behaviour_is_written_a_line_a_task_and_read_again():
    behaviour = BehaviourDocument(
        summary={"refusal": 0.5},
        shapes={"s0": "search(query)"},
        columns=("calls", "refusal"),
        texts=True,
        zeros=("retries",),
        tasks={"t0": ((1, 0), (2, 1))},
        earlier=(did(0.25),),
    )
    text = render(document(1.0, (1,), "now", behaviour))
    assert '          "t0": [[1, 0], [2, 1]]\n' in text
    assert '        "zeros": ["retries"],\n' in text
    assert parse(text, file="math.json").agents["a"].behaviour == behaviour


def test_a_metric_of_several_runs_keeps_the_count_of_its_tasks():
    metrics = {"mean_reward": MetricDocument(value=0.5, tasks=3)}
    both = add_run(FIRST, with_agent(SECOND, key_metrics=metrics), keep=5)
    assert both.agents["a"].key_metrics["mean_reward"].tasks == 3
