"""How rollouts of any tool become columns: ids, scores, failures, content and what measured."""

import math

import numpy as np
import pytest

from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.ext import FieldMap, Request
from pytest_evalmetrics.model.rollout_notes import OtherNumberStated
from pytest_evalmetrics.model.rollout_table import (
    STATED_COUNT,
    STATED_ERROR,
    STATED_TOTAL,
)
from pytest_evalmetrics.rollouts.loader import Failure, NotFinite
from pytest_evalmetrics.rollouts.not_judged import RolloutError
from pytest_evalmetrics.rollouts.source import RolloutFile, open_source
from pytest_evalmetrics.rollouts.tool_loader import (
    ChunkBuilder,
    Rollout,
    ToolLoader,
    aggregate,
)

NAME_IT = "name what holds a number: `reward: NAME`, or `fields: {reward: PATH}` under rollouts"


@pytest.fixture
def build(folder):
    """Give what makes a builder for a request."""
    source = open_source(RolloutFile(folder.write("{}", "r.json"), "r.json"))

    def made(*scores, categories=(), whole=False, **fields):
        request = Request(FieldMap(**fields), scores, categories, whole=whole)
        return ChunkBuilder(request, source)

    return made


def rollout(task="a", *, record=None, **more):
    return Rollout(record=record or {}, name=f"r.json: {task}", task=task, **more)


def chunk_of(builder, *rollouts):
    for one in rollouts:
        builder.add(one)
    return builder.chunk()


# -- columns -----------------------------------------------------------------------------------


def test_rollouts_become_columns(build):
    chunk = chunk_of(
        build(),
        rollout("a", sample=1, agent="m", scores={"x": 1, "y": 0.5}, started=2.5),
        rollout("b", agent=5, scores={"x": True}, record_id="r1"),
    )
    assert chunk.places.tolist() == [1, 2]
    assert chunk.task == ["a", "b"]
    assert chunk.sample == [1, None]
    assert chunk.agent == ["m", None]
    np.testing.assert_equal(chunk.scores["x"], [1, 1])
    np.testing.assert_equal(chunk.scores["y"], [0.5, math.nan])
    assert chunk.fractional == {"y"}
    assert chunk.names == ["r.json: a", "r.json: b"]
    np.testing.assert_equal(chunk.started, [2.5, math.nan])
    assert chunk.record_ids == [None, "r1"]
    assert chunk.rewards == ("x", "y")


def test_the_scores_that_may_be_the_reward_are_those_that_are_named(build):
    one = rollout(scores={"x": 1, "y": 0.5}, rewards=("y",))
    assert chunk_of(build(), one).rewards == ("y",)


def test_values_of_the_record_may_be_scores(build):
    builder = build(scores={"len": "a.b", "z": "x"})
    one = rollout(record={"a": {"b": 3}}, scores={"x": 0.5})
    chunk = chunk_of(builder, one)
    assert chunk.scores["len"].tolist() == [3]
    assert chunk.scores["z"].tolist() == [0.5]
    assert chunk.keys == ("a",)


@pytest.mark.parametrize(
    ("fields", "ids"),
    [
        ({"task": "k"}, ("t", None, None)),
        ({"task": ("k", "n")}, ("t/2", None, None)),
        ({"sample": "n"}, ("a", 2, None)),
        ({"agent": "k"}, ("a", None, "t")),
    ],
)
def test_values_of_the_record_may_be_ids(build, fields, ids):
    chunk = chunk_of(build(**fields), rollout(record={"k": "t", "n": 2}))
    assert (chunk.task[0], chunk.sample[0], chunk.agent[0]) == ids


def which(role):
    return f"say which key holds it, under rollouts: `fields: {{{role}: KEY}}`"


