"""Where rows come from, and how they are read."""

import pytest

from pytest_evalmetrics.spec import RolloutsSpec
from pytest_evalmetrics.spec.sources import FieldMap, JointField, RunsSpec


def spec_of(load, keys):
    (benchmark,) = load(f"benchmark:\n  name: a\n  {keys}\n")
    return benchmark.spec


def dataset(load, keys):
    return spec_of(load, f"scorers: [{{type: exact_match}}]\n  dataset: {keys}").dataset


def test_the_rows_of_a_data_set_may_stand_in_the_file(load):
    rows = dataset(load, "[{q: 1}, {q: 2}]")
    assert rows.inline == ({"q": 1}, {"q": 2})
    assert rows.path == ()


@pytest.mark.parametrize(
    ("keys", "seed"),
    [
        ("{path: d}", None),
        ("{path: d, shuffle: true}", 0),
        ("{path: d, shuffle: true, seed: 3}", 3),
        ("{path: d, shuffle: 5}", 5),
        ("{path: d, shuffle: false}", None),
    ],
)
def test_a_shuffled_data_set_has_a_seed(load, keys, seed):
    assert dataset(load, keys).chosen_with == seed


@pytest.mark.parametrize("way", ["all", "any", "attempts"])
def test_a_reward_of_several_fields_knows_their_paths(load, way):
    keys = f"rollouts: {{path: r, fields: {{reward: {{{way}: [x, y]}}}}}}"
    fields = spec_of(load, keys).rollouts.fields
    assert fields.joint == {"reward": JointField(**{way: ("x", "y")})}
    assert fields.joint["reward"].paths == ("x", "y")


def test_a_score_of_one_path_is_not_joint():
    fields = FieldMap(reward="r", scores={"a": JointField(any=("x", "y"))})
    assert list(fields.joint) == ["a"]


@pytest.mark.parametrize(
    ("written", "path"),
    [("id", "id"), ("[id]", "id"), ("[a, b]", ("a", "b"))],
)
def test_the_id_of_a_task_may_be_joined(load, written, path):
    keys = f"rollouts: {{path: r, fields: {{task: {written}}}}}"
    assert spec_of(load, keys).rollouts.fields.task == path


@pytest.mark.parametrize(
    ("written", "missing"),
    [
        ("[]", {}),
        ("-1", {"reward": (-1,)}),
        ("[-1, null]", {"reward": (-1, None)}),
        ("{a: -1, b: [x, y]}", {"a": (-1,), "b": ("x", "y")}),
    ],
)
def test_values_that_mean_missing_are_those_of_the_reward_or_of_named_scores(
    load, written, missing
):
    keys = f"rollouts: {{path: r, missing: {written}}}"
    assert spec_of(load, keys).rollouts.missing == missing


def test_the_points_of_a_word_are_a_number_or_missing(load):
    keys = "rollouts: {path: r, map: {reward: {good: 1, 'n/a': null}}}"
    points = spec_of(load, keys).rollouts.map["reward"]
    assert points == {"good": 1.0, "n/a": None}


@pytest.mark.parametrize(
    ("keys", "is_so"),
    [
        ("map: {reward: {good: 1}}", True),
        ("missing: -1", True),
        ("fields: {reward: {all: [a, b]}}", True),
        ("rows: x, missing: -1", False),
        ("keyed: id, missing: -1", False),
        ("lists: {t: 1}, missing: -1", False),
        ("parse_json: [a], missing: -1", False),
        ("fields: {task: id}", False),
    ],
)
def test_scores_alone_are_derived_where_rows_are_as_the_files_have_them(
    load, keys, is_so
):
    rollouts = spec_of(load, f"rollouts: {{path: r, {keys}}}").rollouts
    assert rollouts.derives_scores_only is is_so


def test_files_without_a_form_of_their_own_have_that_of_others():
    fields = FieldMap(task="id")
    ours = RolloutsSpec(path=("a",), rows="results", fields=fields, decimal=",")
    read = RolloutsSpec(path=("b",)).like(ours)
    assert read.path == ("b",)
    assert read.rows == "results"
    assert read.fields == fields
    assert read.decimal == ","


@pytest.mark.parametrize(
    "own",
    [
        {"rows": "x"},
        {"format": "csv"},
        {"decimal": "."},
        {"fields": FieldMap(task="t")},
    ],
)
def test_files_with_a_form_of_their_own_keep_it(own):
    theirs = RolloutsSpec(path=("b",), **own)
    assert theirs.like(RolloutsSpec(path=("a",), keyed="id")) is theirs


def test_files_alone_keep_their_form():
    alone = RolloutsSpec(path=("b",))
    assert alone.like(None) is alone


def baseline(load, rollouts):
    keys = f"rollouts: r\n  baseline: {{rollouts: {rollouts}}}"
    return spec_of(load, keys).baseline.rollouts


def test_a_baseline_of_several_runs_lists_the_files_of_each(load):
    runs = baseline(load, "{path: [[a, b], [c]]}")
    assert isinstance(runs, RunsSpec)
    assert runs.path == ("a", "b", "c")
    assert runs.runs == (("a", "b"), ("c",))


def test_a_list_of_paths_is_one_run(load):
    runs = baseline(load, "[a, b]")
    assert runs.path == ("a", "b")
    assert runs.runs == ()


def test_rounds_of_rollouts_stop_early(load):
    samples = spec_of(
        load, "rollouts: r\n  num_samples: {min: 2, max: 8, stop: early}"
    ).num_samples
    assert samples == 8
    assert (samples.least, samples.most) == (2, 8)
