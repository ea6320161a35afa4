from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_evalmetrics.transport import RawResponse, SendFailure
from pytest_evalmetrics.transport.wire import own_words, parse_json, status_text, text_of


def raw(body: bytes, content_type: Any = "application/json", status: Any = 200) -> RawResponse:
    return RawResponse(status, {"Content-Type": content_type} if content_type else {}, body)


def as_is(text: str) -> str:
    return text


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
def test_json_is_read_under_its_names_and_without_one(content_type: Any) -> None:
    assert parse_json(text_of(raw('{"ä": 1}'.encode(), content_type))) == {"ä": 1}


def test_other_encodings_and_marks_are_read() -> None:
    assert text_of(raw(b"\xef\xbb\xbf[1]")) == "[1]"
    assert (
        text_of(raw('["ä"]'.encode("latin-1"), "application/json; charset=ISO-8859-1")) == '["ä"]'
    )


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        (raw(b""), "empty", "answered 200 OK with an empty body"),
        (raw(b" \r\n ", None, 204), "empty", "answered 204 No Content with an empty body"),
        (raw(b"<html><title>Log in</title>", "text/html; charset=utf-8"), "html", "an HTML page"),
        (raw(b"\n<!DOCTYPE HTML>", None), "html", "an HTML page"),
        (raw(b"<!doctype html>", "text/plain"), "html", "an HTML page"),
        (raw(b"0.5", "text/plain"), "content-type", "text/plain, expected application/json"),
        (raw(b"{}", "application/octet-stream"), "content-type", "application/octet-stream"),
        (raw(b"data: {}", "text/event-stream"), "content-type", "text/event-stream"),
        (raw(b'"\xff"'), "invalid-json", "not in utf-8"),
        (raw(b"[]", "application/json; charset=klingon"), "invalid-json", "not in klingon"),
    ],
)
def test_what_is_no_json_is_named(answer: RawResponse, kind: str, message: str) -> None:
    with pytest.raises(SendFailure, match=message) as failure:
        text_of(answer)
    assert failure.value.kind == kind
    assert not failure.value.retry
    assert not failure.value.fatal


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("{", "invalid-json"),
        ("{'score': 1}", "invalid-json"),
        ("[1] [2]", "invalid-json"),
        ("[" * 100_000, "invalid-json"),
        ("9" * 5000, "invalid-json"),
        ('{"score": NaN}', "not-finite"),
        ('{"score": [-Infinity]}', "not-finite"),
        ('{"score": Infinity}', "not-finite"),
        ('{"score": 1e999}', "not-finite"),
    ],
)
def test_what_is_no_number_or_no_json_is_refused(text: str, kind: str) -> None:
    with pytest.raises(SendFailure) as failure:
        parse_json(text)
    assert failure.value.kind == kind


_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


def test_half_a_surrogate_pair_is_read_too() -> None:
    assert parse_json('["\\ud800", 1e-400]') == ["\ud800", 0.0]


@given(_values)
def test_everything_else_is_read_as_json_reads_it(value: Any) -> None:
    assert parse_json(json.dumps(value)) == value


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ('{"error": {"message": "model not found", "code": 3}}', "model not found"),
        ('{"error": "too many"}', "too many"),
        ('{"detail": "no such\\nevaluator"}', "no such evaluator"),
        (
            '{"detail": [{"loc": ["body"], "msg": "field required"}]}',
            '[{"loc": ["body"], "msg": "field required"}]',
        ),
        ('{"error": null, "message": "second"}', "second"),
        ('{"code": 7}', '{"code": 7}'),
        ('"plain"', "plain"),
        ("<html><head><title>502 Bad\nGateway</title><style>x{}</style>", "502 Bad Gateway"),
        ("<html><style>x{}</style><body><h1>Sorry</h1> not now", "Sorry not now"),
        ("upstream \x1b[31mdown\x00", "upstream [31mdown"),
        ("", ""),
    ],
)
def test_the_endpoints_own_words(said: str, words: str) -> None:
    assert own_words(said, as_is) == words


@given(st.text(max_size=3000))
def test_they_are_short_and_in_one_line(said: str) -> None:
    words = own_words(said, as_is)
    assert len(words) <= 200
    assert words.isprintable()


def test_a_secret_is_hidden_before_anything_is_cut() -> None:
    secret = "s3cr3t-" * 6
    long = [8192 - n for n in range(0, len(secret) + 2, 5)]
    for said in ["x" * n + secret for n in range(150, 210)] + [" " * n + secret for n in long]:
        assert "s3cr3t" not in own_words(said, lambda text: text.replace(secret, "***"))


def test_a_huge_page_is_not_looked_through_for_words() -> None:
    assert len(own_words("<html>" + "<" * 5_000_000, as_is)) <= 200


def test_status_text() -> None:
    assert [status_text(s) for s in (404, 599)] == ["404 Not Found", "599"]