@pytest.mark.parametrize(
    ("fields", "more", "message", "role"),
    [
        ({}, {"task": None}, "the task is null", "task"),
        ({}, {"task": True}, "the task is a boolean: true", "task"),
        (
            {"task": "k"},
            {},
            "the task, which 'k' is to hold, is null",
            "task",
        ),
        ({}, {"sample": -1}, "the sample is -1", "sample"),
        ({}, {"sample": "x"}, 'the sample is text: "x"', "sample"),
        (
            {"sample": "k"},
            {"record": {"k": 1.5}},
            "the sample, which 'k' is to hold, is 1.5",
            "sample",
        ),
        (
            {"agent": "k"},
            {"record": {"k": 5}},
            "the agent, which 'k' is to hold, is 5",
            "agent",
        ),
    ],
)
def test_ids_of_another_kind_are_refused(build, fields, more, message, role):
    with pytest.raises(DataError) as caught:
        build(**fields).add(rollout(**{"task": "a", **more}))
    assert caught.value.message == message
    assert caught.value.hint == which(role)


@pytest.mark.parametrize(
    ("value", "label"), [("x", "x"), (5, "5"), (True, "true"), (None, None)]
)
def test_values_of_the_record_may_be_labels(build, value, label):
    builder = build(categories=("level", "none"))
    chunk = chunk_of(builder, rollout(record={"level": value}), rollout())
    expected = {} if label is None else {"level": [label, None]}
    assert chunk.labels == expected


def test_a_label_of_several_values_is_refused(build):
    with pytest.raises(DataError) as caught:
        build(categories=("level",)).add(rollout(record={"level": [1]}))
    assert caught.value.message == (
        "'level' is a list: [1]; expected text, a number or a boolean"
    )
    assert caught.value.hint == "name what holds a single value, such as level.KEY"
    assert caught.value.file == "r.json: a"


# -- scores that are no numbers ----------------------------------------------------------------


def test_texts_of_a_score_are_missing(build):
    chunk = chunk_of(build(), rollout(scores={"x": "good"}), rollout(scores={"x": 1}))
    np.testing.assert_equal(chunk.scores["x"], [math.nan, 1])
    assert chunk.not_numbers == {"x": "r.json: a"}


@pytest.mark.parametrize(
    ("scores", "fields"), [(("x",), {}), ((), {"scores": {"x": "v"}})]
)
def test_texts_of_a_score_that_is_needed_are_refused(build, scores, fields):
    builder = build(*scores, **fields)
    with pytest.raises(DataError) as caught:
        builder.add(rollout(record={"v": "good"}, scores={"x": "good"}))
    assert caught.value.message == (
        "the score 'x' is text: \"good\"; expected a number, true, false or null"
    )
    assert caught.value.hint == NAME_IT
    assert caught.value.file == "r.json: a"


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (math.nan, "NaN"),
        (math.inf, "infinite or too large"),
        (10**400, "infinite or too large"),
    ],
)
def test_numbers_that_are_not_finite_are_missing(build, value, what):
    chunk = chunk_of(build(), rollout(scores={"x": 1}), rollout(scores={"x": value}))
    np.testing.assert_equal(chunk.scores["x"], [1, math.nan])
    assert chunk.not_finite == [NotFinite("x", what, 2)]


# -- failures and usage ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "failure"),
    [
        ({"scores": {"x": 1}}, None),
        ({"scores": {"x": None}}, Failure(0, "not scored", "", graded=False)),
        (
            {"error": RolloutError("E", "a\n b")},
            Failure(0, "E", "a b", graded=False),
        ),
        (
            {"error": RolloutError("", "x" * 161), "scores": {"x": 0}},
            Failure(0, "error", "x" * 160 + "…", graded=True),
        ),
        (
            {"scores": {"x": 1, "y": None}, "rewards": ("y",)},
            Failure(0, "not scored", "", graded=False),
        ),
        ({"scores": {"reward": 1, "y": None}, "rewards": ("y",)}, None),
    ],
)
def test_what_went_wrong_in_a_rollout(build, more, failure):
    expected = [] if failure is None else [failure]
    assert chunk_of(build(), rollout(**more)).failures == expected


