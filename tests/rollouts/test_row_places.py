"""The places that a path may mean, and the scores that they hold."""

from pytest_evalmetrics.rollouts.loader import Request
from pytest_evalmetrics.rollouts.row_places import RowPlaces, first_in
from pytest_evalmetrics.rollouts.row_schema import Node, object_decoder
from pytest_evalmetrics.spec import FieldMap


def places(**fields):
    return RowPlaces(Request(FieldMap(**fields), ("reward",)), of_table=False)


def learn(root, *rows):
    for row in rows:
        root.learn(row, (1, 1), {})


def test_a_path_may_be_one_key_with_dots():
    root = Node(open=True)
    nodes = root.declare("a.b")
    record = {}
    root.learn({"a.b": 1}, (1, 1), record)
    assert first_in(record, nodes) == 1


def test_a_path_may_lead_through_an_object():
    root = Node(open=True)
    nodes = root.declare("a.b")
    record = {}
    root.learn({"a": {"b": 2}}, (1, 1), record)
    assert first_in(record, nodes) == 2


def test_a_path_may_lead_through_a_list_by_its_index():
    root = Node(open=True)
    nodes = root.declare("a.1")
    record = {}
    root.learn({"a": [3, 4]}, (1, 1), record)
    assert first_in(record, nodes) == 4


def test_numbers_at_the_top_are_scores():
    rows = places()
    learn(rows.root, {"_ng_task_index": 0, "accuracy": 0.5, "text": "x"})
    node = rows.root.fields["accuracy"]
    assert list(rows.scores_at(node)) == [("accuracy", False)]


def test_a_field_with_a_role_is_no_score():
    rows = places(task="id")
    learn(rows.root, {"id": 7})
    assert list(rows.scores_at(rows.root.fields["id"])) == []


def test_a_mapped_score_is_named_as_the_benchmark_file_says():
    rows = places(reward="result.passed")
    learn(rows.root, {"result": {"passed": True}})
    node = rows.root.fields["result"].fields["passed"]
    assert list(rows.scores_at(node)) == [("reward", False)]


def test_numbers_of_the_usage_are_named_apart():
    rows = places()
    learn(rows.root, {"usage": {"tokens": 5}})
    node = rows.root.fields["usage"].fields["tokens"]
    assert list(rows.scores_at(node)) == [("tokens", True)]


def test_a_decoder_takes_rows_like_those_before():
    root = Node(open=True)
    learn(root, {"a": 1, "b": "x"})
    root.fields["a"].wanted = True
    decoder = object_decoder(root)
    row = decoder.decode(memoryview(b'{"a": 2, "b": "y"}'))
    assert dict(decoder.values([row])) == {root.fields["a"]: (2,)}
