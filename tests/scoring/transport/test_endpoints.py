"""Endpoints and the names of calls: what a person reads of a bad one, and what is the same."""

from dataclasses import replace

import pytest

from pytest_evalmetrics.errors import EvalMetricsError
from pytest_evalmetrics.ext import CallError, Endpoint, Terms
from pytest_evalmetrics.model.scoring_notes import KeyInFile, KeyInUrl
from pytest_evalmetrics.scoring.transport import Call, Work, written_body

URL = "http://localhost:8000/evaluate"


def test_an_endpoint_has_these_limits_unless_it_is_given_others():
    endpoint = Endpoint(URL)
    assert endpoint.timeout_s == 30.0
    assert endpoint.max_retries == 3
    assert endpoint.parallelism == 16
    assert endpoint.max_response_bytes == 16 * 2**20
    assert endpoint.longest_wait_s is None
    assert endpoint.headers == ()


@pytest.mark.parametrize(
    ("settings", "message", "hint"),
    [
        (
            {"url": "ftp://u:p@host/x"},
            "'host/x' is not a usable URL",
            "write http://host:port/path or https://host/path",
        ),
        (
            {"url": "http:///x"},
            "'http:///x' is not a usable URL",
            "write http://host:port/path or https://host/path",
        ),
        (
            {"url": "http://user:hunter2@host/x"},
            "the URL of host holds a user or a password",
            "name a secret that is in the environment instead (api_key_secret)",
        ),
        (
            {"url": "http://:hunter2@host/x"},
            "the URL of host holds a user or a password",
            "name a secret that is in the environment instead (api_key_secret)",
        ),
        (
            {"url": URL, "timeout_s": 0.0},
            "timeout_s is 0.0, expected more than 0",
            None,
        ),
        (
            {"url": URL, "timeout_s": float("inf")},
            "timeout_s is inf, expected more than 0",
            None,
        ),
        (
            {"url": URL, "max_retries": -1},
            "max_retries is -1, expected 0 or more",
            None,
        ),
        (
            {"url": URL, "parallelism": 0},
            "parallelism is 0, expected 1 or more",
            None,
        ),
    ],
)
def test_a_bad_endpoint_says_what_is_bad(settings, message, hint):
    with pytest.raises(EvalMetricsError) as raised:
        Endpoint(**settings, written="${URL}")
    assert raised.value.message == message
    assert raised.value.hint == hint
    assert raised.value.about == "${URL}"


@pytest.mark.parametrize(
    "settings", [{"timeout_s": 0.001}, {"max_retries": 0}, {"parallelism": 1}]
)
def test_the_smallest_limits_are_fine(settings):
    assert Endpoint(URL, **settings).url == URL


@pytest.mark.parametrize("sign", " !%*,;<>\\^`{|}")
def test_a_host_with_a_sign_that_no_host_has_is_refused(sign):
    with pytest.raises(EvalMetricsError, match="is not a usable URL"):
        Endpoint(f"http://a{sign}b/x")


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("http://Host/x?y", "http://host:80"),
        ("https://host/x", "https://host:443"),
        ("https://host:8443/", "https://host:8443"),
        ("litellm://openai/m", "litellm://openai:0"),
        ("http://[::1]:8000/x", "http://::1:8000"),
    ],
)
def test_the_origin_is_the_scheme_the_host_and_the_port(url, origin):
    assert Endpoint(url).origin == origin


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://host/x?key=secret#part", "http://host/x"),
        ("http://host/x#part?key=secret", "http://host/x"),
        ("http://host/x", "http://host/x"),
    ],
)
def test_a_message_names_the_url_without_its_query(url, shown):
    assert Endpoint(url).shown == shown
    assert Call(Endpoint(url)).shown == f"POST {shown}"


def test_a_benchmark_file_names_an_endpoint_by_what_it_writes():
    assert Endpoint(URL).in_file == URL
    endpoint = Endpoint(URL, written="${HOST}/evaluate")
    assert endpoint.in_file == "${HOST}/evaluate"
    assert Call(endpoint).in_file == "${HOST}/evaluate"


# -- bodies --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "written"),
    [
        (None, None),
        ({"b": 1, "a": [1.5, None]}, b'{"b":1,"a":[1.5,null]}'),
        ("\xe9\ud800", b'"\\u00e9\\ud800"'),
        ((1, 2), b"[1,2]"),
    ],
)
def test_a_body_is_json_in_the_order_of_its_keys(body, written):
    assert written_body(body) == written