def test_a_record_of_a_failed_attempt_is_marked(build):
    chunk = chunk_of(
        build(whole=True),
        rollout(record={"v": 1}, error=RolloutError("E", "no")),
        rollout(record={"v": 2}, error=RolloutError("E")),
        rollout(record={"v": 3}, error=RolloutError("E", of_grader=True)),
        rollout(record={"v": 4}, error=RolloutError("E"), scores={"x": 1}),
        rollout(record={"v": 5}),
    )
    marks = [list(record.values())[1:] for record in chunk.records]
    assert marks == [[{"failed": ["E", "no"]}], [{"failed": ["E", "E"]}], [], [], []]


def test_the_usage_of_a_failed_call_that_is_0_was_not_measured(build):
    used = {"cost_usd": 0.0, "latency_s": 2.0, "total_tokens": math.nan}
    chunk = chunk_of(build(), rollout(usage=used), rollout(usage=used, scores={"x": 1}))
    np.testing.assert_equal(chunk.usage["cost_usd"], [math.nan, 0])
    np.testing.assert_equal(chunk.usage["latency_s"], [2, 2])
    assert "total_tokens" not in chunk.usage


# -- content -----------------------------------------------------------------------------------


def test_the_content_of_a_task_is_hashed_once(build):
    same = [rollout(content="q"), rollout(content="q")]
    other = rollout("b", content="q", agent="m")
    content = chunk_of(build(), *same, other, rollout("c")).content
    assert list(content) == [(None, "a"), ("m", "b")]
    assert content[None, "a"] == content["m", "b"]


def test_several_contents_of_a_task_are_versions(build):
    one = chunk_of(build(), rollout(content="q")).content[None, "a"]
    both = chunk_of(build(), rollout(content="q"), rollout(content="r")).content
    assert both[None, "a"] != one
    assert one in both[None, "a"]


def test_values_of_the_record_may_be_the_content(build):
    builder = build(content=("q", "r"))
    rollouts = [
        rollout("a", record={"q": 1}, content="x"),
        rollout("b", record={"q": 1}, content="y"),
        rollout("c", record={}, content="z"),
    ]
    content = chunk_of(builder, *rollouts).content
    assert list(content) == [(None, "a"), (None, "b")]
    assert content[None, "a"] == content[None, "b"]


# -- what measured -----------------------------------------------------------------------------


def ruler_of(builder, *rollouts):
    return set(chunk_of(builder, *rollouts).ruler)


def test_the_settings_of_a_scorer_are_flat(build):
    builder = build()
    settings = {
        "a": {"b": 1, "c": None},
        "d": [1, 2],
        "e": [{"f": "x"}, "y"],
        "g": "",
        "h": [],
        "i": True,
    }
    builder.measured("judge", ("x",), settings)
    assert ruler_of(builder, rollout(scores={"x": 1})) == {
        ("judge", "scores", "x"),
        ("judge", "a b", "1"),
        ("judge", "d", "[1, 2]"),
        ("judge", "e 0 f", "x"),
        ("judge", "e 1", "y"),
        ("judge", "i", "true"),
    }


@pytest.mark.parametrize(("count", "is_shared"), [(1, False), (2, False), (3, True)])
def test_a_setting_of_single_tasks_counts_where_most_have_it(build, count, is_shared):
    builder = build()
    for number in range(4):
        value = "same" if number < count else f"v{number}"
        builder.measured("judge", ("x",), {"value": value, "k": "1"}, "value")
    rollouts = [rollout(f"t{n}", scores={"x": 1}) for n in range(4)]
    ruler = ruler_of(builder, *rollouts)
    assert (("judge", "value", "same") in ruler) is is_shared
    assert ("judge", "k", "1") in ruler


