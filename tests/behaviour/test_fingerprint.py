"""What a fingerprint holds of a rollout."""

import pytest
from transcripts.layouts import ROWS, STEPS

from pytest_evalmetrics.behaviour.fingerprint import (
    NUMBERS,
    fingerprint_of,
    seen_calls,
    shape_of,
)
from pytest_evalmetrics.behaviour.sketches import Sketch, distance, sketch
from pytest_evalmetrics.behaviour.text_signs import is_json, is_refusal, language_of
from pytest_evalmetrics.transcripts import turns_of


def numbers_of(row):
    return dict(zip(NUMBERS, fingerprint_of(turns_of(row)).numbers, strict=True))


def agent(*calls, answer="Done."):
    messages = []
    for number, (name, arguments, output) in enumerate(calls):
        call = {"id": str(number), "name": name, "args": arguments}
        messages.append({"role": "assistant", "tool_calls": [call]})
        messages.append(
            {"role": "tool", "tool_call_id": str(number), "content": output}
        )
    return {"messages": [*messages, {"role": "assistant", "content": answer}]}


@pytest.mark.parametrize("tool", ROWS)
def test_the_same_behaviour_has_one_fingerprint_in_each_layout(tool):
    expected = fingerprint_of(turns_of({"question": "?", "steps": STEPS}))
    assert fingerprint_of(turns_of(ROWS[tool])) == expected


def test_the_calls_are_written_with_their_shapes_and_failures():
    seen = fingerprint_of(turns_of(ROWS["nemo gym"]))
    assert seen.calls == "search_flights(day:number,to:text) book(flight:text)!"


def test_calls_are_read_as_they_were_written():
    first, second = seen_calls("search(to:text) book(flight:text)!")
    assert (first.name, first.shape, first.has_failed) == ("search", "to:text", False)
    assert (second.name, second.shape, second.has_failed) == (
        "book",
        "flight:text",
        True,
    )


def test_the_numbers_of_a_rollout():
    numbers = numbers_of(ROWS["nemo gym"])
    assert numbers["steps"] == 3
    assert numbers["tool_calls"] == 2
    assert numbers["tool_errors"] == 1
    assert numbers["answer_chars"] == len("SK 45 is full. Another day?")
    assert numbers["reasoning_chars"] == len("I need the flights.One flight.")


def test_a_call_after_a_failure_of_its_tool_is_a_retry():
    row = agent(("f", {"a": 1}, "Error: no"), ("f", {"a": 2}, "ok"))
    assert numbers_of(row)["retries"] == 1


def test_the_same_call_again_is_a_retry_and_a_repeat():
    row = agent(("f", {"a": 1}, "ok"), ("g", {}, "ok"), ("f", {"a": 1}, "ok"))
    assert numbers_of(row)["retries"] == 1
    assert numbers_of(row)["repeats"] == 2


def test_other_arguments_are_no_repeat():
    row = agent(("f", {"a": 1}, "ok"), ("f", {"a": 2}, "ok"))
    assert numbers_of(row)["retries"] == 0
    assert numbers_of(row)["repeats"] == 1


@pytest.mark.parametrize(
    ("arguments", "shape"),
    [
        ('{"a":"x","b":1,"c":null}', "a:text,b:number,c:null"),
        ('{"a":[1],"b":{"c":2},"d":true}', "a:list,b:object,d:flag"),
        ("{}", ""),
        ("rm -rf", "text"),
        ('["a"]', "list"),
    ],
)
def test_the_shape_of_arguments_is_their_names_and_kinds(arguments, shape):
    assert shape_of(arguments) == shape


@pytest.mark.parametrize(
    ("answer", "refuses"),
    [
        ("I'm sorry, but I can't help with that.", True),
        ("I cannot assist with this request.", True),
        ("As an AI, I have no body.", True),
        ("The can opener is in the drawer.", False),
        ("Done. You can't go wrong with it.", False),
        ("", False),
    ],
)
def test_refusals_are_known_by_how_they_begin(answer, refuses):
    assert is_refusal(answer) is refuses


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('{"a": 1}', True),
        ('```json\n{"a": 1}\n```', True),
        ("[1, 2]", True),
        ("3", False),
        ('{"a": ', False),
        ('The answer is {"a": 1}', False),
    ],
)
def test_json_is_an_object_or_a_list(answer, expected):
    assert is_json(answer) is expected


@pytest.mark.parametrize(
    ("answer", "language"),
    [
        ("The flight is booked and you leave in the morning.", "en"),
        ("Der Flug ist gebucht und die Reise beginnt mit dem Zug.", "de"),
        ("Le vol est réservé pour vous dans la matinée.", "fr"),
        ("El vuelo está reservado para los dos y no se cambia.", "es"),
        ("航班已经预订好了。", "zh"),
        ("フライトを予約しました。", "ja"),
        ("Рейс забронирован на утро.", "cyrillic"),
        ("42", ""),
        ("", ""),
    ],
)
def test_the_language_of_an_answer(answer, language):
    assert language_of(answer) == language


def distance_of(first, second):
    return distance(Sketch(sketch(first)), Sketch(sketch(second)))


def test_answers_that_differ_in_space_and_case_are_equal():
    assert distance_of("Paris  is\nit.", "paris is it.") == 0


def test_the_distance_of_short_answers_is_that_of_their_words():
    assert distance_of("a b c d", "a b c e") == pytest.approx(1 - 3 / 5)


def test_the_distance_of_long_answers_is_near_that_of_their_words():
    words = [f"w{number}" for number in range(200)]
    first, second = " ".join(words[:150]), " ".join(words[50:])
    assert distance_of(first, second) == pytest.approx(0.5, abs=0.25)


def test_answers_without_a_common_word_are_apart():
    assert distance_of("one two three", "four five six") == 1


def test_a_sketch_is_short_whatever_the_answer():
    assert len(sketch("word " * 10_000)) < 40
    assert len(sketch(" ".join(map(str, range(10_000))))) < 40
