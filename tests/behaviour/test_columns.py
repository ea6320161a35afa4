"""What an observer keeps of each row, and features of one's own."""

import math

import numpy as np
import pytest
from behaviour.making import CITY, row, table_of

from pytest_evalmetrics.behaviour.columns import Observer, OwnFeature, texts_of
from pytest_evalmetrics.behaviour.features import features_of
from pytest_evalmetrics.behaviour.rules import violations
from pytest_evalmetrics.behaviour.sketches import Sketch, distance, sketch
from pytest_evalmetrics.errors import DataError
from pytest_evalmetrics.model.behaviour import FeatureKind, RolloutRule, RuleKind
from pytest_evalmetrics.spec.behaviour_keys import (
    BehaviourSpec,
    LimitSpec,
    SequencesSpec,
    ToolsRuleSpec,
)
from pytest_evalmetrics.transcripts.turns import ToolCall, Turn

REPLY = Turn("assistant", "Done.", calls=(ToolCall("f"),), stop_reason="length")


# -- the observer ----------------------------------------------------------------------------


def test_a_row_has_its_numbers_and_its_texts():
    observer = Observer(2, kept=str.upper)
    observer.observe(1, [Turn("user", "q"), REPLY])
    assert np.isnan(observer.numbers["steps"][0])
    assert observer.numbers["steps"][1] == 1
    assert observer.numbers["tool_calls"][1] == 1
    assert observer.texts == {
        "calls": ["", "f()"],
        "language": ["", ""],
        "stop": ["", "length"],
        "answer": ["", "DONE."],
    }
    assert observer.unread == 0


@pytest.mark.parametrize("turns", [[], [Turn("user", "q"), Turn("tool", "r")]])
def test_a_row_without_a_reply_is_counted_and_has_no_values(turns):
    observer = Observer(1)
    observer.observe(0, turns)
    observer.observe(0, turns)
    assert observer.unread == 2
    assert math.isnan(observer.numbers["steps"][0])
    assert observer.texts["stop"] == [""]


def test_the_answers_of_some_rows_alone_may_be_kept():
    observer = Observer(3, sketched=[1])
    for place in range(3):
        observer.observe(place, [REPLY])
    assert observer.texts["answer"] == ["", sketch("Done."), ""]
    assert observer.texts["calls"] == ["f()"] * 3


def observed(function, **where):
    observer = Observer(1, own=[OwnFeature("own", function)])
    observer.observe(0, [Turn("user", "q"), REPLY], **where)
    return observer.numbers["own"][0]


@pytest.mark.parametrize(("value", "number"), [(2, 2.0), (0.5, 0.5), (True, 1.0)])
def test_a_feature_of_ones_own_is_called_with_the_turns(value, number):
    seen = []

    def feature(turns):
        seen.append(turns)
        return value

    assert observed(feature) == number
    assert seen == [(Turn("user", "q"), REPLY)]


def test_a_feature_of_ones_own_may_have_no_value():
    assert math.isnan(observed(lambda _: None))


@pytest.mark.parametrize(
    ("where", "named"), [({}, "a row"), ({"where": "r.jsonl:3"}, "r.jsonl:3")]
)
def test_a_feature_that_fails_or_returns_no_number_names_the_row(where, named):
    with pytest.raises(DataError) as failed:
        observed(lambda _: {}["x"], **where)
    assert failed.value.message == (
        f"the behaviour 'own' failed for {named}: KeyError: 'x'"
    )
    assert failed.value.hint == (
        "it is called with the turns of a rollout, and returns a number or None"
    )
    with pytest.raises(DataError) as refused:
        observed(lambda _: "many", **where)
    assert refused.value.message == (
        f"the behaviour 'own' returned 'many' for {named}, expected a number, true, "
        "false or None"
    )


# -- features --------------------------------------------------------------------------------


def columns_of(before, now, kind):
    """Give the columns of the features of a kind, by their names."""
    features = features_of(table_of(before)[0], table_of(now)[0])
    return {
        (feature.name, feature.second): (feature.before.tolist(), feature.now.tolist())
        for feature in features
        if feature.kind is kind
    }


def rows_of(*sequences):
    """Make a row of each sequence of tools, such as `f g`."""
    return [
        row(task, 0, [(name, CITY) for name in sequence.split()])
        for task, sequence in enumerate(sequences)
    ]


def test_a_tool_is_called_or_not_in_each_rollout():
    tools = columns_of(rows_of("f", "g f"), rows_of("g", "", "g g"), FeatureKind.TOOL)
    assert tools == {
        ("g", ""): ([0, 1], [1, 0, 1]),
        ("f", ""): ([1, 1], [0, 0, 0]),
    }


def test_the_20_tools_that_most_rollouts_call_are_compared():
    names = [f"t{number:02}" for number in range(22)]
    rows = rows_of(" ".join(names), "t21 t21", "t21")
    tools = columns_of(rows, rows_of("t20"), FeatureKind.TOOL)
    assert [name for name, _ in tools] == ["t21", "t20", *names[:18]]


def test_the_order_of_two_tools_is_that_of_their_first_calls():
    before = rows_of("f g", "g f g", "f")
    orders = columns_of(before, before, FeatureKind.ORDER)
    ((pair, (then, _)),) = orders.items()
    assert pair == ("f", "g")
    assert then[:2] == [1, 0]
    assert math.isnan(then[2])


def test_the_orders_of_the_six_most_frequent_tools_are_compared():
    rows = rows_of("a b c d e f g", "g")
    pairs = set(columns_of(rows, rows, FeatureKind.ORDER))
    assert len(pairs) == 15
    assert ("a", "g") in pairs
    assert ("e", "f") not in pairs


