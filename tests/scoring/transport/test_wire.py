"""Answers as they come over the wire: what is read, and the words for what is not."""

import json
import time

import pytest
from scoring.transport.fakes import raw

from pytest_evalmetrics.errors import RowError
from pytest_evalmetrics.scoring.transport.wire import (
    Clock,
    MissingExtraError,
    SendFailure,
    needs_extra,
    own_words,
    parse_json,
    status_text,
    text_of,
)


def same(text):
    return text


def failure_of(function, *args):
    with pytest.raises(SendFailure) as raised:
        function(*args)
    return raised.value


@pytest.mark.parametrize(
    ("status", "text"), [(404, "404 Not Found"), (599, "599"), (200, "200 OK")]
)
def test_a_status_is_written_with_its_name(status, text):
    assert status_text(status) == text


def test_the_clock_of_a_run_is_that_of_the_machine():
    clock = Clock()
    before, wall_before = time.perf_counter(), time.time()
    now, wall = clock.monotonic(), clock.wall()
    assert before <= now <= time.perf_counter()
    assert wall_before <= wall <= time.time()
    assert 0.0 <= clock.random() < 1.0


# -- bodies --------------------------------------------------------------------------------------


@pytest.mark.parametrize("body", [b"", b" \r\n\t"])
def test_an_empty_body_is_no_answer(body):
    failure = failure_of(text_of, raw(body, status=204))
    assert failure.kind == "empty"
    assert failure.message == "answered 204 No Content with an empty body"


@pytest.mark.parametrize(
    "answer",
    [
        raw(b"<p>Log in</p>", "text/html"),
        raw(b"<p>Log in</p>", " Text/HTML ; charset=utf-8"),
        raw(b"<p>Log in</p>", "application/xhtml+xml"),
        raw(b"<html>", "text/plain"),
        raw(b" <HTML lang=en>", None),
        raw(b"\n<!DOCTYPE  html>", "application/pdf"),
    ],
    ids=str,
)
def test_a_page_is_no_answer(answer):
    failure = failure_of(text_of, answer)
    assert failure.kind == "html"
    assert failure.message == "answered 200 OK with an HTML page, not with JSON"
    assert failure.hint == (
        "is it the right URL, and is there no login or proxy page in between?"
    )
    assert failure.text == answer.body.decode()


@pytest.mark.parametrize(
    ("content_type", "hint"),
    [
        (
            "text/plain; charset=utf-8",
            "let the endpoint send the header Content-Type: application/json",
        ),
        (
            "text/event-stream",
            "it streams: ask for one whole answer (stream: false)",
        ),
        (
            "application/jsonlines",
            "let the endpoint send the header Content-Type: application/json",
        ),
    ],
)
def test_another_content_type_is_named(content_type, hint):
    failure = failure_of(text_of, raw(b"caf\xe9", content_type))
    assert failure.kind == "content-type"
    named = content_type.partition(";")[0]
    assert failure.message == (
        f"answered with the content type {named}, expected application/json"
    )
    assert failure.hint == hint
    assert failure.text == "caf\ufffd"


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "text/json",
        "application/problem+json",
        "application/vnd.api.v1-x+json",
        None,
    ],
)
def test_json_is_read_under_its_content_types(content_type):
    assert text_of(raw(b"[1]", content_type)) == "[1]"


@pytest.mark.parametrize(
    ("charset", "encoding"),
    [
        ("charset=latin-1", "latin-1"),
        ('Charset = "ISO-8859-1"', "latin-1"),
        ("charset=UTF-16", "utf-16"),
        ("profile=x; charset=utf-8", "utf-8"),
        ("", "utf-8"),
    ],
)
def test_a_body_is_read_in_the_encoding_that_its_head_names(charset, encoding):
    body = '["\xe9"]'.encode(encoding)
    assert text_of(raw(body, f"application/json; {charset}")) == '["\xe9"]'


def test_a_byte_order_mark_is_left_out():
    assert text_of(raw(b"\xef\xbb\xbf[1]")) == "[1]"


@pytest.mark.parametrize(
    ("charset", "encoding"), [("", "utf-8"), ("; charset=Klingon", "klingon")]
)
def test_a_body_in_another_encoding_is_named(charset, encoding):
    failure = failure_of(text_of, raw(b'"\xff"', f"application/json{charset}"))
    assert failure.kind == "invalid-json"
    assert failure.message == f"the answer is not in {encoding}"


