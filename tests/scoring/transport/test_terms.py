"""Endpoints on the terms of a benchmark file: their keys, times, retries and notes."""

import pytest

from pytest_evalmetrics.ext import Terms
from pytest_evalmetrics.model.scoring_notes import KeyInUrl
from pytest_evalmetrics.scoring.transport.wire import SecretError

URL = "http://localhost:8000/evaluate"
NAMED = "my-key"
VALUE = "s3cr3t-key-of-mine"


def test_an_endpoint_has_the_key_that_its_secret_names(monkeypatch):
    monkeypatch.setenv("MY_KEY", VALUE)
    terms = Terms()
    endpoint = terms.endpoint(URL, secret=NAMED)
    assert endpoint.secret.reveal() == VALUE
    assert list(terms.secrets) == [endpoint.secret]


def test_an_endpoint_without_a_secret_has_no_key():
    terms = Terms()
    assert terms.endpoint(URL).secret is None
    assert terms.secrets == {}


def test_a_secret_may_be_missing_where_nothing_is_called(monkeypatch):
    monkeypatch.delenv("MY_KEY", raising=False)
    with pytest.raises(SecretError, match="MY_KEY"):
        Terms().endpoint(URL, secret=NAMED)
    assert Terms(replays=True).endpoint(URL, secret=NAMED).secret is None


def test_a_key_in_a_url_is_noted_once():
    terms = Terms()
    for path in ("a", "b"):
        terms.endpoint(f"http://localhost/{path}?api_key={VALUE}")
    assert terms.notes == [KeyInUrl("")]


@pytest.mark.parametrize(
    ("terms", "own", "retries"),
    [
        (Terms(), None, 3),
        (Terms(max_retries=5), None, 5),
        (Terms(max_retries=5), 0, 0),
        (Terms(max_retries=0), None, 0),
    ],
)
def test_an_endpoints_own_retries_come_before_those_of_the_file(terms, own, retries):
    assert terms.endpoint(URL, max_retries=own).max_retries == retries


@pytest.mark.parametrize(
    ("terms", "own", "seconds"),
    [(Terms(), None, 30.0), (Terms(timeout_s=5), None, 5), (Terms(timeout_s=5), 2, 2)],
)
def test_an_endpoints_own_time_comes_before_that_of_the_file(terms, own, seconds):
    assert terms.endpoint(URL, timeout_s=own).timeout_s == seconds
