import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scoring.transport.fakes import KEY, Client, broken, ok, raw

from pytest_evalmetrics.ext import CallError


def ask(*answers, secret=None):
    """Return the body of the last answer; the first one is of another call."""
    with Client() as client:
        client(ok(), *answers).ask()
        return client.ask(secret=secret, max_retries=0).body


def words_of(text, secret=None):
    with pytest.raises(CallError) as raised:
        ask(raw(text.encode(), status=400), secret=secret)
    return str(raised.value).partition(", and said: ")[2]


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "application/json; charset=utf-8",
        "application/problem+json",
        "text/json",
        "Application/JSON",
        'application/json;charset="UTF-8"',
        None,
    ],
)
def test_json_is_read_under_its_names_and_without_one(content_type):
    assert ask(raw('{"ä": 1}'.encode(), content_type)) == {"ä": 1}


def test_other_encodings_marks_and_half_a_surrogate_pair_are_read():
    assert ask(raw(b"\xef\xbb\xbf[1]")) == [1]
    assert ask(
        raw('["ä"]'.encode("latin-1"), "application/json; charset=ISO-8859-1")
    ) == ["ä"]
    assert ask(raw(b'["\\ud800", 1e-400]')) == ["\ud800", 0.0]


NO_JSON = [
    (raw(b""), "empty", "answered 200 OK with an empty body"),
    (raw(b" \r\n ", None, 204), "empty", "answered 204 No Content with an empty body"),
    (
        raw(b"<html><title>Log in</title>", "text/html; charset=utf-8"),
        "html",
        "an HTML page",
    ),
    (raw(b"\n<!DOCTYPE HTML>", None), "html", "an HTML page"),
    (raw(b"<p>Log in</p>", "text/html"), "html", "an HTML page"),
    (raw(b"<p>Log in</p>", "Application/XHTML+XML"), "html", "an HTML page"),
    (raw(b"<!doctype html>", "text/plain"), "html", "an HTML page"),
    (
        raw(b"0.5", "text/plain"),
        "content-type",
        "text/plain, expected application/json",
    ),
    (
        raw(b"{}", "application/octet-stream"),
        "content-type",
        "application/octet-stream",
    ),
    (raw(b"data: {}", "text/event-stream"), "content-type", "text/event-stream"),
    (raw(b'"\xff"'), "invalid-json", "not in utf-8"),
    (raw(b"[]", "application/json; charset=klingon"), "invalid-json", "not in klingon"),
    (raw(b"{"), "invalid-json", "not JSON: Expecting property name.*and said: {"),
    (raw(b"{'score': 1}"), "invalid-json", None),
    (raw(b"[1] [2]"), "invalid-json", None),
    (raw(b"[" * 100_000), "invalid-json", None),
    (raw(b"9" * 5000), "invalid-json", None),
    (raw(b'{"score": NaN}'), "not-finite", "NaN, which is not a finite number"),
    (raw(b'{"score": [-Infinity]}'), "not-finite", None),
    (raw(b'{"score": Infinity}'), "not-finite", None),
    (raw(b'{"score": 1e999}'), "not-finite", None),
    (raw(b'{"score": 1, "score": 0}'), "duplicate-key", "holds 'score' twice"),
    (broken("too-large", fault=None), "too-large", None),
]


@pytest.mark.parametrize(
    ("answer", "kind", "message"), NO_JSON, ids=map(str, range(len(NO_JSON)))
)
def test_what_is_no_answer_is_that_rows_error_and_not_kept(
    client, answer, kind, message
):
    client(ok(), answer, ok(), mode="normal").ask("another")
    with pytest.raises(CallError, match=message) as error:
        client.ask()
    assert (error.value.kind, error.value.attempts) == (kind, 1)
    assert not client.ask().from_journal


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (
            raw(b"<html>", "text/html"),
            "is it the right URL, and is there no login or proxy page in between?",
        ),
        (
            raw(b"0.5", "text/plain"),
            "let the endpoint send the header Content-Type: application/json",
        ),
        (
            raw(b"data: {}", "text/event-stream"),
            "it streams: ask for one whole answer (stream: false)",
        ),
    ],
)
def test_an_answer_of_another_type_says_what_to_do(client, answer, hint):
    client(ok(), answer).ask("another")
    with pytest.raises(CallError) as error:
        client.ask()
    assert error.value.hint == hint


_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
    ),
)


@settings(max_examples=40)
@given(_values)
def test_everything_else_is_read_as_json_reads_it(value):
    assert ask(raw(json.dumps(value).encode())) == value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"error": {"message": "model not found", "code": 3}}', "model not found"),
        ('{"error": "too many"}', "too many"),
        ('{"detail": "no such\\nevaluator"}', "no such evaluator"),
        ('{"detail": [{"loc": ["body"]}]}', '[{"loc": ["body"]}]'),
        ('{"error": null, "message": "second"}', "second"),
        ('{"code": 7}', '{"code": 7}'),
        ('"plain"', "plain"),
        (
            "<html><head><title>502 Bad\nGateway</title><style>x{}</style>",
            "502 Bad Gateway",
        ),
        ("<html><style>x{}</style><body><h1>Sorry</h1> not now", "Sorry not now"),
        ("upstream \x1b[31mdown\x00", "upstream [31mdown"),
        ("", ""),
    ],
)
def test_the_endpoints_own_words(text, words):
    assert words_of(text) == words


@given(st.text(max_size=3000))
def test_they_are_short_and_in_one_line(text):
    words = words_of(json.dumps({"error": text}))
    assert len(words) <= 200
    assert words.isprintable()


def test_a_secret_is_hidden_before_anything_is_cut():
    text = KEY.reveal()
    for before in (*range(150, 210, 3), *range(8192 - len(text) - 2, 8194)):
        assert "s3cr3t" not in words_of("x" * before + text, KEY)


def test_a_huge_page_is_not_looked_through_for_words():
    assert len(words_of("<html>" + "<" * 5_000_000)) <= 200
