import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transport.fakes import FakeSender, ok

from pytest_evalmetrics.ext import CallError, Endpoint
from pytest_evalmetrics.transport import Call, RawResponse, Secret, Transport


def raw(body, content_type="application/json", status=200):
    return RawResponse(status, {"Content-Type": content_type} if content_type else {}, body)


def ask(*answers, secret=None):
    """Return the body of the last answer; the first one is of another call."""
    sender = FakeSender(ok(), *answers)
    call = Call(Endpoint("http://api.example/score", secret, max_retries=0))
    with Transport(sender=sender) as transport:
        return [transport.run(transport.call(call)).body for _ in range(2)][-1]


def words_of(said, secret=None):
    with pytest.raises(CallError) as raised:
        ask(raw(said.encode(), status=400), secret=secret)
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


def test_other_encodings_and_marks_are_read():
    assert ask(raw(b"\xef\xbb\xbf[1]")) == [1]
    assert ask(raw('["ä"]'.encode("latin-1"), "application/json; charset=ISO-8859-1")) == ["ä"]


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
def test_what_is_no_json_is_named(answer, kind, message):
    with pytest.raises(CallError, match=message) as error:
        ask(answer)
    assert (error.value.kind, error.value.attempts) == (kind, 1)


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
def test_what_is_no_number_or_no_json_is_refused(text, kind):
    with pytest.raises(CallError) as error:
        ask(raw(text.encode()))
    assert error.value.kind == kind


def test_half_a_surrogate_pair_is_read_too():
    assert ask(raw(b'["\\ud800", 1e-400]')) == ["\ud800", 0.0]


_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(_values)
def test_everything_else_is_read_as_json_reads_it(value):
    assert ask(raw(json.dumps(value).encode())) == value


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
def test_the_endpoints_own_words(said, words):
    assert words_of(said) == words


@given(st.text(max_size=3000))
def test_they_are_short_and_in_one_line(said):
    words = words_of(json.dumps({"error": said}))
    assert len(words) <= 200
    assert words.isprintable()


def test_a_secret_is_hidden_before_anything_is_cut():
    text = "s3cr3t-" * 6
    secret = Secret("my-key", "MY_KEY", text)
    for before in (*range(150, 210, 7), *(8192 - n for n in range(0, len(text) + 2, 11))):
        assert "s3cr3t" not in words_of("x" * before + text, secret)


def test_a_huge_page_is_not_looked_through_for_words():
    assert len(words_of("<html>" + "<" * 5_000_000)) <= 200
