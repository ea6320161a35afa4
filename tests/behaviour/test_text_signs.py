"""Signs in the text of an answer: refusals, citations, JSON, code and the language."""

import pytest

from pytest_evalmetrics.behaviour.fingerprint import (
    NUMBERS,
    RATES,
    fingerprint_of,
    seen_calls,
    shape_of,
)
from pytest_evalmetrics.behaviour.text_signs import (
    count_citations,
    is_json,
    is_refusal,
    language_of,
)
from pytest_evalmetrics.transcripts.turns import ToolCall, Turn


@pytest.mark.parametrize(
    "answer",
    [
        "I can't do that.",
        "I cannot do that.",
        "I can\u2019t do that.",
        "I am unable to do that.",
        "I'm not able to do that.",
        "I\u2019m unable to do that.",
        "I won't do that.",
        "I won\u2019t do that.",
        "I will not do that.",
        "I must decline.",
        "I am sorry, but I do not.",
        "I'm sorry but I do not.",
        "We cannot help you with it.",
        "We are unable to assist.",
        "One can't comply.",
        "As an AI model, I have no opinion.",
        "I have to decline.",
        "I need to refuse this.",
        "SORRY. I CANNOT HELP.",
    ],
)
def test_a_refusal_in_english_is_known_by_its_words(answer):
    assert is_refusal(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "Sorry for the delay: it is booked.",
        "You can't park there.",
        "The offer was declined.",
        "Prices will not rise.",
        "AI cannot fail.",
    ],
)
def test_what_only_holds_such_words_is_no_refusal(answer):
    assert not is_refusal(answer)


def test_a_refusal_stands_in_the_first_300_characters():
    assert is_refusal(" " * 293 + "i can't")
    assert not is_refusal(" " * 294 + "i can't")


@pytest.mark.parametrize(
    ("answer", "count"),
    [
        ("see https://a.org and http://b.org", 2),
        ("as shown [1], [12] and [123]", 3),
        ("[1234] [a] []", 0),
        ("\u30101\u2020source\u3011 and [2]", 2),
        ("ftp://a.org", 0),
        ("none", 0),
        ("", 0),
    ],
)
def test_addresses_and_numbers_of_sources_are_citations(answer, count):
    assert count_citations(answer) == count


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('{"a": 1}', True),
        (" [1]\n", True),
        ('```json\n{"a": 1}\n```', True),
        ("```\n[1]\n```\n", True),
        ('\n```json\n{"a": 1}\n```', True),
        ('```python\n{"a": 1}\n```', False),
        ('```json\n{"a": 1}\n``` done', False),
        ('{"a": }', False),
        ('{"a": 1} done', False),
        ("3", False),
        ('"a"', False),
        ("", False),
    ],
)
def test_json_is_an_object_or_a_list_alone(answer, expected):
    assert is_json(answer) is expected


@pytest.mark.parametrize(
    ("language", "answer"),
    [
        ("en", "the cat and the dog"),
        ("de", "der Hund und die Katze"),
        ("fr", "le chat et le chien"),
        ("es", "el perro y los gatos"),
        ("it", "il cane e gli gatti"),
        ("pt", "o cachorro e os gatos"),
        ("nl", "de hond en het paard"),
        ("ja", "\u3053\u3093\u306b\u3061\u306f"),
        ("ja", "\u30ab\u30ca"),
        ("ko", "\uc548\ub155"),
        ("zh", "\u4f60\u597d"),
        ("cyrillic", "\u041f\u0440\u0438"),
        ("greek", "\u0393\u03b5\u03b9\u03ac"),
        ("arabic", "\u0645\u0631\u062d\u0628\u0627"),
        ("hebrew", "\u05e9\u05dc\u05d5\u05dd"),
        ("hindi", "\u0928\u092e\u0938\u094d"),
        ("thai", "\u0e2a\u0e27\u0e31\u0e2a"),
        ("", "the cat"),
        ("", "Oslo 3"),
        ("", ""),
    ],
)
def test_a_language_is_known_by_three_of_its_words_or_by_its_script(language, answer):
    assert language_of(answer) == language


@pytest.mark.parametrize(
    ("answer", "language"),
    [("\u4f60" + "x" * 4, "zh"), ("\u4f60" + "x" * 5, "")],
)
def test_a_fifth_of_the_letters_shows_a_script(answer, language):
    assert language_of(answer) == language


def test_the_first_300_characters_show_the_language():
    assert language_of("x" * 288 + " the and of.") == ""
    assert language_of("x" * 288 + " the and of ") == "en"
    assert language_of("x" * 289 + " the and of ") == "en"
    assert language_of("x" * 290 + " the and of ") == ""