ENDLESS = []
ENDLESS.append(ENDLESS)


@pytest.mark.parametrize(
    ("body", "culprit"),
    [
        (float("nan"), "body is nan"),
        ({"a": {"b": [0, (1, {2})]}}, "body.a.b[1][1] is a set"),
        ({"a": 1.5, "b": [True, None, "x", 7], "c": b"x"}, "body.c is a bytes"),
        (ENDLESS, "body is Circular reference detected"),
    ],
    ids=["nan", "a set", "bytes", "endless"],
)
def test_a_body_that_can_not_be_written_says_where_and_why(body, culprit):
    with pytest.raises(CallError) as raised:
        written_body(body)
    assert raised.value.kind == "bad-request"
    assert raised.value.message == (f"the request can't be written as JSON: {culprit}")


def nested(levels, value):
    for _ in range(levels):
        value = [value]
    return value


def test_a_value_is_looked_for_a_hundred_levels_deep():
    with pytest.raises(CallError) as raised:
        written_body(nested(100, {1}))
    assert raised.value.message.endswith(f"body{'[0]' * 100} is a set")
    with pytest.raises(CallError) as raised:
        written_body(nested(101, {1}))
    assert raised.value.message.endswith(
        "body is Object of type set is not JSON serializable"
    )


# -- names in the journal ------------------------------------------------------------------------

WORK = Work("m:f", {"x": 1, "a": ["\ud800", "\xe9"]}, "1", 2, 3, "label")


def test_the_key_of_a_function_is_the_same_for_ever():
    """A committed journal must be found by later versions: a change here makes it worthless."""
    assert WORK.key(str).hex() == "4596fe94f17bdc24b324d55a5cb7a66c950e6085"


@pytest.mark.parametrize(
    "other",
    [
        replace(WORK, shown="m:g"),
        replace(WORK, given={"x": 2}),
        replace(WORK, version="2"),
        replace(WORK, sample=0),
        replace(WORK, occurrence=0),
    ],
)
def test_whatever_a_result_depends_on_changes_the_key_of_a_function(other):
    assert other.key(str) != WORK.key(str)


def test_the_order_of_arguments_and_the_label_do_not_change_it():
    same = replace(WORK, given={"a": ["\ud800", "\xe9"], "x": 1}, label="other")
    assert same.key(str) == WORK.key(str)


def test_arguments_that_json_can_not_write_count_as_python_writes_them():
    keys = {replace(WORK, given={"x": value}).key(str) for value in ({1}, {2})}
    assert len(keys) == 2


def test_a_function_without_a_version_has_no_key():
    assert replace(WORK, version=None).key(str) == b""


def without(text):
    return text.replace("s3cr3t", "***")


def test_a_key_in_the_arguments_of_a_function_does_not_change_its_name():
    first = replace(WORK, given={"token": "s3cr3t"})
    second = replace(WORK, given={"token": "***"})
    assert first.key(without) == second.key(without)


# -- the terms of a file -------------------------------------------------------------------------


def test_keys_in_a_file_are_hidden_and_noted_once():
    terms = Terms()
    key = "sk-proj-Zq3vX9wLp2RtY7uBn4KaJ8sDf6Gh1Mc"
    for _ in range(2):
        terms.hide_keys_of(f"api_key: {key}")
    assert [secret.reveal() for secret in terms.secrets] == [key]
    assert terms.notes == [KeyInFile()]


def test_a_key_in_a_url_is_noted_with_its_variable(monkeypatch):
    monkeypatch.setenv("MY_TOKEN", "sunflower-meadow")
    terms = Terms()
    terms.endpoint(f"{URL}?t=sunflower-meadow")
    assert terms.notes == [KeyInUrl("MY_TOKEN")]
    assert [secret.variable for secret in terms.secrets] == ["MY_TOKEN"]


def test_an_endpoint_is_on_the_terms_of_its_file():
    terms = Terms(parallelism=7, max_wait_s=90.0)
    endpoint = terms.endpoint(URL, written="${URL}")
    assert endpoint.url == URL
    assert endpoint.parallelism == 7
    assert endpoint.longest_wait_s == 90.0
    assert endpoint.written == "${URL}"


def test_terms_allow_sixteen_calls_at_once_by_default():
    assert Terms().parallelism == 16