@pytest.mark.parametrize(
    ("scores", "entries"),
    [
        ({"z": "x"}, {("judge", "scores", "x"), ("judge", "scores", "z")}),
        ({"z": "y"}, {("judge", "scores", "x")}),
        ({"z": "v"}, {("judge", "scores", "x"), ("judge", "scores", "z")}),
    ],
)
def test_scores_that_are_mapped_are_measured_too(build, scores, entries):
    builder = build(scores=scores)
    builder.measured("judge", ("x",), {})
    one = rollout(record={"v": 3}, scores={"x": 1, "y": 2})
    assert ruler_of(builder, one) == entries


def test_a_mapped_score_has_the_direction_of_its_own(build):
    builder = build(scores={"z": "x"})
    builder.directions["x"] = "lower"
    chunk = chunk_of(builder, rollout(scores={"x": 1}))
    assert dict(chunk.directions) == {"x": "lower", "z": "lower"}


@pytest.mark.parametrize(
    ("stated", "computed", "is_noted"),
    [
        (3, (2,), True),
        (2, (2,), False),
        (0.5, (0.5000004,), False),
        (0.5, (0.500002,), True),
        (0, (0.0000005,), False),
        (0.5, (0.25, 0.5), False),
        (0.5, (), False),
        ("x", (1,), False),
        (None, (1,), False),
    ],
)
def test_a_number_that_a_tool_states_is_compared(build, stated, computed, is_noted):
    builder = build()
    builder.compare("the mean", stated, *computed)
    assert bool(builder.notes) is is_noted


def test_a_note_on_a_number_names_its_place(build):
    builder = build()
    builder.compare("the mean", 0.5, 0.25, 0.75)
    builder.compare("the mean", 0.5, 0.25, where="job.json")
    assert builder.notes == [
        OtherNumberStated("r.json", claim="the mean", stated=0.5, computed=0.25),
        OtherNumberStated("job.json", claim="the mean", stated=0.5, computed=0.25),
    ]


@pytest.mark.parametrize(("fields", "positional"), [({}, True), ({"task": "k"}, False)])
def test_positions_are_none_where_another_field_is_the_task(build, fields, positional):
    builder = build(**fields)
    builder.positional = True
    assert chunk_of(builder, rollout(record={"k": "t"})).positional is positional


def test_an_aggregate_states_its_error_and_its_counts():
    assert aggregate("x", 0.5, error=0.1, samples=4, documents=9) == {
        "x": 0.5,
        f"{STATED_ERROR}x": 0.1,
        f"{STATED_COUNT}x": 4,
        f"{STATED_TOTAL}x": 9,
    }
    assert aggregate("x", 0.5, error="?", samples=None, documents=None) == {
        "x": 0.5,
        f"{STATED_ERROR}x": None,
        f"{STATED_COUNT}x": None,
        f"{STATED_TOTAL}x": None,
    }


# -- the loader --------------------------------------------------------------------------------


class OneRollout(ToolLoader):
    """Yields one rollout of a file that is not empty."""

    def rollouts(self, source, builder):
        del builder
        if source.keys:
            yield rollout(scores={"x": 1})


def test_a_file_becomes_one_chunk_if_it_holds_a_rollout(folder):
    loader = OneRollout(Request(FieldMap()))
    for text, count in (('{"a": 1}', 1), ("{}", 0)):
        source = open_source(RolloutFile(folder.write(text, "s.json"), "s.json"))
        assert len(list(loader.read(source))) == count


@pytest.mark.parametrize(
    ("request_", "reads"),
    [
        (Request(FieldMap()), False),
        (Request(FieldMap(), whole=True), True),
        (Request(FieldMap(), (), ("level",)), True),
        (Request(FieldMap(task="k")), True),
    ],
)
def test_a_record_is_kept_where_something_reads_it(request_, reads):
    loader = OneRollout(request_)
    assert loader.kept({"a": 1}) == {"a": 1 if reads else None}