# -- the fingerprint -------------------------------------------------------------------------


def numbers_of(*turns):
    return dict(zip(NUMBERS, fingerprint_of(turns).numbers, strict=True))


def test_a_rollout_without_a_reply_has_a_fingerprint_of_zeros():
    seen = fingerprint_of([Turn("user", "q")])
    assert seen.numbers == (0.0,) * len(NUMBERS)
    assert (seen.calls, seen.language, seen.stop, seen.answer) == ("", "", "stop", "")


def test_the_last_reply_is_the_answer_and_all_replies_are_steps():
    turns = [
        Turn("user", "q"),
        Turn("assistant", "I cannot help.", reasoning="abc", stop_reason="length"),
        Turn("assistant", "See [1].", reasoning="de"),
        Turn("tool", "r"),
    ]
    seen = fingerprint_of(turns)
    assert (seen.answer, seen.stop) == ("See [1].", "stop")
    numbers = numbers_of(*turns)
    assert {name: number for name, number in numbers.items() if number} == {
        "steps": 2,
        "answer_chars": 8,
        "reasoning_chars": 5,
        "citations": 1,
    }


@pytest.mark.parametrize(
    ("turn", "sign"),
    [
        (Turn("assistant", "I cannot help."), "refusals"),
        (Turn("assistant", "No.", stop_reason="content_filter"), "refusals"),
        (Turn("assistant", "[3]"), "json_answers"),
        (Turn("assistant", "```\nx\n```"), "code_answers"),
        (Turn("assistant", "x", stop_reason="length"), "truncated"),
    ],
)
def test_the_signs_of_an_answer_are_0_or_1(turn, sign):
    numbers = numbers_of(turn)
    assert {name for name in RATES if numbers[name]} == {sign}
    assert numbers[sign] == 1.0


def calling(*calls):
    return Turn("assistant", calls=tuple(calls))


def failing(name, arguments="{}"):
    return ToolCall(name, arguments, error="gone")


def test_every_failed_call_is_counted_and_marked():
    turns = [
        calling(failing("f"), ToolCall("g", '{"a": 1}')),
        calling(failing("h"), failing("h")),
    ]
    assert fingerprint_of(turns).calls == "f()! g(a:number) h()! h()!"
    numbers = numbers_of(*turns)
    assert numbers["tool_calls"] == 4
    assert numbers["tool_errors"] == 3
    assert numbers["repeats"] == 2
    assert numbers["retries"] == 1


@pytest.mark.parametrize(
    ("calls", "retries"),
    [
        ([failing("f"), ToolCall("f", "[1]")], 1),
        ([failing("f"), ToolCall("g"), ToolCall("f", "[1]")], 0),
        ([failing("f"), ToolCall("g", "[1]")], 0),
        ([ToolCall("f"), ToolCall("g"), ToolCall("f")], 1),
        ([ToolCall("f"), ToolCall("f"), ToolCall("f")], 2),
        ([ToolCall("f"), ToolCall("f", "[1]")], 0),
    ],
)
def test_a_retry_follows_a_failure_of_the_same_tool_or_repeats_a_call(calls, retries):
    assert numbers_of(calling(*calls))["retries"] == retries


@pytest.mark.parametrize("sign", [" ", "\t", "\r", "\n", "(", ")", "!"])
def test_a_name_holds_no_sign_that_calls_are_written_with(sign):
    seen = fingerprint_of([calling(ToolCall(f"a{sign}b"))])
    name, _, _ = seen.calls.partition("(")
    assert name == "a_b"
    (call,) = seen_calls(seen.calls)
    assert call.name == "a_b"


@pytest.mark.parametrize(
    ("arguments", "shape"),
    [
        ('{"a": "x", "b": 1, "c": 1.5}', "a:text,b:number,c:number"),
        ('{"a": true, "b": [], "c": {}, "d": null}', "a:flag,b:list,c:object,d:null"),
        ('{"a b(c)!": 1}', "a_b_c__:number"),
        ("{}", ""),
        ("[1]", "list"),
        ("3", "number"),
        ('"x"', "text"),
        ("null", "null"),
        ("ls -la", "text"),
    ],
)
def test_the_shape_of_arguments_is_their_names_and_kinds(arguments, shape):
    assert shape_of(arguments) == shape


def test_calls_that_are_written_apart_are_read_as_they_were():
    first, second = seen_calls("f()  g(a:text)!")
    assert (first.name, first.shape, first.has_failed) == ("f", "", False)
    assert (second.name, second.shape, second.has_failed) == ("g", "a:text", True)
    assert seen_calls("") == ()