CITIES = {"city": "Oslo"}
WORDS = {"query": "Oslo"}


def shaped(*arguments):
    return [
        row(task, 0, [("f", value)] if value is not None else [])
        for task, value in enumerate(arguments)
    ]


def test_the_usual_shape_of_arguments_is_that_of_the_baseline():
    before = shaped(CITIES, CITIES, WORDS, None)
    shapes = columns_of(before, shaped(WORDS, WORDS), FeatureKind.SHAPE)
    then, now = shapes["f", ""]
    assert then[:3] == [1, 1, 0]
    assert math.isnan(then[3])
    assert now == [0, 0]


def test_a_rollout_with_two_shapes_of_arguments_has_not_the_usual_one():
    before = [*shaped(CITIES, CITIES), row(2, 0, [("f", CITIES), ("f", WORDS)])]
    then, _ = columns_of(before, before, FeatureKind.SHAPE)["f", ""]
    assert then == [1, 1, 0]


def test_a_tool_with_one_shape_of_arguments_has_none_to_compare():
    assert columns_of(shaped(CITIES), shaped(CITIES), FeatureKind.SHAPE) == {}


def test_a_new_tool_is_compared_by_its_own_usual_shape():
    shapes = columns_of(shaped(None), shaped(WORDS, CITIES, WORDS), FeatureKind.SHAPE)
    assert shapes["f", ""][1] == [1, 0, 1]


def answers(*texts):
    return [row(task, 0, [], answer=text) for task, text in enumerate(texts)]


ENGLISH = "the cat and the dog"
GERMAN = "der Hund und die Katze"


def test_each_language_is_a_share_of_the_rollouts():
    languages = columns_of(
        answers(ENGLISH, GERMAN), answers(GERMAN, "12"), FeatureKind.LANGUAGE
    )
    assert languages == {
        ("de", ""): ([0, 1], [1, 0]),
        ("en", ""): ([1, 0], [0, 0]),
    }


def test_one_language_is_compared_with_none():
    languages = columns_of(answers(ENGLISH), answers("12"), FeatureKind.LANGUAGE)
    assert languages == {("en", ""): ([1], [0])}


# -- rules -----------------------------------------------------------------------------------


def broken(rows, **keys):
    return list(violations(BehaviourSpec(**keys), table_of(rows)[0]))


def test_each_rule_has_its_key_and_its_words():
    rules = broken(
        rows_of("plan"),
        tools=ToolsRuleSpec(forbid=("del*",), require=("plan",)),
        sequences=SequencesSpec(forbid=(("a", "b"),), require=(("plan", "c"),)),
        steps=LimitSpec(max=3.0, min=1.0),
    )
    assert [(one.rule, one.key, one.count) for one in rules] == [
        (RolloutRule(RuleKind.FORBIDDEN_TOOL, ("del*",)), ("tools", "forbid"), 0),
        (RolloutRule(RuleKind.REQUIRED_TOOL, ("plan",)), ("tools", "require"), 0),
        (
            RolloutRule(RuleKind.FORBIDDEN_SEQUENCE, ("a", "b")),
            ("sequences", "forbid"),
            0,
        ),
        (
            RolloutRule(RuleKind.REQUIRED_SEQUENCE, ("plan", "c")),
            ("sequences", "require"),
            1,
        ),
        (RolloutRule(RuleKind.MOST, ("steps",), 3.0), ("steps", "max"), 0),
        (RolloutRule(RuleKind.LEAST, ("steps",), 1.0), ("steps", "min"), 0),
    ]


def test_the_first_ten_tasks_that_break_a_rule_are_named_in_natural_order():
    rows = rows_of(*["delete"] * 12, "plan")
    (found,) = broken(rows, tools=ToolsRuleSpec(forbid=("delete",)))
    assert (found.count, found.rollouts, found.task_count) == (12, 13, 12)
    assert found.tasks == tuple(map(str, range(10)))


def test_a_task_with_several_broken_rollouts_is_named_once():
    rows = [row(3, sample, [("delete", CITY)]) for sample in range(2)]
    (found,) = broken(rows, tools=ToolsRuleSpec(forbid=("delete",)))
    assert (found.count, found.tasks, found.task_count) == (2, ("3",), 1)


# -- sketches --------------------------------------------------------------------------------


def test_an_answer_without_words_has_no_sketch():
    assert sketch(" \n") == ""
    empty = Sketch("")
    assert (empty.text, empty.words) == (b"", [])
    assert distance(empty, Sketch(sketch("a b"))) == 1.0
    assert distance(empty, empty) == 0.0


def test_a_sketch_keeps_the_twelve_smallest_hashes_of_words():
    read = Sketch(sketch(" ".join(f"word{number}" for number in range(40))))
    assert len(read.words) == 12
    assert read.words == sorted(read.words)
    assert len(read.text) == 5
    assert {len(word) for word in read.words} == {2}


def test_a_word_that_is_repeated_counts_once():
    assert len(Sketch(sketch("a b a A")).words) == 2


def test_answers_of_the_same_words_in_another_order_are_not_equal_but_alike():
    first = Sketch(sketch("a b c"))
    second = Sketch(sketch("c b a"))
    assert first.text != second.text
    assert distance(first, second) == 0.0


def test_texts_are_read_back_by_row():
    table, _ = table_of(rows_of("f", "g", "f"))
    assert texts_of(table, "calls") == ["f(city:text)", "g(city:text)", "f(city:text)"]