# -- JSON ----------------------------------------------------------------------------------------


def test_a_text_that_is_no_json_is_shown_with_the_fault():
    failure = failure_of(parse_json, "{score: 1}")
    assert failure.kind == "invalid-json"
    assert failure.message.startswith("the answer is not JSON: Expecting property name")
    assert failure.text == "{score: 1}"


def test_json_that_is_nested_too_deeply_is_refused():
    failure = failure_of(parse_json, "[" * 100_000)
    assert failure.kind == "invalid-json"
    assert failure.message == "the answer is nested too deeply"


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_a_number_that_is_not_finite_is_refused_as_it_is_written(number):
    text = f'{{"score": [{number}]}}'
    failure = failure_of(parse_json, text)
    assert failure.kind == "not-finite"
    assert failure.message == (
        f"the answer holds {number}, which is not a finite number"
    )
    assert failure.text == text


def test_a_key_with_two_values_is_refused():
    with pytest.raises(RowError) as raised:
        parse_json('{"a": 1, "score": 1, "score": 0}')
    assert raised.value.kind == "duplicate-key"
    assert raised.value.message == (
        "the answer holds 'score' twice, with different values"
    )


def test_a_key_with_the_same_value_twice_has_that():
    assert parse_json('{"a": 0, "score": 1, "score": 1}') == {"a": 0, "score": 1}


# -- an endpoint's own words ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"error": {"message": "a"}, "message": "b"}, "a"),
        ({"message": "a", "detail": "b", "title": "c"}, "a"),
        ({"detail": "a", "title": "b"}, "a"),
        ({"title": "a", "status": 404}, "a"),
        ({"message": {"detail": {"title": "a"}}}, "a"),
        ({"error": "", "message": None, "detail": [], "title": "a"}, "a"),
        ({"error": {"code": "\xe9"}}, '{"code": "\xe9"}'),
        ({"error": 5}, "5"),
        ([{"message": "a"}], '[{"message": "a"}]'),
        ("a", "a"),
        (None, "null"),
    ],
)
def test_the_words_are_those_of_the_innermost_error(value, words):
    assert own_words(json.dumps(value), same) == words


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("<html><TITLE class=x> Bad\nGateway </TITLE>text", "Bad Gateway"),
        ("<html><b>Not</b> now", "Not now"),
        ("<html><script>\nx()\n</script >Not<style a=b>y</style> now", "Not now"),
        ("<!doctype html><p>Sorry", "Sorry"),
        ("<p>no page</p>", "<p>no page</p>"),
        ("busy\x00\x1b[0m\n now", "busy [0m now"),
    ],
)
def test_the_words_of_a_page_are_its_title_or_its_text(page, words):
    assert own_words(page, same) == words


def test_words_of_200_characters_are_shown_whole():
    assert own_words("x" * 200, same) == "x" * 200


def test_longer_words_are_cut():
    assert own_words("x" * 201, same) == "x" * 199 + "\u2026"


def test_words_behind_8192_characters_are_not_looked_at():
    assert own_words(" " * 8191 + "xy", same) == "x"
    assert own_words(json.dumps(" " * 8191 + "xy"), same) == "x"


def test_secrets_are_hidden_in_words():
    assert own_words("the key abc", lambda text: text.replace("abc", "***")) == (
        "the key ***"
    )


# -- packages of extras --------------------------------------------------------------------------


def test_a_missing_package_is_named_with_its_extra():
    with (
        pytest.raises(MissingExtraError) as raised,
        needs_extra("remote", "calling an endpoint"),
    ):
        raise ModuleNotFoundError("No module named 'aiohttp'", name="aiohttp")
    assert raised.value.message == (
        "calling an endpoint needs aiohttp, which is not installed"
    )
    assert raised.value.hint == "pip install 'pytest-evalmetrics[remote]'"


def test_a_release_that_can_not_be_imported_is_not_called_missing():
    with (
        pytest.raises(MissingExtraError) as caught,
        needs_extra("remote", "calling an endpoint"),
    ):
        raise ImportError("aiohttp needs multidict 6.5, found 6.0")
    assert caught.value.message == (
        "calling an endpoint needs a package that can't be imported: "
        "aiohttp needs multidict 6.5, found 6.0"
    )
    assert caught.value.hint == "pip install --upgrade 'pytest-evalmetrics[remote]'"
